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
    let plan = plan(file);
    let run = plan.runs()[0];
    let setup = plan.setup(run);
    let mut head = Metadata::new();
    head.set("tool", "test");
    plan.describe(&mut head, &setup, run.seed);
    let mut log = PacketLog::new(Vec::new(), TableForm::Text(None), &head, &setup).unwrap();
    let report = plan.run(run, &mut log).unwrap();
    assert_eq!(report, plan.run(run, &mut NoProbe).unwrap());
    let report_of_audit = audit(&log.finish().unwrap()[..], None).unwrap();
    assert!(report_of_audit.passed(), "{:?}", report_of_audit.rules);
    report
}

/// 5 Mbit/s of data send an ACK of 52 B every 4.8 ms: 87 kbit/s. A return path of 20 kbit/s limits them, unless ACKs that
/// wait become one.
#[test]
fn filtering_lifts_the_limit_of_a_narrow_return_path() {
    let of = |filter: &str| {
        audited(&format!(
            "link = \"synthetic\"\nrate = \"5Mbps\"\nrtt = \"100ms\"\nduration = \"20s\"\nreturn_rate = \"20kbps\"\nreturn_buffer = \"20pkt\"\n\
             ack_filter = \"{filter}\"\nflow = [\"cc=cubic\", \"cc=newreno,start=1s\"]\n"
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
        assert!(report.total.ack_queueing_delay_p95_s < all.total.ack_queueing_delay_p95_s);
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
