//! `tmt plot`: golden pictures of every kind, the forms of input and output, refusals.

use std::fs;

use crate::common::{Folder, bash, project, tmt};

/// Golden pictures: name, and arguments in the folder of the fixtures.
const GOLDENS: [(&str, &str); 11] = [
    ("advise", "advise.json"),
    (
        "chosen",
        "sweep.csv --x rtt --y total_goodput_bps,total_delay_p95_s --by scheme --log-x --title Goodput",
    ),
    ("delays", "delays.csv"),
    ("packets", "packets.csv"),
    ("reproduce", "../studies/calibration/westwood.csv"),
    ("scheme", "--scheme harq:10/12 --slots 40"),
    ("series", "series.csv"),
    ("sweep", "sweep.csv"),
    ("timeline", "timeline.csv"),
    ("trace", "trace.csv.gz"),
    (
        "column",
        "series.csv --x time --y srtt --by flow --log-y --width 85mm --height 60mm",
    ),
];

/// `tmt plot` with paths of the fixtures.
fn plot(arguments: &str) -> crate::common::Tmt {
    let mut run = tmt("plot");
    for argument in arguments.split_whitespace() {
        let is_file = [".csv", ".json", ".gz"]
            .iter()
            .any(|end| argument.ends_with(end));
        let path = project("fixtures/plots").join(argument);
        run = if is_file && path.exists() {
            run.arg(path)
        } else {
            run.arg(argument)
        };
    }
    run
}

/// With `PICTURES=overwrite` the test writes them; look at each.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a switch of the test, as TRYCMD is"
)]
fn every_golden_picture_is_met() {
    for (name, arguments) in GOLDENS {
        let found = plot(arguments).run().ok();
        assert_eq!(found.stderr, "", "{name}");
        let path = project("tests/pictures").join(format!("{name}.svg"));
        if std::env::var("PICTURES").is_ok_and(|how| how == "overwrite") {
            fs::write(&path, &found.stdout).unwrap();
        }
        let expected = fs::read(&path).unwrap();
        assert!(
            found.stdout == expected,
            "{name}: PICTURES=overwrite cargo test -p tmt-cli --test cli plots:: writes it anew"
        );
        let text = found.text();
        assert!(
            !text.contains("kuva") && !text.contains("fixtures"),
            "{name}"
        );
    }
}

#[test]
fn the_extension_or_the_flag_selects_the_format() {
    let folder = Folder::new();
    for (file, begin) in [
        ("a.svg", "<svg".as_bytes()),
        ("a.PNG", b"\x89PNG"),
        ("a.txt", b" "),
    ] {
        let run = plot("series.csv -o").arg(file).within(&folder).run().ok();
        assert_eq!(run.stdout, b"");
        let written = fs::read(folder.path(file)).unwrap();
        assert!(written.starts_with(begin), "{file}");
        let format = ["svg", "png", "text"]
            .into_iter()
            .find(|name| file.to_lowercase().contains(&name[..2]));
        let same = plot("series.csv -o - --format")
            .arg(format.unwrap_or("text"))
            .run()
            .ok();
        assert!(same.stdout == written, "{file}");
    }
    let refused = plot("series.csv -o a.gif").within(&folder).run();
    refused.fails(
        2,
        &["found the extension .gif, expected .svg, .png, .pdf or .txt"],
    );
    assert!(!folder.path("a.gif").exists());
}

#[test]
fn a_table_gives_the_same_picture_in_every_form_and_through_pipes() {
    let folder = Folder::new();
    let fixtures = project("fixtures/plots");
    let fixtures = fixtures.to_str().unwrap();
    let script = format!(
        "tmt -q slice {fixtures}/trace.csv.gz -o a.parquet && tmt -q slice {fixtures}/trace.csv.gz -o a.arrow && \
         for file in a.parquet a.arrow; do tmt plot $file | cmp - <(tmt plot < {fixtures}/trace.csv.gz) || exit; done; \
         gzip < {fixtures}/sweep.csv | tmt plot | cmp - <(tmt plot {fixtures}/sweep.csv); \
         tmt plot {fixtures}/packets.csv | head -c 10 > begin"
    );
    bash(&folder, &script).ok();
    assert_eq!(folder.read("begin"), "<svg xmlns");
}

#[test]
fn what_cannot_be_drawn_is_refused_with_a_remedy() {
    let folder = Folder::new();
    folder.write("no-rows.csv", "x,y\n");
    folder.write("other.csv", "x,y,name\n1,2,a\n");
    folder.write("short.csv", "x,y\n1\n");
    folder.write("cut.json", "{\"schema\": ");
    folder.write("other.json", "{\"a\": 1}");
    for (arguments, code, words) in [
        (
            "other.csv",
            2,
            &[
                "other.csv: found a table of another kind",
                "expected columns as --y: x, y, name",
            ][..],
        ),
        (
            "other.csv --y z",
            2,
            &["found no column z", "expected one of x, y, name"],
        ),
        (
            "other.csv --x xx --y y",
            2,
            &["found no column xx (did you mean 'x'?)"],
        ),
        (
            "other.csv --y name",
            2,
            &["row 1, column name: found 'a', expected a number"],
        ),
        ("other.csv --x x", 2, &["expected --y"]),
        ("no-rows.csv --y y", 1, &["no-rows.csv: found no rows"]),
        ("short.csv --y y", 1, &["short.csv", "line 2"]),
        ("cut.json", 1, &["cut.json: line 1"]),
        (
            "other.json",
            1,
            &["expected a document that tmt has written"],
        ),
        ("missing.csv", 1, &["missing.csv"]),
        ("other.csv --y y --width 10", 2, &["expected a length from"]),
        (
            "--scheme arq --slots 0",
            2,
            &["expected a whole number from 1 to"],
        ),
        ("--scheme arq --y x", 2, &["cannot be used with"]),
    ] {
        let run = tmt("plot").arg_list(arguments).within(&folder).run();
        assert_eq!(run.stdout, b"", "{arguments}");
        run.fails(code, words);
    }
}

#[test]
fn the_picture_says_what_it_leaves_out() {
    let folder = Folder::new();
    folder.write("odd.csv", "x,y\n1,2\n2,NaN\n3,inf\n4,\n5,0\n");
    let drawn = tmt("plot odd.csv --x x --y y --log-y")
        .within(&folder)
        .run()
        .ok();
    let words = [
        "y: 2 values NaN or infinite, not drawn.",
        "y: 1 value of zero or less not on the logarithmic axis",
    ];
    for word in words {
        assert!(
            drawn.text().contains(word),
            "no '{word}' in {}",
            drawn.text()
        );
    }
    let rows = (0..40).map(|name| format!("1,{name},s{name}\n2,{name},s{name}"));
    let rows = rows.collect::<Vec<_>>().join("\n");
    folder.write("many.csv", format!("x,y,by\n{rows}\n"));
    let drawn = tmt("plot many.csv --x x --y y --by by")
        .within(&folder)
        .run()
        .ok();
    assert!(
        drawn
            .text()
            .contains("28 series more not drawn, from &apos;s12&apos; on")
    );
    let published = "row,published,ours\na,,1\nb,,2\n";
    folder.write("unpublished.csv", published);
    let drawn = tmt("plot unpublished.csv").within(&folder).run().ok();
    assert!(drawn.text().contains("No row has a published value."));
    let series = fs::read_to_string(project("fixtures/plots/series.csv")).unwrap();
    let (head, _) = series.split_at(series.len() / 2);
    let (head, _) = head.rsplit_once('\n').unwrap();
    folder.write("cut.csv", head);
    let drawn = tmt("plot cut.csv").within(&folder).run().ok();
    assert!(
        drawn
            .text()
            .contains("The file was cut: it has no end line.")
    );
    folder.write("one.csv", "time_s,cwnd,flow\n1,2,0\n");
    let drawn = tmt("plot one.csv").within(&folder).run().ok();
    assert!(drawn.text().contains("<circle"));
}

#[test]
fn thinned_pictures_are_small_and_say_so() {
    let folder = Folder::new();
    let value = |row: u64| row * row % 997 + if row == 31_111 { 5000 } else { 0 };
    let rows = (0..60_000).map(|row| format!("{row},{}", value(row)));
    let rows = rows.collect::<Vec<_>>().join("\n");
    folder.write("long.csv", format!("x,y\n{rows}\n"));
    let drawn = tmt("plot long.csv --x x --y y").within(&folder).run().ok();
    assert!(drawn.stdout.len() < 200_000, "{}", drawn.stdout.len());
    assert!(
        drawn
            .text()
            .contains("of 60,000 points: extremes of each pixel column kept")
    );
}
