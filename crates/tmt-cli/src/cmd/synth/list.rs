//! `tmt synth --list` and `--show-parameters`.

use serde_json::{Map, Value, json as value};
use tmt_core::channel::scenario::{Configured, Scenario, scenarios};
use tmt_core::radio::ErrorCurve;

use super::{Args, scenario};
use crate::exit::{Failure, Outcome};
use crate::output::document::Document;
use crate::output::{Output, json};
use crate::table::{Report, wrap};

/// Prints all scenarios, or the parameters of one.
pub(super) fn run(args: &Args) -> Outcome {
    let chosen = scenario::configured(args)?;
    let mut output = Output::create(args.output.output.as_deref())?;
    if args.scenario.list_codes {
        codes(&mut output, args.scenario.json)?;
        return output.finish();
    }
    if args.scenario.json {
        let all = match &chosen {
            Some(one) => vec![described(one)],
            None => defaults()?.iter().map(described).collect(),
        };
        json(
            &mut output,
            &Document::new("tmt.scenario-list/1", Map::new(), all),
        )?;
    } else {
        let text = match &chosen {
            Some(one) => parameters(one),
            None => table(&defaults()?),
        };
        output.write(text.as_bytes())?;
    }
    output.finish()
}

/// Error rate at which a code's threshold is listed.
const LISTED_RATE: f64 = 0.01;

/// All error curves, one per row.
fn codes(output: &mut Output, as_json: bool) -> Outcome {
    let threshold = |code| ErrorCurve::Code(code).threshold_db(LISTED_RATE);
    if as_json {
        let all = ErrorCurve::codes().map(|code| {
            value!({
                "code": code.name,
                "modulation": code.modulation.to_string(),
                "efficiency_bit_per_symbol": code.efficiency_bit_per_symbol,
                "threshold_es_n0_db": threshold(code),
            })
        });
        let all: Vec<Value> = all.collect();
        return json(output, &Document::new("tmt.code-list/1", Map::new(), all));
    }
    let mut report = Report::new([
        "code",
        "modulation",
        "bit/symbol",
        "Es/N0 dB at error rate 1e-2",
    ]);
    for code in ErrorCurve::codes() {
        let threshold = threshold(code).map_or_else(|| "-".to_owned(), |db| format!("{db:.2}"));
        let efficiency = format!("{:.6}", code.efficiency_bit_per_symbol);
        report.row(
            code.name,
            [code.modulation.to_string(), efficiency, threshold],
        );
    }
    output.write(report.to_string().as_bytes())
}

/// Every scenario with its defaults.
fn defaults() -> Outcome<Vec<Configured>> {
    let all = scenarios().map(|scenario| Configured::new(scenario, []));
    all.map(|one| one.map_err(Failure::failed)).collect()
}

/// All scenarios, one per row.
fn table(all: &[Configured]) -> String {
    let mut report = Report::new(["scenario", "what it is", "rate", "LLDU", "RTT"]).wrapped(1);
    for one in all {
        let (Scenario { name, about, .. }, link) = (one.scenario(), one.slot_link());
        report.row(
            name,
            [
                about.clone(),
                link.rate.to_string(),
                link.lldu.to_string(),
                link.rtt.to_string(),
            ],
        );
    }
    report.to_string()
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
    let mut report = Report::new(["parameter", "value", "default", "origin", "meaning"]).wrapped(4);
    for parameter in one.parameters() {
        let remark = Some(parameter.remark).filter(|remark| !remark.is_empty());
        let remark = remark.map_or_else(String::new, |remark| format!(" ({remark})"));
        report.row(
            parameter.key,
            [
                on_lines(&parameter.value),
                parameter.default.to_owned(),
                parameter.origin.name().to_owned(),
                format!("{}{remark}", parameter.about),
            ],
        );
    }
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
    text.push_str(&format!("\n{report}"));
    for note in &scenario.notes {
        text.push_str(&format!("\n{}\n", wrap(&format!("note: {note}"), "  ")));
    }
    text
}

fn described(one: &Configured) -> Value {
    let scenario = one.scenario();
    let parameters = one.parameters().iter().map(|parameter| {
        value!({
            "key": parameter.key,
            "value": parameter.value,
            "default": parameter.default,
            "origin": parameter.origin.name(),
            "remark": parameter.remark,
            "about": parameter.about,
        })
    });
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
        "parameters": parameters.collect::<Vec<_>>(),
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
