//! `tmt help`: the help of a command, or an entry of the glossary.

use tmt_core::named::suggestion;

use crate::Cli;
use crate::cmd::tcp::explained;
use crate::cmd::whole;
use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::table::wrap;

/// The glossary. An entry is a line `- **term**: text`.
const GLOSSARY: &str = include_str!("../../../../docs/glossary.md");

/// Flags of `tmt help`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  tmt help tcp\n  tmt help model harq\n  tmt help LLDU\n  tmt help repair unit"
)]
pub(crate) struct Args {
    /// Command, and its subcommand; or a term of the glossary, docs/glossary.md [default: `tmt` itself]
    #[arg(value_name = "COMMAND|TERM")]
    words: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let tmt = whole();
    let mut words = args.words.iter().map(String::as_str);
    let command = words.try_fold(&tmt, |command, name| command.find_subcommand(name));
    if command.is_some() {
        let words = args.words.iter().map(String::as_str);
        let asked = ["tmt"].into_iter().chain(words).chain(["--help"]);
        let printed = match Cli::read(asked.map(Into::into).collect()) {
            Ok(_) => Ok(()),
            Err(help) => help.print(),
        };
        return printed.map_err(|error| Failure::io("<stdout>", &error));
    }
    let word = args.words.join(" ");
    let mut terms: Vec<_> = entries().filter(|(term, _)| is_same(term, &word)).collect();
    if terms.is_empty() {
        // The first word of a term may stand for it.
        let begins = |term: &str| is_same(term.split(' ').next().unwrap_or(term), &word);
        terms = entries().filter(|(term, _)| begins(term)).collect();
    }
    let terms = terms.into_iter();
    let terms = terms.map(|(term, text)| {
        let term = term.replace("**, **", ", ");
        format!("{term}: {}", without_links(text))
    });
    let metric = explained(&word).map(|(unit, definition)| match unit {
        "" => format!("{word} (metric): {definition}"),
        unit => format!("{word} (metric, {unit}): {definition}"),
    });
    let found = terms.chain(metric).map(|text| wrap(&text, "  ") + "\n");
    let found: Vec<String> = found.collect();
    if found.is_empty() {
        let commands = tmt.get_subcommands().map(clap::Command::get_name);
        let terms = entries().flat_map(|(term, _)| term.split("**, **"));
        let known = commands.chain(terms);
        let suggestion = suggestion(&word, known);
        return Err(Failure::usage(format!(
            "unknown command or term '{word}'{suggestion}"
        )));
    }
    let mut output = Output::create(None)?;
    output.write(found.concat().as_bytes())?;
    output.finish()
}

/// Terms and texts of the glossary.
fn entries() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = GLOSSARY
        .lines()
        .filter_map(|line| line.strip_prefix("- **"));
    lines.filter_map(|line| line.split_once("**: "))
}

/// Whether `word` names `term`: in any case, with a plural s, and without the field in parentheses.
fn is_same(term: &str, word: &str) -> bool {
    let plain = |text: &str| text.to_lowercase().replace(['-', '–', '_'], " ");
    let word = plain(word);
    let singular = word.strip_suffix('s').unwrap_or(&word);
    term.split("**, **").map(plain).any(|term| {
        let (name, _) = term.split_once(" (").unwrap_or((&term, ""));
        [term.as_str(), name]
            .iter()
            .any(|known| *known == word || *known == singular)
    })
}

/// `text` with the path of a page instead of a link to it.
fn without_links(text: &str) -> String {
    let mut parts = text.split('[');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let link = part
            .split_once("](")
            .and_then(|(_, rest)| rest.split_once(')'));
        match link {
            Some((target, rest)) => plain += &format!("docs/{target}{rest}"),
            None => plain += &format!("[{part}"),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_terms_in_any_case_and_in_the_plural() {
        for (term, word) in [
            ("slot", "Slots"),
            ("LLDU", "lldus"),
            ("Gilbert–Elliott", "gilbert-elliott"),
            ("drop-tail", "drop tail"),
            ("probe (simulation)", "probes"),
            ("repair unit", "repair units"),
        ] {
            assert!(is_same(term, word), "{term} {word}");
        }
        assert!(!is_same("slot", "slo") && !is_same("slot", "slotss"));
    }

    #[test]
    fn links_become_paths() {
        let text = "See [metrics.md](metrics.md), and a [range.";
        assert_eq!(without_links(text), "See docs/metrics.md, and a [range.");
    }

    #[test]
    fn every_item_of_the_glossary_is_an_entry() {
        let items = GLOSSARY
            .lines()
            .filter(|line| line.starts_with("- "))
            .count();
        assert!(items > 100 && entries().count() == items);
    }
}
