//! Paths beside the link: before the gateway and behind the link, against closed forms, and audited.

use fluid_tcp::audit::audit;
use fluid_tcp::congestion::Algorithm;
use fluid_tcp::endpoint::{Application, Endpoint, Supply, Transmission};
use fluid_tcp::experiment::{Experiment, InMemory, ParameterFile, Plan};
use fluid_tcp::log::PacketLog;
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::{NoProbe, Probe};
use fluid_tcp::simulation::{Flow, Setup};
use proptest::prelude::*;
use tmt_core::format::table::TableForm;
use tmt_core::types::{BitRate, Bytes, Metadata, Span, Time};
use tmt_link::hop::SidePath;
use tmt_link::queue::Buffer;

use crate::run;

use super::extending::host::{DatagramReceiver, DatagramSender, HEADERS};

/// Data of given sizes at given times, ns.
#[derive(Debug, Clone)]
struct Listed(Vec<(u64, u64)>);

impl Application for Listed {
    fn supply(&mut self, now: Time) -> Supply {
        let Some(&(at, size)) = self.0.first() else {
            return Supply::Ended;
        };
        if now.as_nanos() < at {
            return Supply::At(Time::from_nanos(at).unwrap());
        }
        self.0.remove(0);
        Supply::Data(Bytes(size - HEADERS))
    }
}

/// Times at which packets arrive, by number.
#[derive(Default)]
struct Arrivals(Vec<(u64, u64)>);

impl Probe for Arrivals {
    fn on_delivered(&mut self, now: Time, transmission: Transmission) {
        self.0.push((transmission.ordinal, now.as_nanos()));
    }
}

/// Departures of a queue without a limit that serves a byte in `per_byte` ns.
fn departures(arrivals: &[u64], sizes: &[u64], per_byte: u64) -> Vec<u64> {
    let mut free = 0;
    let served = arrivals.iter().zip(sizes);
    served
        .map(|(arrival, size)| {
            free = free.max(*arrival) + size * per_byte;
            free
        })
        .collect()
}

fn rate(per_byte: u64) -> BitRate {
    BitRate(8_000_000_000 / per_byte)
}

proptest! {
    /// D(k) = max(D(k - 1), A(k)) + S(k) on each hop, for equal and unequal sizes: the terrestrial path, the link, the far path.
    #[test]
    fn hops_in_series_are_queues_in_series(
        packets in prop::collection::vec((0u64..4000, prop_oneof![Just(1500u64), 60u64..1500]), 1..60),
        per_byte in prop::array::uniform3(prop::sample::select(vec![1u64, 2, 4, 5])),
        sides in prop::array::uniform2(any::<bool>()),
    ) {
        let mut at = 0;
        let list: Vec<(u64, u64)> = packets.iter().map(|(gap, size)| { at += gap; (at, *size) }).collect();
        let data = list.clone();
        let flow = Flow::between(|_| (DatagramSender::default(), DatagramReceiver)).with(move |_| Listed(data.clone()));
        let mut setup = Setup::new(vec![flow], Span::from_nanos(2000).unwrap(), Span::from_secs(1));
        setup.buffer = Buffer::UNLIMITED;
        setup.path.terrestrial_rtt = Span::from_nanos(601).unwrap();
        let path = |per_byte| SidePath { rate: Some(rate(per_byte)), ..SidePath::default() };
        setup.side_paths = [sides[0].then(|| path(per_byte[0])), sides[1].then(|| path(per_byte[2]))];
        let link = setup.synthetic_link(rate(per_byte[1]), None).unwrap();
        let mut arrivals = Arrivals::default();
        run(&setup, link, &mut arrivals).unwrap();
        let sizes: Vec<u64> = list.iter().map(|(_, size)| *size).collect();
        let mut times: Vec<u64> = list.iter().map(|(at, _)| at + 300).collect();
        if sides[0] {
            times = departures(&times, &sizes, per_byte[0]);
        }
        times = departures(&times, &sizes, per_byte[1]).iter().map(|at| at + 1000).collect();
        if sides[1] {
            times = departures(&times, &sizes, per_byte[2]);
        }
        let expected: Vec<(u64, u64)> = (0..).zip(times).collect();
        prop_assert_eq!(arrivals.0, expected);
    }
}

/// A drop-tail hop of two packets before the link, with a burst of four and one later, by hand.
#[test]
fn a_full_hop_drops_and_its_drops_are_its_own() {
    let list = Listed(vec![
        (0, 1500),
        (0, 1500),
        (0, 1500),
        (0, 1500),
        (3001, 1500),
    ]);
    let flow = Flow::new(Algorithm::default(), Endpoint::default())
        .over(|_| (DatagramSender::default(), DatagramReceiver))
        .with(move |_| list.clone());
    let mut setup = Setup::new(vec![flow], Span::ZERO, Span::from_secs(1));
    setup.side_paths[0] = Some(SidePath {
        rate: Some(rate(1)),
        buffer: Buffer::Packets(2),
        ..SidePath::default()
    });
    let mut arrivals = Arrivals::default();
    let link = setup.synthetic_link(rate(2), None).unwrap();
    let report = run(&setup, link, &mut arrivals).unwrap();
    // The hop sends at 1500 and 3000 ns, the link until 4500 and 7500 ns; the last leaves them at 4501 and 10 500 ns.
    assert_eq!(arrivals.0, [(0, 4500), (1, 7500), (4, 10_500)]);
    let metrics = &report.total.metrics;
    assert_eq!(metrics.packets_dropped_terrestrial, Some(2));
    assert_eq!((metrics.packets_dropped, metrics.packets_lost), (0, 0));
    assert_eq!(metrics.datagram_loss_ratio, Some(0.4));
    assert_eq!(metrics.packets_dropped_far, None);
    // 1500, 3000 and 1500 ns there; 1500 ns of the second in its queue.
    assert_eq!(metrics.delay_terrestrial_mean_s, Some(2e-6));
    assert_eq!(metrics.delay_propagation_mean_s, Some(0.0));
    assert_eq!(report.total.terrestrial_queueing_delay_max_s, Some(1.5e-6));
}

/// A hop with room for one packet has it again when that has been sent: later, and at that very time.
#[test]
fn a_hop_is_free_when_its_packet_has_left() {
    for side in 0..2 {
        let list = Listed(vec![(0, 1500), (1500, 1500), (1600, 1500), (9000, 1500)]);
        let flow = Flow::new(Algorithm::default(), Endpoint::default())
            .over(|_| (DatagramSender::default(), DatagramReceiver))
            .with(move |_| list.clone());
        let mut setup = Setup::new(vec![flow], Span::ZERO, Span::from_secs(1));
        setup.side_paths[side] = Some(SidePath {
            rate: Some(rate(1)),
            buffer: Buffer::Packets(1),
            ..SidePath::default()
        });
        let mut arrivals = Arrivals::default();
        // The link sends a packet in 1500 ns, too, so that arrivals at a far hop are as far apart.
        let link = setup.synthetic_link(rate(1), None).unwrap();
        run(&setup, link, &mut arrivals).unwrap();
        let expected: &[(u64, u64)] = match side {
            0 => &[(0, 3000), (1, 4500), (3, 12_000)],
            _ => &[(0, 3000), (1, 4500), (2, 6000), (3, 12_000)],
        };
        assert_eq!(arrivals.0, expected, "side {side}");
    }
}

fn plan(file: &str) -> Plan {
    let file = ParameterFile::parse(file).unwrap_or_else(|error| panic!("{error}:\n{file}"));
    let experiment: Experiment = file.experiment;
    let plan = experiment.resolve(&InMemory);
    plan.unwrap_or_else(|error| panic!("{error}"))
}

fn report(file: &str) -> RunReport {
    let plan = plan(file);
    plan.run(plan.runs()[0], &mut NoProbe).unwrap()
}

/// The slower of the hops binds, whichever side it is on.
#[test]
fn the_slowest_hop_binds_on_either_side() {
    for (terrestrial, link, far, binds) in [
        ("3Mbps", "10Mbps", "20Mbps", 0),
        ("20Mbps", "3Mbps", "10Mbps", 1),
        ("10Mbps", "20Mbps", "3Mbps", 2),
    ] {
        let report = report(&format!(
            "link = \"synthetic\"\nrate = \"{link}\"\nrtt = \"60ms\"\nduration = \"30s\"\ncc = \"cubic\"\n\
             terrestrial_rate = \"{terrestrial}\"\nfar_rate = \"{far}\"\n"
        ));
        let total = &report.total;
        // Payload of 1448 of 1500 B.
        let share = total.metrics.goodput_bps.unwrap() / (3e6 * 1448.0 / 1500.0);
        assert!((0.95..=1.0).contains(&share), "{binds}: {share}");
        let used = [
            total.terrestrial_utilisation,
            total.link_utilisation,
            total.far_utilisation,
        ];
        for (hop, used) in used.into_iter().enumerate() {
            assert_eq!(used.unwrap() > 0.95, hop == binds, "{binds}: {used:?}");
        }
        let dropped = [
            total.metrics.packets_dropped_terrestrial.unwrap(),
            total.metrics.packets_dropped,
            total.metrics.packets_dropped_far.unwrap(),
        ];
        for (hop, dropped) in dropped.into_iter().enumerate() {
            assert_eq!(dropped > 0, hop == binds, "{binds}: {dropped:?}");
        }
    }
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

/// First violation of each rule that a log breaks.
fn broken(log: &str) -> Vec<String> {
    let report = audit(log.as_bytes(), None).unwrap();
    let first = |rule: &fluid_tcp::audit::RuleReport| {
        let violation = rule.violations.first()?;
        Some(format!("{}: {violation:?}", rule.rule))
    };
    report.rules.iter().filter_map(first).collect()
}

fn side(name: &'static str) -> impl Strategy<Value = String> {
    let rate = prop::option::of(prop::sample::select(vec![
        "700kbps", "2Mbps", "6Mbps", "40Mbps",
    ]));
    let queue = prop::sample::select(vec!["drop-tail", "codel", "pie", "fq-codel", "red"]);
    let loss = prop::option::of(prop::sample::select(vec![
        "bernoulli:0.01",
        "gilbert-elliott:alpha=0.99,beta=0.8",
    ]));
    (rate, queue, prop::option::of(2u64..60), loss).prop_map(move |(rate, queue, buffer, loss)| {
        let mut lines = String::new();
        if let Some(rate) = rate {
            lines += &format!("{name}_rate = \"{rate}\"\n{name}_queue = \"{queue}\"\n");
            if let Some(buffer) = buffer {
                lines += &format!("{name}_buffer = \"{buffer}pkt\"\n");
            }
        }
        if let Some(loss) = loss {
            lines += &format!("{name}_loss = \"{loss}\"\n");
        }
        lines
    })
}

proptest! {
    /// The auditor finds nothing, every transmission has one fate, and the parts of the delay add up to it.
    #[test]
    fn logs_of_hops_beside_the_link_are_audited(
        near in side("terrestrial"),
        far in side("far"),
        link in prop::sample::select(vec![
            "link = \"synthetic\"\nrate = \"3Mbps\"\nrtt = \"50ms\"\n",
            "link = \"synthetic\"\nrate = \"3Mbps\"\nrtt = \"50ms\"\nqueue = \"codel\"\nloss = \"bernoulli:0.01\"\n",
            "link = \"coupled\"\nscheme = \"arq\"\nchannel = \"bernoulli:0.05\"\nrate = \"3Mbps\"\nrtt = \"50ms\"\n",
        ]),
        split: bool,
        flows in prop::sample::select(vec![
            "flow = [\"cc=cubic\", \"cc=newreno,start=1s,terrestrial-rtt=30ms\"]\n",
            "flow = [\"cc=cubic,bytes=300kB\", \"app=cbr,start=1s\"]\n",
            "cc = \"newreno\"\necn = true\n",
        ]),
        seed in 1u64..1000,
    ) {
        let split = split && !link.contains("loss") && !flows.contains("app");
        let (far, path) = if split { (String::new(), "path = \"split\"\n") } else { (far, "") };
        let marks = ["codel", "red", "pie"].iter().any(|queue| format!("{link}{near}{far}").contains(queue));
        let flows = if marks { flows.to_owned() } else { flows.replace("ecn = true\n", "") };
        let profile = if flows.contains("ecn") { "" } else { "profile = \"rfc\"\n" };
        let plan = plan(&format!("duration = \"6s\"\nterrestrial_rtt = \"7ms\"\nseed = {seed}\n{link}{path}{profile}{near}{far}{flows}"));
        let (report, log) = logged(&plan);
        prop_assert_eq!(broken(&log), Vec::<String>::new(), "{}", plan.settings);
        let totals = audit(log.as_bytes(), None).unwrap().totals.counts;
        let metrics = &report.total.metrics;
        let beside = [
            metrics.packets_dropped_terrestrial, metrics.packets_lost_terrestrial,
            metrics.packets_dropped_far, metrics.packets_lost_far,
        ];
        prop_assert_eq!(beside.into_iter().flatten().sum::<u64>(), totals.gone_beside);
        let parts = [
            metrics.delay_propagation_mean_s, metrics.delay_queue_mean_s, metrics.delay_serialisation_mean_s,
            metrics.delay_wait_mean_s, metrics.delay_terrestrial_mean_s, metrics.delay_far_mean_s,
        ];
        if let Some(mean) = metrics.delay_mean_s {
            let sum: f64 = parts.into_iter().flatten().sum();
            prop_assert!((sum - mean).abs() < 1e-8, "{sum} {mean}");
        }
    }
}

/// A log whose hops send faster than their rate, or that has lost a column's truth, is found.
#[test]
fn a_hop_that_is_faster_than_its_rate_is_found() {
    let plan = plan(
        "link = \"synthetic\"\nrate = \"3Mbps\"\nrtt = \"50ms\"\nduration = \"3s\"\nterrestrial_rate = \"2Mbps\"\nfar_rate = \"1Mbps\"\n",
    );
    let (_, log) = logged(&plan);
    assert_eq!(broken(&log), Vec::<String>::new());
    for (key, slower) in [
        (
            "terrestrial_rate_bps: 2000000",
            "terrestrial_rate_bps: 1990000",
        ),
        ("far_rate_bps: 1000000", "far_rate_bps: 990000"),
        ("far_rate_bps: 1000000", "far_rate_bps: 1010000"),
    ] {
        assert!(log.contains(key));
        let found = broken(&log.replace(key, slower));
        assert!(
            found.iter().any(|rule| rule.starts_with("early")),
            "{found:?}"
        );
    }
}

/// A column, and what becomes of its value.
type Change<'a> = (&'a str, &'a dyn Fn(&str) -> String);

/// A log with one field of one row changed: the first row from the middle on that has these values.
fn changed(log: &str, has: &[(&str, &str)], changes: &[Change<'_>]) -> String {
    let header = log.lines().find(|line| line.starts_with("flow,")).unwrap();
    let column = |name: &str| header.split(',').position(|known| known == name).unwrap();
    let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
    let fits = |line: &String| {
        let fields: Vec<&str> = line.split(',').collect();
        let fits = |(name, value): &(&str, &str)| fields.get(column(name)) == Some(value);
        !line.starts_with(['#', 'f']) && has.iter().all(fits)
    };
    let half = lines.len() / 2;
    let row = lines.iter_mut().skip(half).find(|line| fits(line)).unwrap();
    let mut fields: Vec<String> = row.split(',').map(str::to_owned).collect();
    for (name, change) in changes {
        let field = &mut fields[column(name)];
        *field = change(field);
    }
    *row = fields.join(",");
    lines.join("\n") + "\n"
}

/// Whether a log breaks a rule.
fn breaks(log: &str, rule: &str) -> bool {
    let found = broken(log);
    found.iter().any(|it| it.starts_with(rule))
}

#[test]
fn what_a_hop_does_to_its_buffer_is_found() {
    for side in ["terrestrial", "far"] {
        let plan = plan(&format!(
            "link = \"synthetic\"\nrate = \"20Mbps\"\nrtt = \"50ms\"\nduration = \"5s\"\ncc = \"reno\"\nprofile = \"rfc\"\n\
             {side}_rate = \"2Mbps\"\n{side}_buffer = \"12pkt\"\n"
        ));
        let (_, log) = logged(&plan);
        assert_eq!(broken(&log), Vec::<String>::new());
        let of_buffer = |packets: &str| {
            let key = format!("{side}_buffer: 12pkt");
            assert!(log.contains(&key));
            log.replace(&key, &format!("{side}_buffer: {packets}"))
        };
        // One packet too many in the buffer, and drops although there is room, also in bytes.
        assert!(breaks(&of_buffer("11pkt"), "queue"));
        assert!(breaks(&of_buffer("13pkt"), "queue"));
        assert!(!breaks(&of_buffer("18000B"), "queue"));
        assert!(breaks(&of_buffer("17999B"), "queue"));
        assert!(breaks(&of_buffer("20000B"), "queue"));
        // A packet that the hop has swallowed: it neither leaves nor is dropped.
        let empty: &dyn Fn(&str) -> String = &|_| String::new();
        let open: &dyn Fn(&str) -> String = &|_| "open".to_owned();
        let swallowed = changed(
            &log,
            &[("fate", side)],
            &[("fate", open), ("gone_s", empty)],
        );
        assert!(breaks(&swallowed, "fifo"), "{:?}", broken(&swallowed));
        // Losses without a cause, and drops whose times are left away.
        let silent = changed(&log, &[("fate", side)], &[("gone_s", empty)]);
        assert!(breaks(&silent, "fifo"), "{:?}", broken(&silent));
        let column = |name: &str| {
            let header = log.lines().find(|line| line.starts_with("flow,"));
            header.unwrap().split(',').position(|known| known == name)
        };
        let (fate, gone) = (column("fate").unwrap(), column("gone_s").unwrap());
        let blank = |line: &str| {
            let mut fields: Vec<&str> = line.split(',').collect();
            if fields.get(fate) == Some(&side) {
                fields[gone] = "";
            }
            fields.join(",") + "\n"
        };
        let blanked: String = log.lines().map(blank).collect();
        assert!(breaks(&blanked, "story"), "{:?}", broken(&blanked));
        // One that is dropped later than it arrived, by a queue that drops on arrival.
        let later: &dyn Fn(&str) -> String =
            &|at| format!("{:.9}", at.parse::<f64>().unwrap() + 0.001);
        let late = changed(&log, &[("fate", side)], &[("gone_s", later)]);
        assert!(breaks(&late, "early"), "{:?}", broken(&late));
        let sooner: &dyn Fn(&str) -> String =
            &|at| format!("{:.9}", at.parse::<f64>().unwrap() - 0.001);
        let early = changed(&log, &[("fate", side)], &[("gone_s", sooner)]);
        assert!(breaks(&early, "story"), "{:?}", broken(&early));
        // A packet that was neither dropped nor lost beside the link.
        let found = changed(
            &log,
            &[("fate", "delivered")],
            &[("gone_s", &|_| "1.0".to_owned())],
        );
        assert!(breaks(&found, "form"), "{:?}", broken(&found));
        // A packet that left a service later than it did, behind the next one.
        let name = if side == "far" {
            "delivered_s"
        } else {
            "enqueued_s"
        };
        let behind: &dyn Fn(&str) -> String =
            &|at| format!("{:.9}", at.parse::<f64>().unwrap() + 0.007);
        let swapped = changed(&log, &[("fate", "delivered")], &[(name, behind)]);
        assert!(breaks(&swapped, "fifo"), "{:?}", broken(&swapped));
    }
}

#[test]
fn a_hop_without_a_rate_takes_no_time() {
    let plan = plan(
        "link = \"synthetic\"\nrate = \"2Mbps\"\nrtt = \"50ms\"\nduration = \"5s\"\nfar_loss = \"bernoulli:0.01\"\n",
    );
    let (_, log) = logged(&plan);
    assert_eq!(broken(&log), Vec::<String>::new());
    let later: &dyn Fn(&str) -> String = &|at| format!("{:.9}", at.parse::<f64>().unwrap() + 0.001);
    let late = changed(&log, &[("fate", "far")], &[("gone_s", later)]);
    assert!(breaks(&late, "story"), "{:?}", broken(&late));
}
