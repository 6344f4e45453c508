//! The examples of docs/extending.md from outside the crate, and a check that the page shows their code.

#[path = "extending/application.rs"]
pub(crate) mod application;
#[path = "extending/host.rs"]
pub(crate) mod host;
#[path = "extending/link.rs"]
mod link;
#[path = "extending/model.rs"]
mod model;
#[path = "extending/queue.rs"]
mod queue;
#[path = "../../../examples/own-control/src/scalable.rs"]
mod scalable;
#[path = "extending/tcp.rs"]
pub(crate) mod tcp;

use std::path::Path;

use crate::{any, run};

use fluid_tcp::congestion::{self, Algorithm};
use fluid_tcp::endpoint::Profile;
use fluid_tcp::simulation::metrics::{Metrics, RunReport, Total};
use fluid_tcp::simulation::probe::NoProbe;
use fluid_tcp::simulation::{Flow, Setup};
use tmt_core::named::{Entry, Family};
use tmt_core::types::{BitRate, Span, to_f64};
use tmt_link::queue::{self as queues, Buffer, Discipline};

use self::link::EveryNth;
use self::queue::PATIENCE;
use self::scalable::SCALABLE;

/// A minute of one flow, with an RTT of 100 ms and a buffer of 100 packets.
fn setup(algorithm: Algorithm) -> Setup {
    let flow = Flow::new(algorithm, Profile::Rfc.endpoint());
    Setup::new(vec![flow], Span::from_millis(100), Span::from_secs(60))
}

/// A run over a link of 12 Mbit/s, one packet per millisecond.
fn simulate(setup: &Setup) -> RunReport {
    let link = setup.synthetic_link(BitRate(12_000_000), None);
    run(setup, link.unwrap(), &mut NoProbe).unwrap()
}

/// Number of packets in a minute at the rate of the link.
const FULL: f64 = 60_000.0;

#[test]
fn an_external_congestion_control_is_parsed_and_run_like_built_in_ones() {
    let controls = [congestion::ENTRIES, &[&SCALABLE]].concat();
    let read = |text| Algorithm::parse_with(text, &controls);
    let shown = read("scalable:gain=0.02").unwrap().to_string();
    assert_eq!(shown, "scalable:gain=0.02");
    assert_eq!(read("cubic").unwrap(), "cubic".parse().unwrap());
    assert!("scalable".parse::<Algorithm>().is_err());
    let error = read("scalable:gain=2").unwrap_err().to_string();
    assert!(
        error.contains("from 0 to 1: scalable[:gain=0.01]"),
        "{error}"
    );
    let sent = |text| {
        let report = simulate(&setup(read(text).unwrap()));
        to_f64(report.total.metrics.packets_delivered)
    };
    assert!(sent("scalable") > 0.95 * FULL);
    let recoveries = |text| {
        let report = simulate(&setup(read(text).unwrap()));
        report.total.metrics.fast_recoveries
    };
    // Without growth, the window falls by eighths until it fits, and then stays.
    assert!(recoveries("scalable:gain=0") < recoveries("scalable:gain=0.1"));
}

#[test]
fn an_external_queue_is_parsed_and_run_like_built_in_ones() {
    let queues = [queues::ENTRIES, &[&PATIENCE]].concat();
    let read = |text| Discipline::parse_with(text, &queues).unwrap();
    assert_eq!(read("patience").to_string(), "patience:limit=50ms");
    let run = |text| {
        let setup = Setup {
            discipline: read(text),
            buffer: Buffer::Packets(1000),
            ..setup("cubic".parse().unwrap())
        };
        simulate(&setup).total.metrics
    };
    for (queue, limit) in [("patience", 0.05), ("patience:limit=20ms", 0.02)] {
        let metrics = run(queue);
        assert!(metrics.queueing_delay_max_s.unwrap() <= limit, "{queue}");
        assert!(metrics.packets_dropped > 0, "{queue}");
    }
    assert!(run("drop-tail").queueing_delay_max_s.unwrap() > 0.05);
}

#[test]
fn an_external_link_is_run_like_built_in_ones() {
    let setup = setup("fixed:50".parse().unwrap());
    let link = EveryNth {
        n: 10,
        service: Span::from_millis(1),
        propagation: setup.rtt.half(),
        served: 0,
    };
    let report = run(&setup, any(link), &mut NoProbe).unwrap();
    let (served, metrics) = (report.total.packets_served, &report.total.metrics);
    assert_eq!(metrics.packets_lost, served / 10);
    assert!(metrics.packets_delivered > 10_000, "{metrics:?}");
}

#[test]
fn an_external_model_passes_the_checks_of_built_in_ones() {
    tmt_core::model::check_registry(&[&model::MODEL]);
    let rate = model::MODEL
        .run(model::MODEL.example)
        .unwrap()
        .get("rate")
        .unwrap();
    assert!((rate - 40.0).abs() < 1e-12);
}

#[test]
fn every_metric_reaches_json_tables_and_means_from_its_line() {
    let report = simulate(&setup("cubic".parse().unwrap()));
    let json = serde_json::to_value(&report).unwrap();
    for metric in Metrics::ALL {
        assert!(!metric.about.is_empty() && !metric.about.starts_with(' '));
        for part in [&json["total"], &json["flows"][0]] {
            let value = (metric.value)(&report.total.metrics);
            assert_eq!(part[metric.name].as_f64(), value, "{}", metric.name);
        }
    }
    let rows = Metrics::ALL.iter().filter(|metric| metric.row.is_some());
    assert_eq!(rows.count(), Metrics::rows().len());
    let numbers: Vec<&str> = report.total.numbers().map(|(name, _)| name).collect();
    for name in ["goodput_bps", "delay_p99_s", "link_utilisation"] {
        assert!(numbers.contains(&name), "{name}");
    }
    let always = Total::ALL.iter().filter(|metric| !metric.is_optional);
    for name in always.map(|metric| metric.name) {
        assert!(json["total"].get(name).is_some(), "{name}");
    }
}

/// All lists of entries come from the registry.
#[test]
fn names_forms_and_examples_are_those_of_the_entries() {
    fn check<M: Family>(entries: &[&'static Entry<M>]) {
        let names = tmt_core::named::Choice::<M>::names();
        assert_eq!(names.len(), entries.len());
        for (name, entry) in names.into_iter().zip(entries) {
            assert_eq!(name, entry.name);
            assert!(!entry.examples.is_empty(), "{name}");
            assert!(entry.examples.iter().all(|text| text.starts_with(name)));
        }
    }
    check(congestion::ENTRIES);
    check(queues::ENTRIES);
}

/// Each block of code on the page that names a file is part of that file.
#[test]
fn the_code_on_the_page_is_the_code_of_these_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let walks = std::fs::read_to_string(root.join("docs/extending.md")).unwrap();
    let mut checked = 0;
    for block in walks.split("```rust ").skip(1) {
        let (file, rest) = block.split_once('\n').unwrap();
        let (code, _) = rest.split_once("```").unwrap();
        let source = std::fs::read_to_string(root.join(file)).unwrap();
        assert!(source.contains(code), "{file} has no\n{code}");
        checked += 1;
    }
    assert!(checked >= 6, "{checked} blocks");
}
