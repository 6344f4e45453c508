//! Scheme runs of a point of Kuhn 2015: a scheme with a saturated sender on a generated trace.

use rayon::prelude::*;
use tmt_core::channel::synth::ConstantRate;
use tmt_core::channel::{Channel, ChannelSpec, GilbertElliott, Start};
use tmt_core::scheme::runner::SchemeRunner;
use tmt_core::scheme::{Combining, SchemeSpec};
use tmt_core::types::{BitRate, Bytes, Fate, Lldu, Slot, Span, Time, to_f64};

use super::run::{Measured, Runs};
use super::values::Values;
use crate::exit::{Failure, Outcome};

// The forward link of Kuhn 2015: 2.34 Mbps, LLDUs of 33 B, RTT 500 ms.
const RATE: BitRate = BitRate(2_340_000);
const LLDU: Bytes = Bytes(33);
const RTT: Span = Span::from_millis(500);
/// Negligible: only the recovery delay is compared.
const DECODE_DELAY: Span = Span::from_millis(1);
/// LLDUs first sent in this time before the end may not have been recovered yet: 40 RTTs.
const UNSETTLED: Span = Span::from_secs(20);
/// Slots per batch.
const PIECE: usize = 1 << 16;

/// Runs the scheme of the point on one trace per seed.
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
    let run = |seed| run_scheme(&scheme, Channel::new(spec, seed), runs.duration);
    seeds.into_par_iter().map(run).collect()
}

/// Counts of the LLDUs that had time to be recovered.
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

/// Runs a scheme on a generated trace.
fn run_scheme(scheme: &SchemeSpec, mut channel: Channel, duration: Span) -> Outcome<Measured> {
    let link = ConstantRate::new(RATE, LLDU, duration, DECODE_DELAY).ok_or_else(|| {
        Failure::usage(format!(
            "--duration {duration}: expected a longer one, as it leaves no slot"
        ))
    })?;
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
    // Lost LLDUs count with a wait of zero, as in the closed forms. Under frame ARQ only delivered LLDUs have a delay.
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

/// A sum of nanoseconds as `f64`.
fn wide(sum: u128) -> f64 {
    const HALF: u32 = 64;
    let part = |bits: u128| to_f64(u64::try_from(bits).unwrap_or(u64::MAX));
    part(sum >> HALF) * 18_446_744_073_709_551_616.0 + part(sum & u128::from(u64::MAX))
}
