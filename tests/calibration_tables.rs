//! The tables of the calibration study's page: each shows what the CSV files beside it hold.

use std::fs;

use super::calibration::{Row, number, rows};
use super::common::project;

/// The cells of the table `name` of the page, without its two lines of head.
fn shown(name: &str) -> Vec<Vec<String>> {
    let path = project("fixtures/studies/calibration/README.md");
    let page = fs::read_to_string(path).unwrap();
    let (_, rest) = page.split_once(&format!("<!-- {name} -->")).unwrap();
    let (table, _) = rest.split_once("<!-- end -->").unwrap();
    let lines = table.lines().filter(|line| line.starts_with('|')).skip(2);
    let cells = |line: &str| {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().replace('`', "")).collect()
    };
    lines.map(cells).collect()
}

const SETS: [&str; 3] = ["published", "kuhn-loss", "kuhn-fitted"];

/// The row that has these values.
fn row<'r>(rows: &'r [Row], wanted: &[(&str, &str)], es_n0_db: &str) -> &'r Row {
    let es_n0_db: f64 = es_n0_db.parse().unwrap();
    let is_it = |row: &&Row| {
        let same = |(key, value): &(&str, &str)| row[*key] == *value;
        wanted.iter().all(same) && (number(row, "es_n0_db") - es_n0_db).abs() < 1e-9
    };
    let mut found = rows.iter().filter(is_it);
    let row = found.next().unwrap_or_else(|| panic!("no row {wanted:?}"));
    assert!(found.next().is_none(), "{wanted:?}");
    row
}

#[test]
fn the_page_has_the_parameter_sets_and_their_errors() {
    let expected: Vec<Vec<String>> = rows("sets.csv")
        .iter()
        .map(|row| {
            let percent = |column| format!("{:.1} %", 100.0 * number(row, column));
            vec![
                row["set"].clone(),
                row["implementation_loss_db"].clone(),
                row["deep_shadow"].clone(),
                row["word_variation_db"].clone(),
                percent("error_of_6"),
                percent("error_of_10"),
            ]
        })
        .collect();
    assert_eq!(expected.len(), 3);
    assert_eq!(shown("sets"), expected);
}

#[test]
fn the_page_has_the_mean_deviations_of_the_cells() {
    let cells = rows("cells.csv");
    let is_page = |row: &Row| row["quantity"] == "page_time_s";
    let is_held_out = |row: &Row| row["role"] == "held out";
    let of = |row: &Row, scenario| !is_page(row) && is_held_out(row) && row["scenario"] == scenario;
    let groups: [&dyn Fn(&Row) -> bool; 5] = [
        &|row| is_page(row) && is_held_out(row),
        &is_page,
        &|row| row["role"] == "fitted",
        &|row| of(row, "internet-interleaved"),
        &|row| of(row, "internet"),
    ];
    let mean = |set: &str, group: &dyn Fn(&Row) -> bool| {
        let members = cells.iter().filter(|row| row["set"] == set && group(row));
        let deviations: Vec<f64> = members
            .map(|row| number(row, "deviation_percent").abs())
            .collect();
        let count = deviations.iter().map(|_| 1.0).sum::<f64>();
        (!deviations.is_empty()).then(|| (deviations.iter().sum::<f64>() / count, count))
    };
    let table = shown("deviations");
    assert_eq!(table.len(), SETS.len());
    for (set, found) in SETS.into_iter().zip(table) {
        assert_eq!(found[0], set);
        for (group, cell) in groups.iter().zip(&found[1..]) {
            let Some((mean, count)) = mean(set, *group) else {
                assert_eq!(cell, "–");
                continue;
            };
            let (percent, rest) = cell.split_once(" % (").unwrap();
            let percent: f64 = percent.parse().unwrap();
            // A mean of tenths may lie between two of them.
            assert!((percent - mean).abs() < 0.0501, "{set}: {cell}, not {mean}");
            assert_eq!(rest, format!("{count})"), "{set}: {cell}");
        }
    }
}

#[test]
fn the_page_has_every_throughput() {
    let cells = rows("cells.csv");
    let table = shown("throughputs");
    let count = cells
        .iter()
        .filter(|row| row["quantity"] == "throughput_kbps")
        .count();
    assert_eq!(SETS.len() * table.len(), count);
    for found in table {
        let [scenario, cc, scheme, es_n0_db, published, ..] = &found[..] else {
            panic!("{found:?}");
        };
        for (set, cell) in SETS.into_iter().zip(&found[5..]) {
            let wanted = [
                ("set", set),
                ("quantity", "throughput_kbps"),
                ("scenario", scenario),
                ("cc", cc),
                ("scheme", scheme),
            ];
            let row = row(&cells, &wanted, es_n0_db);
            assert_eq!(row["published"], *published);
            let mark = if row["role"] == "held out" { "" } else { " *" };
            let expected = format!(
                "{:.0} ± {:.0} {:+.0} %{mark}",
                number(row, "ours"),
                number(row, "standard_error"),
                number(row, "deviation_percent")
            );
            assert_eq!(*cell, expected, "{wanted:?} {es_n0_db}");
        }
    }
}

#[test]
fn the_page_has_the_erasure_ratios_and_the_bursts() {
    let erasures = rows("erasures.csv");
    let ratios = shown("erasure-ratios");
    assert_eq!(ratios.len(), 14);
    for found in ratios {
        for (set, cell) in SETS.into_iter().zip(&found[3..]) {
            let row = row(
                &erasures,
                &[("set", set), ("scenario", &found[0])],
                &found[1],
            );
            let (ratio, error) = (number(row, "erasure_ratio"), number(row, "standard_error"));
            assert_eq!(*cell, format!("{ratio:.4} ± {error:.4}"), "{set} {found:?}");
        }
    }
    let bursts = shown("bursts");
    assert_eq!(bursts.len(), 21);
    for found in bursts {
        for (scenario, cell) in ["internet-interleaved", "internet"]
            .into_iter()
            .zip(&found[2..])
        {
            let row = row(
                &erasures,
                &[("set", &found[0]), ("scenario", scenario)],
                &found[1],
            );
            let columns =
                ["mean", "p50", "p90", "p99"].map(|of| &*row[&format!("burst_{of}_slots")]);
            assert_eq!(*cell, columns.join(" / "), "{scenario} {found:?}");
        }
    }
}

#[test]
fn the_page_has_both_kinds_of_westwood() {
    let cells = [rows("cells.csv"), rows("westwood.csv")].concat();
    let table = shown("westwood");
    assert_eq!(table.len(), 12);
    for found in table {
        let of = |cc| {
            let wanted = [
                ("set", "kuhn-fitted"),
                ("quantity", "page_time_s"),
                ("cc", cc),
                ("scheme", &found[0]),
            ];
            row(&cells, &wanted, &found[1])
        };
        let names = ["newreno", "westwood", "westwood:floor=0.5"];
        for (cc, cell) in names.into_iter().zip(&found[2..4]) {
            assert_eq!(*cell, format!("{:.1}", number(of(cc), "published")));
        }
        for (cc, cell) in names.into_iter().zip(&found[4..]) {
            let (ours, deviation) = (number(of(cc), "ours"), number(of(cc), "deviation_percent"));
            assert_eq!(
                *cell,
                format!("{ours:.1} {deviation:+.0} %"),
                "{cc} {found:?}"
            );
            // The figures are rounded to a thousandth.
            let of_figures = 100.0 * (ours / number(of(cc), "published") - 1.0);
            assert!((deviation - of_figures).abs() < 0.11, "{cc} {found:?}");
        }
    }
}

/// The first Es/N0 at which a curve reaches a level, by straight lines; `None` if it begins above, or never does.
fn crossing(curve: &[(f64, f64)], level: f64) -> Option<f64> {
    let pairs = curve.windows(2).map(|pair| (pair[0], pair[1]));
    let mut reached =
        pairs.filter(|((_, low), (_, high))| *low <= level && level <= *high && low < high);
    let ((x, low), (y, high)) = reached.next()?;
    Some(x + (y - x) * (level - low) / (high - low))
}

#[test]
fn the_page_has_the_gains_of_the_interleaver() {
    let throughputs = rows("interleaving.csv");
    let table = shown("gains");
    let keys: Vec<(&str, &str)> = table.iter().map(|row| (&*row[0], &*row[1])).collect();
    let expected = SETS.map(|set| [(set, "arq"), (set, "harq:10/12")]).concat();
    assert_eq!(keys, expected);
    for found in &table {
        let curve = |scenario: &str| -> Vec<(f64, f64)> {
            let is_it = |row: &&Row| {
                row["set"] == found[0] && row["scheme"] == found[1] && row["scenario"] == scenario
            };
            let rows = throughputs.iter().filter(is_it);
            rows.map(|row| (number(row, "es_n0_db"), number(row, "throughput_kbps")))
                .collect()
        };
        let (with, without) = (curve("internet-interleaved"), curve("internet"));
        // Gain and Es/N0 of Kuhn 2015.
        let (says, es_n0_db) = if found[1] == "arq" {
            ("4 dB", 8.0)
        } else {
            ("2 dB", 6.0)
        };
        let is_it = |(db, _): &&(f64, f64)| (db - es_n0_db).abs() < 1e-9;
        let (_, level) = *with.iter().find(is_it).unwrap();
        assert_eq!(found[2..4], [format!("{level:.0}"), says.to_owned()]);
        let most = with.iter().chain(&without).map(|(_, kbps)| *kbps);
        let most = most.fold(0.0, f64::max);
        let gain = |with: Option<f64>, level: f64| match with.zip(crossing(&without, level)) {
            Some((with, without)) => format!("{:.1} dB", without - with),
            None => "outside 4 to 16 dB".to_owned(),
        };
        let of_most = |share: f64| gain(crossing(&with, share * most), share * most);
        let expected = [gain(Some(es_n0_db), level), of_most(0.5), of_most(0.8)];
        assert_eq!(found[4..], expected, "{found:?}");
    }
}

/// Published figures in the cells equal those of the list.
#[test]
fn every_cell_is_compared_with_the_published_figure() {
    let path = project("fixtures/studies/calibration/published.csv");
    let text = fs::read_to_string(path).unwrap();
    // Sources and lists of fits are quoted and may have commas.
    let published = text.lines().skip(1).map(|line| {
        let (_, rest) = line
            .strip_prefix('"')
            .unwrap_or(line)
            .split_once("\",")
            .unwrap();
        let fields: Vec<&str> = rest.splitn(7, ',').collect();
        let figures: [f64; 2] = [4, 5].map(|at| fields[at].parse().unwrap());
        ([0, 1, 2, 3].map(|at| fields[at].to_owned()), figures)
    });
    let published: Vec<_> = published.collect();
    let cells = rows("cells.csv");
    assert_eq!(cells.len(), SETS.len() * published.len());
    for row in cells {
        let keys = ["quantity", "scenario", "cc", "scheme"].map(|key| row[key].clone());
        let is_it = |(of, [es_n0_db, _]): &&([String; 4], [f64; 2])| {
            *of == keys && (es_n0_db - number(&row, "es_n0_db")).abs() < 1e-9
        };
        let (_, [_, figure]) = published.iter().find(is_it).unwrap();
        assert!((figure - number(&row, "published")).abs() < 1e-9, "{row:?}");
    }
}
