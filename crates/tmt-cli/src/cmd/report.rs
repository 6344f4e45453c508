//! `tmt report`: a page of HTML of results, of one run, or of two studies (docs/report.md).

use std::fs::File;

use tmt_core::format::import::render_keys;
use tmt_plot::picture::counted;
use tmt_plot::{PlotError, Source};
use tmt_report::{Page, ReportError, compare, run as one_run, study};

use crate::exit::{Failure, Outcome, headline, warning};
use crate::host::here;
use crate::input::{bytes, flag, is_file, open, shown};
use crate::output::{Output, is_stdout, refuse_shared_files};

/// Flags of `tmt report`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "tmt report [OPTIONS] [RESULTS]\n       \
        tmt report [OPTIONS] --packets <FILE> [--series <FILE>] [TIMELINE]\n       \
        tmt report [OPTIONS] --compare <BEFORE> <AFTER>",
    after_help = "The page works without a network. Its data have at most 1 MB: longer tables are aggregated, which it says.\n\n\
    Example:\n  tmt report results.parquet -o report.html\n  \
    tmt tcp --packets packets.parquet --series series.csv timeline.csv\n  \
    tmt report --packets packets.parquet --series series.csv timeline.csv -o run.html\n  \
    tmt report --compare before.parquet after.parquet -o diff.html"
)]
pub(crate) struct Args {
    /// Table or JSON document that tmt has written, or the timeline of the run of --packets; the format is detected from
    /// the content [default: stdin, as for `-`]
    #[arg(value_name = "RESULTS", num_args = 0..=2)]
    files: Vec<String>,
    /// Make the page of one run: its packet log, as `tmt tcp --packets` writes it
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    packets: Option<String>,
    /// Series of the run over time, as `tmt tcp --series` writes them
    #[arg(long, value_name = "FILE", requires = "packets")]
    series: Option<String>,
    /// Compare two tables of results: the second with the first, regressions first
    #[arg(long)]
    compare: bool,
    /// Title of the page [default: from the name of the file]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Output file [default: stdout, as for `-`]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let inputs = args.files.iter().chain(&args.packets).chain(&args.series);
    refuse_shared_files(inputs.chain(&args.output).map(String::as_str))?;
    let mut page = match (&args.packets, args.compare, &args.files[..]) {
        (None, false, files @ ([] | [_])) => {
            let path = files.first().map(String::as_str);
            let name = shown(path);
            study::page(name, &source(path)?).map_err(|error| failure(name, error))?
        }
        (Some(packets), _, files @ ([] | [_])) => {
            of_run(packets, args.series.as_deref(), files.first())?
        }
        (None, true, [before, after]) => {
            let sources = [source(Some(before))?, source(Some(after))?];
            compare::page([before, after], [&sources[0], &sources[1]])
                .map_err(|error| failure(&format!("{before}, {after}"), error))?
        }
        (_, is_pair, files) => {
            let expected = if is_pair {
                "two files, the earlier first"
            } else {
                "one file; two are for --compare"
            };
            return Err(Failure::usage(format!(
                "found {}, expected {expected}",
                counted(files.len(), "file")
            )));
        }
    };
    if let Some(title) = &args.title {
        page.title.clone_from(title);
    }
    write(args, &page)
}

fn write(args: &Args, page: &Page) -> Outcome {
    let html = page.html();
    let path = args.output.as_deref();
    let mut output = Output::create(path)?;
    output.write(html.as_bytes())?;
    output.finish()?;
    if path.is_some_and(|path| !is_stdout(path)) {
        headline!("report", "{}", page.answer);
    }
    Ok(())
}

fn of_run(packets: &str, series: Option<&str>, timeline: Option<&String>) -> Outcome<Page> {
    let log = source(Some(packets))?;
    let series = series
        .map(|path| Ok::<_, Failure>((path, source(Some(path))?)))
        .transpose()?;
    let timeline = timeline
        .map(|path| Ok::<_, Failure>((path.as_str(), source(Some(path))?)))
        .transpose()?;
    let named = |one: &Option<(&str, Source)>| one.as_ref().map(|(name, _)| (*name).to_owned());
    let input = one_run::Input {
        packets: &log,
        series: series.as_ref().map(|(_, source)| source),
        timeline: timeline.as_ref().map(|(_, source)| source),
        names: [Some(packets.to_owned()), named(&series), named(&timeline)],
    };
    one_run::page(&input).map_err(|error| failure(packets, error))
}

fn source(path: Option<&str>) -> Outcome<Source> {
    let name = shown(path);
    // A file may be larger than the memory. A host has files of its own.
    let read = match path.filter(|path| here().host().is_none() && is_file(path)) {
        Some(path) => {
            let file = File::open(path).map_err(|error| Failure::io(name, &error))?;
            Source::read_kept(file, &study::kept)
        }
        None => Source::read_kept(bytes(open("report", path)?)?, &study::kept),
    };
    let source = read.map_err(|error| failure(name, error.into()))?;
    for text in source.left_out() {
        warning!("report", "{name}: {text}");
    }
    Ok(source)
}

/// The failure of a page of `name`.
fn failure(name: &str, error: ReportError) -> Failure {
    match error {
        ReportError::Plot(PlotError::Asked(text)) => {
            Failure::usage(format!("{name}: {}", render_keys(&text, flag)))
        }
        ReportError::Plot(PlotError::Input(error)) => Failure::failed(error.message_in(name)),
        ReportError::Plot(PlotError::Data(text)) | ReportError::Data(text) => {
            Failure::failed(format!("{name}: {text}"))
        }
    }
}
