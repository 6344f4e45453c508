//! Text traces: the property is in `properties/text.rs`.
#![no_main]

#[allow(dead_code, reason = "each target runs one of them")]
#[path = "../properties/mod.rs"]
mod properties;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| properties::text::check(data));
