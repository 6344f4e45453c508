//! Flags of `tmt sweep`: one a parameter of a run, which takes a list, and those of the sweep.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use fluid_tcp::experiment::{Group, Kind, PARAMETERS, Parameter};
use tmt_study::plan::Stop;
use tmt_study::{Draft, PlanError};

use super::partial::Shard;
use super::{engine, refusal};
use crate::exit::Outcome;

/// Flags of `tmt sweep`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Sweep", after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Plan in TOML: the flags below as keys, with _ for -; flags override it
    #[arg(value_name = "PLAN", help_heading = None)]
    pub(super) plan: Option<String>,
    #[command(flatten)]
    given: Given,
    /// Table of the results, a row a run and flow: .parquet, .csv, .csv.gz, .csv.zst; `-` is CSV on stdout [default: a summary on stdout]
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<String>,
    /// Go on with an interrupted sweep: take the cells that are finished
    #[arg(long)]
    pub(super) resume: bool,
    /// Print the cells and the estimated cost, and run only a few
    #[arg(long, conflicts_with_all = ["resume", "shard"])]
    pub(super) dry_run: bool,
    /// Values of a variable, which other values name as {NAME}, or of a key of --model
    #[arg(long, value_name = "NAME=VALUES")]
    set: Vec<String>,
    /// Evaluate closed forms instead of simulations: names of models
    #[arg(long, value_name = "NAMES")]
    model: Option<String>,
    /// Let these vary together instead of in all combinations; repeat for more groups
    #[arg(long, value_name = "NAME,NAME")]
    zip: Vec<String>,
    /// Stop a cell when the 95 % interval of a metric is within a share of its mean, e.g. goodput_bps:2%,min=5
    ///
    /// --seeds is the largest number of runs. The rule looks at runs in the order of their seeds.
    #[arg(long, value_name = "METRIC:P%", hide_short_help = true)]
    stop: Option<Stop>,
    /// Run part K of N of the cells; `--resume` merges the parts
    ///
    /// All parts write beside the same --output, and go on where they were interrupted.
    #[arg(
        long,
        value_name = "K/N",
        hide_short_help = true,
        conflicts_with = "engine"
    )]
    pub(super) shard: Option<Shard>,
    #[command(flatten)]
    pub(super) cluster: engine::Flags,
}

const EXAMPLES: &str =
    "Values are lists, such as reno,cubic:beta=0.8, and ranges: 1..5Mbps:5 (five values),
1e-4..1e-2:log:5 (logarithmic). A comma begins a new value unless an option of the value before it
follows (key=value, in-order). `--start A..B` stays a random start.

With --scheme, cells run as `tmt apply | tmt tcp` over --trace, or over slots that --channel or
--loss erases; without, as `tmt tcp --link synthetic`.

Examples:
  tmt sweep --scheme arq,in-order,harq:10/12 --cc newreno,cubic:beta=0.8 \\
    --loss bernoulli:1e-4..1e-2:log:5 --seeds 10 -o results.parquet
  tmt sweep plan.toml --dry-run
  tmt sweep plan.toml -o results.csv --resume
  tmt sweep --model harq --set nd=10 --set nr=1..5 --set beta=0.5..0.9:5 -o -
  tmt summarise results.parquet --by scheme,cc";

/// Parameters given by flags, in the order in which they were typed.
#[derive(Debug, Clone, Default)]
struct Given(Vec<(&'static Parameter, Vec<String>)>);

/// Parameters that a plan gives in another way.
fn is_flag(parameter: &Parameter) -> bool {
    parameter.key != "compare_links"
}

impl clap::Args for Given {
    fn augment_args(command: Command) -> Command {
        let groups = Group::ALL.iter().flat_map(|group| group.parameters());
        command.args(groups.filter(|p| is_flag(p)).map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Self::default();
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let mut all: Vec<(usize, &'static Parameter, Vec<String>)> = Vec::new();
        for parameter in PARAMETERS.iter().filter(|p| is_flag(p)) {
            let texts: Vec<String> = match parameter.kind {
                Kind::Flag if matches.get_flag(parameter.key) => vec!["on".to_owned()],
                Kind::Flag => continue,
                _ => match matches.get_many::<String>(parameter.key) {
                    Some(texts) => texts.cloned().collect(),
                    None => continue,
                },
            };
            let first = matches.index_of(parameter.key).unwrap_or(usize::MAX);
            all.push((first, parameter, texts));
        }
        all.sort_by_key(|(first, ..)| *first);
        self.0 = all
            .into_iter()
            .map(|(_, parameter, texts)| (parameter, texts))
            .collect();
        Ok(())
    }
}

/// The flag of a parameter.
fn flag(parameter: &'static Parameter) -> Arg {
    let arg = Arg::new(parameter.key)
        .long(parameter.key.replace('_', "-"))
        .help_heading(parameter.group.heading())
        .hide_short_help(!parameter.is_basic)
        .help(parameter.help);
    match parameter.kind {
        Kind::Flag => arg.action(ArgAction::SetTrue),
        Kind::List(_) => arg
            .action(ArgAction::Append)
            .value_name(parameter.value_name()),
        _ => arg
            .action(ArgAction::Append)
            .value_name("VALUES")
            .hide_possible_values(true)
            .value_parser(Values(parameter)),
    }
}

/// Takes any text, which is a list, and has the words of a parameter for completion.
#[derive(Clone)]
struct Values(&'static Parameter);

impl TypedValueParser for Values {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words = self.0.kind.words();
        (!words.is_empty()).then(|| Box::new(words.into_iter().map(PossibleValue::new)) as Box<_>)
    }
}

impl Args {
    /// Draft of a plan from the flags.
    pub(super) fn draft(&self) -> Outcome<Draft> {
        let refused = |error: PlanError| refusal(&error, None);
        let mut draft = Draft::default();
        for (parameter, texts) in &self.given.0 {
            if matches!(parameter.kind, Kind::List(_)) {
                draft.give(parameter.key, vec![texts.clone()], None);
            } else {
                let values = texts.join(",");
                draft.set(parameter.key, &values).map_err(refused)?;
            }
        }
        if let Some(models) = &self.model {
            draft.set("model", models).map_err(refused)?;
        }
        for text in &self.set {
            let (name, values) = text.split_once('=').ok_or_else(|| {
                crate::exit::Failure::usage(format!(
                    "--set {text}: expected NAME=VALUES, such as p=1e-3,1e-2"
                ))
            })?;
            draft.set(name, values).map_err(refused)?;
        }
        for group in &self.zip {
            draft.zip(group.split(','));
        }
        if let Some(stop) = &self.stop {
            draft.stop(stop.clone());
        }
        Ok(draft)
    }
}
