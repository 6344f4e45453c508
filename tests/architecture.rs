//! The edges that must not exist (ARCHITECTURE.md): read off manifests and `use` lines, and off the module graph.

mod graph;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use graph::{Graph, layers};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every Rust file below `folder`, or the file itself.
fn sources(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_path_buf()];
    }
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut files: Vec<PathBuf> = entries
        .flat_map(|entry| sources(&entry.unwrap().path()))
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    files
}

/// The lines of code in `paths` (below `crates`) that hold one of `words`.
fn offences(paths: &[&str], words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for path in paths {
        for file in sources(&root().join("crates").join(path)) {
            let text = fs::read_to_string(&file).unwrap();
            for (number, line) in text.lines().enumerate() {
                let code = line.split("//").next().unwrap();
                if words.iter().any(|word| code.contains(word)) {
                    found.push(format!("{}:{}: {line}", file.display(), number + 1));
                }
            }
        }
    }
    found
}

fn dependencies(name: &str) -> String {
    let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
    let from = manifest.find("[dependencies]").unwrap();
    let to = manifest[from..]
        .find("[dev-dependencies]")
        .map_or(manifest.len(), |length| from + length);
    manifest[from..to].to_owned()
}

/// The workspace denies `unsafe_code`; only `ctor` lifts it, with a proof beside it.
#[test]
fn nothing_is_unsafe_but_the_look_at_stdout() {
    let paths = [
        "tmt-core/src",
        "tmt-fit/src",
        "tmt-link/src",
        "fluid-tcp/src",
        "tmt-study/src",
        "tmt-plot/src",
        "tmt-report/src",
        "tmt-replay/src",
        "tmt-cli/src",
        "tmt-python/src",
    ];
    let found = offences(&paths, &["unsafe"]);
    assert!(
        matches!(&found[..], [only] if only.ends_with("#[ctor::ctor(unsafe)]")),
        "{found:#?}"
    );
}

#[test]
fn dependencies_point_one_way() {
    let core = dependencies("tmt-core");
    let link = dependencies("tmt-link");
    let tcp = dependencies("fluid-tcp");
    let fit = dependencies("tmt-fit");
    let study = dependencies("tmt-study");
    let plot = dependencies("tmt-plot");
    let report = dependencies("tmt-report");
    let replay = dependencies("tmt-replay");
    let others = ["tmt-cli", "clap", "anyhow", "tempfile"];
    for (crate_text, forbidden) in [
        (
            &core,
            [
                "tmt-link",
                "fluid-tcp",
                "tmt-fit",
                "tmt-study",
                "tmt-plot",
                "tmt-report",
                "tmt-replay",
            ]
            .as_slice(),
        ),
        (
            &fit,
            &[
                "tmt-link",
                "fluid-tcp",
                "tmt-study",
                "tmt-plot",
                "tmt-report",
                "tmt-replay",
            ],
        ),
        (
            &link,
            &[
                "fluid-tcp",
                "tmt-fit",
                "tmt-study",
                "tmt-plot",
                "tmt-report",
                "tmt-replay",
            ],
        ),
        (
            &tcp,
            &[
                "tmt-fit",
                "tmt-study",
                "tmt-plot",
                "tmt-report",
                "tmt-replay",
            ],
        ),
        (&study, &["tmt-plot", "tmt-report", "tmt-replay"]),
        (
            &plot,
            &[
                "fluid-tcp",
                "tmt-link",
                "tmt-fit",
                "tmt-report",
                "tmt-replay",
            ],
        ),
        (&report, &["fluid-tcp", "tmt-link", "tmt-fit", "tmt-replay"]),
        (&replay, &["tmt-fit", "tmt-study", "tmt-plot", "tmt-report"]),
    ] {
        let forbidden = forbidden.iter().chain(&others);
        for name in forbidden {
            assert!(!crate_text.contains(name), "{name} in\n{crate_text}");
        }
    }
    assert!(
        tcp.contains("tmt-core") && tcp.contains("tmt-link"),
        "the search has lost its way:\n{tcp}"
    );
}

/// Crates, and the files that are their roots.
const CRATES: [(&str, &str); 10] = [
    ("tmt-core", "lib.rs"),
    ("tmt-link", "lib.rs"),
    ("fluid-tcp", "lib.rs"),
    ("tmt-fit", "lib.rs"),
    ("tmt-study", "lib.rs"),
    ("tmt-plot", "lib.rs"),
    ("tmt-report", "lib.rs"),
    ("tmt-replay", "lib.rs"),
    ("tmt-cli", "lib.rs"),
    ("tmt-python", "lib.rs"),
];

/// Most modules that the top of a crate may have: as many as are seen at a glance.
const MOST_AT_THE_TOP: usize = 10;

/// The text of a module, by its path from the root of its crate.
fn source((name, root_file): (&str, &str), path: &[String]) -> String {
    let src = root().join("crates").join(name).join("src");
    let file = match path {
        [] => src.join(root_file),
        path => src.join(path.join("/")).with_extension("rs"),
    };
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

#[test]
fn modules_side_by_side_never_need_each_other_in_a_circle() {
    for place in CRATES {
        let circles = Graph::read(&|path| source(place, path)).circles();
        assert!(circles.is_empty(), "{}:\n{}", place.0, circles.join("\n"));
    }
}

#[test]
fn modules_use_only_what_is_above_them_in_the_list_of_their_crate() {
    for place in CRATES {
        let graph = Graph::read(&|path| source(place, path));
        let layers = layers(&source(place, &[]));
        let listed: BTreeSet<&str> = layers.iter().map(String::as_str).collect();
        let top: BTreeSet<&str> = graph.top().into_iter().collect();
        assert_eq!(listed, top, "{}: the list and the modules", place.0);
        let upward = graph.upward(&layers);
        assert!(upward.is_empty(), "{}:\n{}", place.0, upward.join("\n"));
    }
}

/// Most lines of ARCHITECTURE.md: a map, not a manual.
const MOST_LINES: usize = 150;

#[test]
fn the_map_lists_the_modules_of_each_crate() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(map.lines().count() <= MOST_LINES);
    for place in CRATES {
        let heading = format!("`crates/{}/src`:\n", place.0);
        // The modules of the other crates are described in text.
        let Some((_, table)) = map.split_once(&heading) else {
            assert!(
                ["tmt-cli", "tmt-replay", "tmt-python"].contains(&place.0),
                "{}",
                place.0
            );
            continue;
        };
        let rows = table.lines().skip_while(|line| line.is_empty());
        let rows = rows.take_while(|line| line.starts_with('|'));
        let names = rows.filter_map(|row| row.split('|').nth(1));
        let listed: BTreeSet<&str> = names
            .flat_map(|names| names.split('`').skip(1).step_by(2))
            .collect();
        let graph = Graph::read(&|path| source(place, path));
        let top: BTreeSet<&str> = graph.top().into_iter().collect();
        assert_eq!(listed, top, "{}", place.0);
    }
}

#[test]
fn a_crate_has_few_modules_at_its_top() {
    for place in CRATES {
        let graph = Graph::read(&|path| source(place, path));
        let top = graph.top();
        assert!(!top.is_empty(), "{}: the search has lost its way", place.0);
        assert!(top.len() <= MOST_AT_THE_TOP, "{}: {top:?}", place.0);
    }
}

/// Settings of the release profile in a manifest: those of all packages under the empty name, and those of single packages.
fn release(manifest: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let text = fs::read_to_string(root().join(manifest)).unwrap();
    let mut sections: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut package = None;
    for line in text.lines() {
        if line.starts_with('[') {
            let name = line.strip_prefix("[profile.release");
            let name = name.map(|name| name.trim_end_matches(']').trim_start_matches(".package."));
            package = name.map(str::to_owned);
        } else if let (Some(package), Some((key, value))) = (&package, line.split_once(" = ")) {
            let settings = sections.entry(package.clone()).or_default();
            settings.insert(key.to_owned(), value.to_owned());
        }
    }
    sections
}

/// Versions of each package in a lock file.
fn locked(path: &str) -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(root().join(path)).unwrap();
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut name = "";
    for line in text.lines() {
        if let Some(value) = line.strip_prefix("name = ") {
            name = value;
        } else if let Some(version) = line.strip_prefix("version = ") {
            versions
                .entry(name.to_owned())
                .or_default()
                .insert(version.to_owned());
        }
    }
    versions
}

#[test]
fn benches_fuzzing_and_python_run_the_code_that_is_installed() {
    let all = release("Cargo.toml");
    assert!(all.len() > 1, "the search has lost its way");
    for folder in ["benches", "crates/tmt-python"] {
        let packages = locked(&format!("{folder}/Cargo.lock"));
        let mut wanted = all.clone();
        wanted.retain(|package, _| {
            package.is_empty() || packages.contains_key(&format!("\"{package}\""))
        });
        assert_eq!(wanted, release(&format!("{folder}/Cargo.toml")), "{folder}");
    }
    let version = |manifest| {
        let text = fs::read_to_string(root().join(manifest)).unwrap();
        let line = text.lines().find(|line| line.starts_with("version = "));
        line.unwrap().to_owned()
    };
    assert_eq!(
        version("Cargo.toml"),
        version("crates/tmt-python/Cargo.toml")
    );
    let ours = locked("Cargo.lock");
    assert!(ours.len() > 100, "the search has lost its way");
    for path in [
        "benches/Cargo.lock",
        "crates/tmt-core/fuzz/Cargo.lock",
        "crates/tmt-python/Cargo.lock",
    ] {
        for (name, versions) in locked(path) {
            if let Some(ours) = ours.get(&name) {
                assert!(
                    versions.is_subset(ours),
                    "{path}: {name} {versions:?}, {ours:?}"
                );
            }
        }
    }
}

#[test]
fn libraries_never_print_exit_or_read_the_environment() {
    let words = [
        "println!",
        "eprintln!",
        "print!(",
        "std::process",
        "process::exit",
        "process::abort",
        "std::env",
        "env::var",
        "std::fs",
        "Instant",
        "SystemTime",
    ];
    let found = offences(
        &[
            "tmt-core/src",
            "tmt-fit/src",
            "tmt-link/src",
            "fluid-tcp/src",
            "tmt-study/src",
            "tmt-plot/src",
            "tmt-report/src",
        ],
        &words,
    );
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn closed_forms_see_nothing_that_they_check() {
    let link = [
        "crate::scheme::engine",
        "crate::scheme::runner",
        "crate::scheme",
        "crate::format",
        "crate::pipeline",
        "crate::stats",
    ];
    let found = offences(&["tmt-core/src/model.rs", "tmt-core/src/model"], &link);
    assert!(found.is_empty(), "{}", found.join("\n"));
    let tcp = [
        "crate::simulation",
        "crate::endpoint",
        "crate::congestion",
        "tmt_link",
    ];
    let found = offences(&["fluid-tcp/src/model.rs", "fluid-tcp/src/model"], &tcp);
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(
        !offences(
            &["tmt-core/src/scheme/runner.rs"],
            &["crate::scheme::engine"]
        )
        .is_empty(),
        "the search has lost its way"
    );
}

#[test]
fn formats_see_no_schemes_and_schemes_no_formats() {
    let formats = ["tmt-core/src/format", "tmt-core/src/format.rs"];
    let found = offences(&formats, &["crate::scheme"]);
    assert!(found.is_empty(), "{}", found.join("\n"));
    let schemes = ["tmt-core/src/scheme", "tmt-core/src/scheme.rs"];
    let found = offences(&schemes, &["crate::format"]);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_auditor_shares_no_code_with_the_simulator() {
    let graph = Graph::read(&|path| source(("fluid-tcp", "lib.rs"), path));
    assert_eq!(graph.uses("audit"), Vec::<String>::new());
    assert!(
        graph.uses("log").contains(&"simulation".to_owned()),
        "the search has lost its way"
    );
}

#[test]
fn links_know_no_transport_protocol() {
    let words = ["tcp", "Tcp", "TCP", "congestion", "endpoint", "cwnd"];
    let found = offences(&["tmt-link/src"], &words);
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(
        !offences(&["fluid-tcp/src/lib.rs"], &words).is_empty(),
        "the search has lost its way"
    );
    // `tmt apply` is of the link layer.
    let commands = ["tmt-cli/src/cmd/apply.rs", "tmt-python/src/transform.rs"];
    let found = offences(&commands, &["fluid_tcp"]);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn congestion_controls_see_no_packets() {
    let found = offences(
        &["fluid-tcp/src/congestion", "fluid-tcp/src/congestion.rs"],
        &["crate::endpoint", "tmt_link", "crate::simulation"],
    );
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A file beside the others that no `mod` names would never run.
#[test]
fn every_file_of_tests_is_part_of_its_program() {
    for place in ["tests", "crates/tmt-core/tests", "crates/fluid-tcp/tests"] {
        let folder = root().join(place);
        let main = fs::read_to_string(folder.join("main.rs")).unwrap();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let is_source = path.extension().is_some_and(|extension| extension == "rs");
            if is_source && name != "main" {
                assert!(
                    main.contains(&format!("mod {name};\n")),
                    "{}",
                    path.display()
                );
            }
        }
    }
}
