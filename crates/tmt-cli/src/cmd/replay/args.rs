//! Flags of `tmt replay`: parameters of links, generated from their descriptions, for both directions or for one, and those of
//! the run.

use std::ffi::OsString;

use clap::{Arg, ArgMatches, Command, FromArgMatches};
use fluid_tcp::experiment::{Experiment, Group, LinkKind, Parameter};
use tmt_core::types::Span;

use super::direction::Direction;
use crate::cmd::tcp::{Given, flag};
use crate::exit::{Failure, Outcome};

/// Parameters of both directions.
const SHARED: [&str; 23] = [
    "rtt",
    "link",
    "scheme",
    "packet",
    "buffer",
    "queue",
    "lldu",
    "lldu_header",
    "packing",
    "overlap",
    "feedback_delay",
    "feedback_loss",
    "feedback_timer",
    "tail",
    "in_order",
    "hold",
    "duration",
    "seed",
    "unit",
    "columns",
    "allow_cut",
    "replace_head",
    "looped",
];

/// Parameters that each direction can have of its own.
const OF_ONE: [&str; 6] = ["scheme", "channel", "rate", "loss", "buffer", "queue"];

/// Parameters that the short help lists.
const BASIC: [&str; 4] = ["rtt", "link", "scheme", "buffer"];

/// Both directions, as flags and messages name them, with their flags: from the far end to the near one, and back.
const DIRECTIONS: [(&str, [&str; 6]); 2] = [
    (
        "down",
        [
            "down-scheme",
            "down-channel",
            "down-rate",
            "down-loss",
            "down-buffer",
            "down-queue",
        ],
    ),
    (
        "up",
        [
            "up-scheme",
            "up-channel",
            "up-rate",
            "up-loss",
            "up-buffer",
            "up-queue",
        ],
    ),
];

/// Action at the end of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(super) enum AtEnd {
    /// The trace begins again.
    #[default]
    Loop,
    /// The run ends.
    Stop,
}

/// Flags of `tmt replay`.
#[derive(Debug, clap::Args)]
#[command(
    next_help_heading = "Run",
    override_usage = "tmt replay [OPTIONS] [--down TRACE] [--up TRACE] [--far COMMAND] -- COMMAND...\n       \
                      tmt replay [OPTIONS] [--down TRACE] [--up TRACE] [--far COMMAND] --shell",
    after_help = "The command sees the addresses $TMT_NEAR (its own) and $TMT_FAR, and with _6 those of IPv6. Its exit code \
                  is that of tmt; docs/replay.md has all others.\n\n\
                  Examples:\n  tmt replay --rtt 500ms --down phy.csv --scheme harq:10/12 --far 'iperf3 -s' -- \\\n    \
                  sh -c 'iperf3 -c $TMT_FAR -R'\n  \
                  tmt replay --rtt 40ms --down-rate 50Mbps --up-rate 10Mbps --shell\n  \
                  tmt replay --down phy.csv --link coupled --scheme arq --at-end stop \\\n    \
                  --packets log.csv --far 'python3 -m http.server' -- \\\n    sh -c 'curl http://$TMT_FAR:8000'\n  \
                  tmt audit log-down.csv"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) links: LinkFlags,
    /// Trace of the direction to the command: of slots with a scheme, or a timeline
    #[arg(long, value_name = "TRACE", help_heading = "Link")]
    pub(super) down: Option<String>,
    /// Trace of the direction from the command
    #[arg(long, value_name = "TRACE", help_heading = "Link")]
    pub(super) up: Option<String>,
    /// Command for a shell at the far end, ended with the run
    ///
    /// The other command starts when a socket at the far end listens, after 2 s at most. Its output goes to stderr.
    #[arg(long, value_name = "COMMAND")]
    pub(super) far: Option<String>,
    /// Start a shell instead of a command
    #[arg(long, conflicts_with = "command")]
    pub(super) shell: bool,
    /// At the end of a trace: loop or stop
    ///
    /// loop: it begins again. stop: the run ends with exit code 1, unless the command has ended before.
    #[arg(
        long,
        value_name = "loop|stop",
        default_value = "loop",
        hide_possible_values = true
    )]
    pub(super) at_end: AtEnd,
    /// Lateness that 99.9 % of the packets must not exceed, or the run is invalid
    ///
    /// Lateness is the time from the instant at which the link delivers a packet until it is handed over. The exit code of an
    /// invalid run is 1.
    #[arg(long, value_name = "DURATION", default_value = "5ms")]
    pub(super) max_lateness: Span,
    /// Write the path of every packet, for `tmt audit`: FILE-down.csv and FILE-up.csv
    ///
    /// CSV, or the format of the extension. Not of a direction that only delays.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) packets: Option<String>,
    /// Write the content of every used slot of coupled links: FILE-down.csv and FILE-up.csv
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Output",
        hide_short_help = true
    )]
    pub(super) slots: Option<String>,
    /// Write the state of the TCP senders over time: FILE-near.csv and FILE-far.csv
    ///
    /// As the kernel reports it (`ss -ti`), with the columns of `tmt tcp --series`. CSV, or the format of the extension.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) series: Option<String>,
    /// Time between two rows of a connection
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "100ms",
        requires = "series",
        help_heading = "Output",
        hide_short_help = true
    )]
    pub(super) series_interval: Span,
    /// Write packet captures at both ends: PREFIX-near.pcap and PREFIX-far.pcap
    #[arg(long, value_name = "PREFIX", help_heading = "Output")]
    pub(super) pcap: Option<String>,
    /// Command to run at the near end
    #[arg(value_name = "COMMAND", last = true, required_unless_present = "shell")]
    pub(super) command: Vec<OsString>,
}

/// The parameters of both links.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinkFlags {
    shared: Given,
    /// Those of one direction.
    own: [Given; 2],
}

fn parameters(keys: &'static [&str]) -> impl Iterator<Item = &'static Parameter> {
    let all = Group::ALL.iter().flat_map(|group| group.parameters());
    all.filter(move |parameter| keys.contains(&parameter.key))
}

impl clap::Args for LinkFlags {
    fn augment_args(command: Command) -> Command {
        let shared = parameters(&SHARED).map(|parameter| {
            let flag = flag(parameter, &["loop"]);
            let flag = flag.hide_short_help(!BASIC.contains(&parameter.key));
            match parameter.key {
                "link" => flag.help("Model of a link with a trace or channel: timeline or coupled [default: timeline]"),
                "scheme" => flag.help("Reliability scheme of both directions, e.g. harq:10/12"),
                "packet" => flag.help("MTU of both ends [default: 1500B]"),
                "duration" => flag.help("Length of generated slots [default: 10min]"),
                _ => flag,
            }
        });
        let own = DIRECTIONS.iter().flat_map(|(name, flags)| {
            OF_ONE.iter().zip(flags).filter_map(move |(key, long)| {
                let parameter = Parameter::of(key)?;
                let short = parameter.help.split(',').next().unwrap_or_default();
                let short = match *key {
                    "channel" => "Channel that generates slots",
                    "rate" => "Constant rate, or rate of the slots of the channel",
                    "loss" => "Packet losses at a constant rate",
                    _ => short,
                };
                Some(
                    Arg::new(*long)
                        .long(*long)
                        .help_heading("One direction")
                        .help(format!("{short}: {name}"))
                        .hide_short_help(!matches!(*key, "scheme" | "rate"))
                        .value_name(parameter.value_name()),
                )
            })
        });
        command.args(shared.chain(own).collect::<Vec<_>>())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LinkFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Self::default();
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.shared.take(matches, parameters(&SHARED))?;
        for (given, (_, flags)) in self.own.iter_mut().zip(DIRECTIONS) {
            for (key, long) in OF_ONE.iter().zip(flags) {
                let text = matches.get_one::<String>(long);
                let Some((parameter, text)) = Parameter::of(key).zip(text) else {
                    continue;
                };
                if parameter.names_files(text) {
                    given.in_files.push((parameter, vec![text.clone()]));
                    continue;
                }
                given.experiment.set(parameter, &[text]).map_err(|why| {
                    let message = format!("invalid value '{text}' for '--{long}': {why}\n");
                    clap::Error::raw(clap::error::ErrorKind::ValueValidation, message)
                })?;
            }
        }
        Ok(())
    }
}

impl Args {
    /// Both directions, without their traces.
    pub(super) fn directions(&self) -> Outcome<[Direction; 2]> {
        if self.max_lateness.is_zero() {
            return Err(Failure::usage(
                "--max-lateness 0s: expected a duration above 0",
            ));
        }
        if self.series_interval < Span::from_millis(1) {
            return Err(Failure::usage(format!(
                "--series-interval {}: expected at least 1ms",
                self.series_interval
            )));
        }
        let shared = self.links.shared.read()?;
        let [down, up] = &self.links.own;
        let loops = self.at_end == AtEnd::Loop;
        let one = |name, trace: &Option<String>, own: &Given| {
            Direction::new(name, trace.as_deref(), &shared, own.read()?, loops)
        };
        let directions = [one("down", &self.down, down)?, one("up", &self.up, up)?];
        let has_slots = directions.iter().any(|direction| direction.has_slots);
        let has_link = directions
            .iter()
            .any(|direction| direction.experiment.is_some());
        let is_coupled = shared.link == Some(LinkKind::Coupled);
        for (flag, given, needed, expected) in [
            ("scheme", shared.scheme.is_some(), has_slots, "slots"),
            ("link coupled", is_coupled, has_slots, "slots"),
            (
                "slots",
                self.slots.is_some(),
                has_slots && is_coupled,
                "slots and --link coupled",
            ),
            ("buffer", shared.buffer.is_some(), has_link, "a link"),
            ("queue", shared.queue.is_some(), has_link, "a link"),
            ("packets", self.packets.is_some(), has_link, "a link"),
        ] {
            if given && !needed {
                let rate = if expected == "a link" {
                    ", --down-rate or --up-rate"
                } else {
                    ""
                };
                return Err(Failure::usage(format!(
                    "--{flag}: found no direction with {expected}, expected --down or --up with a trace, --down-channel or --up-channel{rate}"
                )));
            }
        }
        Ok(directions)
    }

    /// Parameters of both directions.
    pub(super) fn shared(&self) -> &Experiment {
        &self.links.shared.experiment
    }
}
