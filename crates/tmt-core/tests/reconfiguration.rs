//! The process `reconfiguration` slot by slot, by its definition (docs/trace-format.md, Sec. 11; docs/simulator.md, Sec. 9).

use proptest::prelude::*;
use tmt_core::channel::{SlotChannel, Use};
use tmt_core::math::rng::{Stream, Uniform};
use tmt_core::{Slot, Span, Time};

const MS: u64 = 1_000_000;

/// Parameters in ms.
#[derive(Debug, Clone, Copy)]
struct Parameters {
    period: u64,
    first: u64,
    shortest: u64,
    longest: u64,
    spread: u64,
    jitter: u64,
    hold: u64,
}

impl Parameters {
    /// A fifth of the slots is lost in bursts of 2 in the mean, and seven tenths of those that are disturbed.
    fn process(&self) -> SlotChannel {
        let Self {
            period,
            first,
            shortest,
            longest,
            spread,
            jitter,
            hold,
        } = self;
        let text = format!(
            "reconfiguration:period={period}ms,first={first}ms,shortest={shortest}ms,longest={longest}ms,disturbed=0.7,\
             loss=0.2,burst=2,spread={spread}ms,jitter={jitter}ms,hold={hold}ms"
        );
        text.parse().unwrap()
    }
}

fn share(milliseconds: u64, uniform: f64) -> u64 {
    let span = Span::from_millis(u32::try_from(milliseconds).unwrap());
    let nanos = tmt_core::math::num::floor_u64(span.as_secs_f64() * 1e9 * uniform + 0.5);
    assert!(nanos <= milliseconds * MS);
    nanos
}

struct Definition {
    of: Parameters,
    periods: Uniform,
    delays: Uniform,
    disturbed: Uniform,
}

impl Definition {
    fn new(of: Parameters, seed: u64) -> Self {
        Self {
            of,
            periods: Uniform::new(seed, Stream::Reconfiguration),
            delays: Uniform::new(seed, Stream::ReconfigurationDelay),
            disturbed: Uniform::new(seed, Stream::ReconfigurationErasure),
        }
    }

    /// Start of period `number` from 1 on.
    fn boundary(&self, number: u64) -> u64 {
        (self.of.first + (number - 1) * self.of.period) * MS
    }

    /// Number of boundaries up to `time`.
    fn period(&self, time: u64) -> u64 {
        // Periods are at least 1 ms.
        let numbers = 1..=time / MS + 1;
        numbers.filter(|n| self.boundary(*n) <= time).count() as u64
    }

    /// The delay that a slot at `time` gets by itself.
    fn delay(&mut self, time: u64) -> u64 {
        let of_period = share(self.of.spread, self.periods.at(2 * self.period(time)));
        let held = time / (self.of.hold * MS);
        of_period + share(3 * self.of.jitter, self.delays.at(held))
    }

    /// When the slots of each delay that ended have arrived, by the end of that delay.
    fn arrived(&mut self, until: u64) -> Vec<(u64, u64)> {
        let holds = (1..=until / (self.of.hold * MS)).map(|n| n * self.of.hold * MS);
        let mut ends: Vec<u64> = (1..=self.period(until)).map(|n| self.boundary(n)).collect();
        ends.extend(holds);
        ends.retain(|end| *end > 0);
        ends.sort_unstable();
        ends.dedup();
        ends.into_iter()
            .map(|end| (end, end + self.delay(end - 1)))
            .collect()
    }

    fn touches_disturbance(&mut self, begin: u64, end: u64) -> bool {
        (1..=self.period(end)).any(|number| {
            let varies = self.of.longest - self.of.shortest;
            let length = self.of.shortest * MS + share(varies, self.periods.at(2 * number + 1));
            let start = self.boundary(number);
            start < start + length && start < end && begin < start + length
        })
    }
}

fn slots(count: u64, spacing: u64) -> Vec<Slot> {
    let slot = |number| Slot::new(Time::from_nanos(number * spacing)?, Span::from_millis(1));
    (0..count).filter_map(slot).collect()
}

/// 600 slots as the definition has them.
fn by_definition(of: Parameters, seed: u64, spacing: u64, on_air: Span) -> Vec<Slot> {
    let mut found = slots(600, spacing);
    // A share of 0.2 and bursts of 2: (1 − 7/8)/(2 − 7/8 − 1/2) = 0.2, 1/(1 − 1/2) = 2.
    let bursts: SlotChannel = "gilbert-elliott:alpha=0.875,beta=0.5".parse().unwrap();
    let mut running = bursts.begin(seed, Use::Forward);
    running.erase(0, on_air, &mut found);
    let mut definition = Definition::new(of, seed);
    let arrived = definition.arrived(600 * spacing);
    for (number, slot) in (0..).zip(&mut found) {
        let begin = slot.tx_time().as_nanos();
        let end = begin + on_air.as_nanos().max(1);
        if definition.touches_disturbance(begin, end) && definition.disturbed.at(number) < 0.7 {
            *slot = Slot::erased(slot.tx_time());
        }
        if !slot.is_erased() {
            let earlier = arrived.iter().filter(|(end, _)| *end <= begin);
            let earlier = earlier.map(|(_, arrival)| *arrival).max().unwrap_or(0);
            let arrival = earlier.max(begin + definition.delay(begin));
            let delay = Span::from_nanos(MS + arrival - begin).unwrap();
            *slot = Slot::new(slot.tx_time(), delay).unwrap();
        }
    }
    found
}

fn parameters() -> impl Strategy<Value = Parameters> {
    let delays = (0u64..30, 0u64..12, 1u64..20);
    (1u64..60, 0u64..40, 0u64..60, 0u64..60, delays).prop_map(
        |(period, first, one, other, (spread, jitter, hold))| {
            let (one, other) = (one % (period + 1), other % (period + 1));
            Parameters {
                period,
                first,
                shortest: one.min(other),
                longest: one.max(other),
                spread,
                jitter,
                hold,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn slots_are_erased_and_delayed_as_defined(
        of in parameters(),
        seed: u64,
        // Slots at boundaries and between them.
        spacing in prop_oneof![Just(MS), Just(MS / 4), 1..2 * MS],
        on_air in prop_oneof![Just(0), Just(MS / 4), Just(MS), 1..5 * MS],
        from in 0usize..600,
    ) {
        let on_air = Span::from_nanos(on_air).unwrap();
        let expected = by_definition(of, seed, spacing, on_air);
        let process = of.process();
        let mut all = slots(600, spacing);
        process.begin(seed, Use::Forward).erase(0, on_air, &mut all);
        prop_assert_eq!(&all, &expected);
        // Without the slots before it.
        let mut rest = slots(600, spacing).split_off(from);
        process.begin(seed, Use::Forward).erase(from as u64, on_air, &mut rest);
        prop_assert_eq!(&rest[..], &expected[from..]);
    }
}
