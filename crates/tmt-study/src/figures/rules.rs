//! Rules of judgement: assumptions of a model that must hold for a row to be judged, and on which side.

use tmt_core::math::num::{floor_u64, powi};

use super::judge::Bound;
use super::theory::Theory;
use crate::record::Run;

/// Least number of losses for a meaningful comparison of loss ratios. Losses come in bursts.
const MIN_LOSSES: f64 = 2_000.0;
const RARE: &str =
    "fewer than 2000 LLDUs are lost in all runs, or expected to be; use more --duration or --seeds";

/// Packet loss ratio above which the relation behind `barakat` does not hold, unless the link is saturated.
const MAX_LOSS: f64 = 0.02;
const LOSSY: &str = "packet losses above 2 %: windows are a few packets, where relation (1) takes a timeout as four RTTs \
                     and ignores limited transmit";
/// Packets on the link above which Proposition 1, which is for low load, underestimates resequencing.
const MAX_LOAD: f64 = 6.0;
const LOADED: &str = "more than six packets on the link on average: Proposition 1 on resequencing is first order in the \
                      load (docs/models.md, B6)";
/// Share of the link's capacity above which its queue, which the model ignores, matters.
const NEARLY_FULL: f64 = 0.6;
const QUEUED: &str =
    "relation (1) gives 60 to 100 % of the link: its queue matters, which the model ignores";
const UNORDERED: &str = "the model assumes in-order delivery";
/// RTT outside the link in Barakat 2004, s.
const TERRESTRIAL: f64 = 0.08;

/// Share of the link below which TGEP does not apply: windows are a few segments, and timeouts dominate.
const TGEP_MIN: f64 = 0.1;
const THIN: &str = "TGEP ignores timeouts and multiple losses per window: below a tenth of the link windows are a few \
                    segments";
/// Share of the link above which relation (15), which has no link rate, does not apply.
const RELATION_MAX: f64 = 0.95;
const FULL: &str = "relation (15) has no link rate: above 0.95 of the link it gives the result of an unlimited link";

/// Share of the link by which the losses of a run can be fewer than expected.
const LOSS_MARGIN: f64 = 0.01;
const SMALL: &str =
    "fewer than 30 segments of buffer: eq. (39) is for larger ones (docs/models.md, Sec. 7.3)";
const LIMITED: &str = "ARQ with limited rounds loses segments: eq. (39) assumes unlimited ARQ";
const SHARED: &str =
    "eq. (39) is for one connection: with several, head-of-line blocking is shorter";
const UNPACED: &str = "a release and the next arrival do not coincide: in eq. (50) a flow learns of free space up to one T1 \
                       late, depending on the ratio of T2 to T1";
const SPREAD: &str = "eq. (50) is for one connection, whose segments reach the proxy together once per T1; those of several are \
                      spread, and free space is advertised more often";
const FEW: &str = "with so few segments per flow eq. (58) allows no fast retransmit, and the paper gives no throughput. In the \
                   simulation, flows that are offered an equal share rarely overflow the buffer. Flows that do, or are offered \
                   all of it, continue by timeouts and by window updates of the proxy";
const NO_FORM: &str =
    "no closed form: 0 means synchronised windows, and the paper shows both kinds of overflow";

/// A point: its values by name, and its runs.
pub(super) struct Point<'a> {
    pub(super) value: &'a dyn Fn(&str) -> Option<String>,
    pub(super) runs: &'a [&'a Run],
}

impl Point<'_> {
    fn number(&self, name: &str) -> Result<f64, String> {
        let text = (self.value)(name).ok_or_else(|| format!("the rule needs the value {name}"))?;
        let number = text.parse();
        number.map_err(|_| format!("{name}: found '{text}', expected a number"))
    }
}

/// Names of rules, with the values that a plan must have for them.
pub(super) const RULES: [(&str, &[&str]); 8] = [
    ("fading", &[]),
    ("no form", &[]),
    ("seen", &[]),
    ("hybrid", &["order", "D"]),
    ("thin", &[]),
    ("full", &[]),
    ("end to end", &["p", "repeats", "N", "B"]),
    ("split", &["T1", "T2", "N", "B", "p"]),
];

/// Applies the `rule` of a row: the bound that its model is, and the reason not to judge it, if any.
pub(super) fn apply(
    rule: Option<&str>,
    point: &Point<'_>,
    theory: &Theory,
    simulated: f64,
) -> Result<(Option<Bound>, Option<&'static str>), String> {
    let Some(rule) = rule else {
        return Ok((None, None));
    };
    let result = |name: &str| {
        let found = theory.result(name);
        found.ok_or_else(|| format!("{}: found no result {name}", theory.asked))
    };
    let excuse = match rule {
        "no form" => Some(NO_FORM),
        "seen" => {
            let metrics = |name| point.runs.iter().filter_map(move |run| run.metric(name));
            let loss = result("residual_loss")?;
            let lldus: f64 = metrics("lldus").sum();
            let most = (loss * lldus).max(metrics("lost").sum());
            (loss > 0.0 && most < MIN_LOSSES).then_some(RARE)
        }
        "hybrid" => hybrid(point, &result)?,
        "thin" => (result("norm")? < TGEP_MIN).then_some(THIN),
        "full" => (result("Tg")? > RELATION_MAX).then_some(FULL),
        "end to end" => end_to_end(point)?,
        "split" => split(point, result("norm")?)?,
        _ => None,
    };
    let bound = match rule {
        "fading" => Some(Bound::Upper),
        // No link carries more than the segments that arrive at the first attempt.
        "end to end" if simulated <= 1.0 - point.number("p")? + LOSS_MARGIN => Some(Bound::Lower),
        _ => None,
    };
    Ok((bound, excuse))
}

/// The reason of the first condition that holds.
fn first<const N: usize>(excuses: [(bool, &'static str); N]) -> Option<&'static str> {
    let found = excuses.into_iter().find(|(holds, _)| *holds);
    found.map(|(_, excuse)| excuse)
}

/// Barakat 2004.
fn hybrid(
    point: &Point<'_>,
    result: &dyn Fn(&str) -> Result<f64, String>,
) -> Result<Option<&'static str>, String> {
    // pi: rate of relation (1) over the capacity of the link.
    let asked = result("pi")?;
    let between = result("A")? - TERRESTRIAL - point.number("D")? / 1e3;
    let is_unordered = (point.value)("order").is_some_and(|order| order == "off");
    let excuses = [
        (is_unordered, UNORDERED),
        (asked < 1.0 && result("P")? > MAX_LOSS, LOSSY),
        (
            asked < 1.0 && result("lambda")? * between > MAX_LOAD,
            LOADED,
        ),
        (asked < 1.0 && asked > NEARLY_FULL, QUEUED),
    ];
    Ok(first(excuses))
}

/// Zhu 2006, eq. (39).
fn end_to_end(point: &Point<'_>) -> Result<Option<&'static str>, String> {
    let repeats = floor_u64(point.number("repeats")? + 1.0);
    let given_up = powi(point.number("p")?, repeats);
    Ok(first([
        (given_up > 1e-4, LIMITED),
        (point.number("N")? > 1.0, SHARED),
        (point.number("B")? < 30.0, SMALL),
    ]))
}

/// Zhu 2006, eq. (50). `share` is the model's share of the link.
fn split(point: &Point<'_>, share: f64) -> Result<Option<&'static str>, String> {
    let (t1, t2, flows) = (point.number("T1")?, point.number("T2")?, point.number("N")?);
    let in_step = t2 % t1.max(1.0) == 0.0 || 5.0 * t2 <= t1;
    let full = share >= 0.99 * (1.0 - point.number("p")?);
    Ok(first([
        (point.number("B")? / flows < 4.0, FEW),
        (!full && flows > 1.0, SPREAD),
        (!full && !in_step, UNPACED),
    ]))
}
