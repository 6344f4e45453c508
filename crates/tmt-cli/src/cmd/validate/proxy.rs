//! papers/004 Figs 6 to 9 and 11 to 17: TCP end to end over SR-ARQ, equation (39), and TCP splitting, equation (50).
//!
//! End to end the gateway keeps a packet until the link has acknowledged it, as the paper's analysis has it (k in (6)).
//! Equation (39) takes upper bounds of what a window's transfer takes ((7), (12), (18)), and adds queueing and
//! retransmission though they overlap: it is the lower the more buffer there is, and judged from below only. That
//! is so without any loss, where the truth is known: at p = 0, T1 = 0, T2 = 100 ms and B = 50 it says 0.857 of a link
//! that a window of 26 to 51 segments over a pipe of 25 keeps busy all the time. It is no strict bound: it leaves out what recoveries cost, and with T1 = 500 ms, T2 = 300 ms
//! and B = 50, which no figure has, the simulation is 10 to 15 % below it.

use std::fmt;

use fluid_tcp::endpoint::sender::Snapshot;
use fluid_tcp::endpoint::{Endpoint, Profile};
use fluid_tcp::link::PacketCopy;
use fluid_tcp::link::gateway::{Hold, InOrder};
use fluid_tcp::simulation::probe::{Moment, Probe, Refused};
use fluid_tcp::simulation::{Path, SplitWindow};
use tmt_core::math::num;
use tmt_core::types::{BitRate, Bytes, Span, Time, to_f64};

use self::Axis::{Buffer, Flows, Loss, Repeats, T1, T2};
use super::coupled::Point;
use super::figure::{Bound, Comparison, Figure, Runs, Scale, Theory, cross, mean};
use crate::exit::Outcome;

const RATE: BitRate = BitRate(1_000_000);
/// A segment is one link-layer packet, S = 1.
const SEGMENT: Bytes = Bytes(500);

const SMALL: &str = "fewer than 30 segments of buffer: (39) is made for more (models.md 4.3)";
const LIMITED: &str =
    "ARQ that gives up loses segments, of which (39), made for ARQ without end, knows nothing";
const SHARED: &str =
    "(39) is of one connection: several are kept waiting less by packets in front of theirs";
const UNPACED: &str = "a release and the next arrival do not fall together here: (50) has a flow learn of room up to one T1 \
                       late, which depends on how T2 lies to T1";
const SPREAD: &str = "(50) is of one connection, whose segments reach the proxy together once a T1; those of several spread, and \
                      room is told more often";
const FEW: &str = "with so few segments for each flow (58) sees no fast retransmit and the paper no throughput; here flows that \
                   are told their part of the room seldom send what finds none, and those that do, or are told all of it, go \
                   on by timeouts and by what the proxy tells when there is room again";

/// Share of the link by which the losses of a run may be fewer than expected.
const BEYOND: f64 = 0.01;

const fn scale(tolerance: f64) -> Scale {
    Scale {
        tolerance,
        seconds: (1_000, 100),
    }
}

/// How a point's path is run: end to end, or split by a proxy that tells its flows of its room in this way.
type Run = Option<SplitWindow>;

const END_TO_END: &[Run] = &[None];
const SPLIT: &[Run] = &[Some(SplitWindow::Share)];
const BOTH: &[Run] = &[None, Some(SplitWindow::Share), Some(SplitWindow::Whole)];

const LOSSES: [f64; 2] = [0.1, 0.3];
const MANY_LOSSES: [f64; 5] = [0.1, 0.2, 0.3, 0.4, 0.5];

pub(super) const FIGURES: &[Figure] = &[
    Figure::new(
        "004-fig6",
        "papers/004 Fig. 6: end to end over the segment loss rate, T1 = 0, B = 50",
        scale(0.1),
        |runs| {
            let way = Way {
                terrestrial: 0,
                ..WAY
            };
            let points = way.over(&[100, 250, 500].map(T2), &MANY_LOSSES.map(Loss));
            compare(runs, END_TO_END, points)
        },
    ),
    Figure::new(
        "004-fig7",
        "papers/004 Fig. 7: end to end over T2, T1 = 100 ms, B = 50",
        scale(0.1),
        |runs| {
            let points = WAY.over(&LOSSES.map(Loss), &[50, 100, 200, 300, 400, 500].map(T2));
            compare(runs, END_TO_END, points)
        },
    ),
    Figure::new(
        "004-fig8",
        "papers/004 Fig. 8: end to end over T1, T2 = 100 ms, B = 50",
        scale(0.1),
        |runs| {
            let points = WAY.over(&LOSSES.map(Loss), &[0, 100, 200, 300, 400, 500].map(T1));
            compare(runs, END_TO_END, points)
        },
    ),
    Figure::new(
        "004-fig9",
        "papers/004 Fig. 9: end to end over the buffer, T1 = T2 = 100 ms",
        scale(0.1),
        |runs| {
            let points = WAY.over(&LOSSES.map(Loss), &[10, 25, 50, 100, 200].map(Buffer));
            compare(runs, END_TO_END, points)
        },
    ),
    Figure::new(
        "004-fig11",
        "papers/004 Fig. 11: splitting over the buffer, T1 = 100 ms, p = 0.1",
        scale(0.06),
        |runs| {
            let buffers = [10, 20, 50, 100, 150, 200].map(Buffer);
            let points = WAY.over(&[10, 500].map(T2), &buffers);
            compare(runs, SPLIT, points)
        },
    ),
    Figure::new(
        "004-fig12",
        "papers/004 Fig. 12: splitting over the segment loss rate, T1 = 100 ms, B = 50",
        scale(0.06),
        |runs| {
            let points = WAY.over(&[100, 500].map(T2), &MANY_LOSSES.map(Loss));
            compare(runs, SPLIT, points)
        },
    ),
    Figure::new(
        "004-fig13",
        "papers/004 Fig. 13: both over beta/(1 + 2 alpha), T2 = 100 ms, p = 0.1",
        scale(0.1),
        |runs| {
            let loads = [0.2, 0.4, 0.6, 0.8, 1.0, 1.5];
            let points = cross(&[0.1, 1.0, 10.0], &loads, |alpha: f64, load: f64| {
                let satellite = f64::from(WAY.satellite);
                let mu = to_f64(RATE.0) / (8.0 * to_f64(SEGMENT.0));
                let bdp = mu * satellite / 1e3;
                let terrestrial = num::whole((alpha * satellite / 0.9).round());
                let way = Way {
                    terrestrial: u32::try_from(terrestrial).unwrap_or(u32::MAX),
                    buffer: num::whole((load * (1.0 + 2.0 * alpha) * bdp).round()),
                    ..WAY
                };
                (format!("alpha={alpha} beta/(1+2alpha)={load}"), way)
            });
            compare(runs, BOTH, points)
        },
    ),
    Figure::new(
        "004-fig14",
        "papers/004 Fig. 14: end to end over the largest number of repeats, T1 = T2 = 100 ms, B = 50",
        scale(0.1),
        |runs| {
            let points = WAY.over(&LOSSES.map(Loss), &[1, 2, 3, 4, 6, 8, 10].map(Repeats));
            compare(runs, END_TO_END, points)
        },
    ),
    Figure::new(
        "004-fig15",
        "papers/004 Fig. 15: both over the fading rate, X = 0.1, T1 = T2 = 100 ms, B = 50; the model is an upper bound",
        scale(0.1),
        |runs| {
            let points = [10, 20, 50, 100, 200].map(|bad| {
                let way = Way {
                    fading: Some(bad),
                    ..WAY
                };
                (format!("m={bad}ms f={}/s", 100.0 / f64::from(bad)), way)
            });
            compare(runs, BOTH, points)
        },
    ),
    Figure::new(
        "004-fig16",
        "papers/004 Fig. 16: both over the number of connections, T1 = T2 = 100 ms, p = 0.1",
        scale(0.1),
        |runs| {
            let points = WAY.over(&[30, 100].map(Buffer), &[1, 2, 5, 10].map(Flows));
            compare(runs, BOTH, points)
        },
    ),
    Figure::new(
        "004-fig17",
        "papers/004 Fig. 17: windows of two connections end to end when the buffer overflows, T1 = T2 = 100 ms, B = 50, p = 0.1",
        scale(0.25),
        windows,
    ),
];

/// Every point in each of the ways to run it.
fn compare(
    runs: &Runs,
    ways: &[Run],
    points: impl IntoIterator<Item = (String, Way)>,
) -> Outcome<Vec<Comparison>> {
    let mut rows = Vec::new();
    for (at, way) in points {
        for run in ways {
            // One connection is told the same either way.
            if way.flows > 1 || *run != Some(SplitWindow::Whole) {
                rows.push(way.compare(runs, at.clone(), *run)?);
            }
        }
    }
    Ok(rows)
}

fn windows(runs: &Runs) -> Outcome<Vec<Comparison>> {
    const NO_FORM: &str =
        "no closed form: 0 would be windows in step, and the paper shows both kinds of overflow";
    let way = Way { flows: 2, ..WAY };
    let theory = Theory::ask("zhu", &way.keys())?;
    let overflows = runs.each(|seed| {
        let mut overflows = Overflows::default();
        way.point(None).run(seed, runs.duration, &mut overflows)?;
        Ok(overflows)
    })?;
    let row = |quantity, by, value: fn(&Overflows) -> f64| {
        let values: Vec<f64> = overflows.iter().map(value).collect();
        let (at, subject) = ("B=50 N=2".to_owned(), "2 × reno end to end".to_owned());
        Comparison::new(at, subject, quantity, by, (&theory, "wmax"), mean(&values)?)
    };
    let sum = "both windows at an overflow, segments";
    let alone = "overflows that hit one flow alone";
    Ok(vec![
        row(sum, "zhu wmax", Overflows::mean_sum)?,
        Comparison {
            model: "-".to_owned(),
            theory: 1.0,
            outside_assumptions: Some(NO_FORM),
            ..row(alone, "none", Overflows::share_alone)?
        },
    ])
}

/// A point: what differs from it is said.
const WAY: Way = Way {
    terrestrial: 100,
    satellite: 100,
    buffer: 50,
    loss: 0.1,
    fading: None,
    most: None,
    flows: 1,
};

/// The path and the load of a point.
#[derive(Debug, Clone, Copy)]
struct Way {
    /// T1, ms.
    terrestrial: u32,
    /// T2, ms.
    satellite: u32,
    buffer: u64,
    /// Loss of a segment, or the share of bad time.
    loss: f64,
    /// Mean bad time, ms; none for losses that are independent.
    fading: Option<u32>,
    /// Repeats at most; none for ARQ that never gives up.
    most: Option<u32>,
    flows: u32,
}

/// A value on an axis of a figure.
#[derive(Debug, Clone, Copy)]
enum Axis {
    T1(u32),
    T2(u32),
    Buffer(u64),
    Repeats(u32),
    Flows(u32),
    Loss(f64),
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            T1(ms) => write!(f, "T1={ms}ms"),
            T2(ms) => write!(f, "T2={ms}ms"),
            Buffer(segments) => write!(f, "B={segments}"),
            Repeats(most) => write!(f, "repeats<={most}"),
            Flows(flows) => write!(f, "N={flows}"),
            Loss(p) => write!(f, "p={p}"),
        }
    }
}

impl Way {
    /// This point at every pair of values, the inner ones first; the loss is named last.
    fn over(self, outer: &[Axis], inner: &[Axis]) -> Vec<(String, Self)> {
        cross(outer, inner, |outer, inner| {
            let at = match outer {
                Loss(_) => format!("{inner} {outer}"),
                _ => format!("{outer} {inner}"),
            };
            (at, self.with(outer).with(inner))
        })
    }

    fn with(mut self, value: Axis) -> Self {
        match value {
            T1(ms) => self.terrestrial = ms,
            T2(ms) => self.satellite = ms,
            Buffer(segments) => self.buffer = segments,
            Repeats(most) => self.most = Some(most),
            Flows(flows) => self.flows = flows,
            Loss(p) => self.loss = p,
        }
        self
    }

    /// The keys of a model of this path.
    fn keys(&self) -> String {
        let (t1, t2) = (
            f64::from(self.terrestrial) / 1e3,
            f64::from(self.satellite) / 1e3,
        );
        let loss = match self.fading {
            Some(bad) => format!("p={} X={} m={}", self.loss, self.loss, f64::from(bad) / 1e3),
            None => format!("p={}", self.loss),
        };
        format!("B={} mu=250 T1={t1} T2={t2} {loss}", self.buffer)
    }

    fn compare(&self, runs: &Runs, at: String, split: Run) -> Outcome<Comparison> {
        let (model, result, by) = match (self.fading, split) {
            (None, None) => ("zhu", "norm", "zhu"),
            (None, Some(_)) => ("split", "norm", "split"),
            (Some(_), None) => ("fading", "e2e_upper_norm", "fading, upper bound"),
            (Some(_), Some(_)) => ("fading", "split_upper_norm", "fading, upper bound"),
        };
        let theory = Theory::ask(model, &self.keys())?;
        let simulated = self.point(split).throughput(runs)?;
        let way = match (split, self.flows) {
            (None, _) => "end to end".to_owned(),
            (Some(_), 1) => "split".to_owned(),
            (Some(window), _) => format!("split, told {window}"),
        };
        Ok(Comparison {
            bound: match (self.fading, split) {
                (Some(_), _) => Some(Bound::Upper),
                // No link carries more than what comes through at once.
                (None, None) if simulated.mean <= 1.0 - self.loss + BEYOND => Some(Bound::Lower),
                (None, _) => None,
            },
            outside_assumptions: match split {
                None => self.outside_of_end_to_end(),
                Some(_) => self.outside_of_split(theory.result(result)?),
            },
            ..Comparison::new(
                at,
                format!("{} × reno {way}", self.flows),
                "throughput / mu",
                by,
                (&theory, result),
                simulated,
            )?
        })
    }

    /// Which assumption of the model end to end does not hold, if one does not.
    fn outside_of_end_to_end(&self) -> Option<&'static str> {
        let given_up = |most| num::powi(self.loss, u64::from(most) + 1);
        match self.most {
            Some(most) if given_up(most) > 1e-4 => Some(LIMITED),
            _ if self.flows > 1 => Some(SHARED),
            _ if self.buffer < 30 => Some(SMALL),
            _ => None,
        }
    }

    /// The same of splitting, where the model says this share of the link.
    fn outside_of_split(&self, share: f64) -> Option<&'static str> {
        let few = self.buffer / u64::from(self.flows) < 4;
        let in_step = self.satellite.is_multiple_of(self.terrestrial.max(1))
            || 5 * self.satellite <= self.terrestrial;
        let full = share >= 0.99 * (1.0 - self.loss);
        match self.fading {
            _ if few => Some(FEW),
            None if self.flows > 1 && !full => Some(SPREAD),
            None if !in_step && !full => Some(UNPACED),
            _ => None,
        }
    }

    fn point(&self, split: Run) -> Point {
        Point {
            rate: RATE,
            lldu: SEGMENT,
            lldus: 1,
            channel: match self.fading {
                Some(bad) => format!("fading:m={bad}ms,X={}", self.loss),
                None => format!("bernoulli:{}", self.loss),
            },
            scheme: match self.most {
                Some(most) => format!("arq:rounds={most}"),
                None => "arq".to_owned(),
            },
            rtt: Span::from_millis(self.satellite),
            path: Path {
                terrestrial_rtt: Span::from_millis(self.terrestrial),
                split,
                feedback_delay: Span::ZERO,
            },
            buffer: self.buffer,
            in_order: InOrder::Flow,
            hold: Hold::Acknowledged,
            cc: "reno",
            endpoint: Endpoint {
                sack: false,
                ..Profile::Ns2.endpoint()
            },
            flows: self.flows,
            apart: Span::ZERO,
        }
    }
}

/// Overflows of the gateway's buffer under two flows: drops less than this apart are one.
const ONE_OVERFLOW: Span = Span::from_millis(500);

/// Watches two flows' windows and whom an overflow hits.
#[derive(Debug, Default)]
struct Overflows {
    windows: [f64; 2],
    /// When the overflow under way had its last drop, and which flows it hit.
    current: Option<(Time, [bool; 2])>,
    sums: Vec<f64>,
    alone: usize,
}

impl Overflows {
    fn mean_sum(&self) -> f64 {
        self.sums.iter().sum::<f64>() / to_f64(self.sums.len() as u64)
    }

    fn share_alone(&self) -> f64 {
        // The one under way at the end is left out.
        to_f64(self.alone as u64) / to_f64(self.sums.len().saturating_sub(1).max(1) as u64)
    }
}

impl Probe for Overflows {
    fn on_refused(&mut self, now: Time, copy: PacketCopy, _why: Refused) {
        let hit = match self.current {
            Some((last, mut hit)) if now.since(last) < ONE_OVERFLOW => {
                hit[copy.flow % 2] = true;
                hit
            }
            before => {
                if let Some((_, hit)) = before {
                    self.alone += usize::from(hit != [true; 2]);
                }
                self.sums.push(self.windows.iter().sum());
                std::array::from_fn(|flow| flow == copy.flow)
            }
        };
        self.current = Some((now, hit));
    }

    fn on_sender(
        &mut self,
        _now: Time,
        flow: usize,
        _moment: Moment,
        sender: &Snapshot,
        _queue: u64,
        _delivered: u64,
    ) {
        self.windows[flow % 2] = sender.cwnd;
    }
}
