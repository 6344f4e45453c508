//! `tmt sweep`: its rows equal those of the pipes, at any number of threads; plans, refusals, summaries.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::{Folder, bash, tmt};

type Row = BTreeMap<String, String>;

/// The rows of a CSV.
fn rows(folder: &Folder, name: &str) -> Vec<Row> {
    crate::common::rows(&folder.read(name))
}

/// The columns that `one` shares with a row of `tmt tcp --results`, without what only one of both has.
fn assert_same_results(sweep: &Row, pipe: &Row, what: &str) {
    let mut compared = 0;
    for (name, value) in pipe {
        if name == "scope" || name == "seed" {
            continue;
        }
        // Metrics of the link are of all flows together.
        let ours = sweep
            .get(name)
            .or_else(|| sweep.get(&format!("total_{name}")));
        if value.is_empty() && sweep.get(name).is_none() {
            continue;
        }
        assert_eq!(ours, Some(value), "{what}: {name}");
        compared += 1;
    }
    assert!(compared > 80, "{what}: {compared}");
}

/// A folder with an error-free trace and one with bursts of erasures.
fn folder() -> Folder {
    let folder = Folder::new();
    tmt("synth -q --rate 600kbps --lldu 33B --duration 30s --decode-delay 36ms --rtt 200ms -o clean.csv")
        .within(&folder)
        .run()
        .ok();
    tmt("inject -q --gilbert-elliott alpha=0.999,beta=0.9 --seed 7 -o phy.csv clean.csv")
        .within(&folder)
        .run()
        .ok();
    folder
}

#[test]
fn rows_are_those_of_the_pipe() {
    let folder = folder();
    tmt("sweep --trace phy.csv --scheme arq,in-order,harq:10/12,fec:10/12,interleave=3 --cc cubic,reno,bbr1 \
         --feedback-delay decode --flows 2 --start 0s..2s --bytes 200kB -o sweep.csv")
        .within(&folder)
        .run()
        .ok();
    let sweep = rows(&folder, "sweep.csv");
    assert_eq!(sweep.len(), 3 * 3 * 2);
    let mut cell = 0;
    for scheme in ["arq,in-order", "harq:10/12", "fec:10/12,interleave=3"] {
        tmt(&format!(
            "apply -q --scheme {scheme} --feedback-delay decode -o timeline.csv phy.csv"
        ))
        .within(&folder)
        .run()
        .ok();
        for cc in ["cubic", "reno", "bbr1"] {
            tmt(&format!(
                "tcp -q --cc {cc} --flows 2 --start 0s..2s --bytes 200kB --results pipe.csv timeline.csv"
            ))
            .within(&folder)
            .run()
            .ok();
            let pipe = rows(&folder, "pipe.csv");
            let flows = pipe.iter().filter(|row| row["scope"] == "flow");
            for (flow, row) in flows.enumerate() {
                let ours = &sweep[2 * cell + flow];
                assert_eq!(
                    (&ours["cell"], &ours["flow"]),
                    (&cell.to_string(), &flow.to_string())
                );
                assert_same_results(ours, row, &format!("{scheme} {cc}"));
            }
            let total = pipe.iter().find(|row| row["scope"] == "total").unwrap();
            assert_eq!(sweep[2 * cell]["total_goodput_bps"], total["goodput_bps"]);
            assert_eq!(
                sweep[2 * cell]["total_link_utilisation"],
                total["link_utilisation"]
            );
            cell += 1;
        }
    }
}

/// Erasures of a trace, of a channel and of a list of seeds are those of `inject` and `synth`.
#[test]
fn erasures_are_those_of_the_pipe() {
    let folder = folder();
    let channel = "gilbert-elliott:alpha=0.999,beta=0.9";
    tmt(&format!(
        "sweep --trace clean.csv --loss {channel} --seed 7 --seeds 2 --scheme harq:10/12 -o injected.csv"
    ))
    .within(&folder)
    .run()
    .ok();
    tmt(&format!(
        "sweep --channel {channel} --rate 600kbps --rtt 200ms --duration 30s --seed 7 --scheme harq:10/12 -o generated.csv"
    ))
    .within(&folder)
    .run()
    .ok();
    let pipe = |slots: &str| {
        tmt(&format!(
            "apply -q --scheme harq:10/12 -o timeline.csv {slots}"
        ))
        .within(&folder)
        .run()
        .ok();
        tmt("tcp -q --results pipe.csv timeline.csv")
            .within(&folder)
            .run()
            .ok();
        rows(&folder, "pipe.csv")
            .into_iter()
            .find(|row| row["scope"] == "flow")
            .unwrap()
    };
    let injected = rows(&folder, "injected.csv");
    let expected = pipe("phy.csv");
    assert_eq!(injected[0]["goodput_bps"], expected["goodput_bps"]);
    assert_eq!(injected[0]["packets_sent"], expected["packets_sent"]);
    tmt("inject -q --gilbert-elliott alpha=0.999,beta=0.9 --seed 8 -o other.csv clean.csv")
        .within(&folder)
        .run()
        .ok();
    assert_eq!(injected[1]["goodput_bps"], pipe("other.csv")["goodput_bps"]);
    // A generated slot of 33 B at 600 kbps is decoded after 440 us.
    tmt(&format!(
        "synth -q --rate 600kbps --lldu 33B --duration 30s --decode-delay 440us --rtt 200ms --channel {channel} --seed 7 -o synth.csv"
    ))
    .within(&folder)
    .run()
    .ok();
    assert_same_results(
        &rows(&folder, "generated.csv")[0],
        &pipe("synth.csv"),
        "generated",
    );
}

/// Every link model, starts in a trace, coupled against timeline, and seeds: as `tmt tcp` runs them.
#[test]
fn runs_without_a_transform_are_those_of_tcp() {
    let folder = folder();
    for run in [
        "--link synthetic --rate 1Mbps --rtt 50ms --duration 9s --loss bernoulli:0.01 --seeds 20 --cc reno",
        "--link coupled --scheme arq --channel bernoulli:0.02 --rate 600kbps --rtt 50ms --duration 9s --seeds 3",
        "--link synthetic --rate 1Mbps --rtt 50ms --duration 9s --flow cc=cubic --flow cc=reno,start=2s",
    ] {
        tmt(&format!("sweep {run} -o sweep.csv"))
            .within(&folder)
            .run()
            .ok();
        tmt(&format!("tcp -q {run} --results pipe.csv"))
            .within(&folder)
            .run()
            .ok();
        let (sweep, pipe) = (rows(&folder, "sweep.csv"), rows(&folder, "pipe.csv"));
        let flows: Vec<&Row> = pipe.iter().filter(|row| row["scope"] == "flow").collect();
        assert_eq!(sweep.len(), flows.len(), "{run}");
        for (ours, row) in sweep.iter().zip(flows) {
            assert_same_results(ours, row, run);
        }
    }
    // Starts within one trace.
    tmt("apply -q --scheme arq,in-order -o timeline.csv phy.csv")
        .within(&folder)
        .run()
        .ok();
    for (sweep, tcp) in [
        ("--trace timeline.csv", "timeline.csv"),
        ("--trace phy.csv --scheme arq,in-order", "timeline.csv"),
    ] {
        tmt(&format!(
            "sweep {sweep} --bytes 50kB --offsets 20 -o sweep.csv"
        ))
        .within(&folder)
        .run()
        .ok();
        tmt(&format!(
            "tcp -q --bytes 50kB --offsets 20 --results pipe.csv {tcp}"
        ))
        .within(&folder)
        .run()
        .ok();
        let flows = rows(&folder, "pipe.csv");
        let flows: Vec<&Row> = flows.iter().filter(|row| row["scope"] == "flow").collect();
        let ours = rows(&folder, "sweep.csv");
        assert_eq!((ours.len(), flows.len()), (20, 20));
        for (ours, row) in ours.iter().zip(flows) {
            assert_same_results(ours, row, sweep);
        }
    }
}

const PLAN: &str = r#"
p = [0.001, 0.01]
rate = "600kbps"
rtt = "200ms"
duration = "10s"
channel = "bernoulli:{p}"
scheme = ["arq,in-order", "harq:10/12", "fec:10/12", "harq:10/9"]
cc = ["cubic", "reno"]
seeds = 3
"#;

#[test]
fn results_do_not_depend_on_threads_and_interruptions() {
    let folder = Folder::new();
    folder.write("plan.toml", PLAN.replace(", \"harq:10/9\"", ""));
    let sweep = |more: &str, jobs: u32| {
        tmt(&format!("sweep plan.toml -j {jobs} {more}"))
            .within(&folder)
            .run()
            .ok();
    };
    sweep("-o one.parquet", 1);
    sweep("-o four.parquet", 4);
    let bytes = |name: &str| fs::read(folder.path(name)).unwrap();
    assert!(bytes("one.parquet") == bytes("four.parquet"));
    for shard in [2, 3, 1] {
        sweep(&format!("-o shards.parquet --shard {shard}/3"), 2);
    }
    assert!(!folder.path("shards.parquet").exists());
    // A line of a killed process that is cut, and a record that occurs twice.
    let part = folder.path("shards.parquet.partial/shard-1-of-3-0001.jsonl");
    let text = fs::read_to_string(&part).unwrap();
    let (first, _) = text.split_once('\n').unwrap();
    fs::write(
        &part,
        format!("{text}{first}\n{}", &first[..first.len() / 2]),
    )
    .unwrap();
    tmt("sweep plan.toml -o shards.parquet")
        .within(&folder)
        .run()
        .fails(1, &["--resume", "finished runs"]);
    tmt("sweep plan.toml --cc bbr1 -o shards.parquet --resume")
        .within(&folder)
        .run()
        .fails(
            1,
            &[
                "found another plan",
                "cc was [[\"cubic\"],[\"reno\"]] and is [[\"bbr1\"]]",
            ],
        );
    sweep("-o shards.parquet --resume", 2);
    assert!(bytes("one.parquet") == bytes("shards.parquet"));
    assert!(!folder.path("shards.parquet.partial").exists());
    let csv = |more: &str| {
        tmt(&format!("sweep plan.toml {more}"))
            .within(&folder)
            .run()
            .ok()
            .stdout
    };
    assert!(csv("-o - -j 1") == csv("-o - -j 3"));
}

#[test]
fn a_rule_for_stopping_takes_the_same_runs_always() {
    let folder = Folder::new();
    let sweep = |jobs: u32, rule: &str| {
        tmt(&format!(
            "sweep -j {jobs} --link synthetic --rate 1Mbps --rtt 100ms --duration 20s --loss bernoulli:0.001,bernoulli:0.02 \
             --seeds 40 --stop {rule} -o -"
        ))
        .within(&folder)
        .run()
        .ok()
        .stdout
    };
    let one = sweep(1, "goodput_bps:3%,min=4");
    assert!(one == sweep(4, "goodput_bps:3%,min=4"));
    folder.write("one.csv", &one);
    let counts = |name: &str| {
        let mut counts = [0, 0];
        for row in rows(&folder, name) {
            counts[row["cell"].parse::<usize>().unwrap()] += 1;
        }
        counts
    };
    let [few, many] = counts("one.csv");
    assert!(4 <= few && few < many && many <= 40, "{few} {many}");
    folder.write("all.csv", sweep(2, "goodput_bps:0.01%"));
    assert_eq!(counts("all.csv"), [40, 40]);
}

#[test]
fn cells_that_refuse_are_rows_with_the_reason() {
    let folder = folder();
    let ran = tmt("sweep --trace phy.csv --scheme arq,none --packing packet,bytes --overlap asap,shift --seeds 2 -o out.csv")
        .within(&folder)
        .run()
        .ok()
        .says(&["refused: ", "2 of 8 cells"]);
    assert!(ran.stderr.contains("--overlap"), "{}", ran.stderr);
    let rows = rows(&folder, "out.csv");
    let refused: Vec<&Row> = rows.iter().filter(|row| !row["error"].is_empty()).collect();
    assert_eq!((rows.len(), refused.len()), (6 * 2 + 2, 2));
    assert!(
        refused
            .iter()
            .all(|row| row["goodput_bps"].is_empty() && row["run"].is_empty())
    );
    assert_eq!(refused[0]["overlap"], "shift");
    let summary = tmt("summarise out.csv --by overlap --json")
        .within(&folder)
        .run()
        .ok()
        .results();
    assert_eq!(
        (&summary[1]["cells"], &summary[1]["refused"]),
        (&4.into(), &2.into())
    );
}

#[test]
fn closed_forms_are_cells_too() {
    let folder = Folder::new();
    tmt("sweep --model fec --set nd=10 --set nr=0..4 --set beta=0.5,0.9 -o fec.csv")
        .within(&folder)
        .run()
        .ok();
    let rows = rows(&folder, "fec.csv");
    assert_eq!(rows.len(), 10);
    for row in &rows {
        let point = format!(
            "model fec --json nd=10 nr={} beta={}",
            row["nr"], row["beta"]
        );
        let results = tmt(&point).run().ok().results();
        assert_eq!(row["eta"], results["result"]["eta"].to_string(), "{point}");
    }
    let text = tmt("summarise fec.csv --by nr").within(&folder).run().ok();
    assert!(text.text().contains("eta"), "{}", text.text());
}

#[test]
fn plans_that_cannot_run_are_refused() {
    let folder = folder();
    folder.write("plan.toml", PLAN);
    folder.write("small.csv", "cell,cc,goodput_bps\n1,reno,1000\n");
    for (arguments, code, words) in [
        (
            "sweep plan.toml -o x.csv",
            2,
            &["plan.toml:7:1", "harq"][..],
        ),
        ("sweep", 2, &["found nothing to run"]),
        ("sweep --cc cubik", 2, &["--cc", "did you mean 'cubic'"]),
        ("sweep --cc cubic --ccc x", 2, &["--cc"]),
        ("sweep --set x=1 --cc reno", 2, &["unknown axis x"]),
        ("sweep --loss bernoulli:1..2:0", 2, &["--loss", "values"]),
        ("sweep --loss bernoulli:0..1:log:3", 2, &["above 0"]),
        (
            "sweep --cc reno --stop goodput_bps:1%",
            2,
            &["--stop", "--seeds"],
        ),
        (
            "sweep --cc reno --rate 1Mbps,2Mbps --zip cc,rate",
            2,
            &["--zip", "equal numbers"],
        ),
        ("sweep --cc reno --resume", 2, &["--resume", "--output"]),
        (
            "sweep --cc reno --shard 4/3 -o x.csv",
            2,
            &["K from 1 to N"],
        ),
        ("sweep --trace - --scheme arq", 2, &["more than once"]),
        (
            "sweep --trace nowhere.csv --scheme arq -o x.csv",
            1,
            &["nowhere.csv"],
        ),
        ("sweep --cc reno -o x.json", 2, &["x.json"]),
        (
            "sweep --cc reno -o nowhere/x.csv",
            1,
            &["directory nowhere does not exist"],
        ),
        ("sweep --model fek", 2, &["did you mean 'fec'"]),
        ("sweep --model fec --set xx=1", 2, &["unknown axis xx"]),
        ("summarise nowhere.csv", 1, &["nowhere.csv"]),
        (
            "summarise clean.csv",
            1,
            &["clean.csv: line", "expected a table of results"],
        ),
        ("summarise small.csv --by ccc", 2, &["found no column ccc"]),
    ] {
        tmt(arguments).within(&folder).run().fails(code, words);
    }
    let left: Vec<_> = fs::read_dir(folder.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        !left
            .iter()
            .any(|name| name.to_string_lossy().starts_with('x')),
        "{left:?}"
    );
}

#[test]
fn a_dry_run_prints_the_cells_and_the_cost() {
    let ran = tmt("sweep --link synthetic --rate 1..3Mbps:3 --rtt 50ms --duration 2s --cc reno,cubic --dry-run").run().ok();
    assert_eq!(ran.text().lines().count(), 7, "{}", ran.text());
    assert!(ran.text().contains("2Mbps  cubic"), "{}", ran.text());
    assert!(
        ran.stderr.contains("6 cells, 6 runs: about"),
        "{}",
        ran.stderr
    );
}

/// The trace of the return path is read as the forward trace is.
#[test]
fn a_return_trace_in_another_unit_is_read_in_it() {
    let folder = folder();
    let rows_of = |unit: u64| -> String {
        let rows = (0..4000u64).map(|row| format!("{},{}\n", row * 5000 * unit, 36_000 * unit));
        rows.collect()
    };
    let header = "tx_time,decode_delay\n";
    folder.write("phy_us.csv", format!("{header}{}", rows_of(1)));
    folder.write("phy_ns.csv", format!("{header}{}", rows_of(1000)));
    let goodput = |unit: &str| {
        let chain = format!(
            "sweep --trace phy_{unit}.csv --unit {unit} --scheme arq --rtt 200ms --lldu 100B --return-trace \
             phy_{unit}.csv -o {unit}.csv"
        );
        tmt(&chain).within(&folder).run().ok();
        rows(&folder, &format!("{unit}.csv"))[0]["goodput_bps"].clone()
    };
    assert_eq!(goodput("us"), goodput("ns"));
    assert!(goodput("us").parse::<f64>().unwrap() > 1e4);
}

/// A process without random numbers repeats none, regardless of the seed and the order of the cells.
#[test]
fn a_list_of_losses_on_a_random_trace_does_not_depend_on_the_order_of_seeds() {
    let folder = folder();
    folder.write("list.txt", "10\n20\n30\n");
    let sweep = |seeds: &str| {
        let chain = format!(
            "sweep --trace phy.csv --scheme arq --loss list:list.txt --seed {seeds} -o {}.csv",
            seeds.replace(',', "-")
        );
        tmt(&chain).within(&folder).run().ok();
        let rows = rows(&folder, &format!("{}.csv", seeds.replace(',', "-")));
        rows.iter().all(|row| row["error"].is_empty())
    };
    // The trace was made with seed 7.
    assert!(sweep("7,8"));
    assert!(sweep("8,7"));
}

#[test]
fn names_that_would_overwrite_the_results_are_refused() {
    let folder = Folder::new();
    for name in ["run", "error", "goodput_bps", "total_delay_p95_s", "cell"] {
        let plan = format!("sweep --set {name}=1,2 --loss bernoulli:0.0{{{name}}}");
        tmt(&plan)
            .within(&folder)
            .run()
            .fails(2, &[name, "a column of the results"]);
    }
    tmt("sweep --link synthetic --rate 1Mbps --rtt 10ms --duration 1s,2s --flow cc=reno --flow cc=cubic -o flows.csv")
        .within(&folder)
        .run()
        .ok();
    let rows = rows(&folder, "flows.csv");
    assert_eq!(rows.len(), 4);
    assert_eq!(
        (&rows[1]["flow"][..], &rows[2]["duration_ns"][..]),
        ("1", "2000000000")
    );
    tmt("summarise flows.csv --by duration")
        .within(&folder)
        .run()
        .ok();
}

#[test]
fn what_generated_slots_lack_is_refused_and_a_table_without_results_fails() {
    let folder = Folder::new();
    let chain = "--scheme arq --loss bernoulli:0.01 --rate 1Mbps --rtt 10ms --duration 2s";
    for (more, words) in [
        ("--offsets 3", "over generated slots needs --bytes"),
        ("--unit us", "found generated slots"),
    ] {
        tmt(&format!("sweep {chain} {more} -o x.csv"))
            .within(&folder)
            .run()
            .fails(1, &["all cells were refused", words]);
        assert_eq!(rows(&folder, "x.csv").len(), 1);
    }
    // A dry run of what could not be written fails as well.
    tmt(&format!("sweep {chain} --dry-run -o nowhere/x.csv"))
        .within(&folder)
        .run()
        .fails(1, &["directory nowhere does not exist"]);
}

#[test]
fn a_variable_may_end_as_a_trace_does() {
    let folder = folder();
    tmt("sweep --set mytrace=phy,clean --trace {mytrace}.csv --scheme arq --bytes 20kB -o x.csv")
        .within(&folder)
        .run()
        .ok();
    assert_eq!(rows(&folder, "x.csv").len(), 2);
}

#[test]
fn a_mean_that_leaves_out_runs_says_so() {
    let folder = Folder::new();
    folder.write(
        "half.csv",
        "cell,run,flow,total_completion_time_s\n0,0,0,1.5\n0,1,0,\n0,2,0,2.5\n",
    );
    tmt("summarise half.csv")
        .within(&folder)
        .run()
        .ok()
        .says(&["total_completion_time_s: 1 group has runs without it, at worst 1 of 3"]);
    folder.write("twice.csv", "cell,run,flow\n0,0,0\n0,0,0\n");
    tmt("summarise twice.csv")
        .within(&folder)
        .run()
        .fails(2, &["row 2", "for the second time"]);
}

/// Before the first cell, so that nothing is left beside the target.
#[test]
fn a_target_that_cannot_be_written_is_refused_before_the_first_cell() {
    let folder = Folder::new();
    fs::create_dir(folder.path("there")).unwrap();
    let plan = "sweep --link synthetic --rate 1Mbps --rtt 40ms --duration 1s --cc newreno,cubic -o";
    for (target, found) in [
        ("there", "a directory"),
        ("new/", "a directory"),
        ("", "an empty name"),
    ] {
        for more in ["-q", "--shard=1/2"] {
            let ran = tmt(plan).arg(target).arg(more).within(&folder).run();
            let found = format!(": found {found}, expected the name of a file");
            ran.fails(1, &[&found]);
            assert_eq!(folder.names(), ["there"]);
        }
    }
}

/// A device or a pipe takes the table, without a folder beside it.
#[test]
#[cfg(unix)]
fn a_device_or_a_pipe_is_a_target_without_a_folder() {
    let folder = Folder::new();
    let plan =
        "tmt sweep --link synthetic --rate 1Mbps --rtt 40ms --duration 1s --cc newreno,cubic -q";
    let ran = |script: &str| bash(&folder, &script.replace("SWEEP", plan));
    let table = ran("SWEEP -o -").ok().stdout;
    for script in [
        "SWEEP -o /dev/stdout",
        "SWEEP -o /dev/fd/1",
        "mkfifo pipe; cat pipe & SWEEP -o pipe && wait",
    ] {
        assert!(ran(script).ok().stdout == table, "{script}");
    }
    ran("SWEEP -o /dev/null").ok();
    ran("SWEEP -o /dev/full").fails(1, &["/dev/full: No space left on device"]);
    ran("SWEEP -o /dev/null --resume").fails(2, &["need --output FILE"]);
    assert_eq!(folder.names(), ["pipe"]);
    assert!(!Path::new("/dev/full.partial").exists() && !Path::new("/dev/null.partial").exists());
}

#[test]
fn numbers_that_are_not_finite_or_too_large_for_a_mean_count_as_missing_with_a_warning() {
    let folder = Folder::new();
    for value in ["1e308", "-1e308", "inf", "-inf", "NaN", "1e400"] {
        let rows = format!("0,0,0,1000\n0,1,0,{value}\n0,2,0,3000\n1,0,0,{value}\n");
        folder.write("r.csv", format!("cell,run,flow,goodput_bps\n{rows}"));
        for form in ["", "--json", "--latex"] {
            let ran = tmt(&format!(
                "summarise r.csv --by cell --metric goodput_bps {form}"
            ));
            let ran = ran.within(&folder).run().ok();
            let words = [
                "warning: goodput_bps: 2 values are not finite or beyond ±1e100: they count as missing",
            ];
            let text = ran.says(&words).text().to_lowercase();
            assert!(
                !text.contains("inf") && !text.contains("nan"),
                "{value}: {text}"
            );
        }
    }
}
