//! Puts the text of Chart.js, which a package of the registry carries, where the library includes it.

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    fs::write(
        PathBuf::from(folder).join("chart.js"),
        rustlavel_chart::plugin::CHART_JS,
    )
}
