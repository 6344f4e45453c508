//! Traces of any format: the property is in `properties/trace.rs`.
#![no_main]

#[path = "../contain.rs"]
mod contain;
#[allow(dead_code, reason = "each target runs one of them")]
#[path = "../properties/mod.rs"]
mod properties;

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: contain::panics(), |data: &[u8]| properties::trace::check(data));
