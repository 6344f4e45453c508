//! `tmt synth --acm` at the command line. Tests in tmt-core check its results, slot by slot.

use tmt_core::format::Compression;
use tmt_core::format::compression::Compressor;

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
    expected.says(&[
        "bit/symbol, mean over time, at 3945000 symbols/s on the link",
        "changes of MODCOD",
        "of the decisions with Es/N0 less margin below every threshold of the table",
    ]);
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
        .fails(1, &["bad.csv: line 2: found 'x', expected an Es/N0 in dB"]);
}

/// As the other inputs: from stdin, compressed, of limited size, and never an output.
#[test]
fn a_table_is_read_like_any_input() {
    let folder = Folder::new();
    let table = "name,efficiency_bit_per_symbol,threshold_es_n0_db,code\n\
                 high,2.228124,7.91,dvb-s2:8psk-3/4\nlow,0.490243,-2.35,dvb-s2:qpsk-1/4\n";
    folder.write("table.csv", table);
    let expected = tmt(SYNTH).arg("table.csv").within(&folder).run().ok();
    let from_stdin = tmt(SYNTH).arg("-").input(table).run().ok();
    assert_eq!(from_stdin.text(), expected.text());
    let mut zipped = Vec::new();
    Compressor::new(Compression::Gzip)
        .unwrap()
        .block(table.as_bytes(), &mut zipped)
        .unwrap();
    folder.write("table.gz", &zipped);
    let compressed = tmt(SYNTH).arg("table.gz").within(&folder).run().ok();
    assert_eq!(compressed.text(), expected.text());

    let long = format!("{table}#{}\n", " ".repeat(1 << 20));
    tmt(SYNTH).arg("-").input(long).run().fails(
        1,
        &["<stdin>: found more than 1048576B of text, expected less"],
    );
    tmt(SYNTH)
        .arg("table.csv")
        .arg_list("-o table.csv")
        .within(&folder)
        .run()
        .fails(2, &["table.csv is given more than once"]);
    tmt(SYNTH)
        .arg("-")
        .arg_list("--fading-in -")
        .run()
        .fails(2, &["- is given more than once: stdin can be read once"]);
    tmt(SYNTH).arg(".").within(&folder).run().fails(1, &[".: "]);
}

#[test]
fn a_delay_beyond_the_trace_warns() {
    let warning = "--acm: every decision rests on Es/N0 at time 0, so that the MODCOD never changes: found a trace of 20s with delay=20s and period=10ms";
    let run = |acm: &str| tmt(SYNTH).arg(acm).arg_list("--quiet").run().ok();
    run("dvb-s2,delay=20s").says(&[warning]);
    for silent in ["dvb-s2,delay=19s", "dvb-s2:qpsk-1/2,delay=20s"] {
        assert_eq!(run(silent).stderr, "", "{silent}");
    }
}

/// Beside `--acm`, the code of the scenario decides the symbol rate only.
#[test]
fn a_code_beside_the_table_warns_or_is_refused() {
    let of_code = "beside --acm it decides the symbol rate only, 2659634 symbols/s here";
    for flags in ["--code dvb-s2:qpsk-1/2", "--set code=dvb-s2:qpsk-1/2"] {
        let run = tmt(SYNTH).arg("dvb-s2").arg_list(flags).run().ok();
        let flag = flags.replace("code=", "code ");
        run.says(&[of_code, &flag, "at 2659634 symbols/s"]);
        let table = "dvb-s2,symbol-rate=4000000";
        let idle = "beside which the code has no effect";
        tmt(SYNTH)
            .arg(table)
            .arg_list(flags)
            .run()
            .fails(2, &[idle]);
    }
    let run = tmt(SYNTH).arg("dvb-s2,symbol-rate=4000000").run().ok();
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    run.says(&[
        "at 4000000 symbols/s on the link",
        "; margin 1dB (default), delay 500ms (default), average 0s (default); ",
    ]);
    let run = tmt(SYNTH).arg("dvb-s2,margin=3dB").run().ok();
    run.says(&["; margin 3dB, delay 500ms (default), average 0s (default); "]);
    let folder = Folder::new();
    folder.write("curve.csv", "es_n0_db,error_rate\n-3,1\n5,1e-9\n");
    tmt(SYNTH)
        .arg("dvb-s2")
        .arg_list("--error-curve curve.csv")
        .within(&folder)
        .run()
        .fails(
            2,
            &["--error-curve: found --acm, whose MODCODs have error curves of their own"],
        );
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

/// Es/N0 as one writes it by hand, at the threshold of a MODCOD with the margin: 8PSK 3/5 from 5.5 dB on.
#[test]
fn a_modcod_is_taken_at_its_threshold() {
    let folder = Folder::new();
    let rows = (0..1500).map(|ms| format!("{:.3},6.5\n", f64::from(ms) / 1e3));
    let rows: Vec<String> = rows.collect();
    folder.write("fade.csv", format!("time_s,es_n0_db\n{}", rows.concat()));
    let ran = tmt("synth --scenario internet-interleaved --duration 1s --fading-in fade.csv --acm dvb-s2,margin=1dB,delay=0s")
        .within(&folder)
        .run()
        .ok();
    assert!(
        ran.text().contains("# rate_bps: 702206\n"),
        "{}",
        ran.stderr
    );
}
