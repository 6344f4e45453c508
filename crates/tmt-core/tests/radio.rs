//! docs/channels.md against the tables of the library.

use tmt_core::radio::environment::{Environment, Sequence};
use tmt_core::radio::{ErrorCurve, PARAMETERS};

const PAGE: &str = include_str!("../../../docs/channels.md");

/// Cells of the rows of the page, without marks of code.
fn rows() -> Vec<Vec<String>> {
    let rows = PAGE.lines().filter(|line| line.starts_with('|'));
    let cell = |cell: &str| cell.trim().replace('`', "");
    rows.map(|row| row.trim_matches('|').split('|').map(cell).collect())
        .collect()
}

fn numbers(cells: &[String]) -> Vec<f64> {
    let words = cells.iter().flat_map(|cell| cell.split_whitespace());
    words.filter_map(|word| word.parse().ok()).collect()
}

fn close(found: &[f64], expected: &[f64]) -> bool {
    found.len() == expected.len()
        && found
            .iter()
            .zip(expected)
            .all(|(a, b)| (a - b).abs() < 1e-9)
}

#[test]
fn the_page_lists_every_parameter() {
    let rows = rows();
    for parameter in PARAMETERS {
        let default = match parameter.default {
            Some(_) => &*parameter.default_text(),
            None => "must be given",
        };
        let expected = [
            parameter.name,
            default,
            &parameter.kind.expected(),
            parameter.about,
        ];
        assert!(
            rows.iter().any(|row| *row == expected),
            "{}",
            parameter.name
        );
    }
}

#[test]
fn the_page_has_the_numbers_of_every_environment() {
    let rows = rows();
    for set in Environment::all() {
        let expected: Vec<Vec<f64>> = match set.sequence {
            Sequence::Frames { states, .. } => {
                let entered = states.iter().filter(|state| state.frame_m > 0.0);
                let numbers = |loo: [f64; 3], frame_m: f64, row: [f64; 3]| {
                    [&loo[..], &[frame_m], &row].concat()
                };
                entered
                    .map(|state| {
                        let loo = state.loo;
                        numbers(
                            [loo.direct_db, loo.shadowing_db, loo.multipath_db],
                            state.frame_m,
                            state.row,
                        )
                    })
                    .collect()
            }
            Sequence::Events { states, transition } => {
                let mut rows: Vec<Vec<f64>> = states
                    .iter()
                    .map(|state| {
                        [
                            &state.length_ln_m[..],
                            &[state.shortest_m],
                            &state.direct_db,
                            &state.multipath,
                            &state.shadowing,
                        ]
                        .concat()
                    })
                    .collect();
                rows[0].extend([set.correlation_m, transition[0], transition[1]]);
                rows
            }
            Sequence::Exponential { .. } => panic!("{} is not published", set.name),
        };
        let name = match set.name.strip_prefix("p681:") {
            Some(name) => format!("{name} {}", set.elevation_deg.unwrap()),
            None => set.name.to_owned(),
        };
        // The three-state rows have the number of the state in the second cell, the others its name.
        let starts: Vec<usize> = (0..rows.len()).filter(|at| rows[*at][0] == name).collect();
        let found = starts.iter().any(|start| {
            expected.iter().enumerate().all(|(at, numbers_of_state)| {
                close(&numbers(&rows[start + at][2..]), numbers_of_state)
            })
        });
        assert!(found, "{name}");
    }
}

#[test]
fn the_page_has_every_modcod() {
    let rows = rows();
    let codes = ErrorCurve::codes().filter(|code| code.name.starts_with("dvb-s2:"));
    let mut count = 0;
    for code in codes {
        count += 1;
        let row = rows.iter().find(|row| row[0] == code.name).unwrap();
        let curve: ErrorCurve = code.name.parse().unwrap();
        let threshold_db = curve.threshold_db(1e-7).unwrap();
        let [efficiency, threshold] = numbers(&row[1..])[..] else {
            panic!("{}", code.name)
        };
        assert!(
            (efficiency - code.efficiency_bit_per_symbol).abs() < 1e-9,
            "{}",
            code.name
        );
        assert!((threshold - threshold_db).abs() < 1e-5, "{}", code.name);
    }
    assert_eq!(count, 28);
}
