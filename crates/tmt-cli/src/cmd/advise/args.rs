//! Flags of `tmt advise`: parameters of a run, generated from their descriptions, and those of the search.

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{ArgMatches, Command, FromArgMatches};
use fluid_tcp::experiment::{Group, Parameter};
use tmt_core::types::Span;
use tmt_study::advise::Objective;

use crate::cmd::tcp::{Given, flag};
use crate::quantity::whole;

/// Parameters of `tmt tcp` that the search sets, or that it does not have.
const WITHOUT: [&str; 5] = ["scheme", "offsets", "seeds", "compare_links", "loop"];

/// Parameters that the short help lists.
const BASIC: [&str; 11] = [
    "trace",
    "link",
    "rtt",
    "channel",
    "rate",
    "lldu",
    "feedback_delay",
    "buffer",
    "cc",
    "bytes",
    "duration",
];

/// Size of a page for the objective page-time, unless given.
pub(super) const PAGE: &str = "100kB";

/// Runs of a candidate in the race: starts of long flows and of pages in a trace, and seeds of a channel.
pub(super) const STARTS: u32 = 16;
pub(super) const PAGE_STARTS: u32 = 64;
pub(super) const SEEDS: u32 = 8;
pub(super) const PAGE_SEEDS: u32 = 16;

/// Flags of `tmt advise`.
#[derive(Debug, clap::Args)]
#[command(
    next_help_heading = "Search",
    override_usage = "tmt advise [OPTIONS] TRACE\n       \
                      tmt advise [OPTIONS] --channel PROCESS --rate RATE --duration D\n       \
                      tmt advise [OPTIONS] --scenario NAME",
    after_help = "`tmt advise --help` lists all parameters of hosts and link; docs/advise.md defines the search.\n\n\
                  Examples:\n  tmt advise --rtt 500ms --cc cubic --feedback-delay decode phy.csv\n  \
                  tmt advise --objective page-time --bytes 200kB phy.csv\n  \
                  tmt advise --scenario internet-interleaved --duration 100s --objective p99-delay\n  \
                  tmt advise --candidates arq,in-order,frame-arq:10/10..20:11,in-order --link coupled \\\n    \
                  --channel bernoulli:0.25 --rate 2Mbps --lldu 26B --duration 100s"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) run: RunFlags,
    /// Named link with its channel, as --channel scenario:NAME; `tmt synth --list` has all
    #[arg(long, value_name = "NAME", conflicts_with_all = ["channel", "trace"], help_heading = "Link")]
    pub(super) scenario: Option<String>,
    /// Time between the rows of a table without times, as interval in --columns
    #[arg(
        long,
        value_name = "DURATION",
        help_heading = "Input format",
        hide_short_help = true
    )]
    pub(super) interval: Option<Span>,
    /// Objective: goodput, page-time, p99-delay or efficiency
    ///
    /// goodput: payload of all flows. page-time: time until --bytes are complete, or page load time of
    /// --flow app=pages(…). p99-delay: 99 % quantile of the delay of
    /// packets, queue included. efficiency: data LLDUs delivered per slot.
    #[arg(long, value_name = "OBJECTIVE", default_value = "goodput", hide_possible_values = true,
          value_parser = PossibleValuesParser::new(Objective::ALL.map(Objective::name)).try_map(|text| text.parse::<Objective>()))]
    pub(super) objective: Objective,
    /// Schemes to choose from, e.g. arq,in-order,harq:10/11..20:10; repeat for more
    ///
    /// A comma begins a new scheme unless an option follows. A range is FROM..TO:COUNT. @FILE reads a list, a scheme a line.
    #[arg(long, value_name = "LIST", long_help = None)]
    pub(super) candidates: Vec<String>,
    /// Runs in the trace for each scheme, from evenly spaced starts [default: 16, or 64 with --bytes]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1, 100_000))]
    pub(super) starts: Option<u32>,
    /// Runs over the channel for each scheme, with successive seeds [default: 8, or 16 with --bytes]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1, 100_000))]
    pub(super) seeds: Option<u32>,
    /// Runs of the best schemes on seeds or starts that the search has not seen, at least
    ///
    /// Only these runs are printed. Over a channel, seeds are added until the interval is stable, up to four
    /// times as many.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = whole::<u32>(1, 100_000))]
    pub(super) fresh: u32,
    /// Run every candidate completely: nothing is pruned or dropped by the race
    #[arg(long)]
    pub(super) exhaustive: bool,
    /// Print JSON instead of tables
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
    /// Output file [default: stdout, as for `-`]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(super) output: Option<String>,
}

/// The parameters of a run, without those of the search.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunFlags(pub(super) Given);

/// The parameters, in the order of help.
fn parameters() -> impl Iterator<Item = &'static Parameter> {
    let all = Group::ALL.iter().flat_map(|group| group.parameters());
    all.filter(|parameter| !WITHOUT.contains(&parameter.key))
}

impl clap::Args for RunFlags {
    fn augment_args(command: Command) -> Command {
        let flags = parameters().map(|parameter| {
            let flag = flag(parameter, &WITHOUT);
            let flag = flag.hide_short_help(!BASIC.contains(&parameter.key));
            let help = match parameter.key {
                "trace" => "PHY trace: text, Arrow or Parquet [default: stdin, also `-`]",
                "link" => "Link model: timeline or coupled [default: timeline]",
                "scheme" => "Reliability scheme",
                "bytes" => {
                    "Payload that each flow transfers [default: endless; 100kB for --objective page-time]"
                }
                "duration" => {
                    "Length of a run, and of a transfer at most; of the slots with --channel [default: a quarter of the trace]"
                }
                _ => return flag,
            };
            flag.help(help)
        });
        command.args(flags.collect::<Vec<_>>())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for RunFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Self::default();
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.take(matches, parameters())
    }
}
