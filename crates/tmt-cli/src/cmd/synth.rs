//! `tmt synth`: error-free slots of a constant rate.

use tmt_core::channel::synth::ConstantRate;
use tmt_core::pipeline::synthesise;
use tmt_core::types::{BitRate, Bytes, Slot, Span, Time};

use crate::exit::{Failure, Outcome, headline};
use crate::output::{OutputArgs, end_of_slots};
use crate::progress::Work;
use crate::provenance;
use crate::table::counted;

/// Flags of `tmt synth`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "tmt synth [OPTIONS] --rate RATE --lldu SIZE --duration D --decode-delay D",
    after_help = "Example:\n  tmt synth --rate 2.34Mbps --lldu 33B --duration 500s --decode-delay 36ms \\\n    \
                  | tmt inject --bernoulli 0.01 | tmt apply --scheme arq > timeline.csv"
)]
pub(crate) struct Args {
    /// Rate of the slots, LLDU headers included
    #[arg(long)]
    rate: BitRate,
    /// Size of an LLDU; a slot carries one
    #[arg(long, value_name = "SIZE")]
    lldu: Bytes,
    /// Length of the trace, which has every slot that starts before its end
    #[arg(long, value_name = "D")]
    duration: Span,
    /// Delay from the transmission of a slot to its decoding, without propagation
    #[arg(long, value_name = "D")]
    decode_delay: Span,
    /// RTT of the link, stored for later stages as `rtt_ns`
    #[arg(long)]
    rtt: Option<Span>,
    /// Depth of the physical-layer interleaver, stored for later stages as `interleaver_ns`
    #[arg(long)]
    interleaver: Option<Span>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let link = ConstantRate::new(args.rate, args.lldu, args.duration, args.decode_delay).ok_or_else(|| {
        Failure::usage("--rate, --lldu and --decode-delay must be above zero (a delay of 0 means erased), and all times below 2^63 ns")
    })?;
    if args.duration.is_zero() {
        return Err(Failure::usage(
            "--duration 0s: expected more, as it leaves no slot",
        ));
    }
    let mut command = format!(
        "tmt synth --rate {} --lldu {} --duration {} --decode-delay {}",
        args.rate, args.lldu, args.duration, args.decode_delay
    );
    let stored = [
        ("--rtt", "rtt_ns", args.rtt),
        ("--interleaver", "interleaver_ns", args.interleaver),
    ];
    let stored = stored.map(|(flag, key, value)| value.map(|value| (flag, key, value)));
    for (flag, _, value) in stored.iter().flatten() {
        command.push_str(&format!(" {flag} {value}"));
    }
    let mut head = provenance::new_head(&command);
    head.set("rate_bps", args.rate.0.to_string());
    head.set("lldu_bytes", args.lldu.0.to_string());
    for (_, key, value) in stored.iter().flatten() {
        head.set(key, value.as_nanos().to_string());
    }
    head.push("stage", command);
    let mut writer = args.output.create(&head)?;
    let name = args.output.name();
    let work = Work::new(link.slots(), "slots");
    let made = |slots| work.advance(slots);
    synthesise(&link, &mut writer, made).map_err(|error| Failure::stage(name, &[name], &error))?;
    let slots = link.slots();
    let mut last = Vec::new();
    link.piece(slots.saturating_sub(1), 1, &mut last);
    let last = last.last().map_or(Time::ZERO, Slot::tx_time);
    writer
        .finish(&end_of_slots(slots, last))
        .map_err(|error| Failure::io(name, &error))?
        .finish()?;
    headline!("synth", "{}", counted(slots, "slot"));
    Ok(())
}
