//! Runs a queue, a hop, a source and a code of this crate, each beside a built-in one.

mod frames;
mod linear;
mod on_off;
mod red;

use fluid_tcp::congestion::Algorithm;
use fluid_tcp::endpoint::Profile;
use fluid_tcp::simulation::{Flow, Route, Setup, probe::NoProbe, run};
use tmt_core::types::{BitRate, Bytes, Span};
use tmt_link::queue::{self, Discipline};
use tmt_link::timeline::GeneratedSlots;
use tmt_link::{CoupledLink, InOrder, Segmentation};

use frames::Frames;
use linear::Linear;
use on_off::OnOff;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// One flow for a minute, with an RTT of 100 ms and a buffer of 100 packets.
fn setup() -> Setup {
    let flow = Flow::new(Algorithm::default(), Profile::Linux.endpoint());
    Setup::new(vec![flow], Span::from_millis(100), Span::from_secs(60))
}

/// HARQ on slots of 33 B, one in twenty erased, at 2.34 Mbit/s.
fn link(setup: &Setup) -> Result<CoupledLink> {
    let (rate, lldu) = (BitRate(2_340_000), Bytes(33));
    let slots = GeneratedSlots::new(rate, lldu, Span::from_secs(60), "bernoulli:0.05".parse()?);
    let slots = slots.ok_or("the rate leaves no slot")?.trace(1);
    let packets = Segmentation::whole(setup.packet, 47);
    Ok(CoupledLink {
        in_order: InOrder::Flow,
        ..CoupledLink::new(slots, "harq:10/12".parse()?, packets)
    })
}

fn main() -> Result<()> {
    let queues = [queue::ENTRIES, &[&red::RED]].concat();
    for text in ["drop-tail", "codel:target=20ms", "own-red"] {
        let mut setup = setup();
        setup.discipline = Discipline::parse_with(text, &queues)?;
        let metrics = run(&setup, link(&setup)?, &mut NoProbe)?.total.metrics;
        let goodput = metrics.goodput_bps.unwrap_or_default() / 1e6;
        let delay = metrics.delay_mean_s.unwrap_or_default() * 1e3;
        println!("queue {text}: goodput {goodput:.3} Mbps, mean delay {delay:.1} ms");
    }

    let setup = setup();
    for (name, overhead) in [("ideal", None), ("linear over 2 elements", Some(2.0))] {
        let link = link(&setup)?;
        let report = match overhead {
            None => run(&setup, link, &mut NoProbe)?,
            Some(q) => run(
                &setup,
                link.with_code(Linear::new(q, setup.seed)),
                &mut NoProbe,
            )?,
        };
        let slots = report.total.lldus_used.unwrap_or_default();
        let goodput = report.total.metrics.goodput_bps.unwrap_or_default() / 1e6;
        println!("code {name}: goodput {goodput:.3} Mbps in {slots} slots");
    }

    for (name, length) in [
        ("none", None),
        ("25 ms, 8 packets", Some(Span::from_millis(25))),
    ] {
        let mut route = Route::new(link(&setup)?);
        if let Some(length) = length {
            route = route.behind(Frames::new(length, 8));
        }
        let metrics = run(&setup, route, &mut NoProbe)?.total.metrics;
        let goodput = metrics.goodput_bps.unwrap_or_default() / 1e6;
        let delay = metrics.delay_mean_s.unwrap_or_default() * 1e3;
        println!("frames {name}: goodput {goodput:.3} Mbps, mean delay {delay:.1} ms");
    }

    let mut setup = setup;
    setup.flows = vec![setup.flows.remove(0).with(|context| OnOff {
        size: Bytes(10_000),
        interval: Span::from_millis(100),
        on: Span::from_secs(5),
        off: Span::from_secs(10),
        next: context.start,
        begin: context.start,
    })];
    let metrics = run(&setup, link(&setup)?, &mut NoProbe)?.total.metrics;
    let delivered = metrics.packets_delivered;
    println!("on-off source: {delivered} packets delivered");
    Ok(())
}
