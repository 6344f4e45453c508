//! `tmt synth --acm`: adaptive coding and modulation on the channel of a scenario (docs/acm.md).

use std::sync::Arc;

use tmt_core::channel::SlotChannel;
use tmt_core::channel::scenario::Configured;
use tmt_core::pipeline::Erased;
use tmt_core::radio::{Acm, Adapted, AdaptedLink};

use super::{Args, DEFAULT_SEED, Made, Slots, scenario};
use crate::exit::{Failure, Outcome, headline, note};
use crate::table::share;

/// The slots of a scenario with the adaptive coding and modulation of `text`.
pub(super) fn made(args: &Args, text: &str, configured: Configured) -> Outcome<Made> {
    let seed = args.seed.unwrap_or(DEFAULT_SEED);
    let command = scenario::command(args, &configured, seed)?;
    let refuse = |error: &dyn std::fmt::Display| Failure::usage(format!("--acm: {error}"));
    let name = configured.scenario().name;
    let radio = configured.process().radio();
    let channel = radio.map(|radio| radio.parameters().clone()).ok_or_else(|| {
        refuse(&format!(
            "found scenario {name}, whose channel has no Es/N0; expected one with a land-mobile channel"
        ))
    })?;
    let link = *configured.slot_link();
    let series = args.radio.series(channel.es_n0_db, link.duration)?;
    let series = series.map(|(series, _)| series);
    let file = |path: &str| std::fs::read_to_string(path).map_err(|error| error.to_string());
    let acm = Acm::read(text, link.rtt, file).map_err(|error| refuse(&error))?;
    let own = channel.code.efficiency_bit_per_symbol();
    let adapted_link = AdaptedLink {
        rate: link.rate,
        every: link.every,
        lldu: link.lldu,
        duration: link.duration,
    };
    let said = format!("scenario {name} --acm {text} --seed {seed}");
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
    let symbols_per_s = acm.symbols_per_s;
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
        "{mean:.4} bit/symbol, mean over time; {} changes of MODCOD; {} of the decisions without Es/N0 for any",
        adapted.changes(),
        share(Some(adapted.outage()))
    );
    let symbols = symbols_per_s.or_else(|| {
        let rate = tmt_core::types::to_f64(link.rate.0) * tmt_core::types::to_f64(link.every);
        own.map(|own| rate / own)
    });
    if let Some(symbols) = symbols {
        note!("synth", "{symbols:.0} symbols per second on the link");
    }
    for (used, name) in uses
        .iter()
        .zip(names)
        .filter(|(used, _)| used.time_share > 0.0)
    {
        note!(
            "synth",
            "{name}: {} of the time, {} for the user",
            share(Some(used.time_share)),
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
        }),
        said,
    })
}
