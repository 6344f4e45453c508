//! Help of a model, generated from its description.

use tmt_core::model::Model;

/// Keys, results, source, and assumptions with errata.
pub(super) fn of(model: &Model) -> String {
    let mut text = String::from("Keys:\n");
    let keys: Vec<String> = model
        .keys
        .iter()
        .map(|key| match key.preset_text() {
            Some(preset) => format!("{}={preset}", key.name),
            None => format!("{}=", key.name),
        })
        .collect();
    let wide = width(keys.iter().map(String::as_str));
    for (key, name) in model.keys.iter().zip(&keys) {
        text.push_str(&format!(
            "  {name:wide$}  {} ({})\n",
            key.about,
            key.expected()
        ));
    }
    text.push_str("\nResults:\n");
    let wide = width(model.results.iter().map(|field| field.name));
    for field in model.results {
        text.push_str(&format!("  {:wide$}  {}\n", field.name, field.about));
    }
    text.push_str(&format!("\nSource:\n  {}\n", model.source));
    if !model.notes.is_empty() {
        text.push_str("\nAssumptions and errata:\n");
        for note in model.notes {
            text.push_str(&format!("  - {note}\n"));
        }
    }
    text.push_str(&format!(
        "\nExample:\n  tmt model {} {}",
        model.name, model.example
    ));
    text
}

/// Length of the longest text, in characters.
fn width<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    let lengths = texts.map(|text| text.chars().count());
    lengths.max().unwrap_or(0)
}
