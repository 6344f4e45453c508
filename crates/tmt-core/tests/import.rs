//! Importers: combinations of keys that are refused, and an importer from outside the crate.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Cursor};

use tmt_core::format::Carries;
use tmt_core::format::Unit;
use tmt_core::format::import::{
    self, Files, Finding, Given, Import, ImportError, Importer, Importers, Lines, Slots,
    render_keys,
};
use tmt_core::named::{Kind, Parameter, Rule};
use tmt_core::types::{Metadata, Slot, Span, Time, TraceKind};
use tmt_core::{Error, Result};

/// Inputs in memory.
struct Texts(BTreeMap<&'static str, &'static str>);

impl Files for Texts {
    fn open(&mut self, key: &'static str) -> io::Result<Box<dyn BufRead + Send>> {
        let text = self.0.get(key).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Cursor::new(*text)))
    }

    fn can_reopen(&self, _: &'static str) -> bool {
        true
    }
}

/// A format that another crate adds: one line per packet, the gap to the packet before, in a given unit.
static GAPS: Importer = Importer {
    name: "gaps",
    about: "the gap before each packet, one packet per line",
    kind: TraceKind::Probe,
    carries: Carries::NOTHING,
    keys: &[
        Parameter::optional("trace", Kind::Input, "the trace"),
        Parameter::optional(
            "unit",
            Kind::Words(&["s", "ms", "us", "ns"]),
            "unit of the gaps",
        )
        .when(Rule::Required("the file does not contain it")),
    ],
    recognises: |_| false,
    open: |given, files, _| {
        Ok(Import {
            head: Metadata::new(),
            settings: given.clone(),
            slots: Box::new(GapSlots {
                lines: Lines::new(files.open("trace").map_err(Error::from)?),
                unit: given.get("unit").unwrap(),
                now: Time::ZERO,
            }),
        })
    },
};

struct GapSlots {
    lines: Lines<Box<dyn BufRead + Send>>,
    unit: Unit,
    now: Time,
}

impl Slots for GapSlots {
    fn next_slot(&mut self) -> Result<Option<Slot>> {
        if !self.lines.advance()? {
            return Ok(None);
        }
        let gap = Span::from_nanos(self.lines.nanos("gap", self.unit)?).unwrap();
        self.now = self.now.saturating_add(gap);
        Ok(Slot::new(self.now, Span::from_nanos(1).unwrap()))
    }

    fn findings(&self) -> Vec<Finding> {
        self.lines.finding("trace").into_iter().collect()
    }
}

/// Given values, each parsed by its key.
fn given(importers: &Importers, pairs: &[(&str, &str)]) -> Given {
    let keys = importers.keys();
    let mut given = Given::default();
    for (name, text) in pairs {
        let (key, _) = keys.iter().find(|(key, _)| key.name == *name).unwrap();
        given.set(key.name, key.kind.read(text).unwrap().to_string());
    }
    given
}

fn refused(format: &str, pairs: &[(&str, &str)]) -> String {
    let importers = Importers::default();
    let importer = importers.find(format).unwrap();
    let given = given(&importers, pairs);
    let mut texts = Texts([("delay", "1\n"), ("loss", "0\n")].into());
    match import::open(importer, &given, &mut texts, &mut |_| {}) {
        Err(ImportError::Input(error)) => panic!("{error}"),
        Err(refusal) => refusal.to_string(),
        Ok(_) => panic!("{pairs:?} was accepted"),
    }
}

#[test]
fn a_format_from_outside_the_crate_is_registered_and_opened() {
    let importers = Importers::default().with(&GAPS);
    let names = importers.names();
    let built_in: Vec<&str> = import::FORMATS.iter().map(|known| known.name).collect();
    assert_eq!(names, [&built_in[..], &["gaps"]].concat());
    let (_, formats) = importers
        .keys()
        .into_iter()
        .find(|(key, _)| key.name == "trace")
        .unwrap();
    assert!(
        formats.starts_with(&["mahimahi"]) && formats.ends_with(&["gaps"]),
        "{formats:?}"
    );

    let gaps = importers.find("gaps").unwrap();
    let mut texts = Texts([("trace", "1.5\r\n0\n2\n")].into());
    let with_unit = given(&importers, &[("unit", "ms")]);
    let mut import = import::open(gaps, &with_unit, &mut texts, &mut |_| {})
        .ok()
        .unwrap();
    let mut times = Vec::new();
    while let Some(slot) = import.slots.next_slot().unwrap() {
        times.push(slot.tx_time().as_nanos());
    }
    assert_eq!(times, [1_500_000, 1_500_000, 3_500_000]);
    let mixed = &import.slots.findings()[0];
    assert_eq!(
        (mixed.name, mixed.count, mixed.unit),
        ("mixed-line-ends", 1, "lines")
    );
    assert_eq!(import.head.get("trace_kind"), Some("probe"));

    let refusal = import::open(gaps, &Given::default(), &mut texts, &mut |_| {}).err();
    let Some(ImportError::Keys(refusal)) = refusal else {
        panic!("the unit was not needed");
    };
    let text = "gaps needs `unit`: the file does not contain it";
    assert_eq!(refusal.to_string(), text);
}

#[test]
fn keys_that_cannot_be_combined_are_refused() {
    let interval = ("interval", "10ms");
    let (delay, loss) = (("delay", "-"), ("loss", "-"));
    for (format, pairs, message) in [
        (
            "mahimahi",
            &[interval][..],
            "--interval does not apply to mahimahi",
        ),
        (
            "delay-loss",
            &[loss],
            "delay-loss needs --interval: the files contain no send times",
        ),
        (
            "delay-loss",
            &[interval],
            "delay-loss needs --delay, --loss or both",
        ),
        (
            "delay-loss",
            &[interval, delay, ("lost", "0")],
            "--lost needs --loss",
        ),
        (
            "delay-loss",
            &[interval, delay, ("decode-delay", "1ms")],
            "--decode-delay cannot be combined with --delay",
        ),
        (
            "delay-loss",
            &[interval, loss, ("propagation", "1ms")],
            "--propagation needs --delay",
        ),
        (
            "delay-loss",
            &[interval, delay, ("trace", "x")],
            "--trace does not apply to delay-loss",
        ),
    ] {
        let refusal = refused(format, pairs);
        assert_eq!(render_keys(&refusal, |key| format!("--{key}")), message);
    }
}

#[test]
fn formats_that_share_a_key_agree_on_its_kind_and_rules_name_existing_keys() {
    let importers = Importers::default();
    let mut taken: BTreeMap<&str, Kind> = BTreeMap::new();
    for importer in importers.iter() {
        let names: BTreeSet<&str> = importer.keys.iter().map(|key| key.name).collect();
        assert_eq!(names.len(), importer.keys.len(), "{}", importer.name);
        for key in importer.keys {
            assert_eq!(
                *taken.entry(key.name).or_insert(key.kind),
                key.kind,
                "{}",
                key.name
            );
            if let Rule::With(other) | Rule::Without(other) = key.rule {
                assert!(names.contains(other), "{}: {other}", key.name);
            }
        }
    }
}
