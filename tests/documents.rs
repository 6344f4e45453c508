//! Documents and citations: what they name exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::project;

/// Files below `folder` with one of these extensions, build output and hidden folders left out.
fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "corpus" {
                found.extend(files(&path, extensions));
            }
        } else if extensions.iter().any(|extension| name.ends_with(extension)) {
            found.push(path);
        }
    }
    found
}

/// README, ARCHITECTURE and their like, and the pages in docs/.
fn documents() -> Vec<PathBuf> {
    let pages = files(&project("docs"), &[".md"]);
    let names = ["README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG"];
    let others = names.iter().map(|name| project(&format!("{name}.md")));
    pages.into_iter().chain(others).collect()
}

/// Files that cite: sources, tests, the README's commands, and documents.
fn citing() -> Vec<PathBuf> {
    let sources = ["crates", "tests", "examples"]
        .iter()
        .flat_map(|folder| files(&project(folder), &[".rs", ".toml"]));
    sources.chain(documents()).collect()
}

/// The parts of `text` between `start` and the next `end`.
fn between<'a>(text: &'a str, start: &'a str, end: char) -> impl Iterator<Item = &'a str> {
    let parts = text.split(start).skip(1);
    parts.filter_map(move |part| part.split_once(end).map(|(inside, _)| inside))
}

#[test]
fn every_link_leads_somewhere() {
    let mut links = 0;
    for page in documents() {
        let text = fs::read_to_string(&page).unwrap();
        for link in between(&text, "](", ')') {
            let (file, _) = link.split_once('#').unwrap_or((link, ""));
            if file.is_empty() || file.contains("://") {
                continue;
            }
            let target = page.parent().unwrap().join(file);
            assert!(target.exists(), "{}: {link}", page.display());
            links += 1;
        }
    }
    assert!(links > 30, "found only {links} links");
}

#[test]
fn every_source_file_that_a_document_names_exists() {
    let sources = files(&project(""), &[".rs"]);
    let sources: Vec<String> = sources
        .iter()
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    let mut named = 0;
    for page in documents() {
        let text = fs::read_to_string(&page).unwrap();
        // Files named in the changelog and in the walks of docs/extending.md may be gone, or be the reader's to write.
        if page.ends_with("CHANGELOG.md") || page.ends_with("extending.md") {
            continue;
        }
        for name in text.split('`').skip(1).step_by(2) {
            let is_path = Path::new(name).extension().is_some_and(|end| end == "rs")
                && !name.contains([' ', '{', '*', '\n']);
            if !is_path || name.contains("NAME") {
                continue;
            }
            let end = format!("/{}", name.trim_start_matches("../"));
            let end = end.replacen("/tmt-core/", "/tmt-core/src/", 1);
            let end = end.replacen("/fluid-tcp/", "/fluid-tcp/src/", 1);
            let end = end.replacen("/tmt-fit/", "/tmt-fit/src/", 1);
            let exact = end
                .replace("/src/src/", "/src/")
                .replace("/src/tests/", "/tests/");
            let known = sources.iter().any(|source| source.ends_with(&exact));
            assert!(known, "{}: {name}", page.display());
            named += 1;
        }
    }
    assert!(named > 50, "found only {named} names");
}

#[test]
fn nothing_cites_what_is_not_here() {
    let unknown = [
        "papers/0",
        "link-layer.md",
        " tcp.md",
        "anchors.md",
        "style.md",
    ];
    for file in citing() {
        if file.ends_with("tests/documents.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let cited = unknown.iter().find(|name| line.contains(**name));
            assert!(cited.is_none(), "{}:{}: {line}", file.display(), number + 1);
        }
    }
}

/// The numbers of a page's headings.
fn sections(page: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(project(&format!("docs/{page}"))).unwrap();
    let headings = text.lines().filter(|line| line.starts_with("##"));
    headings
        .filter_map(|line| line.trim_start_matches('#').split_whitespace().next())
        .map(|number| number.trim_end_matches('.').to_owned())
        .collect()
}

#[test]
fn every_cited_section_exists() {
    let mut cited = 0;
    for file in citing() {
        let text = fs::read_to_string(&file).unwrap();
        // A citation may be broken over two lines of comment.
        let text = text
            .replace("\n///", "")
            .replace("\n//!", "")
            .replace('\n', " ");
        for citation in text.split("docs/").skip(1) {
            let Some((page, rest)) = citation.split_once(".md, Sec. ") else {
                continue;
            };
            if page.contains(|letter: char| !letter.is_ascii_lowercase() && letter != '-') {
                continue;
            }
            let number: String = rest
                .chars()
                .take_while(|letter| letter.is_ascii_digit() || *letter == '.')
                .collect();
            let number = number.trim_end_matches('.');
            let known = sections(&format!("{page}.md"));
            assert!(
                known.contains(number),
                "{}: docs/{page}.md, Sec. {number}",
                file.display()
            );
            cited += 1;
        }
    }
    assert!(cited > 10, "found only {cited} citations");
}

#[test]
fn every_cited_work_is_in_the_bibliography() {
    let bibliography = fs::read_to_string(project("docs/bibliography.md")).unwrap();
    let known: Vec<&str> = bibliography
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next())
        .collect();
    let authors: BTreeSet<&str> = known
        .iter()
        .filter_map(|label| label.rsplit_once(' '))
        .filter(|(_, year)| year.len() == 4 && year.bytes().all(|digit| digit.is_ascii_digit()))
        .map(|(author, _)| author)
        .collect();
    assert!(authors.contains("Kuhn"), "{authors:?}");
    let mut cited = 0;
    for file in citing() {
        let text = fs::read_to_string(&file).unwrap();
        for author in &authors {
            for after in text.split(&format!("{author} ")).skip(1) {
                let year: String = after.chars().take(4).collect();
                if year.len() == 4 && year.bytes().all(|digit| digit.is_ascii_digit()) {
                    let label = format!("{author} {year}");
                    assert!(
                        known.contains(&label.as_str()),
                        "{}: {label}",
                        file.display()
                    );
                    cited += 1;
                }
            }
        }
    }
    assert!(cited > 50, "found only {cited} citations");
}
