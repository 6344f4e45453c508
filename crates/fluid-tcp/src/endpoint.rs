//! Both ends of a flow, without a clock of their own: sender, receiver, and the profile that sets them.

mod profile;
mod ranges;
pub mod receiver;
pub mod rtt;
pub mod sender;

pub use profile::*;
