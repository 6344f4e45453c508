//! Means and differences against worked examples.

use std::collections::BTreeMap;

use tmt_core::format::records::Value;

use super::*;

fn table(rows: &[(i64, i64, &str, Option<f64>)]) -> Table {
    let mut table = Table::default();
    let mut flows: BTreeMap<(i64, i64), i64> = BTreeMap::new();
    for (cell, run, cc, goodput) in rows {
        let flow = flows.entry((*cell, *run)).or_default();
        table.row([
            ("cell", Some(Value::Whole(*cell))),
            ("cc", Some(Value::Text((*cc).to_owned()))),
            ("run", goodput.map(|_| Value::Whole(*run))),
            ("flow", Some(Value::Whole(*flow))),
            ("goodput_bps", goodput.map(Value::Real)),
        ]);
        *flow += 1;
    }
    table
}

fn means(table: &Table, by: &[&str]) -> Vec<Option<Estimate>> {
    let by: Vec<String> = by.iter().map(|name| (*name).to_owned()).collect();
    let summary = summarise(table, &by, &["goodput_bps".to_owned()], None).unwrap();
    summary
        .groups
        .into_iter()
        .map(|group| group.means[0])
        .collect()
}

#[test]
fn runs_of_the_same_number_count_as_pairs() {
    // Two cells that differ by 10 always: their mean has the spread of one of them.
    let rows = [1.0, 2.0, 3.0, 4.0];
    let pairs = (0..).zip(rows);
    let rows: Vec<_> = pairs
        .flat_map(|(run, x)| [(0, run, "a", Some(x)), (1, run, "b", Some(x + 10.0))])
        .collect();
    let table = table(&rows);
    let both = means(&table, &[])[0].unwrap();
    assert_eq!((both.mean, both.runs), (7.5, 4));
    assert!((both.ci95.unwrap() - 2.054_26).abs() < 1e-4, "{both:?}");
    let each = means(&table, &["cc"]);
    assert_eq!(each[1].unwrap().mean, 12.5);
    assert_eq!(each[1].unwrap().ci95, both.ci95);
}

#[test]
fn cells_with_different_runs_add_their_variances() {
    let rows = [
        (0, 0, "a", Some(1.0)),
        (0, 1, "a", Some(3.0)),
        (1, 0, "b", Some(1.0)),
        (1, 1, "b", Some(2.0)),
        (1, 2, "b", Some(3.0)),
    ];
    let both = means(&table(&rows), &[])[0].unwrap();
    assert_eq!((both.mean, both.runs), (2.0, 5));
    // t(0.975, 1) = 12.7062 and s/sqrt(n) = 1; t(0.975, 2) = 4.30265 and 1/sqrt(3).
    let expected = (12.706_2_f64.hypot(4.302_65 / 3.0_f64.sqrt())) / 2.0;
    assert!((both.ci95.unwrap() - expected).abs() < 1e-3, "{both:?}");
}

#[test]
fn flows_of_a_run_are_one_value_and_refused_cells_none() {
    let rows = [
        (0, 0, "a", Some(1.0)),
        (0, 0, "a", Some(3.0)),
        (0, 1, "a", Some(4.0)),
        (1, 0, "a", None),
    ];
    let summary = summarise(
        &table(&rows),
        &["cc".to_owned()],
        &["goodput_bps".to_owned()],
        None,
    )
    .unwrap();
    let group = &summary.groups[0];
    assert_eq!((group.cells, group.refused, group.runs), (2, 1, 2));
    assert_eq!(group.means[0].unwrap().mean, 3.0);
}

#[test]
fn runs_without_a_metric_are_counted() {
    let mut table = table(&[(0, 0, "a", Some(1.0)), (0, 1, "a", Some(2.0))]);
    table.row([
        ("cell", Some(Value::Whole(0))),
        ("run", Some(Value::Whole(2))),
        ("flow", Some(Value::Whole(0))),
        ("goodput_bps", None),
    ]);
    let summary = summarise(&table, &[], &["goodput_bps".to_owned()], None).unwrap();
    assert_eq!(
        (summary.groups[0].runs, &summary.groups[0].lacking[..]),
        (3, &[1][..])
    );
}

#[test]
fn tables_that_are_not_the_results_of_one_sweep_are_refused() {
    let refused = |table: &Table| summarise(table, &[], &[], None).unwrap_err().to_string();
    let row = (0, 0, "a", Some(1.0));
    let mut twice = table(&[row]);
    twice.row([
        ("cell", Some(Value::Whole(0))),
        ("run", Some(Value::Whole(0))),
        ("flow", Some(Value::Whole(0))),
    ]);
    assert!(refused(&twice).starts_with("row 2: found cell 0, run 0, flow 0 for the second time"));
    let mut text = Table::default();
    text.row([
        ("cell", Some(Value::Text("x".to_owned()))),
        ("run", None),
        ("flow", None),
    ]);
    assert!(refused(&text).starts_with("row 1: found cell 'x'"));
}

#[test]
fn unknown_columns_are_refused_with_the_nearest() {
    let table = table(&[(0, 0, "a", Some(1.0))]);
    let error = summarise(&table, &["ccc".to_owned()], &[], None).unwrap_err();
    assert!(error.to_string().contains("did you mean 'cc'?"), "{error}");
    let error = summarise(&table, &[], &["cc".to_owned()], None).unwrap_err();
    assert!(
        error.to_string().contains("expected a column of numbers"),
        "{error}"
    );
}

/// Runs of two schemes, with the seeds of each.
fn pairs(seeds: [[i64; 4]; 2]) -> Table {
    let mut table = Table::default();
    let goodputs = [[100.0, 200.0, 300.0, 400.0], [110.0, 209.0, 311.0, 410.0]];
    let schemes = ["arq", "harq:10/12"].into_iter().zip(goodputs).zip(seeds);
    for (cell, ((scheme, goodputs), seeds)) in (0..).zip(schemes) {
        for (run, (goodput, seed)) in (0..).zip(goodputs.into_iter().zip(seeds)) {
            table.row([
                ("cell", Some(Value::Whole(cell))),
                ("scheme", Some(Value::Text(scheme.to_owned()))),
                ("run", Some(Value::Whole(run))),
                ("seed", Some(Value::Whole(seed))),
                ("flow", Some(Value::Whole(0))),
                ("total_goodput_bps", Some(Value::Real(goodput))),
            ]);
        }
    }
    table
}

fn differences(table: &Table, against: &str) -> Vec<Option<Difference>> {
    let summary = summarise(table, &[], &[], Some(against)).unwrap();
    summary
        .groups
        .iter()
        .map(|group| group.differences[0])
        .collect()
}

#[test]
fn runs_with_common_seeds_are_compared_one_by_one() {
    let table = pairs([[1, 2, 3, 4]; 2]);
    let found = differences(&table, "arq");
    assert_eq!(found[0], None);
    // Differences 10, 9, 11, 10: mean 10, s = 0.8165, half-width 3.182 · s / 2.
    let difference = found[1].unwrap();
    assert!(difference.paired && (difference.estimate.mean - 10.0).abs() < 1e-9);
    assert!((difference.estimate.ci95.unwrap() - 1.2992).abs() < 1e-3);
    assert!(difference.p_value_holm.unwrap() < 1e-3);
    // The other way round, and by the name of the column.
    let back = differences(&table, "scheme=harq:10/12")[0].unwrap();
    assert_eq!(back.estimate.mean, -difference.estimate.mean);
    let error = summarise(&table, &[], &[], Some("arqq"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("did you mean 'arq'?"), "{error}");
}

#[test]
fn runs_without_common_seeds_are_independent() {
    let difference = differences(&pairs([[1, 2, 3, 4], [5, 6, 7, 8]]), "arq")[1].unwrap();
    assert!(!difference.paired);
    // Welch: some 128 in each sample.
    assert!(difference.estimate.ci95.unwrap() > 200.0, "{difference:?}");
    assert!(difference.p_value_holm.unwrap() > 0.5);
}

#[test]
fn the_rows_of_tcp_alone_are_one_cell_whose_total_has_rows_of_its_own() {
    let mut table = Table::default();
    for seed in [4, 9] {
        for (scope, flow, goodput) in [
            ("total", None, 30.0),
            ("flow", Some(0), 10.0),
            ("flow", Some(1), 20.0),
        ] {
            table.row([
                ("seed", Some(Value::Whole(seed))),
                ("scope", Some(Value::Text(scope.to_owned()))),
                ("flow", flow.map(Value::Whole)),
                ("goodput_bps", Some(Value::Real(goodput))),
            ]);
        }
    }
    let metrics = ["total_goodput_bps", "goodput_bps"].map(str::to_owned);
    let summary = summarise(&table, &[], &metrics, None).unwrap();
    let means = summary.groups[0]
        .means
        .iter()
        .map(|mean| mean.unwrap().mean);
    assert_eq!(means.collect::<Vec<_>>(), [30.0, 15.0]);
    assert_eq!((summary.groups[0].cells, summary.groups[0].runs), (1, 2));
}

#[test]
fn groups_by_name_have_the_means_of_groups_by_a_column() {
    let table = table(&[
        (0, 0, "a", Some(1.0)),
        (1, 0, "b", Some(4.0)),
        (0, 1, "a", Some(2.0)),
        (1, 1, "b", Some(7.0)),
    ]);
    let groups = |rows: usize| {
        let mut groups = Groups::default();
        for row in 0..rows {
            let name = table.value(row, "cc").map(Cell::text);
            groups.add(name.as_deref());
        }
        groups
    };
    let by = ["cc".to_owned()];
    let metrics = ["goodput_bps".to_owned()];
    let summary = summarise(&table, &by, &metrics, Some("cc=a")).unwrap();
    let named = of_named(&table, groups(4), "goodput_bps", Some("a")).unwrap();
    assert_eq!(named.len(), 2);
    for (named, group) in named.iter().zip(&summary.groups) {
        assert_eq!(
            (&named.by, &named.means, &named.differences),
            (&group.by, &group.means, &group.differences)
        );
    }
    let error = |rows, against| {
        let found = of_named(&table, groups(rows), "goodput_bps", against);
        found.unwrap_err().to_string()
    };
    assert!(error(3, None).contains("found 3 rows in groups, expected the 4"));
    assert!(error(4, Some("c")).contains("found no group 'c'"));
}

#[test]
fn a_group_does_not_depend_on_the_order_of_its_rows() {
    // Zero and minus zero are equal numbers, and two texts.
    let of = |values: &[f64]| {
        let mut table = Table::default();
        for (cell, value) in (0..).zip(values) {
            table.row([
                ("cell", Some(Value::Whole(cell))),
                ("offset_db", Some(Value::Real(*value))),
                ("run", Some(Value::Whole(0))),
                ("flow", Some(Value::Whole(0))),
                ("goodput_bps", Some(Value::Real(1.0))),
            ]);
        }
        means(&table, &["offset_db"]).len()
    };
    assert_eq!(of(&[0.0, -0.0, 1.0]), of(&[0.0, 1.0, -0.0]));
}
