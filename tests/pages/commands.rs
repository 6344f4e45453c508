//! Commands of a page: what is run again gives its table or document.

use std::fs;

use crate::common::{Folder, bash, project, tmt};
use crate::pages::page;

/// The commands of a page, as they are typed.
fn commands(page: &str) -> String {
    let (_, commands) = page.split_once("aria-label=\"Commands\">").unwrap();
    let (commands, _) = commands.split_once("</pre>").unwrap();
    let escapes = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    escapes
        .iter()
        .fold(commands.to_owned(), |text, (from, to)| {
            text.replace(from, to)
        })
}

/// Figures of papers by name, of a file with quotes in its name, and with changed settings.
#[test]
fn the_command_of_figures_makes_their_document_again() {
    let folder = Folder::new();
    let shown = tmt("reproduce --list --json").run().ok().stdout;
    assert!(String::from_utf8(shown).unwrap().contains("barakat-fig15"));
    let own = project("crates/tmt-study/figures/barakat-fig15.toml");
    let own = fs::read_to_string(own).unwrap();
    folder.write("it's mine.toml", own.replacen("barakat-fig15", "mine", 1));
    for figures in [
        "celandroni-fig3 barakat-fig15",
        "'it'\\''s mine.toml' --set p=0.01",
    ] {
        bash(
            &folder,
            &format!("tmt -q reproduce {figures} --json > figures.json || [ -s figures.json ]"),
        )
        .ok();
        let first = fs::read(folder.path("figures.json")).unwrap();
        let page = page(&folder, "figures.json");
        assert!(page.contains("Asked: figures and tables of papers"));
        let typed = commands(&page);
        assert!(
            typed.starts_with(&format!("tmt reproduce {figures} --json > figures.json\n")),
            "{typed}"
        );
        fs::remove_file(folder.path("figures.json")).unwrap();
        bash(&folder, &format!("set +e\n{typed}\n[ -s figures.json ]")).ok();
        assert!(first == fs::read(folder.path("figures.json")).unwrap());
    }
}

#[test]
fn commands_of_a_page_make_its_table_again() {
    let folder = Folder::new();
    let link =
        "--link synthetic --rate 2Mbps --rtt 200ms --duration 5s --loss bernoulli:0.02 --seeds 2";
    let coupled = "--scheme arq --channel bernoulli:0.02 --rate 2Mbps --lldu 100B --rtt 200ms --duration 5s --feedback-delay 10ms";
    for (run, name) in [
        (
            format!("-q sweep {link} --cc reno,cubic:beta=0.6..0.8:2 -o"),
            "swept.parquet",
        ),
        (format!("-q tcp {link} --cc reno --results"), "run.parquet"),
        (
            format!("-q tcp --compare-links {coupled} --cc reno --results"),
            "links.parquet",
        ),
        (format!("-q tcp {link} --cc reno --json -o"), "run.json"),
    ] {
        tmt(&run).arg(name).within(&folder).run().ok();
        let first = fs::read(folder.path(name)).unwrap();
        let commands = commands(&page(&folder, name));
        fs::remove_file(folder.path(name)).unwrap();
        bash(&folder, &commands).ok();
        assert!(first == fs::read(folder.path(name)).unwrap(), "{name}");
        assert!(folder.read("report.html").contains("END"), "{name}");
    }
    // A trace that came through a pipe has to come so again.
    let piped = "tmt -q synth --rate 2Mbps --lldu 100B --duration 2s --decode-delay 1ms --rtt 200ms | tmt -q apply --scheme arq \
                 | tmt -q tcp --results piped.parquet";
    bash(&folder, piped).ok();
    assert!(page(&folder, "piped.parquet").contains("# The trace came through a pipe"));
    // CSV has no place for the plan.
    tmt(&format!("-q sweep {link} --cc reno,cubic -o swept.csv"))
        .within(&folder)
        .run()
        .ok();
    let page = page(&folder, "swept.csv");
    assert!(page.contains("This table has no plan in it") && !page.contains("-plan.toml"));
}
