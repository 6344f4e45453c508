//! `tmt code curve`: word error rates of a code over Es/N0, measured, as the lines that `--error-curve` and tables of MODCODs read.

use std::fmt::Write as _;

use tmt_core::coding::measure::{CurvePoint, MeasureError, curve};
use tmt_core::coding::model::{MODEL, settings};
use tmt_core::coding::spec::CodeSpec;
use tmt_core::model::Arguments;
use tmt_core::named::{Part, pairs};
use tmt_core::radio::{ErrorCurve, Modulation, Outside, Points};

use super::{code, without_unit};
use crate::cmd::model::Sweep;
use crate::exit::{Failure, Outcome, headline, note, warning};
use crate::host::here;
use crate::output::Output;
use crate::progress::Work;
use crate::provenance::TOOL;

/// Keys of `tmt model ser-measured` that have an effect here.
const KEYS: [&str; 7] = [
    "interleaver",
    "depth",
    "decision",
    "segment_bytes",
    "events",
    "most_bits",
    "seed",
];

/// Flags of the subcommand.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Keys are interleaver, depth, decision, segment_bytes, events, most_bits and seed of `tmt model ser-measured --help`.\n\n\
                  Example:\n  tmt code curve --code conv:3/4+rs:239/223 --es-n0 5..6.5dB:7 -o curve.csv\n  \
                  tmt synth --scenario distribution-up --error-curve curve.csv --clamp-curve --es-n0 12dB --duration 60s"
)]
pub(super) struct Flags {
    /// Code, such as conv:3/4+rs:239/223
    #[arg(long, value_name = "CODE", value_parser = code)]
    code: CodeSpec,
    /// Energy per symbol of QPSK over noise density: FROM..TOdB:COUNT or V1,V2,…dB, rising
    #[arg(long = "es-n0", value_name = "DB", allow_hyphen_values = true)]
    es_n0: String,
    /// Print the curve as the text of a code, points:…, for the column `code` of a table of MODCODs
    #[arg(long)]
    inline: bool,
    /// Output file [default: stdout, as for `-`]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Values of other keys
    #[arg(value_name = "KEY=VALUE")]
    keys: Vec<String>,
}

pub(super) fn run(flags: &Flags) -> Outcome {
    let arguments = arguments(&flags.keys).map_err(Failure::usage)?;
    let es_n0_db = es_n0_db(&flags.es_n0).map_err(Failure::usage)?;
    let arguments = arguments.stopped_when(here().stopped());
    let settings =
        settings(&arguments, &flags.code).map_err(|refused| Failure::usage(refused.to_string()))?;
    let mut output = Output::create(flags.output.as_deref())?;
    let work = Work::new(es_n0_db.len() as u64, "points");
    let points = curve(&flags.code, &settings, &es_n0_db, |point| {
        note!("code", "Es/N0 {} dB: {}", point.es_n0_db, counts(point));
        work.advance(1);
    });
    drop(work);
    let points = points.map_err(|error| match error {
        MeasureError::Refused(refused) => Failure::usage(refused.to_string()),
        stopped @ MeasureError::Stopped => Failure::failed(stopped),
    })?;
    let lines = lines(&points);
    let read = Points::read(&lines, Outside::Clamp)
        .map_err(|refused| Failure::usage(format!("--es-n0 {}: {refused}", flags.es_n0)))?;
    say(flags, &points, read.is_closed());
    let text = if flags.inline {
        format!("{}\n", ErrorCurve::Points(read, Modulation::Qpsk))
    } else {
        let about = about(&flags.code, &arguments);
        format!("{about}es_n0_db,error_rate\n{lines}")
    };
    output.write(text.as_bytes())?;
    output.finish()
}

/// The values of [`KEYS`]; the others have those of the code and of `--es-n0`.
fn arguments(keys: &[String]) -> Result<Arguments, String> {
    let given = pairs(keys.iter().map(|pair| Part::of(pair)), "seed=2");
    let given = given.map_err(|error| error.to_string())?;
    for &(name, text) in &given {
        let key = MODEL.key(name).map_err(|error| error.to_string())?;
        if !KEYS.contains(&key.name) {
            let expected = KEYS.join(", ");
            return Err(format!(
                "{name}={text}: expected one of {expected}; the code is that of --code, the energy that of --es-n0"
            ));
        }
    }
    MODEL.arguments(given).map_err(|error| error.to_string())
}

/// The values of `--es-n0`, dB.
fn es_n0_db(text: &str) -> Result<Vec<f64>, String> {
    let refuse = |why: &str| format!("--es-n0 {text}: {why}");
    let range = without_unit(text, "dB").ok_or_else(|| {
        refuse("expected values with their unit, such as 5..6.5dB:7 or 5,5.5,6dB")
    })?;
    let key = MODEL.key("ecn0_db").map_err(|error| error.to_string())?;
    let sweep = Sweep::of(key, &range).map_err(|why| refuse(&why))?;
    let values: Vec<f64> = sweep.numbers().collect();
    if values.len() < 2 || !values.is_sorted_by(|one, next| one < next) {
        return Err(refuse("expected at least two values, rising"));
    }
    Ok(values)
}

/// Counts of a point with the interval of its rate.
fn counts(point: &CurvePoint) -> String {
    let (words, estimate) = (point.words, point.words.rate());
    format!(
        "{} of {} words lost, 95 % interval {:.3e} to {:.3e}",
        words.failed(),
        words.all,
        estimate.low,
        estimate.high
    )
}

/// The points, each with a comment.
fn lines(points: &[CurvePoint]) -> String {
    let mut text = String::new();
    for point in points {
        let _ = writeln!(text, "# {}", counts(point));
        let _ = writeln!(text, "{},{}", point.es_n0_db, point.rate);
    }
    text
}

/// Comments with all that the curve depends on.
fn about(code: &CodeSpec, arguments: &Arguments) -> String {
    let values = KEYS.iter().filter_map(|name| {
        let value = arguments.value(MODEL.key(name).ok()?)?;
        Some(format!("{name}={value}"))
    });
    let values: Vec<String> = values.collect();
    let words = if code.outer.is_some() {
        "codewords of the outer code"
    } else {
        "segments"
    };
    format!(
        "# {code}: error rates of {words}, QPSK with Gray labels, white noise\n# {}, {TOOL}\n",
        values.join(" ")
    )
}

/// The headline, and warnings of what the ends of the curve leave open.
fn say(flags: &Flags, points: &[CurvePoint], is_closed: bool) {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return;
    };
    headline!(
        "code",
        "{}: error rate {:.3e} at {} dB, {:.3e} at {} dB",
        flags.code,
        first.rate,
        first.es_n0_db,
        last.rate,
        last.es_n0_db
    );
    if !is_closed {
        let beyond = if flags.inline {
            "beyond its ends it has the rate of the nearer one (@clamp)"
        } else {
            "a channel that leaves its range is refused without --clamp-curve"
        };
        warning!(
            "code",
            "the curve does not reach from a rate of 1 to 1e-9: {beyond}"
        );
    }
    let few = points.iter().filter(|point| point.is_bounded).count();
    if few > 0 {
        warning!(
            "code",
            "{few} of {} points have fewer lost words than asked for within most_bits: their intervals, in the comments, are wide",
            points.len()
        );
    }
    // Where one word was lost at a higher Es/N0, the rates up to there were pooled.
    let clean = points.iter().find(|point| point.rate <= 0.0);
    if let Some(clean) = clean {
        warning!(
            "code",
            "from {} dB on no word was lost: the true rate there is below {:.1e} (95 %), and the curve has 0; a larger most_bits resolves it",
            clean.es_n0_db,
            clean.words.rate().high
        );
    }
}
