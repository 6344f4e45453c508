#![allow(missing_docs, clippy::all, clippy::pedantic)]
use fluid_tcp::endpoint::{Endpoint, Profile};
use fluid_tcp::simulation::probe::NoProbe;
use fluid_tcp::simulation::{Flow, Setup, run};
use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::types::{BitRate, Span};
fn main() {
    // prof CASE ARG PROFILE
    let a: Vec<String> = std::env::args().collect();
    let n: u64 = a[2].parse().unwrap();
    let profile: Profile = match a.get(3).map(String::as_str) {
        Some("linux") => Profile::Linux,
        Some("ns2") => Profile::Ns2,
        _ => Profile::Rfc,
    };
    let (mut cc, mut ep, mut rate, mut dur, mut loss, mut buf, mut flows) = (
        "cubic".to_owned(),
        profile.endpoint(),
        2_340_000u64,
        n as f64,
        Some(1e-3),
        100u64,
        1usize,
    );
    match a[1].as_str() {
        "b" => {
            ep = Endpoint {
                delayed_ack: 1,
                initial_window: 2,
                ..Profile::Ns2.endpoint()
            }
        }
        "bp" => {
            ep = Endpoint {
                delayed_ack: 1,
                initial_window: 2,
                ..ep
            }
        }
        "f" => {
            flows = n as usize;
            rate = 234_000_000;
            dur = 40.0;
            buf = 9750;
            loss = None;
        }
        "F" => {
            flows = n as usize;
            rate = n * 2_340_000;
            dur = if n < 100 { 4000.0 / n as f64 } else { 40.0 };
            buf = 100 * n;
        }
        "w" | "l" => {
            cc = format!("fixed:{n}");
            rate = n * 24_000;
            buf = 1 << 40;
            dur = (500_000.0 / n as f64).clamp(20.0, 20000.0);
            ep.rwnd = 1 << 40;
            loss = if a[1] == "l" { Some(0.01) } else { None }
        }
        _ => panic!(),
    }
    let all = (0..flows)
        .map(|i| {
            Flow::new(cc.parse().unwrap(), ep).starting(Span::from_micros(
                (i as u64 * 1_000_000 / flows as u64) as u32,
            ))
        })
        .collect();
    let end = Span::from_nanos((dur * 1e9) as u64).unwrap();
    let mut setup = Setup::new(all, Span::from_millis(500), end);
    setup.buffer = buf;
    let channel = loss.map(|p| Channel::new(ChannelSpec::Bernoulli { p }, 1).into());
    let link = setup.synthetic_link(BitRate(rate), channel).unwrap();
    let t = std::time::Instant::now();
    let r = run(&setup, link, &mut NoProbe);
    let ns = t.elapsed().as_nanos() as f64;
    let m = &r.total.metrics;
    println!(
        "{} sent {} delivered {} {:?} {:.1} ns",
        a[1..].join(" "),
        m.packets_sent,
        m.packets_delivered,
        m.goodput_bps,
        ns / m.packets_sent as f64
    );
}
