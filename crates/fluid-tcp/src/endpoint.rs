//! The ends of a flow: hosts of any kind, the application that they serve, and TCP with the profiles that configure it. None
//! has a clock of its own.

mod application;
mod ends;
mod host;
mod outcome;
mod profile;
mod ranges;
mod receive_window;
pub mod receiver;
pub mod rtt;
pub mod sender;
pub(crate) mod tcp;
pub(crate) mod transmission;
mod udp;

pub(crate) use application::Groups;
pub use application::{
    Application, Context, Datagram, Make, Socket, Source, Supply, Transfer, Wake,
};
pub(crate) use ends::{Ends, Other};
pub use host::{Host, Outgoing};
pub use outcome::{Heard, Mean, Outcome, Times};
pub use profile::*;
pub use transmission::Transmission;
pub use udp::{UDP_HEADERS, UdpReceiver, UdpSender};
