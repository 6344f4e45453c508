//! `tmt slice`: cuts, thins out and moves a trace; concatenates and merges several (docs/trace-format.md, Sec. 13).

mod cut;

use tmt_core::format::TraceReader;
use tmt_core::pipeline::{
    Join, Movable, Move, Selection, Slice, StageError, differences, joined, merge, share_of_rate,
    slot_spacing,
};
use tmt_core::types::{Lldu, Metadata, Slot, Time};

use crate::exit::{Failure, Outcome, headline, warning};
use crate::input::{ReadArgs, note_reading};
use crate::output::{OutputArgs, refuse_shared_files};
use crate::table::counted;

use self::cut::{Cut, Gap};

/// Flags of `tmt slice`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "tmt slice [OPTIONS] [TRACE]\n       tmt slice [OPTIONS] <TRACE> <TRACE>...\n       tmt slice --merge [OPTIONS] <TRACE>...",
    after_help = "A slot is kept if it meets all conditions; rows and offsets count from 0 in the trace that is read. Times stay as \
                  they are unless --rebase or --shift is given. Several traces are put one after another, or in the order \
                  of time with --merge. Use a pipe to do both.\n\n\
                  Examples:\n  tmt slice --every 10 --offset 3 phy.csv > user.csv\n  \
                  tmt slice --from 10s --until 60s --rebase phy.csv > minute.csv\n  \
                  tmt slice monday.csv tuesday.csv > both.csv\n  \
                  tmt slice --merge user0.csv user1.csv > link.csv"
)]
pub(crate) struct Args {
    /// Traces to read: text, Arrow or Parquet, the first two also as gzip or zstd; the format is detected from the
    /// content [default: stdin, as for `-`]
    #[arg(value_name = "TRACE")]
    traces: Vec<String>,
    #[command(flatten)]
    cut: Cut,
    /// Merge traces of the users of one link: their slots in the order of time; `rate_bps` is the sum
    #[arg(long, conflicts_with_all = ["every", "from", "until", "rows", "rebase", "shift", "gap"])]
    merge: bool,
    /// Time from the last slot of a trace to the first slot of the next one: a duration, `slot` for the spacing by
    /// `rate_bps` and `lldu_bytes` of the head, or `keep` to keep all times [default: slot]
    #[arg(long, value_name = "slot|keep|DURATION")]
    gap: Option<Gap>,
    /// Where heads differ in a key of the link, take that of the first trace instead of refusing
    #[arg(long, value_name = "first", value_parser = ["first"])]
    take_head: Option<String>,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// An open trace with its name.
type Named = (String, TraceReader<'static>);

pub(crate) fn run(args: &Args) -> Outcome {
    let flags = args.cut.flags();
    let several = args.traces.len() > 1;
    if several && !flags.is_empty() {
        return Err(Failure::usage(format!(
            "{} with {} traces: expected one, as several are put together; do the rest before or after, in a pipe",
            flags.trim_start(),
            args.traces.len()
        )));
    }
    if !several && flags.is_empty() && !args.merge {
        return Err(Failure::usage(
            "expected --every, --from, --until, --rows, --rebase or --shift, or several traces",
        ));
    }
    if !several && (args.gap.is_some() || args.take_head.is_some()) {
        return Err(Failure::usage(
            "--gap and --take-head: expected several traces",
        ));
    }
    if args.traces.iter().filter(|path| *path == "-").count() > 1 {
        return Err(Failure::usage(
            "- is given more than once: stdin can be read once",
        ));
    }
    for path in &args.traces {
        // A trace may be read twice, as to repeat it.
        let files = args.output.output.iter().chain([path]);
        refuse_shared_files(files.map(String::as_str))?;
    }
    args.output.form()?;
    if several || args.merge {
        return together(args);
    }
    let (selection, motion) = (args.cut.selection()?, args.cut.motion()?);
    let path = args.traces.first().map(String::as_str);
    let (name, mut reader) = args.read.open("slice", path, true)?;
    let first = first_row(&mut reader);
    let cut = One {
        args,
        flags: &flags,
        selection,
        motion,
        first: first.time,
    };
    if !first.is_timeline {
        return cut.write::<Slot>(&name, &mut reader);
    }
    if args.cut.selects() {
        return Err(timeline(&name, &flags));
    }
    cut.write::<Lldu>(&name, &mut reader)
}

/// Time of the first row of a trace, and whether the trace is a timeline.
struct First {
    time: Option<Time>,
    is_timeline: bool,
}

/// Looks at the first row of a trace.
fn first_row(reader: &mut TraceReader<'_>) -> First {
    let mut first = First {
        time: None,
        is_timeline: reader.metadata().get("scheme").is_some(),
    };
    reader.look_ahead(|rows| {
        first.time = rows.slots.first().map(Slot::tx_time);
        first.is_timeline |= !rows.attempts.is_empty();
        first.time.is_some()
    });
    first
}

/// The refusal of a timeline.
fn timeline(name: &str, flags: &str) -> Failure {
    let flags = flags.trim_start();
    Failure::Failed {
        message: format!(
            "{name}: found a timeline, expected a PHY trace for {flags}: rows of a timeline are LLDUs, and do not say which slots carried them"
        ),
        help: Some("slice the PHY trace, then apply the scheme".to_owned()),
    }
}

/// The slice of one trace.
struct One<'a> {
    args: &'a Args,
    flags: &'a str,
    selection: Selection,
    motion: Move,
    first: Option<Time>,
}

impl One<'_> {
    fn write<T: Movable>(&self, name: &str, reader: &mut TraceReader<'static>) -> Outcome {
        let command = format!("tmt slice{}", self.flags);
        let mut head = self.args.read.head(reader.metadata(), &command)?;
        self.share(name, &mut head)?;
        head.push("stage", command);
        let mut slice = Slice::<T, _>::new(self.args.output.create(&head)?);
        if let Err(error) = slice.pass(reader, self.selection, self.motion) {
            slice.abandon();
            return Err(self.failure(name, &error));
        }
        let (rows, last) = slice.read();
        let sliced = slice.finish().map_err(|error| self.failure(name, &error))?;
        note_reading("slice", name, reader);
        let flags = self.flags.trim_start();
        let what = if T::HAS_ATTEMPTS { "LLDU" } else { "slot" };
        let Some(sliced) = sliced else {
            let first = self.first.unwrap_or(last);
            return Err(Failure::failed(format!(
                "{name}: found no {what} with {flags}, expected at least one: rows 0 to {} are from {first} to {last}",
                rows.saturating_sub(1)
            )));
        };
        sliced.output.finish()?;
        headline!(
            "slice",
            "{} of {} kept ({flags})",
            sliced.rows,
            counted(rows, what)
        );
        Ok(())
    }

    /// Gives `head` the user's share of the rate.
    fn share(&self, name: &str, head: &mut Metadata) -> Outcome {
        let Selection { every, offset, .. } = self.selection;
        if every == 1 {
            return Ok(());
        }
        if head.get("slots_per_s").is_some() {
            let share = head
                .slots_per_s()
                .map(|rate| rate / tmt_core::types::to_f64(every));
            head.set_slots_per_s(share);
        }
        let Some(rate) = head.rate() else {
            return Ok(());
        };
        let share = share_of_rate(rate, every, offset).ok_or_else(|| {
            Failure::failed(format!(
                "{name}: found rate_bps {}, expected at least {every} for --every {every}",
                rate.0
            ))
        })?;
        if !rate.0.is_multiple_of(every) {
            headline!(
                "slice",
                "rate_bps {} is not a multiple of {every}: {} here; those of all offsets add up",
                rate.0,
                share.0
            );
        }
        head.set("rate_bps", share.0.to_string());
        Ok(())
    }

    fn failure(&self, name: &str, error: &StageError) -> Failure {
        Failure::stage(name, &[self.args.output.name()], error)
    }
}

/// Concatenates or merges traces.
fn together(args: &Args) -> Outcome {
    let how = if args.merge {
        Join::Merged
    } else {
        Join::Concatenated
    };
    let paths: Vec<Option<&str>> = if args.traces.is_empty() {
        vec![None]
    } else {
        args.traces.iter().map(|path| Some(path.as_str())).collect()
    };
    let open = |path: Option<&str>| -> Outcome<Named> {
        let (name, mut reader) = args.read.open("slice", path, true)?;
        if first_row(&mut reader).is_timeline {
            let what = if args.merge {
                "--merge"
            } else {
                "several traces"
            };
            return Err(timeline(&name, what));
        }
        Ok((name, reader))
    };
    let traces = paths
        .into_iter()
        .map(open)
        .collect::<Outcome<Vec<Named>>>()?;
    let heads: Vec<&Metadata> = traces.iter().map(|(_, reader)| reader.metadata()).collect();
    let names: Vec<&str> = traces.iter().map(|(name, _)| name.as_str()).collect();
    let differences = differences(&heads, how);
    if let Some(difference) = differences.first().filter(|_| args.take_head.is_none()) {
        let first = names.first().unwrap_or(&"");
        let name = names.get(difference.index).unwrap_or(&"");
        let same = differences
            .iter()
            .filter(|other| other.index == difference.index);
        let texts: Vec<String> = same.map(ToString::to_string).collect();
        return Err(Failure::Failed {
            message: format!("{name}: {}, as in {first}", texts.join("; ")),
            help: Some(format!("--take-head first takes the values of {first}")),
        });
    }
    let (joined, lost) = joined(&heads, how);
    for key in lost {
        headline!("slice", "the traces differ in {key}: the output has none");
    }
    let command = if args.merge {
        "tmt slice --merge".to_owned()
    } else {
        format!("tmt slice --gap {}", args.gap.unwrap_or_default())
    };
    let mut head = args.read.head(&joined, &command)?;
    head.push("stage", command);
    match how {
        Join::Merged => merged(args, traces, &head),
        Join::Concatenated => concatenated(args, traces, &head),
    }
}

/// Writes the slots of `traces` in the order of time.
fn merged(args: &Args, traces: Vec<Named>, head: &Metadata) -> Outcome {
    let writer = args.output.create(head)?;
    let (names, mut readers): (Vec<String>, Vec<TraceReader<'_>>) = traces.into_iter().unzip();
    let merged = merge(&mut readers, writer).map_err(|(index, error)| {
        let name = names.get(index).map_or("", String::as_str);
        Failure::stage(name, &[args.output.name()], &error)
    })?;
    for (name, reader) in names.iter().zip(&readers) {
        note_reading("slice", name, reader);
    }
    merged.output.finish()?;
    if merged.ties > 0 {
        let slots = counted(merged.ties, "slot");
        warning!(
            "slice",
            "{slots} at the time of a slot of another trace, in the order of the traces: users of one link have slots of their own"
        );
    }
    headline!(
        "slice",
        "{} of {} merged",
        counted(merged.slots, "slot"),
        counted(names.len() as u64, "trace")
    );
    Ok(())
}

/// Writes the slots of `traces` one trace after another.
fn concatenated(args: &Args, traces: Vec<Named>, head: &Metadata) -> Outcome {
    let motion = match args.gap.unwrap_or_default() {
        Gap::Keep => Move::default(),
        Gap::Span(span) => Move::After(span),
        Gap::Slot => {
            let spacing = args.read.interval.or_else(|| slot_spacing(head));
            Move::After(spacing.ok_or_else(|| {
                Failure::usage(
                    "no rate_bps and lldu_bytes in the heads, which give the spacing of the slots: add --gap",
                )
            })?)
        }
    };
    let place = args.output.name();
    let mut slice = Slice::<Slot, _>::new(args.output.create(head)?);
    let count = counted(traces.len() as u64, "trace");
    for (name, mut reader) in traces {
        if let Err(error) = slice.pass(&mut reader, Selection::default(), motion) {
            slice.abandon();
            return Err(Failure::stage(&name, &[place], &error));
        }
        note_reading("slice", &name, &reader);
    }
    let sliced = slice.finish();
    let sliced = sliced.map_err(|error| Failure::stage(place, &[place], &error))?;
    let sliced = sliced.ok_or_else(|| Failure::failed("found no slot, expected at least one"))?;
    sliced.output.finish()?;
    headline!(
        "slice",
        "{} of {count}, one after another",
        counted(sliced.rows, "slot")
    );
    Ok(())
}
