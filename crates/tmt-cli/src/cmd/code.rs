//! `tmt code`: the best code and modulation at a C/N0, or a table of them for a modem (docs/models.md, Sec. 4.9), and error
//! curves of codes for radio channels.

mod cache;
mod curve;
mod show;

use std::cell::RefCell;
use std::ops::RangeInclusive;

use fluid_tcp::model::envelope::{BEST, CN0, Decision, RATES, all, decide, measured};
use serde_json::{Map, Value, json};
use tmt_core::coding::spec::CodeSpec;
use tmt_core::model::{Arguments, ModelError};
use tmt_core::named::{Part, pairs};
use tmt_core::types::{BitRate, to_f64};

use self::cache::Cache;
use super::model::{Sweep, points};
use crate::exit::{Failure, Outcome, headline, note, warning};
use crate::host::{STOPPED, here};
use crate::output::document::Document;
use crate::output::{Output, json as write_json, refuse_shared_files};
use crate::progress::Work;

/// Values of C/N0 that are taken, dBHz: far beyond those of any link on both sides.
pub(super) const CN0_DBHZ: RangeInclusive<f64> = -100.0..=200.0;

/// Schema of the JSON.
const SCHEMA: &str = "tmt.code/1";

/// Command line of `tmt code`.
#[derive(Debug, clap::Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Example:\n  tmt code best --cn0 72dBHz --symbol-rate 2M --share 0.5\n  \
                  tmt code best --cn0 66dBHz --symbol-rate 2M --share 0.5 rates=measured connections=8\n  \
                  tmt code table --cn0 60..80dBHz:41 --symbol-rate 2M --share 0.5 --csv > table.csv\n  \
                  tmt code curve --code conv:3/4+rs:239/223 --es-n0 5..6.5dB:7 > curve.csv"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    asked: Asked,
}

/// The subcommands.
#[derive(Debug, clap::Subcommand)]
enum Asked {
    /// The best code and modulation at a C/N0, and its margin over the next one in goodput and in dB
    #[command(after_help = KEYS)]
    Best(Flags),
    /// The same for many values of C/N0: a row each
    #[command(after_help = KEYS)]
    Table(Flags),
    /// Word error rates of a code over Es/N0, measured, as a file for --error-curve
    Curve(curve::Flags),
}

/// Where the keys are described.
const KEYS: &str = "Keys are those of `tmt model code-best --help`: rates=measured decodes, tau, beta, tg and connections are \
                    those of TCP and its path.\n\n\
                    Example:\n  tmt code best --cn0 72dBHz --symbol-rate 2M --share 0.5 tau=0.3 interleaver=ideal\n  \
                    tmt code table --cn0 66,68,70dBHz --symbol-rate 2M --share 0.5 rates=measured --cache curves.parquet";

/// Flags of both subcommands.
#[derive(Debug, clap::Args)]
struct Flags {
    /// Carrier power over noise density: 72dBHz, or for a table FROM..TOdBHz:COUNT or V1,V2,…dBHz
    #[arg(long, value_name = "DBHZ", allow_hyphen_values = true)]
    cn0: String,
    /// Symbols per second of the carrier, such as 2M
    #[arg(long, value_name = "RATE", value_parser = symbols)]
    symbol_rate: BitRate,
    /// Share of the carrier that is assigned, above 0 to 1
    #[arg(long, value_name = "SHARE")]
    share: f64,
    /// Code to choose from, such as conv:3/4+rs:239/223; repeat it [default: those of Celandroni 2006, Sec. IV.B]
    #[arg(long = "code", value_name = "CODE", value_parser = code)]
    codes: Vec<CodeSpec>,
    /// Take measurements from this table, CSV or Parquet, and keep new ones there; with rates=measured
    #[arg(long, value_name = "FILE")]
    cache: Option<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Print CSV instead of a table
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Output file [default: stdout, as for `-`]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Values of other keys
    #[arg(value_name = "KEY=VALUE")]
    keys: Vec<String>,
}

/// A point with its answer; without one, with the reason.
struct Point {
    arguments: Arguments,
    decision: Result<Decision, String>,
}

fn symbols(text: &str) -> Result<BitRate, String> {
    let number = text.strip_suffix("baud").unwrap_or(text);
    let rate = format!("{number}bps").parse();
    rate.map_err(|_| "expected symbols per second, such as 2M, 250k or 2000000".to_owned())
}

fn code(text: &str) -> Result<CodeSpec, String> {
    text.parse::<CodeSpec>()
        .map_err(|refused| refused.to_string())
}

pub(crate) fn run(args: &Args) -> Outcome {
    let (flags, is_table) = match &args.asked {
        Asked::Best(flags) => (flags, false),
        Asked::Table(flags) => (flags, true),
        Asked::Curve(flags) => return curve::run(flags),
    };
    let asked = asked(flags).map_err(Failure::usage)?;
    if !is_table && asked.len() != 1 {
        let found = format!("--cn0 {}: found {} values", flags.cn0, asked.len());
        return Err(Failure::usage(format!(
            "{found}, expected one; tmt code table takes several"
        )));
    }
    let is_measured = asked
        .iter()
        .any(|of| of.value(&RATES) == Some(tmt_core::model::Value::Word("measured")));
    if flags.cache.is_some() && !is_measured {
        return Err(Failure::usage(
            "--cache: found rates=closed-form, which measures nothing, expected rates=measured, too",
        ));
    }
    refuse_shared_files(flags.cache.iter().chain(&flags.output).map(String::as_str))?;
    let mut output = Output::create(flags.output.as_deref())?;
    let cache = flags.cache.as_deref().map(Cache::open).transpose()?;
    let points = answer(flags, asked, cache)?;
    if let [
        Point {
            decision: Err(why), ..
        },
        ..,
    ] = &points[..]
        && points.iter().all(|point| point.decision.is_err())
    {
        return Err(Failure::usage(why));
    }
    for text in show::warnings(&points) {
        warning!("code", "{text}");
    }
    if let [
        Point {
            decision: Ok(decision),
            ..
        },
    ] = &points[..]
    {
        headline!("code", "{}", show::answer(decision));
    }
    let rows = show::rows(&points);
    if flags.json {
        let document = Document::new(SCHEMA, params(flags, &points), rows.objects());
        write_json(&mut output, &document)?;
    } else if flags.csv {
        output.write(&rows.csv()?)?;
    } else {
        let conditions = show::conditions(flags, &points[0].arguments);
        let table = if is_table {
            rows
        } else {
            show::offers(&points[0])
        };
        output.show(&format!("{conditions}\n\n{table}"))?;
    }
    output.finish()
}

/// The values of a range, whose unit stands once, after the values; it may have its number of points after it.
fn without_unit(text: &str, unit: &str) -> Option<String> {
    let (values, count) = text.split_once(unit)?;
    (count.is_empty() || count.starts_with(':')).then(|| format!("{values}{count}"))
}

/// The arguments of all points.
fn asked(flags: &Flags) -> Result<Vec<Arguments>, String> {
    if !(flags.share > 0.0 && flags.share <= 1.0) {
        return Err(format!(
            "--share {}: expected a share above 0, at most 1",
            flags.share
        ));
    }
    let fixed = [
        (
            "symrate",
            to_f64(flags.symbol_rate.0).to_string(),
            "--symbol-rate",
        ),
        ("rho", flags.share.to_string(), "--share"),
        ("cn0_db", "70".to_owned(), "--cn0"),
    ];
    let given = pairs(flags.keys.iter().map(|pair| Part::of(pair)), "tau=0.3");
    let given = given.map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for (name, text) in given {
        let key = BEST.key(name).map_err(|error| error.to_string())?;
        if let Some((.., flag)) = fixed.iter().find(|(fixed, ..)| *fixed == key.name) {
            return Err(format!("{name}={text}: expected {flag} in its place"));
        }
        all.push((name, text));
    }
    let own = fixed[..2]
        .iter()
        .map(|(name, text, _)| (*name, text.as_str()));
    let arguments = BEST.arguments(all.into_iter().chain(own));
    let arguments = arguments.map_err(|error| error.to_string())?;
    let arguments = arguments.stopped_when(here().stopped());
    let Some(range) = without_unit(&flags.cn0, "dBHz") else {
        return Err(format!(
            "--cn0 {}: expected a C/N0 with its unit, such as 72dBHz, 60..80dBHz:41 or 66,68dBHz",
            flags.cn0
        ));
    };
    let key = BEST.key("cn0_db").map_err(|error| error.to_string())?;
    let sweep = Sweep::of(key, &range).map_err(|why| format!("--cn0 {}: {why}", flags.cn0))?;
    if let Some(wrong) = sweep.numbers().find(|cn0| !CN0_DBHZ.contains(cn0)) {
        return Err(format!(
            "--cn0 {}: found {wrong}dBHz, expected a C/N0 from {}dBHz to {}dBHz",
            flags.cn0,
            CN0_DBHZ.start(),
            CN0_DBHZ.end()
        ));
    }
    points(&arguments, &[sweep])
}

/// The answers, one after the other: measurements use all threads.
fn answer(flags: &Flags, asked: Vec<Arguments>, cache: Option<Cache>) -> Outcome<Vec<Point>> {
    let mut codes = Vec::new();
    for code in &flags.codes {
        if !codes.contains(code) {
            codes.push(*code);
        }
    }
    if codes.is_empty() {
        codes = all();
    }
    let cache = cache.map(RefCell::new);
    let unwritten = RefCell::new(None);
    let work = Work::new(asked.len() as u64, "points");
    let mut points = Vec::with_capacity(asked.len());
    for arguments in asked {
        let decision = decide(&arguments, &codes, None, &|code, settings| {
            if let Some(cache) = &cache
                && let Some(known) = cache.borrow().get(code, settings)
            {
                return Ok(known);
            }
            let found = measured(code, settings)?;
            note!(
                "code",
                "{code} at Ec/N0 {:.2} dB: {} of {} segments lost",
                settings.link.ecn0_db,
                found.failed(),
                found.all
            );
            if let Some(cache) = &cache
                && let Err(failure) = cache.borrow_mut().keep(code, settings, found)
            {
                unwritten.replace(Some(failure));
                return Err(ModelError::refused("the cache cannot be written"));
            }
            Ok(found)
        });
        if let Some(failure) = unwritten.take() {
            return Err(failure);
        }
        if decision == Err(ModelError::Stopped) {
            return Err(Failure::failed(STOPPED));
        }
        points.push(Point {
            arguments,
            decision: decision.map_err(|error| error.to_string()),
        });
        work.advance(1);
    }
    Ok(points)
}

/// Keys with their values, and the codes, if they were given.
fn params(flags: &Flags, points: &[Point]) -> Map<String, Value> {
    let mut params: Map<String, Value> = Map::new();
    for (key, value) in points[0].arguments.pairs() {
        params.insert(key.name.to_owned(), json!(value));
    }
    let cn0 = points.iter().map(|point| point.arguments.number(&CN0));
    params.insert("cn0_db".to_owned(), json!(cn0.collect::<Vec<_>>()));
    let codes: Vec<String> = flags.codes.iter().map(ToString::to_string).collect();
    params.insert(
        "codes".to_owned(),
        json!((!codes.is_empty()).then_some(codes)),
    );
    params
}
