//! `tmt inject`: adds the erasures of a Bernoulli or Gilbert–Elliott process to a trace.

use tmt_core::channel::{ChannelSpec, GilbertElliott, probability};
use tmt_core::pipeline::Inject;

use crate::exit::{Failure, Outcome, headline, note};
use crate::input::{TraceArgs, note_reading};
use crate::output::{OutputArgs, refuse_shared_files};
use crate::provenance;
use crate::quantity::whole;
use crate::table::counted;

/// Flags of `tmt inject`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "tmt inject [OPTIONS] <--bernoulli P | --gilbert-elliott SPEC> [TRACE]",
    after_help = "alpha and beta are PERSISTENCE probabilities: P(stay in good) and P(stay in bad). A bad time lasts \
                  1/(1-beta) slots on average, and the bad state takes a share (1-alpha)/(2-alpha-beta) of the slots. \
                  netem's p and r are 1-alpha and 1-beta. A slot that is already erased stays erased. A second inject \
                  on the same trace needs another --seed, as the same seed gives the same random numbers.\n\n\
                  Example:\n  tmt inject --gilbert-elliott alpha=0.99,beta=0.8 --seed 7 phy.csv > bursty.csv"
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

/// The erasure process: exactly one of the two.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Process {
    /// Erase each slot with this probability, independently
    #[arg(long, value_name = "P", value_parser = probability)]
    bernoulli: Option<f64>,
    /// Two-state channel, `alpha=A,beta=B[,pg=PG,pb=PB][,start=S]`: persistence probabilities alpha=P(stay in good) and beta=P(stay in bad), erasure
    /// probabilities pg [default: 0] and pb [default: 1], start=stationary, good or bad [default: stationary]
    #[arg(long, value_name = "alpha=A,beta=B")]
    gilbert_elliott: Option<GilbertElliott>,
}

/// Seed without `--seed`.
const DEFAULT_SEED: u64 = 1;

pub(crate) fn run(args: &Args) -> Outcome {
    let (flag, spec) = match (args.process.bernoulli, args.process.gilbert_elliott) {
        (Some(p), _) => (format!("--bernoulli {p}"), ChannelSpec::Bernoulli { p }),
        (_, Some(channel)) => (
            format!("--gilbert-elliott {channel}"),
            ChannelSpec::GilbertElliott(channel),
        ),
        (None, None) => {
            return Err(Failure::usage("expected --bernoulli or --gilbert-elliott"));
        }
    };
    let seed = args.seed.unwrap_or(DEFAULT_SEED);
    let command = format!("tmt inject {flag} --seed {seed}");
    let files = args.trace.trace.iter().chain(&args.output.output);
    refuse_shared_files(files.map(String::as_str))?;
    args.output.form()?;
    let (name, mut reader) = args.trace.open("inject", false)?;
    let mut head = if reader.metadata().is_head() {
        reader.metadata().clone()
    } else {
        let mut head = provenance::new_head(&command);
        if let (Some(rate), Some(lldu)) = (args.trace.rate, args.trace.lldu) {
            head.set("rate_bps", rate.0.to_string());
            head.set("lldu_bytes", lldu.0.to_string());
        }
        head
    };
    let same_seed = format!(" --seed {seed}");
    let same = |(key, stage): (&str, &str)| {
        key == "stage" && stage.starts_with("tmt inject ") && stage.ends_with(&same_seed)
    };
    if head.iter().any(same) {
        return Err(Failure::failed(format!(
            "{name}: found an inject stage with seed {seed}, expected another --seed: this one gives the same random numbers again"
        )));
    }
    if let (Some(used), Some(stored)) = (args.seed, head.number("seed"))
        && stored != used
    {
        note!(
            "inject",
            "--seed {used} overrides seed {stored} of the metadata"
        );
        provenance::overridden(&mut head, "seed", "--seed", stored, used);
    }
    head.set("seed", seed.to_string());
    head.push("stage", command);
    let writer = args.output.create(&head)?;
    let place = args.output.name();
    let injected = Inject::new(spec, seed, writer)
        .run(&mut reader)
        .map_err(|error| Failure::stage(&name, &[place], &error))?;
    note_reading("inject", &name, &reader);
    injected.output.finish()?;
    headline!(
        "inject",
        "{} of {} erased by {flag} --seed {seed}",
        injected.erased,
        counted(injected.slots, "slot")
    );
    Ok(())
}
