//! Applications beside each other: queues, logs, audits.

use fluid_tcp::application::{App, traffic};
use fluid_tcp::audit::audit;
use fluid_tcp::experiment::{Experiment, InMemory, ParameterFile, Plan};
use fluid_tcp::log::PacketLog;
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::NoProbe;
use tmt_core::format::table::TableForm;
use tmt_core::types::{Bytes, Metadata, to_f64};

pub(crate) fn plan(file: &str) -> Plan {
    let file = ParameterFile::parse(file).unwrap_or_else(|error| panic!("{error}:\n{file}"));
    let experiment: Experiment = file.experiment;
    experiment
        .resolve(&InMemory)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Report of the first run, and its packet log.
pub(crate) fn logged(plan: &Plan) -> (RunReport, String) {
    let run = plan.runs()[0];
    let setup = plan.setup(run);
    let mut head = Metadata::new();
    head.set("tool", "test");
    plan.describe(&mut head, &setup, run.seed);
    let mut log = PacketLog::new(Vec::new(), TableForm::Text(None), &head, &setup).unwrap();
    let report = plan.run(run, &mut log).unwrap();
    assert_eq!(report, plan.run(run, &mut NoProbe).unwrap());
    (report, String::from_utf8(log.finish().unwrap()).unwrap())
}

/// Rules that a log breaks.
pub(crate) fn broken(log: &str) -> Vec<&'static str> {
    let report = audit(log.as_bytes(), None).unwrap();
    let broken = report.rules.iter().filter(|rule| rule.violations_total > 0);
    broken.map(|rule| rule.rule).collect()
}

/// p95 of the queueing delay of a call and its MOS, beside four transfers of `cc` without end at 10 Mbit/s.
fn call(queue: &str, rtt: &str, cc: &str, seed: u64) -> (f64, f64) {
    let plan = plan(&format!(
        "link = \"synthetic\"\nrate = \"10Mbps\"\nrtt = \"{rtt}\"\nduration = \"60s\"\nbuffer = \"200pkt\"\nqueue = \"{queue}\"\n\
         seed = {seed}\nflow = [\"app=cbr,start=10s\", \"{cc}\", \"{cc}\", \"{cc}\", \"{cc}\"]\n",
        cc = format_args!("cc={cc},start=0s..2s"),
    ));
    let report = plan.run(plan.runs()[0], &mut NoProbe).unwrap();
    let call = &report.flows[0];
    assert_eq!(call.packets_sent, 2501);
    (call.queueing_delay_p95_s.unwrap(), call.mos.unwrap())
}

#[test]
fn fair_queueing_spares_a_call_the_queue_of_four_transfers() {
    let seed = (1..).zip(["10ms", "40ms", "60ms", "80ms", "120ms", "150ms", "600ms"]);
    for (seed, rtt) in seed {
        for cc in ["cubic", "newreno", "bbr"] {
            // The rest of the packet in service, 1.2 ms at most, and seldom one of a transfer whose queue was empty, too, and is as
            // new as the call (RFC 8290, Sec. 4.2).
            let (fair, _) = call("fq-codel", rtt, cc, seed);
            assert!(fair <= 0.0024, "{rtt}, {cc}: {fair}");
        }
    }
    for rtt in ["20ms", "60ms", "100ms"] {
        let (_, good) = call("fq-codel", rtt, "cubic", 1);
        let (shared, bad) = call("drop-tail", rtt, "cubic", 1);
        assert!(shared > 0.050, "{rtt}: {shared}");
        // The call begins in the queue of the transfers, by which its playout is set.
        assert!(good > 4.3 && bad < 3.9, "{rtt}: {good}, {bad}");
    }
}

/// Calls, bursts over both transports and transfers on one link.
const MIXED: &str = "link = \"synthetic\"\nrate = \"2Mbps\"\nrtt = \"60ms\"\nduration = \"20s\"\nbuffer = \"20pkt\"\nloss = \"bernoulli:0.02\"\n\
    [[flow]]\napp = \"cbr(codec=g729)\"\n[[flow]]\ncc = \"cubic\"\nstart = \"1s\"\n\
    [[flow]]\napp = \"on-off(on=exponential(700ms),off=exponential(300ms),rate=300kbps,packet=500B)\"\nstart = \"500ms\"\n\
    [[flow]]\ncc = \"bbr\"\napp = \"on-off(on=1s,off=1s,rate=400kbps,packet=700B,over=tcp)\"\n\
    [[flow]]\napp = \"bytes(300kB)\"\ncc = \"newreno\"\n[[flow]]\napp = \"cbr(rate=100kbps,packet=64B)\"\n";

#[test]
fn mixed_traffic_is_audited_and_each_fault_in_a_datagram_is_found() {
    let plan = plan(MIXED);
    let (report, log) = logged(&plan);
    assert_eq!(broken(&log), [""; 0]);
    let audited = audit(log.as_bytes(), None).unwrap().totals;
    for (flow, metrics) in audited.flows.iter().zip(&report.flows) {
        assert_eq!(flow.counts.copies_sent, metrics.packets_sent);
        assert_eq!(
            flow.counts.packets_delivered_in_order,
            metrics.packets_delivered
        );
        assert_eq!(flow.counts.dropped_at_queue, metrics.packets_dropped);
        assert_eq!(flow.counts.lost_on_link, metrics.packets_lost);
    }
    // By name of the column, in the middle row of each flow of datagrams that was delivered.
    let header = log.lines().find(|line| line.starts_with("flow,")).unwrap();
    let column = |name: &str| header.split(',').position(|known| known == name).unwrap();
    for flow in [0, 2, 5] {
        let rows: Vec<usize> = log
            .lines()
            .enumerate()
            .filter(|(_, line)| {
                line.starts_with(&format!("{flow},")) && line.contains(",delivered,")
            })
            .map(|(place, _)| place)
            .collect();
        let row = rows[rows.len() / 2];
        let fields: Vec<&str> = log.lines().nth(row).unwrap().split(',').collect();
        let number: u64 = fields[1].parse().unwrap();
        let size: u64 = fields[column("size_bytes")].parse().unwrap();
        let edits = [
            ("packet", (number + 1).to_string(), "causality"),
            ("packet", (number - 1).to_string(), "causality"),
            ("copy", "2".to_owned(), "causality"),
            ("acked_s", fields[column("delivered_s")].to_owned(), "acked"),
            ("size_bytes", (size + 1).to_string(), "form"),
            ("fate", "duplicate".to_owned(), "form"),
            ("sent_s", earlier(fields[column("sent_s")]), "causality"),
            ("enqueued_s", earlier(fields[column("enqueued_s")]), "story"),
            (
                "delivered_s",
                earlier(fields[column("delivered_s")]),
                "early",
            ),
        ];
        for (name, value, rule) in edits {
            let mut edited = fields.clone();
            edited[column(name)] = &value;
            let lines = log.lines().enumerate();
            let lines = lines.map(|(place, line)| match place {
                place if place == row => edited.join(",") + "\n",
                _ => format!("{line}\n"),
            });
            let found = broken(&without_crc(&lines.collect::<String>()));
            assert!(
                found.contains(&rule),
                "flow {flow}, {name} = {value}: {found:?}"
            );
        }
        // A row that is missing.
        let lines = log.lines().enumerate().filter(|(place, _)| *place != row);
        let cut: Vec<&str> = lines.map(|(_, line)| line).collect();
        let found = broken(&without_crc(&cut.join("\n")));
        assert!(found.contains(&"causality"), "flow {flow}: {found:?}");
    }
    // Another rate or size in the head does not explain the log.
    for (good, bad) in [
        ("payload=20,", "payload=10,"),
        ("headers=40,", "headers=28,"),
        ("rate=100000,", "rate=100001,"),
        ("pauses=on", "pauses=off"),
        ("flow_datagrams: payload", "flow_datagrams: - payload"),
        (",start=1s", ",start=9s"),
    ] {
        assert!(log.contains(good), "{good}");
        let found = broken(&without_crc(&log.replacen(good, bad, 1)));
        assert!(!found.is_empty(), "{good}");
    }
}

/// A time one microsecond before.
fn earlier(seconds: &str) -> String {
    let seconds: f64 = seconds.parse().unwrap();
    format!("{:.9}", seconds - 1e-6)
}

/// A log whose end line fits its rows, in the version without a checksum.
pub(crate) fn without_crc(log: &str) -> String {
    let rows = log.lines().filter(|line| !line.starts_with('#')).count() - 1;
    let lines = log.lines().map(|line| match line {
        line if line.starts_with("# end: ") => format!("# end: rows={rows}\n"),
        line if line.starts_with("# log: ") => "# log: packets\n".to_owned(),
        line => format!("{line}\n"),
    });
    lines.collect()
}

#[test]
fn bytes_of_packets_of_any_size_add_up_on_the_link() {
    // Sizes of 64 B to 1500 B with headers of 28 B, 200 kbit/s each: the link of 2 Mbit/s is never empty for long.
    let sizes = [36, 100, 172, 572, 972, 1272, 1472];
    let flows = sizes.map(|size| {
        let rate = 200_000 * size / (size + 28);
        format!("\"app=cbr(rate={rate}bps,packet={size}B,headers=28B)\"")
    });
    let file = format!(
        "link = \"synthetic\"\nrate = \"2Mbps\"\nrtt = \"20ms\"\nduration = \"30s\"\nflow = [{}]\n",
        flows.join(", ")
    );
    let plan = plan(&file);
    let (report, log) = logged(&plan);
    assert_eq!(broken(&log), [""; 0]);
    let mut bits = 0.0;
    for (size, flow) in sizes.into_iter().zip(&report.flows) {
        let whole = 8.0 * to_f64((size + 28) * flow.packets_arrived) / 30.0;
        assert!((flow.throughput_bps.unwrap() - whole).abs() < 1e-6);
        assert!(
            (flow.goodput_bps.unwrap() - 8.0 * to_f64(size * flow.packets_arrived) / 30.0).abs()
                < 1e-6
        );
        bits += 8.0 * to_f64((size + 28) * flow.packets_arrived);
    }
    // All data that has arrived was sent on the link; the last of it has not arrived.
    let used = report.total.link_utilisation.unwrap() * 30.0 * 2e6;
    assert!(used >= bits && used - bits < 0.02 * 1.4e6, "{used}, {bits}");
}

#[test]
fn what_an_application_cannot_have_is_refused_with_the_remedy() {
    let base = "link = \"synthetic\"\nrate = \"2Mbps\"\nrtt = \"60ms\"\nduration = \"1s\"\n";
    for (more, parts) in [
        (
            "flow = [\"app=cbr\"]\niw = 10\n",
            ["`iw` is a setting of TCP", "flows of datagrams only"],
        ),
        (
            "flow = [\"app=cbr\"]\ncc = \"bbr\"\n",
            ["`cc` is a setting of TCP", "a flow of TCP"],
        ),
        (
            "flow = [\"app=cbr\"]\nprofile = \"rfc\"\n",
            ["`profile` is a setting of TCP", ""],
        ),
        (
            "flow = [\"app=cbr\", \"cc=cubic\"]\npath = \"split\"\n",
            ["flow 0 with datagrams (app=cbr)", "`path` e2e"],
        ),
        (
            "flow = [\"app=cbr(rate=2Mbps,packet=1kB)\"]\n",
            ["2056.0 kbps with headers", "the link, 2000.0 kbps"],
        ),
        (
            "flow = [\"app=cbr(rate=1Mbps,packet=1kB)\"]\nfar_rate = \"500kbps\"\n",
            ["1028.0 kbps with headers", "the far path, 500.0 kbps"],
        ),
        (
            "flow = [\"app=poisson(load=0.1,size=20kB)\"]\npath = \"split\"\n",
            ["`split_window`: found share", "expected whole"],
        ),
        (
            "flow = [\"app=pages(size=20kB,persistent=off)\"]\npath = \"split\"\n",
            ["`split_window`: found share", "persistent=off"],
        ),
        (
            "flow = [\"app=cbr(rate=1Mbps,packet=1480B)\"]\n",
            ["1480B with headers of 28B", "`packet`, 1500B"],
        ),
    ] {
        let file = ParameterFile::parse(&format!("{base}{more}")).unwrap();
        let error = file.experiment.resolve(&InMemory).unwrap_err().to_string();
        assert!(
            parts.iter().all(|part| error.contains(part)),
            "{more}: {error}"
        );
    }
    // Beside TCP, settings of TCP are those of the other flows.
    plan(&format!(
        "{base}flow = [\"app=cbr\", \"cc=cubic\"]\niw = 10\n"
    ));
    let several = plan(&format!(
        "{base}flow = [\"app=cbr(rate=1Mbps,packet=1kB)\", \"app=cbr(rate=1Mbps,packet=1kB)\"]\n"
    ));
    assert!(
        several
            .notes
            .iter()
            .any(|note| note.text.contains("its queue overflows"))
    );
}

#[test]
fn a_saved_run_of_datagrams_reads_back() {
    let plan = plan(
        "link = \"synthetic\"\nrate = \"2Mbps\"\nduration = \"5s\"\nflow = [\"app=cbr(codec=g729)\", \"app=cbr\"]\n",
    );
    let saved = plan.resolved.to_file("1");
    let again = ParameterFile::parse(&saved).unwrap().experiment;
    let again = again
        .resolve(&InMemory)
        .unwrap_or_else(|error| panic!("{error}:\n{saved}"));
    let run = |plan: &Plan| plan.run(plan.runs()[0], &mut NoProbe).unwrap();
    assert_eq!(run(&again), run(&plan));
    assert!(!saved.contains("cc"), "{saved}");
}

#[test]
fn transfers_by_their_application_are_those_without() {
    let base = "link = \"synthetic\"\nrate = \"2Mbps\"\nrtt = \"60ms\"\nduration = \"20s\"\n";
    let runs = [
        "cc=cubic",
        "cc=cubic,app=bulk",
        "cc=cubic,bytes=1MB",
        "cc=cubic,app=bytes(1MB)",
    ];
    let runs = runs.map(|flow| {
        let plan = plan(&format!("{base}flow = [\"{flow}\"]\n"));
        plan.run(plan.runs()[0], &mut NoProbe).unwrap()
    });
    assert_eq!(runs[0], runs[1]);
    assert_eq!(runs[2], runs[3]);
    assert!(runs[2].flows[0].completion_time_s.is_some());
    let app: App = "bytes(1MB)".parse().unwrap();
    let flow = fluid_tcp::simulation::Flow::new(
        "cubic".parse().unwrap(),
        fluid_tcp::endpoint::Endpoint::default(),
    );
    let flow = traffic(&app).unwrap().flow(flow, Bytes(1500)).unwrap();
    assert_eq!(flow.bytes(), Some(Bytes(1_000_000)));
}

/// Report of the first run of `flows` on a synthetic link of 2 Mbit/s with a round trip of 100 ms.
pub(crate) fn run_of(flows: &[&str], more: &str) -> RunReport {
    let flows: Vec<String> = flows.iter().map(|flow| format!("\"{flow}\"")).collect();
    let plan = plan(&format!(
        "link = \"synthetic\"\nrate = \"2Mbps\"\nrtt = \"100ms\"\n{more}flow = [{}]\n",
        flows.join(", ")
    ));
    plan.run(plan.runs()[0], &mut NoProbe).unwrap()
}

pub(crate) fn near(found: Option<f64>, expected: f64, tolerance: f64) {
    let found = found.unwrap();
    assert!((found - expected).abs() <= tolerance, "{found}, {expected}");
}

#[test]
fn nothing_complete_is_a_count_of_zero_and_an_absent_application_none() {
    let report = run_of(
        &["app=request(down=100MB,every=1s)"],
        "duration = \"10s\"\n",
    );
    let flow = &report.flows[0];
    assert_eq!(
        (flow.requests_sent, flow.requests_answered),
        (Some(1), Some(0))
    );
    assert_eq!(flow.response_time_mean_s, None);
    assert_eq!((flow.pages_begun, flow.transfers_begun), (None, None));
    // So seldom that nothing arrives.
    let report = run_of(
        &["app=poisson(load=0.000001,size=30kB)"],
        "duration = \"10s\"\n",
    );
    let flow = &report.flows[0];
    assert_eq!(
        (flow.transfers_begun, flow.transfers_complete),
        (Some(0), Some(0))
    );
}

#[test]
fn what_tcp_cannot_take_is_offered_too() {
    // 2500 pieces of 1 kB a second for 2 s, and 0.1 s of pause: 4.76 Mbit/s over a link of 2 Mbit/s.
    let report = run_of(
        &["app=on-off(on=2s,off=100ms,rate=5Mbps,packet=1kB,over=tcp)"],
        "duration = \"21s\"\n",
    );
    near(
        report.flows[0].offered_bps,
        5e6 * 2.0 / 2.1,
        5e6 * 2.0 / 2.1 * 0.001,
    );
    assert!(report.flows[0].goodput_bps.unwrap() < 2e6);
}

#[test]
fn rates_of_short_bursts_and_of_all_flows_together_are_held_to_the_link() {
    let base = "link = \"synthetic\"\nrate = \"600kbps\"\nrtt = \"60ms\"\nduration = \"10s\"\n";
    // Each burst of 1 ms is a datagram that takes 8 ms.
    let file = format!("{base}flow = [\"app=on-off(on=1ms,off=1ms,rate=1Mbps,packet=1000B)\"]\n");
    let error = ParameterFile::parse(&file).unwrap().experiment;
    let error = error.resolve(&InMemory).unwrap_err().to_string();
    assert!(error.contains("at most the rate of the link"), "{error}");
    let all = plan(&format!(
        "{base}flow = [\"app=poisson(load=0.8,size=2kB)\", \"app=cbr(rate=200kbps,packet=500B)\"]\n"
    ));
    let warned = all
        .notes
        .iter()
        .any(|note| note.text.contains("together are 1.15 times"));
    assert!(warned, "{:?}", all.notes);
}

#[test]
fn limited_flows_are_neither_unfair_nor_part_of_what_bulk_flows_offer() {
    let total = |flows: &str| {
        let plan = plan(&format!(
            "link = \"synthetic\"\nrate = \"5Mbps\"\nrtt = \"40ms\"\nduration = \"20s\"\nflow = [{flows}]\n"
        ));
        plan.run(plan.runs()[0], &mut NoProbe).unwrap()
    };
    let bulk = "\"cc=cubic\", \"cc=cubic,terrestrial-rtt=30ms\"";
    let mixed = total(&format!("\"app=cbr\", {bulk}, \"app=pages(size=20kB)\""));
    let [one, other] = [1, 2].map(|flow: usize| mixed.flows[flow].goodput_bps.unwrap());
    let expected = (one + other) * (one + other) / (2.0 * (one * one + other * other));
    assert!((mixed.total.jain_index.unwrap() - expected).abs() < 1e-9);
    assert_eq!(mixed.total.metrics.offered_bps, None);
    assert!(mixed.flows[0].offered_bps.is_some());
    // One bulk flow beside others has nobody to share with.
    assert_eq!(total("\"app=cbr\", \"cc=cubic\"").total.jain_index, None);
    assert_eq!(total("\"cc=cubic\"").total.jain_index, Some(1.0));
    let calls = total("\"app=cbr\", \"app=cbr(codec=g729)\"");
    let sum: f64 = calls.flows.iter().filter_map(|flow| flow.offered_bps).sum();
    assert!((calls.total.metrics.offered_bps.unwrap() - sum).abs() < 1.0);
}

/// Seeds make no difference only where no queue draws, the gateway's or another.
#[test]
fn seeds_that_make_no_difference_are_said_where_no_queue_draws() {
    let says = |more: &str| {
        let base = "link = \"synthetic\"\nrate = \"10Mbps\"\nrtt = \"60ms\"\nduration = \"1s\"\nseeds = 3\nfar_rate = \"2Mbps\"\n";
        let plan = plan(&format!("{base}{more}"));
        plan.notes
            .iter()
            .any(|note| note.text.contains("nothing in these runs is random"))
    };
    assert!(says(""));
    assert!(says("far_queue = \"codel\"\n"));
    assert!(!says("far_queue = \"pie\"\n"));
    assert!(!says("queue = \"red\"\n"));
}

/// ACKs that wait for an assignment, or are held, do not make the return path the bottleneck; a narrow one is.
#[test]
fn a_return_path_is_the_bottleneck_only_by_its_capacity() {
    let says = |more: &str| {
        let base = "link = \"synthetic\"\nrate = \"5Mbps\"\nrtt = \"600ms\"\nduration = \"20s\"\n";
        let plan = plan(&format!("{base}{more}"));
        let report = plan.run(plan.runs()[0], &mut NoProbe).unwrap();
        let notes = plan.findings(&[&report]);
        notes
            .into_iter()
            .any(|note| note.text.contains("the return path is the bottleneck"))
    };
    assert!(!says("return_capacity = \"rbdc:max=2Mbps,frame=50ms\"\n"));
    assert!(says("return_rate = \"8kbps\"\n"));
}
