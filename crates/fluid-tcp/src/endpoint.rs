//! Sender and receiver of a flow, and the profiles that configure them. Neither has a clock of its own.

mod profile;
mod ranges;
mod receive_window;
pub mod receiver;
pub mod rtt;
pub mod sender;
pub(crate) mod transmission;

pub use profile::*;
pub use transmission::Transmission;
