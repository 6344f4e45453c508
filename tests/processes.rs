//! Erasure processes are the same wherever they are named, and the files that they are read from.

use serde_json::Value;
use tmt_core::channel::FAMILIES;

use crate::common::{Folder, project, tmt};

/// A process of every family that fits a link with this LLDU, with files where there is one.
fn processes(folder: &Folder, lldu: &str) -> Vec<String> {
    for name in ["weather.csv", "runs.csv", "losses.txt"] {
        let text = std::fs::read_to_string(project("fixtures/processes").join(name));
        folder.write(name, text.unwrap());
    }
    folder.write("outages.csv", "start_s,end_s\n0.5,0.62\n3,3.4\n");
    let files = [
        "markov:weather.csv",
        "semi-markov:runs.csv",
        "outage-list:outages.csv",
        "list:losses.txt",
    ];
    let others = [
        "bernoulli:0.02",
        "gilbert-elliott:alpha=0.99,beta=0.8,pb=0.7",
        "fading:m=20ms,X=0.1",
        "levels:step=100ms,shares=0/0.25/1,next=0.6:0.4:0/0.1:0.7:0.2/0:0.3:0.7",
        "outages:every=1s,length=60ms,jitter=20ms",
        "land-mobile:es-n0=9dB",
        "reconfiguration:period=2s,first=1s,disturbed=0.9,loss=0.01",
    ];
    let coded = format!("coded:code=uncoded,ecn0=8dB,lldu={lldu}");
    let all: Vec<String> = files
        .into_iter()
        .chain(others)
        .map(str::to_owned)
        .chain([coded])
        .collect();
    let is_here = |name: &str| all.iter().any(|text| text.split(':').next() == Some(name));
    for family in FAMILIES.iter().filter(|family| family.name != "scenario") {
        assert!(is_here(family.name), "{}", family.name);
    }
    all
}

const RATE: &str = "--rate 1Mbps --lldu 125B --duration 10s";

#[test]
fn a_process_erases_the_same_slots_in_a_trace_and_on_a_coupled_link() {
    let folder = Folder::new();
    let run = |arguments: &str| tmt(arguments).within(&folder).run().ok();
    // Slots of 1 ms, decoded when they have been sent, as those of --channel.
    run(&format!("synth {RATE} --decode-delay 1ms -o slots.csv"));
    for process in processes(&folder, "125B") {
        run(&format!(
            "inject --channel {process} --seed 3 slots.csv -o erased.csv"
        ));
        // The default queue and feedback follow the median delay, to which a process may add in a trace.
        let tcp = "tcp --link coupled --scheme arq --feedback-delay 0s --rtt 40ms --packet 1000B --lldu-header 0B --buffer 20pkt --json --packets";
        run(&format!(
            "{tcp} trace_log.csv --duration 10s erased.csv -o trace.json"
        ));
        run(&format!(
            "{tcp} channel_log.csv --seed 3 --channel {process} {RATE} -o channel.json"
        ));
        // The packets that are sent half a second before the end: at the end a trace has slots that a channel has not.
        let rows = |name: &str| {
            let text = folder.read(name);
            let rows = text.lines().filter(|line| {
                let sent = line.split(',').nth(3).and_then(|time| time.parse().ok());
                sent.is_some_and(|sent: f64| sent < 9.5)
            });
            rows.map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(rows("trace_log.csv").len() > 50, "{process}");
        assert_eq!(rows("trace_log.csv"), rows("channel_log.csv"), "{process}");
    }
}

#[test]
fn injected_bytes_do_not_depend_on_jobs_and_the_record_needs_no_file() {
    let folder = Folder::new();
    let run = |arguments: &str| tmt(arguments).within(&folder).run().ok();
    run("synth --rate 8Mbps --lldu 100B --duration 12s --decode-delay 5ms -o slots.csv");
    for process in processes(&folder, "100B") {
        let inject = format!("inject --channel {process} --seed 5 slots.csv -o");
        run(&format!("{inject} one.csv --jobs 1"));
        run(&format!("{inject} many.csv --jobs 4"));
        let one = folder.read("one.csv");
        assert!(one == folder.read("many.csv"), "{process}");
        // The text in the head replaces the file.
        let stage = one
            .lines()
            .find(|line| line.contains("stage: tmt inject"))
            .unwrap();
        let text = stage.split("--channel ").nth(1).unwrap();
        let text = text.strip_suffix(" --seed 5").unwrap().trim_matches('\'');
        let again = tmt("inject --seed 5 slots.csv -o again.csv --channel").arg(text);
        again.within(&folder).run().ok();
        assert!(one == folder.read("again.csv"), "{process}");
    }
}

#[test]
fn files_that_are_no_tables_are_refused_and_nothing_is_written() {
    let folder = Folder::new();
    folder.write("slots.csv", "tx_time,decode_delay\n0,0.001\n0.001,0.001\n");
    folder.write("sum.csv", "state,erasure,a,b\na,0,0.9,0.1\n\nb,1,0.5,0.4\n");
    folder.write("binary.csv", [0xff, 0x00, 0x80]);
    folder.write(
        "zero.csv",
        "state,erasure,sojourn,a\na,0,exponential mean=0s,1\n",
    );
    folder.write("huge.csv", vec![b'x'; 5 << 20]);
    let names: Vec<String> = (0..1000).map(|at| format!("s{at}")).collect();
    let (many, rows) = (names.join(","), names.join(",0\n"));
    folder.write("many.csv", format!("state,erasure,{many}\n{rows},0\n"));
    for (process, words) in [
        (
            "markov:sum.csv",
            "sum.csv:4: found probabilities of the next state that add up to 0.9, expected 1",
        ),
        (
            "markov:binary.csv",
            "binary.csv: found bytes that are not UTF-8",
        ),
        ("markov:missing.csv", "missing.csv: "),
        ("markov:huge.csv", "huge.csv: found more than"),
        (
            "markov:many.csv",
            "many.csv: found 1000 states, expected at most 256",
        ),
        (
            "semi-markov:zero.csv",
            "zero.csv:2: column 3: found a length of 0s, expected at least 1us",
        ),
    ] {
        let inject = format!("inject --channel {process} slots.csv -o out.csv");
        tmt(&inject).within(&folder).run().fails(1, &[words]);
        let tcp =
            format!("tcp --link synthetic --rate 1Mbps --duration 1s --loss {process} -o out.csv");
        tmt(&tcp).within(&folder).run().fails(1, &["--loss", words]);
        assert!(!folder.path("out.csv").exists());
        folder.write(
            "run.toml",
            format!("link = \"synthetic\"\nrate = \"1Mbps\"\nloss = \"{process}\"\n"),
        );
        let tcp = tmt("tcp --duration 1s --params run.toml -o out.csv");
        tcp.within(&folder).run().fails(2, &["run.toml:3:", words]);
        assert!(!folder.path("out.csv").exists());
    }
}

#[test]
fn a_trace_without_rate_is_said_to_be_taken_as_instants() {
    let folder = Folder::new();
    folder.write("slots.csv", "tx_time,decode_delay\n0,0.001\n0.001,0.001\n");
    let inject = |process| tmt(&format!("inject --channel {process} slots.csv -o out.csv"));
    let ran = inject("outages:every=1s,length=1ms")
        .within(&folder)
        .run()
        .ok();
    ran.says(&["every slot is taken as an instant"]);
    folder.write("weather.csv", "state,erasure,a\na,1,1\n");
    let ran = inject("markov:weather.csv").within(&folder).run().ok();
    assert!(!ran.stderr.contains("instant"), "{}", ran.stderr);
    assert!(folder.read("out.csv").contains("\n0.000000000,0"));
    // A scenario knows its slots.
    let ran = inject("scenario:barakat").within(&folder).run().ok();
    assert!(!ran.stderr.contains("instant"), "{}", ran.stderr);
}

#[test]
fn a_saved_run_needs_no_file() {
    let folder = Folder::new();
    let names = processes(&folder, "33B");
    let run = |arguments: &str| tmt(arguments).within(&folder).run().ok();
    let tcp = "tcp --link synthetic --rate 1Mbps --rtt 100ms --duration 20s --return-loss semi-markov:runs.csv --json";
    run(&format!(
        "{tcp} --loss {} --save-params run.toml -o first.json",
        names[0]
    ));
    std::fs::remove_file(folder.path("weather.csv")).unwrap();
    std::fs::remove_file(folder.path("runs.csv")).unwrap();
    run("tcp --params run.toml --json -o second.json");
    let results = |name: &str| {
        let report: Value = serde_json::from_str(&folder.read(name)).unwrap();
        report["results"].clone()
    };
    assert_eq!(results("first.json"), results("second.json"));
}

#[test]
fn several_seeds_of_what_is_the_same_for_all_warn() {
    let warns = |link: &str| {
        let run = "tcp -q --rate 2Mbps --rtt 100ms --duration 5s --seeds 2";
        let ran = tmt(run).arg_list(link).run().ok();
        ran.stderr
            .contains("nothing in these runs is random: every seed gives the same result")
    };
    let coupled = "--link coupled --scheme arq --lldu 33B --channel";
    for process in [
        "outages:every=1s,length=20ms",
        "outage-list:{start_s,end_s;1,1.1}",
        "bernoulli:0",
        "list:{3;40}",
    ] {
        assert!(warns(&format!("--link synthetic --loss {process}")));
        assert!(warns(&format!("{coupled} {process}")), "{process}");
    }
    for process in [
        "outages:every=1s,length=20ms,jitter=5ms",
        "outages:every=1s,length=20ms,erasure=0.5",
        "outage-list:{start_s,end_s,erasure;1,1.1,0.5}",
        "bernoulli:0.01",
    ] {
        assert!(!warns(&format!("--link synthetic --loss {process}")));
        assert!(!warns(&format!("{coupled} {process}")), "{process}");
    }
    assert!(!warns("--link synthetic --return-loss bernoulli:0.1"));
}

/// Tables of applications: by a flag, a parameter file, a saved file without the tables, a plan, and a capture.
#[test]
fn the_files_of_applications_are_read_wherever_flows_are_given() {
    let folder = Folder::new();
    let run = |arguments: &str| tmt(arguments).within(&folder).run();
    folder.write("sizes.csv", "size_bytes\n1000\n20000 # the page\n");
    folder.write("load.csv", "time_s,size_bytes,flow\n0.5,1200,a\n1,900,b\n");
    let link = "--link synthetic --rate 5Mbps --rtt 50ms --duration 10s";
    let flows = "--flow app=pages(size=csv(sizes.csv),objects=5,think=1s) --flow app=arrivals(load.csv,over=udp)";
    let given = run(&format!("tcp {link} {flows} --json --save-params run.toml")).ok();
    let given = given.results();
    assert!(
        given["runs"][0]["total"]["pages_loaded"].as_u64() > Some(3),
        "{given}"
    );
    folder.write(
        "hand.toml",
        "[[flow]]\napp = \"pages(size=csv(sizes.csv),objects=5,think=1s)\"\n\
         [[flow]]\napp = \"arrivals(load.csv,over=udp)\"\n",
    );
    let by_hand = run(&format!("tcp {link} --params hand.toml --json")).ok();
    assert_eq!(by_hand.results(), given);
    run(&format!("sweep {link} {flows} --set seed=1,2 -o rows.csv")).ok();
    assert!(folder.read("rows.csv").contains("page_time_mean_s"));
    for name in ["sizes.csv", "load.csv"] {
        std::fs::remove_file(folder.path(name)).unwrap();
    }
    assert_eq!(run("tcp --params run.toml --json").ok().results(), given);
    run(&format!("tcp {link} {flows}")).fails(1, &["--flow", "sizes.csv"]);
    folder.write("sizes.csv", "size_bytes\n1000\n-1\n");
    run(&format!("tcp {link} {flows}")).fails(1, &["--flow: sizes.csv:3: column 1: found '-1'"]);
    folder.write(
        "hand.toml",
        "[[flow]]\napp = \"pages(size=csv(sizes.csv))\"\n",
    );
    run(&format!("tcp {link} --params hand.toml"))
        .fails(2, &["hand.toml:1:", "sizes.csv:3: column 1"]);
    // A capture of a call is a load with its datagrams, each of 172 B with the headers of RTP.
    let call = run(&format!(
        "tcp {link} --flow app=cbr --pcap call.pcap --json"
    ))
    .ok();
    let again = "--flow app=arrivals(call-sender.pcap,over=udp) --json";
    let again = run(&format!("tcp {link} {again}")).ok();
    // Of a run without TCP the parameters lack what the schema asks for.
    let [call, again] = [call, again].map(|ran| {
        let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
        document["results"]["runs"][0]["total"].clone()
    });
    for key in ["packets_sent", "throughput_bps", "delay_max_s"] {
        assert_eq!(call[key], again[key], "{key}");
    }
}
