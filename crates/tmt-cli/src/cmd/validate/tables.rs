//! papers/003 Tables I and II: TGEP and relation (15) beside `tmt tcp`.

use fluid_tcp::endpoint::rtt::RtoSettings;
use fluid_tcp::endpoint::{Endpoint, Profile};
use fluid_tcp::link::SyntheticLink;
use fluid_tcp::simulation::probe::NoProbe;
use fluid_tcp::simulation::{Setup, run};
use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::types::{BitRate, Bytes, Span, to_f64};

use super::coupled::flows;
use super::figure::{Comparison, Figure, Runs, Scale, Theory, mean};
use crate::exit::{Failure, Outcome};

/// Size of a segment; only the rate in segments matters.
const PACKET: Bytes = Bytes(1000);

/// One of the two tables: the link, the load, the reference columns.
#[derive(Debug)]
struct Table {
    /// Segments per second.
    mu: u64,
    /// Propagation; with one service time it is the 0.5 s that the reference runs have in all.
    rtt: Span,
    /// beta · mu · T, segments.
    buffer: u64,
    connections: u32,
    delayed_ack: u32,
    rows: &'static [Row],
}

/// A row of a table as printed (fixtures/reference/celandroni_table*.csv).
#[derive(Debug)]
struct Row {
    /// Segment loss rate.
    q: f64,
    /// TGEP's column.
    tgep: f64,
    /// Relation (15)'s column for T0 = 1 s.
    relation: Option<f64>,
}

const fn row(q: f64, tgep: f64, relation: Option<f64>) -> Row {
    Row { q, tgep, relation }
}

const ONE: Table = Table {
    mu: 100,
    rtt: Span::from_millis(490),
    buffer: 40,
    connections: 1,
    delayed_ack: 2,
    rows: &[
        row(1e-1, 0.058, Some(0.030)),
        row(1e-2, 0.162, Some(0.161)),
        row(1e-3, 0.547, Some(0.534)),
        row(1e-4, 0.957, Some(1.697)),
        row(1e-5, 0.991, None),
    ],
};

const FIVE: Table = Table {
    mu: 455,
    rtt: Span::from_millis(498),
    buffer: 182,
    connections: 5,
    delayed_ack: 1,
    rows: &[
        row(1e-1, 0.078, Some(0.048)),
        row(1e-2, 0.250, Some(0.254)),
        row(1e-3, 0.845, Some(0.843)),
        row(1e-4, 0.994, Some(2.678)),
    ],
};

const SCALE: Scale = Scale {
    tolerance: 0.2,
    seconds: (20_000, 500),
};

pub(super) const FIGURES: &[Figure] = &[
    Figure::new(
        "003-table1",
        "papers/003 Table I: normalised goodput over the loss rate, one NewReno connection, mu = 100",
        SCALE,
        |runs| ONE.compare(runs),
    ),
    Figure::new(
        "003-table2",
        "papers/003 Table II: the same for five NewReno connections in all, mu = 455",
        Scale {
            seconds: (5_000, 500),
            ..SCALE
        },
        |runs| FIVE.compare(runs),
    ),
];

/// Below this TGEP's fluid is no model: windows are of a few segments, and timeouts rule.
const TGEP_LEAST: f64 = 0.1;
/// Above this share of the link relation (15), which knows no limit, is no model.
const RELATION_MOST: f64 = 0.95;

const THIN: &str = "TGEP knows neither timeouts nor several losses in a window: below a tenth of the link windows are of a few \
                    segments";
const FULL: &str = "relation (15) knows no link rate: above 0.95 of the link it says what an unlimited one would give";

impl Table {
    fn compare(&self, runs: &Runs) -> Outcome<Vec<Comparison>> {
        let mut comparisons = Vec::new();
        for row in self.rows {
            let goodputs = runs.each(|seed| self.simulate(row.q, runs.duration, seed))?;
            comparisons.extend(self.rows_of(row, &goodputs)?);
        }
        Ok(comparisons)
    }

    /// The three closed forms of a row beside the simulation.
    fn rows_of(&self, row: &Row, goodputs: &[f64]) -> Outcome<[Comparison; 3]> {
        let simulated = mean(goodputs)?;
        let link = format!(
            "q={} mu={} tau=0.5 b={} N={}",
            row.q, self.mu, self.delayed_ack, self.connections
        );
        let comparison = |by, theory: &Theory, result, reference, outside| {
            let subject = format!("{} × newreno", self.connections);
            let at = format!("q={:e}", row.q);
            let theory = (theory, result);
            Ok(Comparison {
                reference,
                outside_assumptions: outside,
                ..Comparison::new(at, subject, "goodput / mu", by, theory, simulated)?
            })
        };
        let thinnest = Theory::ask("tgep", &format!("{link} beta=0.8"))?.result("norm")?;
        let thin = (thinnest < TGEP_LEAST).then_some(THIN);
        let fastest = Theory::ask("tgep", &format!("{link} beta=0.8 resend=mu"))?;
        let slower = Theory::ask("tgep", &format!("{link} beta=0.8 resend=rtt"))?;
        let relation = Theory::ask("relation15", &format!("{link} T0=1"))?;
        let full = (relation.result("Tg")? > RELATION_MOST).then_some(FULL);
        Ok([
            comparison("tgep resend=mu", &fastest, "norm", Some(row.tgep), thin)?,
            comparison("tgep resend=rtt", &slower, "norm", None, thin)?,
            comparison("relation15 T0=1", &relation, "Tg", row.relation, full)?,
        ])
    }

    /// Goodput over the link's rate in one run, with the settings of set A (fixtures/reference/peers).
    fn simulate(&self, q: f64, duration: Span, seed: u64) -> Outcome<f64> {
        let profile = Profile::Ns2.endpoint();
        let endpoint = Endpoint {
            sack: false,
            delayed_ack: self.delayed_ack,
            delayed_ack_timer: Span::from_millis(100),
            rto: RtoSettings {
                min: Span::from_secs(1),
                tick: Span::from_millis(100),
                ..profile.rto
            },
            limited_transmit: false,
            initial_window: 1,
            ..profile
        };
        let rate = BitRate(self.mu * PACKET.0 * 8);
        // Apart by a fraction of a round trip, so that they do not move in step.
        let apart = Span::from_millis(110);
        let flows = flows(self.connections, "newreno", endpoint, apart)?;
        let setup = Setup {
            packet: PACKET,
            buffer: self.buffer,
            link_rate_bps: Some(to_f64(rate.0)),
            ..Setup::new(flows, self.rtt, duration)
        };
        let channel = Channel::new(ChannelSpec::Bernoulli { p: q }, seed);
        let link = SyntheticLink::new(rate, PACKET, setup.rtt.half(), Some(channel), setup.begin)
            .ok_or_else(|| Failure::failed("the table's constants leave no link"))?;
        let report = run(&setup, link, &mut NoProbe);
        let goodput = report.total.metrics.normalised_goodput;
        goodput.ok_or_else(|| Failure::failed("the run has no goodput"))
    }
}
