//! A scheme alone under a saturated sender, on generated slots.

use fluid_tcp::experiment::{Error, Experiment};
use serde_json::Value;
use tmt_core::channel::synth::ConstantRate;
use tmt_core::channel::{Channel, SlotChannel};
use tmt_core::scheme::Combining;
use tmt_core::scheme::runner::SchemeRunner;
use tmt_core::types::{Fate, Lldu, Slot, Span, Time, to_f64};
use tmt_link::apply::FeedbackDelay;

use crate::plan::{ASSUMED_DURATION, ASSUMED_RATE};
use crate::record::Fields;

/// RTT without one in the plan: that of a geostationary satellite.
const RTT: Span = Span::from_millis(500);
/// Negligible: only the recovery delay is compared.
const DECODE_DELAY: Span = Span::from_millis(1);
/// LLDUs first sent in this many RTTs before the end may not have been recovered yet.
const UNSETTLED_ROUND_TRIPS: u64 = 40;
/// Slots per batch.
const PIECE: usize = 1 << 16;

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

/// Runs the scheme of the experiment with its seed. Feedback takes no time, as in the closed forms, unless the plan gives it.
pub(super) fn run(experiment: &Experiment, stopped: &dyn Fn() -> bool) -> Result<Fields, String> {
    let scheme = experiment.scheme.clone().ok_or("expected a `scheme`")?;
    let Some(SlotChannel::Steps(spec)) = experiment.channel else {
        return Err(
            "`channel`: expected a process of two states at most, such as gilbert-elliott"
                .to_owned(),
        );
    };
    let rate = experiment.rate.unwrap_or(ASSUMED_RATE);
    let duration = experiment.duration.unwrap_or(ASSUMED_DURATION);
    let rtt = experiment.rtt.unwrap_or(RTT);
    let feedback = match experiment.feedback_delay {
        Some(FeedbackDelay::Of(delay)) => delay,
        _ => Span::ZERO,
    };
    let link =
        ConstantRate::new(rate, experiment.lldu(), duration, DECODE_DELAY).ok_or_else(|| {
            format!("`duration` {duration}: expected a longer one, as it leaves no slot")
        })?;
    let mut channel = Channel::new(spec, experiment.seed().0);
    let unsettled = rtt.checked_mul(UNSETTLED_ROUND_TRIPS).unwrap_or(duration);
    let settled = duration.saturating_sub(unsettled);
    let until = Time::from_nanos(settled.as_nanos()).unwrap_or(Time::ZERO);
    let mut runner = SchemeRunner::new(scheme, rtt, feedback);
    let (mut slots, mut lldus, mut sums) = (Vec::new(), Vec::new(), Settled::default());
    let mut from = 0;
    while from < link.slots() {
        if stopped() {
            return Err(Error::Stopped.to_string());
        }
        slots.clear();
        link.piece(from, PIECE, &mut slots);
        from += slots.len() as u64;
        for slot in &mut slots {
            if channel.erases() {
                *slot = Slot::erased(slot.tx_time());
            }
        }
        let pushed = runner.push_slots(&slots, &mut lldus);
        pushed.map_err(|error| error.to_string())?;
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
    let results = [
        ("lldus", to_f64(sums.lldus)),
        ("lost", to_f64(sums.lost)),
        ("efficiency", to_f64(sums.delivered) / sent),
        ("loss", to_f64(sums.lost) / to_f64(sums.lldus)),
        ("delay", rtt.half().as_secs_f64() + wait),
    ];
    let results = results.into_iter();
    Ok(results
        .map(|(name, number)| (name.to_owned(), Value::from(number)))
        .collect())
}

/// A sum of nanoseconds as `f64`.
fn wide(sum: u128) -> f64 {
    const HALF: u32 = 64;
    let part = |bits: u128| to_f64(u64::try_from(bits).unwrap_or(u64::MAX));
    part(sum >> HALF) * 18_446_744_073_709_551_616.0 + part(sum & u128::from(u64::MAX))
}
