//! `tmt fit`: models of losses, fitted to a trace.

mod results;
mod show;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use serde_json::{Value, json};
use tmt_core::pipeline::collect;
use tmt_core::stats::distribution::Distribution;
use tmt_core::types::{BitRate, Bytes, Slot, Span, Time, to_f64};
use tmt_fit::period::{Bins, Periodicity};
use tmt_fit::{MODELS, Options, Segment, Sequence};

use crate::exit::{Failure, Outcome, headline, warning};
use crate::host::{STOPPED, here};
use crate::input::{TraceArgs, note_reading};
use crate::output::document::Document;
use crate::output::{Output, refuse_shared_files};
use crate::table::{counted, write};
use results::{Link, Periods, Results};

/// Flags of `tmt fit`.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help())]
pub(crate) struct Args {
    #[command(flatten)]
    trace: TraceArgs,
    /// Model to fit, or all of them, the one of smallest BIC first
    #[arg(
        long,
        value_name = "NAME",
        default_value = ALL,
        value_parser = PossibleValuesParser::new(MODELS.iter().map(|model| model.name).chain([ALL]))
            .map(|name| tmt_fit::model(&name).map(|model| model.name))
    )]
    model: Chosen,
    /// Period of reconfigurations whose losses are set apart, in whole seconds; `search` tries 1s to 60s, `off` none
    #[arg(long, value_name = "DURATION", default_value = "search", value_parser = period)]
    period: PeriodChoice,
    /// Also give the parameters for slots at this interval, instead of the mean interval of the trace
    #[arg(long, value_name = "DURATION", value_parser = positive, conflicts_with = "at_rate")]
    at_interval: Option<Span>,
    /// Also give the parameters for a link of this rate, whose slots carry --packet each
    #[arg(long, value_name = "RATE", requires = "packet")]
    at_rate: Option<BitRate>,
    /// Size of what a slot carries, for --at-rate
    #[arg(long, value_name = "SIZE", requires = "at_rate")]
    packet: Option<Bytes>,
    /// Print only the process of the best model, as --channel of inject, synth and tcp takes it
    #[arg(long, conflicts_with = "json")]
    process: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Output file [default: stdout, as for `-`]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
}

/// The model that was chosen; `None` for all.
type Chosen = Option<&'static str>;

/// The choice of all models.
const ALL: &str = "all";

/// Choice of `--period`.
#[derive(Debug, Clone, Copy, PartialEq)]
enum PeriodChoice {
    Search,
    Off,
    Only(u64),
}

fn period(text: &str) -> Result<PeriodChoice, String> {
    match text {
        "search" => Ok(PeriodChoice::Search),
        "off" => Ok(PeriodChoice::Off),
        _ => {
            let span: Span = text.parse().map_err(|_| EXPECTED_PERIOD.to_owned())?;
            let nanos = span.as_nanos();
            let second = tmt_core::types::NANOS_PER_SECOND;
            let seconds = nanos / second;
            if !nanos.is_multiple_of(second) || !(1..=86_400).contains(&seconds) {
                return Err(EXPECTED_PERIOD.to_owned());
            }
            Ok(PeriodChoice::Only(seconds))
        }
    }
}

const EXPECTED_PERIOD: &str = "expected search, off, or whole seconds from 1s to 86400s";

fn positive(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error| format!("{error}"))?;
    if span.is_zero() {
        return Err("expected more than 0".to_owned());
    }
    Ok(span)
}

/// The models, and what there is to know of them.
fn after_help() -> String {
    let mut text = String::from("Models:\n");
    for model in MODELS {
        let names = model.parameters.join(", ");
        text += &format!("  {:<16} {}; {names}\n", model.name, model.about);
    }
    text + "\nParameters are per slot of the trace. A probe every 10 ms says how the link changes in 10 ms, not from packet to packet: \
for a link of another rate, --at-rate and --packet, or --at-interval, give the parameters of the same process in continuous \
time. alpha and beta are PERSISTENCE probabilities: P(stay in good) and P(stay in bad); netem's p and r are 1-alpha and \
1-beta. docs/fit.md defines all results.\n\n\
Example:\n  tmt fit probes.csv\n  tmt fit --at-rate 10Mbps --packet 1500B probes.csv\n  \
tmt inject --channel \"$(tmt fit --process probes.csv)\" phy.csv"
}

/// Statistics read from a trace.
#[derive(Debug, Default)]
struct Read {
    segment: Segment,
    bins: Bins,
    delay: Distribution,
    first: Option<Time>,
    last: Time,
    longest: Span,
}

impl Read {
    fn push(&mut self, slots: &[Slot]) {
        self.bins.push(slots);
        for run in slots.chunk_by(|one, other| one.is_erased() == other.is_erased()) {
            let lost = run[0].is_erased();
            self.segment.push(lost, run.len() as u64);
            if !lost {
                self.delay.extend(run, Slot::decode_delay);
            }
        }
        for slot in slots {
            let at = slot.tx_time();
            if self.first.is_none() {
                (self.first, self.last) = (Some(at), at);
            }
            self.longest = self.longest.max(at.since(self.last));
            self.last = at;
        }
    }
}

/// Fewest bursts from which models with hidden states are told apart.
const FEW_BURSTS: u64 = 50;

/// Probability below which a model that is the best does not describe the trace.
const REJECTED: f64 = 0.001;

/// Probability up to which a change of the loss ratio is reported: so many of a hundred traces without one are, too.
const DRIFTS: f64 = 0.05;

/// Longest time between slots over the mean, above which they are not evenly spaced.
const UNEVEN: f64 = 3.0;

pub(crate) fn run(args: &Args) -> Outcome {
    let files = args.trace.trace.iter().chain(&args.output);
    refuse_shared_files(files.map(String::as_str))?;
    let link = Link::of(args.at_interval, args.at_rate.zip(args.packet))?;
    let (name, mut reader) = args.trace.open("fit", false)?;
    let mut output = Output::create(args.output.as_deref())?;
    let mut read = Read::default();
    collect(&mut reader, |rows| read.push(&rows.slots))
        .map_err(|error| Failure::input(&name, &error))?;
    note_reading("fit", &name, &reader);
    let whole = Sequence::from(read.segment);
    let slots = whole.slots();
    let Some(first) = read.first else {
        return Err(Failure::failed(format!(
            "{name}: found no slots, expected at least one"
        )));
    };
    let length_s = read.last.since(first).as_secs_f64();
    let interval_s = (slots > 1 && length_s > 0.0).then(|| length_s / to_f64(slots - 1));
    let only = match args.period {
        PeriodChoice::Only(seconds) => Some(seconds),
        _ => None,
    };
    let searched = args.period != PeriodChoice::Off;
    let of = |search: &dyn Fn() -> Periodicity| searched.then(search);
    let losses = of(&|| read.bins.of_losses(only)).unwrap_or(Periodicity::Untested);
    let delays = of(&|| read.bins.of_delays(only)).unwrap_or(Periodicity::Untested);
    let (sequence, inside) = match &losses {
        Periodicity::Found(period) => read.bins.without(&whole, period),
        _ => (whole.clone(), [0; 2]),
    };
    let options = Options {
        interval_s,
        at_interval_s: link.map(|link| link.interval_s),
        stopped: here().stopped(),
        ..Options::default()
    };
    let models = args.model.and_then(tmt_fit::model);
    let fits = match models {
        Some(model) => tmt_fit::fit(&sequence, &[model], &options),
        None => tmt_fit::fit_all(&sequence, &options),
    };
    if here().is_stopped() {
        return Err(Failure::failed(STOPPED));
    }
    let periods = Periods::new(&losses, &delays, inside, &sequence);
    let decode_delay = read.delay.quantiles(Span::ZERO).p50;
    let head = reader.metadata();
    let of_head = head.rate().zip(head.lldu_bytes());
    let results = Results {
        name: &name,
        whole: &whole,
        sequence: &sequence,
        interval_s,
        length_s,
        decode_delay_s: decode_delay,
        periods,
        fits,
        link,
        of_head,
    }
    .finish();
    let uneven = interval_s.is_some_and(|mean| read.longest.as_secs_f64() > UNEVEN * mean);
    if uneven {
        warning!(
            "fit",
            "{name}: slots are not evenly spaced, up to {} apart with a mean of {:.3} ms: a model of losses leaves that out, and what is made with it has a constant rate; `tmt stats --segments` shows the outages",
            read.longest,
            1e3 * interval_s.unwrap_or_default()
        );
    }
    warn(&name, &results, args.model.is_some());
    if let (Some(link), Some(own)) = (link, interval_s) {
        warn_extrapolation(&name, &results, link.interval_s, own);
    } else if let (Some(own), Some("probe")) = (interval_s, head.get("trace_kind")) {
        headline!(
            "fit",
            "{name}: parameters are per probe, one every {:.3} ms; --at-rate and --packet give those per packet of a link",
            1e3 * own
        );
    }
    if args.process {
        let text = results.chosen_process().map_err(Failure::failed)?;
        if let Some(period) = &results.period.losses {
            warning!(
                "fit",
                "{name}: the process leaves out {} of {} losses, which have a period of {} s: --period off, or the reconfiguration process of the table",
                results.period.lost_inside,
                results.lost,
                period.period_s
            );
        }
        output.show(&format!("{text}\n"))?;
    } else {
        let document = Document::new("tmt.fit/1", params(args, link), results);
        write(&mut output, args.json, &document, show::table)?;
    }
    output.finish()
}

/// Settings, in JSON: the period is `search`, `off`, or `given` as `period_s`.
fn params(args: &Args, link: Option<Link>) -> Value {
    let (period, period_s) = match args.period {
        PeriodChoice::Search => ("search", None),
        PeriodChoice::Off => ("off", None),
        PeriodChoice::Only(seconds) => ("given", Some(seconds)),
    };
    json!({
        "model": args.model.unwrap_or(ALL),
        "period": period,
        "period_s": period_s,
        "at_interval_s": link.map(|link| link.interval_s),
        "at_rate_bps": args.at_rate.map(|rate| rate.0),
        "packet_bytes": args.packet.map(|packet| packet.0),
    })
}

/// Warns if sojourns are shorter than what the slots of the trace resolve.
fn warn_extrapolation(name: &str, results: &results::Shown, interval_s: f64, own_s: f64) {
    let Some(best) = results.fits.first().filter(|_| interval_s < own_s) else {
        return;
    };
    let lengths = best
        .sojourns
        .iter()
        .filter_map(|one| Some((one.state, 1.0 / one.rate_per_s?)));
    let shortest = lengths.min_by(|one, other| one.1.total_cmp(&other.1));
    if let Some((state, length)) = shortest.filter(|(_, length)| *length < own_s) {
        warning!(
            "fit",
            "{name}: the {state} state lasts for {:.3} ms on average, less than the {:.3} ms between two slots of the trace: what happens within is an assumption of the model",
            1e3 * length,
            1e3 * own_s
        );
    }
}

/// Warns of results that would mislead.
fn warn(name: &str, results: &results::Shown, one: bool) {
    let bursts = results.bursts_fitted;
    let Some(best) = results.fits.first() else {
        return;
    };
    if results.lost_fitted == 0 || results.lost_fitted == results.slots_fitted {
        let kind = if results.lost_fitted == 0 {
            "lost"
        } else {
            "received"
        };
        let rest = if results.period.losses.is_some() {
            " outside the windows of the period"
        } else {
            ""
        };
        warning!(
            "fit",
            "{name}: found no {kind} slot{rest}: only a bound of the probability is known, and nothing of bursts"
        );
        return;
    }
    let hidden = results.fits.iter().any(|fit| fit.free_parameters > 1);
    if bursts < FEW_BURSTS && hidden {
        warning!(
            "fit",
            "{name}: found {}, expected at least {FEW_BURSTS} to tell models apart: standard errors and tests are rough",
            counted(bursts, "burst")
        );
    }
    for fit in results.fits.iter().filter(|fit| !fit.converged) {
        warning!(
            "fit",
            "{}: the search has not converged: its parameters are not those of largest likelihood",
            fit.model
        );
    }
    if let Some(p) = results.drift.p_value.filter(|p| *p <= DRIFTS) {
        let ratios = &results.drift.block_loss_ratios;
        let of =
            |pick: fn(f64, f64) -> f64| 100.0 * ratios.iter().copied().reduce(pick).unwrap_or(0.0);
        warning!(
            "fit",
            "{name}: the loss ratio drifts or shifts (p = {p:.4}; {:.3} to {:.3} % over {} blocks of equal length): a stationary model has one ratio, and its slow states stand for the drift; `tmt stats --segments` shows outages and steps, `tmt slice` cuts stretches to fit one by one",
            of(f64::min),
            of(f64::max),
            ratios.len()
        );
    }
    let tests = [("bursts", &best.bursts), ("gaps", &best.gaps)];
    let rejected = tests
        .iter()
        .filter(|(_, test)| test.p_value.is_some_and(|p| p < REJECTED));
    let rejected: Vec<&str> = rejected.map(|(name, _)| *name).collect();
    if !rejected.is_empty() && best.model != "semi-markov" {
        let which = if one {
            "the model"
        } else {
            "even the best model"
        };
        warning!(
            "fit",
            "{name}: {which}, {}, does not have the lengths of {} of the trace (p < {REJECTED})",
            best.model,
            rejected.join(" and ")
        );
    }
    if let Some(period) = &results.period.losses {
        headline!(
            "fit",
            "{name}: losses have a period of {} s (p = {:.1e}): {} of {} lost slots in its windows were set apart",
            period.period_s,
            period.p_value,
            results.period.lost_inside,
            results.lost
        );
    }
}
