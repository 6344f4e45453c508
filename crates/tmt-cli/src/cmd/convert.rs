//! `tmt convert`: measured traces of other tools into PHY traces (link-layer.md §11).

use std::io::{BufReader, Read};

use tmt_core::format::import::delay_loss::{DelayLoss, Reading};
use tmt_core::format::import::mahimahi::{Mahimahi, OPPORTUNITY};
use tmt_core::format::import::{FORMATS, Finding};
use tmt_core::format::text::Unit;
use tmt_core::pipeline::{StageError, produce};
use tmt_core::types::{Bytes, Metadata, Slot, Span, Time};

use crate::exit::{Failure, Outcome, note};
use crate::input::{self, is_file};
use crate::output::{Output, OutputArgs, end_of_slots, refuse_twice};
use crate::provenance;

/// Flags of `tmt convert`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Formats:\n  delay-loss  a file of delays (--delay) and a file of losses (--loss), one packet a line\n  \
                  mahimahi    one delivery opportunity of 1504 B a line, in whole milliseconds\n\n\
                  A PHY trace's delay leaves propagation out, and 0 means erased. So a measured one-way delay D \
                  becomes max(1 ns, D - P), with P from --propagation, and is told as rtt_ns = 2 P.\n\n\
                  Example:\n  tmt convert --from delay-loss --delay delay.txt --loss loss.txt --interval 10ms \
                  --propagation 3ms > phy.csv\n  tmt convert --from mahimahi --rtt 60ms ATT-LTE-driving.down > phy.csv"
)]
pub(crate) struct Args {
    /// Format of the input
    #[arg(long, value_name = "FORMAT", value_parser = FORMATS.map(|(name, _)| name))]
    from: String,
    /// mahimahi: the trace; stdin when left out or `-`
    #[arg(value_name = "TRACE")]
    trace: Option<String>,
    /// delay-loss: file of delays, `-` for stdin
    #[arg(long, value_name = "FILE")]
    delay: Option<String>,
    /// delay-loss: file of losses, `-` for stdin
    #[arg(long, value_name = "FILE")]
    loss: Option<String>,
    /// delay-loss: unit of the delays: s, ms, us or ns (ns when left out, as ebpf-trace-emu writes)
    #[arg(long, value_name = "UNIT")]
    delay_unit: Option<Unit>,
    /// delay-loss: the digit that means lost, 1 (when left out) or 0 (Link'Em)
    #[arg(long, value_name = "DIGIT", value_parser = ["0", "1"])]
    lost: Option<String>,
    /// delay-loss: the delays are round trips; half is taken as one way
    #[arg(long)]
    round_trip: bool,
    /// delay-loss: time between two packets; the files hold no send times
    #[arg(long)]
    interval: Option<Span>,
    /// delay-loss: propagation P to take off: a duration, or `min` for the smallest delay of a
    /// received packet (when left out, for files; a pipe cannot be read twice)
    #[arg(long, value_name = "min|DURATION")]
    propagation: Option<Propagation>,
    /// Delay of received slots where the input has none (1ns when left out)
    #[arg(long)]
    decode_delay: Option<Span>,
    /// Round-trip time of the link, told as `rtt_ns`; else 2 P where P is known
    #[arg(long)]
    rtt: Option<Span>,
    /// delay-loss: size of a packet, told as `lldu_bytes` and used for `rate_bps`
    #[arg(long)]
    lldu: Option<Bytes>,
    #[command(flatten)]
    output: OutputArgs,
}

/// What `--propagation` takes.
#[derive(Debug, Clone, Copy)]
enum Propagation {
    Min,
    Of(Span),
}

impl std::str::FromStr for Propagation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "min" {
            return Ok(Self::Min);
        }
        text.parse()
            .map(Self::Of)
            .map_err(|error| format!("{error}, or 'min'"))
    }
}

/// The delay slots get when nothing was measured.
const NO_DELAY: u64 = 1;

pub(crate) fn run(args: &Args) -> Outcome {
    if args.decode_delay.is_some_and(Span::is_zero) {
        return Err(Failure::usage(
            "--decode-delay 0 would mean erased: say 1ns or more",
        ));
    }
    let inputs = [&args.trace, &args.delay, &args.loss, &args.output.output];
    refuse_twice(inputs.into_iter().flatten().map(String::as_str))?;
    args.output.form()?;
    match args.from.as_str() {
        "mahimahi" => mahimahi(args),
        _ => delay_loss(args),
    }
}

/// The delay for slots without one, said when it is the default.
fn decode_delay(args: &Args) -> Span {
    args.decode_delay.unwrap_or_else(|| {
        note!(
            "convert",
            "the input holds no delays: every received slot gets 1ns (--decode-delay)"
        );
        Span::from_nanos(NO_DELAY).unwrap_or(Span::MAX)
    })
}

fn refuse_flags(format: &str, flags: &[(&str, bool)]) -> Outcome {
    match flags.iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Failure::usage(format!(
            "{flag} has no meaning with --from {format}"
        ))),
        None => Ok(()),
    }
}

fn mahimahi(args: &Args) -> Outcome {
    refuse_flags(
        "mahimahi",
        &[
            ("--delay", args.delay.is_some()),
            ("--loss", args.loss.is_some()),
            ("--delay-unit", args.delay_unit.is_some()),
            ("--lost", args.lost.is_some()),
            ("--round-trip", args.round_trip),
            ("--interval", args.interval.is_some()),
            ("--propagation", args.propagation.is_some()),
            ("--lldu", args.lldu.is_some()),
        ],
    )?;
    let path = args.trace.as_deref();
    let decode_delay = decode_delay(args);
    let mut command = format!("tmt convert --from mahimahi --decode-delay {decode_delay}");
    if let Some(rtt) = args.rtt {
        command.push_str(&format!(" --rtt {rtt}"));
    }
    let mut head = provenance::new_head(&command);
    head.set("lldu_bytes", OPPORTUNITY.0.to_string());
    // The rate belongs into the head, so a file is read once for it; a pipe has to do without.
    if let Some(path) = path.filter(|path| is_file(path)) {
        if let Some(rate) = mahimahi_rate(path)? {
            head.set("rate_bps", rate.to_string());
        }
    } else {
        note!(
            "convert",
            "the rate of a pipe is not known in advance: rate_bps is left out of the head"
        );
    }
    tell_rtt(&mut head, args.rtt, None);
    head.push("stage", command);
    let input = input::open("convert", path)?;
    let mut trace = Mahimahi::new(BufReader::new(input.reader), decode_delay);
    let rows = write_slots(args, &head, || {
        trace
            .next_slot()
            .map_err(|error| Failure::input(&input.name, &error))
    })?;
    end(rows, &input.name, &trace.findings())
}

/// Mean rate of a mahimahi trace, bit/s: all its opportunities in the period after which mahimahi
/// repeats it, which is its last time.
fn mahimahi_rate(path: &str) -> Outcome<Option<u64>> {
    let input = input::open("convert", Some(path))?;
    let delay = Span::from_nanos(NO_DELAY).unwrap_or(Span::MAX);
    let mut trace = Mahimahi::new(BufReader::new(input.reader), delay);
    let (mut last, mut slots) = (Time::ZERO, 0u64);
    while let Some(slot) = trace
        .next_slot()
        .map_err(|error| Failure::input(path, &error))?
    {
        slots += 1;
        last = slot.tx_time();
    }
    Ok(rate_bps(OPPORTUNITY, slots, last.since(Time::ZERO)))
}

/// 8 · `lldu` bytes a slot, `slots` of them in `length`; rounded to whole bit/s.
fn rate_bps(lldu: Bytes, slots: u64, length: Span) -> Option<u64> {
    let bits = u128::from(lldu.0) * 8 * u128::from(slots) * 1_000_000_000;
    let length = u128::from(length.as_nanos());
    (bits + length / 2)
        .checked_div(length)
        .and_then(|rate| u64::try_from(rate).ok())
        .filter(|rate| *rate > 0)
}

fn delay_loss(args: &Args) -> Outcome {
    refuse_flags("delay-loss", &[("TRACE", args.trace.is_some())])?;
    if args.delay.is_none() && args.loss.is_none() {
        return Err(Failure::usage(
            "--from delay-loss needs --delay, --loss or both",
        ));
    }
    if args.delay.as_deref() == Some("-") && args.loss.as_deref() == Some("-") {
        return Err(Failure::usage(
            "--delay - and --loss - cannot both be stdin",
        ));
    }
    let interval = args.interval.ok_or_else(|| {
        Failure::usage("--from delay-loss needs --interval: the files hold no send times")
    })?;
    if interval.is_zero() {
        return Err(Failure::usage("--interval: expected more than 0s"));
    }
    let reading = reading(args, interval)?;
    let (propagation, min) = match (&args.delay, args.propagation) {
        (None, None) => (None, false),
        (None, Some(_)) => {
            return Err(Failure::usage(
                "--propagation has no meaning without --delay",
            ));
        }
        (Some(_), Some(Propagation::Of(propagation))) => (Some(propagation), false),
        (Some(_), Some(Propagation::Min) | None) => (Some(smallest_delay(args, reading)?), true),
    };
    let reading = Reading {
        propagation: propagation.unwrap_or(Span::ZERO),
        ..reading
    };

    let command = delay_loss_command(args, &reading);
    let mut head = provenance::new_head(&command);
    if let Some(lldu) = args.lldu {
        if lldu.0 == 0 {
            return Err(Failure::usage("--lldu: expected more than 0B"));
        }
        head.set("lldu_bytes", lldu.0.to_string());
        if let Some(rate) = rate_bps(lldu, 1, interval) {
            head.set("rate_bps", rate.to_string());
        }
    }
    tell_rtt(&mut head, args.rtt, propagation);
    if let Some(propagation) = propagation {
        head.set("propagation_removed_ns", propagation.as_nanos().to_string());
        let how = if min {
            "the smallest delay of a received packet"
        } else {
            "--propagation"
        };
        note!(
            "convert",
            "propagation {propagation} ({how}) is taken off every delay"
        );
    }
    if reading.round_trip {
        head.set("one_way_delay", "half of the measured round trip");
    }
    head.push("stage", command);

    let mut pair = open_pair(args, reading)?;
    let rows = write_slots(args, &head, || {
        pair.next_slot().map_err(|error| pair_failure(args, &error))
    })?;
    end(rows, "delay-loss", &pair.findings())
}

/// How the files are to be read, before the propagation is known.
fn reading(args: &Args, interval: Span) -> Outcome<Reading> {
    let unit = args.delay_unit.unwrap_or_else(|| {
        if args.delay.is_some() {
            note!("convert", "delays are in ns (--delay-unit)");
        }
        Unit::Nanoseconds
    });
    let lost = match (args.lost.as_deref(), &args.loss) {
        (Some(_), None) => return Err(Failure::usage("--lost has no meaning without --loss")),
        (Some("0"), _) => b'0',
        (Some(_), _) => b'1',
        (None, loss) => {
            if loss.is_some() {
                note!("convert", "1 means lost (--lost)");
            }
            b'1'
        }
    };
    let decode_delay = if args.delay.is_none() {
        decode_delay(args)
    } else if args.decode_delay.is_some() {
        return Err(Failure::usage("--decode-delay has no meaning with --delay"));
    } else {
        Span::ZERO
    };
    Ok(Reading {
        interval,
        unit,
        round_trip: args.round_trip,
        lost,
        propagation: Span::ZERO,
        decode_delay,
    })
}

fn delay_loss_command(args: &Args, reading: &Reading) -> String {
    let mut command = format!(
        "tmt convert --from delay-loss --interval {}",
        reading.interval
    );
    if args.delay.is_some() {
        command.push_str(&format!(
            " --delay-unit {} --propagation {}",
            reading.unit.name(),
            reading.propagation
        ));
    } else {
        command.push_str(&format!(" --decode-delay {}", reading.decode_delay));
    }
    if args.loss.is_some() {
        command.push_str(&format!(" --lost {}", char::from(reading.lost)));
    }
    if reading.round_trip {
        command.push_str(" --round-trip");
    }
    if let Some(rtt) = args.rtt {
        command.push_str(&format!(" --rtt {rtt}"));
    }
    if let Some(lldu) = args.lldu {
        command.push_str(&format!(" --lldu {lldu}"));
    }
    command
}

type Pair = DelayLoss<BufReader<Box<dyn Read + Send>>>;

fn open_pair(args: &Args, reading: Reading) -> Outcome<Pair> {
    let open = |path: &Option<String>| match path {
        Some(path) => {
            input::open("convert", Some(path)).map(|input| Some(BufReader::new(input.reader)))
        }
        None => Ok(None),
    };
    Ok(DelayLoss::new(
        open(&args.delay)?,
        open(&args.loss)?,
        reading,
    ))
}

/// The failure, with the name of the file it is about.
fn pair_failure(args: &Args, error: &tmt_core::Error) -> Failure {
    let path = match error.input() {
        Some("loss") => &args.loss,
        _ => &args.delay,
    };
    Failure::input(path.as_deref().unwrap_or("delay-loss"), error)
}

/// The first of two passes: the smallest one-way delay of a received packet.
fn smallest_delay(args: &Args, reading: Reading) -> Outcome<Span> {
    if [&args.delay, &args.loss]
        .into_iter()
        .flatten()
        .any(|path| !is_file(path))
    {
        return Err(Failure::usage(
            "--propagation min reads the files twice, and a pipe cannot be: say --propagation DURATION",
        ));
    }
    let mut pair = open_pair(args, reading)?;
    while pair
        .next_slot()
        .map_err(|error| pair_failure(args, &error))?
        .is_some()
    {}
    pair.smallest_delay().ok_or_else(|| {
        Failure::failed(
            "found no received packet, so no smallest delay; expected --propagation DURATION",
        )
    })
}

/// Writes `rtt_ns`: the flag, else twice the propagation, else nothing.
fn tell_rtt(head: &mut Metadata, rtt: Option<Span>, propagation: Option<Span>) {
    let rtt = rtt.or_else(|| propagation.and_then(|propagation| propagation.checked_mul(2)));
    match rtt {
        Some(rtt) => head.set("rtt_ns", rtt.as_nanos().to_string()),
        None => note!(
            "convert",
            "the round-trip time is not known: rtt_ns is left out of the head (--rtt)"
        ),
    }
}

/// Rows that are all written, with the output that is yet to be made final.
struct Written {
    /// None where there is no row.
    output: Option<Output>,
    slots: u64,
}

/// Slots taken from a converter at a time.
const BATCH: usize = 1 << 14;

fn write_slots(
    args: &Args,
    head: &Metadata,
    mut next: impl FnMut() -> Outcome<Option<Slot>> + Send,
) -> Outcome<Written> {
    let mut writer = args.output.create(head)?;
    let name = args.output.name();
    let (mut slots, mut last) = (0u64, Time::ZERO);
    let fill = |batch: &mut Vec<Slot>| -> Result<(), Stop> {
        while batch.len() < BATCH
            && let Some(slot) = next().map_err(Stop::Failure)?
        {
            slots += 1;
            last = slot.tx_time();
            batch.push(slot);
        }
        Ok(())
    };
    match produce(&mut writer, fill) {
        Ok(()) => {}
        Err(Stop::Failure(failure)) => {
            // The slots in front of the fault were good.
            writer
                .abandon()
                .map_err(|error| Failure::io(name, &error))?;
            return Err(failure);
        }
        Err(Stop::Stage(error)) => return Err(Failure::stage(name, &[name], &error)),
    }
    if slots == 0 {
        // An input without a row is refused; nothing may look like a trace.
        return Ok(Written {
            output: None,
            slots,
        });
    }
    let output = writer
        .finish(&end_of_slots(slots, last, None))
        .map_err(|error| Failure::io(name, &error))?;
    Ok(Written {
        output: Some(output),
        slots,
    })
}

/// Why a conversion stopped.
enum Stop {
    Failure(Failure),
    Stage(StageError),
}

impl From<StageError> for Stop {
    fn from(error: StageError) -> Self {
        Self::Stage(error)
    }
}

/// Tells what was found and makes the output final; an input without a row is refused.
fn end(written: Written, name: &str, findings: &[Finding]) -> Outcome {
    for finding in findings {
        note!("convert", "{finding}");
    }
    let Some(output) = written.output else {
        return Err(Failure::failed(format!(
            "{name}: found no row, expected at least one"
        )));
    };
    output.finish()?;
    note!("convert", "{} slots", written.slots);
    Ok(())
}
