//! Queue disciplines in runs: what their documents promise, and every one on every link, audited.

use fluid_tcp::congestion::Algorithm;
use fluid_tcp::endpoint::{Endpoint, Transmission};
use fluid_tcp::simulation::probe::{NoProbe, Probe};
use fluid_tcp::simulation::{Flow, Setup, SplitWindow};
use tmt_core::types::{BitRate, Bytes, Span, Time};
use tmt_link::queue::{self, Buffer};
use tmt_link::timeline::GeneratedSlots;
use tmt_link::{CoupledLink, Hold, InOrder, Segmentation, Service};

use crate::{audited, run};

/// Queueing delays of the services from a time on.
#[derive(Default)]
struct Waits {
    enqueued: std::collections::HashMap<u64, Time>,
    waits: Vec<Span>,
}

impl Probe for Waits {
    fn on_enqueued(&mut self, now: Time, transmission: Transmission) {
        self.enqueued.insert(transmission.ordinal, now);
    }

    fn on_service(&mut self, transmission: Transmission, service: &Service) {
        let enqueued = self.enqueued.remove(&transmission.ordinal).unwrap();
        if enqueued > Time::ZERO.saturating_add(Span::from_secs(20)) {
            self.waits.push(service.start.since(enqueued));
        }
    }
}

/// A run over a synthetic link of 10 Mbit/s.
fn setup(flows: Vec<Flow>, queue: &str, rtt_ms: u32, duration_s: u32) -> Setup {
    Setup {
        discipline: queue.parse().unwrap(),
        buffer: Buffer::Packets(1000),
        ..Setup::new(
            flows,
            Span::from_millis(rtt_ms),
            Span::from_secs(duration_s),
        )
    }
}

fn bulk() -> Flow {
    Flow::new(Algorithm::default(), Endpoint::default())
}

#[test]
fn pie_holds_the_median_queueing_delay_near_its_target() {
    // 15 ms within 20 % (RFC 8033, Sec. 4), after the slow starts.
    for number in [5, 50] {
        let flows = (0..number).map(|i| bulk().starting(Span::from_millis(20 * i)));
        let setup = setup(flows.collect(), "pie", 100, 80);
        let link = setup.synthetic_link(BitRate(10_000_000), None).unwrap();
        let mut probe = Waits::default();
        run(&setup, link, &mut probe).unwrap();
        let waits = &mut probe.waits;
        assert!(waits.len() > 40_000);
        waits.sort_unstable();
        let median = waits[waits.len() / 2];
        let near = Span::from_millis(12)..=Span::from_millis(18);
        assert!(near.contains(&median), "{number} flows: {median}");
    }
}

#[test]
fn fq_codel_shares_the_link_between_near_and_far() {
    // 20 ms and 80 ms of RTT (RFC 8290, Sec. 1).
    let far = Flow {
        terrestrial_rtt: Some(Span::from_millis(60)),
        ..bulk()
    };
    let jain = |queue: &str| {
        let setup = setup(vec![bulk(), far.clone()], queue, 20, 100);
        let link = setup.synthetic_link(BitRate(10_000_000), None).unwrap();
        let report = run(&setup, link, &mut NoProbe).unwrap();
        let flows = report.flows.iter();
        let rates: Vec<f64> = flows.map(|it| it.goodput_bps.unwrap()).collect();
        let sum: f64 = rates.iter().sum();
        assert!(sum > 9e6, "{queue}: {rates:?}");
        sum * sum / (2.0 * rates.iter().map(|rate| rate * rate).sum::<f64>())
    };
    assert!(jain("fq-codel") > 0.98, "{}", jain("fq-codel"));
    assert!(jain("codel") < 0.95, "{}", jain("codel"));
}

#[test]
fn priority_gives_the_highest_class_the_link() {
    let first = Flow { class: 1, ..bulk() };
    let mut setup = setup(vec![bulk(), first], "priority", 100, 60);
    setup.buffer = Buffer::Packets(100);
    let link = setup.synthetic_link(BitRate(10_000_000), None).unwrap();
    let report = run(&setup, link, &mut NoProbe).unwrap();
    let flows = report.flows.iter();
    let rates: Vec<f64> = flows.map(|it| it.goodput_bps.unwrap()).collect();
    assert!(rates[1] > 8.5e6 && rates[0] < 1e6, "{rates:?}");
}

#[test]
fn every_discipline_works_on_every_link_and_path() {
    let texts = queue::ENTRIES.iter().flat_map(|entry| entry.examples);
    for (text, is_split) in texts.flat_map(|text| [(text, false), (text, true)]) {
        let flows = [0, 3, 7].map(|class| Flow { class, ..bulk() });
        let mut setup = setup(flows.to_vec(), text, 60, 10);
        setup.buffer = Buffer::Packets(30);
        setup.path.terrestrial_rtt = Span::from_millis(20);
        setup.path.split = is_split.then_some(SplitWindow::Share);
        let name = format!("{text}, split {is_split}");

        let rate = BitRate(2_000_000);
        let link = setup.synthetic_link(rate, None).unwrap();
        let head = audited::head(&setup, "synthetic", "rate_bps", rate.0);
        let (report, audit) = audited::audited(&setup, link, &head, None);
        audited::agree(&setup, &report, &audit).unwrap();
        let served = report.total.packets_served;
        assert!(served > 1400, "{name}: {served}");

        let slots = GeneratedSlots::new(
            rate,
            Bytes(33),
            Span::from_secs(10),
            "bernoulli:0.1".parse().unwrap(),
        );
        let packets = Segmentation::whole(setup.packet, 47);
        let link = CoupledLink {
            in_order: InOrder::Flow,
            hold: if is_split {
                Hold::Acknowledged
            } else {
                Hold::Sent
            },
            ..CoupledLink::new(slots.unwrap().trace(1), "arq".parse().unwrap(), packets)
        };
        let mut head = audited::head(
            &setup,
            "coupled",
            "units_per_packet",
            link.units_per_packet(),
        );
        head.set("in_order", "flow");
        head.set("hold", link.hold.to_string());
        head.set("interleave", "1");
        head.set("scheme", "arq");
        head.set("feedback_delay_ns", "0");
        let report = run(&setup, &link, &mut NoProbe).unwrap();
        let (packets, slots) = audited::with_slots(&setup, &link, &head);
        let audit = fluid_tcp::audit::audit_with_slots(&packets[..], &slots[..]).unwrap();
        audited::agree(&setup, &report, &audit).unwrap();
        assert!(report.total.packets_served > 1000, "{name}");
    }
}
