//! Which assumptions of a model must hold for a row to be judged, and on which side.

use serde::Serialize;
use tmt_core::math::num::{floor_u64, powi};

use super::run::Measured;
use super::theory::Theory;
use super::values::Values;
use crate::exit::{Failure, Outcome};

/// Losses that a comparison of loss ratios needs to mean anything; they come in bursts.
const SEEN: f64 = 2_000.0;
const RARE: &str = "fewer than 2000 LLDUs are lost in all runs, or expected to be: more --duration or --seeds would tell";

/// Packet losses above this, and below saturation, are no matter for the relation that `barakat` takes its rate from.
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
/// Round trip outside of the link of papers/002, s.
const TERRESTRIAL: f64 = 0.08;

/// Below this TGEP's fluid is no model: windows are of a few segments, and timeouts rule.
const TGEP_LEAST: f64 = 0.1;
const THIN: &str = "TGEP knows neither timeouts nor several losses in a window: below a tenth of the link windows are of a few \
                    segments";
/// Above this share of the link relation (15), which knows no limit, is no model.
const RELATION_MOST: f64 = 0.95;
const FULL: &str = "relation (15) knows no link rate: above 0.95 of the link it says what an unlimited one would give";

/// Share of the link by which the losses of a run may be fewer than expected.
const BEYOND: f64 = 0.01;
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
const NO_FORM: &str =
    "no closed form: 0 would be windows in step, and the paper shows both kinds of overflow";

/// Which side of a model the simulation may be on, however far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Bound {
    /// Below it.
    Upper,
    /// Above it.
    Lower,
}

/// On which side of its model a row is judged, and why it is not, by its `rule`.
pub(super) fn apply(
    row: &Values,
    theory: &Theory,
    simulated: f64,
    runs: &[Measured],
) -> Outcome<(Option<Bound>, Option<&'static str>)> {
    let rule = row.text("rule")?;
    let excuse = match rule.as_str() {
        "none" | "fading" => None,
        "no form" => Some(NO_FORM),
        "seen" => {
            let sum = |name| runs.iter().filter_map(|run| run.get(name)).sum::<f64>();
            let loss = theory.result("residual_loss")?;
            let most = (loss * sum("lldus")).max(sum("lost"));
            (loss > 0.0 && most < SEEN).then_some(RARE)
        }
        "hybrid" => hybrid(row, theory)?,
        "thin" => {
            let fluid = Theory::ask(&row.text("fluid")?)?;
            (fluid.result("norm")? < TGEP_LEAST).then_some(THIN)
        }
        "full" => (theory.result("Tg")? > RELATION_MOST).then_some(FULL),
        "end to end" => end_to_end(row)?,
        "split" => split(row, theory.result("norm")?)?,
        _ => return Err(Failure::failed(format!("no rule '{rule}'"))),
    };
    let bound = match rule.as_str() {
        "fading" => Some(Bound::Upper),
        // No link carries more than what comes through at once.
        "end to end" if simulated <= 1.0 - row.number("p")? + BEYOND => Some(Bound::Lower),
        _ => None,
    };
    Ok((bound, excuse))
}

/// The first excuse that holds.
fn first<const N: usize>(excuses: [(bool, &'static str); N]) -> Option<&'static str> {
    let found = excuses.into_iter().find(|(holds, _)| *holds);
    found.map(|(_, excuse)| excuse)
}

/// papers/002.
fn hybrid(row: &Values, theory: &Theory) -> Outcome<Option<&'static str>> {
    // pi: what relation (1) asks for over what the link can carry.
    let asked = theory.result("pi")?;
    let between = theory.result("A")? - TERRESTRIAL - row.number("D")? / 1e3;
    let excuses = [
        (row.text("order")? == "off", UNORDERED),
        (asked < 1.0 && theory.result("P")? > LOSS_MOST, LOSSY),
        (
            asked < 1.0 && theory.result("lambda")? * between > LOAD_MOST,
            LOADED,
        ),
        (asked < 1.0 && asked > NEARLY_FULL, QUEUED),
    ];
    Ok(first(excuses))
}

/// papers/004, equation (39).
fn end_to_end(row: &Values) -> Outcome<Option<&'static str>> {
    let given_up = powi(row.number("p")?, floor_u64(row.number("repeats")? + 1.0));
    Ok(first([
        (given_up > 1e-4, LIMITED),
        (row.number("N")? > 1.0, SHARED),
        (row.number("B")? < 30.0, SMALL),
    ]))
}

/// papers/004, equation (50), where the model says this share of the link.
fn split(row: &Values, share: f64) -> Outcome<Option<&'static str>> {
    let (t1, t2, flows) = (row.number("T1")?, row.number("T2")?, row.number("N")?);
    let in_step = t2 % t1.max(1.0) == 0.0 || 5.0 * t2 <= t1;
    let full = share >= 0.99 * (1.0 - row.number("p")?);
    Ok(first([
        (row.number("B")? / flows < 4.0, FEW),
        (!full && flows > 1.0, SPREAD),
        (!full && !in_step, UNPACED),
    ]))
}
