//! The commands that repeat the runs of a candidate.

use fluid_tcp::experiment::{Experiment, Kind, LinkKind, PARAMETERS, Parameter};
use serde::Serialize;
use tmt_core::channel::SlotChannel;
use tmt_study::advise::{Advice, Candidate, LinkFacts, Runs};

use crate::cmd::tcp::{Given, typed};

/// Parameters that decide the slots and the timeline; `tmt tcp` has the others.
const OF_SLOTS: [&str; 7] = [
    "trace",
    "channel",
    "loss",
    "rate",
    "unit",
    "columns",
    "allow_cut",
];
const OF_READING: [&str; 3] = ["unit", "columns", "allow_cut"];
const OF_TIMELINE: [&str; 3] = ["rtt", "feedback_delay", "replace_head"];

/// Commands to paste.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Commands {
    /// Slots from a channel, or erasures added to a trace; `None` if the trace has the slots.
    pub(super) slots: Option<String>,
    /// The scheme on them; `None` on a coupled link, where `tcp` has it.
    pub(super) apply: Option<String>,
    /// TCP over the result: all runs from starts in a trace, the first seed of a channel.
    pub(super) tcp: String,
}

impl Commands {
    /// The commands for `candidate`, with the names of files as `given`.
    pub(super) fn of(advice: &Advice, candidate: &Candidate, given: &Given) -> Self {
        let experiment = &advice.experiment;
        let scheme = &candidate.scheme;
        if experiment.link == Some(LinkKind::Coupled) {
            let mut tcp = format!("tmt tcp --scheme {scheme}");
            tcp += &flags(experiment, given, |_| true);
            if let Runs::Seeds { count } = advice.finals.runs {
                tcp += &format!(" --seeds {count}");
            }
            tcp += &trace(experiment);
            return Self {
                slots: None,
                apply: None,
                tcp,
            };
        }
        let has = |keys: &[&str], key: &str| keys.contains(&key);
        let mut apply = format!("tmt apply --scheme {scheme}");
        let slots = slots(advice, given);
        let reads =
            |key: &str| has(&OF_TIMELINE, key) || (slots.is_none() && has(&OF_READING, key));
        apply += &flags(experiment, given, reads);
        if slots.is_none() {
            apply += &trace(experiment);
        }
        let is_of_channel = matches!(advice.finals.runs, Runs::Seeds { .. });
        let mut tcp = flags(experiment, given, |key| {
            let of_slots =
                has(&OF_SLOTS, key) || (is_of_channel && has(&["duration", "lldu"], key));
            // The timeline link is the default of `tmt tcp`, too.
            !of_slots && !has(&OF_TIMELINE, key) && key != "link"
        });
        let is_scenario = |channel: &SlotChannel| channel.to_string().starts_with("scenario:");
        let replaces = experiment.channel.as_ref().is_some_and(is_scenario)
            && experiment.lldu_header.is_some();
        if replaces || experiment.replace_head() {
            tcp += " --replace-head";
        }
        Self {
            slots,
            apply: Some(apply),
            tcp: format!("tmt tcp{tcp}"),
        }
    }

    /// The commands as one line for a shell.
    pub(super) fn pipe(&self) -> String {
        let parts = [&self.slots, &self.apply, &Some(self.tcp.clone())];
        let parts: Vec<String> = parts.into_iter().flatten().cloned().collect();
        parts.join(" \\\n  | ")
    }
}

/// The command that makes the slots.
fn slots(advice: &Advice, given: &Given) -> Option<String> {
    let experiment = &advice.experiment;
    let seed = experiment.seed().0;
    if experiment.trace.is_some() || experiment.channel.is_none() {
        let loss = experiment.loss.as_ref()?;
        let reading = flags(experiment, given, |key| OF_READING.contains(&key));
        return Some(format!(
            "tmt inject --channel {} --seed {seed}{reading}{}",
            quoted(&process("loss", loss, given)),
            trace(experiment)
        ));
    }
    let channel = experiment.channel.as_ref()?.to_string();
    if let Some(scenario) = channel.strip_prefix("scenario:") {
        let mut parts = scenario.split(',');
        let name = parts.next().unwrap_or_default();
        let mut command = format!("tmt synth --scenario {name}");
        // The text of a scenario has all its values, also its defaults and those of flags.
        let plain = format!("scenario:{name}").parse::<SlotChannel>();
        let plain = plain.map_or_else(|_| String::new(), |plain| plain.to_string());
        let plain: Vec<&str> = plain.split(',').collect();
        let link = ["rate", "duration", "lldu", "rtt"];
        let is_flag = |part: &str| {
            let key = part.split('=').next().unwrap_or_default();
            link.contains(&key) && Parameter::of(key).is_some_and(|one| one.is_given(experiment))
        };
        for part in parts.filter(|part| !plain.contains(part) && !is_flag(part)) {
            command += &format!(" --set {}", quoted(part));
        }
        command += &flags(experiment, given, |key| link.contains(&key));
        return Some(format!("{command} --seed {seed}"));
    }
    let LinkFacts {
        rate,
        lldu,
        decode_delay,
        ..
    } = advice.link;
    Some(format!(
        "tmt synth --rate {} --lldu {} --duration {} --decode-delay {} --channel {} --seed {seed}",
        rate?,
        lldu?,
        experiment.duration?,
        decode_delay?,
        quoted(&process("channel", experiment.channel.as_ref()?, given))
    ))
}

/// A process as it was typed, if it names a file, else with all its values.
fn process(key: &str, process: &SlotChannel, given: &Given) -> String {
    let typed = given.as_typed(key).and_then(<[String]>::first);
    typed.map_or_else(|| process.to_string(), String::clone)
}

/// Flags of the parameters that `experiment` gives and that `is_chosen`, each after a space, with the names of files as `given`. The
/// trace is no flag.
pub(super) fn flags(
    experiment: &Experiment,
    given: &Given,
    is_chosen: impl Fn(&str) -> bool,
) -> String {
    let chosen = |parameter: &&Parameter| {
        parameter.key != "trace" && parameter.is_given(experiment) && is_chosen(parameter.key)
    };
    let mut text = String::new();
    for parameter in PARAMETERS.iter().filter(chosen) {
        let flag = typed(parameter.key);
        if matches!(parameter.kind, Kind::Flag) {
            text += &format!(" {flag}");
            continue;
        }
        let typed = given.as_typed(parameter.key).map(<[String]>::to_vec);
        let texts = typed.or_else(|| parameter.texts(experiment));
        for value in texts.unwrap_or_default() {
            text += &format!(" {flag} {}", quoted(&value));
        }
    }
    text
}

fn trace(experiment: &Experiment) -> String {
    let path = experiment.trace.as_deref().filter(|path| *path != "-");
    path.map_or_else(String::new, |path| format!(" {}", quoted(path)))
}

/// `text` as one word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+%@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
