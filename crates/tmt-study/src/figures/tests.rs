use std::collections::BTreeMap;

use fluid_tcp::experiment::InMemory;
use tmt_core::math::num::powi;
use tmt_core::types::to_f64;

use super::*;

/// The tables of what is printed.
const REFERENCE: [(&str, &str); 7] = [
    (
        "kuhn_table1",
        include_str!("../../../../fixtures/reference/kuhn_table1_cubic_retransmissions.csv"),
    ),
    (
        "kuhn_table2",
        include_str!("../../../../fixtures/reference/kuhn_table2_packet_delay_s.csv"),
    ),
    (
        "kuhn_table3",
        include_str!("../../../../fixtures/reference/kuhn_table3_page_time_s.csv"),
    ),
    (
        "clift_table1",
        include_str!("../../../../fixtures/reference/clift_table1_metrics.csv"),
    ),
    (
        "celandroni_table1",
        include_str!("../../../../fixtures/reference/celandroni_table1_goodput.csv"),
    ),
    (
        "celandroni_table2",
        include_str!("../../../../fixtures/reference/celandroni_table2_goodput_5_connections.csv"),
    ),
    (
        "statements",
        include_str!("../../../../fixtures/reference/statements.csv"),
    ),
];

/// One of them, by column.
fn reference(name: &str) -> Vec<BTreeMap<String, String>> {
    let (_, text) = REFERENCE.iter().find(|(known, _)| *known == name).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let columns: Vec<String> = lines.next().unwrap().collect();
    lines
        .map(|fields| columns.iter().cloned().zip(fields).collect())
        .collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> Option<f64> {
    row[column].parse().ok()
}

/// Published values in part `part` of a figure, quantity `quantity`.
fn published(name: &str, part: usize, quantity: usize) -> Vec<Option<f64>> {
    figure(name).unwrap().parts[part].published()[quantity]
        .1
        .clone()
}

fn parse(text: &str) -> Result<Figure, PlanError> {
    Figure::parse(text, &mut |_| Ok(None))
}

/// The rows of the only part of a figure.
fn rows(text: &str, changes: &Changes) -> Vec<Row> {
    let figure = parse(text).unwrap();
    let part = &figure.parts[0];
    let plan = part.changed(changes, &mut |_| Ok(None)).unwrap();
    let records = part.sweep(&plan).unwrap().collect(&InMemory, 2).unwrap();
    part.rows(&plan, &records, None).unwrap()
}

#[test]
fn every_file_of_the_registry_is_read_and_has_one_name() {
    let all = all().unwrap_or_else(|error| panic!("{error} at {:?}", error.place));
    let mut names: Vec<&str> = all.iter().flat_map(Figure::names).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "a name twice");
}

#[test]
fn every_table_and_figure_of_the_five_papers_is_there() {
    let wanted = [
        ("kuhn-table", 1..=3),
        ("kuhn-fig", 5..=11),
        ("clift-table", 1..=2),
        ("clift-fig", 5..=6),
        ("barakat-fig", 3..=16),
        ("celandroni-table", 1..=2),
        ("celandroni-fig", 1..=6),
        ("zhu-fig", 6..=9),
        ("zhu-fig", 11..=17),
    ];
    let mut count = 0;
    for (name, numbers) in wanted {
        for number in numbers {
            let name = format!("{name}{number}");
            assert!(figure(&name).is_ok(), "{name}");
            count += 1;
        }
    }
    assert_eq!(count, 47);
    assert!(figure("statements").is_ok());
}

#[test]
fn what_is_published_is_what_the_papers_print() {
    let table = reference("kuhn_table3");
    let columns = ["es_n0_5", "es_n0_6", "es_n0_7", "es_n0_8"];
    let printed = table
        .iter()
        .flat_map(|row| columns.map(|column| number(row, column)));
    assert_eq!(published("kuhn-table3", 0, 0), printed.collect::<Vec<_>>());
    let few = table
        .iter()
        .filter(|row| ["newreno", "cubic"].contains(&row["tcp"].as_str()));
    let few = few.flat_map(|row| columns.map(|column| number(row, column)));
    assert_eq!(published("clift-table2", 0, 0), few.collect::<Vec<_>>());

    let table = reference("kuhn_table1");
    for (quantity, column) in ["retransmission_probability", "max_retransmissions"]
        .into_iter()
        .enumerate()
    {
        let printed: Vec<_> = table.iter().map(|row| number(row, column)).collect();
        assert_eq!(published("kuhn-table1", 0, quantity), printed);
    }
    let table = reference("kuhn_table2");
    for (quantity, column) in ["min", "p85", "p99"].into_iter().enumerate() {
        let printed: Vec<_> = table.iter().map(|row| number(row, column)).collect();
        assert_eq!(published("kuhn-table2", 0, quantity), printed);
    }
    let table = reference("clift_table1");
    for (quantity, row) in table.iter().enumerate() {
        let printed = ["arq", "harq:10/12", "harq:10/15"].map(|column| number(row, column));
        assert_eq!(published("clift-table1", 0, quantity), printed);
    }
    let table = reference("celandroni_table1");
    let column = |name: &str| {
        table
            .iter()
            .map(|row| number(row, name))
            .collect::<Vec<_>>()
    };
    let both = [column("ns2_newreno"), column("ns2_reno")].concat();
    assert_eq!(published("celandroni-table1", 0, 0), both);
    let both = |one: Vec<Option<f64>>, two: Vec<Option<f64>>| {
        let pairs = one.into_iter().zip(two);
        pairs.flat_map(|(one, two)| [one, two]).collect::<Vec<_>>()
    };
    assert_eq!(
        published("celandroni-table1", 1, 0),
        both(column("relation15_t0_1s"), column("relation15_t0_2s"))
    );
    assert_eq!(
        published("celandroni-table1", 2, 0),
        both(column("tgep"), column("tgep"))
    );
    let table = reference("celandroni_table2");
    // Printed from the smallest loss on.
    let column = |name: &str| {
        table
            .iter()
            .rev()
            .map(|row| number(row, name))
            .collect::<Vec<_>>()
    };
    assert_eq!(published("celandroni-table2", 0, 0), column("ns2_total"));
    assert_eq!(
        published("celandroni-table2", 1, 0),
        both(column("relation15_t0_1s"), column("relation15_t0_2s"))
    );
    assert_eq!(
        published("celandroni-table2", 2, 0),
        both(column("tgep_total"), column("tgep_total"))
    );
}

/// Every statement of the list is a row of the figure of that name, with its value where that is a number.
#[test]
fn every_statement_is_decided() {
    let figure = figure("statements").unwrap();
    let statements = reference("statements");
    assert_eq!(statements.len(), 35);
    let values = figure.parts.iter().flat_map(Part::published);
    let mut values: Vec<f64> = values.flat_map(|(_, values)| values).flatten().collect();
    let checks = figure
        .parts
        .iter()
        .map(|part| part.checks.len())
        .sum::<usize>();
    // Four are checks of shape, one with two values.
    assert_eq!((values.len(), checks), (31, 5));
    for row in &statements {
        let in_words = [
            "redundancy of least Eb/N0",
            "channel and information bit rate vs uncoded",
        ]
        .contains(&row["quantity"].as_str())
            || row["conditions"].starts_with("FEC alone")
            || row["value"].starts_with("B>");
        if in_words {
            continue;
        }
        let value: f64 = row["value"].parse().unwrap();
        let place = values.iter().position(|known| (known - value).abs() < 1e-9);
        let place = place.unwrap_or_else(|| panic!("{row:?} is not among {values:?}"));
        values.remove(place);
    }
    assert!(values.is_empty(), "{values:?} are no statements");
}

const SMALL: &str = r#"
name = "small"
about = "Rates of two models"
source = "a test"

[[part]]
label = "p={p:1}"

[part.plan]
model = "arq"
p = [0.1, 0.2]
rtt = 0.5

[[part.quantity]]
name = "efficiency"
metric = "eta"
tolerance = 0.01
published = [0.9, 0.7]
known = [nan, 0.8]
why = "a misprint"

[[part.check]]
name = "efficiency falls"
metric = "eta"
rises = [{ p = 0.2 }, { p = 0.1 }]
"#;

#[test]
fn a_figure_sets_ours_beside_what_is_published() {
    let rows = rows(SMALL, &Changes::default());
    let verdicts: Vec<(&str, Verdict)> = rows
        .iter()
        .map(|row| (row.label.as_str(), row.verdict))
        .collect();
    assert_eq!(
        verdicts,
        [
            ("p=0.1", Verdict::Ok),
            ("p=0.2", Verdict::Deviates),
            ("efficiency falls", Verdict::Held)
        ]
    );
    assert_eq!(rows[1].why.as_deref(), Some("a misprint"));
    assert_eq!(rows[0].axes, [("p".to_owned(), "0.1".to_owned())]);
}

#[test]
fn a_changed_setting_keeps_what_is_published_and_can_be_off() {
    let text = SMALL
        .replace("p = [0.1, 0.2]", "p = \"{loss}\"\nloss = [0.1, 0.2]")
        .replace("p={p:1}", "p={loss:1}")
        .replace("{ p =", "{ loss =");
    let set = |name: &str, value: &str| Changes {
        set: vec![(name.to_owned(), value.to_owned())],
        ..Changes::default()
    };
    assert_eq!(rows(&text, &Changes::default())[0].verdict, Verdict::Ok);
    // Another loss under the same label.
    let changed = rows(&text, &set("p", "0.3"));
    assert_eq!(
        (changed[0].published, changed[0].verdict),
        (Some(0.9), Verdict::Off)
    );
    assert_eq!(changed[2].verdict, Verdict::Off, "equal values do not fall");
    // One column of the table.
    let few = rows(&text, &set("loss", "0.2"));
    assert_eq!(
        (few.len(), few[0].published, few[0].verdict),
        (2, Some(0.7), Verdict::Deviates)
    );
    // A value that the table does not have.
    assert_eq!(rows(&text, &set("loss", "0.4"))[0].published, None);
    let part = &parse(&text).unwrap().parts[0];
    assert!(part.takes("rtt") && part.takes("loss") && !part.takes("iw"));
}

#[test]
fn a_setting_may_replace_what_names_a_variable() {
    for (name, set) in [
        ("barakat-fig3", "rtt"),
        ("zhu-fig9", "terrestrial_rtt"),
        ("zhu-fig14", "scheme"),
    ] {
        let part = &figure(name).unwrap().parts[0];
        let value = if set == "scheme" { "arq" } else { "50ms" };
        let changes = Changes {
            set: vec![(set.to_owned(), value.to_owned())],
            ..Changes::default()
        };
        let changed = part.changed(&changes, &mut |_| Ok(None)).unwrap();
        assert_eq!(changed.cells(), part.plan().cells(), "{name}");
        assert_eq!(
            part.groups(&changed).unwrap().len(),
            part.plan().cells(),
            "{name}"
        );
    }
}

#[test]
fn a_value_of_axes_that_vary_together_chooses_their_points() {
    let part = &figure("celandroni-fig3").unwrap().parts[0];
    let changed = |value: &str| {
        let changes = Changes {
            set: vec![("size".to_owned(), value.to_owned())],
            ..Changes::default()
        };
        part.changed(&changes, &mut |_| Ok(None))
    };
    assert_eq!(changed("23").unwrap().cells(), 6);
    assert_eq!(changed("23,92").unwrap().cells(), 12);
    assert!(
        changed("24")
            .unwrap_err()
            .message
            .contains("expected equal numbers")
    );
}

#[test]
fn a_figure_like_another_keeps_what_is_published_where_the_cells_are_the_same() {
    let like = |plan: &str| {
        parse(&format!("name = \"own\"\nabout = \"-\"\n[[part]]\nlike = \"barakat-fig15\"\n[part.plan]\n{plan}\n")).unwrap()
    };
    let count = |figure: &Figure| figure.parts[0].published()[0].1.iter().flatten().count();
    assert_eq!(count(&like("")), 1);
    assert_eq!(count(&like("K = [10, 40]")), 0);
}

#[test]
fn faulty_figures_are_refused_at_their_place() {
    for (old, new, place, word) in [
        ("p = [0.1, 0.2]", "p = [0.1, 2]", Some((11, 1)), "p"),
        (
            "published = [0.9, 0.7]",
            "published = [0.9]",
            Some((6, 1)),
            "found 1 values, expected 2",
        ),
        ("why = \"a misprint\"\n", "", Some((6, 1)), "needs `why`"),
        (
            "metric = \"eta\"\ntolerance",
            "metric = \"flow eta\"\ntolerance",
            Some((6, 1)),
            "expected a metric",
        ),
        ("rtt = 0.5", "rrt = 0.5", Some((12, 1)), "rtt"),
        (
            "[[part.quantity]]",
            "[[part.quantitty]]",
            Some((14, 8)),
            "quantitty",
        ),
        (
            "rises = ",
            "best = \"p\"\nrises = ",
            Some((6, 1)),
            "expected one of",
        ),
        (
            "label = \"p={p:1}\"",
            "like = \"nothing\"",
            Some((6, 1)),
            "expected a figure",
        ),
    ] {
        let text = SMALL.replace(old, new);
        assert_ne!(text, SMALL, "{old}");
        let error = match parse(&text) {
            Err(error) => error,
            Ok(figure) => {
                let plan = &figure.parts[0].plan;
                plan.cell(1)
                    .and_then(|cell| cell.work().map(drop))
                    .unwrap_err()
            }
        };
        assert!(error.message.contains(word), "{new}: {error}");
        if let Some(found) = error.place {
            let line = |place: (usize, usize)| place.0;
            assert_eq!(Some(line(found)), place.map(line), "{new}: {error}");
        }
    }
}

#[test]
fn traces_with_starts_count_once_each() {
    let text = r#"
name = "pages"
about = "Pages over two traces"

[[part]]
label = "{n}"

[part.plan]
n = 12
scheme = "harq:10/{n}"
channel = "bernoulli:0.01"
rate = "1Mbps"
lldu = "33B"
trace_duration = "60s"
duration = "20s"
bytes = "20kB"
offsets = 4
seed = "1..2"
profile = "rfc"

[[part.quantity]]
name = "page time"
metric = "completion_time_s"
"#;
    let row = &rows(text, &Changes::default())[0];
    assert_eq!(
        (row.label.as_str(), row.ours.unwrap().runs, row.verdict),
        ("12", 2, Verdict::Shown)
    );
    assert!(row.why.is_none(), "{:?}", row.why);
    let more = Changes {
        seeds: Some(3),
        ..Changes::default()
    };
    assert_eq!(rows(text, &more)[0].ours.unwrap().runs, 3);
}

/// Mean time of a packet in a window of one, s, by the distribution of the timeouts that doubled before it: step by step, not by the
/// sums in the comments of the entries.
fn time_of_a_packet(rtt: f64, rto: f64, lost: f64) -> f64 {
    let mut doubled = vec![0.0; 40];
    doubled[0] = 1.0;
    let mut mean = 0.0;
    for _ in 0..200 {
        let mut next = vec![0.0; doubled.len()];
        mean = rtt;
        for (first, share) in doubled.iter().enumerate() {
            let (mut sent, mut at) = (*share, first);
            let mut timeouts = to_f64(1 << first);
            // A timeout of 2^at RTOs follows each loss.
            while sent > 1e-18 && at + 1 < next.len() {
                let arrives = sent * (1.0 - lost);
                next[if at == first { 0 } else { at }] += arrives;
                sent -= arrives;
                mean += sent * rto * timeouts;
                at += 1;
                timeouts *= 2.0;
            }
        }
        doubled = next;
    }
    mean
}

/// The numbers that an entry states as theory.
fn states(name: &str, number: &str) -> f64 {
    let text = FILES.iter().find(|text| file::name(text) == name).unwrap();
    let words = ["\"", "[", "]", ", "];
    let stated = words.iter().flat_map(|before| {
        words
            .iter()
            .map(move |after| format!("{before}{number}{after}"))
    });
    assert!(
        stated.into_iter().any(|stated| text.contains(&stated)),
        "{name}: {number}"
    );
    number.parse().unwrap()
}

#[test]
fn windows_of_one_packet_take_the_time_of_their_timeouts() {
    let cases = [
        (
            "barakat-exact",
            "20920.3",
            12_000.0,
            0.486,
            0.5,
            powi(0.998, 60),
        ),
        (
            "kuhn-exact",
            "20310.6",
            12_000.0,
            0.5 + 46.0 * 264.0 / 2.34e6,
            0.52,
            powi(0.9975, 46),
        ),
        (
            "clift-exact",
            "7550.4",
            4_000.0,
            0.5 + 16.0 * 264.0 / 2.3e6,
            0.51,
            powi(0.997, 16),
        ),
        ("zhu-exact", "17058.7", 4_000.0, 0.204, 0.21, 0.9),
        ("zhu-exact", "12345.7", 4_000.0, 0.204, 0.21, 0.8),
    ];
    for (name, number, bits, rtt, rto, arrives) in cases {
        let walked = bits / time_of_a_packet(rtt, rto, 1.0 - arrives);
        assert!(
            (walked / states(name, number) - 1.0).abs() < 1e-5,
            "{name}: {walked} {number}"
        );
    }
}

/// Over all ways in which six frames arrive at once, by their repeat, or not.
#[test]
fn the_delay_of_frames_that_are_repeated_once_is_that_of_their_outcomes() {
    let lost = 1.0 - powi(0.99, 10);
    let outcomes = [1.0 - lost, lost * (1.0 - lost), lost * lost];
    let (mut delivered, mut delay) = (0.0, 0.0);
    for case in 0..3_u32.pow(6) {
        let frames: Vec<usize> = (0..6)
            .map(|frame| (case / 3_u32.pow(frame) % 3) as usize)
            .collect();
        if frames.contains(&2) {
            continue;
        }
        let share: f64 = frames.iter().map(|outcome| outcomes[*outcome]).product();
        // Frames of 1 ms, one after the other; a repeat goes out when the feedback on its frame is there.
        let arrival = |(frame, outcome): (u64, &usize)| {
            to_f64(frame + 1 + if *outcome == 1 { 401 } else { 0 })
        };
        let last = (0..).zip(&frames).map(arrival).fold(0.0, f64::max);
        delivered += share;
        delay += share * (0.24 + last / 1000.0);
    }
    assert!((delay / delivered / states("barakat-exact", "0.41422") - 1.0).abs() < 1e-5);
    for (p, number) in [(0.1, "0.113455"), (0.3, "0.128")] {
        let (once, twice) = (1.0 - p, p * (1.0 - p));
        let mean = (once * 0.104 + twice * 0.208) / (once + twice);
        assert!((mean / states("zhu-exact", number) - 1.0).abs() < 1e-5);
    }
}
