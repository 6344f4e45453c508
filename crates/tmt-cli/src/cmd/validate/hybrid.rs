//! papers/002 Figs 3 to 14: its model (equations (1) to (10)) beside TCP over hybrid FEC/ARQ-SR.
//!
//! Figs 3 to 8 are the paper's simulations, 9 to 14 its model on the same points: each entry here is both.

use fluid_tcp::endpoint::{Endpoint, Profile};
use fluid_tcp::link::gateway::{Hold, InOrder};
use fluid_tcp::simulation::Path;
use tmt_core::types::{BitRate, Bytes, Span};

use super::coupled::Point;
use super::figure::{Comparison, Figure, Runs, Scale, Theory, cross};
use crate::exit::Outcome;
use fluid_tcp::simulation::replications::Estimate;

/// Data units of a frame, K.
const DATA_UNITS: u32 = 10;
/// Frames of a packet, X.
const FRAMES: u32 = 6;
const RATE: BitRate = BitRate(2_000_000);
const UNIT: Bytes = Bytes(25);
/// 2 · (20 + 20) ms outside of the link.
const TERRESTRIAL: Span = Span::from_millis(80);
const BUFFER: u64 = 500;
const WINDOW: u64 = 2_000;

/// Packet losses above this, and below saturation, are no matter for the relation that the model takes its rate from.
const LOSS_MOST: f64 = 0.02;
const LOSSY: &str = "packet losses above 2 %: windows of a few packets, where relation (1) takes a timeout for four round \
                     trips and knows no limited transmit";
/// Packets between the link's ends above which Proposition 1, made for low load, tells too short a resequencing.
const LOAD_MOST: f64 = 6.0;
const LOADED: &str = "above six packets between the link's ends on average: Proposition 1 of resequencing is first order \
                      in the load (B6)";
/// Share of what the link could carry from which its queue, which the model does not know, takes part.
const NEARLY_FULL: f64 = 0.6;
const QUEUED: &str = "relation (1) asks for 60 to 100 % of the link: its queue, of which the model knows nothing, takes part";
const UNORDERED: &str = "the model knows delivery in order alone";

const SCALE: Scale = Scale {
    tolerance: 0.1,
    seconds: (2_000, 100),
};

/// One way over the link, ms.
const DELAYS: [u32; 3] = [20, 100, 200];
const PERSISTENCIES: [u32; 6] = [0, 1, 2, 3, 4, 5];

pub(super) const FIGURES: &[Figure] = &[
    Figure::new(
        "002-fig3",
        "papers/002 Figs 3 and 9: throughput of the link over N, FEC alone, 10 connections, p = 0.01",
        SCALE,
        |runs| {
            let at = |delay, sent| At::new(10, delay, 0.01, sent, 0);
            compare(runs, &cross(&DELAYS, &[10, 11, 12, 13, 14, 16], at))
        },
    )
    .also(&["002-fig9"]),
    Figure::new(
        "002-fig4",
        "papers/002 Figs 4 and 10: the same over the persistency, ARQ-SR alone, in order and not, 10 connections, p = 0.01",
        SCALE,
        |runs| {
            let links = cross(&[InOrder::Link, InOrder::Off], &DELAYS, |order, delay| {
                (order, delay)
            });
            let at = |(in_order, delay), persistency| At {
                in_order,
                ..At::new(10, delay, 0.01, 10, persistency)
            };
            compare(runs, &cross(&links, &PERSISTENCIES, at))
        },
    )
    .also(&["002-fig10"]),
    Figure::new(
        "002-fig5",
        "papers/002 Figs 5 and 11: the hybrid model, 10 connections, D = 200 ms, p = 0.01",
        SCALE,
        |runs| compare(runs, &hybrid(10, 0.01)),
    )
    .also(&["002-fig11"]),
    Figure::new(
        "002-fig6",
        "papers/002 Figs 6 and 12: the same at p = 0.001",
        SCALE,
        |runs| compare(runs, &hybrid(10, 0.001)),
    )
    .also(&["002-fig12"]),
    Figure::new(
        "002-fig7",
        "papers/002 Figs 7 and 13: the hybrid model, one connection, D = 200 ms, p = 0.01",
        SCALE,
        |runs| compare(runs, &hybrid(1, 0.01)),
    )
    .also(&["002-fig13"]),
    Figure::new(
        "002-fig8",
        "papers/002 Figs 8 and 14: throughput over the persistency, ARQ-SR alone, one connection, p = 0.01",
        SCALE,
        |runs| {
            let at = |delay, persistency| At::new(1, delay, 0.01, 10, persistency);
            compare(runs, &cross(&DELAYS, &PERSISTENCIES, at))
        },
    )
    .also(&["002-fig14"]),
];

/// A point on an axis.
#[derive(Debug, Clone, Copy)]
struct At {
    connections: u32,
    /// One way over the link, ms.
    delay: u32,
    /// Loss of a unit.
    loss: f64,
    /// Units of a frame, N.
    sent: u32,
    /// Times a frame is sent again at most.
    persistency: u32,
    in_order: InOrder,
}

fn hybrid(connections: u32, loss: f64) -> Vec<At> {
    cross(&PERSISTENCIES, &[10, 11, 12, 13], |persistency, sent| {
        At::new(connections, 200, loss, sent, persistency)
    })
}

fn compare(runs: &Runs, points: &[At]) -> Outcome<Vec<Comparison>> {
    points.iter().map(|at| at.compare(runs)).collect()
}

impl At {
    const fn new(connections: u32, delay: u32, loss: f64, sent: u32, persistency: u32) -> Self {
        Self {
            connections,
            delay,
            loss,
            sent,
            persistency,
            in_order: InOrder::Link,
        }
    }

    fn compare(&self, runs: &Runs) -> Outcome<Comparison> {
        let Self {
            connections,
            delay,
            loss,
            sent,
            persistency,
            in_order,
        } = *self;
        let share = self.point().throughput(runs)?;
        let percent = Estimate {
            mean: 100.0 * share.mean,
            ci95: share.ci95.map(|half| 100.0 * half),
            ..share
        };
        let seconds = f64::from(delay) / 1e3;
        let keys = format!("C={connections} D={seconds} p={loss} N={sent} delta={persistency}");
        let theory = Theory::ask("barakat", &keys)?;
        let order = match in_order {
            InOrder::Off => ", out of order",
            _ => "",
        };
        Ok(Comparison {
            outside_assumptions: self.outside(&theory)?,
            ..Comparison::new(
                format!("D={delay}ms N={sent} delta={persistency}"),
                format!("{connections} × newreno{order}"),
                "throughput, % of the link",
                "barakat",
                (&theory, "percent"),
                percent,
            )?
        })
    }

    /// Which of the model's assumptions does not hold, if one does not.
    fn outside(&self, theory: &Theory) -> Outcome<Option<&'static str>> {
        if self.in_order == InOrder::Off {
            return Ok(Some(UNORDERED));
        }
        // pi: what relation (1) asks for over what the link can carry.
        let asked = theory.result("pi")?;
        if asked >= 1.0 {
            return Ok(None);
        }
        if theory.result("P")? > LOSS_MOST {
            return Ok(Some(LOSSY));
        }
        let between = theory.result("A")? - TERRESTRIAL.as_secs_f64() - f64::from(self.delay) / 1e3;
        if theory.result("lambda")? * between > LOAD_MOST {
            return Ok(Some(LOADED));
        }
        Ok((asked > NEARLY_FULL).then_some(QUEUED))
    }

    fn point(&self) -> Point {
        let (data, sent, rounds) = (DATA_UNITS, self.sent, self.persistency);
        let profile = Profile::Ns2.endpoint();
        Point {
            rate: RATE,
            lldu: UNIT,
            lldus: DATA_UNITS * FRAMES,
            channel: format!("bernoulli:{}", self.loss),
            scheme: if rounds == 0 {
                format!("fec:{data}/{sent}")
            } else {
                format!("frame-arq:{data}/{sent},rounds={rounds}")
            },
            rtt: Span::from_millis(2 * self.delay),
            path: Path {
                terrestrial_rtt: TERRESTRIAL,
                split: None,
                feedback_delay: Span::ZERO,
            },
            buffer: BUFFER,
            in_order: self.in_order,
            hold: Hold::Sent,
            cc: "newreno",
            endpoint: Endpoint {
                sack: false,
                delayed_ack: 2,
                rwnd: WINDOW,
                ..profile
            },
            flows: self.connections,
            apart: Span::from_millis(110),
        }
    }
}
