//! `tmt convert --list`: what each format can carry.

use serde_json::{Value, json as value};
use tmt_core::format::export::Exporters;
use tmt_core::format::import::Importers;
use tmt_core::format::{Carries, ForeignFormat, joined};

use crate::exit::Outcome;
use crate::output::document::Document;
use crate::table::{Table, print};

/// All formats of other tools, those that are read first.
fn formats() -> Vec<ForeignFormat> {
    let (read, written) = (Importers::default(), Exporters::default());
    joined(read.described().chain(written.described()))
}

/// Prints all formats.
pub(super) fn run(as_json: bool, path: Option<&str>) -> Outcome {
    let formats = formats();
    let all: Vec<Value> = formats.iter().map(described).collect();
    let document = Document::list("tmt.convert-list/1", all);
    print(path, as_json, &document, |_| table(&formats))
}

/// A row per format and direction.
fn table(formats: &[ForeignFormat]) -> String {
    let directions = formats.iter().flat_map(|format| {
        let both = [("in", format.reads), ("out", format.writes)];
        let both = both.into_iter();
        both.filter_map(move |(direction, carries)| Some((format, direction, carries?)))
    });
    let mut table = Table::of(directions)
        .words("format", |(format, ..)| format.name)
        .plain("direction", |(_, direction, _)| *direction);
    for (place, (name, _)) in Carries::NOTHING.named().into_iter().enumerate() {
        table = table.plain(name, |(.., carries)| match carries.named()[place] {
            (_, true) => "yes",
            (_, false) => "-",
        });
    }
    table
        .wrapped("content", |(format, ..)| format.about)
        .to_string()
}

fn described(format: &ForeignFormat) -> Value {
    value!({
        "format": format.name,
        "about": format.about,
        "reads": format.reads,
        "writes": format.writes,
    })
}
