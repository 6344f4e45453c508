//! Applications beside each other: queues, logs, audits.

use fluid_tcp::application::{App, traffic};
use fluid_tcp::audit::audit;
use fluid_tcp::experiment::{Experiment, InMemory, ParameterFile, Plan};
use fluid_tcp::log::PacketLog;
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::NoProbe;
use tmt_core::format::table::TableForm;
use tmt_core::types::{Bytes, Metadata, to_f64};

fn plan(file: &str) -> Plan {
    let file = ParameterFile::parse(file).unwrap_or_else(|error| panic!("{error}:\n{file}"));
    let experiment: Experiment = file.experiment;
    experiment
        .resolve(&InMemory)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Report of the first run, and its packet log.
fn logged(plan: &Plan) -> (RunReport, String) {
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
fn broken(log: &str) -> Vec<&'static str> {
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
fn without_crc(log: &str) -> String {
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
fn run_of(flows: &[&str], more: &str) -> RunReport {
    let flows: Vec<String> = flows.iter().map(|flow| format!("\"{flow}\"")).collect();
    let plan = plan(&format!(
        "link = \"synthetic\"\nrate = \"2Mbps\"\nrtt = \"100ms\"\n{more}flow = [{}]\n",
        flows.join(", ")
    ));
    plan.run(plan.runs()[0], &mut NoProbe).unwrap()
}

fn near(found: Option<f64>, expected: f64, tolerance: f64) {
    let found = found.unwrap();
    assert!((found - expected).abs() <= tolerance, "{found}, {expected}");
}

#[test]
fn a_page_of_single_packets_takes_a_round_trip_and_their_service() {
    // A packet takes 6 ms. With a handshake the first page waits for it.
    for (objects, connections, handshake) in [(1, 1, false), (6, 6, true), (4, 6, false)] {
        let flow =
            format!("app=pages(size=1kB,objects={objects},connections={connections},think=1s)");
        let more = format!("duration = \"30s\"\nhandshake = {handshake}\n");
        let report = run_of(&[&flow], &more);
        let page = &report.flows[0];
        let later = 0.1 + 0.006 * f64::from(objects);
        let first = if handshake { later + 0.1 } else { later };
        let pages = page.pages_loaded.unwrap();
        near(page.page_time_p50_s, later, 1e-9);
        near(
            page.page_time_mean_s,
            (first + later * to_f64(pages - 1)) / to_f64(pages),
            1e-9,
        );
        let expected = ((30.0 - first) / (1.0 + later)).floor() + 1.0;
        near(page.pages_loaded.map(to_f64), expected, 1e-9);
        assert_eq!(page.requests_answered, None);
        assert_eq!(
            page.packets_delivered,
            pages * u64::try_from(objects).unwrap()
        );
        assert_eq!(report.flows.len(), 1);
    }
    // Objects one after the other: a round trip each.
    let report = run_of(
        &["app=pages(size=1kB,objects=5,connections=1,think=1s)"],
        "duration = \"30s\"\n",
    );
    near(report.flows[0].page_time_p50_s, 5.0 * 0.106, 1e-9);
}

#[test]
fn requests_are_answered_in_their_period_or_one_after_the_other() {
    // 10 packets within the first window: 60 ms of service.
    let slow = run_of(
        &["app=request(up=1kB,down=14480B,every=1s)"],
        "duration = \"20s\"\n",
    );
    near(slow.flows[0].requests_answered.map(to_f64), 20.0, 1e-9);
    near(slow.flows[0].response_time_p50_s, 0.16, 1e-9);
    assert_eq!(slow.flows[0].pages_loaded, None);
    // Sooner than an answer takes: each follows the one before it.
    let fast = run_of(
        &["app=request(down=1kB,every=10ms)"],
        "duration = \"10s\"\n",
    );
    near(
        fast.flows[0].requests_answered.map(to_f64),
        ((10.0 - 0.1) / 0.106_f64).floor(),
        1.0,
    );
    // A request takes its time on the return path: 8 kbit at 80 kbit/s.
    let thin = run_of(
        &["app=request(up=1kB,down=1kB,every=1s)"],
        "duration = \"20s\"\nreturn_rate = \"80kbps\"\n",
    );
    near(thin.flows[0].response_time_p50_s, 0.206, 1e-9);
}

#[test]
fn pages_beside_a_transfer_load_slower_than_alone_and_lose_nothing() {
    let pages =
        "cc=cubic,app=pages(size=lognormal(median=8kB,sigma=1),objects=30,think=exponential(1s))";
    let alone = run_of(&[pages], "duration = \"120s\"\n");
    let beside = run_of(&[pages, "cc=cubic"], "duration = \"120s\"\n");
    assert!(alone.flows[0].page_time_p95_s < beside.flows[0].page_time_p95_s);
    // 30 objects of 8 kB · exp(1/2) = 13.2 kB: at least 1.6 s of the link.
    assert!(alone.flows[0].page_time_p50_s.unwrap() > 1.0);
    assert_eq!(beside.flows.len(), 2);
    assert_eq!(beside.flows[1].pages_loaded, None);
    let total = &beside.total.metrics;
    assert_eq!(total.pages_loaded, beside.flows[0].pages_loaded);
    assert_eq!(
        total.packets_sent,
        beside.flows[0].packets_sent + beside.flows[1].packets_sent
    );
    // The same seed gives the same pages, another one others.
    assert_eq!(alone, run_of(&[pages], "duration = \"120s\"\n"));
    assert_ne!(alone, run_of(&[pages], "duration = \"120s\"\nseed = 2\n"));
}

#[test]
fn a_load_of_transfers_offers_its_share_of_the_link() {
    // 30 kB in 21 packets: 31.5 kB on the link, 0.126 s of it. Half the load: one in 0.252 s.
    let report = run_of(
        &["cc=cubic,app=poisson(load=0.5,size=30kB)"],
        "duration = \"2000s\"\nbuffer = \"500pkt\"\n",
    );
    let load = &report.flows[0];
    let expected: f64 = 2000.0 / 0.252;
    near(
        load.transfers_complete.map(to_f64),
        expected,
        4.0 * expected.sqrt(),
    );
    near(report.total.link_utilisation, 0.5, 0.03);
    // Alone a transfer takes a round trip for 10 packets, and half of one and its service for the other 11.
    assert!(
        load.transfer_time_p50_s.unwrap() >= 0.1 + 0.05 + 11.0 * 0.006,
        "{load:?}"
    );
    assert_eq!(report.flows.len(), 1);
    // Beside a call, which keeps its number.
    let report = run_of(
        &[
            "cc=cubic,app=poisson(load=0.3,size=exponential(50kB))",
            "app=cbr",
        ],
        "duration = \"60s\"\n",
    );
    assert_eq!(report.flows.len(), 2);
    assert!(report.flows[1].mos.is_some() && report.flows[1].transfers_complete.is_none());
}

#[test]
fn logs_of_pages_and_loads_are_audited() {
    let plan = plan(
        "link = \"synthetic\"\nrate = \"2Mbps\"\nrtt = \"60ms\"\nduration = \"20s\"\nbuffer = \"20pkt\"\nloss = \"bernoulli:0.01\"\n\
         flow = [\"app=pages(size=exponential(10kB),objects=8,connections=3,think=1s)\", \"app=cbr(codec=g729)\", \
         \"app=poisson(load=0.2,size=20kB),cc=newreno\", \"cc=cubic\"]\n",
    );
    let (report, log) = logged(&plan);
    assert_eq!(broken(&log), [""; 0]);
    assert_eq!(report.flows.len(), 4);
    let total = audit(log.as_bytes(), None).unwrap().totals;
    assert_eq!(total.counts.copies_sent, report.total.metrics.packets_sent);
    assert!(total.flows.len() > 10);
}

#[test]
fn loads_above_the_link_are_warned_of_and_those_too_large_refused() {
    let base = "link = \"synthetic\"\nrate = \"2Mbps\"\nrtt = \"60ms\"\n";
    let over = plan(&format!(
        "{base}duration = \"10s\"\nflow = [\"app=poisson(load=1.5,size=20kB)\"]\n"
    ));
    assert!(
        over.notes
            .iter()
            .any(|note| note.text.contains("offers 1.5 times the rate of the link"))
    );
    over.run(over.runs()[0], &mut NoProbe).unwrap();
    let many = format!("{base}duration = \"10h\"\nflow = [\"app=poisson(load=0.9,size=1kB)\"]\n");
    let file = ParameterFile::parse(&many).unwrap();
    let error = file.experiment.resolve(&InMemory).unwrap_err().to_string();
    assert!(error.contains("transfers, expected at most 1e5"), "{error}");
    let none = ParameterFile::parse("flow = [\"app=pages(size=1kB,objects=0)\"]\n");
    assert!(none.unwrap_err().to_string().contains("objects=0"));
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
fn a_load_lasts_as_long_as_its_run() {
    let mut utilisation = 0.0;
    for seed in 1..=60 {
        let report = run_of(
            &["app=poisson(load=0.05,size=100kB)"],
            &format!("duration = \"20s\"\nseed = {seed}\n"),
        );
        near(Some(report.duration_s), 20.0, 1e-9);
        assert_eq!(report.flows[0].completion_time_s, None);
        utilisation += report.total.link_utilisation.unwrap() / 60.0;
    }
    // Some 143 transfers of 0.42 s in 1200 s; the last ones are cut.
    near(Some(utilisation), 0.05, 0.05 * 3.0 / 143_f64.sqrt());
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
fn a_page_over_a_proxy_waits_for_the_handshake_with_it() {
    let page = |path: &str| {
        let report = run_of(
            &["app=pages(size=1kB,objects=1,connections=1,think=100s)"],
            &format!(
                "duration = \"3s\"\nhandshake = true\nterrestrial_rtt = \"20ms\"\npath = \"{path}\"\nbuffer = \"100pkt\"\n"
            ),
        );
        report.flows[0].page_time_mean_s.unwrap()
    };
    // Two round trips of 120 ms and 6 ms of service; over a proxy, whose handshake takes 20 ms, 100 ms less.
    near(Some(page("e2e")), 0.246, 1e-9);
    near(Some(page("split")), 0.146, 1e-9);
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

/// A run of 20 s on 1.2 Mbit/s, 100 ms, with these flows.
fn arriving(flow: &str) -> Plan {
    plan(&format!(
        "link = \"synthetic\"\nrate = \"1.2Mbps\"\nrtt = \"100ms\"\nduration = \"20s\"\niw = 10\nflow = [{flow}]\n"
    ))
}

/// The arrivals of one connection, and of connections of their own, by hand: 1448 B fill a packet, which takes 10 ms.
#[test]
fn arrivals_are_complete_with_their_last_byte() {
    // In each row the window is open: n packets take 10 n ms, and 50 ms to the receiver. The third waits for 30 ms behind the second.
    let rows = "1,1448,a;3,7240,a;3.02,2896,a;19.99,1448,a";
    let plan = arriving(&format!(
        "\"app=arrivals({{time_s,size_bytes,flow;{rows}}}),start=1s\""
    ));
    let (report, log) = logged(&plan);
    assert_eq!(broken(&log), [""; 0]);
    let metrics = &report.flows[0];
    // The last one is after the end, as its start is a second after that of the run.
    assert_eq!(
        (metrics.transfers_begun, metrics.transfers_complete),
        (Some(3), Some(3))
    );
    // Rounded to a nanosecond.
    assert_eq!(metrics.transfer_time_mean_s, Some(0.086_666_667));
    assert_eq!(metrics.packets_sent, 8);
    assert!(
        plan.notes
            .iter()
            .any(|note| note.text.contains("1 of 4 arrivals are not before the end"))
    );
    // The same as flows of their own.
    let alone = arriving("\"app=arrivals({time_s,size_bytes;1,1448;3,7240;3.02,2896}),start=1s\"");
    let (report, log) = logged(&alone);
    assert_eq!(broken(&log), [""; 0]);
    let others = &report.flows[0];
    assert_eq!(report.flows.len(), 1);
    assert_eq!(log.matches("\n# flows: 3\n").count(), 1);
    assert_eq!(others.transfer_time_mean_s, metrics.transfer_time_mean_s);
    assert!((report.duration_s - 20.0).abs() < 1e-9);
}

#[test]
fn arrivals_over_udp_are_datagrams_of_their_sizes() {
    let app =
        "app=arrivals({time_s,size_bytes,flow;0,172,1;0.02,1200,1;0.02,60,2;0.04,172,1},over=udp)";
    let plan = arriving(&format!("\"{app}\", \"cc=cubic,start=10s\""));
    let (report, log) = logged(&plan);
    assert_eq!(broken(&log), [""; 0]);
    assert!(log.contains("# flow_datagrams: largest=1200,headers=28 largest=1200,headers=28 -\n"));
    let metrics = &report.flows[0];
    assert_eq!((metrics.packets_sent, metrics.packets_delivered), (4, 4));
    assert_eq!(metrics.offered_bps, Some(8.0 * 1604.0 / 20.0));
    assert_eq!(metrics.datagram_loss_ratio, Some(0.0));
    // 60 + 28 B at 1.2 Mbit/s.
    assert_eq!(metrics.delay_min_s, Some(0.050_586_667));
    // One that is larger than the largest, and one whose number is not the next.
    let row = log.lines().find(|line| line.starts_with("0,1,")).unwrap();
    for (edited, rule) in [
        (row.replace(",1228", ",1229"), "form"),
        (row.replacen("0,1,1,", "0,2,1,", 1), "causality"),
    ] {
        let found = broken(&without_crc(&log.replacen(row, &edited, 1)));
        assert!(
            edited != row && found.contains(&rule),
            "{edited}: {found:?}"
        );
    }
}

#[test]
fn arrivals_above_the_rate_of_the_link_are_warned_of_and_run() {
    // 100 transfers of 50 packets of 1500 B in 20 s: 5000 packets, where 2000 go through.
    let rows: Vec<String> = (0..100)
        .map(|number| format!("{}.5,72400", number / 6))
        .collect();
    let plan = arriving(&format!(
        "\"app=arrivals({{time_s,size_bytes;{}}})\"",
        rows.join(";")
    ));
    let warned = |text: &str| plan.notes.iter().any(|note| note.text.contains(text));
    assert!(
        warned("offers 2.5 times the rate of the link"),
        "{:?}",
        plan.notes
    );
    let report = plan.run(plan.runs()[0], &mut NoProbe).unwrap();
    assert_eq!(report.flows[0].transfers_begun, Some(100));
    assert!(report.flows[0].transfers_complete < Some(60));
    let fair = arriving("\"app=arrivals({time_s,size_bytes;0,1000})\"");
    assert!(
        fair.notes
            .iter()
            .all(|note| !note.text.contains("times the rate"))
    );
}

/// Pages of four small objects over two connections, a page a second; by hand. A packet takes 1 ms on the link, and 50 ms each way.
#[test]
fn a_connection_per_object_takes_its_request_and_its_handshake() {
    let pages = |app: &str, handshake: bool| {
        let plan = plan(&format!(
            "link = \"synthetic\"\nrate = \"12Mbps\"\nrtt = \"100ms\"\nduration = \"5s\"\nhandshake = {handshake}\n\
             flow = [\"app=pages(objects=4,size=1448B,connections=2,think=1s{app})\"]\n"
        ));
        let (report, log) = logged(&plan);
        assert_eq!(broken(&log), [""; 0], "{app} {handshake}");
        assert_eq!(report.flows.len(), 1);
        let flows = log.lines().find_map(|line| line.strip_prefix("# flows: "));
        (report.flows[0].clone(), flows.unwrap().to_owned())
    };
    // Requests at 0 arrive after 50 ms; the packets after 101 and 102 ms. The second ones leave then: 101 + 50 + 51 ms, and the last
    // packet waits for the one before it.
    let (open, flows) = pages("", false);
    assert_eq!((open.page_time_p50_s, &*flows), (Some(0.203), "2"));
    let (each, flows) = pages(",persistent=off", false);
    assert_eq!(each.page_time_p50_s, Some(0.203));
    // Pages are at least 1.2 s apart: five begin in 5 s.
    assert_eq!(
        (&*flows, each.pages_begun, each.pages_loaded),
        ("20", Some(5), Some(4))
    );
    assert_eq!(each.packets_sent, 5 * 4);
    // One handshake of 100 ms, or one for each of the two objects after each other.
    let (open, _) = pages("", true);
    assert_eq!(open.page_time_mean_s.map(|mean| mean > 0.203), Some(true));
    let (each, _) = pages(",persistent=off", true);
    assert_eq!(
        (each.page_time_p50_s, each.page_time_p95_s),
        (Some(0.403), Some(0.403))
    );
    assert_eq!(each.completion_time_s, None);
}

#[test]
fn a_new_connection_begins_with_the_initial_window() {
    let time = |app: &str| {
        let plan = plan(&format!(
            "link = \"synthetic\"\nrate = \"50Mbps\"\nrtt = \"100ms\"\nduration = \"30s\"\nloss = \"bernoulli:0.001\"\n\
             flow = [\"cc=cubic,app=pages(objects=10,size=exponential(100kB),connections=1,think=10ms{app})\"]\n"
        ));
        let (report, log) = logged(&plan);
        assert_eq!(broken(&log), [""; 0], "{app}");
        report.flows[0].page_time_mean_s.unwrap()
    };
    // Of 69 packets, 10, 20 and 39 leave in three round trips; an open window needs one or two.
    let (open, each) = (time(""), time(",persistent=off"));
    assert!(each > 1.3 * open, "{each}, {open}");
}

/// Answers of 207 packets over 100 ms: 10, 20, 40, 80 and the rest leave in five round trips of a new window.
#[test]
fn a_window_restarts_after_a_pause() {
    let answers = |rule: &str, every: &str, cc: &str| {
        let plan = plan(&format!(
            "link = \"synthetic\"\nrate = \"100Mbps\"\nrtt = \"100ms\"\nduration = \"40s\"\nbuffer = \"1000pkt\"\n{rule}\n\
             flow = [\"cc={cc},app=request(down=300kB,every={every})\"]\n"
        ));
        let report = plan.run(plan.runs()[0], &mut NoProbe).unwrap();
        let metrics = report.flows[0].clone();
        (
            metrics.response_time_mean_s.unwrap(),
            metrics.response_time_p50_s.unwrap(),
        )
    };
    let off = "idle_restart = \"off\"";
    let (_, kept) = answers(off, "4s", "newreno");
    let (_, restarted) = answers("", "4s", "newreno");
    assert!(kept < 0.15 && restarted > 0.4, "{kept}, {restarted}");
    assert_eq!(
        answers("idle_restart = \"linux\"", "4s", "newreno"),
        answers("", "4s", "newreno")
    );
    let (_, rfc) = answers("idle_restart = \"rfc5681\"", "4s", "newreno");
    assert!((rfc - restarted).abs() < 0.01, "{rfc}, {restarted}");
    // The next answer follows within an RTO of 300 ms.
    assert_eq!(
        answers("", "200ms", "newreno"),
        answers(off, "200ms", "newreno")
    );
    // BBR keeps its model.
    assert_eq!(answers("", "4s", "bbr"), answers(off, "4s", "bbr"));
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

/// A proxy may share its buffer with connections that stay open, and give all of it to those that open later.
#[test]
fn split_paths_carry_pages_and_loads() {
    let base = "link = \"synthetic\"\nrate = \"10Mbps\"\nrtt = \"60ms\"\nduration = \"5s\"\npath = \"split\"\n";
    let loaded = |more: &str| {
        let report = logged(&plan(&format!("{base}{more}"))).0;
        report.total.metrics.pages_loaded.unwrap()
    };
    let pages = |more: &str| {
        format!("flow = [\"app=pages(size=20kB,objects=5,connections=2,think=500ms{more})\"]\n")
    };
    assert!(loaded(&pages("")) > 3);
    let whole = format!("split_window = \"whole\"\n{}", pages(",persistent=off"));
    assert!(loaded(&whole) > 3);
}

/// Arrivals at the end of the run and after it send nothing, over TCP and UDP, and are said.
#[test]
fn arrivals_that_are_not_before_the_end_send_nothing() {
    let base = "link = \"synthetic\"\nrate = \"2Mbps\"\nrtt = \"60ms\"\nduration = \"1s\"\n";
    for over in ["tcp", "udp"] {
        for at in ["1", "100"] {
            let flow = format!("app=arrivals({{time_s,size_bytes;{at},1000}},over={over})");
            let plan = plan(&format!("{base}flow = [\"{flow}\"]\n"));
            let said = "1 of 1 arrivals are not before the end";
            assert!(plan.notes.iter().any(|note| note.text.contains(said)));
            let (report, log) = logged(&plan);
            assert_eq!(report.total.metrics.packets_sent, 0, "{over} {at}");
            assert_eq!(log.lines().filter(|line| line.starts_with("0,")).count(), 0);
        }
    }
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
