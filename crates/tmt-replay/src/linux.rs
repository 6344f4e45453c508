//! Linux: namespaces without names, TUN devices, and the commands at both ends.
//!
//! Nothing here outlives the run. The namespaces have no names and end with their last process or file descriptor; devices end
//! with their namespace. All processes are in a PID namespace whose first process is the run itself: when it ends, by any
//! signal, the kernel kills all others (`pid_namespaces(7)`).

mod capture;
mod end;
mod namespace;
mod netlink;
mod sampler;
mod session;
mod sockets;
mod tun;

pub use capture::{Captures, Tap, Tapped};
pub use end::{Addresses, End};
pub use namespace::{NamespaceError, as_first_process, follow_parent};
pub use sampler::{Sampler, Samples};
pub use session::{Ended, Session, SessionError};
pub use tun::TunPort;
