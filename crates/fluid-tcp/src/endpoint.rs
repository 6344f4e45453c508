//! The ends of a flow: hosts of any kind, the application that they serve, and TCP with the profiles that configure it. None
//! has a clock of its own.

mod application;
mod host;
mod profile;
mod ranges;
mod receive_window;
pub mod receiver;
pub mod rtt;
pub mod sender;
pub(crate) mod tcp;
pub(crate) mod transmission;

pub use application::{Application, Context, Make, Socket, Source, Supply, Transfer};
pub(crate) use host::{Ends, Other};
pub use host::{Host, Outgoing};
pub use profile::*;
pub use transmission::Transmission;
