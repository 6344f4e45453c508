//! Tests of the public interface, in one program: `cargo test -p fluid-tcp --test api bbr::` runs those of `bbr.rs`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod applications;
mod audited;
mod bbr;
mod closed_forms;
mod extending;
mod hosts;
mod hybrid_paths;
mod kernel;
mod models;
mod peers;
mod queues;
mod rate_step;
mod return_link;
mod side_paths;
