//! papers/000 §3.6: link theory beside `tmt apply` on generated traces.

use tmt_core::channel::synth::ConstantRate;
use tmt_core::channel::{Channel, ChannelSpec, GilbertElliott, Start};
use tmt_core::scheme::runner::Walk;
use tmt_core::scheme::{Combining, SchemeSpec};
use tmt_core::types::{BitRate, Bytes, Fate, Lldu, Slot, Span, Time, to_f64};

use super::figure::{Comparison, Figure, Runs, Scale, Theory, mean};
use crate::exit::{Failure, Outcome};

// The papers' forward link: 2.34 Mbps of 33 B LLDUs, RTT 500 ms.
const RATE: BitRate = BitRate(2_340_000);
const LLDU: Bytes = Bytes(33);
const RTT: Span = Span::from_millis(500);
/// Next to nothing: what is compared is the wait for recovery.
const DECODE_DELAY: Span = Span::from_millis(1);
/// LLDUs first sent later than this before the end may not have been recovered yet: 40 round trips.
const UNSETTLED: Span = Span::from_secs(20);
/// Times the tolerance that the loss under HARQ and frame ARQ may be off: repeats of other codewords cut in, so that an
/// attempt is no contiguous stretch of the channel, as the closed forms take it to be; what is rare feels it most.
const CUT_UP: f64 = 5.0;
/// Losses that a comparison of loss ratios needs to mean anything; they come in bursts.
const SEEN: f64 = 2_000.0;
const RARE: &str = "fewer than 2000 LLDUs are lost in all runs, or expected to be: more --duration or --seeds would tell";
/// Slots generated and walked at a time.
const PIECE: usize = 1 << 16;

/// A scheme beside its model.
#[derive(Debug, Clone, Copy)]
struct Case {
    scheme: &'static str,
    model: &'static str,
    keys: &'static str,
    /// The result that is the mean delay of an LLDU.
    delay: &'static str,
    /// The efficiencies and delays of models.md §1.6, beta by beta, where there are any.
    eta_reference: &'static [f64],
    delay_reference: &'static [f64],
}

const fn case(
    scheme: &'static str,
    model: &'static str,
    keys: &'static str,
    delay: &'static str,
) -> Case {
    Case {
        scheme,
        model,
        keys,
        delay,
        eta_reference: &[],
        delay_reference: &[],
    }
}

/// Time per LLDU, s, as the models take it.
fn tp() -> f64 {
    to_f64(LLDU.0) * 8.0 / to_f64(RATE.0)
}

const SCALE: Scale = Scale {
    tolerance: 0.02,
    seconds: (500, 60),
};

pub(super) const FIGURES: &[Figure] = &[
    Figure::new(
        "000-fig5",
        "papers/000 Fig. 5: efficiency and delay over the erasure probability, alpha = 0.99",
        SCALE,
        |runs| {
            let cases = [
                case("fec:10/12", "fec", "nd=10 nr=2", "delay_nd"),
                case("arq", "arq", "", "delay"),
                case("harq:5/7,rounds=2", "harq", "nd=5 nr=2 R=2", "delay_lldu"),
            ];
            compare(runs, 0.99, &[0.1, 0.5, 0.8, 0.9, 0.95, 0.98], &cases)
        },
    ),
    Figure::new(
        "000-fig6",
        "papers/000 Fig. 6: the same for ND = 38, NR = 13, R = 2, alpha = 0.98",
        SCALE,
        |runs| {
            let harq = "harq:38/51,rounds=2";
            let cases = [
                Case {
                    eta_reference: &[0.7451, 0.7448, 0.7222, 0.6596, 0.6119],
                    ..case("fec:38/51", "fec", "nd=38 nr=13", "delay_nd")
                },
                Case {
                    eta_reference: &[0.9783, 0.9615, 0.9091, 0.8333, 0.7778],
                    delay_reference: &[0.2611, 0.2700, 0.3000, 0.3500, 0.3929],
                    ..case("arq", "arq", "", "delay")
                },
                Case {
                    eta_reference: &[0.7451, 0.7451, 0.7376, 0.6998, 0.6588],
                    delay_reference: &[0.2500, 0.2502, 0.2674, 0.3168, 0.3522],
                    ..case(harq, "harq", "nd=38 nr=13 R=2", "delay_lldu")
                },
            ];
            compare(runs, 0.98, &[0.1, 0.5, 0.8, 0.9, 0.93], &cases)
        },
    ),
    Figure::new(
        "link-further",
        "what papers/000 has no figure for: interleaved FEC (eq 4), NS > 0, frame ARQ, alpha = 0.98",
        SCALE,
        |runs| {
            let (short, long) = ("fec:10/12,interleave=10", "fec:10/12,interleave=100");
            let (extra, many) = ("harq:10/12,extra=2,rounds=1", "harq:10/12,rounds=4");
            let frames = "frame-arq:10/12,rounds=2";
            let cases = [
                case(short, "fec", "nd=10 nr=2 depth=10", "delay_nd"),
                case(long, "fec", "nd=10 nr=2 depth=100", "delay_nd"),
                case(extra, "harq", "nd=10 nr=2 ns=2 R=1", "delay_lldu"),
                case(many, "harq", "nd=10 nr=2 R=4", "delay_lldu"),
                case(frames, "frame-arq", "nd=10 nr=2 R=2", "delay"),
            ];
            compare(runs, 0.98, &[0.1, 0.5, 0.8, 0.9], &cases)
        },
    ),
];

/// Every case at every beta, all on the same traces.
fn compare(runs: &Runs, alpha: f64, betas: &[f64], cases: &[Case]) -> Outcome<Vec<Comparison>> {
    let specs: Vec<SchemeSpec> = cases
        .iter()
        .map(|case| case.scheme.parse().map_err(Failure::failed))
        .collect::<Outcome<_>>()?;
    let mut comparisons = Vec::new();
    for (place, beta) in betas.iter().enumerate() {
        let walked = runs.each(|seed| walk(&specs, alpha, *beta, runs.duration, seed))?;
        for (index, case) in cases.iter().enumerate() {
            let of_case: Vec<Walked> = walked.iter().map(|schemes| schemes[index]).collect();
            comparisons.extend(case.rows(alpha, *beta, place, &of_case)?);
        }
    }
    Ok(comparisons)
}

impl Case {
    /// Efficiency, residual loss where there is any, delay; beta is at this place of the figure's axis.
    fn rows(
        &self,
        alpha: f64,
        beta: f64,
        place: usize,
        walked: &[Walked],
    ) -> Outcome<Vec<Comparison>> {
        let p = (1.0 - alpha) / (2.0 - alpha - beta);
        let rtt = RTT.as_secs_f64();
        let channel = match self.model {
            "arq" => format!("p={p} rtt={rtt}"),
            _ => format!(
                "alpha={alpha} beta={beta} rtt={rtt} tp={} {}",
                tp(),
                self.keys
            ),
        };
        let theory = Theory::ask(self.model, &channel)?;
        let row = |quantity, result, value: fn(&Walked) -> f64| {
            let values: Vec<f64> = walked.iter().map(value).collect();
            let (at, scheme) = (format!("beta={beta} p={p:.4}"), self.scheme.to_owned());
            let theory = (&theory, result);
            Comparison::new(at, scheme, quantity, self.model, theory, mean(&values)?)
        };
        let mut rows = vec![Comparison {
            reference: self.eta_reference.get(place).copied(),
            ..row("efficiency", "eta", |walked| walked.efficiency)?
        }];
        if let Ok(loss) = theory.result("residual_loss") {
            let lldus: u64 = walked.iter().map(|walked| walked.lldus).sum();
            let seen: u64 = walked.iter().map(|walked| walked.lost).sum();
            let most = (loss * to_f64(lldus)).max(to_f64(seen));
            rows.push(Comparison {
                allowed: if self.model == "fec" { 1.0 } else { CUT_UP },
                outside_assumptions: (loss > 0.0 && most < SEEN).then_some(RARE),
                ..row("residual loss", "residual_loss", |walked| walked.loss)?
            });
        }
        rows.push(Comparison {
            reference: self.delay_reference.get(place).copied(),
            ..row("delay s", self.delay, |walked| walked.delay)?
        });
        Ok(rows)
    }
}

/// What one scheme made of one trace.
#[derive(Debug, Clone, Copy)]
struct Walked {
    lldus: u64,
    lost: u64,
    efficiency: f64,
    loss: f64,
    /// RTT/2 and the mean wait; LLDUs that are lost wait for nothing, as in the closed forms, except under frame ARQ,
    /// where nothing but what is delivered has a delay.
    delay: f64,
}

/// Sums over the LLDUs that have settled.
#[derive(Debug, Default)]
struct Sums {
    lldus: u64,
    delivered: u64,
    lost: u64,
    waits: u128,
}

impl Sums {
    fn add(&mut self, lldus: &[Lldu], until: Time) {
        for lldu in lldus.iter().filter(|lldu| lldu.tx_time < until) {
            self.lldus += 1;
            match lldu.fate {
                Fate::Delivered => {
                    self.delivered += 1;
                    let wait = lldu
                        .decode_delay
                        .as_nanos()
                        .saturating_sub(DECODE_DELAY.as_nanos());
                    self.waits += u128::from(wait);
                }
                Fate::Lost => self.lost += 1,
                Fate::Censored => {}
            }
        }
    }
}

/// One trace, walked under every scheme.
fn walk(
    specs: &[SchemeSpec],
    alpha: f64,
    beta: f64,
    duration: Span,
    seed: u64,
) -> Outcome<Vec<Walked>> {
    let link = ConstantRate::new(RATE, LLDU, duration, DECODE_DELAY)
        .ok_or_else(|| Failure::usage(format!("--duration {duration} leaves no link")))?;
    let settled = duration.as_nanos().saturating_sub(UNSETTLED.as_nanos());
    let until = Time::from_nanos(settled).unwrap_or(Time::ZERO);
    let mut channel = Channel::new(
        ChannelSpec::GilbertElliott(GilbertElliott {
            alpha,
            beta,
            pg: 0.0,
            pb: 1.0,
            start: Start::Stationary,
        }),
        seed,
    );
    let walks = specs
        .iter()
        .map(|spec| Walk::new(spec.clone(), RTT, Span::ZERO));
    let mut walks: Vec<(Walk, Sums)> = walks.map(|walk| (walk, Sums::default())).collect();
    let (mut slots, mut lldus) = (Vec::new(), Vec::new());
    let mut from = 0;
    loop {
        slots.clear();
        link.piece(from, PIECE, &mut slots);
        if slots.is_empty() {
            break;
        }
        from += slots.len() as u64;
        for slot in &mut slots {
            if channel.erases() {
                *slot = Slot::erased(slot.tx_time());
            }
        }
        for (walk, sums) in &mut walks {
            lldus.clear();
            walk.slots(&slots, &mut lldus).map_err(Failure::failed)?;
            sums.add(&lldus, until);
        }
    }
    let share = to_f64(until.as_nanos()) / to_f64(duration.as_nanos());
    let finished = walks.into_iter().map(|(mut walk, mut sums)| {
        lldus.clear();
        walk.finish(&mut lldus);
        sums.add(&lldus, until);
        let waited = match walk.scheme().combining() {
            Combining::Discard => sums.delivered,
            Combining::Incremental => sums.lldus,
        };
        Walked {
            lldus: sums.lldus,
            lost: sums.lost,
            efficiency: to_f64(sums.delivered) / (to_f64(from) * share),
            loss: to_f64(sums.lost) / to_f64(sums.lldus),
            delay: RTT.half().as_secs_f64() + wide(sums.waits) * 1e-9 / to_f64(waited),
        }
    });
    Ok(finished.collect())
}

/// A sum of nanoseconds as a double.
fn wide(sum: u128) -> f64 {
    const HALF: u32 = 64;
    let part = |bits: u128| to_f64(u64::try_from(bits).unwrap_or(u64::MAX));
    part(sum >> HALF) * 18_446_744_073_709_551_616.0 + part(sum & u128::from(u64::MAX))
}
