//! What README lists is what there is: its tables against the registries.

use std::collections::BTreeSet;
use std::fs;

use crate::common::{project, tmt};

/// The words in code font of the first cell of each row of README's table under this heading.
fn listed(heading: &str) -> Vec<String> {
    let readme = fs::read_to_string(project("README.md")).unwrap();
    let (_, table) = readme.split_once(&format!("\n| {heading} |")).unwrap();
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').nth(1).unwrap());
    cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned))
        .collect()
}

#[test]
fn the_table_of_schemes_is_the_registry() {
    // The order of delivery may follow any of them, which the text below the table says.
    let forms = tmt_core::scheme::forms();
    let forms: Vec<String> = forms
        .iter()
        .map(|form| form.replace("[,in-order]", "").replace("[:in-order]", ""))
        .collect();
    assert_eq!(listed("form | what is sent"), forms);
}

#[test]
fn the_table_of_models_is_both_registries() {
    let known = tmt_core::model::MODELS
        .iter()
        .chain(fluid_tcp::model::MODELS);
    let known: BTreeSet<String> = known.map(|model| model.name.to_owned()).collect();
    let listed = listed("models | of | from");
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), known);
    assert_eq!(listed.len(), known.len());
}

#[test]
fn the_table_of_commands_is_that_of_help() {
    let help = tmt("--help").run().ok();
    let commands = help.text().split_once("Commands:").unwrap().1;
    let commands = commands.split_once("\n\n").unwrap().0;
    let known = commands
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    let known: BTreeSet<String> = known
        .filter(|name| *name != "help")
        .map(|name| format!("tmt {name}"))
        .collect();
    assert_eq!(
        listed("command | what it does")
            .into_iter()
            .collect::<BTreeSet<_>>(),
        known
    );
}

/// The text names every controller, queue, profile and format that there is.
#[test]
fn the_text_names_what_can_be_chosen() {
    let readme = fs::read_to_string(project("README.md"))
        .unwrap()
        .to_lowercase();
    let controls = fluid_tcp::congestion::Algorithm::names();
    let queues = tmt_link::queue::Discipline::names();
    let profiles = fluid_tcp::endpoint::Profile::VARIANTS;
    let processes = tmt_core::channel::FAMILIES.iter().map(|family| family.name);
    for name in controls
        .iter()
        .chain(&queues)
        .chain(profiles)
        .copied()
        .chain(processes)
    {
        assert!(readme.contains(name), "README says nothing of {name}");
    }
}
