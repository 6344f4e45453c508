//! `tmt inject`: adds the erasures of a process to a trace.

use tmt_core::channel::{ChannelSpec, GilbertElliott, SlotChannel, probability, unused_positions};
use tmt_core::pipeline::Inject;
use tmt_core::types::{Metadata, Span, Time};

use crate::exit::{Failure, Outcome, headline, note, warning};
use crate::input::process::{self, ProcessParser, ProcessText};
use crate::input::{ReadArgs, TraceArgs, note_reading};
use crate::output::{OutputArgs, refuse_shared_files};
use crate::quantity::whole;
use crate::table::counted;

/// Flags of `tmt inject`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "tmt inject [OPTIONS] --channel PROCESS [TRACE]",
    after_help = after_help()
)]
pub(crate) struct Args {
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    process: Process,
    /// Seed of the random numbers, stored in the metadata of the output [default: 1]
    #[arg(long, value_parser = whole::<u64>(0, i64::MAX as u64))]
    seed: Option<u64>,
    #[command(flatten)]
    output: OutputArgs,
}

/// The processes, and what there is to know of them.
fn after_help() -> String {
    format!("{}\n{ABOUT}", process::list())
}

const ABOUT: &str = "A slot that is already erased stays erased. Two processes on one link are two injects, the second \
with another --seed, as the same seed gives the same random numbers. A process in time erases a slot by the states during \
its time on air, which rate and LLDU size of the head give. If the trace has the slots of one of several \
users, this is the time between that user's slots, which is longer than the time on air on the shared link; --channel \
scenario:NAME,… uses the latter. A file may also be its rows in braces, with ; between them.\n\n\
alpha and beta are PERSISTENCE probabilities: P(stay in good) and P(stay in bad). A bad time lasts 1/(1-beta) slots on \
average, and the bad state takes a share (1-alpha)/(2-alpha-beta) of the slots. netem's p and r are 1-alpha and 1-beta.\n\n\
Example:\n  tmt inject --channel gilbert-elliott:alpha=0.99,beta=0.8 --seed 7 phy.csv > bursty.csv\n  \
tmt inject --channel markov:weather.csv phy.csv > weathered.csv";

/// The erasure process: exactly one of these.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Process {
    /// Erasure process, NAME:KEY=VALUE,…; see the list below
    #[arg(long, value_name = "PROCESS", value_parser = ProcessParser, hide_possible_values = true)]
    channel: Option<ProcessText>,
    /// Erase each slot with this probability, independently; short for --channel bernoulli:P
    #[arg(long, value_name = "P", value_parser = probability)]
    bernoulli: Option<f64>,
    /// Short for --channel gilbert-elliott:SPEC: two-state channel, `alpha=A,beta=B[,pg=PG,pb=PB][,start=S]`: persistence probabilities alpha=P(stay in good) and beta=P(stay in bad), erasure
    /// probabilities pg [default: 0] and pb [default: 1], start=stationary, good or bad [default: stationary]
    #[arg(long, value_name = "alpha=A,beta=B")]
    gilbert_elliott: Option<GilbertElliott>,
}

impl Process {
    /// The flag as it is recorded, and the process.
    fn read(&self) -> Outcome<(String, SlotChannel)> {
        if let Some(p) = self.bernoulli {
            return Ok((
                format!("--bernoulli {p}"),
                ChannelSpec::Bernoulli { p }.into(),
            ));
        }
        if let Some(channel) = self.gilbert_elliott {
            let flag = format!("--gilbert-elliott {channel}");
            return Ok((flag, ChannelSpec::GilbertElliott(channel).into()));
        }
        let Some(text) = &self.channel else {
            return Err(Failure::usage("expected --channel"));
        };
        let channel = text.read("--channel")?;
        Ok((format!("--channel {}", process::quoted(&channel)), channel))
    }
}

/// Time on air of a slot: by rate and LLDU size of the head or the flags, or else the interval of a table.
fn on_air(args: &ReadArgs, head: &Metadata) -> Option<Span> {
    let of_flags = args.rate.zip(args.lldu);
    let rate_and_lldu = of_flags.or_else(|| head.rate().zip(head.lldu_bytes()));
    let length = rate_and_lldu.map(|(rate, lldu)| rate.time_of_bit(u128::from(lldu.0) * 8));
    match length {
        Some(length) => length.map(|end| end.since(Time::ZERO)),
        None => args.interval,
    }
}

/// Stores the interleaver of the channel for later stages.
fn store_interleaver(head: &mut Metadata, channel: &SlotChannel, name: &str) -> Outcome {
    let depth = channel
        .radio()
        .map(|radio| radio.parameters().interleaver)
        .filter(|depth| !depth.is_zero());
    let Some(depth) = depth else { return Ok(()) };
    match head.number("interleaver_ns") {
        None => head.set("interleaver_ns", depth.as_nanos().to_string()),
        Some(stored) if stored != depth.as_nanos() => {
            return Err(Failure::failed(format!(
                "{name}: found interleaver_ns {stored} in the metadata and a channel with interleaver={depth}, expected the same"
            )));
        }
        Some(_) => {}
    }
    Ok(())
}

/// Seed without `--seed`.
const DEFAULT_SEED: u64 = 1;

pub(crate) fn run(args: &Args) -> Outcome {
    let (flag, channel) = args.process.read()?;
    let seed = args.seed.unwrap_or(DEFAULT_SEED);
    let command = format!("tmt inject {flag} --seed {seed}");
    let shown = match channel.positions() {
        Some(_) => format!("--channel {}", channel.brief()),
        None => flag,
    };
    let files = args.trace.trace.iter().chain(&args.output.output);
    refuse_shared_files(files.map(String::as_str))?;
    args.output.form()?;
    let (name, mut reader) = args.trace.open("inject", false)?;
    let mut head = args.trace.read.head(reader.metadata(), &command)?;
    if head.erased_with(seed) {
        return Err(Failure::failed(format!(
            "{name}: found a stage that erased slots with seed {seed}, expected another --seed: this one gives the same random numbers again"
        )));
    }
    if let (Some(used), Some(stored)) = (args.seed, head.number("seed"))
        && stored != used
    {
        note!(
            "inject",
            "--seed {used} overrides seed {stored} of the metadata"
        );
        head.override_value("seed", "--seed", stored, used);
    }
    head.set("seed", seed.to_string());
    head.push("stage", command);
    store_interleaver(&mut head, &channel, &name)?;
    if let Some(misfit) = head.lldu_bytes().and_then(|lldu| channel.misfit(lldu)) {
        return Err(Failure::failed(format!("{name}: --channel: {misfit}")));
    }
    // A scenario knows how long the slots of its link are on air.
    let of_link = channel.link().map(|link| link.on_air);
    let on_air = of_link.or_else(|| on_air(&args.trace.read, &head));
    if let (SlotChannel::Timed(process), None) = (&channel, on_air)
        && process.is_timed()
    {
        warning!(
            "inject",
            "{name}: found neither rate_bps and lldu_bytes in the metadata nor --interval: every slot is taken as an instant, which meets fewer bad times"
        );
    }
    let writer = args.output.create(&head)?;
    let place = args.output.name();
    let injected = Inject::new(channel.clone(), seed, on_air.unwrap_or_default(), writer)
        .run(&mut reader)
        .map_err(|error| Failure::stage(&name, &[place], &error))?;
    note_reading("inject", &name, &reader);
    injected.output.finish()?;
    if let Some(found) = unused_positions("--channel", &channel, injected.slots, "slots") {
        warning!("inject", "{found}");
    }
    headline!(
        "inject",
        "{} of {} erased by {shown} --seed {seed}",
        injected.erased,
        counted(injected.slots, "slot")
    );
    Ok(())
}
