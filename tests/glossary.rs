//! `tmt help`: commands and terms of the glossary.

use std::fs;

use test_support::{depth, seed};

use crate::common::{project, tmt};

#[test]
fn help_of_a_command_is_that_of_its_flag() {
    for command in ["", "tcp", "model", "model harq"] {
        let by_flag = tmt(&format!("{command} --help")).run().ok();
        let by_command = tmt(&format!("help {command}")).run().ok();
        assert_eq!(by_command.text(), by_flag.text(), "{command}");
    }
}

#[test]
fn every_term_of_the_glossary_is_explained() {
    let glossary = fs::read_to_string(project("docs/glossary.md")).unwrap();
    let entries = glossary
        .lines()
        .filter_map(|line| line.strip_prefix("- **")?.split_once("**: "));
    let terms =
        entries.flat_map(|(terms, text)| terms.split("**, **").map(move |term| (term, text)));
    // A program runs for each: some of them, others every day, and all at full depth.
    let step = depth(6, 1);
    let from = usize::try_from(seed()).unwrap() % step;
    for (term, text) in terms.skip(from).step_by(step) {
        let ran = tmt("help").arg(term.to_uppercase()).run().ok();
        let first_words = text.split('[').next().unwrap();
        // The text is wrapped.
        let words: Vec<&str> = ran.text().split_whitespace().collect();
        let first_words: Vec<&str> = first_words.split_whitespace().collect();
        let explained = words.join(" ").contains(&first_words.join(" "));
        assert!(explained, "{term}: {}", ran.text());
    }
}

#[test]
fn an_unknown_term_suggests_the_nearest_command_or_term() {
    for (word, nearest) in [
        ("aply", "'apply'"),
        ("interleavr", "'interleaver'"),
        ("code word", "'codeword'"),
    ] {
        tmt("help").arg(word).run().fails(2, &[word, nearest]);
    }
    tmt("help qqqqq")
        .run()
        .fails(2, &["unknown command or term 'qqqqq'\n"]);
}
