//! Two TCP flows, first over a link of constant rate, then over the timeline of an ARQ on erased slots.

use fluid_tcp::congestion::{Algorithm, BBR, CUBIC};
use fluid_tcp::endpoint::Profile;
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::NoProbe;
use fluid_tcp::simulation::{Flow, Setup, run};
use tmt_core::channel::synth::ConstantRate;
use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::{BitRate, Bytes, SchemeRunner, SchemeSpec, Slot, Span};

const RATE: BitRate = BitRate(2_000_000);
const RTT: Span = Span::from_millis(200);
const DURATION: Span = Span::from_secs(60);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cubic = Algorithm::new(&CUBIC, [("hystart", "rfc9406".into())])?;
    let bbr = Algorithm::new(&BBR, [])?;
    let late = Flow::new(bbr, Profile::Linux.endpoint()).starting(Span::from_secs(5));
    let flows = vec![Flow::new(cubic, Profile::Linux.endpoint()), late];
    let setup = Setup::new(flows, RTT, DURATION);
    let loss = ChannelSpec::Bernoulli { p: 0.001 };

    let link = setup.synthetic_link(RATE, Some(Channel::new(loss, 1).into()));
    let link = link.ok_or("the rate leaves no packet a service time")?;
    show("synthetic", &run(&setup, link, &mut NoProbe)?);

    // LLDUs of 50 B, so that 30 carry a packet; ARQ repeats what the channel erases.
    let slots = ConstantRate::new(RATE, Bytes(50), DURATION, Span::from_millis(1));
    let mut erasures = Channel::new(loss, 2);
    let erase = |slot: Slot| {
        if erasures.erases() {
            Slot::erased(slot.tx_time())
        } else {
            slot
        }
    };
    let slots: Vec<Slot> = slots.ok_or("no such link")?.map(erase).collect();
    let mut runner = SchemeRunner::new(SchemeSpec::arq().with_order(), RTT, Span::ZERO);
    let mut lldus = Vec::new();
    runner.push_slots(&slots, &mut lldus)?;
    let end = runner.finish(&mut lldus).usable_until;
    let setup = Setup { end, ..setup };
    let link = setup.timeline_link(lldus.into_iter().collect(), 30);
    show(
        "timeline",
        &run(&setup, link.ok_or("no room for a packet")?, &mut NoProbe)?,
    );
    Ok(())
}

fn show(link: &str, report: &RunReport) {
    for (number, flow) in report.flows.iter().enumerate() {
        let goodput = flow.goodput_bps.unwrap_or(0.0) / 1e3;
        println!(
            "{link}, flow {number}: {goodput:.0} kbps, {} packets sent again",
            flow.packets_retransmitted
        );
    }
}
