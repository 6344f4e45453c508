//! `tmt plot`: a picture of a table, a trace or a document (docs/plot.md).

use std::io::{IsTerminal as _, stdout};
use std::path::Path;

use terminal_size::{Height, Width, terminal_size};
use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::format::import::render_keys;
use tmt_core::scheme::SchemeSpec;
use tmt_core::types::{Slot, Span, Time};
use tmt_plot::chosen::Choice;
use tmt_plot::natural::{self, KINDS};
use tmt_plot::picture::Picture;
use tmt_plot::render::{self, Size, length};
use tmt_plot::source::Trace;
use tmt_plot::{PlotError, Source, sequence};

use crate::exit::{Failure, Outcome};
use crate::input::{bytes, flag, open, shown};
use crate::output::{Output, is_stdout, refuse_shared_files};
use crate::quantity::{SchemeParser, whole};

/// Flags of `tmt plot`.
#[derive(Debug, clap::Args)]
#[command(after_help = format!(
    "Without --x, --y and --by the picture is that of the kind of the file:\n{}\n\n\
    Example:\n  tmt plot results.parquet --x es_n0 --y total_goodput_bps --by scheme -o goodput.svg\n  \
    tmt tcp --cc cubic --series series.csv timeline.csv\n  tmt plot series.csv\n  \
    tmt plot --scheme harq:10/12 --slots 40 -o harq.svg",
    kinds()
))]
pub(crate) struct Args {
    /// Table, trace or JSON document that tmt has written; the format is detected from the content [default: stdin, as
    /// for `-`]
    #[arg(value_name = "FILE")]
    file: Option<String>,
    /// Column along the horizontal axis [default: the time, the first axis of a sweep, or the row]
    #[arg(long, value_name = "COLUMN", conflicts_with = "scheme")]
    x: Option<String>,
    /// Columns along vertical axes, a panel each [default: the first usual metric of a sweep]
    ///
    /// Of the results of a sweep, means over the runs are drawn with their 95 % intervals; of other tables the rows as
    /// they are, with the interval in the column NAME_ci95 or NAME_half_width, if there is one.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        conflicts_with = "scheme"
    )]
    y: Vec<String>,
    /// Columns whose values make the series
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        conflicts_with = "scheme"
    )]
    by: Vec<String>,
    /// Draw a sequence diagram of a scheme: the slots of the trace in FILE; without FILE slots of 1 ms, 10 % of them
    /// erased
    #[arg(long, value_parser = SchemeParser, hide_possible_values = true)]
    scheme: Option<SchemeSpec>,
    /// Number of slots of the sequence diagram
    #[arg(long, value_name = "N", default_value_t = 40, requires = "scheme", value_parser = whole::<u16>(1, sequence::MOST_SLOTS as u64))]
    slots: u16,
    /// RTT of the sequence diagram [default: from the trace, else 12ms]
    #[arg(long, requires = "scheme")]
    rtt: Option<Span>,
    /// Make the horizontal axis logarithmic
    #[arg(long)]
    log_x: bool,
    /// Make the vertical axes logarithmic
    #[arg(long)]
    log_y: bool,
    /// Title above the picture
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    title: String,
    /// Width, e.g. 85mm, 3.3in or 640px [default: 640px]
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    width: Option<f64>,
    /// Height [default: from the number of panels]
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    height: Option<f64>,
    /// Format of the output [default: that of its extension; without one text on a terminal, else SVG]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Output file: .svg, .png or .pdf [default: stdout, as for `-`]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
}

/// Formats of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Lines and text that any program scales
    Svg,
    /// Pixels, 288 dpi
    Png,
    /// For LaTeX; in programs with the feature pdf
    Pdf,
    /// Characters, for a terminal
    Text,
}

/// The kinds of files, a line each.
fn kinds() -> String {
    let line = |kind: &&natural::Kind| format!("  {}: {}", kind.name, kind.about);
    KINDS.iter().map(line).collect::<Vec<_>>().join("\n")
}

pub(crate) fn run(args: &Args) -> Outcome {
    refuse_shared_files(args.file.iter().chain(&args.output).map(String::as_str))?;
    let format = format(args)?;
    let mut picture = match &args.scheme {
        Some(scheme) => diagram(args, scheme)?,
        None => of_file(args)?,
    };
    picture.title.clone_from(&args.title);
    picture.make_log(args.log_x, args.log_y);
    let size = Size {
        width: args.width,
        height: args.height,
    };
    let failed = |error: PlotError| failure("--format", error);
    let drawn = match format {
        Format::Svg => render::svg(&picture, size).into_bytes(),
        Format::Png => render::png(&picture, size).map_err(failed)?,
        Format::Pdf => render::pdf(&picture, size).map_err(failed)?,
        Format::Text => {
            let (columns, rows) =
                terminal_size().map_or((100, 32), |(Width(columns), Height(rows))| (columns, rows));
            // The prompt takes a row.
            let rows = rows.saturating_sub(1).max(16);
            render::text(
                &picture,
                usize::from(columns.clamp(40, 400)),
                usize::from(rows.min(200)),
            )
            .into_bytes()
        }
    };
    let mut output = Output::create(args.output.as_deref())?;
    output.write(&drawn)?;
    output.finish()
}

fn output_is_screen(args: &Args) -> bool {
    args.output.as_deref().is_none_or(is_stdout) && stdout().is_terminal()
}

/// The format of the flag, else of the extension, else text on a terminal and SVG elsewhere.
fn format(args: &Args) -> Outcome<Format> {
    if let Some(format) = args.format {
        return Ok(format);
    }
    let name = args.output.as_deref().filter(|path| !is_stdout(path));
    let extension = name.and_then(|path| Path::new(path).extension());
    let extension = extension.map(|end| end.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("svg") => Ok(Format::Svg),
        Some("png") => Ok(Format::Png),
        Some("pdf") => Ok(Format::Pdf),
        Some("txt") => Ok(Format::Text),
        Some(other) => Err(Failure::usage(format!(
            "{}: found the extension .{other}, expected .svg, .png, .pdf or .txt; or give --format",
            name.unwrap_or_default()
        ))),
        None if output_is_screen(args) => Ok(Format::Text),
        None => Ok(Format::Svg),
    }
}

/// The picture of the file.
fn of_file(args: &Args) -> Outcome<Picture> {
    let path = args.file.as_deref();
    let name = shown(path);
    let source = Source::read(bytes(open("plot", path)?)?).map_err(|error| failure(name, error))?;
    let choice = Choice {
        x: args.x.clone(),
        y: args.y.clone(),
        by: args.by.clone(),
    };
    natural::draw(&source, &choice).map_err(|error| failure(name, error))
}

/// The natural picture of a table in SVG; `None` if it has nothing to draw, as a table of words alone.
pub(super) fn natural_svg(name: &str, table: &[u8]) -> Outcome<Option<String>> {
    let source = Source::read(table.to_vec().into()).map_err(|error| failure(name, error))?;
    match natural::draw(&source, &Choice::default()) {
        Ok(picture) => Ok(Some(render::svg(&picture, Size::default()))),
        Err(PlotError::Data(_)) => Ok(None),
        Err(error) => Err(failure(name, error)),
    }
}

/// Distance and decoding delay of the slots of a diagram without a trace.
const SLOT_NS: u64 = 1_000_000;

/// Their erasure probability.
const ERASED: f64 = 0.1;

/// RTT of a diagram where neither flag nor trace says it, ns.
const RTT_NS: u64 = 12_000_000;

/// The sequence diagram of a scheme.
fn diagram(args: &Args, scheme: &SchemeSpec) -> Outcome<Picture> {
    let count = usize::from(args.slots);
    let (slots, rtt, note) = if let Some(path) = args.file.as_deref() {
        let trace = Trace::read(bytes(open("plot", Some(path))?)?);
        let mut trace =
            trace.map_err(|error| failure(shown(Some(path)), PlotError::Input(error)))?;
        trace.slots.truncate(count);
        (
            trace.slots,
            trace.head.rtt(),
            "The first slots of the trace.",
        )
    } else {
        let mut channel = Channel::new(ChannelSpec::Bernoulli { p: ERASED }, 1);
        let mut slot = |place: u64| {
            let time = Time::from_nanos(place * SLOT_NS).unwrap_or(Time::MAX);
            let delay = if channel.erases() { 0 } else { SLOT_NS };
            let delay = Span::from_nanos(delay).unwrap_or(Span::ZERO);
            Slot::new(time, delay).unwrap_or_else(|| Slot::erased(time))
        };
        (
            (0..count as u64).map(&mut slot).collect(),
            None,
            "Slots of 1 ms, each erased with probability 0.1 (seed 1).",
        )
    };
    let rtt = args
        .rtt
        .or(rtt)
        .or(Span::from_nanos(RTT_NS))
        .unwrap_or(Span::ZERO);
    let picture = sequence::draw(scheme, &slots, rtt, Span::ZERO);
    let mut picture = picture.map_err(|error| failure("--scheme", error))?;
    picture.notes.push(note.to_owned());
    Ok(picture)
}

/// The failure of a picture of `name`.
fn failure(name: &str, error: PlotError) -> Failure {
    match error {
        PlotError::Asked(text) => Failure::usage(format!("{name}: {}", render_keys(&text, flag))),
        PlotError::Data(text) => Failure::failed(format!("{name}: {text}")),
        // Without the remedies of commands that have flags for reading.
        PlotError::Input(error) => Failure::failed(error.message_in(name)),
    }
}
