//! Runs the fuzz properties (`fuzz/properties`) on the stored inputs (`fuzz/corpus`).

#[path = "../fuzz/properties/mod.rs"]
mod properties;

use std::fs;
use std::path::{Path, PathBuf};

/// Largest stored input, bytes.
const LARGEST: usize = 4096;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus")
}

/// The files of a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Runs a property on its corpus, and on damaged copies of each input.
fn replay(name: &str, check: fn(&[u8])) {
    let files = files(&corpus().join(name));
    assert!(!files.is_empty(), "{name} has no corpus");
    for file in files {
        let bytes = fs::read(&file).unwrap();
        let name = file.display();
        assert!(bytes.len() <= LARGEST, "{name}: {} bytes", bytes.len());
        println!("{name}");
        check(&bytes);
        // Typical damage: a cut, and a flipped bit.
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
fn every_property_has_a_corpus_and_every_corpus_a_property() {
    let names: Vec<_> = properties::ALL.map(|(name, _)| corpus().join(name)).into();
    assert_eq!(files(&corpus()), names);
}

#[test]
fn every_property_holds_on_its_corpus() {
    for (name, check) in properties::ALL {
        replay(name, check);
    }
}
