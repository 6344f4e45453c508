//! Pages of two studies.

use crate::common::{Folder, tmt};
use crate::pages::{answer, data, page, sweep};

#[test]
fn a_comparison_puts_regressions_first_and_says_whether_it_pairs() {
    let folder = Folder::new();
    folder.write("before.csv", sweep(500_000_000, [1, 2, 3], 50_000));
    folder.write("after.csv", sweep(600_000_000, [1, 2, 3], 0));
    folder.write("same.csv", sweep(500_000_000, [1, 2, 3], 50_000));
    folder.write("other.csv", sweep(500_000_000, [4, 5, 6], 0));
    let paired = page(&folder, "--compare before.csv after.csv");
    assert_eq!(
        answer(&paired),
        "Worse, of 2 groups: goodput in 2. First: arq, goodput -50 ± 0 kbps. No verdict on 1 group, without a difference that has an interval."
    );
    assert!(paired.contains("Paired: runs with the same seed"));
    assert!(paired.contains("differ in their conditions: rtt 500 ms and 600 ms"));
    let unpaired = page(&folder, "--compare before.csv other.csv");
    assert!(unpaired.contains("Unpaired: the tables have no common seeds"));
    let same = page(&folder, "--compare before.csv same.csv");
    assert_eq!(
        answer(&same),
        "No metric changes clearly in any of 2 groups. No verdict on 1 group, without a difference that has an interval."
    );
}

#[test]
fn results_of_tcp_are_compared_as_those_of_a_sweep_with_one_cell() {
    let folder = Folder::new();
    let link =
        "--link synthetic --rate 2Mbps --rtt 200ms --duration 10s --flows 2 --loss bernoulli:0.02";
    for (name, more) in [
        ("before", "--cc reno --seed 1 --seeds 4"),
        ("after", "--cc cubic --seed 1 --seeds 4"),
        ("other", "--cc cubic --seed 11 --seeds 4"),
    ] {
        for run in [
            format!("-q tcp {link} {more} --results {name}-tcp.csv"),
            format!("-q sweep {link} {more} -o {name}-sweep.parquet"),
        ] {
            tmt(&run).within(&folder).run().ok();
        }
    }
    let compared = |one: &str, other: &str| page(&folder, &format!("--compare {one} {other}"));
    for after in ["after", "other"] {
        let ours = compared("before-tcp.csv", &format!("{after}-tcp.csv"));
        let swept = compared("before-sweep.parquet", &format!("{after}-sweep.parquet"));
        assert_eq!(answer(&ours), answer(&swept));
        assert_eq!(data(&ours), data(&swept));
        let how = if after == "after" {
            "Paired: runs with the same seed"
        } else {
            "Unpaired: the tables have no common seeds"
        };
        assert!(ours.contains(how) && swept.contains(how), "{after}");
        assert!(ours.contains("differ in their conditions: cc "));
        // One of each kind.
        let mixed = compared("before-sweep.parquet", &format!("{after}-tcp.csv"));
        assert_eq!(data(&mixed), data(&ours));
    }
}

#[test]
fn links_of_one_comparison_are_groups() {
    let folder = Folder::new();
    for (name, loss) in [("before", "0.001"), ("after", "0.02")] {
        tmt(&format!(
            "-q tcp --compare-links --scheme arq --channel bernoulli:{loss} --rate 2Mbps --lldu 100B --rtt 200ms --duration 10s \
             --feedback-delay 10ms --seeds 3 --results {name}.csv"
        ))
        .within(&folder)
        .run()
        .ok();
    }
    let page = page(&folder, "--compare before.csv after.csv");
    assert!(
        answer(&page).starts_with("Worse, of 2 groups: delay p95 in 2"),
        "{}",
        answer(&page)
    );
    let found: serde_json::Value = serde_json::from_str(data(&page)).unwrap();
    assert_eq!(
        found["keys"][0]["values"],
        serde_json::json!(["timeline", "coupled"])
    );
}

#[test]
fn a_group_that_fails_afterwards_comes_first() {
    let folder = Folder::new();
    let before = sweep(500_000_000, [1, 2, 3], 0);
    let mut after = sweep(500_000_000, [1, 2, 3], 50_000);
    let kept: Vec<&str> = after
        .lines()
        .filter(|line| !line.starts_with("0,"))
        .collect();
    after = kept.join("\n") + "\n";
    after.push_str("0,\"arq\",,,,,500000000,refused,tmt 0\n");
    folder.write("before.csv", before);
    folder.write("after.csv", after);
    assert_eq!(
        answer(&page(&folder, "--compare before.csv after.csv")),
        "1 group has no result any more: arq. No clear regression in 1 group. Better: goodput in 1. First: harq:10/12, goodput +50 ± 0 kbps. No verdict on 1 group, without a difference that has an interval."
    );
}
