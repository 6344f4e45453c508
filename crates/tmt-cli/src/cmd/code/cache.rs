//! `--cache`: measurements that are kept in a table.

use std::collections::HashMap;
use std::fs::File;
use std::io::ErrorKind;

use tmt_core::coding::counts::Tally;
use tmt_core::coding::measure::Settings;
use tmt_core::coding::spec::CodeSpec;
use tmt_core::format::records::{Cell, Records, Value};
use tmt_core::format::table::TableForm;

use crate::exit::{Failure, Outcome, warning};
use crate::output::{Output, document, table_form};
use crate::provenance::TOOL;

/// Columns that say what was measured, then those with the result, then the version.
const ASKED: [&str; 8] = [
    "code",
    "ecn0_db",
    "interleaver",
    "decision",
    "count",
    "events",
    "most_bits",
    "seed",
];
const FOUND: [&str; 3] = ["segments", "segment_failures", "segments_undetected"];
const VERSION: &str = "tool";

/// Measurements by what was asked.
pub(super) struct Cache {
    path: String,
    form: TableForm,
    known: HashMap<Vec<String>, Tally>,
    /// Rows in the order in which they were measured.
    rows: Records,
}

impl Cache {
    /// The measurements in a file; none if there is no such file yet. Those of another version are left out, with a warning.
    pub(super) fn open(path: &str) -> Outcome<Self> {
        let form = table_form(path).map_err(|why| Failure::usage(format!("--cache: {why}")))?;
        let mut cache = Self {
            path: path.to_owned(),
            form,
            known: HashMap::new(),
            rows: Records::default(),
        };
        let table = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(cache),
            Err(error) => return Err(Failure::io(path, &error)),
            Ok(file) => Records::read(file).map_err(|error| Failure::input(path, &error))?,
        };
        let columns = ASKED.iter().chain(&FOUND).chain([&VERSION]);
        for column in columns {
            if !table.names().any(|name| name == *column) {
                return Err(Failure::usage(format!(
                    "--cache {path}: found no column {column}, expected a table that --cache wrote, or a new path"
                )));
            }
        }
        let mut others = 0;
        for row in 0..table.len() {
            let text = |name: &str| table.value(row, name).map(Cell::text).unwrap_or_default();
            if text(VERSION) != TOOL {
                others += 1;
                continue;
            }
            let number = |name: &str| match table.value(row, name) {
                Some(Cell::Whole(number)) => u64::try_from(number).ok(),
                _ => None,
            };
            let [Some(all), Some(failures), Some(undetected)] = FOUND.map(number) else {
                return Err(Failure::failed(format!(
                    "{path}: row {}: found no counts of segments, expected whole numbers",
                    row + 1
                )));
            };
            let tally = Tally {
                all,
                failures,
                undetected,
            };
            cache.add(ASKED.map(text).to_vec(), tally);
        }
        if others > 0 {
            warning!(
                "code",
                "{path}: {others} measurements of another version are measured anew"
            );
        }
        Ok(cache)
    }

    /// The measurement, if it is known.
    pub(super) fn get(&self, code: &CodeSpec, settings: &Settings) -> Option<Tally> {
        self.known.get(&asked(code, settings)).copied()
    }

    /// Keeps a new measurement and writes the table, so that a run that is stopped loses the one at most that it was making.
    pub(super) fn keep(&mut self, code: &CodeSpec, settings: &Settings, found: Tally) -> Outcome {
        self.add(asked(code, settings), found);
        let mut output = Output::create(Some(&self.path))?;
        document::write(&self.rows, &mut output, self.form, "tmt.code-cache/1", &[])?;
        output.finish()
    }

    fn add(&mut self, asked: Vec<String>, found: Tally) {
        let whole = |count: u64| Some(Value::Whole(i64::try_from(count).unwrap_or(i64::MAX)));
        let texts = ASKED
            .iter()
            .copied()
            .zip(asked.iter().cloned().map(|text| Some(Value::Text(text))));
        let counts = [found.all, found.failures, found.undetected].map(whole);
        let version = (VERSION, Some(Value::Text(TOOL.to_owned())));
        self.rows
            .row(texts.chain(FOUND.into_iter().zip(counts)).chain([version]));
        self.known.insert(asked, found);
    }
}

/// The texts of [`ASKED`].
fn asked(code: &CodeSpec, settings: &Settings) -> Vec<String> {
    let link = &settings.link;
    vec![
        code.to_string(),
        link.ecn0_db.to_string(),
        link.interleaver.to_string(),
        link.decision.to_string(),
        settings.event.to_string(),
        settings.events.to_string(),
        settings.most_bits.to_string(),
        link.seed.to_string(),
    ]
}
