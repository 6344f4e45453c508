//! `tmt model`: evaluates closed forms by name, at one point or over a sweep.

mod csv;
mod help;
mod show;
mod sweep;

use clap::{Arg, ArgMatches, FromArgMatches};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value, json as value};
use tmt_core::model::{Arguments, Model, ModelError, Outcome as Answer};
use tmt_core::named::{Part, pairs};

pub(super) use self::sweep::{Sweep, points};
use crate::exit::{Failure, Outcome, warning};
use crate::host::{STOPPED, here};
use crate::output::document::Document;
use crate::output::{Output, json};
use crate::progress::Work;
use crate::table::write;

pub(crate) use fluid_tcp::model::all as models;

/// Flags of `tmt model`, before or after the name of the model.
#[derive(Debug, clap::Args)]
struct Flags {
    /// List all models with their keys and results
    #[arg(long)]
    list: bool,
    /// Vary a key over FROM..TO (integers), FROM..TO:COUNT, FROM..TO:log:COUNT or V1,V2,…; repeat for more keys, the
    /// last varies fastest
    #[arg(long, global = true, value_name = "KEY=RANGE")]
    sweep: Vec<String>,
    /// Print JSON instead of a table
    #[arg(long, global = true)]
    json: bool,
    /// Print CSV instead of a table: all keys, then all results
    #[arg(long, global = true, conflicts_with = "json")]
    csv: bool,
    /// Output file [default: stdout, as for `-`]
    #[arg(short, long, global = true, value_name = "FILE")]
    output: Option<String>,
}

/// Command line of `tmt model`. Every model is a subcommand with its own help.
#[derive(Debug)]
pub(crate) struct Args {
    flags: Flags,
    asked: Option<(&'static Model, Vec<String>)>,
}

/// Name of the positional argument of every model.
const PAIRS: &str = "KEY=VALUE";

impl FromArgMatches for Args {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let asked = matches.subcommand().and_then(|(name, matches)| {
            let model = models().find(|model| model.name == name)?;
            let pairs = matches.get_many(PAIRS).unwrap_or_default().cloned();
            Some((model, pairs.collect()))
        });
        Ok(Self {
            flags: Flags::from_arg_matches(matches)?,
            asked,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Adds the help of a model to its command. Deferred, so that only the requested model formats its help.
fn with_help(command: clap::Command) -> clap::Command {
    let model = models().find(|model| model.name == command.get_name());
    match model {
        Some(model) => command.after_help(help::of(model)),
        None => command,
    }
}

impl clap::Args for Args {
    fn augment_args(command: clap::Command) -> clap::Command {
        let of_model = |model: &'static Model| {
            clap::Command::new(model.name)
                .about(model.about)
                .defer(with_help)
                .arg(
                    Arg::new(PAIRS)
                        .num_args(0..)
                        .help("Values of keys [default: the presets below]"),
                )
        };
        <Flags as clap::Args>::augment_args(command)
            .subcommands(models().map(of_model))
            .subcommand_value_name("NAME")
            .subcommand_help_heading("Models")
            .disable_help_subcommand(true)
            .args_conflicts_with_subcommands(false)
            .after_help(
                "Example:\n  tmt model harq nd=38 nr=13 alpha=0.98 beta=0.9\n  \
                 tmt model fec --sweep beta=0.1..0.95:10\n  \
                 tmt model barakat p=0.01 --sweep N=10..16 --csv > goodput.csv\n\n\
                 tmt model NAME --help shows keys, results, source and errata of a model.",
            )
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

/// One point of a sweep with its result.
#[derive(Debug, Serialize)]
struct Point {
    model: &'static str,
    params: Arguments,
    result: Option<Answer>,
    /// Assumptions that do not hold, or the reason for a missing result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Point {
    fn new(model: &'static Model, params: Arguments) -> Outcome<Self> {
        let answer = model.evaluate(&params);
        if answer == Err(ModelError::Stopped) {
            return Err(Failure::failed(STOPPED));
        }
        let notes = match &answer {
            Ok(answer) => answer.remarks().to_vec(),
            Err(error) => vec![format!("refused: {error}")],
        };
        Ok(Self {
            model: model.name,
            params,
            result: answer.ok(),
            notes,
        })
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let flags = &args.flags;
    let Some((model, pairs)) = &args.asked else {
        return if flags.list {
            list(flags)
        } else {
            Err(Failure::usage(
                "expected the name of a model; tmt model --list shows all",
            ))
        };
    };
    if flags.list {
        return Err(Failure::usage("--list cannot be combined with a model"));
    }
    let refuse = |error: String| {
        let name = model.name;
        Failure::usage(format!("{name}: {error}; see tmt model {name} --help"))
    };
    let (sweeps, all) = asked_points(model, pairs, &flags.sweep).map_err(refuse)?;
    let work = Work::new(all.len() as u64, "points");
    let points = all.into_par_iter().map(|params| {
        if work.is_stopped() {
            return Err(Failure::failed(STOPPED));
        }
        let point = Point::new(model, params)?;
        work.advance(1);
        Ok(point)
    });
    let points: Vec<Point> = points.collect::<Outcome<_>>()?;
    drop(work);
    if let Some(first) = points.first()
        && points.iter().all(|point| point.result.is_none())
    {
        let refused = model.evaluate(&first.params).map(|_| ());
        refused.map_err(|error| refuse(error.to_string()))?;
    }
    print_notes(&points, &sweeps);
    let mut output = Output::create(flags.output.as_deref())?;
    let is_one = sweeps.is_empty() && points.len() == 1;
    if flags.json {
        let params = params(model, pairs, &sweeps).map_err(refuse)?;
        let results = if is_one {
            value!(points[0])
        } else {
            value!(points)
        };
        json(&mut output, &Document::new(SCHEMA, params, results))?;
    } else if flags.csv {
        output.write(&csv::of(model, &points)?)?;
    } else if sweeps.is_empty() {
        output.show(&show::one(model, &points[0]))?;
    } else {
        output.show(&show::many(model, &sweeps, &points))?;
    }
    output.finish()
}

/// Schema of the JSON of one point, and of a sweep.
const SCHEMA: &str = "tmt.model/1";

/// The name of the model, and its keys with their values: an array for a key that is swept.
fn params(model: &Model, pairs: &[String], sweeps: &[Sweep]) -> Result<Map<String, Value>, String> {
    let fixed = fixed(model, pairs)?;
    let mut params = Map::from_iter([("model".to_owned(), value!(model.name))]);
    for (key, given) in fixed.pairs() {
        let swept = sweeps.iter().find(|sweep| sweep.key.name == key.name);
        let given = swept.map_or_else(|| value!(given), |sweep| value!(sweep.values));
        params.insert(key.name.to_owned(), given);
    }
    Ok(params)
}

/// The sweeps and all their points. The `key=value` texts fix the other keys.
fn asked_points(
    model: &Model,
    pairs: &[String],
    sweeps: &[String],
) -> Result<(Vec<Sweep>, Vec<Arguments>), String> {
    let fixed = fixed(model, pairs)?;
    let sweeps = sweeps.iter().map(|text| Sweep::parse(model, text));
    let sweeps: Vec<Sweep> = sweeps.collect::<Result<_, _>>()?;
    let points = points(&fixed, &sweeps)?;
    Ok((sweeps, points))
}

/// The arguments that the `key=value` texts fix, with the defaults of the other keys.
fn fixed(model: &Model, texts: &[String]) -> Result<Arguments, String> {
    let parts = texts.iter().map(|pair| Part::of(pair));
    let given = pairs(parts, "p=0.01").map_err(|error| error.to_string())?;
    let fixed = model.arguments(given).map_err(|error| error.to_string())?;
    Ok(fixed.stopped_when(here().stopped()))
}

/// Prints each note once as a warning, with the number of points concerned.
fn print_notes(points: &[Point], sweeps: &[Sweep]) {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for text in points.iter().flat_map(|point| &point.notes) {
        match counts.iter_mut().find(|(known, _)| known == text) {
            Some((_, count)) => *count += 1,
            None => counts.push((text, 1)),
        }
    }
    for (text, count) in counts {
        if sweeps.is_empty() {
            warning!("model", "{text}");
        } else {
            warning!("model", "{count} of {} points: {text}", points.len());
        }
    }
}

fn list(flags: &Flags) -> Outcome {
    if !flags.sweep.is_empty() {
        return Err(Failure::usage("--sweep needs a model"));
    }
    let models: Vec<&Model> = models().collect();
    let document = Document::list("tmt.model-list/1", models);
    let mut output = Output::create(flags.output.as_deref())?;
    if flags.csv {
        output.write(&csv::list()?)?;
    } else {
        write(&mut output, flags.json, &document, |_| show::list())?;
    }
    output.finish()
}
