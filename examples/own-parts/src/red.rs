//! RED (Floyd and Jacobson 1993, Fig. 2): drops or marks arriving packets at random as the average queue grows.

use std::collections::VecDeque;

use tmt_core::math::num::pow;
use tmt_core::math::rng::Uniform;
use tmt_core::named::{Parameter, Values};
use tmt_core::types::{Time, to_f64};
use tmt_link::queue::{Context, Entry, Make, Queue};
use tmt_link::{Ecn, Packet};

pub(crate) static RED: Entry = Entry {
    name: "own-red",
    about: "drops or marks arriving packets at random as the average queue grows",
    parameters: &[
        Parameter::number("min", 5.0, 0.0, 1e6),
        Parameter::number("max", 15.0, 0.0, 1e6),
        Parameter::number("probability", 0.02, 0.0, 1.0),
        Parameter::number("weight", 0.002, 0.0, 1.0),
    ],
    examples: &["own-red", "own-red:min=10,max=30"],
    make: Make {
        marks: true,
        by_flow: false,
        draws: true,
        refuses: |_| None,
        queue: |values, context| Box::new(Red::new(values, context)),
    },
};

#[derive(Debug)]
struct Red {
    min: f64,
    max: f64,
    probability: f64,
    weight: f64,
    /// Packets per second that the link serves, for the time without a queue.
    rate: f64,
    waiting: VecDeque<Packet>,
    average: f64,
    /// Packets since the last that was dropped or marked; `None` while the average is below `min`.
    since: Option<f64>,
    empty_since: Time,
    random: Uniform,
    /// Random numbers drawn so far.
    drawn: u64,
}

impl Red {
    fn new(values: &Values, context: &Context) -> Self {
        let bits = to_f64(8 * context.packet.0);
        Self {
            min: values.number("min"),
            max: values.number("max"),
            probability: values.number("probability"),
            weight: values.number("weight"),
            rate: context.rate.map_or(0.0, |rate| to_f64(rate.0) / bits),
            waiting: VecDeque::new(),
            average: 0.0,
            since: None,
            empty_since: Time::ZERO,
            random: context.random("red"),
            drawn: 0,
        }
    }

    /// The next random number.
    fn draw(&mut self) -> f64 {
        self.drawn += 1;
        self.random.at(self.drawn - 1)
    }

    /// Whether to drop or mark the packet that arrives at `now`.
    fn is_hit(&mut self, now: Time) -> bool {
        if self.waiting.is_empty() {
            let idle = now.since(self.empty_since).as_secs_f64() * self.rate;
            self.average *= pow(1.0 - self.weight, idle);
        } else {
            self.average += self.weight * (to_f64(self.waiting.len() as u64) - self.average);
        }
        if self.average < self.min {
            self.since = None;
            return false;
        }
        let since = self.since.map_or(0.0, |since| since + 1.0);
        let share = (self.average - self.min) / (self.max - self.min);
        let p = self.probability * share;
        let is_hit = self.average >= self.max || self.draw() * (1.0 - since * p) < p;
        self.since = Some(if is_hit { 0.0 } else { since });
        is_hit
    }
}

impl Queue for Red {
    fn enqueue(&mut self, now: Time, mut packet: Packet, dropped: &mut Vec<Packet>) {
        if self.is_hit(now) {
            if packet.ecn == Ecn::NotCapable {
                dropped.push(packet);
                return;
            }
            packet.ecn = Ecn::Marked;
        }
        self.waiting.push_back(packet);
    }

    fn dequeue(&mut self, now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        let packet = self.waiting.pop_front();
        if self.waiting.is_empty() {
            self.empty_since = now;
        }
        packet
    }

    fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }
}
