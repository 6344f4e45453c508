//! Flags of `tmt synth` that choose a scenario and its parameters.

use std::sync::Arc;

use tmt_core::channel::scenario::{Configured, SET, named};
use tmt_core::channel::synth::ConstantRate;
use tmt_core::channel::{SlotChannel, SlotLink};
use tmt_core::math::num;
use tmt_core::pipeline::Erased;
use tmt_core::types::{BitRate, Metadata, to_f64};

use super::{Args, DEFAULT_SEED, Made, Slots};
use crate::exit::{Failure, Outcome, note, warning};
use crate::provenance;

/// Flags of scenarios.
#[derive(Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags without a value, which are independent of each other"
)]
pub(super) struct ScenarioArgs {
    /// Write the slots of a named scenario; --list shows all
    #[arg(id = "scenario", long = "scenario", value_name = "NAME")]
    name: Option<String>,
    /// Es/N0 of the unfaded signal, such as 6dB; as --set es-n0=6dB
    #[arg(
        long,
        value_name = "DB",
        requires = "scenario",
        allow_hyphen_values = true
    )]
    es_n0: Option<String>,
    /// Value of a parameter of the scenario; repeat for more. --show-parameters lists them
    #[arg(long, value_name = "KEY=VALUE", requires = "scenario")]
    set: Vec<String>,
    /// Named values of some parameters, such as those of a fit
    #[arg(long, value_name = "NAME", requires = "scenario")]
    parameter_set: Option<String>,
    /// Write the slots of all users of a shared link; as --set every=1, at the rate of the link
    #[arg(long, requires = "scenario")]
    all_users: bool,
    /// Adapt modulation and code to the Es/N0, one delay ago, less a margin: each slot carries the same LLDU, and takes
    /// the time that its MODCOD needs. TABLE is dvb-s2, one code such as dvb-s2:qpsk-1/2, or a CSV file, also compressed or - for stdin
    /// (docs/acm.md); further keys: average, period, hysteresis, symbol-rate
    #[arg(
        allow_hyphen_values = true,
        long,
        value_name = "TABLE[,margin=1dB,delay=RTT,…]",
        requires = "scenario"
    )]
    pub(super) acm: Option<String>,
    /// List all scenarios
    #[arg(long, conflicts_with = "scenario")]
    pub(super) list: bool,
    /// Show every parameter of the scenario with its value, default, origin and meaning
    #[arg(long)]
    show_parameters: bool,
    /// List all error curves that --code takes
    #[arg(long, conflicts_with_all = ["scenario", "list"])]
    pub(super) list_codes: bool,
    /// Print JSON instead of a table; with --list, --list-codes and --show-parameters
    #[arg(long)]
    pub(super) json: bool,
}

impl ScenarioArgs {
    /// Whether the command shows scenarios or parameters instead of writing a trace.
    pub(super) fn shows(&self) -> bool {
        self.list || self.list_codes || self.show_parameters
    }
}

impl ScenarioArgs {
    /// Whether `--set` gives the parameter `key`.
    pub(super) fn sets(&self, key: &str) -> bool {
        let mut keys = self.set.iter().filter_map(|pair| pair.split_once('='));
        keys.any(|(given, _)| given == key)
    }

    /// Refuses flags of a scenario without one. `requires` does not, beside flags that exclude a scenario.
    pub(super) fn refuse_without_scenario(&self) -> Outcome {
        let flags = [
            ("--es-n0", self.es_n0.is_some()),
            ("--set", !self.set.is_empty()),
            ("--parameter-set", self.parameter_set.is_some()),
            ("--all-users", self.all_users),
            ("--acm", self.acm.is_some()),
        ];
        match flags.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::usage(format!(
                "{flag}: found no --scenario, expected one; --channel NAME:KEY=VALUE,… takes the parameters of its channel itself"
            ))),
        }
    }
}

/// The scenario that the flags choose, with its parameters; `None` without `--scenario`.
pub(super) fn configured(args: &Args) -> Outcome<Option<Configured>> {
    let flags = &args.scenario;
    if flags.json && !flags.shows() {
        return Err(Failure::usage(
            "--json: found none of --list, --list-codes and --show-parameters, expected one",
        ));
    }
    let Some(name) = &flags.name else {
        if flags.show_parameters {
            return Err(Failure::usage(
                "--show-parameters: found no --scenario, expected one; --list shows all, and `tmt inject --help` the parameters of each --channel",
            ));
        }
        return Ok(None);
    };
    let scenario = named(name).map_err(Failure::usage)?;
    let mut given: Vec<(&str, String)> = Vec::new();
    for pair in &flags.set {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(Failure::usage(format!(
                "--set {pair}: expected KEY=VALUE, such as es-n0=6dB"
            )));
        };
        given.push((key, value.to_owned()));
    }
    let text = |key, value: Option<String>| value.map(|value| (key, value));
    let flag = [
        text(SET, flags.parameter_set.clone()),
        text("es-n0", flags.es_n0.clone()),
        text("code", args.radio.code()?),
        text("every", flags.all_users.then(|| "1".to_owned())),
        text("rate", args.rate.map(|rate| rate.to_string())),
        text("lldu", args.lldu.map(|lldu| lldu.to_string())),
        text(
            "duration",
            args.duration.map(|duration| duration.to_string()),
        ),
        text("rtt", args.rtt.map(|rtt| rtt.to_string())),
        text(
            "interleaver",
            args.interleaver.map(|depth| depth.to_string()),
        ),
    ];
    given.extend(flag.into_iter().flatten());
    let given = given.iter().map(|(key, value)| (*key, value.as_str()));
    let refused = |error| Failure::usage(args.radio.with_flags(error));
    let configured = Configured::new(scenario, given).map_err(refused)?;
    if flags.all_users
        && scenario
            .setting("every")
            .is_some_and(|every| every.value == "1")
    {
        warning!(
            "synth",
            "--all-users: no effect, since scenario {name} has one user, who has every slot"
        );
    }
    Ok(Some(configured))
}

/// The scenario with the measured fade of the flags, if there is one.
pub(super) fn on_fade(args: &Args, configured: Configured) -> Outcome<Configured> {
    if !args.radio.has_fade() {
        return Ok(configured);
    }
    let es_n0_db = configured
        .process()
        .radio()
        .map(|radio| radio.parameters().es_n0_db);
    let Some(es_n0_db) = es_n0_db else {
        return Err(Failure::usage(format!(
            "--fading-in and --fading-out: found scenario {}, expected one with an Es/N0",
            configured.scenario().name
        )));
    };
    let duration = configured.slot_link().duration;
    match args.radio.series(es_n0_db, duration)? {
        None => Ok(configured),
        Some((series, attenuation)) => {
            warn_of_idle(args, &configured, attenuation);
            let refused = |error| Failure::failed(args.radio.with_flags(error));
            configured.on_series(series).map_err(refused)
        }
    }
}

/// Parameters of the model of the fading, which a measured fade replaces.
const OF_THE_MODEL: &[&str] = &[
    "environment",
    "elevation",
    "speed",
    "carrier",
    "deep-shadow",
    "cross-fade",
    "samples-per-doppler",
];

/// Warns of values other than the default that decide nothing beside a measured fade.
fn warn_of_idle(args: &Args, configured: &Configured, attenuation: bool) {
    let idle = |key: &str| OF_THE_MODEL.contains(&key) || (key == "es-n0" && !attenuation);
    let changed = configured.parameters().iter();
    let changed =
        changed.filter(|known| idle(known.parameter.name) && known.value != known.default);
    let changed: Vec<String> = changed
        .map(|known| format!("{}={}", known.parameter.name, known.value))
        .collect();
    if let (Some(file), false) = (args.radio.measured(), changed.is_empty()) {
        warning!(
            "synth",
            "{}: no effect on the trace, since {file} has Es/N0 over time in place of the model",
            changed.join(", ")
        );
    }
}

/// The command that is recorded for a scenario.
pub(super) fn command(args: &Args, configured: &Configured, seed: u64) -> Outcome<String> {
    let mut command = format!(
        "tmt synth --scenario {} --parameter-set {}",
        configured.scenario().name,
        configured.parameter_set().name
    );
    for one in configured.parameters() {
        command.push_str(&format!(" --set {}={}", one.parameter.name, one.value));
    }
    command.push_str(&args.radio.recorded()?);
    command.push_str(&format!(" --seed {seed}"));
    Ok(command)
}

/// The slots of a scenario.
pub(super) fn made(args: &Args, configured: Configured) -> Outcome<Made> {
    let seed = args.seed.unwrap_or(DEFAULT_SEED);
    let scenario = configured.scenario();
    let command = command(args, &configured, seed)?;
    let link = *configured.slot_link();
    let configured = on_fade(args, configured)?;
    let slots = ConstantRate::new(link.rate, link.lldu, link.duration, link.decode_delay);
    let slots = slots.ok_or_else(|| {
        Failure::usage(format!(
            "scenario {}: found a trace of {} with delays of {}, expected an end before 2^63 ns",
            scenario.name, link.duration, link.decode_delay
        ))
    })?;
    // The rate of the slots that the link offers.
    let offered = configured.offered();
    let rate = offered.map_or(link.rate, |offered| {
        BitRate(num::floor_u64(to_f64(link.rate.0) * offered + 0.5).max(1))
    });
    let head = head(&link, rate, command, seed);
    for text in &scenario.notes {
        note!("synth", "{}: {text}", scenario.name);
    }
    let channel = SlotChannel::Timed(Arc::new(configured));
    note!("synth", "{channel}");
    if let SlotChannel::Timed(process) = &channel {
        let said = process.note(link.on_air);
        if !said.is_empty() {
            note!("synth", "{said}");
        }
    }
    let erased = Erased {
        channel,
        seed,
        on_air: link.on_air,
        withheld: offered.is_some(),
    };
    Ok(Made {
        slots: Slots::Constant(slots),
        erased: Some(erased),
        head,
        said: format!("scenario {} --seed {seed}", scenario.name),
    })
}

/// The head of the slots of a scenario, which have a (mean) rate of `rate`.
pub(super) fn head(link: &SlotLink, rate: BitRate, command: String, seed: u64) -> Metadata {
    let mut head = provenance::new_head(&command);
    for (key, value) in [
        ("rate_bps", Some(rate.0)),
        ("lldu_bytes", Some(link.lldu.0)),
        ("lldu_header_bytes", link.lldu_header.map(|header| header.0)),
        ("rtt_ns", Some(link.rtt.as_nanos())),
        ("interleaver_ns", Some(link.interleaver.as_nanos())),
        ("seed", Some(seed)),
    ] {
        if let Some(value) = value {
            head.set(key, value.to_string());
        }
    }
    head.push("stage", command);
    head
}
