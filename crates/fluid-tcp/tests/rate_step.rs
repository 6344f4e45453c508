//! All controls after a step of the rate in a queue without limit: 10 Mbit/s, from 20 s on 0.5 and from 30 s on 4 Mbit/s,
//! at an RTT of 60 ms.

use fluid_tcp::congestion::ENTRIES;
use fluid_tcp::endpoint::Profile;
use fluid_tcp::endpoint::sender::Snapshot;
use fluid_tcp::simulation::probe::{Probe, SenderEvent};
use fluid_tcp::simulation::{Flow, Setup};
use tmt_core::types::{BitRate, Span, Time, to_f64};
use tmt_link::queue::Buffer;
use tmt_link::{Link, Packet, Service, SyntheticLink, Usage};

use crate::{any, run};

/// 4 Mbit/s · 60 ms, in packets of 1500 B.
const BDP: f64 = 20.0;

/// Queue that a control leaves at least and at most, in bandwidth-delay products.
const DRAINED: (f64, f64) = (0.0, 1.0);
const KEPT: (f64, f64) = (50.0, f64::INFINITY);

/// Mean queue from 90 to 120 s. Controls that wait for a loss keep their queue: nothing is lost. `bbr` keeps the bandwidth
/// of before the step for good, as the draft and Linux do (docs/validity.md, Sec. 3.1).
const QUEUES: [(&str, (f64, f64)); 10] = [
    ("reno", KEPT),
    ("newreno", KEPT),
    ("cubic", KEPT),
    ("compound", KEPT),
    ("hybla", KEPT),
    ("westwood", KEPT),
    ("vegas", DRAINED),
    ("bbr1", DRAINED),
    ("bbr", KEPT),
    // Twice the bandwidth-delay product.
    ("fixed:40", DRAINED),
];

/// Links that follow one another, each from its time on.
#[derive(Debug)]
struct Steps([(Time, SyntheticLink); 3]);

impl Link for Steps {
    fn serve(&mut self, at: Time, packet: &Packet) -> Option<Service> {
        let mut begun = self.0.iter_mut().rev().filter(|(from, _)| *from <= at);
        begun.next()?.1.serve(at, packet)
    }

    fn usage(&self, _end: Time) -> Usage {
        Usage::default()
    }
}

/// Sum and number of the queue's lengths at a sender's events, from a time on.
struct Queue(Time, u64, u64);

impl Probe for Queue {
    fn on_sender(
        &mut self,
        now: Time,
        _flow: usize,
        _moment: SenderEvent,
        _sender: &Snapshot,
        queue: u64,
        _delivered: u64,
    ) {
        if now >= self.0 {
            self.1 += queue;
            self.2 += 1;
        }
    }
}

fn at(seconds: u32) -> Time {
    Time::ZERO.saturating_add(Span::from_secs(seconds))
}

/// Mean queue from 90 to 120 s, in bandwidth-delay products.
fn queue(cc: &str) -> f64 {
    let flow = Flow::new(cc.parse().unwrap(), Profile::Linux.endpoint());
    let setup = Setup {
        buffer: Buffer::UNLIMITED,
        ..Setup::new(vec![flow], Span::from_millis(60), Span::from_secs(120))
    };
    let steps = [(0, 10_000_000), (20, 500_000), (30, 4_000_000)];
    let link = steps.map(|(from, rate)| {
        let link = setup.synthetic_link(BitRate(rate), None);
        (at(from), link.unwrap())
    });
    let mut queue = Queue(at(90), 0, 0);
    run(&setup, any(Steps(link)), &mut queue).unwrap();
    to_f64(queue.1) / to_f64(queue.2) / BDP
}

#[test]
fn after_a_step_of_the_rate_a_deep_queue_drains_unless_its_control_is_known_to_keep_it() {
    let known = QUEUES.map(|(cc, _)| cc.split(':').next().unwrap());
    assert!(ENTRIES.iter().map(|entry| entry.name).eq(known));
    for (cc, (least, most)) in QUEUES {
        let queue = queue(cc);
        assert!(
            (least..=most).contains(&queue),
            "{cc}: {queue} bandwidth-delay products"
        );
    }
}
