//! `tmt diff`: the first difference of two traces, and their heads and statistics side by side (docs/metrics.md, Sec. 10).

mod heads;
mod show;

use serde::Serialize;
use serde_json::{Map, Value, json};
use tmt_core::format::Rows;
use tmt_core::pipeline::{Compared, Side, compare};
use tmt_core::stats::{TraceStats, TraceTally};
use tmt_core::types::Span;

use crate::exit::{Failure, Outcome, headline};
use crate::input::{ReadArgs, note_reading};
use crate::output::document::{Document, object};
use crate::output::{Output, refuse_shared_files};
use crate::table::write;

use self::heads::{KeyDifference, differing_keys};

/// Flags of `tmt diff`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Slot n of A is compared with slot n of B; slots count from 0, lines from 1. Rows are equal if transmission time, \
                  decoding delay and attempts are, to the nanosecond. The keys tool, command and stage of the heads are shown but \
                  never make a difference.\n\n\
                  Exit codes: 0 equal, 1 different, 2 wrong usage, bad data or I/O error, as for diff and cmp.\n\n\
                  Example:\n  tmt diff phy.csv phy.parquet && echo same\n  \
                  tmt apply --scheme arq phy.csv | tmt diff timeline.csv -"
)]
pub(crate) struct Args {
    /// First trace or timeline, in any form, which is detected from the content; - is stdin
    a: String,
    /// Second trace or timeline; its form may be another. - is stdin
    b: String,
    /// Show differences of the heads and end lines, but let the rows alone decide
    #[arg(long)]
    ignore_head: bool,
    #[command(flatten)]
    read: ReadArgs,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Output file [default: stdout, as for `-`]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
}

/// Settings of the comparison.
#[derive(Debug, Serialize)]
struct Params {
    ignore_head: bool,
    lldu_bytes: Option<u64>,
}

/// Result of the comparison.
#[derive(Debug, Serialize)]
struct Results {
    /// Whether nothing that decides differs.
    equal: bool,
    slots_a: u64,
    slots_b: u64,
    slots_differing: u64,
    times_differing: u64,
    delays_differing: u64,
    erased_in_a_only: u64,
    erased_in_b_only: u64,
    /// Null unless both have the column.
    attempts_differing: Option<u64>,
    has_attempts_a: bool,
    has_attempts_b: bool,
    largest_time_difference_s: f64,
    largest_delay_difference_s: f64,
    first: Option<First>,
    heads: Vec<KeyDifference>,
    a: TraceStats,
    b: TraceStats,
    /// B − A of every number of the statistics.
    difference: Map<String, Value>,
    /// What the table names.
    #[serde(skip)]
    names: [String; 2],
}

/// The first slot that differs.
#[derive(Debug, Serialize)]
struct First {
    /// From 0.
    slot: u64,
    a: Option<FirstSide>,
    b: Option<FirstSide>,
}

/// That slot in one of the traces.
#[derive(Debug, Serialize)]
struct FirstSide {
    /// From 1; null in forms without lines.
    line: Option<u64>,
    tx_time_s: f64,
    /// Null if it was erased.
    decode_delay_s: Option<f64>,
    attempts: Option<u32>,
    #[serde(skip)]
    tx_time_ns: u64,
    #[serde(skip)]
    decode_delay: Option<Span>,
}

impl FirstSide {
    fn new(side: Side) -> Self {
        let slot = side.slot;
        let delay = Some(slot.decode_delay()).filter(|_| !slot.is_erased());
        let time = slot.tx_time();
        Self {
            line: Some(side.line).filter(|line| *line > 0),
            tx_time_s: time.since(tmt_core::Time::ZERO).as_secs_f64(),
            decode_delay_s: delay.map(Span::as_secs_f64),
            attempts: side.attempts,
            tx_time_ns: time.as_nanos(),
            decode_delay: delay,
        }
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let results = compared(args).map_err(Failure::into_trouble)?;
    let is_equal = results.equal;
    // What was found does not depend on whether anyone reads it to the end.
    match print(args, results) {
        Ok(()) | Err(Failure::ClosedPipe) => {}
        Err(failure) => return Err(failure.into_trouble()),
    }
    if is_equal {
        Ok(())
    } else {
        Err(Failure::Different)
    }
}

/// Reads and compares both traces.
fn compared(args: &Args) -> Outcome<Results> {
    if [&args.a, &args.b].iter().all(|path| *path == "-") {
        return Err(Failure::usage(
            "- is given more than once: stdin can be read once",
        ));
    }
    // A trace may be compared with itself.
    for path in [&args.a, &args.b] {
        refuse_shared_files(args.output.iter().chain([path]).map(String::as_str))?;
    }
    let (name_a, a) = args.read.open("diff", Some(&args.a), true)?;
    let (name_b, b) = args.read.open("diff", Some(&args.b), true)?;
    let names = [name_a, name_b];
    let mut readers = [a, b];
    let mut tallies = [TraceTally::default(), TraceTally::default()];
    let takes = tallies
        .each_mut()
        .map(|tally| |rows: &Rows| tally.slots(&rows.slots, &rows.attempts));
    let compared = compare(&mut readers, takes)
        .map_err(|(index, error)| Failure::input(&names[index], &error))?;
    for (name, reader) in names.iter().zip(&readers) {
        note_reading("diff", name, reader);
    }
    let keys = differing_keys(&readers);
    let mut stats = tallies.into_iter().zip(&readers);
    let mut next = || {
        let (tally, reader) = stats.next()?;
        Some(tally.finish(reader.metadata(), None, args.read.lldu))
    };
    let (Some(a), Some(b)) = (next(), next()) else {
        return Err(Failure::failed("two traces have two summaries"));
    };
    results(args, names, &compared, keys, a, b)
}

fn results(
    args: &Args,
    names: [String; 2],
    compared: &Compared,
    heads: Vec<KeyDifference>,
    a: TraceStats,
    b: TraceStats,
) -> Outcome<Results> {
    let decides = !args.ignore_head && heads.iter().any(|key| key.decides);
    let first = compared.first.map(|first| {
        let [a, b] = first.sides.map(|side| side.map(FirstSide::new));
        First {
            slot: first.row,
            a,
            b,
        }
    });
    let [slots_a, slots_b] = compared.rows;
    let [erased_in_a_only, erased_in_b_only] = compared.erased_only;
    let [has_attempts_a, has_attempts_b] = compared.has_attempts;
    Ok(Results {
        equal: compared.is_equal() && !decides,
        slots_a,
        slots_b,
        slots_differing: compared.differing,
        times_differing: compared.times,
        delays_differing: compared.delays,
        erased_in_a_only,
        erased_in_b_only,
        attempts_differing: (has_attempts_a && has_attempts_b).then_some(compared.attempts),
        has_attempts_a,
        has_attempts_b,
        largest_time_difference_s: compared.largest_time.as_secs_f64(),
        largest_delay_difference_s: compared.largest_delay.as_secs_f64(),
        first,
        heads,
        difference: differences(&a, &b)?,
        a,
        b,
        names,
    })
}

/// `b` − `a` of every number; null where one of both has none.
fn differences(a: &TraceStats, b: &TraceStats) -> Outcome<Map<String, Value>> {
    let (a, b) = (object(a)?, object(b)?);
    let fields = a.into_iter().filter_map(|(name, a)| {
        let b = b.get(&name)?;
        let difference = match (a.as_i64().zip(b.as_i64()), a.as_f64().zip(b.as_f64())) {
            (Some((a, b)), _) => json!(b - a),
            (None, Some((a, b))) => json!(b - a),
            _ if (a.is_null() || a.is_number()) && (b.is_null() || b.is_number()) => Value::Null,
            _ => return None,
        };
        Some((name, difference))
    });
    Ok(fields.collect())
}

fn print(args: &Args, results: Results) -> Outcome {
    headline!("diff", "{}", show::verdict(&results, args.ignore_head));
    let params = Params {
        ignore_head: args.ignore_head,
        lldu_bytes: args.read.lldu.map(|lldu| lldu.0),
    };
    let document = Document::new("tmt.diff/1", params, results);
    let mut output = Output::create(args.output.as_deref())?;
    write(&mut output, args.json, &document, show::tables)?;
    output.finish()
}
