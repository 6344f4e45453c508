//! A few runs of a real kernel (fixtures/reference/kernel), and ours on the same settings. `benches/kernel/compare` has all.

use std::collections::BTreeMap;

use crate::common::{project, tmt};

type Row = BTreeMap<String, String>;

/// The rows of a table of the kernel's runs.
fn rows(grid: &str) -> Vec<Row> {
    let path = project("fixtures/reference/kernel/runs").join(format!("{grid}.csv"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(','));
    let names: Vec<&str> = lines.next().unwrap().collect();
    let row = |cells| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .zip(cells)
            .collect()
    };
    lines.map(|cells| row(cells.map(str::to_owned))).collect()
}

fn number(row: &Row, name: &str) -> f64 {
    row[name].parse().unwrap()
}

/// Payload of packets of 1500 B that this part of `tcp_rmem` has room for, bytes (`tcp_measure_rcv_mss`).
fn room(row: &Row, at: usize) -> u64 {
    row["rmem"]
        .split(' ')
        .nth(at)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        * 157
        / 256
}

/// The total of our run on the settings of `row`, which loses nothing.
fn ours(row: &Row) -> serde_json::Value {
    let control = match &*row["cc"] {
        "reno" => "newreno",
        "bbr" => "bbr1",
        other => other,
    };
    let size = match &*row["bytes"] {
        "0" => String::new(),
        bytes => format!("--bytes {bytes}B"),
    };
    let (first, largest) = (room(row, 1), room(row, 2));
    let run = format!(
        "tcp --link synthetic --profile linux --json --rate {}bps --rtt {}ms --buffer {}pkt --duration {}s --cc {control} {size} \
         --first-rwnd {first}B --rwnd {largest}B",
        row["rate"], row["rtt_ms"], row["queue"], row["seconds"]
    );
    tmt(&run).run().ok().results()["runs"][0]["total"].take()
}

/// The rows of each control without loss.
fn lossless(grid: &str) -> BTreeMap<String, Vec<Row>> {
    let mut found: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for row in rows(grid).into_iter().filter(|row| row["loss"] == "0") {
        found.entry(row["cc"].clone()).or_default().push(row);
    }
    found
}

fn mean(rows: &[Row], value: impl Fn(&Row) -> f64) -> f64 {
    let count = rows.iter().fold(0.0, |count, _| count + 1.0);
    rows.iter().map(value).sum::<f64>() / count
}

#[test]
fn bulk_flows_without_loss_are_those_of_the_kernel() {
    for grid in ["a", "e"] {
        for (control, rows) in lossless(grid) {
            let total = ours(&rows[0]);
            let get = |name: &str| total[name].as_f64().unwrap();
            let bits = get("packets_delivered") * 12_000.0;
            let share = bits / number(&rows[0], "seconds") / number(&rows[0], "rate");
            let kernel = mean(&rows, |row| number(row, "share"));
            assert!(
                (share / kernel - 1.0).abs() < 0.05,
                "{grid} {control}: {share} {kernel}"
            );
            let again = get("packets_retransmitted") / get("packets_sent");
            let kernel = mean(&rows, |row| {
                number(row, "retransmitted") / number(row, "data_segs_out")
            });
            assert!(
                (again / kernel - 1.0).abs() < 0.15,
                "{grid} {control}: {again} {kernel}"
            );
            assert_eq!(total["rto_events"], 0, "{grid} {control}");
        }
    }
}

#[test]
fn transfers_without_loss_take_as_long_as_in_the_kernel() {
    for grid in ["s1", "s2", "s2def", "s3def"] {
        for (control, rows) in lossless(grid) {
            let time = ours(&rows[0])["completion_time_s"].as_f64().unwrap();
            let kernel = mean(&rows, |row| number(row, "completion_s"));
            assert!(
                (time / kernel - 1.0).abs() < 0.03,
                "{grid} {control}: {time} {kernel}"
            );
        }
    }
}
