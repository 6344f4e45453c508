//! README and the pages list all that there is: their tables against the registries.

use std::collections::BTreeSet;
use std::fs;

use crate::common::{project, tmt};

/// The rows of the table under this heading of a page, cell by cell.
fn rows(page: &str, heading: &str) -> Vec<Vec<String>> {
    let page = fs::read_to_string(project(page)).unwrap();
    let (_, table) = page.split_once(&format!("\n| {heading} |")).unwrap();
    let rows = table.lines().skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('|').skip(1).map(str::to_owned).collect())
        .collect()
}

/// The words in code font of a cell.
fn words(cell: &str) -> impl Iterator<Item = String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// The words in code font of the first cell of each row.
fn listed(page: &str, heading: &str) -> Vec<String> {
    let rows = rows(page, heading);
    rows.iter().flat_map(|row| words(&row[0])).collect()
}

/// The names in front of the parameters, each once.
fn names(texts: impl IntoIterator<Item = String>) -> BTreeSet<String> {
    let texts: Vec<String> = texts.into_iter().collect();
    let names = texts.iter().map(|text| text.split(':').next().unwrap());
    let names: BTreeSet<String> = names.map(str::to_owned).collect();
    assert_eq!(names.len(), texts.len(), "{texts:?}");
    names
}

fn set<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[test]
fn the_table_of_schemes_is_the_registry() {
    // The order of delivery may follow any of them, which the text below the table says.
    let forms = tmt_core::scheme::forms();
    let forms: Vec<String> = forms
        .iter()
        .map(|form| form.replace("[,in-order]", "").replace("[:in-order]", ""))
        .collect();
    assert_eq!(listed("README.md", "form | units sent"), forms);
}

#[test]
fn the_table_of_models_is_all_registries() {
    let known: BTreeSet<String> = fluid_tcp::model::all()
        .map(|model| model.name.to_owned())
        .collect();
    let listed = listed("docs/models.md", "models | subject | source");
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
        listed("README.md", "command | purpose")
            .into_iter()
            .collect::<BTreeSet<_>>(),
        known
    );
}

/// The page of the simulator names every control, queue and profile, and that of the traces every process.
#[test]
fn the_tables_name_what_can_be_chosen() {
    let simulator = "docs/simulator.md";
    let flags = rows(simulator, "flag | names");
    let of = |flag: &str| {
        let row = flags
            .iter()
            .find(|row| words(&row[0]).eq([flag.to_owned()]));
        names(words(
            &row.unwrap_or_else(|| panic!("{simulator} lacks {flag}"))[1],
        ))
    };
    let controls = set(fluid_tcp::congestion::Algorithm::names());
    assert_eq!(of("--cc"), controls);
    let keys = "control | keys with default | specification";
    assert_eq!(names(listed(simulator, keys)), controls);
    assert_eq!(of("--queue"), set(tmt_link::queue::Discipline::names()));
    assert_eq!(
        of("--profile"),
        set(fluid_tcp::endpoint::Profile::VARIANTS.iter().copied())
    );
    let processes = tmt_core::channel::FAMILIES.iter().map(|family| family.name);
    assert_eq!(
        names(listed("docs/trace-format.md", "process | erases")),
        set(processes)
    );
}

/// README's first table has the means and intervals that its sweep prints.
#[test]
fn the_first_table_is_what_the_sweep_prints() {
    let readme = fs::read_to_string(project("README.md")).unwrap();
    let (_, printed) = readme.split_once("\nscheme  ").unwrap();
    let (printed, _) = printed.split_once("```").unwrap();
    let printed: Vec<Vec<&str>> = printed
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect())
        .collect();
    let table = rows("README.md", "link layer | CUBIC | BBRv1");
    assert_eq!(printed.len(), 2 * table.len());
    for row in table {
        let scheme = words(&row[0]).next().unwrap();
        for (control, cell) in ["cubic", "bbr1"].iter().zip(&row[1..]) {
            let of = |line: &&Vec<&str>| line[0] == scheme && line[1] == *control;
            let line = printed.iter().find(of).unwrap();
            let [mean, half_width] = [3, 5].map(|column| line[column].parse::<f64>().unwrap());
            assert_eq!(
                cell.trim(),
                format!("{mean:.0} ± {half_width:.0}"),
                "{scheme}"
            );
        }
    }
}
