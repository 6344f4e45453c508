//! Tables of other programs at the command line: with other columns and units, without a head, and what pandas, Polars, pyarrow and
//! DuckDB write.

use std::process::Command;

use crate::common::{Folder, plain, project, skipped, tmt, trace};

/// A trace as text, the rows of every file of `fixtures/formats`.
fn fixture_text() -> String {
    let row = |j: u64| {
        let delay = if j % 3 == 2 { 0 } else { 7 + j };
        format!("{},{delay},{}\n", 1000 * j, 1 + j % 2)
    };
    let rows: String = (0..10).map(row).collect();
    format!("tx_time_ns,decode_delay_ns,attempts\n{rows}")
}

#[test]
fn tables_of_other_programs_give_the_bytes_of_the_text() {
    let apply = "apply --scheme arq --rtt 1us";
    let stats = "stats --json";
    let text = fixture_text();
    let expected = [apply, stats].map(|command| tmt(command).input(&*text).run().ok().stdout);
    let mapping = "--columns tx=time_ns,delay=d_ns,erased=lost,attempts=tries";
    let missing = "3 rows without a delay";
    let zero = "timestamps count from the first row";
    let ignored = "column snr_db ignored";
    for (name, flags, notes) in [
        ("crowded.arrows", "", &["columns int32, string,", "…"][..]),
        ("crowded.parquet", "", &["columns int32, string,", "…"]),
        ("duckdb.parquet", "", &[]),
        ("lz4.feather", "", &[]),
        ("polars.arrow", "", &["column word ignored"]),
        ("polars.parquet", "", &["column word ignored"]),
        ("zstd.feather", "", &["ignored"]),
        ("unit-duckdb.parquet", "", &[]),
        ("unit-durations.feather", "", &[missing]),
        ("unit-nan.parquet", "", &[missing]),
        ("unit-nan.parquet", "--unit us", &[missing]),
        ("unit-pandas.csv", "", &[missing]),
        ("unit-pandas.feather", "", &[]),
        ("unit-polars.arrow", "", &[]),
        ("unit-polars.csv", "", &[missing]),
        ("unit-timestamps.arrow", "", &[missing, zero]),
        ("unit-timestamps.parquet", "", &[missing, zero]),
        ("foreign.arrow", mapping, &[ignored]),
        ("foreign.csv", mapping, &[ignored]),
        ("foreign.parquet", mapping, &[ignored]),
    ] {
        let file = project("fixtures/formats").join(name);
        for (command, expected) in [apply, stats].into_iter().zip(&expected) {
            let run = || tmt(command).arg_list(flags);
            let ran = run().arg(&file).run().ok().says(notes);
            assert!(ran.stdout == *expected, "{command} {flags} {name}");
            for word in ["without a delay", "timestamps", "ignored"] {
                let expected = notes
                    .iter()
                    .any(|note| note.contains(word) || note.contains("columns"));
                assert!(
                    expected || !ran.stderr.contains(word),
                    "{name}: {}",
                    ran.stderr
                );
            }
            let piped = run().input(std::fs::read(&file).unwrap()).run().ok();
            assert!(piped.stdout == *expected, "{command} {flags} {name}, piped");
        }
    }
}

#[test]
fn erasures_without_times_get_them_from_an_interval_or_a_rate() {
    let lost = [0, 1, 0, 0, 1];
    let list = lost.map(|lost| format!("{lost}\n")).concat();
    let words = lost.map(|lost| if lost == 1 { "true" } else { "False" });
    let table = words.map(|lost| format!("-3.5;{lost}\n")).concat();
    let table = format!("snr;lost\n{table}");
    // By hand: row i at i * 10 ms; and slot i of 1500 B at 1 Mbps at i * 12 ms.
    for (flags, period) in [("--interval 10ms", 10), ("--rate 1Mbps --lldu 1500B", 12)] {
        let rows = lost.iter().enumerate().map(|(at, lost)| {
            let delay = if *lost == 1 { "0" } else { "0.036000000" };
            format!("0.{:03}000000,{delay},1\n", at * period)
        });
        let rows: String = rows.collect();
        let expected = format!("tx_time,decode_delay,attempts\n{rows}");
        for (columns, input) in [
            ("erased=1,delay=36ms", &list),
            ("erased=lost,delay=36ms", &table),
        ] {
            let run = tmt("apply --no-head --scheme none --columns").arg(columns);
            let ran = run.arg_list(flags).input(&**input).run().ok();
            assert_eq!(ran.text(), expected, "{flags} {columns}");
        }
    }
    // Rows keep their numbers across the pieces in which a long list is read.
    let long: String = (0..300_000)
        .map(|at| if at % 7 == 3 { "1\n" } else { "0\n" })
        .collect();
    let run = tmt("stats --json --columns erased=1,interval=1ms").input(long);
    let stats = run.run().ok().says(&["no column of delays"]).results();
    assert_eq!(stats["slots_erased"], (300_000 - 4) / 7 + 1);
    assert_eq!(stats["last_s"], 299.999);
    assert_eq!(stats["longest_slot_period_s"], 0.001);
}

#[test]
fn without_a_head_there_are_only_header_and_rows() {
    let synth = "synth --rate 264kbps --lldu 33B --duration 3ms --decode-delay 1ms";
    let ran = tmt(synth).arg("--no-head").run().ok();
    let rows = "0.000000000,0.001000000\n0.001000000,0.001000000\n0.002000000,0.001000000\n";
    assert_eq!(ran.text(), format!("tx_time,decode_delay\n{rows}"));
    let folder = Folder::new();
    folder.write("phy.csv", trace(50, 7));
    for (command, form) in [
        ("inject --bernoulli 0", "csv"),
        ("apply --scheme arq", "arrow"),
    ] {
        let run = |flags: &str, name: &str| {
            let run = tmt(command)
                .arg_list(flags)
                .arg("phy.csv")
                .arg("-o")
                .arg(name);
            run.within(&folder).run().ok();
            let again = tmt("inject --bernoulli 0 --seed 2 --no-head --allow-cut").arg(name);
            again.within(&folder).run().ok().stdout
        };
        let (bare, headed) = (format!("bare.{form}"), format!("headed.{form}"));
        assert_eq!(run("--no-head", &bare), run("", &headed));
        let has_tool = |name: &str| {
            let bytes = folder.bytes(name);
            bytes.windows(4).any(|window| window == b"tool")
        };
        assert!(!has_tool(&bare) && has_tool(&headed));
    }
}

#[test]
fn a_run_reads_a_foreign_table_too() {
    let folder = Folder::new();
    folder.write("phy.csv", trace(3000, 9));
    let run = tmt("apply --scheme arq phy.csv -o line.csv");
    run.within(&folder).run().ok();
    let line = plain(&folder.read("line.csv"));
    let foreign = line.replacen("tx_time,decode_delay,attempts", "when,late,tries", 1);
    folder.write("foreign.csv", foreign);
    folder.write("plain.csv", line);
    let run = |arguments: &str| {
        let run = tmt("tcp --json --cc cubic --rtt 20ms --duration 2s").arg_list(arguments);
        run.within(&folder).run().ok().results()
    };
    let expected = run("plain.csv");
    assert!(run("foreign.csv --columns tx=when,delay=late,attempts=tries") == expected);
}

#[test]
fn wrong_mappings_are_refused_with_what_is_expected() {
    let table = "time,lost\n0,0\n1,2\n";
    let columns = "pairs such as tx=time,erased=lost";
    for (flags, code, words) in [
        ("--columns tx", 2, &[columns][..]),
        ("--columns tx=a,tx=b", 2, &[columns]),
        ("--columns snr=a", 2, &[columns]),
        ("--columns tx=a,interval=1ms", 2, &[columns]),
        (
            "--columns erased=lost,delay=0ms",
            2,
            &["a delay above zero"],
        ),
        (
            "--columns tx=time,delay=36ms",
            2,
            &["expected erased=COLUMN beside one delay of all received slots"],
        ),
        (
            "--columns tx=time --interval 1ms",
            2,
            &["--interval cannot be combined"],
        ),
        ("--interval 0ms", 2, &["--interval: found 0"]),
        ("--rate 1Mbps", 2, &["--lldu"]),
        (
            "--columns tx=when,erased=lost",
            1,
            &["found 'time,lost', expected a column when"],
        ),
        (
            "--columns tx=time",
            1,
            &["expected a column decode_delay", "--columns"],
        ),
        (
            "--columns tx=time,erased=lost",
            1,
            &[":3:3: found erased '2', expected 0 or 1"],
        ),
    ] {
        let refused = tmt("stats").arg_list(flags).input(table).run();
        refused.fails(code, words);
    }
    let named = "tx_time_ms,decode_delay\n0,1\n";
    let refused = tmt("stats --unit s").input(named).run();
    refused.fails(1, &["found unit s for a column whose name says ms"]);
    // The unit of integers in a foreign table is not assumed.
    let file = project("fixtures/formats/foreign.parquet");
    let refused = tmt("stats --columns tx=tries,delay=d_ns").arg(file).run();
    refused.fails(1, &["tx_time: found numbers without a unit", "--unit"]);
}

#[test]
fn times_of_a_trace_are_not_replaced_by_an_interval_or_a_rate() {
    let either = "expected either times in the table, or an interval or a rate";
    let folder = Folder::new();
    folder.write("table.csv", "lost,tx_time_ms\n0,10\n1,30\n");
    folder.write("headless.csv", "# tool: x\n0,0.036\n0.03,0\n");
    tmt("apply --scheme none -o head.parquet")
        .input(trace(20, 7))
        .within(&folder)
        .run()
        .ok();
    for (spacing, given) in [
        ("--interval 10ms", "beside an interval"),
        ("--rate 1Mbps --lldu 1500B", "beside a rate"),
    ] {
        for (name, times) in [
            (
                "table.csv --columns erased=lost",
                "csv:1:6: found the column tx_time_ms",
            ),
            (
                "headless.csv",
                "found the head of a trace, whose rows have times,",
            ),
            ("head.parquet", "found the column tx_time_ns"),
        ] {
            for command in ["stats", "apply --scheme none"] {
                let run = tmt(command).arg_list(name).arg_list(spacing);
                let refused = run.within(&folder).run();
                refused.fails(1, &[times, given, either]);
            }
        }
    }
    let run = tmt("tcp --cc cubic --rtt 20ms table.csv");
    let run = run.arg_list("--columns erased=lost,interval=1ms");
    run.within(&folder)
        .run()
        .fails(1, &["found the column tx_time_ms", either]);
}

#[test]
fn erasures_are_read_as_other_programs_write_them() {
    let expected = tmt("stats --json").input("0,0.001\n1,0\n2,0.001\n").run();
    let expected = expected.ok();
    for (no, yes) in [
        ("0", "1"),
        ("0.0", "1.0"),
        ("-0.0", "1."),
        ("false", "TRUE"),
        ("+0", "1e0"),
    ] {
        let table = format!("0,0.001,{no}\n1,0.001,{yes}\n2,0.001,{no}\n");
        let run = tmt("stats --json --columns erased=3,delay=2").input(table);
        assert_eq!(run.run().ok().text(), expected.text(), "{no} {yes}");
    }
    for wrong in ["0.5", "2.0", "-1", "x", "nan"] {
        let run = tmt("stats --columns erased=3,delay=2").input(format!("0,0.001,{wrong}\n"));
        let found =
            format!("<stdin>:1:9: found erased '{wrong}', expected 0 or 1, or false or true");
        run.run().fails(1, &[&found]);
    }
    // One column may be both: a delay of 1 s is an erasure here, one of 0 a slot without a delay.
    let run = tmt("stats --json --columns delay=2,erased=2").input("0,1\n1,0\n");
    assert_eq!(run.run().ok().results()["slots_erased"], 2);
}

/// A Python with pandas, polars, pyarrow and DuckDB: `$TMT_PYTHON`, or python3.
#[expect(clippy::disallowed_methods, reason = "where the tools of a test are")]
fn python() -> Option<String> {
    let python = std::env::var("TMT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let imports = "import pandas, polars, pyarrow.feather, duckdb";
    let check = Command::new(&python).args(["-c", imports]).output();
    let is_there = check.is_ok_and(|check| check.status.success());
    if !is_there {
        let lacks = "has no pandas, polars, pyarrow and duckdb; TMT_PYTHON names another";
        skipped(&format!("{python} {lacks}"));
    }
    is_there.then_some(python)
}

/// Slots of the trace that those libraries read.
const SLOTS: u32 = 70_000;

/// Reads every form with every library and writes it back.
const ROUND_TRIPS: &str = r##"
import duckdb, pandas, polars, pyarrow as pa, pyarrow.feather as feather, pyarrow.parquet as parquet
for name in ["x.arrow", "x.feather", "x.ipc"]:
    pandas.read_feather(name).to_feather("pandas-" + name)
    polars.read_ipc(name).write_ipc("polars-" + name)
    assert polars.scan_ipc(name).select(polars.len()).collect().item() == 70000
    feather.write_feather(feather.read_table(name), "pyarrow-" + name)
    held = feather.read_table(name)
    duckdb.sql(f"copy (select * from held) to 'duckdb-{name}.parquet' (format parquet)")
with pa.ipc.open_stream("x.arrows") as stream:
    held = stream.read_all()
with pa.ipc.new_stream("pyarrow-x.arrows", held.schema) as stream:
    stream.write_table(held)
polars.read_ipc_stream("x.arrows").write_ipc_stream("polars-x.arrows")
pandas.read_parquet("x.parquet").to_parquet("pandas-x.parquet")
polars.read_parquet("x.parquet").write_parquet("polars-x.parquet")
parquet.write_table(parquet.read_table("x.parquet"), "pyarrow-x.parquet")
duckdb.sql("copy (select * from 'x.parquet') to 'duckdb-x.parquet' (format parquet)")
pandas.read_csv("x.csv", comment="#").to_csv("pandas-x.csv", index=False)
polars.read_csv("x.csv", comment_prefix="#").write_csv("polars-x.csv")
assert held["decode_delay_ns"].null_count == 70000 // 97
assert [str(field.type) for field in held.schema] == ["int64", "int64", "int64"]
"##;

#[test]
fn other_programs_open_what_is_written_and_their_files_give_the_same_bytes() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    for name in [
        "x.csv",
        "x.arrow",
        "x.feather",
        "x.ipc",
        "x.arrows",
        "x.parquet",
    ] {
        let run = tmt("apply --scheme none -o").arg(name);
        run.input(trace(SLOTS, 97)).within(&folder).run().ok();
    }
    let written = Command::new(python)
        .args(["-c", ROUND_TRIPS])
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&written.stderr);
    assert!(written.status.success(), "{errors}");
    // Their files have no head, or one without an end line.
    folder.write("plain.csv", plain(&folder.read("x.csv")));
    let apply = |name: &str| {
        let run = tmt("apply --scheme harq:10/12 --rtt 20ms --allow-cut").arg(name);
        plain(run.within(&folder).run().ok().text())
    };
    let expected = apply("plain.csv");
    let names = folder.names();
    let theirs: Vec<_> = names.iter().filter(|name| name.contains("-x.")).collect();
    assert_eq!(theirs.len(), 20, "{theirs:?}");
    for name in theirs {
        assert!(apply(name) == expected, "{name}");
    }
}
