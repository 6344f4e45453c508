//! The properties that fuzzing looks for, on the inputs that were kept: `fuzz/properties`, `fuzz/corpus`.

#[path = "../fuzz/properties/mod.rs"]
mod properties;

use std::fs;
use std::path::{Path, PathBuf};

/// Largest input that is kept, bytes.
const LARGEST: usize = 4096;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus")
}

/// What is in a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Replays the corpus of one target; what panics within a crate below is not for the test's output.
fn replay(name: &str) {
    let (_, check) = properties::ALL
        .into_iter()
        .find(|(target, _)| *target == name)
        .unwrap();
    let files = files(&corpus().join(name));
    assert!(!files.is_empty(), "{name} has no corpus");
    for file in files {
        let bytes = fs::read(&file).unwrap();
        let name = file.display();
        assert!(bytes.len() <= LARGEST, "{name}: {} bytes", bytes.len());
        println!("{name}");
        check(&bytes);
        // The usual damage: cut, and a bit or a byte that is another.
        for part in 0..8 {
            let at = bytes.len() * part / 8;
            check(&bytes[..at]);
            let mut flipped = bytes.clone();
            if let Some(byte) = flipped.get_mut(at) {
                *byte ^= 1 << part;
                check(&flipped);
            }
        }
    }
}

#[test]
fn every_target_has_a_property_and_a_corpus() {
    let names: Vec<_> = properties::ALL.map(|(name, _)| corpus().join(name)).into();
    assert_eq!(files(&corpus()), names);
    let targets = files(&corpus().join("../fuzz_targets"));
    let stems: Vec<_> = targets
        .iter()
        .map(|file| file.file_stem().unwrap())
        .collect();
    assert_eq!(stems, properties::ALL.map(|(name, _)| name));
}

#[test]
fn arrow() {
    replay("arrow");
}

#[test]
fn codec() {
    replay("codec");
}

#[test]
fn import() {
    replay("import");
}

#[test]
fn parquet() {
    replay("parquet");
}

#[test]
fn scheme() {
    replay("scheme");
}

#[test]
fn text() {
    replay("text");
}

#[test]
fn trace() {
    replay("trace");
}
