//! `tmt diff`: the first difference of two traces, and their heads and statistics side by side (docs/metrics.md, Sec. 10).

mod heads;
mod show;

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

/// Result of the comparison.
struct Results {
    names: [String; 2],
    /// Whether nothing that decides differs.
    equal: bool,
    found: Compared,
    heads: Vec<KeyDifference>,
    stats: [TraceStats; 2],
}

pub(crate) fn run(args: &Args) -> Outcome {
    let results = compared(args).map_err(Failure::into_trouble)?;
    // The exit code does not depend on whether anyone reads the results to the end.
    match print(args, &results) {
        Ok(()) | Err(Failure::ClosedPipe) => {}
        Err(failure) => return Err(failure.into_trouble()),
    }
    if results.equal {
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
    let found = compare(&mut readers, takes)
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
    let decides = !args.ignore_head && keys.iter().any(|key| key.decides);
    Ok(Results {
        names,
        equal: found.is_equal() && !decides,
        found,
        heads: keys,
        stats: [a, b],
    })
}

/// The line of a row, from 1; `None` in forms without lines.
fn line(side: &Side) -> Option<u64> {
    Some(side.line).filter(|line| *line > 0)
}

/// The decoding delay of a row; `None` if it was erased.
fn delay(side: &Side) -> Option<Span> {
    Some(side.slot.decode_delay()).filter(|_| !side.slot.is_erased())
}

/// The results in JSON.
fn described(results: &Results) -> Outcome<Value> {
    let Results { found, stats, .. } = results;
    let side = |side: Side| {
        json!({
            "line": line(&side),
            "tx_time_s": side.slot.tx_time().since(tmt_core::Time::ZERO).as_secs_f64(),
            "decode_delay_s": delay(&side).map(Span::as_secs_f64),
            "attempts": side.attempts,
        })
    };
    let first = found.first.map(|first| {
        let [a, b] = first.sides.map(|one| one.map(side));
        json!({ "slot": first.row, "a": a, "b": b })
    });
    let both_have_attempts = found.has_attempts == [true; 2];
    Ok(json!({
        "equal": results.equal,
        "slots_a": found.rows[0],
        "slots_b": found.rows[1],
        "slots_differing": found.differing,
        "times_differing": found.times,
        "delays_differing": found.delays,
        "erased_in_a_only": found.erased_only[0],
        "erased_in_b_only": found.erased_only[1],
        "attempts_differing": both_have_attempts.then_some(found.attempts),
        "has_attempts_a": found.has_attempts[0],
        "has_attempts_b": found.has_attempts[1],
        "largest_time_difference_s": found.largest_time.as_secs_f64(),
        "largest_delay_difference_s": found.largest_delay.as_secs_f64(),
        "first": first,
        "heads": results.heads,
        "a": stats[0],
        "b": stats[1],
        "difference": differences(&stats[0], &stats[1])?,
    }))
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

fn print(args: &Args, results: &Results) -> Outcome {
    headline!("diff", "{}", show::verdict(results, args.ignore_head));
    let params = json!({
        "ignore_head": args.ignore_head,
        "lldu_bytes": args.read.lldu.map(|lldu| lldu.0),
    });
    let document = Document::new("tmt.diff/1", params, described(results)?);
    let mut output = Output::create(args.output.as_deref())?;
    write(&mut output, args.json, &document, |_| show::tables(results))?;
    output.finish()
}
