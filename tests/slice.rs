//! `tmt slice` at the command line: flags, heads, refusals. The transformation is tested in tmt-core.

use crate::common::{Folder, plain, tmt, trace};

/// A folder with `phy.csv`: 2000 slots of a link of 2.63 Mbps, every ninth erased, with a seed in the head.
fn folder() -> Folder {
    let folder = Folder::new();
    let synth = "synth --rate 2.63Mbps --lldu 33B --duration 0.2s --decode-delay 36ms --rtt 500ms --interleaver 36ms";
    let slots = tmt(synth).run().ok().stdout;
    tmt("inject --bernoulli 0.2 --seed 5 -o phy.csv")
        .input(slots)
        .within(&folder)
        .run()
        .ok();
    folder
}

/// A head without the lines that say what slices were made.
fn without_slices(text: &str) -> String {
    let kept = text
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("# stage: tmt slice"));
    kept.collect()
}

/// The value of a key of a head.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let prefix = format!("# {key}: ");
    text.lines().find_map(|line| line.strip_prefix(&prefix))
}

#[test]
fn ten_users_merge_into_their_link_in_every_format() {
    let folder = folder();
    let link = folder.read("phy.csv");
    for extension in ["csv", "csv.gz", "arrow", "arrows", "arrow.zst", "parquet"] {
        let mut merge = tmt("slice --merge").within(&folder);
        for user in (0..10).rev() {
            let share = format!("slice --every 10 --offset {user} phy.csv -o {user}.{extension}");
            tmt(&share).within(&folder).run().ok();
            merge = merge.arg(format!("{user}.{extension}"));
        }
        let merged = merge.run().ok();
        assert_eq!(without_slices(merged.text()), link, "{extension}");
        assert_eq!(value(merged.text(), "rate_bps"), Some("2630000"));
        assert_eq!(merged.text().matches("# stage: tmt slice").count(), 11);
    }
}

#[test]
fn a_share_has_its_share_of_the_rate_whole_or_not() {
    let folder = folder();
    let rate = |flags: &str| {
        let ran = tmt("slice phy.csv")
            .arg_list(flags)
            .within(&folder)
            .run()
            .ok();
        (
            value(ran.text(), "rate_bps")
                .unwrap()
                .parse::<u64>()
                .unwrap(),
            ran.stderr,
        )
    };
    let (tenth, said) = rate("--every 10 --offset 3");
    assert_eq!(tenth, 263_000);
    assert!(!said.contains("rate_bps"), "{said}");
    let sevenths = (0..7).map(|user| rate(&format!("--every 7 --offset {user}")));
    let sevenths: Vec<(u64, String)> = sevenths.collect();
    assert_eq!(
        sevenths.iter().map(|(rate, _)| rate).sum::<u64>(),
        2_630_000
    );
    assert!(
        sevenths
            .iter()
            .all(|(_, said)| said.contains("2630000 is not a multiple of 7"))
    );
    assert_eq!(rate("--rows 5..9").0, 2_630_000);
}

#[test]
fn what_is_cut_and_concatenated_is_the_trace() {
    let folder = folder();
    for (one, other) in [
        ("--until 71ms", "--from 71ms"),
        ("--rows ..1000", "--rows 1000.."),
    ] {
        for (flags, name) in [(one, "one.arrow"), (other, "other.csv.zst")] {
            let run = tmt("slice phy.csv -o").arg(name).arg_list(flags);
            run.within(&folder).run().ok();
        }
        for gap in ["", "--gap keep"] {
            let both = tmt("slice one.arrow other.csv.zst").arg_list(gap);
            let both = both.within(&folder).run().ok();
            assert_eq!(
                without_slices(both.text()),
                folder.read("phy.csv"),
                "{one} {gap}"
            );
        }
    }
}

#[test]
fn a_piece_that_was_moved_follows_at_the_spacing_of_the_slots() {
    let folder = folder();
    tmt("slice --rows 10..12 --rebase phy.csv -o piece.csv")
        .within(&folder)
        .run()
        .ok();
    let times = |flags: &str| {
        let ran = tmt("slice piece.csv piece.csv")
            .arg_list(flags)
            .within(&folder)
            .run()
            .ok();
        let rows = ran
            .text()
            .lines()
            .filter(|line| !line.starts_with(['#', 't']));
        rows.map(|row| row.split(',').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    // 264 bits at 2.63 Mbps take 100380.2 ns; slots start at whole ns.
    assert_eq!(
        times(""),
        ["0.000000000", "0.000100381", "0.000200761", "0.000301142"]
    );
    assert_eq!(
        times("--gap 1s"),
        ["0.000000000", "0.000100381", "1.000100381", "1.000200762"]
    );
    tmt("slice --gap keep piece.csv piece.csv")
        .within(&folder)
        .run()
        .fails(1, &["piece.csv", "found 0.000000000 s after 0.000100381 s"]);
    let bare = plain(&folder.read("piece.csv"));
    folder.write("bare.csv", bare);
    tmt("slice bare.csv bare.csv")
        .within(&folder)
        .run()
        .fails(2, &["rate_bps and lldu_bytes", "--gap"]);
}

#[test]
fn heads_of_different_links_are_refused_key_by_key() {
    let folder = folder();
    tmt("slice --every 2 phy.csv -o half.csv")
        .within(&folder)
        .run()
        .ok();
    let other = folder
        .read("half.csv")
        .replace("# rtt_ns: 500000000", "# rtt_ns: 30");
    folder.write("other.csv", other);
    let words = [
        "other.csv: rate_bps: found 1315000, expected 2630000; rtt_ns: found 30, expected 500000000, as in phy.csv",
        "--take-head first",
    ];
    let run = |command: &str| tmt(command).within(&folder).run();
    run("slice phy.csv other.csv -o no.csv").fails(1, &words);
    run("slice --merge phy.csv other.csv").fails(1, &["rtt_ns: found 30"]);
    assert!(!folder.names().contains(&"no.csv".to_owned()));
    let taken = run("slice --take-head first other.csv phy.csv").ok();
    assert_eq!(value(taken.text(), "rtt_ns"), Some("30"));
    let merged = run("slice --take-head first --merge phy.csv other.csv").ok();
    assert_eq!(value(merged.text(), "rate_bps"), Some("3945000"));
    merged.says(&["at the time of a slot of another trace"]);
}

#[test]
fn a_slice_without_slots_is_refused_and_not_written() {
    let folder = folder();
    let names = folder.names();
    for (flags, words) in [
        ("--from 1s", "--from 1s"),
        ("--rows 5000..", "--rows 5000.."),
        ("--every 4000 --offset 3999", "--every 4000 --offset 3999"),
        ("--from 100us --until 100001ns", "--until 100.001us"),
    ] {
        let run = || tmt("slice phy.csv").arg_list(flags).within(&folder);
        let expected = [
            "phy.csv: found no slot with",
            words,
            "rows 0 to 1992 are from 0.000000000 s to 0.199957414 s",
        ];
        run().arg("-o").arg("none.csv").run().fails(1, &expected);
        assert_eq!(folder.names(), names);
        for format in ["csv", "csv.gz", "arrow", "arrows", "parquet"] {
            let ran = run().arg("--format").arg(format).run().fails(1, &expected);
            assert!(ran.stdout.is_empty(), "{flags} {format}");
        }
    }
}

#[test]
fn a_timeline_can_be_moved_but_not_cut() {
    let folder = folder();
    tmt("apply --scheme arq,in-order --feedback-delay decode phy.csv -o timeline.csv")
        .within(&folder)
        .run()
        .ok();
    let run = |command: &str| tmt(command).within(&folder).run();
    for command in [
        "slice --every 2 timeline.csv",
        "slice --from 1ms timeline.csv",
        "slice phy.csv timeline.csv",
        "slice --merge timeline.csv phy.csv",
    ] {
        run(command).fails(
            1,
            &["timeline.csv: found a timeline", "slice the PHY trace"],
        );
    }
    // The rules of a scheme know no absolute times.
    run("slice --shift 7us timeline.csv -o later.csv").ok();
    run("slice --shift 7us phy.csv -o phy-later.csv").ok();
    let expected = run("apply --scheme arq,in-order --feedback-delay decode phy-later.csv").ok();
    let later = folder.read("later.csv");
    assert_eq!(without_slices(&later), without_slices(expected.text()));
    let back = run("slice --rebase later.csv").ok();
    assert_eq!(without_slices(back.text()), folder.read("timeline.csv"));
}

#[test]
fn a_table_without_a_head_gets_one() {
    let ran = tmt("slice --every 2 --interval 1ms --columns erased=1")
        .input("0\n1\n0\n0\n")
        .run()
        .ok();
    assert!(ran.text().starts_with("# tool: tmt "), "{}", ran.text());
    assert_eq!(
        plain(ran.text()),
        "tx_time,decode_delay\n0.000000000,0.000000001\n0.002000000,0.000000001\n"
    );
    let bare = tmt("slice --every 2 --no-head")
        .input(trace(9, 2))
        .run()
        .ok();
    assert!(!bare.text().contains('#'));
}

#[test]
fn contradictions_are_refused() {
    let folder = folder();
    for (flags, words) in [
        ("slice phy.csv", "expected --every, --from"),
        (
            "slice --every 3 --offset 3 phy.csv",
            "expected less than --every 3",
        ),
        ("slice --offset 3 phy.csv", "--every"),
        (
            "slice --from 2s --until 1s phy.csv",
            "expected a time after --from 2s",
        ),
        ("slice --rows 5..5 phy.csv", "A below B"),
        ("slice --rows .. phy.csv", "A.. or ..B"),
        ("slice --rows 5 phy.csv", "A..B"),
        ("slice --every 0 phy.csv", "from 1 to"),
        (
            "slice --rebase --shift -1s phy.csv",
            "expected zero or more",
        ),
        ("slice --every 2 phy.csv phy.csv", "expected one"),
        ("slice --merge --every 2 phy.csv", "cannot be used with"),
        (
            "slice --gap 1s --every 2 phy.csv",
            "expected several traces",
        ),
        ("slice --gap soon phy.csv phy.csv", "slot or keep"),
        ("slice - -", "more than once"),
        ("slice --every 2 phy.csv -o phy.csv", "more than once"),
    ] {
        tmt(flags).within(&folder).run().fails(2, &[words]);
    }
    tmt("slice --shift -5s phy.csv")
        .within(&folder)
        .run()
        .fails(
            1,
            &["phy.csv:11: tx_time: found 0.000000000 s, which 5s earlier is before 0"],
        );
    let rate = folder
        .read("phy.csv")
        .replace("# rate_bps: 2630000", "# rate_bps: 3");
    folder.write("slow.csv", rate);
    tmt("slice --every 4 slow.csv")
        .within(&folder)
        .run()
        .fails(1, &["slow.csv: found rate_bps 3, expected at least 4"]);
}
