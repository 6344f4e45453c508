//! Return links that replace ACKs or assign capacity on demand, in whole runs.

use fluid_tcp::audit::audit;
use fluid_tcp::experiment::{Experiment, InMemory, ParameterFile, Plan};
use fluid_tcp::log::PacketLog;
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::NoProbe;
use tmt_core::format::table::TableForm;
use tmt_core::types::Metadata;

fn plan(file: &str) -> Plan {
    let file = ParameterFile::parse(file).unwrap_or_else(|error| panic!("{error}:\n{file}"));
    let experiment: Experiment = file.experiment;
    let plan = experiment.resolve(&InMemory);
    plan.unwrap_or_else(|error| panic!("{error}"))
}

/// Report of the first run, whose log the auditor accepts.
fn audited(file: &str) -> RunReport {
    logged(file).0
}

/// The same with the rows of the log.
fn logged(file: &str) -> (RunReport, Vec<String>) {
    let plan = plan(file);
    let run = plan.runs()[0];
    let setup = plan.setup(run);
    let mut head = Metadata::new();
    head.set("tool", "test");
    plan.describe(&mut head, &setup, run.seed);
    let mut log = PacketLog::new(Vec::new(), TableForm::Text(None), &head, &setup).unwrap();
    let report = plan.run(run, &mut log).unwrap();
    assert_eq!(report, plan.run(run, &mut NoProbe).unwrap());
    let log = log.finish().unwrap();
    let audit = audit(&log[..], None).unwrap();
    assert!(audit.passed(), "{:?}", audit.rules);
    let rows = String::from_utf8(log).unwrap();
    let rows = rows.lines().filter(|line| !line.starts_with('#'));
    (report, rows.map(str::to_owned).collect())
}

/// 5 Mbit/s of data send an ACK of 52 B every 4.8 ms, 87 kbit/s. A return path of 10 kbit/s limits them if all of its ACKs
/// wait, unless those that wait become one.
#[test]
fn filtering_lifts_the_limit_of_a_narrow_return_path() {
    let of = |filter: &str| {
        audited(&format!(
            "link = \"synthetic\"\nrate = \"5Mbps\"\nrtt = \"100ms\"\nduration = \"20s\"\nreturn_rate = \"10kbps\"\nreturn_buffer = \"inf\"\n\
             ack_filter = \"{filter}\"\nrwnd = \"40pkt\"\n"
        ))
    };
    let (all, filtered, thinned) = (of("off"), of("filter"), of("thin:n=8,hold=20ms"));
    let goodput = |report: &RunReport| report.total.metrics.goodput_bps.unwrap();
    assert!(
        goodput(&filtered) > 1.2 * goodput(&all),
        "{} {}",
        goodput(&filtered),
        goodput(&all)
    );
    assert_eq!(all.total.metrics.acks_filtered, None);
    for report in [&filtered, &thinned] {
        let metrics = &report.total.metrics;
        assert!(metrics.acks_filtered.unwrap() > metrics.acks_sent / 4);
        let waits = report.total.ack_queueing_delay_p95_s.unwrap();
        assert!(
            10.0 * waits < all.total.ack_queueing_delay_p95_s.unwrap(),
            "{waits}"
        );
    }
}

/// Where no ACK waits, filtering changes nothing but the row that counts.
#[test]
fn a_filter_without_a_queue_changes_nothing() {
    let of = |filter: &str| {
        audited(&format!(
            "link = \"synthetic\"\nrate = \"2Mbps\"\nrtt = \"100ms\"\nduration = \"10s\"\nreturn_rate = \"10Mbps\"\nreturn_loss = \"bernoulli:0.05\"\n\
             ack_filter = \"{filter}\"\n"
        ))
    };
    let (all, mut filtered) = (of("off"), of("filter"));
    for metrics in filtered
        .flows
        .iter_mut()
        .chain([&mut filtered.total.metrics])
    {
        assert_eq!(metrics.acks_filtered.take(), Some(0));
    }
    assert_eq!(all, filtered);
}

const LINK: &str = "link = \"synthetic\"\nrate = \"5Mbps\"\nrtt = \"600ms\"\nduration = \"20s\"\n";

#[test]
fn a_constant_assignment_is_a_fixed_rate() {
    for more in [
        "",
        "return_loss = \"bernoulli:0.05\"\n",
        "ack_filter = \"thin\"\n",
        "return_buffer = \"5pkt\"\n",
    ] {
        let of = |rate: &str| logged(&format!("{LINK}{more}{rate}\n"));
        let assigned = of("return_capacity = \"cra:rate=20kbps\"");
        assert_eq!(assigned, of("return_rate = \"20kbps\""), "{more}");
    }
}

/// Column of a row of a log, s.
fn column(rows: &[String], row: usize, name: &str) -> f64 {
    let place = rows[0]
        .split(',')
        .position(|column| column == name)
        .unwrap();
    rows[row].split(',').nth(place).unwrap().parse().unwrap()
}

/// The ACK of one packet waits for the next frame and a request round trip, and is then sent for one frame, since the rate is
/// requested that empties the queue within one.
#[test]
fn the_first_ack_on_demand_waits_a_request_round_trip_and_at_most_a_frame() {
    for (frame, rtt, requests_after) in [
        ("50ms", "", 0.6),
        ("40ms", ",rtt=900ms", 0.9),
        ("400ms", "", 0.6),
    ] {
        let (report, rows) = logged(&format!(
            "{LINK}return_capacity = \"rbdc:max=512kbps,frame={frame}{rtt}\"\nfirst_rto = \"3s\"\ntail_loss_probe = false\nflow = [\"cc=cubic,bytes=1kB\", \"cc=cubic,start=10s\"]\n"
        ));
        let frame: f64 = frame.trim_end_matches("ms").parse::<f64>().unwrap() / 1000.0;
        assert_eq!(report.flows[0].acks_sent, 1);
        let delivered = column(&rows, 1, "delivered_s");
        let waited = column(&rows, 1, "acked_s") - delivered - 0.3 - frame;
        let to_frame = (delivered / frame).ceil() * frame - delivered;
        assert!(
            (waited - (to_frame + requests_after)).abs() < 1e-6,
            "{waited}"
        );
        assert!(
            (requests_after..=requests_after + frame).contains(&waited),
            "{waited}"
        );
    }
}

/// A rate on request carries a transfer, with an RTT more while it waits for requests; more than is needed is assigned.
#[test]
fn a_transfer_runs_over_capacity_on_demand() {
    let of = |capacity: &str| audited(&format!("{LINK}return_capacity = \"{capacity}\"\n"));
    let fixed = of("cra:rate=256kbps");
    let asked = of("rbdc:max=256kbps,frame=50ms,cra=1kbps");
    let goodput = |report: &RunReport| report.total.metrics.goodput_bps.unwrap();
    assert!(goodput(&asked) < goodput(&fixed) && goodput(&asked) > 0.2 * goodput(&fixed));
    let used = asked.total.return_utilisation.unwrap();
    assert!((0.2..=1.0).contains(&used), "{used}");
    let waited = asked.total.ack_queueing_delay_max_s.unwrap();
    assert!(waited < 0.7, "{waited}");
}
