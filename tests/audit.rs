//! `tmt audit` on logs of `tmt tcp`: unchanged ones pass, changed ones are detected.

use test_support::depth;

use crate::common::{Folder, bash, tmt, trace, version_1};

/// A folder with a bursty timeline and the log of a run over it.
fn logged() -> Folder {
    let folder = Folder::new();
    let chain = "tmt inject --gilbert-elliott alpha=0.99,beta=0.8 --seed 3 phy.csv \
                 | tmt apply --scheme harq:10/12,rounds=1 -o timeline.csv && \
                 tmt tcp --packet 500B --flows 2 --packets log.csv timeline.csv";
    folder.write("phy.csv", trace(20_000, 30_000));
    bash(&folder, chain).ok();
    folder
}

/// The log with one row changed: the first for which `change` returns `Some`.
fn changed(folder: &Folder, change: impl Fn(&[&str]) -> Option<String>) -> String {
    let mut done = false;
    let log = folder.read("log.csv");
    let lines = log.lines().map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        if done || line.starts_with(['#', 'f']) {
            return line.to_owned();
        }
        match change(&fields) {
            Some(other) => {
                done = true;
                other
            }
            None => line.to_owned(),
        }
    });
    let text = lines.fold(String::new(), |text, line| text + &line + "\n");
    assert!(done, "no row could be changed");
    text
}

/// The row with field `index` replaced.
fn with(fields: &[&str], index: usize, value: &str) -> String {
    let mut fields = fields.to_vec();
    fields[index] = value;
    fields.join(",")
}

#[test]
fn runs_of_every_kind_pass() {
    let folder = logged();
    for flags in [
        "timeline.csv",
        "--cc newreno --sack off --recovery halving timeline.csv",
        "--profile ns2 --packet 40B --headers 0B timeline.csv",
        "--packet 3000B --buffer 2pkt timeline.csv",
        "--buffer 4kB --flows 20 --start 0s..5s --bytes 10kB timeline.csv",
        "--handshake on --delayed-ack off --rwnd 3pkt timeline.csv",
        "--flow cc=cubic,bytes=20kB --flow cc=newreno,start=5s timeline.csv",
        "--rtt 1s --replace-head --duration 10s timeline.csv",
        "--rtt 0s --replace-head timeline.csv",
        "--link synthetic --rate 2Mbps --loss bernoulli:0.02 --duration 30s",
        "--link synthetic --rate 2Mbps --loss gilbert-elliott:alpha=0.99,beta=0.9 --duration 30s --rtt 0s",
        "--link synthetic --rate 200kbps --flows 50 --buffer 10pkt --duration 30s",
        "--link synthetic --rate 1Mbps --loss bernoulli:1 --duration 100s",
        "--link synthetic --rate 1Mbps --bytes 0B --duration 100s",
    ] {
        tmt("tcp --packets log.csv")
            .arg_list(flags)
            .within(&folder)
            .run()
            .ok();
        let timeline = if flags.ends_with("timeline.csv") {
            "--timeline timeline.csv"
        } else {
            ""
        };
        let audit = tmt("audit log.csv")
            .arg_list(timeline)
            .within(&folder)
            .run();
        assert_eq!(
            audit.code,
            Some(0),
            "{flags}:\n{}{}",
            audit.text(),
            audit.stderr
        );
        assert!(
            audit.text().ends_with("every rule holds\n"),
            "{}",
            audit.text()
        );
    }
}

#[test]
fn a_run_that_ends_in_a_gap_of_the_timeline_passes() {
    let folder = Folder::new();
    // The fifth packet is next, and waits for an LLDU after the end of the run.
    folder.write(
        "timeline.csv",
        "# tool: hand 1\n# rtt_ns: 1000000\n# lldu_bytes: 1500\n# rate_bps: 12000000\n\
         0,0.0001\n0.001,0.0001\n0.002,0.0001\n0.003,0.0001\n0.010,0.0001\n\
         # end: rows=5 slots=5 usable_until_ns=5000000\n",
    );
    tmt("tcp --lldu-header 0B --buffer 10pkt --packets log.csv timeline.csv")
        .within(&folder)
        .run()
        .ok();
    tmt("audit --timeline timeline.csv log.csv")
        .within(&folder)
        .run()
        .ok();
    tmt("audit log.csv").within(&folder).run().ok();
}

#[test]
fn runs_over_a_coupled_link_pass_slot_by_slot() {
    let folder = Folder::new();
    folder.write("phy.csv", trace(20_000, 30_000));
    bash(
        &folder,
        "tmt inject --gilbert-elliott alpha=0.99,beta=0.8 --seed 3 phy.csv -o erased.csv",
    )
    .ok();
    for (scheme, slots) in [
        ("arq --flows 3", "slots.csv"),
        (
            "harq:10/12,rounds=1 --in-order flow --flows 2",
            "slots.csv.gz",
        ),
        ("harq:4/5,interleave=7 --hold acknowledged", "slots.parquet"),
        ("frame-arq:5/6,rounds=2 --bytes 30kB", "slots.csv.zst"),
        (
            "arq --feedback-loss 0.2 --path split --terrestrial-rtt 20ms",
            "slots.csv",
        ),
    ] {
        let run = format!(
            "tcp --link coupled --packet 500B --packets log.csv --slots {slots} --scheme {scheme} erased.csv"
        );
        tmt(&run).within(&folder).run().ok();
        let audit = tmt(&format!("audit --json --slots {slots} log.csv"))
            .within(&folder)
            .run();
        assert_eq!(audit.code, Some(0), "{scheme}: {}", audit.stderr);
        let report = audit.json();
        let rules = report["results"]["rules"].as_array().unwrap();
        let repeats = rules.last().unwrap();
        assert_eq!(repeats["rule"], "repeats", "{scheme}");
        assert!(
            repeats["checks"].as_u64() > Some(100),
            "{scheme}: {repeats}"
        );
    }
    // Moved by one slot, the unit is the second one of its slot.
    let log = folder.read("slots.csv");
    let row = log.lines().find(|line| line.starts_with("40,")).unwrap();
    folder.write(
        "slots.csv",
        log.replace(row, &row.replacen("40,", "41,", 1)),
    );
    let audit = tmt("audit --slots slots.csv log.csv").within(&folder).run();
    assert_eq!(audit.code, Some(1));
    assert!(audit.stderr.contains("slots.csv:"), "{}", audit.stderr);
    let of_timeline = tmt("audit --slots log.csv --timeline erased.csv log.csv");
    assert_eq!(of_timeline.within(&folder).run().code, Some(2));
}

/// Four hundred packets arrive at one time, and an ACK may cover any number of them.
#[test]
fn a_host_with_too_many_possible_histories_is_held_to_the_earliest_time() {
    let folder = Folder::new();
    let slots = (1..=depth(3, 8)).flat_map(|second| vec![format!("{second},0.01\n"); 400]);
    let slots: String = std::iter::once("tx_time,decode_delay\n".to_owned())
        .chain(slots)
        .collect();
    folder.write("phy.csv", slots);
    let run = "tcp --link coupled --scheme arq --lldu 1500B --lldu-header 0B --rtt 100ms --buffer 2000pkt --cc fixed:400 \
               --profile rfc --delayed-ack 1000 --quick-acks 1000 --packets log.csv phy.csv";
    tmt(run).within(&folder).run().ok();
    tmt("audit log.csv").within(&folder).run().ok();
    // Sent at 1 s, delivered at 1.06 s, acknowledged at 1.11 s.
    let early = changed(&folder, |fields| {
        (fields[11] == "1.110000000").then(|| with(fields, 11, "1.109999999"))
    });
    folder.write("log.csv", early);
    let found = tmt("audit log.csv").within(&folder).run();
    found.fails(1, &["acked 1.109999999 s", "not before 1.110000000 s"]);
}

#[test]
fn a_looped_run_is_recomputed_from_its_timeline() {
    let folder = logged();
    tmt("tcp --loop --duration 70s --packet 500B --packets log.csv timeline.csv")
        .within(&folder)
        .run()
        .ok();
    tmt("audit log.csv").within(&folder).run().ok();
    let audit = "audit --timeline timeline.csv log.csv";
    tmt(audit).within(&folder).run().ok();
    let log = folder.read("log.csv");
    // LLDUs of 10^15 repetitions later are found at once.
    let far = |number: &str| (number.parse::<u64>().unwrap() + 10_u64.pow(15)).to_string();
    let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
    let head = lines
        .iter()
        .position(|line| line.contains("first_lldu,last_lldu"))
        .unwrap();
    let columns: Vec<&str> = lines[head].split(',').collect();
    let first = columns
        .iter()
        .position(|name| *name == "first_lldu")
        .unwrap();
    let mut row: Vec<String> = lines[head + 40].split(',').map(str::to_owned).collect();
    (row[first], row[first + 1]) = (far(&row[first]), far(&row[first + 1]));
    lines[head + 40] = row.join(",");
    folder.write("log.csv", lines.join("\n") + "\n");
    let found = tmt(audit).within(&folder).run();
    found.fails(1, &["found LLDUs 10000", "3 of 9 rules are broken"]);
    // Read as if it had ended.
    folder.write("log.csv", log.replace("# looped: on\n", ""));
    let found = tmt(audit).within(&folder).run();
    found.fails(1, &["expected LLDUs that the timeline has"]);
}

/// Eighty packets arrive at once, in more orders than are followed.
#[test]
fn a_hop_that_is_not_recomputed_to_the_end_is_named() {
    let folder = Folder::new();
    let hop =
        "synth --rate 4Mbps --lldu 500B --duration 6s --decode-delay 1ms --rtt 20ms -o hop.csv";
    tmt(hop).within(&folder).run().ok();
    let run = "tcp --link synthetic --rate 50Mbps --rtt 20ms --flows 80 --cc newreno --terrestrial-trace hop.csv \
               --terrestrial-queue fq-codel --duration 5s --packets log.csv";
    tmt(run).within(&folder).run().ok();
    let audit = "audit log.csv --terrestrial-trace hop.csv --json";
    let whole = tmt(audit).within(&folder).run().ok();
    assert_eq!(whole.results()["not_recomputed"], serde_json::json!([]));
    assert!(!whole.stderr.contains("recomputed"), "{}", whole.stderr);
    // A departure from the hop 1.1 ms later: some are found, of others the log allows no more to be said.
    let log = folder.read("log.csv");
    let lines: Vec<&str> = log.lines().collect();
    let head = lines
        .iter()
        .position(|line| line.starts_with("flow,"))
        .unwrap();
    let column = lines[head]
        .split(',')
        .position(|name| name == "enqueued_s")
        .unwrap();
    let mut named = 0;
    for at in (head + 1..lines.len() - 1).step_by(150) {
        let mut fields: Vec<String> = lines[at].split(',').map(str::to_owned).collect();
        let Ok(left) = fields[column].parse::<f64>() else {
            continue;
        };
        fields[column] = format!("{:.9}", left + 0.0011);
        let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        changed[at] = fields.join(",");
        folder.write("log.csv", changed.join("\n") + "\n");
        let found = tmt(audit).within(&folder).run();
        assert_eq!(found.code, Some(1), "{}", found.stderr);
        let document: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
        let open = &document["results"]["not_recomputed"];
        if open[0]["trace"] == "terrestrial_trace" {
            let line = open[0]["line"].as_u64().unwrap();
            let text = format!(
                "log.csv:{line}: from this packet on services by terrestrial_trace are not recomputed"
            );
            assert!(found.stderr.contains(&text), "{}", found.stderr);
            named += 1;
        }
    }
    assert!(named > 0);
}

#[test]
fn a_log_is_read_from_a_pipe_and_reported_as_json() {
    let folder = logged();
    let log = folder.read("log.csv");
    let report = tmt("audit --json --timeline timeline.csv")
        .within(&folder)
        .input(log)
        .run()
        .ok()
        .json();
    let rules = report["results"]["rules"].as_array().unwrap();
    assert!(rules.len() >= 8, "{report}");
    assert!(
        rules.iter().all(|rule| rule["checks"].as_u64() > Some(0)),
        "{report}"
    );
}

#[test]
fn a_changed_log_is_reported_at_its_line_under_the_rule_that_it_breaks() {
    let folder = logged();
    let early = |fields: &[&str]| {
        let (whole, fraction) = fields[9].split_once('.')?;
        let nanos = format!("{:09}", fraction.parse::<u64>().ok()?.checked_sub(1)?);
        Some(with(fields, 9, &format!("{whole}.{nanos}")))
    };
    let delivered =
        |fields: &[&str]| (fields[10] == "delivered" && !fields[11].is_empty()).then_some(());
    let cases: [(&str, String); 9] = [
        ("early", changed(&folder, early)),
        (
            "early",
            changed(&folder, |fields| {
                // A packet that the link lost is logged as delivered.
                (fields[10] == "link").then_some(())?;
                Some(
                    [&fields[..9], &[fields[6], "delivered", ""], &[fields[6]; 5]]
                        .concat()
                        .join(","),
                )
            }),
        ),
        (
            "slots",
            changed(&folder, |fields| {
                let first = fields[7].parse::<u64>().ok()?.checked_sub(1)?;
                Some(with(fields, 7, &first.to_string()))
            }),
        ),
        (
            "causality",
            changed(&folder, |fields| Some(with(fields, 2, "2"))),
        ),
        (
            "queue",
            changed(&folder, |fields| {
                // The first packet finds an empty queue.
                Some(
                    [&fields[..5], &["", "", "", "", "", "queue", ""], &[""; 5]]
                        .concat()
                        .join(","),
                )
            }),
        ),
        (
            "acked",
            changed(&folder, |fields| {
                delivered(fields)?;
                Some(with(fields, 11, fields[9]))
            }),
        ),
        (
            "form",
            changed(&folder, |fields| Some(with(fields, 4, "soon"))),
        ),
        (
            "parts",
            changed(&folder, |fields| {
                // Serialisation and wait are swapped, so the sum is right.
                delivered(fields)?;
                let fields = [&fields[..14], &[fields[15], fields[14]], &fields[16..]].concat();
                Some(fields.join(","))
            }),
        ),
        (
            "story",
            changed(&folder, |fields| {
                delivered(fields)?;
                Some(with(fields, 4, fields[9]))
            }),
        ),
    ];
    for (rule, log) in cases {
        folder.write("changed.csv", &log);
        let ran = tmt("audit --timeline timeline.csv changed.csv")
            .within(&folder)
            .run();
        assert_eq!(ran.code, Some(1), "{rule}: a changed log passes");
        let ran = ran.says(&[
            "tmt audit: changed.csv:",
            "rules are broken",
            &format!(": {rule}: "),
        ]);
        assert!(ran.text().ends_with("rules are broken\n"));
    }
}

#[test]
fn a_cut_log_is_detected_wherever_it_is_cut() {
    let folder = logged();
    let log = folder.read("log.csv");
    for length in (0..log.len() - 1).step_by(log.len() / 97) {
        let ran = tmt("audit").input(&log.as_bytes()[..length]).run();
        assert_eq!(
            ran.code,
            Some(1),
            "cut after {length} bytes:\n{}",
            ran.text()
        );
    }
    let rows: Vec<&str> = log.lines().collect();
    let end = rows.len() - 1;
    let missing = [&rows[..end - 5], &rows[end - 4..]].concat().join("\n") + "\n";
    tmt("audit").input(missing).run().fails(1, &[]);
}

#[test]
fn another_timeline_than_that_of_the_run_is_detected() {
    let folder = logged();
    tmt("apply --scheme arq -o other.csv phy.csv")
        .within(&folder)
        .run()
        .ok();
    tmt("audit --timeline other.csv log.csv")
        .within(&folder)
        .run()
        .fails(1, &["rules are broken"]);
    tmt("audit --timeline no-such.csv log.csv")
        .within(&folder)
        .run()
        .fails(1, &["no-such.csv: No such file or directory"]);
}

/// No rule can tell every change: the end line has the number of rows and a checksum of all before it. Logs of version 1 have
/// none.
#[test]
fn every_change_of_a_log_is_noticed_and_version_1_is_still_read() {
    let folder = Folder::new();
    folder.write("phy.csv", trace(3000, 9));
    tmt("tcp --link coupled --scheme arq --packets packets.csv --slots slots.csv phy.csv")
        .within(&folder)
        .run()
        .ok();
    let (packets, slots) = (folder.read("packets.csv"), folder.read("slots.csv"));
    let audit = |packets: &str, slots: &str| {
        folder.write("p.csv", packets);
        folder.write("s.csv", slots);
        tmt("audit --slots s.csv p.csv").within(&folder).run()
    };
    audit(&packets, &slots).ok();
    // Without its last row, and an end line that knows it.
    let cut = |log: &str| {
        let (before, end) = log.trim_end().rsplit_once('\n').unwrap();
        let (before, _) = before.rsplit_once('\n').unwrap();
        let rows = before.lines().filter(|line| !line.starts_with('#')).count();
        format!(
            "{before}\n{}\n",
            end.replace(&format!("rows={rows}"), &format!("rows={}", rows - 1))
        )
    };
    let sets = |log: &str, key: &str, value: &str| {
        let line = log
            .lines()
            .find(|line| line.starts_with(&format!("# {key}: ")))
            .unwrap();
        log.replace(line, &format!("# {key}: {value}"))
    };
    let end = |log: &str| log.replace(" crc32=", " crc32=0");
    for (packets, slots) in [
        (cut(&packets), slots.clone()),
        (packets.clone(), cut(&slots)),
        (
            sets(&packets, "scheme", "harq:4/7"),
            sets(&slots, "scheme", "harq:4/7"),
        ),
        (
            sets(&packets, "packet_bytes", "1501"),
            sets(&slots, "packet_bytes", "1501"),
        ),
        (sets(&packets, "command", "tmt"), slots.clone()),
        (end(&packets), slots.clone()),
        (packets.clone(), end(&slots)),
    ] {
        audit(&packets, &slots).fails(1, &[": form: found '# end: rows="]);
    }
    // The same logs as before there were checksums, in which a codeword of ARQ must still be one unit.
    let (packets, slots) = (version_1(&packets), version_1(&slots));
    audit(&packets, &slots).ok();
    let rows: Vec<&str> = slots
        .lines()
        .filter(|line| line.contains(",data,"))
        .collect();
    for (place, step) in [(20, 1), (20, -1), (40, 1), (63, -1)] {
        let mut fields: Vec<String> = rows[place].split(',').map(str::to_owned).collect();
        fields[6] = (fields[6].parse::<i64>().unwrap() + step).to_string();
        audit(&packets, &slots.replace(rows[place], &fields.join(",")))
            .fails(1, &["s.csv:", "repeats"]);
    }
    let repair = rows[20].replace(",data,", ",repair,");
    audit(&packets, &slots.replace(rows[20], &repair)).fails(1, &["s.csv:"]);
}
