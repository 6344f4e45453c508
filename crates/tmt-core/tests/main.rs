//! Tests of the library through its public interface, in one program. `cargo test -p tmt-core --test api text::` runs
//! those of `text.rs`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod adaptation;
mod adapted;
mod arrow;
mod batches;
mod brute_force;
mod closed_forms;
mod codec;
mod codes;
mod corpus;
mod extending;
mod formats;
mod import;
mod oracle;
mod parquet;
mod pipeline;
mod queue_driven;
mod radio;
mod reading;
mod reconfiguration;
mod samples;
mod slice;
mod text;
mod text_alike;
mod text_numbers;
mod text_pieces;
mod text_refusals;
mod vectors;
