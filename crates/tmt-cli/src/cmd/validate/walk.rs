//! The runs of a point of papers/000: a scheme under a sender that always has data, on a generated trace.

use rayon::prelude::*;
use tmt_core::channel::synth::ConstantRate;
use tmt_core::channel::{Channel, ChannelSpec, GilbertElliott, Start};
use tmt_core::scheme::runner::SchemeRunner;
use tmt_core::scheme::{Combining, SchemeSpec};
use tmt_core::types::{BitRate, Bytes, Fate, Lldu, Slot, Span, Time, to_f64};

use super::run::{Measured, Runs};
use super::values::Values;
use crate::exit::{Failure, Outcome};

// The papers' forward link: 2.34 Mbps of 33 B LLDUs, RTT 500 ms.
const RATE: BitRate = BitRate(2_340_000);
const LLDU: Bytes = Bytes(33);
const RTT: Span = Span::from_millis(500);
/// Next to nothing: what is compared is the wait for recovery.
const DECODE_DELAY: Span = Span::from_millis(1);
/// LLDUs first sent later than this before the end may not have been recovered yet: 40 round trips.
const UNSETTLED: Span = Span::from_secs(20);
/// Slots generated and walked at a time.
const PIECE: usize = 1 << 16;

/// Walks the point's scheme on a trace a seed.
pub(super) fn runs(point: &Values, runs: &Runs) -> Outcome<Vec<Measured>> {
    let scheme: SchemeSpec = point.text("scheme")?.parse().map_err(Failure::failed)?;
    let spec = ChannelSpec::GilbertElliott(GilbertElliott {
        alpha: point.number("alpha")?,
        beta: point.number("beta")?,
        pg: 0.0,
        pb: 1.0,
        start: Start::Stationary,
    });
    let seeds: Vec<u64> = (1..=runs.seeds).collect();
    let walk = |seed| walk(&scheme, Channel::new(spec, seed), runs.duration);
    seeds.into_par_iter().map(walk).collect()
}

/// LLDUs that have settled.
#[derive(Default)]
struct Settled {
    lldus: u64,
    delivered: u64,
    lost: u64,
    waits: u128,
}

impl Settled {
    fn add(&mut self, lldus: &mut Vec<Lldu>, until: Time) {
        for lldu in lldus.drain(..).filter(|lldu| lldu.tx_time < until) {
            self.lldus += 1;
            self.lost += u64::from(lldu.fate == Fate::Lost);
            if lldu.fate == Fate::Delivered {
                self.delivered += 1;
                let wait = lldu.decode_delay.saturating_sub(DECODE_DELAY);
                self.waits += u128::from(wait.as_nanos());
            }
        }
    }
}

fn walk(scheme: &SchemeSpec, mut channel: Channel, duration: Span) -> Outcome<Measured> {
    let link = ConstantRate::new(RATE, LLDU, duration, DECODE_DELAY)
        .ok_or_else(|| Failure::usage(format!("--duration {duration} leaves no link")))?;
    let settled = duration.saturating_sub(UNSETTLED);
    let until = Time::from_nanos(settled.as_nanos()).unwrap_or(Time::ZERO);
    let mut runner = SchemeRunner::new(scheme.clone(), RTT, Span::ZERO);
    let (mut slots, mut lldus, mut sums) = (Vec::new(), Vec::new(), Settled::default());
    let mut from = 0;
    while from < link.slots() {
        slots.clear();
        link.piece(from, PIECE, &mut slots);
        from += slots.len() as u64;
        for slot in &mut slots {
            if channel.erases() {
                *slot = Slot::erased(slot.tx_time());
            }
        }
        runner
            .push_slots(&slots, &mut lldus)
            .map_err(Failure::failed)?;
        sums.add(&mut lldus, until);
    }
    runner.finish(&mut lldus);
    sums.add(&mut lldus, until);
    // LLDUs that are lost wait for nothing, as in the closed forms, except under frame ARQ, where nothing but what is
    // delivered has a delay.
    let waited = match runner.scheme().combining() {
        Combining::Discard => sums.delivered,
        Combining::Incremental => sums.lldus,
    };
    let sent = to_f64(from) * (to_f64(settled.as_nanos()) / to_f64(duration.as_nanos()));
    let wait = wide(sums.waits) * 1e-9 / to_f64(waited);
    Ok(Measured::from([
        ("lldus", to_f64(sums.lldus)),
        ("lost", to_f64(sums.lost)),
        ("efficiency", to_f64(sums.delivered) / sent),
        ("loss", to_f64(sums.lost) / to_f64(sums.lldus)),
        ("delay", RTT.half().as_secs_f64() + wait),
    ]))
}

/// A sum of nanoseconds as a double.
fn wide(sum: u128) -> f64 {
    const HALF: u32 = 64;
    let part = |bits: u128| to_f64(u64::try_from(bits).unwrap_or(u64::MAX));
    part(sum >> HALF) * 18_446_744_073_709_551_616.0 + part(sum & u128::from(u64::MAX))
}
