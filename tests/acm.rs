//! `tmt synth --acm` at the command line. What it does is checked in tmt-core, slot by slot.

use crate::common::{Folder, plain, project, tmt};

const SYNTH: &str = "synth --scenario internet-interleaved --es-n0 10dB --duration 20s --acm";

/// The value of a key of a head.
fn value<'a>(text: &'a str, key: &str) -> &'a str {
    let prefix = format!("# {key}: ");
    text.lines()
        .find_map(|line| line.strip_prefix(&prefix))
        .unwrap()
}

#[test]
fn the_number_of_jobs_changes_no_byte() {
    let run = |jobs: &str| {
        let run = tmt(SYNTH)
            .arg("dvb-s2,margin=2dB,average=500ms")
            .arg_list(jobs);
        run.run().ok()
    };
    let expected = run("--jobs 1");
    for jobs in ["--jobs 2", "--jobs 7"] {
        let found = run(jobs);
        assert!(found.stdout == expected.stdout, "{jobs}");
    }
    expected.says(&["bit/symbol, mean over time", "changes of MODCOD"]);
}

#[test]
fn the_head_has_the_mean_rate_and_every_setting() {
    let ran = tmt(SYNTH).arg("dvb-s2,margin=2dB").run().ok();
    let rows = ran
        .text()
        .lines()
        .filter(|line| !line.starts_with(['#', 't']))
        .count();
    let rate: f64 = value(ran.text(), "rate_bps").parse().unwrap();
    #[expect(clippy::cast_precision_loss, reason = "a few thousand rows")]
    let carried = rows as f64 * 264.0 / 20.0;
    assert!((carried / rate - 1.0).abs() < 0.01, "{carried} {rate}");
    let stage = value(ran.text(), "stage");
    let settings = "--acm dvb-s2,margin=2dB,delay=500ms,average=0s,period=10ms,hysteresis=0dB";
    assert!(stage.ends_with(settings), "{stage}");
}

#[test]
fn one_modcod_is_the_scenario_with_its_code_and_rate() {
    // 2.63 Mbps at 2/3 bit/symbol, one slot in ten; each modulation by its own mutual information.
    for (code, rate, link_rate) in [
        ("qpsk-1/2", "390104", "3901040bps"),
        ("8psk-3/5", "702206", "7022060bps"),
        ("16apsk-2/3", "1040376", "10403760bps"),
    ] {
        let adapted = tmt(SYNTH).arg(format!("dvb-s2:{code}")).run().ok();
        assert_eq!(value(adapted.text(), "rate_bps"), rate, "{code}");
        let fixed = "synth --scenario internet-interleaved --es-n0 10dB --duration 20s";
        let flags = format!("--code dvb-s2:{code} --rate {link_rate}");
        let fixed = tmt(fixed).arg_list(&flags).run().ok();
        assert!(plain(adapted.text()) == plain(fixed.text()), "{code}");
    }
}

#[test]
fn a_table_from_a_file_is_in_the_head_instead_of_its_name() {
    let folder = Folder::new();
    folder.write(
        "table.csv",
        "# two\nname,efficiency_bit_per_symbol,threshold_es_n0_db,code\n\
         high,2.228124,7.91,dvb-s2:8psk-3/4\nlow,0.490243,-2.35,dvb-s2:qpsk-1/4\n",
    );
    let first = tmt(SYNTH)
        .arg("table.csv,margin=0dB")
        .within(&folder)
        .run()
        .ok();
    let stage = value(first.text(), "stage").to_owned();
    assert!(!stage.contains("table.csv"), "{stage}");
    let (_, acm) = stage.rsplit_once("--acm ").unwrap();
    let again = tmt(SYNTH).arg(acm).run().ok();
    assert_eq!(first.text(), again.text());
    folder.write(
        "bad.csv",
        "name,efficiency_bit_per_symbol,threshold_es_n0_db,code\na,1,x,dvb-s2:qpsk-1/4\n",
    );
    tmt(SYNTH)
        .arg("bad.csv")
        .within(&folder)
        .run()
        .fails(2, &["bad.csv: line 2: found 'x', expected an Es/N0 in dB"]);
}

#[test]
fn what_cannot_be_adapted_is_refused() {
    tmt("synth --scenario barakat --acm dvb-s2").run().fails(
        2,
        &["--acm: found scenario barakat, whose channel has no Es/N0"],
    );
    for (acm, words) in [
        ("dvb-s3", "unknown table of MODCODs 'dvb-s3'"),
        ("dvb-s2,margin=1", "from 0dB to 40dB"),
        ("dvb-s2,period=1us", "at least 100us"),
    ] {
        tmt(SYNTH).arg(acm).run().fails(2, &[words]);
    }
    tmt("synth --acm dvb-s2").run().fails(2, &["--scenario"]);
}

/// The tables of docs/acm.md are those that the study made.
#[test]
fn the_page_has_the_tables_of_its_study() {
    let read = |path: &str| std::fs::read_to_string(project(path)).unwrap();
    let (page, table) = (read("docs/acm.md"), read("fixtures/studies/acm/table.md"));
    assert!(table.lines().count() > 50 && page.contains(&table));
}
