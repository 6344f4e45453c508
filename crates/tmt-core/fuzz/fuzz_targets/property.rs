//! Fuzz target of all properties (`properties/mod.rs`). The environment variable `PROPERTY` selects one.
#![no_main]

#[path = "../properties/mod.rs"]
mod properties;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

static CHECK: OnceLock<fn(&[u8])> = OnceLock::new();

/// Selects the property, and installs a panic hook that ignores the panics that the Arrow and Parquet readers catch.
///
/// The hook of libFuzzer ends the run at any panic, even if it is caught.
fn begin() {
    let name = std::env::var("PROPERTY").unwrap_or_default();
    let found = properties::ALL.iter().find(|(known, _)| *known == name);
    let names = properties::ALL.map(|(name, _)| name);
    let (_, check) = found.unwrap_or_else(|| panic!("PROPERTY={name}: expected one of {names:?}"));
    CHECK.get_or_init(|| *check);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !tmt_core::format::panics_are_contained() {
            hook(panic);
        }
    }));
}

fuzz_target!(init: begin(), |data: &[u8]| {
    if let Some(check) = CHECK.get() {
        check(data);
    }
});
