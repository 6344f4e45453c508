//! Runs a congestion control of this crate over a synthetic link, and prints its goodput.

mod scalable;

use fluid_tcp::congestion::{self, Algorithm};
use fluid_tcp::endpoint::Profile;
use fluid_tcp::simulation::{Flow, Setup, probe::NoProbe, run};
use tmt_core::types::{BitRate, Span};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let controls = [congestion::ENTRIES, &[&scalable::SCALABLE]].concat();
    for text in ["cubic", "scalable:gain=0.02"] {
        let algorithm = Algorithm::parse_with(text, &controls)?;
        let flow = Flow::new(algorithm, Profile::Rfc.endpoint());
        let setup = Setup::new(vec![flow], Span::from_millis(500), Span::from_secs(300));
        let link = setup.synthetic_link(BitRate(10_000_000), None);
        let link = link.ok_or("the rate leaves no packet a service time")?;
        let report = run(&setup, link, &mut NoProbe)?;
        let goodput = report.total.metrics.goodput_bps.unwrap_or(0.0);
        println!("{text}: goodput {:.3} Mbps", goodput / 1e6);
    }
    Ok(())
}
