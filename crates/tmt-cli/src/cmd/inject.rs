//! `tmt inject`: erasures of a Bernoulli or Gilbert–Elliott process, put into a trace.

use tmt_core::channel::{ChannelSpec, GilbertElliott, probability};
use tmt_core::pipeline::Inject;

use crate::exit::{Failure, Outcome, note};
use crate::input::{TraceArgs, tell_cut};
use crate::output::{OutputArgs, refuse_twice};
use crate::provenance;

/// Flags of `tmt inject`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "alpha and beta are the papers' PERSISTENCE probabilities, P(stay in good) and P(stay in bad): \
                  bursts last 1/(1-beta) slots on average and a share (1-alpha)/(2-alpha-beta) of the slots meets \
                  the bad state. netem's p and r are 1-alpha and 1-beta. A slot that is erased already stays so. A second inject over a \
                  trace needs another --seed: with the same one it would draw the same numbers.\n\n\
                  Example:\n  tmt inject --gilbert-elliott alpha=0.99,beta=0.8 --seed 7 phy.csv > bursty.csv"
)]
pub(crate) struct Args {
    #[command(flatten)]
    trace: TraceArgs,
    #[command(flatten)]
    process: Process,
    /// Seed of the random numbers (1 when left out), told in the output's metadata
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: Option<u64>,
    #[command(flatten)]
    output: OutputArgs,
}

/// The erasure process: one of the two.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Process {
    /// Erase every slot with this probability, independently
    #[arg(long, value_name = "P", value_parser = probability)]
    bernoulli: Option<f64>,
    /// Two states: persistence probabilities alpha=P(stay in good), beta=P(stay in bad), and erasure probabilities
    /// pg (0 when left out) and pb (1) in them; start=stationary (when left out), good or bad
    #[arg(long, value_name = "alpha=A,beta=B[,pg=PG,pb=PB][,start=S]")]
    gilbert_elliott: Option<GilbertElliott>,
}

/// The seed when none is given.
const DEFAULT_SEED: u64 = 1;

pub(crate) fn run(args: &Args) -> Outcome {
    let (flag, spec) = match (args.process.bernoulli, args.process.gilbert_elliott) {
        (Some(p), _) => (format!("--bernoulli {p}"), ChannelSpec::Bernoulli { p }),
        (_, Some(channel)) => (
            format!("--gilbert-elliott {channel}"),
            ChannelSpec::GilbertElliott(channel),
        ),
        (None, None) => {
            return Err(Failure::usage(
                "one of --bernoulli and --gilbert-elliott is needed",
            ));
        }
    };
    let seed = args.seed.unwrap_or(DEFAULT_SEED);
    let command = format!("tmt inject {flag} --seed {seed}");
    note!("inject", "{flag} --seed {seed}");
    let files = args.trace.trace.iter().chain(&args.output.output);
    refuse_twice(files.map(String::as_str))?;
    args.output.form()?;
    let (name, mut reader) = args.trace.open("inject", false)?;
    let mut head = if reader.metadata().is_head() {
        reader.metadata().clone()
    } else {
        provenance::new_head(&command)
    };
    let same_seed = format!(" --seed {seed}");
    let same = |(key, stage): (&str, &str)| {
        key == "stage" && stage.starts_with("tmt inject ") && stage.ends_with(&same_seed)
    };
    if head.iter().any(same) {
        return Err(Failure::failed(format!(
            "{name}: found an inject stage with seed {seed}, whose numbers would be drawn again; expected another --seed"
        )));
    }
    if let (Some(used), Some(told)) = (args.seed, head.number("seed"))
        && told != used
    {
        note!(
            "inject",
            "the metadata says seed {told}, --seed {used} wins"
        );
        provenance::overridden(&mut head, "seed", "--seed", told, used);
    }
    head.set("seed", seed.to_string());
    head.push("stage", command);
    let writer = args.output.create(&head)?;
    let place = args.output.name();
    let injected = Inject::new(spec, seed, writer)
        .run(&mut reader)
        .map_err(|error| Failure::stage(&name, &[place], &error))?;
    tell_cut("inject", &name, &reader);
    injected.output.finish()?;
    note!(
        "inject",
        "{} of {} slots are erased",
        injected.erased,
        injected.slots
    );
    Ok(())
}
