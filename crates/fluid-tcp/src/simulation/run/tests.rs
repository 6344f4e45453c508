use proptest::prelude::*;
use tmt_core::channel::{Losses, SlotChannel, Use};
use tmt_core::types::{BitRate, Span};

use tmt_link::queue::Buffer;

use super::*;
use crate::endpoint::Endpoint;
use crate::endpoint::Profile;
// Any probe in `All` is one type, so that these tests compile no event loop of their own.
use crate::simulation::probe::{All, NoProbe};

/// A probe that only makes the run report everything.
struct Watching;

impl Probe for Watching {}

/// A process that loses this share of packets.
fn losses(loss: f64, used: Use) -> Losses {
    let process: SlotChannel = format!("bernoulli:{loss}").parse().unwrap();
    Losses::new(&process, 5, used)
}

/// Reports of a run without a probe, and of one that is watched.
fn both(setup: &Setup, rate: u64, losses: Option<&Losses>) -> [RunReport; 2] {
    let probes: [&mut dyn Probe; 2] = [&mut NoProbe, &mut Watching];
    probes.map(|probe| {
        let link = setup.synthetic_link(BitRate(rate), losses.cloned());
        run(setup, link.unwrap(), &mut All(vec![probe])).unwrap()
    })
}

#[test]
fn hosts_that_are_not_tcp_make_a_flow_of_tcp_no_larger() {
    assert_eq!(size_of::<Ends>(), size_of::<Tcp>());
}

proptest! {
    /// A watched run tallies every packet when it leaves and when it arrives. Without a probe, a run that has an endless
    /// flow tallies it when it is accepted, and one with nothing but endless flows receives it then, too; its end may cut any
    /// of these times.
    #[test]
    fn a_run_is_the_same_whether_it_is_watched(
        rate in prop_oneof![Just(12_000_000u64), 200_000u64..20_000_000],
        rtt in prop_oneof![Just(0u32), Just(100), 1u32..600],
        buffer in prop_oneof![1u64..6, 6u64..200],
        millis in 1u32..8_000,
        loss in prop_oneof![Just(0.0), Just(0.01), 0.0..0.4],
        queue_loss: bool,
        return_rate: bool,
        terrestrial in prop_oneof![Just(0u32), 1u32..50],
        split: bool,
        profile in prop::sample::select(vec![Profile::Ns2, Profile::Rfc, Profile::Linux]),
        delayed_ack in 1u32..4,
        are_endless: bool,
        flows in prop::collection::vec(
            (prop::sample::select(vec!["cubic", "newreno", "bbr", "fixed:300"]), 0u32..2_000, prop::option::of(0u64..300)), 1..5),
    ) {
        let endpoint = Endpoint { delayed_ack, ..profile.endpoint() };
        let flows = flows.iter().map(|(cc, start, packets)| Flow {
            source: Source::Bulk { packets: packets.filter(|_| !are_endless), bytes: None },
            ..Flow::new(cc.parse().unwrap(), endpoint).starting(Span::from_millis(*start))
        });
        let mut setup = Setup::new(flows.collect(), Span::from_millis(rtt), Span::from_millis(millis));
        setup.buffer = Buffer::Packets(buffer);
        setup.path.terrestrial_rtt = Span::from_millis(terrestrial);
        if split {
            setup.path.split = Some(crate::simulation::path::SplitWindow::Whole);
        } else {
            setup.queue_loss = queue_loss.then(|| losses(loss, Use::Return));
            setup.return_path.rate = return_rate.then_some(BitRate(100_000));
        }
        let [plain, watched] = both(&setup, rate, Some(&losses(loss, Use::Forward)).filter(|_| !split));
        prop_assert_eq!(plain, watched);
    }
}

proptest! {
    /// Receivers run ahead of their senders without a probe, and not with one. All times lie on a grid of half milliseconds, so
    /// that many events fall together.
    #[test]
    fn receivers_that_run_ahead_change_nothing(
        rtt in prop::sample::select(vec![0u32, 1, 2, 20, 100, 101, 198, 2_000]),
        terrestrial in prop::sample::select(vec![0u32, 2, 5, 100, 202]),
        buffer in 1u64..40,
        seconds in 1u32..8,
        loss in prop::sample::select(vec![0.0, 0.0, 0.02, 0.1]),
        is_ns2: bool,
        delayed_ack in 1u32..4,
        flows in prop::collection::vec((prop::sample::select(vec!["cubic", "newreno", "fixed:20"]), 0u32..2_000), 1..5),
    ) {
        let profile = if is_ns2 { Profile::Ns2 } else { Profile::Rfc };
        // With several flows or a terrestrial path they run ahead only if no ACK is delayed.
        let delayed_ack = if flows.len() == 1 { delayed_ack } else { 1 };
        let terrestrial = if delayed_ack == 1 { terrestrial } else { 0 };
        let endpoint = Endpoint { delayed_ack, ..profile.endpoint() };
        let flows = flows.iter().map(|(cc, start)| {
            Flow::new(cc.parse().unwrap(), endpoint).starting(Span::from_millis(*start))
        });
        let mut setup = Setup::new(flows.collect(), Span::from_millis(rtt), Span::from_secs(seconds));
        setup.buffer = Buffer::Packets(buffer);
        setup.path.terrestrial_rtt = Span::from_millis(terrestrial);
        let [plain, watched] = both(&setup, 12_000_000, Some(&losses(loss, Use::Forward)));
        prop_assert_eq!(plain, watched);
    }
}

/// A probe that stops a run that sends ever more.
#[derive(Default)]
struct Limited {
    sent: u64,
}

impl Probe for Limited {
    fn can_stop(&self) -> bool {
        true
    }

    fn stops(&self, _now: Time) -> bool {
        self.sent > 5_000
    }

    fn on_sent(&mut self, _now: Time, _transmission: Transmission) {
        self.sent += 1;
    }
}

/// The proxy refuses what finds its buffer full, at the instant at which it was sent. Its answer is no reason to send it again at that
/// instant, over and over.
#[test]
fn a_full_proxy_beside_its_senders_does_not_stop_the_clock() {
    for flows in 2..7 {
        let flow = Flow::new("reno".parse().unwrap(), Profile::Linux.endpoint());
        let mut setup = Setup::new(vec![flow; flows], Span::from_millis(20), Span::from_secs(1));
        setup.buffer = Buffer::Packets(200);
        setup.path.split = Some(crate::simulation::path::SplitWindow::Share);
        let link = setup.synthetic_link(BitRate(1_200_000), None).unwrap();
        assert_eq!(
            run(&setup, link, &mut All(vec![&mut Limited::default()])).err(),
            None
        );
    }
}
