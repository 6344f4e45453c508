//! The keys of all formats; each is a flag.

use tmt_core::format::export::Exporters;
use tmt_core::format::import::Importers;
use tmt_core::named::Parameter;

/// A key with the formats that have it.
pub(super) struct FormatKey {
    pub(super) key: &'static Parameter,
    /// Names of formats that are read, and `--to NAME` for those that are written.
    pub(super) formats: Vec<String>,
}

/// The keys of all formats, each once: first of those that are read.
pub(super) fn all() -> Vec<FormatKey> {
    let mut all: Vec<FormatKey> = Vec::new();
    for (key, formats) in Importers::default().keys() {
        let formats = formats.into_iter().map(str::to_owned).collect();
        all.push(FormatKey { key, formats });
    }
    for (key, formats) in Exporters::default().keys() {
        let mut formats: Vec<String> = formats.iter().map(|name| format!("--to {name}")).collect();
        match all.iter_mut().find(|known| known.key.name == key.name) {
            Some(known) => known.formats.append(&mut formats),
            None => all.push(FormatKey { key, formats }),
        }
    }
    all
}
