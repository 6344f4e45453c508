//! `tmt convert --list`: what each format can carry.

use serde_json::{Map, Value, json as value};
use tmt_core::format::export::Exporters;
use tmt_core::format::import::Importers;
use tmt_core::format::{Carries, ForeignFormat, joined};

use crate::exit::Outcome;
use crate::output::document::Document;
use crate::output::{Output, json};
use crate::table::Report;

/// All formats of other tools, those that are read first.
fn formats() -> Vec<ForeignFormat> {
    let (read, written) = (Importers::default(), Exporters::default());
    joined(read.described().chain(written.described()))
}

/// Prints all formats.
pub(super) fn run(as_json: bool, path: Option<&str>) -> Outcome {
    let mut output = Output::create(path)?;
    if as_json {
        let all: Vec<Value> = formats().iter().map(described).collect();
        json(
            &mut output,
            &Document::new("tmt.convert-list/1", Map::new(), all),
        )?;
    } else {
        output.write(table(&formats()).as_bytes())?;
    }
    output.finish()
}

/// A row per format and direction.
fn table(formats: &[ForeignFormat]) -> String {
    let names = Carries::NOTHING.named().map(|(name, _)| name);
    let header = ["format", "direction"].into_iter().chain(names);
    let mut report = Report::new(header.chain(["content"])).wrapped(6);
    for format in formats {
        for (direction, carries) in [("in", format.reads), ("out", format.writes)] {
            let Some(carries) = carries else { continue };
            let marks = carries
                .named()
                .map(|(_, is_carried)| if is_carried { "yes" } else { "-" }.to_owned());
            let row = std::iter::once(direction.to_owned()).chain(marks);
            report.row(format.name, row.chain([format.about.to_owned()]));
        }
    }
    report.to_string()
}

fn described(format: &ForeignFormat) -> Value {
    value!({
        "format": format.name,
        "about": format.about,
        "reads": format.reads,
        "writes": format.writes,
    })
}
