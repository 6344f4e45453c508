//! `tmt reproduce`: tables and figures of papers, published beside ours (docs/figures.md).

pub(super) mod run;
mod show;

use serde_json::json;
use tmt_core::types::Span;
use tmt_study::figures::{self, Changes, Figure, Part as FigurePart};

use super::sweep::refusal;
use crate::exit::{Failure, Outcome, warning};
use crate::input::process::unnamed;
use crate::input::{LONGEST_TEXT, open, text};
use crate::output::document::Document;
use crate::output::{self, Output};
use crate::quantity::whole;
use run::Folder;
use show::Shown;

/// Flags of `tmt reproduce`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "flags")]
pub(crate) struct Args {
    /// Names of --list, or files in TOML (docs/figures.md)
    #[arg(value_name = "FIGURE")]
    figures: Vec<String>,
    /// List the figures and tables, open ones with the reason
    #[arg(long, conflicts_with_all = ["figures", "all", "set", "seeds", "duration", "output", "resume"])]
    list: bool,
    /// All of --list but those that are open or too long; a warning names the latter
    #[arg(long, conflicts_with = "figures")]
    all: bool,
    /// Change a setting: a name of the plan, as for tmt sweep, with its values; repeat for more
    #[arg(long, value_name = "NAME=VALUES", value_parser = setting)]
    set: Vec<(String, String)>,
    /// Runs per point, or traces where a run has starts in one [default: by figure]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1, 10_000))]
    seeds: Option<u32>,
    /// Length of each run [default: by figure]
    #[arg(long)]
    duration: Option<Span>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Print CSV instead of tables, one for all figures
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Folder for the results: a CSV, a picture and the plans of each figure, an index, and what is finished of an interrupted command
    #[arg(short, long, value_name = "DIR")]
    output: Option<String>,
    /// Go on with an interrupted command: take the runs that are finished
    #[arg(long, requires = "output")]
    resume: bool,
}

const EXAMPLES: &str = "Verdicts: ok: within tolerance and 95 % interval. deviates: off the published value, at one that the entry
expects and explains. bounded: on the allowed side of a bound. fitted: a fit has seen it. held, contradicted, input: of
statements. shown: nothing to compare with. not judged: an assumption of the theory does not hold. OFF: none of these;
the command then exits with 1.

Examples:
  tmt reproduce kuhn-table3
  tmt reproduce kuhn-table3 --set iw=10
  tmt reproduce celandroni-table1 --seeds 10 --csv
  tmt reproduce --all -o results
  tmt reproduce my-figure.toml";

/// Reads NAME=VALUES.
fn setting(text: &str) -> Result<(String, String), String> {
    let (name, values) = text
        .split_once('=')
        .ok_or("expected NAME=VALUES, such as iw=10")?;
    if name.is_empty() || values.is_empty() {
        return Err("expected NAME=VALUES, such as iw=10".to_owned());
    }
    Ok((name.to_owned(), values.to_owned()))
}

/// A figure to show, with its file if it is the user's.
pub(super) struct Chosen {
    pub(super) figure: Figure,
    pub(super) file: Option<String>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    if args.list {
        return show::list(all()?, args.json, args.csv);
    }
    let chosen = chosen(args)?;
    let changes = Changes {
        set: args.set.clone(),
        seeds: args.seeds,
        duration: args.duration,
    };
    check(&chosen, &changes)?;
    let folder = args
        .output
        .as_deref()
        .map(|path| Folder::open(path, args.resume))
        .transpose()?;
    let mut folder = folder;
    let mut output = Output::create(None)?;
    let mut all_shown = Vec::new();
    for one in &chosen {
        let rows = run::rows(one, &changes, folder.as_mut())?;
        let mut shown = Shown::of(&one.figure, rows);
        if let Some(folder) = &folder {
            shown.is_drawn = folder.write(&shown)?;
        }
        if !args.json && !args.csv {
            output.show(&shown.text())?;
            output.settle()?;
        }
        all_shown.push(shown);
    }
    if args.json {
        let set = args
            .set
            .iter()
            .map(|(name, values)| json!({"name": name, "values": values}));
        let figures = chosen
            .iter()
            .map(|one| one.file.as_ref().unwrap_or(&one.figure.name));
        let params = json!({
            "figures": figures.collect::<Vec<_>>(),
            "set": set.collect::<Vec<_>>(),
            "seeds": args.seeds,
            "duration_ns": args.duration.map(Span::as_nanos),
        });
        let results: Vec<_> = all_shown.iter().map(Shown::document).collect();
        output::json(
            &mut output,
            &Document::new("tmt.reproduce/1", params, results),
        )?;
    } else if args.csv {
        output.write(&show::csv(&all_shown)?)?;
    }
    output.finish()?;
    if let Some(folder) = folder {
        folder.finish(&all_shown)?;
    }
    let off: usize = all_shown.iter().map(Shown::off).sum();
    if off > 0 {
        let rows: usize = all_shown.iter().map(Shown::rows).sum();
        return Err(Failure::failed(format!(
            "{off} of {rows} rows are off by more than their tolerance"
        )));
    }
    Ok(())
}

/// The figures that come with the program.
fn all() -> Outcome<&'static [Figure]> {
    figures::all().map_err(|error| refusal(&error, None))
}

/// The figures that are named, by name or file.
fn chosen(args: &Args) -> Outcome<Vec<Chosen>> {
    if args.all {
        for figure in all()? {
            if let (name, Some(time)) = (&figure.name, &figure.long) {
                warning!(
                    "reproduce",
                    "{name} is left out: {time}; `tmt reproduce {name}` runs it"
                );
            }
        }
        let ready = all()?.iter();
        let ready = ready.filter(|figure| figure.open.is_none() && figure.long.is_none());
        let chosen = ready.map(|figure| Chosen {
            figure: figure.clone(),
            file: None,
        });
        return Ok(chosen.collect());
    }
    if args.figures.is_empty() {
        return Err(Failure::usage(
            "found no figure, expected a name of `tmt reproduce --list`, a file in TOML, or --all",
        ));
    }
    let one = |name: &String| {
        let is_file = std::path::Path::new(name)
            .extension()
            .is_some_and(|end| end == "toml");
        if !is_file {
            let figure = figures::figure(name)
                .map_err(|error| refusal(&error, None))?
                .clone();
            return Ok(Chosen { figure, file: None });
        }
        let read = text(open("reproduce", Some(name))?, LONGEST_TEXT)?;
        let figure =
            Figure::parse(&read, &mut unnamed).map_err(|error| refusal(&error, Some(name)))?;
        Ok(Chosen {
            figure,
            file: Some(name.clone()),
        })
    };
    let chosen: Vec<Chosen> = args.figures.iter().map(one).collect::<Outcome<_>>()?;
    for (number, one) in chosen.iter().enumerate() {
        let name = &one.figure.name;
        if chosen[..number]
            .iter()
            .any(|before| before.figure.name == *name)
        {
            return Err(Failure::usage(format!(
                "found {name} twice, expected figures of different names"
            )));
        }
    }
    let open = chosen
        .iter()
        .find_map(|one| Some((&one.figure.name, one.figure.open.as_ref()?)));
    match open {
        Some((name, why)) => Err(Failure::usage(format!("{name} is open: {why}"))),
        None => Ok(chosen),
    }
}

/// Refuses a setting that no chosen figure has, and runs that are too short.
fn check(chosen: &[Chosen], changes: &Changes) -> Outcome {
    let parts = || chosen.iter().flat_map(|one| &one.figure.parts);
    for (name, _) in &changes.set {
        if !parts().any(|part| part.takes(name)) {
            return Err(Failure::usage(format!(
                "--set {name}: found no such name in these figures, expected a parameter of tmt tcp, or a name of their plans"
            )));
        }
    }
    let given = [
        ("--seeds", changes.seeds.is_some()),
        ("--duration", changes.duration.is_some()),
    ];
    let has_runs = parts().any(|part| !part.plan().is_of_models());
    if let Some((flag, _)) = given.iter().find(|(_, is_given)| *is_given && !has_runs) {
        return Err(Failure::usage(format!(
            "{flag}: found figures of closed forms alone, expected one with runs"
        )));
    }
    for one in chosen {
        let shortest = one.figure.parts.iter().map(FigurePart::shortest).max();
        let too_short = changes
            .duration
            .zip(shortest)
            .filter(|(wanted, shortest)| wanted < shortest);
        if let Some((wanted, shortest)) = too_short {
            return Err(Failure::usage(format!(
                "--duration {wanted} is too short for {}: expected at least {shortest}",
                one.figure.name
            )));
        }
    }
    Ok(())
}
