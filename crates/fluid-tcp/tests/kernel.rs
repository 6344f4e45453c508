//! Runs beside those of a real kernel, Linux 6.18 on an emulated link of 2.34 Mbit/s and 500 ms with a queue of 100
//! packets (fixtures/README.md).

use fluid_tcp::endpoint::sender::Snapshot;
use fluid_tcp::endpoint::{Endpoint, Profile};
use fluid_tcp::simulation::probe::{Probe, SenderEvent};
use fluid_tcp::simulation::{Flow, Setup};
use tmt_core::math::num::floor_u64;
use tmt_core::types::{BitRate, Span, Time};

use crate::run;

/// Slow-start thresholds in the order in which they were set, with their times in seconds.
#[derive(Debug, Default)]
struct Thresholds(Vec<(f64, f64)>);

impl Probe for Thresholds {
    fn on_sender(
        &mut self,
        now: Time,
        _flow: usize,
        _event: SenderEvent,
        sender: &Snapshot,
        _queue: u64,
        _delivered: u64,
    ) {
        if let Some(ssthresh) = sender.ssthresh
            && self
                .0
                .last()
                .is_none_or(|(_, last)| (last - ssthresh).abs() > 0.5)
        {
            let seconds = now.since(Time::ZERO).as_secs_f64();
            self.0.push((seconds, ssthresh));
        }
    }
}

#[test]
fn cubic_alone_has_the_kernels_cycle_of_thresholds() {
    let endpoint = Endpoint {
        // tcp_rmem 4096 8 MB 64 MB.
        first_rwnd: 3_552,
        rwnd: 30_000,
        ..Profile::Linux.endpoint()
    };
    let flow = Flow::new("cubic".parse().unwrap(), endpoint);
    let setup = Setup::new(vec![flow], Span::from_micros(500_200), Span::from_secs(150));
    let link = setup.synthetic_link(BitRate(2_340_000), None).unwrap();
    let mut thresholds = Thresholds::default();
    run(&setup, link, &mut thresholds).unwrap();
    // The kernel's: 152, 145, 152, …, one cycle of two cuts every 16 s.
    let settled: Vec<_> = thresholds.0.iter().filter(|(at, _)| *at > 60.0).collect();
    assert!(settled.len() >= 10, "{settled:?}");
    for pair in settled.chunks_exact(2) {
        let mut values = [pair[0], pair[1]].map(|(_, ssthresh)| floor_u64(*ssthresh));
        values.sort_unstable();
        assert_eq!(values, [145, 152], "{settled:?}");
    }
    for cycle in settled.windows(3) {
        let length = cycle[2].0 - cycle[0].0;
        assert!((15.5..17.0).contains(&length), "{settled:?}");
    }
}
