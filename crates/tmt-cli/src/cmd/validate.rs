//! `tmt validate`: theory beside simulation, of the figures of `tmt reproduce` that have both.

mod show;

use clap::builder::PossibleValuesParser;
use serde_json::json;
use tmt_core::types::Span;
use tmt_study::figures::{self, Changes, Figure, Part};

use super::reproduce::Chosen;
use super::reproduce::run::part_rows;
use super::sweep::refusal;
use crate::exit::{Failure, Outcome};
use crate::output::document::Document;
use crate::output::{self, Output};
use crate::progress::Work;
use crate::quantity::whole;

/// Flags of `tmt validate`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  tmt validate 000-fig6\n  tmt validate 003-table1 --tolerance 5 --json\n\n\
                  A row is OFF if theory and simulation differ by more than the tolerance plus the 95 % interval of the \
                  simulation. For the loss of HARQ and frame ARQ five times the tolerance applies, as repeats of other \
                  codewords interrupt an attempt, which the closed forms ignore. The command exits with 1 if any row is \
                  OFF. Rows where an assumption of the model does not hold are shown with the reason and are not judged.",
    defer(with_names)
)]
pub(crate) struct Args {
    /// Figures and tables to compare [default: all]
    figures: Vec<String>,
    /// List the figures and tables
    #[arg(long, conflicts_with_all = ["figures", "tolerance", "duration"])]
    list: bool,
    /// Largest deviation, in percent of the theory [default: by figure, see --list]
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, value_parser = percentage)]
    tolerance: Option<f64>,
    /// Runs per point, with seeds 1 to N; at least 2, for the interval
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole::<u32>(2, 10_000))]
    seeds: u32,
    /// Duration of each run [default: by figure, see --list]
    #[arg(long)]
    duration: Option<Span>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Print CSV instead of tables, one for all figures
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Output file [default: stdout, as for `-`]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
}

/// Adds the names of the figures. Deferred, so that their file is read only for this command.
fn with_names(command: clap::Command) -> clap::Command {
    let all = figures::all().unwrap_or_default();
    let names = all
        .iter()
        .flat_map(|figure| &figure.parts)
        .flat_map(Part::validate_names);
    let names = PossibleValuesParser::new(names);
    command.mut_arg("figures", |arg| arg.value_parser(names))
}

pub(crate) fn run(args: &Args) -> Outcome {
    let path = args.output.as_deref();
    if args.list {
        return show::list(&parts()?, path, args.json, args.csv);
    }
    let mut output = Output::create(path)?;
    let is_chosen = |part: &Part| {
        let is_named = |chosen: &String| part.validate_names().any(|name| name == chosen);
        args.figures.is_empty() || args.figures.iter().any(is_named)
    };
    let parts = parts()?.into_iter().filter(|(_, part)| is_chosen(part));
    let parts = parts.map(|(figure, part)| Ok((figure, part, duration(part, args.duration)?)));
    let parts: Vec<(&Figure, &Part, Span)> = parts.collect::<Outcome<_>>()?;
    let percent = args.tolerance.map(|percent| percent / 100.0);
    let mut compared = Vec::new();
    let work = Work::new(parts.len() as u64, "figures");
    for (figure, part, duration) in parts {
        work.name(name(part));
        let changes = Changes {
            set: Vec::new(),
            seeds: Some(args.seeds),
            duration: Some(duration),
        };
        let chosen = Chosen {
            figure: figure.clone(),
            file: None,
        };
        let rows = part_rows(&chosen, part, &changes, percent)?;
        let report = show::FigureReport::new(part, args.seeds, duration, percent, rows);
        if !args.json && !args.csv {
            work.pause(|| {
                output.show(&report.text())?;
                output.settle()
            })?;
        }
        work.advance(1);
        compared.push(report);
    }
    drop(work);
    if args.json {
        // Settings that replace those of the figures; null if not given.
        let params = json!({
            "seeds": args.seeds,
            "tolerance_percent": args.tolerance,
            "duration_ns": args.duration.map(Span::as_nanos),
        });
        let document = Document::new("tmt.validate/1", params, &compared);
        output::json(&mut output, &document)?;
    } else if args.csv {
        output.write(&show::csv(&compared)?)?;
    }
    output.finish()?;
    let outside: usize = compared.iter().map(show::FigureReport::outside).sum();
    if outside > 0 {
        return Err(Failure::failed(format!(
            "{outside} of {} rows are off by more than their tolerance",
            compared.iter().map(show::FigureReport::rows).sum::<usize>()
        )));
    }
    Ok(())
}

/// The parts of figures that have theory, in the order of the papers.
fn parts() -> Outcome<Vec<(&'static Figure, &'static Part)>> {
    let all = figures::all().map_err(|error| refusal(&error, None))?;
    let parts = all
        .iter()
        .flat_map(|figure| figure.parts.iter().map(move |part| (figure, part)));
    Ok(parts
        .filter(|(_, part)| part.validate_names().next().is_some())
        .collect())
}

/// The name of a part on this command line.
fn name(part: &Part) -> &str {
    part.validate_names().next().unwrap_or_default()
}

/// Length of the runs of a part: `wanted`, else its own.
fn duration(part: &Part, wanted: Option<Span>) -> Outcome<Span> {
    let shortest = part.shortest();
    match wanted {
        Some(duration) if duration < shortest => Err(Failure::usage(format!(
            "--duration {duration} is too short for {}: expected at least {shortest}",
            name(part)
        ))),
        Some(duration) => Ok(duration),
        None => {
            let cell = part.plan().cell(0).map_err(|error| refusal(&error, None))?;
            let text = cell.text("duration").unwrap_or_default();
            text.parse().map_err(Failure::failed)
        }
    }
}

/// A percentage, 0 or above.
fn percentage(text: &str) -> Result<f64, String> {
    let percent: Option<f64> = text.parse().ok();
    let percent = percent.filter(|percent| percent.is_finite() && *percent >= 0.0);
    percent.ok_or_else(|| "expected a percentage, 0 or above".to_owned())
}
