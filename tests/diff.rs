//! `tmt diff`: what differs, in any form, and its exit codes.

use crate::common::{Folder, tmt, trace};

/// A trace in every form, and one that differs.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("phy.csv", trace(3000, 9));
    for form in tmt_core::format::FORMS.map(|(name, _)| name) {
        let ran = tmt(&format!(
            "slice phy.csv --shift 0s --format {form} -o copy.{form}"
        ));
        ran.within(&folder).run().ok();
    }
    folder
}

#[test]
fn a_trace_equals_its_copy_in_any_other_form() {
    let folder = folder();
    let forms = tmt_core::format::FORMS.map(|(name, _)| name);
    for (a, b) in forms.iter().zip(forms.iter().cycle().skip(3)) {
        let ran = tmt(&format!("diff copy.{a} copy.{b}"));
        let ran = ran.within(&folder).run().ok();
        assert!(
            ran.text().contains("all slots are equal"),
            "{a} {b}: {}",
            ran.text()
        );
    }
}

#[test]
fn the_first_difference_has_its_slot_its_lines_and_both_values() {
    let folder = folder();
    let text = folder.read("phy.csv");
    let lines: Vec<&str> = text.lines().collect();
    // Slot 2000 of a text with a line of names is in line 2002.
    let row = lines
        .iter()
        .position(|line| line.starts_with("0."))
        .unwrap()
        + 2000;
    let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let time = changed[row].split(',').next().unwrap().to_owned();
    changed[row] = format!("{time},0.5");
    folder.write("other.csv", changed.join("\n") + "\n");
    let ran = tmt("diff --json --ignore-head copy.parquet other.csv")
        .within(&folder)
        .run();
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let found = ran.results();
    assert_eq!(found["equal"], false);
    assert_eq!(found["slots_differing"], 1);
    assert_eq!(found["first"]["slot"], 2000);
    assert_eq!(found["first"]["a"]["line"], serde_json::Value::Null);
    assert_eq!(found["first"]["b"]["line"], row + 1);
    assert_eq!(found["first"]["b"]["decode_delay_s"], 0.5);
    assert_eq!(
        found["first"]["b"]["tx_time_s"],
        time.parse::<f64>().unwrap()
    );
    // From the other side, and through a pipe.
    let back = tmt("diff --json --ignore-head other.csv -")
        .input(std::fs::read(folder.path("copy.parquet")).unwrap());
    let back = back.within(&folder).run();
    assert_eq!(
        (back.code, &back.results()["first"]["a"]),
        (Some(1), &found["first"]["b"])
    );
}

#[test]
fn a_longer_trace_differs_from_where_the_other_ends() {
    let folder = folder();
    tmt("slice phy.csv --rows ..2990 -o short.csv")
        .within(&folder)
        .run()
        .ok();
    let ran = tmt("diff --json short.csv copy.arrow")
        .within(&folder)
        .run();
    assert_eq!(ran.code, Some(1));
    let found = ran.results();
    assert_eq!(
        (&found["slots_differing"], &found["first"]["slot"]),
        (&10.into(), &2990.into())
    );
    assert_eq!(found["first"]["a"], serde_json::Value::Null);
    assert_eq!(found["difference"]["slots"], 10);
}

#[test]
fn heads_decide_unless_they_say_how_a_trace_was_made_or_are_ignored() {
    let folder = Folder::new();
    let text = |tool: &str, rtt: u32| {
        format!(
            "# tool: {tool}\n# rtt_ns: {rtt}\ntx_time,decode_delay\n0,0.1\n# end: rows=1 slots=1 usable_until_ns=0\n"
        )
    };
    for (name, tool, rtt) in [("a.csv", "x", 1), ("made.csv", "y", 1), ("rtt.csv", "x", 2)] {
        folder.write(name, text(tool, rtt));
    }
    folder.write("bare.csv", "0,0.1\n");
    for (command, code, words) in [
        (
            "diff a.csv made.csv",
            0,
            "how they were made\nA tool: x\nB tool: y\n",
        ),
        ("diff a.csv rtt.csv", 1, "head\nA rtt_ns: 1\nB rtt_ns: 2\n"),
        (
            "diff a.csv rtt.csv --ignore-head",
            0,
            "head\nA rtt_ns: 1\nB rtt_ns: 2\n",
        ),
        (
            "diff a.csv bare.csv",
            1,
            "head\nA rtt_ns: 1\nB rtt_ns: none\n",
        ),
        (
            "diff a.csv bare.csv --ignore-head",
            0,
            "all slots are equal",
        ),
    ] {
        let ran = tmt(command).within(&folder).run();
        assert_eq!(ran.code, Some(code), "{command}: {}", ran.stderr);
        assert!(ran.text().contains(words), "{command}: {}", ran.text());
    }
}

#[test]
fn what_cannot_be_compared_is_no_difference() {
    let folder = folder();
    folder.write("bad.csv", "0.1,0.2\n0.2,x\n");
    folder.write("cut.csv", &folder.read("copy.csv")[..500]);
    for (command, words) in [
        ("diff phy.csv bad.csv", "bad.csv:2:5: decode_delay"),
        ("diff bad.csv phy.csv", "bad.csv:2:5: decode_delay"),
        ("diff phy.csv missing.csv", "missing.csv: "),
        ("diff cut.csv phy.csv", "--allow-cut"),
        ("diff - -", "stdin can be read once"),
        ("diff phy.csv", "<B>"),
        (
            "diff phy.csv copy.csv -o copy.csv",
            "is given more than once",
        ),
    ] {
        let ran = tmt(command).within(&folder).run().fails(2, &[words]);
        assert_eq!(ran.text(), "", "{command}");
    }
}
