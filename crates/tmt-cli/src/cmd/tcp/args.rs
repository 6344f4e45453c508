//! The flags of `tmt tcp`: those of an experiment, made from the description of its parameters, and where output goes.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use fluid_tcp::congestion::Algorithm;
use fluid_tcp::endpoint::Profile;
use fluid_tcp::experiment::{Experiment, Fallback, Group, Kind, PARAMETERS, Parameter};
use tmt_core::types::Span;

use super::explain::PacketFlag;

/// Flags of `tmt tcp`.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) given: Given,
    /// Read parameters from a TOML file; flags win over it
    ///
    /// One key a line, named like the flag with `_` for `-`: rtt = "500ms". --save-params writes such a file.
    #[arg(long, value_name = "FILE", help_heading = "Traffic and runs")]
    pub(crate) params: Option<String>,
    /// Write every value that is used to a file for --params
    ///
    /// A run of the file gives the same report. Traces are named as they were given, a pipe as `-`.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) save_params: Option<String>,
    /// Write the report here [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the senders' state over time
    ///
    /// cwnd, ssthresh, srtt, rto, in flight, queue and delivered, as CSV, or as what the name ends in: .csv.gz,
    /// .csv.zst, .parquet.
    #[arg(long, value_name = "FILE")]
    pub(crate) series: Option<String>,
    /// Shortest time between two rows of the series [default: a row an event]
    #[arg(
        long,
        value_name = "DURATION",
        requires = "series",
        hide_short_help = true
    )]
    pub(crate) series_interval: Option<Span>,
    /// Write every packet's path and delay, for `tmt audit`
    ///
    /// As CSV, or as what the name ends in.
    #[arg(long, value_name = "FILE")]
    pub(crate) packets: Option<String>,
    /// Write what every used slot of the coupled link carried, for `tmt audit --slots`
    ///
    /// Repeats included; as CSV, or as what the name ends in.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) slots: Option<String>,
    /// Write the packets as each end would capture them
    ///
    /// FILE-sender.pcap and FILE-receiver.pcap, each with the times at its end: nanoseconds, raw IPv4, TCP headers
    /// without the payload.
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<String>,
    /// Write the senders' recovery metrics and losses as qlog (JSON-SEQ)
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) qlog: Option<String>,
    /// Follow one packet: N of the first flow, or FLOW:N, counted from 0
    #[arg(long, value_name = "PACKET", hide_short_help = true)]
    pub(crate) explain: Option<PacketFlag>,
}

/// The parameters that flags give.
#[derive(Debug, Clone)]
pub(crate) struct Given(pub(crate) Experiment);

impl clap::Args for Given {
    fn augment_args(command: Command) -> Command {
        // The pages behind the flags are written for those who ask for them.
        command
            .args(
                Group::ALL
                    .iter()
                    .flat_map(|group| group.parameters())
                    .map(flag),
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
        let mut given = Self(Experiment::default());
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for parameter in PARAMETERS {
            let texts: Vec<&str> = match parameter.kind {
                Kind::Flag if matches.get_flag(parameter.key) => vec!["on"],
                Kind::Flag => continue,
                _ => match matches.get_many::<String>(parameter.key) {
                    Some(texts) => texts.map(String::as_str).collect(),
                    None => continue,
                },
            };
            self.0.set(parameter, &texts).map_err(|why| {
                clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{why}\n"))
            })?;
        }
        Ok(())
    }
}

/// The name of a parameter as it is typed.
pub(super) fn typed(key: &str) -> String {
    match key {
        "trace" => "TRACE".to_owned(),
        _ => format!("--{}", key.replace('_', "-")),
    }
}

/// The flag of a parameter.
fn flag(parameter: &'static Parameter) -> Arg {
    let arg = Arg::new(parameter.key)
        .help_heading(parameter.group.heading())
        .hide_short_help(!parameter.is_basic)
        .help(help(parameter))
        .long_help(long_help(parameter));
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

/// The line of help, with the default.
fn help(parameter: &Parameter) -> String {
    match parameter.default_text() {
        Some(default) if !matches!(parameter.kind, Kind::Flag) => {
            format!("{} [default: {default}]", parameter.help)
        }
        _ => parameter.help.to_owned(),
    }
}

/// All there is to say of a parameter.
fn long_help(parameter: &Parameter) -> String {
    let mut text = help(parameter);
    if !parameter.reason.is_empty() {
        text = format!("{}, {}]", text.trim_end_matches(']'), parameter.reason);
    }
    if let Kind::Count(least, most) = parameter.kind {
        text += &format!("; {least} to {most}");
    }
    let others = [("needs", parameter.needs), ("not with", parameter.excludes)];
    for (words, keys) in others.iter().filter(|(_, keys)| !keys.is_empty()) {
        let names: Vec<String> = keys.iter().map(|key| typed(key)).collect();
        text += &format!("; {words} {}", names.join(", "));
    }
    if !parameter.detail.is_empty() {
        text += &format!("\n\n{}", parameter.detail);
    }
    text
}

/// Checks a value, and knows what can be completed.
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
        let check = move |text: String| parameter.check(&text).map(|()| text);
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
  tmt tcp --link synthetic --rate 2.34Mbps --rtt 500ms --loss bernoulli:1e-3 --duration 400s";

fn after_help() -> String {
    let all = PARAMETERS.len();
    format!("{all} parameters describe a run: see `tmt tcp --help` or `tmt man tcp`.\n\n{EXAMPLES}")
}

fn after_long_help() -> String {
    format!(
        "Profiles:\n{}\nCongestion controls:\n  {}\n\n{EXAMPLES}
  tmt tcp --link coupled --scheme frame-arq:6/10,rounds=1 --channel bernoulli:0.01 --rate 1Mbps --lldu 25B --lldu-header 0B --duration 400s
  tmt tcp --compare-links --scheme harq:10/12 --buffer 100pkt phy.csv
  tmt tcp --profile linux --save-params run.toml timeline.csv && tmt tcp --params run.toml --cc bbr
  tmt tcp --packets packets.parquet --series series.csv.gz --series-interval 100ms timeline.csv
  tmt tcp --pcap run --qlog run.sqlog --explain 17 timeline.csv && tshark -r run-receiver.pcap",
        profiles(),
        Algorithm::forms().join("\n  ")
    )
}

/// The defaults that depend on the profile.
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
