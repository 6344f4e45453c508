//! Samples of foreign formats: `fixtures/importers/samples/FORMAT.toml` has files with the slots and findings that they
//! give, files that are refused, and first bytes that tell the format.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Cursor};
use std::path::PathBuf;

use serde::Deserialize;
use tmt_core::format::import::{
    self, FIRST_BYTES, Files, Finding, Given, ImportError, Importer, Importers,
};
use tmt_core::types::{Metadata, to_f64};

/// Texts by key.
type Texts = BTreeMap<String, String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Samples {
    /// Contents that the format recognises, and that it does not.
    #[serde(default)]
    recognised: Vec<String>,
    #[serde(default)]
    unknown: Vec<String>,
    #[serde(default)]
    sample: Vec<Sample>,
    #[serde(default)]
    refused: Vec<Refused>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    #[serde(default)]
    keys: Texts,
    files: Texts,
    /// Time and delay of each slot, ms.
    slots_ms: Vec<(f64, f64)>,
    /// Lines of the head, among others.
    #[serde(default)]
    head: Texts,
    /// Counts of findings by name, among others; 0: it is not found.
    #[serde(default)]
    counts: BTreeMap<String, u64>,
    /// Names of findings, among others.
    #[serde(default)]
    named: Vec<String>,
    /// Names of all findings.
    all_named: Option<Vec<String>>,
    /// A part of the text of every finding.
    says: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    #[serde(default)]
    keys: Texts,
    /// Parts of the message, which begins with line and column if it has them.
    #[serde(default)]
    says: Vec<String>,
    files: Vec<Texts>,
}

struct Inputs<'a>(&'a Texts);

impl Files for Inputs<'_> {
    fn open(&mut self, key: &'static str) -> io::Result<Box<dyn BufRead + Send>> {
        let text = self.0.get(key).ok_or(io::ErrorKind::NotFound)?;
        // A small buffer, so that values are cut by it.
        let bytes = Cursor::new(text.clone().into_bytes());
        Ok(Box::new(BufReader::with_capacity(61, bytes)))
    }

    fn can_reopen(&self, _: &'static str) -> bool {
        true
    }
}

struct Converted {
    head: Metadata,
    slots_ms: Vec<(f64, f64)>,
    findings: Vec<Finding>,
}

fn convert(importer: &Importer, keys: &Texts, files: &Texts) -> Result<Converted, ImportError> {
    let mut given = Given::default();
    for key in importer.keys {
        if let Some(text) = keys.get(key.name) {
            given.set(key.name, key.kind.read(text).unwrap().to_string());
        } else if files.contains_key(key.name) {
            given.set(key.name, "file");
        }
    }
    let is_known = |name: &String| importer.keys.iter().any(|key| key.name == name);
    assert!(keys.keys().chain(files.keys()).all(is_known), "{keys:?}");
    let mut import = import::open(importer, &given, &mut Inputs(files), &mut |_| {})?;
    let ms = |nanos: u64| to_f64(nanos) * 1e-6;
    let mut slots_ms = Vec::new();
    while let Some(slot) = import.slots.next_slot()? {
        let (time, delay) = (slot.tx_time().as_nanos(), slot.decode_delay().as_nanos());
        slots_ms.push((ms(time), ms(delay)));
    }
    let findings = import.slots.findings();
    for finding in &findings {
        assert!(finding.count > 0 && !finding.text.is_empty(), "{finding:?}");
    }
    Ok(Converted {
        head: import.head,
        slots_ms,
        findings,
    })
}

/// The message of a conversion that is refused, with line and column if it has them.
fn refusal(importer: &Importer, keys: &Texts, files: &Texts) -> String {
    match convert(importer, keys, files) {
        Ok(_) => panic!("{}: {files:?} is not refused", importer.name),
        Err(ImportError::Input(error)) => match error.position() {
            Some(place) => format!("{}:{}: {error}", place.line, place.column),
            None => error.to_string(),
        },
        Err(refused) => refused.to_string(),
    }
}

impl Sample {
    fn check(&self, importer: &Importer) {
        let told = || format!("{} {:?} {:?}", importer.name, self.keys, self.files);
        let found = convert(importer, &self.keys, &self.files);
        let found = found.unwrap_or_else(|error| panic!("{}: {error}", told()));
        let is_near = |(a, b): (&(f64, f64), &(f64, f64))| {
            // Below half a nanosecond.
            (a.0 - b.0).abs() < 4e-7 && (a.1 - b.1).abs() < 4e-7
        };
        let slots = &found.slots_ms;
        let are_equal =
            slots.len() == self.slots_ms.len() && slots.iter().zip(&self.slots_ms).all(is_near);
        assert!(are_equal, "{}: {slots:?}", told());
        for (key, value) in &self.head {
            assert_eq!(
                found.head.get(key),
                Some(value.as_str()),
                "{}: {key}",
                told()
            );
        }
        let count = |name: &str| {
            let finding = found.findings.iter().find(|finding| finding.name == name);
            finding.map_or(0, |finding| finding.count)
        };
        for (name, expected) in &self.counts {
            assert_eq!(count(name), *expected, "{}: {name}", told());
        }
        for name in &self.named {
            assert!(count(name) > 0, "{}: no {name}", told());
        }
        let findings = found.findings.iter();
        if let Some(names) = &self.all_named {
            let all: Vec<&str> = findings.clone().map(|finding| finding.name).collect();
            assert_eq!(all, *names, "{}", told());
        }
        if let Some(parts) = &self.says {
            let texts: Vec<&str> = findings.map(|finding| finding.text.as_str()).collect();
            let are_said = texts.len() == parts.len()
                && texts
                    .iter()
                    .zip(parts)
                    .all(|(text, part)| text.contains(part));
            assert!(are_said, "{}: {texts:?}", told());
        }
    }
}

#[test]
fn samples_give_their_slots_or_are_refused() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/importers/samples");
    let mut checked = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let importer = Importers::default().find(name).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let samples: Samples =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let recognises = |text: &String| {
            let first = &text.as_bytes()[..text.len().min(FIRST_BYTES)];
            (importer.recognises)(first)
        };
        assert!(samples.recognised.iter().all(recognises), "{name}");
        assert!(!samples.unknown.iter().any(recognises), "{name}");
        for sample in &samples.sample {
            sample.check(importer);
            checked += 1;
        }
        for Refused { keys, says, files } in &samples.refused {
            for files in files {
                let message = refusal(importer, keys, files);
                let is_said = says.iter().all(|part| message.contains(part));
                assert!(is_said, "{name} {files:?}: {message}");
                checked += 1;
            }
        }
    }
    assert!(checked > 100, "{checked}");
}
