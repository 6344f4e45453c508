//! `tmt synth --list` and `--show-parameters`.

use serde_json::{Value, json as value};
use tmt_core::channel::scenario::{Configuration, Configured, scenarios};
use tmt_core::radio::ErrorCurve;

use super::{Args, scenario};
use crate::exit::{Failure, Outcome};
use crate::output::document::Document;
use crate::table::{Show, Table, print, wrap};

/// Prints all scenarios, or the parameters of one.
pub(super) fn run(args: &Args) -> Outcome {
    let chosen = scenario::configured(args)?;
    let path = args.output.output.as_deref();
    if args.scenario.list_codes {
        return codes(path, args.scenario.json);
    }
    let all = match &chosen {
        Some(one) => vec![one.clone()],
        None => defaults()?,
    };
    let described: Vec<Value> = all.iter().map(described).collect();
    let document = Document::list("tmt.scenario-list/1", described);
    print(path, args.scenario.json, &document, |_| match &chosen {
        Some(one) => parameters(one),
        None => table(&all),
    })
}

/// Error rate at which a code's threshold is listed.
const LISTED_RATE: f64 = 0.01;

/// All error curves, one per row.
fn codes(path: Option<&str>, as_json: bool) -> Outcome {
    let table = Table::of(ErrorCurve::codes())
        .words("code", |code| code.name)
        .key("code")
        .plain("modulation", |code| code.modulation.to_string())
        .key("modulation")
        .number("bit/symbol", Show::Decimals(6), |code| {
            code.efficiency_bit_per_symbol
        })
        .key("efficiency_bit_per_symbol")
        .number("Es/N0 dB at error rate 1e-2", Show::Decimals(2), |code| {
            ErrorCurve::Code(code).threshold_db(LISTED_RATE)
        })
        .key("threshold_es_n0_db");
    let document = Document::list("tmt.code-list/1", table.objects());
    print(path, as_json, &document, |_| table.to_string())
}

/// Every scenario with its defaults.
fn defaults() -> Outcome<Vec<Configured>> {
    let all = scenarios().map(|scenario| Configured::new(scenario, []));
    all.map(|one| one.map_err(Failure::failed)).collect()
}

/// All scenarios, one per row.
fn table(all: &[Configured]) -> String {
    Table::of(all)
        .words("scenario", |one| one.scenario().name.as_str())
        .wrapped("what it is", |one| one.scenario().about.as_str())
        .plain("rate", |one| one.slot_link().rate.to_string())
        .plain("LLDU", |one| one.slot_link().lldu.to_string())
        .plain("RTT", |one| one.slot_link().rtt.to_string())
        .to_string()
}

/// Width beyond which a value takes several lines, so that it leaves room for its meaning.
const WIDEST_VALUE: usize = 24;

/// A value with a line for each of its parts, if it is wide.
fn on_lines(value: &str) -> String {
    if value.chars().count() <= WIDEST_VALUE {
        return value.to_owned();
    }
    let parts: Vec<&str> = value.split_inclusive(['/', '|']).collect();
    parts.join("\n")
}

/// One scenario: source, parameters, load and notes.
fn parameters(one: &Configured) -> String {
    let scenario = one.scenario();
    let meaning = |parameter: &Configuration| match parameter.remark {
        "" => parameter.parameter.about.to_owned(),
        remark => format!("{} ({remark})", parameter.parameter.about),
    };
    let table = Table::of(one.parameters())
        .words("parameter", |parameter| parameter.parameter.name)
        .plain("value", |parameter| on_lines(&parameter.value))
        .plain("default", |parameter| parameter.default.as_str())
        .plain("origin", |parameter| parameter.origin.name())
        .wrapped("meaning", |parameter| meaning(parameter));
    let lines = [
        format!("{}: {}", scenario.name, scenario.about),
        format!("source: {}", scenario.source),
        format!(
            "parameter set {}: {}",
            one.parameter_set().name,
            one.parameter_set().about
        ),
        format!("load: {}", scenario.load),
    ];
    let mut text: String = lines.iter().map(|line| wrap(line, "  ") + "\n").collect();
    text.push_str(&format!("\n{table}"));
    for note in &scenario.notes {
        text.push_str(&format!("\n{}\n", wrap(&format!("note: {note}"), "  ")));
    }
    text
}

fn described(one: &Configured) -> Value {
    let scenario = one.scenario();
    let parameters = Table::of(one.parameters())
        .value("key", |parameter| parameter.parameter.name)
        .value("value", |parameter| parameter.value.as_str())
        .value("default", |parameter| parameter.default.as_str())
        .value("origin", |parameter| parameter.origin.name())
        .value("remark", |parameter| parameter.remark)
        .value("about", |parameter| parameter.parameter.about);
    let sets = scenario
        .sets()
        .map(|set| value!({"name": set.name, "about": set.about}));
    value!({
        "scenario": scenario.name,
        "about": scenario.about,
        "source": scenario.source,
        "channel": scenario.family,
        "load": scenario.load,
        "notes": scenario.notes,
        "parameter_set": one.parameter_set().name,
        "parameter_sets": sets.collect::<Vec<_>>(),
        "parameters": parameters.objects(),
    })
}

#[cfg(test)]
mod tests {
    use super::on_lines;

    #[test]
    fn a_wide_value_takes_a_line_for_each_part() {
        assert_eq!(on_lines("dvb-s2:qpsk-1/2"), "dvb-s2:qpsk-1/2");
        let wide = on_lines("lutz:rice-factor=10dB/bad-mean=-12dB");
        assert_eq!(wide, "lutz:rice-factor=10dB/\nbad-mean=-12dB");
    }
}
