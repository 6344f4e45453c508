//! Arrow streams and files: the property is in `properties/arrow.rs`.
#![no_main]

#[allow(dead_code, reason = "each target runs one of them")]
#[path = "../properties/mod.rs"]
mod properties;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| properties::arrow::check(data));
