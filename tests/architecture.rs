//! The edges that must not exist (ARCHITECTURE.md): read off manifests and `use` lines.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every Rust file below `folder`, or the file itself.
fn sources(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_path_buf()];
    }
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut files: Vec<PathBuf> = entries
        .flat_map(|entry| sources(&entry.unwrap().path()))
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    files
}

/// The lines of code in `paths` (below `crates`) that hold one of `words`.
fn offences(paths: &[&str], words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for path in paths {
        for file in sources(&root().join("crates").join(path)) {
            let text = fs::read_to_string(&file).unwrap();
            for (number, line) in text.lines().enumerate() {
                let code = line.split("//").next().unwrap();
                if words.iter().any(|word| code.contains(word)) {
                    found.push(format!("{}:{}: {line}", file.display(), number + 1));
                }
            }
        }
    }
    found
}

fn dependencies(name: &str) -> String {
    let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
    let from = manifest.find("[dependencies]").unwrap();
    let to = manifest[from..]
        .find("[dev-dependencies]")
        .map_or(manifest.len(), |length| from + length);
    manifest[from..to].to_owned()
}

#[test]
fn dependencies_point_one_way() {
    let core = dependencies("tmt-core");
    let tcp = dependencies("fluid-tcp");
    for (crate_text, forbidden) in [
        (&core, ["fluid-tcp", "tmt-cli", "clap", "anyhow"]),
        (&tcp, ["tmt-cli", "clap", "anyhow", "tempfile"]),
    ] {
        for name in forbidden {
            assert!(!crate_text.contains(name), "{name} in\n{crate_text}");
        }
    }
    assert!(
        tcp.contains("tmt-core"),
        "the search has lost its way:\n{tcp}"
    );
}

#[test]
fn libraries_never_print_exit_or_read_the_environment() {
    let words = [
        "println!",
        "eprintln!",
        "print!(",
        "process::",
        "std::env",
        "env::var",
        "std::fs",
        "Instant",
        "SystemTime",
    ];
    let found = offences(&["tmt-core/src", "fluid-tcp/src"], &words);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn closed_forms_see_nothing_that_they_check() {
    let link = [
        "crate::scheme::engine",
        "crate::scheme::runner",
        "crate::scheme",
        "crate::format",
        "crate::pipeline",
        "crate::stats",
    ];
    let found = offences(&["tmt-core/src/model.rs", "tmt-core/src/model"], &link);
    assert!(found.is_empty(), "{}", found.join("\n"));
    let tcp = [
        "crate::simulation",
        "crate::endpoint",
        "crate::congestion",
        "crate::link",
    ];
    let found = offences(&["fluid-tcp/src/model.rs", "fluid-tcp/src/model"], &tcp);
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(
        !offences(
            &["tmt-core/src/scheme/runner.rs"],
            &["crate::scheme::engine"]
        )
        .is_empty(),
        "the search has lost its way"
    );
}

#[test]
fn formats_see_no_schemes_and_schemes_no_formats() {
    let formats = ["tmt-core/src/format", "tmt-core/src/format.rs"];
    let found = offences(&formats, &["crate::scheme"]);
    assert!(found.is_empty(), "{}", found.join("\n"));
    let schemes = ["tmt-core/src/scheme", "tmt-core/src/scheme.rs"];
    let found = offences(&schemes, &["crate::format"]);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_auditor_shares_no_code_with_the_simulator() {
    let found = offences(
        &["fluid-tcp/src/audit", "fluid-tcp/src/audit.rs"],
        &["crate::"],
    );
    let strange: Vec<&String> = found
        .iter()
        .filter(|line| !line.contains("crate::audit"))
        .collect();
    assert!(strange.is_empty(), "{strange:#?}");
}

#[test]
fn congestion_controls_see_no_packets() {
    let found = offences(
        &["fluid-tcp/src/congestion", "fluid-tcp/src/congestion.rs"],
        &["crate::endpoint", "crate::link", "crate::simulation"],
    );
    assert!(found.is_empty(), "{}", found.join("\n"));
}
