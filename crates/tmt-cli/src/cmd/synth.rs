//! `tmt synth`: slots of a constant rate, or those of a named scenario.

mod acm;
mod code;
mod list;
mod radio;
mod scenario;

use tmt_core::channel::synth::ConstantRate;
use tmt_core::channel::{ChannelError, SlotChannel};
use tmt_core::pipeline::{Erased, synthesise, synthesise_adapted};
use tmt_core::radio::{Acm, Adapted};
use tmt_core::types::{BitRate, Bytes, Metadata, Slot, Span, Time};

use crate::exit::{Failure, Outcome, headline};
use crate::input::process::{self, ProcessParser, ProcessText};
use crate::output::{OutputArgs, end_of_slots, refuse_shared_files};
use crate::progress::Work;
use crate::provenance;
use crate::quantity::whole;
use crate::table::counted;

/// Flags beside which the link need not be described.
const WITHOUT_LINK: [&str; 4] = ["scenario", "list", "list_codes", "show_parameters"];

/// Flags beside which its rate and the size of an LLDU need not be given.
const WITHOUT_RATE: [&str; 5] = ["scenario", "list", "list_codes", "show_parameters", "cn0"];

/// Flags of `tmt synth`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "tmt synth [OPTIONS] --rate RATE --lldu SIZE --duration D --decode-delay D\n       \
                      tmt synth [OPTIONS] --code CODE --cn0 DBHZ --channel-rate RATE …\n       \
                      tmt synth [OPTIONS] --scenario NAME\n       \
                      tmt synth --list",
    after_help = "A scenario is a link with its channel: rate, LLDU, RTT and interleaver are in the metadata, so later stages need no \
                  flags. --rate, --lldu, --rtt, --interleaver and --duration replace its values, as --set does.\n\n\
                  Example:\n  tmt synth --rate 2.34Mbps --lldu 33B --duration 500s --decode-delay 36ms \\\n    \
                  | tmt inject --bernoulli 0.01 | tmt apply --scheme arq > timeline.csv\n  \
                  tmt synth --scenario internet-interleaved --es-n0 6dB \\\n    \
                  | tmt apply --scheme harq:10/12 --feedback-delay decode | tmt tcp"
)]
pub(crate) struct Args {
    /// Rate of the slots, LLDU headers included
    #[arg(long, required_unless_present_any = WITHOUT_RATE)]
    rate: Option<BitRate>,
    /// Size of an LLDU; a slot carries one
    #[arg(long, value_name = "SIZE", required_unless_present_any = WITHOUT_RATE)]
    lldu: Option<Bytes>,
    /// Length of the trace, which has every slot that starts before its end
    #[arg(long, value_name = "D", required_unless_present_any = WITHOUT_LINK)]
    duration: Option<Span>,
    /// Delay from the transmission of a slot to its decoding, without propagation
    #[arg(long, value_name = "D", conflicts_with = "scenario", required_unless_present_any = WITHOUT_LINK)]
    decode_delay: Option<Span>,
    /// RTT of the link, stored for later stages as `rtt_ns`
    #[arg(long)]
    rtt: Option<Span>,
    /// Depth of the physical-layer interleaver, stored for later stages as `interleaver_ns`
    #[arg(long)]
    interleaver: Option<Span>,
    /// Erase slots by this process, NAME:KEY=VALUE,…, as `tmt inject --channel` does; `tmt inject --help` lists them
    #[arg(long, value_name = "PROCESS", conflicts_with = "scenario", value_parser = ProcessParser, hide_possible_values = true)]
    channel: Option<ProcessText>,
    /// Seed of --channel, --cn0 and --scenario, stored in the metadata [default: 1]
    #[arg(long, value_parser = whole::<u64>(0, i64::MAX as u64))]
    seed: Option<u64>,
    #[command(flatten)]
    code: code::CodeArgs,
    #[command(flatten)]
    scenario: scenario::ScenarioArgs,
    #[command(flatten)]
    radio: radio::RadioArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Seed without `--seed`.
const DEFAULT_SEED: u64 = 1;

/// Slots to write, and what is said about them.
struct Made {
    slots: Slots,
    /// The process that erases slots, if there is one.
    erased: Option<Erased>,
    head: Metadata,
    /// Text of the headline after the number of slots.
    said: String,
}

/// Where the slots come from.
enum Slots {
    /// A constant rate.
    Constant(ConstantRate),
    /// A link whose MODCOD is adapted.
    Adapted(Adapted),
}

impl Slots {
    fn count(&self) -> u64 {
        match self {
            Self::Constant(link) => link.slots(),
            Self::Adapted(link) => link.slots(),
        }
    }

    /// Start of the last slot.
    fn last(&self) -> Time {
        let last = self.count().saturating_sub(1);
        let mut slots = Vec::new();
        match self {
            Self::Constant(link) => link.piece(last, 1, &mut slots),
            Self::Adapted(link) => link.begin().piece(last, 1, &mut slots),
        }
        slots.last().map_or(Time::ZERO, Slot::tx_time)
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    if args.scenario.shows() {
        return list::run(args);
    }
    let table = args.scenario.acm.as_deref().and_then(Acm::file);
    let inputs = args.radio.inputs().map(String::as_str).chain(table);
    let inputs: Vec<&str> = inputs.collect();
    if inputs.iter().filter(|path| **path == "-").count() > 1 {
        return Err(Failure::usage(
            "- is given more than once: stdin can be read once",
        ));
    }
    let made = match scenario::configured(args)? {
        Some(configured) => match &args.scenario.acm {
            Some(acm) => acm::made(args, acm, configured)?,
            None => scenario::made(args, configured)?,
        },
        None => plain(args)?,
    };
    let outputs = args.output.output.iter().chain(&args.radio.fading_out);
    refuse_shared_files(outputs.map(String::as_str).chain(inputs))?;
    args.radio
        .refuse_shared_stdout(args.output.output.as_deref())?;
    let mut writer = args.output.create(&made.head)?;
    args.radio.write_fade(&made)?;
    let name = args.output.name();
    let slots = made.slots.count();
    let work = Work::new(slots, "slots");
    let advanced = |slots| work.advance(slots);
    let written = match &made.slots {
        Slots::Constant(link) => synthesise(link, made.erased.as_ref(), &mut writer, advanced),
        Slots::Adapted(link) => synthesise_adapted(link, &mut writer, advanced),
    };
    let written = written.map_err(|error| Failure::stage(name, &[name], &error))?;
    if written.slots == 0 {
        return Err(Failure::failed(format!(
            "{}: found a link that offers none of {slots} slots, expected at least one: a longer --duration or another --seed",
            made.said
        )));
    }
    writer
        .finish(&end_of_slots(written.slots, written.last))
        .map_err(|error| Failure::io(name, &error))?
        .finish()?;
    let (of, erased) = (counted(slots, "slot"), written.erased);
    match made.erased {
        None => headline!("synth", "{of}"),
        Some(Erased { withheld: true, .. }) => {
            headline!(
                "synth",
                "{} of {of} offered by {}",
                written.slots,
                made.said
            );
        }
        Some(_) => headline!("synth", "{erased} of {of} erased by {}", made.said),
    }
    Ok(())
}

/// Slots of a constant rate, error-free unless there is a process.
fn plain(args: &Args) -> Outcome<Made> {
    let coded = code::link(args)?;
    let rate = coded.as_ref().map(|coded| coded.rate).or(args.rate);
    let lldu = coded.as_ref().map(|coded| coded.lldu).or(args.lldu);
    let (Some(rate), Some(lldu), Some(duration), Some(decode_delay)) =
        (rate, lldu, args.duration, args.decode_delay)
    else {
        return Err(Failure::usage(
            "expected --rate, --lldu, --duration and --decode-delay, or --scenario",
        ));
    };
    args.scenario.refuse_without_scenario()?;
    if coded.is_some() {
        args.radio.refuse_beside_code()?;
    } else {
        args.radio.refuse_without_scenario()?;
    }
    if args.seed.is_some() && args.channel.is_none() && coded.is_none() {
        return Err(Failure::usage(
            "--seed: found neither --channel nor --scenario nor --cn0, expected one: error-free slots need no random numbers",
        ));
    }
    let link = ConstantRate::new(rate, lldu, duration, decode_delay).ok_or_else(|| {
        Failure::usage("--rate, --lldu and --decode-delay must be above zero (a delay of 0 means erased), and all times below 2^63 ns")
    })?;
    if duration.is_zero() {
        return Err(Failure::usage(
            "--duration 0s: expected more, as it leaves no slot",
        ));
    }
    let mut command = format!(
        "tmt synth --rate {rate} --lldu {lldu} --duration {duration} --decode-delay {decode_delay}"
    );
    let channel = args.channel.as_ref().map(|text| text.read("--channel"));
    let channel = match &coded {
        Some(coded) => Some(
            coded
                .channel
                .parse()
                .map_err(|refused: ChannelError| Failure::usage(format!("--code: {refused}")))?,
        ),
        None => channel.transpose()?,
    };
    if let Some(misfit) = channel.as_ref().and_then(|channel| channel.misfit(lldu)) {
        return Err(Failure::usage(format!("--channel: {misfit}")));
    }
    let interleaver = interleaver(args, channel.as_ref(), duration)?;
    let of_channel = channel.as_ref().and_then(spread);
    if let Some(depth) = of_channel.filter(|depth| *depth > decode_delay) {
        return Err(Failure::usage(format!(
            "--decode-delay {decode_delay}: found a channel with interleaver={depth}, expected at least as much and the time \
             on air: a word is decoded after its last bit"
        )));
    }
    let stored = [
        ("--rtt", "rtt_ns", args.rtt),
        ("--interleaver", "interleaver_ns", interleaver),
    ];
    let stored = stored.map(|(flag, key, value)| value.map(|value| (flag, key, value)));
    for (flag, _, value) in stored.iter().flatten() {
        command.push_str(&format!(" {flag} {value}"));
    }
    let seed = args.seed.unwrap_or(DEFAULT_SEED);
    let mut said = String::new();
    if let Some(channel) = &channel {
        let (process, fade) = (process::quoted(channel), args.radio.recorded()?);
        said = format!("--channel {process}{fade} --seed {seed}");
        command.push_str(&format!(" {said}"));
    }
    let mut head = provenance::new_head(&command);
    head.set("rate_bps", rate.0.to_string());
    head.set("lldu_bytes", lldu.0.to_string());
    for (_, key, value) in stored.iter().flatten() {
        head.set(key, value.as_nanos().to_string());
    }
    let mut erased = None;
    if let Some(channel) = &channel {
        head.set("seed", seed.to_string());
        let on_air = rate.time_of_bit(u128::from(lldu.0) * 8);
        erased = Some(Erased {
            channel: args.radio.on_fade(channel.clone(), duration)?,
            seed,
            on_air: on_air.map_or(Span::ZERO, |end| end.since(Time::ZERO)),
            withheld: false,
        });
    } else {
        args.radio.refuse_without_channel()?;
    }
    head.push("stage", command);
    Ok(Made {
        slots: Slots::Constant(link),
        erased,
        head,
        said,
    })
}

/// Depth of the interleaver of a channel, if it has one.
fn spread(channel: &SlotChannel) -> Option<Span> {
    let depth = channel.radio()?.parameters().interleaver;
    Some(depth).filter(|depth| !depth.is_zero())
}

/// Depth of the interleaver that later stages know: by the flag, else by the channel.
fn interleaver(
    args: &Args,
    channel: Option<&SlotChannel>,
    duration: Span,
) -> Outcome<Option<Span>> {
    let spread = channel.and_then(spread);
    if let (Some(given), Some(spread)) = (args.interleaver, spread)
        && given != spread
    {
        return Err(Failure::usage(format!(
            "--interleaver {given}: found a channel with interleaver={spread}, expected the same; leave --interleaver out"
        )));
    }
    let depth = args.interleaver.or(spread);
    match depth.filter(|depth| *depth > duration) {
        None => Ok(depth),
        Some(depth) => Err(Failure::usage(format!(
            "--duration {duration}: found an interleaver of {depth}, expected a trace at least as long"
        ))),
    }
}
