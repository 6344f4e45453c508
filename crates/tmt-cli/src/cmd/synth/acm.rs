//! `tmt synth --acm`: adaptive coding and modulation on the channel of a scenario (docs/acm.md).

use std::path::Path;
use std::sync::Arc;

use tmt_core::channel::SlotChannel;
use tmt_core::channel::scenario::Configured;
use tmt_core::pipeline::Erased;
use tmt_core::radio::{Acm, Adapted, AdaptedLink, Modcods};
use tmt_core::types::Span;

use super::{Args, DEFAULT_SEED, Made, Slots, radio, scenario};
use crate::exit::{Failure, Outcome, headline, note, warning};
use crate::input;
use crate::table::number;

/// The slots of a scenario with the adaptive coding and modulation of `text`.
pub(super) fn made(args: &Args, text: &str, configured: Configured) -> Outcome<Made> {
    let seed = args.seed.unwrap_or(DEFAULT_SEED);
    let command = scenario::command(args, &configured, seed)?;
    let refuse = |error: &dyn std::fmt::Display| Failure::usage(format!("--acm: {error}"));
    let name = &configured.scenario().name;
    let radio = configured.process().radio();
    let channel = radio.map(|radio| radio.parameters().clone()).ok_or_else(|| {
        refuse(&format!(
            "found scenario {name}, whose channel has no Es/N0; expected one with a land-mobile channel"
        ))
    })?;
    let link = *configured.slot_link();
    let series = args.radio.series(channel.es_n0_db, link.duration)?;
    let series = series.map(|(series, _)| series);
    let acm = read(text, link.rtt)?;
    refuse_idle_code(args, &acm)?;
    if acm.modcods.iter().nth(1).is_some() && acm.decides_once(link.duration) {
        warning!(
            "synth",
            "--acm: every decision rests on Es/N0 at time 0, so that the MODCOD never changes: found a trace of {} with \
             delay={} and period={}, expected a longer --duration or a shorter delay",
            link.duration,
            acm.delay,
            acm.period
        );
    }
    let adapted_link = AdaptedLink {
        rate: link.rate,
        every: link.every,
        lldu: link.lldu,
        duration: link.duration,
    };
    let said = format!("scenario {name} --acm {text} --seed {seed}");
    let settings = settings(text, &acm);
    let command = format!("{command} --acm {acm}");
    let names: Vec<String> = acm
        .modcods
        .iter()
        .map(|modcod| modcod.name.clone())
        .collect();
    let efficiencies: Vec<f64> = acm
        .modcods
        .iter()
        .map(|modcod| modcod.efficiency_bit_per_symbol)
        .collect();
    let adapted = Adapted::new(adapted_link, &channel, series.as_ref(), acm, seed);
    let adapted = adapted.map_err(|error| refuse(&args.radio.with_flags(error)))?;
    let uses = adapted.uses();
    let mean: f64 = uses
        .iter()
        .zip(&efficiencies)
        .map(|(used, bits)| used.time_share * bits)
        .sum();
    headline!(
        "synth",
        "{mean:.4} bit/symbol, mean over time, at {:.0} symbols/s on the link; {settings}; {} changes of MODCOD; {} of the decisions \
         with Es/N0 less margin below every threshold of the table",
        adapted.symbols_per_s(),
        adapted.changes(),
        number(Some(adapted.outage()), 6)
    );
    warn_of_symbol_rate(args, &configured, adapted.symbols_per_s());
    for (used, name) in uses
        .iter()
        .zip(names)
        .filter(|(used, _)| used.time_share > 0.0)
    {
        note!(
            "synth",
            "{name}: {} of the time, {} for the user",
            number(Some(used.time_share), 6),
            used.rate
        );
    }
    // The Es/N0 that --fading-out writes is that of the scenario.
    let configured = scenario::on_fade(args, configured)?;
    Ok(Made {
        head: scenario::head(&link, adapted.mean_rate(), command, seed),
        slots: Slots::Adapted(adapted),
        erased: Some(Erased {
            channel: SlotChannel::Timed(Arc::new(configured)),
            seed,
            on_air: link.on_air,
            withheld: false,
        }),
        said,
    })
}

/// Settings that decide the choice, and which of them are defaults.
fn settings(text: &str, acm: &Acm) -> String {
    let margin = format!("{}dB", acm.margin_db);
    let all = [
        ("margin", margin),
        ("delay", acm.delay.to_string()),
        ("average", acm.average.to_string()),
    ];
    let all = all.map(|(key, value)| {
        let given = text.contains(&format!(",{key}="));
        let mark = if given { "" } else { " (default)" };
        format!("{key} {value}{mark}")
    });
    all.join(", ")
}

/// The settings of `text`. `rtt` is the RTT of the link.
fn read(text: &str, rtt: Span) -> Outcome<Acm> {
    let mut failed = None;
    let table = |path: &str| {
        if path != "-" && !Path::new(path).exists() {
            return Err("there is no such file".to_owned());
        }
        let table = radio::read(path, radio::LONGEST_CURVE).and_then(|table| {
            let shown = input::shown(Some(path));
            Modcods::read(&table).map_err(|error| Failure::failed(format!("{shown}: {error}")))
        });
        table.map_err(|failure| {
            failed = Some(failure);
            "it cannot be read".to_owned()
        })
    };
    let acm = Acm::read(text, rtt, table);
    acm.map_err(|error| failed.unwrap_or_else(|| Failure::usage(format!("--acm: {error}"))))
}

/// Refuses a code that has no effect.
fn refuse_idle_code(args: &Args, acm: &Acm) -> Outcome {
    let flag = code_flag(args);
    match flag {
        Some(flag @ "--error-curve") => Err(Failure::usage(format!(
            "{flag}: found --acm, whose MODCODs have error curves of their own; leave one of the two out"
        ))),
        Some(flag) if acm.symbols_per_s.is_some() => Err(Failure::usage(format!(
            "{flag}: found --acm with symbol-rate, beside which the code has no effect; leave one of the two out"
        ))),
        _ => Ok(()),
    }
}

/// The flag that gives the code of the scenario.
fn code_flag(args: &Args) -> Option<&'static str> {
    let set = args.scenario.sets("code").then_some("--set code");
    args.radio.code_flag().or(set)
}

/// Warns that the code that was given decides the symbol rate, and nothing else.
fn warn_of_symbol_rate(args: &Args, configured: &Configured, symbols_per_s: f64) {
    let code = configured
        .parameters()
        .iter()
        .find(|of| of.parameter.name == "code");
    let changed = code.filter(|code| code.value != code.default);
    if let (Some(flag), Some(code)) = (code_flag(args), changed) {
        warning!(
            "synth",
            "{flag} {}: beside --acm it decides the symbol rate only, {symbols_per_s:.0} symbols/s here, since the rate of \
             the link is that with this code; each MODCOD has a code of its own",
            code.value
        );
    }
}
