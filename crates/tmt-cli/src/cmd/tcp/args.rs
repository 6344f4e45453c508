//! Flags of `tmt tcp`: one per parameter of an experiment, generated from its description, and those for output.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use fluid_tcp::application::App;
use fluid_tcp::congestion::Algorithm;
use fluid_tcp::endpoint::Profile;
use fluid_tcp::experiment::{Experiment, Fallback, Group, Kind, PARAMETERS, Parameter};
use fluid_tcp::log::Drops;
use tmt_core::types::Span;

use super::explain::PacketFlag;

/// How the drops of the queue of a packet log are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum CompareDrops {
    /// By the same queue.
    #[default]
    Own,
    /// By the numbers of the packets.
    Recorded,
}

impl From<CompareDrops> for Drops {
    fn from(drops: CompareDrops) -> Self {
        match drops {
            CompareDrops::Own => Self::Own,
            CompareDrops::Recorded => Self::Recorded,
        }
    }
}

/// Flags of `tmt tcp`.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) given: Given,
    /// Read parameters from a TOML file; flags override it
    ///
    /// One key per line, named like the flag with `_` for `-`: rtt = "500ms". --save-params writes such a file.
    #[arg(long, value_name = "FILE", help_heading = "Traffic and runs")]
    pub(crate) params: Option<String>,
    /// Write every parameter value used to a file for --params
    ///
    /// Running the file gives the same report. Traces are named as given, a pipe as `-`.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) save_params: Option<String>,
    /// Write the report here [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Write all metrics as a table for programs: a row per run and flow
    ///
    /// All flows of a run together have a row, too; parameters are columns. CSV, or the format of the extension: .csv.gz, .csv.zst, .parquet.
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<String>,
    /// Write the distributions of the delays
    ///
    /// Each value of the delay and of the queueing delay, with its count and cumulative share, for all flows and for each. CSV, or the format of the extension.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) delays: Option<String>,
    /// Write the state of the senders over time
    ///
    /// cwnd, ssthresh, srtt, rto, in flight, queue, delivered and, with an interval, goodput. CSV, or the format of the
    /// extension: .csv.gz, .csv.zst, .parquet.
    #[arg(long, value_name = "FILE")]
    pub(crate) series: Option<String>,
    /// Least time between two rows of the series [default: one row per event]
    #[arg(
        long,
        value_name = "DURATION",
        requires = "series",
        hide_short_help = true
    )]
    pub(crate) series_interval: Option<Span>,
    /// Print a line per interval and flow, as iperf3 does
    ///
    /// Before the report, for a single run.
    #[arg(long, value_name = "DURATION", conflicts_with = "json")]
    pub(crate) interval: Option<Span>,
    /// Write path and delay of every packet, for `tmt audit`
    ///
    /// CSV, or the format of the extension.
    #[arg(long, value_name = "FILE")]
    pub(crate) packets: Option<String>,
    /// Write the content of every used slot of the coupled link, for `tmt audit --slots`
    ///
    /// Includes repeats. CSV, or the format of the extension.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) slots: Option<String>,
    /// Write packet captures of both hosts
    ///
    /// FILE-sender.pcap and FILE-receiver.pcap, each with the times at its host: nanoseconds, raw IPv4, TCP headers
    /// without payload.
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<String>,
    /// Write recovery metrics and losses of the senders as qlog (JSON-SEQ)
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) qlog: Option<String>,
    /// Print the model beside a packet log, with the losses of the log
    ///
    /// LOG is of `tmt replay --packets` or `tmt tcp --packets`. Its head has the link; flags have the hosts, and where the link has
    /// one, the trace. --series writes both runs over time.
    #[arg(long, value_name = "LOG", hide_short_help = true)]
    pub(crate) compare_log: Option<String>,
    /// Drops of the queue beside a packet log: own or recorded
    ///
    /// own: the model has the queue of the log, which drops by itself. recorded: packets are dropped by their numbers in the log. A
    /// model that is one packet apart then loses retransmissions where the log lost a burst.
    #[arg(
        long,
        value_name = "own|recorded",
        default_value = "own",
        requires = "compare_log",
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub(crate) compare_drops: CompareDrops,
    /// List all metrics with unit and definition, and exit
    ///
    /// With --json as JSON.
    #[arg(long)]
    pub(crate) metrics: bool,
    /// Explain the course of one packet: N of the first flow, or FLOW:N, counted from 0
    #[arg(long, value_name = "PACKET", hide_short_help = true)]
    pub(crate) explain: Option<PacketFlag>,
}

/// The parameters given by flags.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given {
    pub(crate) experiment: Experiment,
    /// Processes whose text names files, which are read later.
    pub(crate) in_files: Vec<(&'static Parameter, Vec<String>)>,
}

impl clap::Args for Given {
    fn augment_args(command: Command) -> Command {
        // Deferred: the pages after the flags are built only if help is requested.
        command
            .args(
                Group::ALL
                    .iter()
                    .flat_map(|group| group.parameters())
                    .map(|parameter| flag(parameter, &[])),
            )
            .defer(|command| {
                command
                    .after_help(after_help())
                    .after_long_help(after_long_help())
            })
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
        self.take(matches, PARAMETERS.iter())
    }
}

impl Given {
    /// Takes the values of `parameters`, which must have flags, from `matches`.
    pub(crate) fn take(
        &mut self,
        matches: &ArgMatches,
        parameters: impl Iterator<Item = &'static Parameter>,
    ) -> Result<(), clap::Error> {
        for parameter in parameters {
            let texts: Vec<&str> = match parameter.kind {
                Kind::Flag if matches.get_flag(parameter.key) => vec!["on"],
                Kind::Flag => continue,
                _ => match matches.get_many::<String>(parameter.key) {
                    Some(texts) => texts.map(String::as_str).collect(),
                    None => continue,
                },
            };
            if texts.iter().any(|text| parameter.names_files(text)) {
                let texts = texts.into_iter().map(str::to_owned).collect();
                self.in_files.push((parameter, texts));
                continue;
            }
            self.experiment.set(parameter, &texts).map_err(|why| {
                clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{why}\n"))
            })?;
        }
        Ok(())
    }
}

/// A parameter as typed on the command line.
pub(crate) fn typed(key: &str) -> String {
    match key {
        "trace" => "TRACE".to_owned(),
        key => crate::input::flag(key),
    }
}

/// The flag of a parameter, of a command that has none of the parameters `without`.
pub(crate) fn flag(parameter: &'static Parameter, without: &[&str]) -> Arg {
    let arg = Arg::new(parameter.key)
        .help_heading(parameter.group.heading())
        .hide_short_help(!parameter.is_basic)
        .help(help(parameter))
        .long_help(long_help(parameter, without));
    let arg = match parameter.key {
        "trace" => arg.help_heading(None),
        key => arg.long(key.replace('_', "-")),
    };
    let action = match parameter.kind {
        Kind::Flag => return arg.action(ArgAction::SetTrue),
        Kind::List(_) => ArgAction::Append,
        _ => ArgAction::Set,
    };
    arg.action(action)
        .value_name(parameter.value_name())
        .hide_possible_values(true)
        .value_parser(Value(parameter))
}

/// First line of help, with the default.
fn help(parameter: &Parameter) -> String {
    match profile_defaults(parameter).or_else(|| parameter.default_text()) {
        Some(default) if !matches!(parameter.kind, Kind::Flag) => {
            format!("{} [default: {default}]", parameter.help)
        }
        _ => parameter.help.to_owned(),
    }
}

/// Defaults of a host setting: one if the profiles agree, else one for each.
fn profile_defaults(parameter: &Parameter) -> Option<String> {
    if parameter.fallback != Fallback::Profile {
        return None;
    }
    let of = |name: &&'static str| {
        let profile = name.parse().ok()?;
        Some((*name, parameter.text(&Experiment::of_profile(profile))?))
    };
    let texts: Vec<(&str, String)> = Profile::VARIANTS.iter().filter_map(of).collect();
    let (_, first) = texts.first()?;
    if texts.iter().all(|(_, text)| text == first) {
        return Some(first.clone());
    }
    let each = texts.iter().map(|(name, text)| format!("{name} {text}"));
    Some(each.collect::<Vec<_>>().join(", "))
}

/// Complete help of a parameter.
fn long_help(parameter: &Parameter, without: &[&str]) -> String {
    let mut text = help(parameter);
    if !parameter.reason.is_empty() {
        text = format!("{}, {}]", text.trim_end_matches(']'), parameter.reason);
    }
    if let Kind::Count(least, most) = parameter.kind {
        text += &format!("; {least} to {most}");
    }
    let others = [("needs", parameter.needs), ("not with", parameter.excludes)];
    for (relation, keys) in others {
        let names = keys.iter().filter(|key| !without.contains(key));
        let names: Vec<String> = names.map(|key| typed(key)).collect();
        if !names.is_empty() {
            text += &format!("; {relation} {}", names.join(", "));
        }
    }
    if !parameter.detail.is_empty() {
        text += &format!("\n\n{}", parameter.detail);
    }
    text
}

/// Value parser of a parameter, with the words for completion.
#[derive(Clone)]
struct Value(&'static Parameter);

impl TypedValueParser for Value {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        let parameter = self.0;
        let check = move |text: String| {
            if parameter.names_files(&text) {
                return Ok(text);
            }
            parameter.check(&text).map(|()| text)
        };
        StringValueParser::new()
            .try_map(check)
            .parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words = self.0.kind.words();
        (!words.is_empty()).then(|| Box::new(words.into_iter().map(PossibleValue::new)) as Box<_>)
    }
}

const EXAMPLES: &str = "Examples:
  tmt apply --scheme harq:10/12 < phy.csv | tmt tcp --cc cubic
  tmt tcp --link coupled --scheme harq:10/12,rounds=3 --in-order flow phy.csv
  tmt tcp --link synthetic --rate 2.34Mbps --rtt 500ms --duration 400s --cc bbr";

fn after_help() -> String {
    let all = PARAMETERS.len();
    format!("`tmt tcp --help` and `tmt man tcp` list all {all} parameters.\n\n{EXAMPLES}")
}

fn after_long_help() -> String {
    format!(
        "Profiles:\n{}\nCongestion controls:\n  {}\nApplications (--flow app=…):\n  {}\n\n{EXAMPLES}
  tmt tcp --link coupled --scheme frame-arq:6/10,rounds=1 --rate 1Mbps --rtt 500ms \\
    --channel bernoulli:0.01 --lldu 25B --lldu-header 0B --duration 400s
  tmt tcp --link synthetic --rate 10Mbps --rtt 40ms --duration 60s --queue fq-codel \\
    --flow app=cbr:codec=g729 --flow cc=cubic --flow cc=bbr
  tmt tcp --compare-links --scheme harq:10/12 --buffer 100pkt phy.csv
  tmt tcp --profile rfc --save-params run.toml timeline.csv
  tmt tcp --params run.toml --cc bbr
  tmt tcp --packets packets.parquet --series series.csv.gz timeline.csv
  tmt tcp --pcap run --qlog run.sqlog --explain 17 timeline.csv",
        profiles(),
        Algorithm::forms().join("\n  "),
        App::forms().join("\n  ")
    )
}

/// Table of the defaults that depend on the profile.
fn profiles() -> String {
    let names = Profile::VARIANTS.iter().copied();
    let experiments: Vec<Experiment> = names
        .clone()
        .filter_map(|name| name.parse().ok())
        .map(Experiment::of_profile)
        .collect();
    let row = |name: &str, values: &mut dyn Iterator<Item = String>| {
        let cells: Vec<String> = values.map(|value| format!("{value:>11}")).collect();
        format!("  {name:<22}{}\n", cells.concat())
    };
    let mut table = row("", &mut names.map(str::to_owned));
    for parameter in PARAMETERS
        .iter()
        .filter(|parameter| parameter.fallback == Fallback::Profile)
    {
        let texts = experiments.iter().filter_map(|e| parameter.text(e));
        table += &row(&typed(parameter.key), &mut { texts });
    }
    table
}
