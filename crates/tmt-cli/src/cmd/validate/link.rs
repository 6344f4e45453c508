//! papers/000 §3.6: link theory beside `tmt apply` on generated traces.

use rayon::prelude::*;
use tmt_core::channel::synth::ConstantRate;
use tmt_core::channel::{Channel, ChannelSpec, GilbertElliott, Start};
use tmt_core::scheme::SchemeSpec;
use tmt_core::scheme::runner::Walk;
use tmt_core::types::{BitRate, Bytes, Fate, Lldu, Slot, Span, Time, to_f64};

use super::figure::{Comparison, Figure, Runs, Theory, mean};
use crate::exit::{Failure, Outcome};

// The papers' forward link: 2.34 Mbps of 33 B LLDUs, RTT 500 ms.
const RATE: BitRate = BitRate(2_340_000);
const LLDU: Bytes = Bytes(33);
const RTT: Span = Span::from_millis(500);
/// Next to nothing: what is compared is the wait for recovery.
const DECODE_DELAY: Span = Span::from_millis(1);
/// LLDUs first sent later than this before the end may not have been recovered yet: 40 round trips.
const UNSETTLED: Span = Span::from_secs(20);
const LOSS: &str = "residual loss";
/// Times the tolerance that the loss under HARQ and frame ARQ may be off: repeats of other codewords cut in, so that an
/// attempt is no contiguous stretch of the channel, as the closed forms take it to be; what is rare feels it most.
const CUT_UP: f64 = 5.0;
/// Losses that a comparison of loss ratios needs to mean anything; they come in bursts.
const SEEN: f64 = 2_000.0;
const RARE: &str = "fewer than 2000 LLDUs are lost in all runs, or expected to be: more --duration or --seeds would tell";
/// Slots generated and walked at a time.
const PIECE: usize = 1 << 16;

/// Reference points of models.md §1.6: beta, efficiency or delay.
type Reference = &'static [(f64, f64)];

/// A scheme beside its model.
#[derive(Debug)]
struct Case {
    scheme: &'static str,
    model: &'static str,
    keys: &'static str,
    /// The result that is the mean delay of an LLDU.
    delay: &'static str,
    eta_reference: Reference,
    delay_reference: Reference,
}

/// Time per LLDU, s, as the models take it.
fn tp() -> f64 {
    to_f64(LLDU.0) * 8.0 / to_f64(RATE.0)
}

pub(super) const FIGURE_5: Figure = Figure {
    name: "000-fig5",
    also: &[],
    about: "papers/000 Fig. 5: efficiency and delay over the erasure probability, alpha = 0.99",
    tolerance: 0.02,
    duration: Span::from_secs(500),
    shortest: Span::from_secs(60),
    compare: |runs| {
        let cases = [
            Case {
                scheme: "fec:10/12",
                model: "fec",
                keys: "nd=10 nr=2",
                delay: "delay_nd",
                eta_reference: &[],
                delay_reference: &[],
            },
            Case {
                scheme: "arq",
                model: "arq",
                keys: "",
                delay: "delay",
                eta_reference: &[],
                delay_reference: &[],
            },
            Case {
                scheme: "harq:5/7,rounds=2",
                model: "harq",
                keys: "nd=5 nr=2 R=2",
                delay: "delay_lldu",
                eta_reference: &[],
                delay_reference: &[],
            },
        ];
        compare(runs, 0.99, &[0.1, 0.5, 0.8, 0.9, 0.95, 0.98], &cases)
    },
};

pub(super) const FIGURE_6: Figure = Figure {
    name: "000-fig6",
    also: &[],
    about: "papers/000 Fig. 6: the same for ND = 38, NR = 13, R = 2, alpha = 0.98",
    tolerance: 0.02,
    duration: Span::from_secs(500),
    shortest: Span::from_secs(60),
    compare: |runs| {
        let cases = [
            Case {
                scheme: "fec:38/51",
                model: "fec",
                keys: "nd=38 nr=13",
                delay: "delay_nd",
                eta_reference: &[
                    (0.1, 0.7451),
                    (0.5, 0.7448),
                    (0.8, 0.7222),
                    (0.9, 0.6596),
                    (0.93, 0.6119),
                ],
                delay_reference: &[],
            },
            Case {
                scheme: "arq",
                model: "arq",
                keys: "",
                delay: "delay",
                eta_reference: &[
                    (0.1, 0.9783),
                    (0.5, 0.9615),
                    (0.8, 0.9091),
                    (0.9, 0.8333),
                    (0.93, 0.7778),
                ],
                delay_reference: &[
                    (0.1, 0.2611),
                    (0.5, 0.2700),
                    (0.8, 0.3000),
                    (0.9, 0.3500),
                    (0.93, 0.3929),
                ],
            },
            Case {
                scheme: "harq:38/51,rounds=2",
                model: "harq",
                keys: "nd=38 nr=13 R=2",
                delay: "delay_lldu",
                eta_reference: &[
                    (0.1, 0.7451),
                    (0.5, 0.7451),
                    (0.8, 0.7376),
                    (0.9, 0.6998),
                    (0.93, 0.6588),
                ],
                delay_reference: &[
                    (0.1, 0.2500),
                    (0.5, 0.2502),
                    (0.8, 0.2674),
                    (0.9, 0.3168),
                    (0.93, 0.3522),
                ],
            },
        ];
        compare(runs, 0.98, &[0.1, 0.5, 0.8, 0.9, 0.93], &cases)
    },
};

pub(super) const FURTHER: Figure = Figure {
    name: "link-further",
    also: &[],
    about: "what papers/000 has no figure for: interleaved FEC (eq 4), NS > 0, frame ARQ, alpha = 0.98",
    tolerance: 0.02,
    duration: Span::from_secs(500),
    shortest: Span::from_secs(60),
    compare: |runs| {
        let case = |scheme, model, keys, delay| Case {
            scheme,
            model,
            keys,
            delay,
            eta_reference: &[],
            delay_reference: &[],
        };
        let cases = [
            case(
                "fec:10/12,interleave=10",
                "fec",
                "nd=10 nr=2 depth=10",
                "delay_nd",
            ),
            case(
                "fec:10/12,interleave=100",
                "fec",
                "nd=10 nr=2 depth=100",
                "delay_nd",
            ),
            case(
                "harq:10/12,extra=2,rounds=1",
                "harq",
                "nd=10 nr=2 ns=2 R=1",
                "delay_lldu",
            ),
            case(
                "harq:10/12,rounds=4",
                "harq",
                "nd=10 nr=2 R=4",
                "delay_lldu",
            ),
            case(
                "frame-arq:10/12,rounds=2",
                "frame-arq",
                "nd=10 nr=2 R=2",
                "delay",
            ),
        ];
        compare(runs, 0.98, &[0.1, 0.5, 0.8, 0.9], &cases)
    },
};

/// Every case at every beta, all on the same traces.
fn compare(runs: &Runs, alpha: f64, betas: &[f64], cases: &[Case]) -> Outcome<Vec<Comparison>> {
    let specs: Vec<SchemeSpec> = cases
        .iter()
        .map(|case| case.scheme.parse().map_err(Failure::failed))
        .collect::<Outcome<_>>()?;
    let mut comparisons = Vec::new();
    for beta in betas {
        let seeds: Vec<u64> = (1..=runs.seeds).collect();
        let walked: Vec<Vec<Walked>> = seeds
            .into_par_iter()
            .map(|seed| walk(&specs, alpha, *beta, runs.duration, seed))
            .collect::<Outcome<_>>()?;
        for (index, case) in cases.iter().enumerate() {
            let of_case: Vec<Walked> = walked.iter().map(|schemes| schemes[index]).collect();
            comparisons.extend(case.rows(alpha, *beta, &of_case)?);
        }
    }
    Ok(comparisons)
}

impl Case {
    /// Efficiency, residual loss where there is any, delay.
    fn rows(&self, alpha: f64, beta: f64, walked: &[Walked]) -> Outcome<Vec<Comparison>> {
        let p = (1.0 - alpha) / (2.0 - alpha - beta);
        let channel = match self.model {
            "arq" => format!("p={p} rtt={}", RTT.as_secs_f64()),
            _ => format!(
                "alpha={alpha} beta={beta} rtt={} tp={} {}",
                RTT.as_secs_f64(),
                tp(),
                self.keys
            ),
        };
        let theory = Theory::ask(self.model, &channel)?;
        let reference = |points: Reference| {
            let point = points.iter().find(|(at, _)| (at - beta).abs() < 1e-9);
            point.map(|(_, value)| *value)
        };
        let row = |quantity, theory_value, values: &[f64], reference, why| -> Outcome<Comparison> {
            let simulated = mean(values)?;
            Ok(Comparison {
                at: format!("beta={beta} p={p:.4}"),
                subject: self.scheme.to_owned(),
                quantity,
                by: self.model,
                model: theory.asked().to_owned(),
                theory: theory_value,
                simulated: simulated.mean,
                ci95: simulated.ci95,
                reference,
                allowed: if quantity == LOSS && self.model != "fec" {
                    CUT_UP
                } else {
                    1.0
                },
                bound: None,
                outside_assumptions: why,
            })
        };
        let of = |what: fn(&Walked) -> f64| -> Vec<f64> { walked.iter().map(what).collect() };
        let mut rows = vec![row(
            "efficiency",
            theory.result("eta")?,
            &of(|walked| walked.efficiency),
            reference(self.eta_reference),
            None,
        )?];
        if let Ok(loss) = theory.result("residual_loss") {
            let lldus: u64 = walked.iter().map(|walked| walked.lldus).sum();
            let seen: u64 = walked.iter().map(|walked| walked.lost).sum();
            let most = (loss * to_f64(lldus)).max(to_f64(seen));
            let rare = (loss > 0.0 && most < SEEN).then_some(RARE);
            rows.push(row(LOSS, loss, &of(|walked| walked.loss), None, rare)?);
        }
        rows.push(row(
            "delay s",
            theory.result(self.delay)?,
            &of(|walked| walked.delay),
            reference(self.delay_reference),
            None,
        )?);
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
        let frames = walk.scheme().text().starts_with("frame-arq");
        let waited = if frames { sums.delivered } else { sums.lldus };
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
