//! `tmt advise`: the best scheme for a link (docs/advise.md).

mod args;
mod commands;
mod show;

use fluid_tcp::experiment::{Experiment, LinkKind};
use rayon::ThreadPoolBuilder;
use tmt_core::format::import::render_keys;
use tmt_core::scheme::SchemeSpec;
use tmt_study::advise::{AdviceError, Objective, Question, Runs, candidates, loads_pages, read};

pub(crate) use args::Args;

use super::tcp::{Files, typed};
use crate::exit::{Failure, Outcome, headline, warning};
use crate::host::here;
use crate::input::{LONGEST_TEXT, open, text};
use crate::output::Output;
use crate::output::document::Document;
use crate::progress::Work;
use crate::table::{counted, write};

/// Schema of the JSON.
const SCHEMA: &str = "tmt.advise/2";

pub(crate) fn run(args: &Args) -> Outcome {
    let question = question(args)?;
    // A path that cannot be written fails before the work.
    let mut output = Output::create(args.output.as_deref())?;
    // Reading a trace uses the pool from threads that do not belong to it.
    let threads = rayon::current_num_threads();
    if here().host().is_none() {
        let _ = ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
    // Not all of them are done, but how many is what the race finds out.
    let work = Work::new(question.most_runs(), "runs at most");
    let advice = question.answer(&Files::here(), threads, &|runs| work.advance(runs));
    drop(work);
    let advice = advice.map_err(|error| match error {
        AdviceError::Refused(message) => Failure::usage(named(&message)),
        AdviceError::Failed(message) => Failure::failed(named(&message)),
    })?;
    headline!("advise", "{}", show::headline(&advice));
    for text in &advice.winner().warnings {
        warning!("advise", "{}", named(text));
    }
    for text in show::warnings(&advice) {
        warning!("advise", "{text}");
    }
    let given = &args.run.0;
    let params = show::params(&question, &advice, given);
    let document = Document::new(SCHEMA, params, show::results(&advice, given));
    write(&mut output, args.json, &document, |_| {
        show::text(&advice, given)
    })?;
    output.finish()
}

/// `text` with flags for the keys in backticks.
fn named(text: &str) -> String {
    let flag = |key: &str| match key {
        "offsets" => "--starts".to_owned(),
        "scheme" => "--candidates".to_owned(),
        key => typed(key),
    };
    render_keys(text, flag)
}

fn question(args: &Args) -> Outcome<Question> {
    let mut experiment = args.run.0.read()?;
    if let Some(name) = &args.scenario {
        let process = format!("scenario:{name}").parse();
        let process = process.map_err(|why| Failure::usage(format!("--scenario: {why}")))?;
        experiment.channel = Some(process);
    }
    if args.interval.is_some() {
        let columns = experiment.columns.unwrap_or_default();
        let columns = columns.spaced(args.interval, None, None);
        experiment.columns = Some(columns.map_err(|why| Failure::usage(named(&why)))?);
    }
    match experiment.link {
        None => experiment.link = Some(LinkKind::Timeline),
        Some(LinkKind::Synthetic) => {
            return Err(Failure::usage(
                "--link synthetic: found a link without schemes, expected timeline or coupled",
            ));
        }
        Some(_) => (),
    }
    refuse_traces_in_another_form(&experiment)?;
    if experiment.channel.is_none() && experiment.trace.is_none() {
        experiment.trace = Some("-".to_owned());
    }
    if args.objective == Objective::PageTime
        && experiment.bytes.is_none()
        && experiment.flow.is_none()
    {
        experiment.bytes = args::PAGE.parse().ok();
        headline!(
            "advise",
            "--bytes {} (default for --objective page-time)",
            args::PAGE
        );
    }
    if args.objective == Objective::PageTime && loads_pages(&experiment) {
        headline!(
            "advise",
            "page time: mean page load time of --flow app=pages(…), page_time_mean_s"
        );
    }
    Ok(Question {
        runs: runs(args, &experiment)?,
        candidates: chosen(&args.candidates)?,
        experiment,
        objective: args.objective,
        exhaustive: args.exhaustive,
        // A list is meant as it is, and all are those of the grid.
        refine: args.candidates.is_empty() && !args.exhaustive,
        fresh: args.fresh,
    })
}

/// Refuses a trace beside the link that `tmt tcp` over the timeline could not read: the commands of the answer could not repeat the
/// runs, since a timeline says itself how it is read.
fn refuse_traces_in_another_form(experiment: &Experiment) -> Outcome {
    let traces = [
        ("--return-trace", "return trace", &experiment.return_trace),
        (
            "--terrestrial-trace",
            "terrestrial trace",
            &experiment.terrestrial_trace,
        ),
        ("--far-trace", "far trace", &experiment.far_trace),
    ];
    let mut given_traces = traces.into_iter();
    let given_trace =
        given_traces.find_map(|(flag, words, path)| Some((flag, words, path.as_ref()?)));
    let (Some((flag, words, path)), Some(LinkKind::Timeline)) = (given_trace, experiment.link)
    else {
        return Ok(());
    };
    let given = [
        ("unit", experiment.unit.is_some()),
        ("columns", experiment.columns.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((key, _)) => Err(Failure::usage(format!(
            "--{key} with {flag}: found {path} to be read with it, expected a {words} that needs no flag, such as `tmt slice --{key} … -o return.arrow {path}` writes"
        ))),
        None => Ok(()),
    }
}

/// The runs of a candidate: starts in a trace, or seeds of a channel.
fn runs(args: &Args, experiment: &Experiment) -> Outcome<Runs> {
    let Some(channel) = &experiment.channel else {
        if args.seeds.is_some() {
            return Err(Failure::usage(
                "--seeds: found a trace, which no seed changes, expected --channel or --scenario; --starts sets the number of runs in a trace",
            ));
        }
        let count = match experiment.bytes {
            Some(_) => args::PAGE_STARTS,
            None => args::STARTS,
        };
        return Ok(Runs::Starts {
            count: args.starts.unwrap_or(count),
            duration: experiment.duration,
        });
    };
    if experiment.trace.is_some() {
        return Err(Failure::usage(
            "--channel: found a trace, too, expected one of them; --loss erases slots of a trace",
        ));
    }
    if args.starts.is_some() {
        return Err(Failure::usage(
            "--starts: found --channel or --scenario, expected a trace; --seeds sets the number of runs over a channel",
        ));
    }
    // Seeds do not change a channel without random numbers.
    let seeds = match experiment.bytes {
        Some(_) => args::PAGE_SEEDS,
        None => args::SEEDS,
    };
    let count = if channel.is_random() { seeds } else { 1 };
    Ok(Runs::Seeds {
        count: args.seeds.unwrap_or(count),
    })
}

/// The candidates of the flags, or all.
fn chosen(lists: &[String]) -> Outcome<Vec<SchemeSpec>> {
    if lists.is_empty() {
        return Ok(candidates());
    }
    let refused = |why| Failure::usage(format!("--candidates: {why}"));
    let mut all: Vec<SchemeSpec> = Vec::new();
    for list in lists {
        match list.strip_prefix('@') {
            None => all.extend(read(list).map_err(refused)?),
            Some(path) => all.extend(of_file(path)?),
        }
    }
    let mut seen = std::collections::HashSet::new();
    all.retain(|scheme| seen.insert(scheme.text().to_owned()));
    Ok(all)
}

/// A list of schemes in a file, one a line; text after `#` is a comment.
fn of_file(path: &str) -> Outcome<Vec<SchemeSpec>> {
    let text = text(open("advise", Some(path))?, LONGEST_TEXT)?;
    let mut all = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let schemes = read(line);
        all.extend(schemes.map_err(|why| Failure::failed(format!("{path}:{number}: {why}")))?);
    }
    if all.is_empty() {
        return Err(Failure::failed(format!(
            "{path}: found no scheme, expected at least one, such as harq:10/12"
        )));
    }
    Ok(all)
}

/// Number of candidates in words.
fn of_candidates(count: usize) -> String {
    counted(count as u64, "candidate")
}
