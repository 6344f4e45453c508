//! What was asked: the commands that repeat results, and what figures of papers show.

use serde_json::Value as Json;
use tmt_core::types::Span;
use tmt_plot::Source;
use tmt_plot::chosen::is_results;

use super::quoted;
use crate::markup::Table;

/// The commands that make the table or document again, from what it says was asked: the footer of Parquet, the parameter file or the
/// parameters of a document.
/// Of results without it a line that says so.
pub(crate) fn commands(name: &str, source: &Source) -> Vec<String> {
    let kinds = [
        (
            "plan",
            "repeated-plan.toml",
            "tmt sweep repeated-plan.toml -o",
        ),
        (
            "params",
            "repeated-run.toml",
            if source.document().is_empty() {
                "tmt tcp --params repeated-run.toml --results"
            } else {
                "tmt tcp --params repeated-run.toml --json >"
            },
        ),
    ];
    let mut found = kinds.iter().filter_map(|(key, file, command)| {
        let (_, file_text) = source.head.iter().find(|(known, _)| known == key)?;
        let text: String = serde_json::from_str(file_text).ok()?;
        // No line of the text can end it.
        let mut end = "END".to_owned();
        while text.lines().any(|line| line == end) {
            end.push('_');
        }
        let text = text.trim_end();
        // A timeline or trace that came through a pipe is in no file.
        let piped = text.lines().any(|line| line == "trace = \"-\"");
        let mut commands = vec![format!("cat > {file} <<'{end}'\n{text}\n{end}")];
        commands.extend(piped.then(|| {
            "# The trace came through a pipe: pipe it into the next command, too.".to_owned()
        }));
        commands.push(format!("{command} {}", quoted(name)));
        Some(commands)
    });
    let lacking = || {
        let text = match source.document() {
            "" if is_results(source) && source.has("cell") => {
                "# This table has no plan in it. The Parquet that `tmt sweep` writes has one."
            }
            "" if is_results(source) => {
                "# This table has no parameter file in it. The Parquet that `tmt tcp --results` writes has one."
            }
            "tcp" => {
                "# This document has no parameter file in it: an earlier version has written it."
            }
            _ => return None,
        };
        Some(text.to_owned())
    };
    found
        .next()
        .or_else(|| of_document(name, source))
        .unwrap_or_else(|| lacking().into_iter().collect())
}

/// The commands that a document has or follows from: those of figures, of the winner of advice, of the processes of a fit.
fn of_document(name: &str, source: &Source) -> Option<Vec<String>> {
    let commands = source.result("commands");
    match source.document() {
        "reproduce" => Some(vec![of_figures(name, source)]),
        "advise" => {
            let stages = ["slots", "apply", "tcp"].map(|stage| commands.get(stage)?.as_str());
            let stages: Vec<&str> = stages.into_iter().flatten().collect();
            let winner = source.result("winner").as_str()?;
            (!stages.is_empty())
                .then(|| vec![format!("# A run of {winner}:"), stages.join(" \\\n  | ")])
        }
        "fit" => {
            let lines = commands.as_array()?.iter();
            let ours = lines.filter_map(|one| one.get("line")?.as_str());
            let ours: Vec<String> = ours
                .filter(|line| line.starts_with("tmt "))
                .map(str::to_owned)
                .collect();
            let title = "# Erasures by the fitted process:".to_owned();
            (!ours.is_empty()).then(|| [title].into_iter().chain(ours).collect())
        }
        _ => None,
    }
}

/// `tmt reproduce` with the figures and changes of the document `name`.
fn of_figures(name: &str, source: &Source) -> String {
    let text = |json: &Json| json.as_str().map(quoted);
    let given = source.param("figures").as_array();
    // Documents of earlier versions have only the names in their results.
    let figures: Vec<String> = match given {
        Some(given) => given.iter().filter_map(text).collect(),
        None => all_figures(source)
            .filter_map(|one| text(one.get("figure")?))
            .collect(),
    };
    let mut command = format!("tmt reproduce {}", figures.join(" "));
    for change in source.param("set").as_array().into_iter().flatten() {
        let part = |key: &str| change.get(key).and_then(Json::as_str).unwrap_or("");
        let setting = format!("{}={}", part("name"), part("values"));
        command.push_str(&format!(" --set {}", quoted(&setting)));
    }
    if let Some(seeds) = source.param("seeds").as_u64() {
        command.push_str(&format!(" --seeds {seeds}"));
    }
    if let Some(duration) = source
        .param("duration_ns")
        .as_u64()
        .and_then(Span::from_nanos)
    {
        command.push_str(&format!(" --duration {duration}"));
    }
    command + &format!(" --json > {}", quoted(name))
}

fn all_figures(source: &Source) -> impl Iterator<Item = &Json> {
    source.result("figures").as_array().into_iter().flatten()
}

/// The content of each figure of a document, and its notes.
pub(crate) fn figures(source: &Source) -> Option<Table> {
    let row = |one: &Json| {
        let text = |key: &str| one.get(key).and_then(Json::as_str).map(str::to_owned);
        let notes = one.get("notes").and_then(Json::as_array).into_iter();
        let notes = notes.flatten().filter_map(Json::as_str);
        let texts = text("about").into_iter().chain(notes.map(str::to_owned));
        Some(vec![text("figure")?, texts.collect::<Vec<_>>().join(" ")])
    };
    let rows: Vec<Vec<String>> = all_figures(source).filter_map(row).collect();
    (!rows.is_empty()).then(|| Table {
        caption: "Asked: figures and tables of papers".to_owned(),
        headings: ["figure", "content"].map(str::to_owned).to_vec(),
        rows,
        words: 2,
    })
}
