//! The page of rows as they are: documents, tables of TCP, foreign tables.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use tmt_core::format::records::{Cell, Records};
use tmt_core::model::KEY_PREFIX;
use tmt_core::types::to_f64;
use tmt_plot::chosen::Choice;
use tmt_plot::picture::{counted, spans_decades};
use tmt_plot::source::Quantity;
use tmt_plot::{PlotError, Source, natural};
use tmt_study::conditions::{axes, heading, shown};
use tmt_study::summary::summarise;

use super::{METRICS, main_table, values_of, version};
use crate::ReportError;
use crate::answer::{of_mean, of_sweep};
use crate::dataset::{Better, Dataset, Key, Metric, ORDINALS, better};
use crate::markup::{Page, Table};
use crate::text::{number, with_half, with_unit};
use crate::totals::totals;

/// Whether a column belongs to another, as its interval or number of runs.
fn is_half(source: &Source, name: &str) -> bool {
    let ends = ["_low", "_high"];
    let of = ends.iter().find_map(|end| name.strip_suffix(end));
    let halves = ["_ci95", "_half_width", "_runs"];
    of.is_some_and(|of| source.ends(of).is_some()) || halves.iter().any(|end| name.ends_with(end))
}

/// Whether a column has a setting that the result of the same name repeats, such as a given energy. The page then shows the result only.
fn is_repeated(table: &Records, setting: &str) -> bool {
    let Some(result) = setting.strip_prefix(KEY_PREFIX) else {
        return false;
    };
    let both = [setting, result].map(|name| table.column(name));
    let [Some(setting), Some(result)] = both else {
        return false;
    };
    (0..table.len()).all(|row| setting.value(row) == result.value(row))
}

/// The page of rows as they are: documents, tables of TCP, foreign tables.
pub(crate) fn of_rows(name: &str, source: &Source) -> Result<Page, ReportError> {
    let table = &source.table;
    let names: Vec<&str> = table.names().collect();
    let has_values = |name: &str| {
        let is_value = |value: Cell<'_>| value != Cell::Text("");
        values_of(table, name).any(is_value)
    };
    let (mut keys, mut measured) = (Vec::new(), Vec::new());
    for column in names.iter().copied().filter(|name| has_values(name)) {
        if column == "version" || is_half(source, column) {
            continue;
        }
        if is_repeated(table, column) {
            continue;
        }
        let is_repeat = is_repeated(table, &format!("{KEY_PREFIX}{column}"));
        let is_given = source.is_number(column) && (is_repeat || source.is_setting(column));
        // What was given is no result: where it varies, it names the rows.
        if is_given && !varies(table, column) {
            continue;
        }
        let is_key = is_given || ORDINALS.contains(&column);
        if is_key || !source.is_number(column) {
            // Long text of nested values is no name.
            if !is_nested(source, column) {
                keys.push(column);
            }
        } else {
            measured.push(column);
        }
    }
    // Metrics that are better or worse come first.
    let objective = natural::objective(source);
    measured.sort_by_key(|column| {
        let is_pair = ["published", "ours"].contains(column);
        (
            objective != Some(*column) && !is_pair,
            better(column) == Better::Unknown,
            !varies(table, column),
        )
    });
    measured.truncate(METRICS);
    let most = Dataset::most_rows((keys.len() + measured.len() * 2).max(1));
    let step = table.len().div_ceil(most);
    let mut page = Page {
        title: if source.schema.is_empty() {
            format!("Table {name}")
        } else {
            format!("tmt {} {name}", source.document())
        },
        ..Page::default()
    };
    if step > 1 {
        page.warnings.push(format!(
            "{} are aggregated: each row of the page is the mean of {step} rows in their order, named by the first",
            counted(table.len(), "row")
        ));
    }
    let data = rows_as_they_are(source, &keys, &measured, step)?;
    page.answer = answer_of_rows(source, &data, name)?;
    page.data = data.json();
    if let Some(pair) = pair(source, step, &keys, &data) {
        page.data["pair"] = pair;
    }
    page.table = main_table(&data, "Rows");
    match natural::draw(source, &Choice::default()) {
        Ok(picture) => page
            .pictures
            .push(("Picture of the table".to_owned(), picture)),
        Err(PlotError::Asked(_) | PlotError::Data(_)) => {}
        Err(error) => return Err(error.into()),
    }
    page.details.extend(params(source));
    page.versions.extend(version(table));
    Ok(page)
}

fn rows_as_they_are(
    source: &Source,
    keys: &[&str],
    measured: &[&str],
    step: usize,
) -> Result<Dataset, ReportError> {
    let table = &source.table;
    let starts: Vec<usize> = (0..table.len()).step_by(step.max(1)).collect();
    let keys = keys.iter().map(|column| {
        let values = table.column(column);
        let value = |row: &usize| values.and_then(|values| values.value(*row));
        let text = |row: &usize| value(row).map_or_else(String::new, |value| shown(column, value));
        let number = |row: &usize| value(row).and_then(Cell::number);
        Key::of(
            column,
            starts.iter().map(text).collect(),
            starts.iter().map(number).collect(),
        )
    });
    let mut metrics = Vec::new();
    for column in measured {
        let quantity = Quantity::of(column);
        let mut all = source.numbers(&quantity)?.values;
        if is_slots(source) && quantity.column.starts_with("decode_delay") {
            // A lost LLDU has no delay.
            all.iter_mut()
                .filter(|delay| **delay == 0.0)
                .for_each(|delay| *delay = f64::NAN);
        }
        let half = ["_ci95", "_half_width"]
            .iter()
            .find_map(|end| source.column(&format!("{column}{end}")));
        let halves = half
            .map(|half| {
                source.numbers(&Quantity {
                    column: half,
                    ..quantity.clone()
                })
            })
            .transpose()?;
        let halves = match halves {
            None => source.halves(&quantity)?,
            halves => halves.map(|halves| halves.values),
        };
        let mean = |start: &usize| {
            let chunk = &all[*start..(*start + step).min(all.len())];
            let (sum, count) = chunk
                .iter()
                .filter(|value| value.is_finite())
                .fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
            sum / count
        };
        metrics.push(Metric {
            values: starts.iter().map(mean).collect(),
            halves: match halves {
                // A mean of rows has no interval of theirs.
                Some(halves) if step == 1 => halves.iter().map(|half| half.abs()).collect(),
                _ => vec![f64::NAN; starts.len()],
            },
            runs: Vec::new(),
            verdicts: Vec::new(),
            quantity,
        });
    }
    Ok(Dataset {
        rows: starts.len(),
        keys: keys.collect(),
        metrics,
    })
}

/// Of published values beside ours: the metrics to compare, the keys that say what is compared, and in which unit, the rows
/// that need a logarithmic axis, and those that say yes or no. Scripts draw a chart for each of the others.
fn pair(source: &Source, step: usize, keys: &[&str], data: &Dataset) -> Option<Json> {
    let metric = |name: &str| {
        let mut metrics = data.metrics.iter();
        metrics.position(|metric| metric.quantity.column == name)
    };
    let key = |name: &str| keys.iter().position(|key| *key == name);
    let both = [metric("published")?, metric("ours")?];
    let [quantity, unit] = ["quantity", "unit"].map(key);
    let title = |row: usize| [quantity, unit].map(|key| Some(&data.keys[key?].texts[row]));
    let mut values: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for row in 0..data.rows {
        let of_row = both.map(|metric| data.metrics[metric].values[row]);
        values.entry(title(row)).or_default().extend(of_row);
    }
    values.retain(|_, values| spans_decades(values.iter().copied()));
    let is_log = |row: &usize| values.contains_key(&title(*row));
    // A chart of yes and no shows less than the verdicts in the table.
    let is_statement = |row: &usize| source.is_statement(*row * step);
    let mut statements: Vec<usize> = (0..data.rows).filter(is_statement).collect();
    // Where there is nothing else, they are drawn.
    if statements.len() == data.rows {
        statements.clear();
    }
    Some(json!({
        "quantity": quantity,
        "unit": unit,
        "order": both.into_iter().chain(metric("theory")).collect::<Vec<_>>(),
        "log": (0..data.rows).filter(is_log).collect::<Vec<_>>(),
        "statements": statements,
    }))
}

/// Most columns that name the place of a value in the answer.
const PLACES: usize = 3;

/// Whether a column has text of nested values.
fn is_nested(source: &Source, column: &str) -> bool {
    values_of(&source.table, column)
        .any(|value| matches!(value, Cell::Text(text) if text.starts_with(['{', '['])))
}

/// Whether the rows are LLDUs of a trace or a timeline: a decoding delay of 0 is that of a lost one.
fn is_slots(source: &Source) -> bool {
    source.has("tx_time") && source.has("decode_delay")
}

/// The answer of rows: that of the document itself, of a trace its losses, of a table over a number or a time the ends of the first
/// metric, and of named rows the best.
fn answer_of_rows(source: &Source, data: &Dataset, name: &str) -> Result<String, ReportError> {
    let rows = counted(source.table.len(), "row");
    let found = verdict(source).or_else(|| advice(source));
    if let Some(text) = found.or_else(|| runs_of_tcp(source, data)) {
        return Ok(text);
    }
    if is_slots(source) {
        return losses(source, name);
    }
    let Some(metric) = data.metrics.first() else {
        return Ok(format!("{name} has {rows} and no column of numbers."));
    };
    let quantity = &metric.quantity;
    let values = source.numbers(quantity)?.values;
    let measured: Vec<usize> = (0..values.len())
        .filter(|row| values[*row].is_finite())
        .collect();
    let ends = |order: &dyn Fn(&&usize, &&usize) -> std::cmp::Ordering| {
        let (least, most) = (
            measured.iter().min_by(order)?,
            measured.iter().max_by(order)?,
        );
        Some((*least, *most))
    };
    let Some((least, most)) = ends(&|one, other| values[**one].total_cmp(&values[**other])) else {
        return Ok(format!(
            "{name} has {rows} without a value of {}.",
            quantity.label
        ));
    };
    if let Some(time) = ["time", "sent"].iter().find_map(|time| source.column(time)) {
        let time = Quantity::of(&time);
        let all = source.numbers(&time)?.values;
        let all = || all.iter().copied().filter(|value| value.is_finite());
        let (first, last) = (
            all().fold(f64::INFINITY, f64::min),
            all().fold(f64::NEG_INFINITY, f64::max),
        );
        return Ok(format!(
            "{name} has {rows}, {} from {} to {}.",
            time.label,
            with_unit(first, time.unit),
            with_unit(last, time.unit)
        ));
    }
    let half = |row: usize| {
        let half = (values.len() == data.rows).then(|| metric.halves[row]);
        half.filter(|half| half.is_finite())
    };
    let value = |row: usize| with_half(values[row], half(row), quantity.unit);
    let interval = if half(least).is_some() && half(most).is_some() {
        "95 % interval"
    } else {
        "no interval"
    };
    let objective = natural::objective(source);
    if values.len() == 1 {
        let (label, value) = (&quantity.label, value(most));
        return Ok(match only_name(source) {
            Some(one) if objective.is_some() => format!(
                "{one} is the only row, compared with no other: its {label} is {value} ({interval})."
            ),
            _ => format!("The {label} is {value} ({interval})."),
        });
    }
    let over = match objective {
        Some(_) => Vec::new(),
        None => independent(source, &quantity.column)?,
    };
    let (words, all) = names_of_row(source, &over);
    if objective.is_some() || over.is_empty() && words {
        let (best, word) = match better(&quantity.column) {
            Better::Less => (least, "lowest"),
            _ => (most, "highest"),
        };
        let interval = if half(best).is_some() {
            "95 % interval"
        } else {
            "no interval"
        };
        let count = if source.schema.is_empty() { PLACES } else { 1 };
        return Ok(format!(
            "{} has the {word} {}: {} ({interval}), of {rows}.",
            place(source, &all, best, count),
            quantity.label,
            value(best)
        ));
    }
    let at = |row: usize| match place(source, &all, row, PLACES + over.len()) {
        none if none.is_empty() => format!("row {}", row + 1),
        some => some,
    };
    Ok(format!(
        "The {} goes from {} at {} to {} at {} ({interval}), of {rows}.",
        quantity.label,
        value(least),
        at(least),
        value(most),
        at(most)
    ))
}

/// The mean over the runs of TCP alone, of links the better.
fn runs_of_tcp(source: &Source, data: &Dataset) -> Option<String> {
    if let Some(table) = totals(&source.table) {
        let by: Vec<String> = axes(&table).map(str::to_owned).collect();
        return of_sweep(&table, &summarise(&table, &by, &[], None).ok()?);
    }
    let metric = &data.metrics.first()?.quantity.column;
    let mean = source.result("mean").get(metric)?;
    let number = |name: &str| mean.get(name).and_then(Json::as_f64);
    let runs = mean.get("runs").and_then(Json::as_u64)?;
    let runs = usize::try_from(runs).ok()?;
    Some(of_mean(metric, number("mean")?, number("ci95"), runs))
}

/// How many LLDUs of a trace or a timeline are lost.
fn losses(source: &Source, name: &str) -> Result<String, ReportError> {
    let delays = source.numbers(&source.quantity("decode_delay")?)?.values;
    let lost = delays.iter().filter(|delay| **delay == 0.0).count();
    let share = to_f64(lost as u64) / to_f64(delays.len().max(1) as u64);
    Ok(format!(
        "{name} has {}: {} lost ({} %), which no mean of delays holds.",
        counted(delays.len(), "LLDU"),
        if lost == 1 {
            "1 is".to_owned()
        } else {
            format!("{lost} are")
        },
        number(share * 100.0)
    ))
}

/// Numeric columns left of the metric that vary and are no result: those that the metric depends on.
fn independent(source: &Source, metric: &str) -> Result<Vec<Quantity>, ReportError> {
    let mut found = Vec::new();
    for column in source.table.names().take_while(|name| *name != metric) {
        let is_name = ORDINALS.contains(&column)
            || is_half(source, column)
            || is_repeated(&source.table, column)
            || column == "version";
        if is_name || better(column) != Better::Unknown || !source.is_number(column) {
            continue;
        }
        let quantity = Quantity::of(column);
        let values = source.numbers(&quantity)?.values;
        let mut finite = values.iter().filter(|value| value.is_finite());
        if let Some(first) = finite.next()
            && finite.any(|value| value.total_cmp(first).is_ne())
        {
            found.push(quantity);
        }
    }
    found.truncate(PLACES);
    Ok(found)
}

/// Whether not all rows have the same in a column.
fn varies(table: &Records, column: &str) -> bool {
    let mut values = (0..table.len()).map(|row| table.value(row, column));
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// Columns that tell where a row is: what it depends on first, then names. Whether some are words and no numbers of runs.
fn names_of_row(source: &Source, over: &[Quantity]) -> (bool, Vec<String>) {
    let table = &source.table;
    let is_truth =
        |column: &str| values_of(table, column).any(|value| matches!(value, Cell::Truth(_)));
    let names: Vec<&str> = table
        .names()
        .filter(|name| *name != "version" && !is_half(source, name))
        .filter(|name| ORDINALS.contains(name) || !source.is_number(name))
        .filter(|name| varies(table, name) && !is_nested(source, name) && !is_truth(name))
        .collect();
    let words = names.iter().any(|name| !ORDINALS.contains(name));
    let over = over.iter().map(|quantity| quantity.column.clone());
    (
        words,
        over.chain(names.into_iter().map(str::to_owned)).collect(),
    )
}

/// The name of the only row: its first word.
fn only_name(source: &Source) -> Option<String> {
    let is_name =
        |name: &&str| *name != "version" && !source.is_number(name) && !is_nested(source, name);
    let name = source.table.names().find(is_name)?;
    Some(shown(name, source.table.value(0, name)?))
}

/// The place of a row, by at most `most` of its columns.
fn place(source: &Source, columns: &[String], row: usize, most: usize) -> String {
    let named = columns.iter().filter_map(|column| {
        let value = source.table.value(row, column)?;
        let quantity = Quantity::of(column);
        // A name says itself what it is; a number does not.
        Some(match value.number() {
            Some(number) if !ORDINALS.contains(&column.as_str()) => format!(
                "{} {}",
                quantity.label,
                with_unit(number * quantity.factor, quantity.unit)
            ),
            Some(_) => format!("{} {}", heading(column), value.text()),
            None => shown(column, value),
        })
    });
    named.take(most).collect::<Vec<_>>().join(", ")
}

/// The winner of advice with its lead, if the lead is larger than its interval.
fn advice(source: &Source) -> Option<String> {
    if source.document() != "advise" {
        return None;
    }
    let table = &source.table;
    let (Some(winner), Some(column)) =
        (source.result("winner").as_str(), natural::objective(source))
    else {
        return Some(format!(
            "No winner is named, of {}.",
            counted(table.len(), "row")
        ));
    };
    let quantity = Quantity::of(column);
    let scaled = |number: f64| number * quantity.factor;
    let row = (0..table.len()).find(|row| source.text(*row, "scheme") == winner);
    let value = |end: &str| {
        let value = table.value(row?, &format!("{}{end}", quantity.column));
        value.and_then(Cell::number).map(scaled)
    };
    let mean = value("").map(|mean| with_half(mean, value("_ci95"), quantity.unit));
    let mean = mean.map_or_else(String::new, |mean| match value("_ci95") {
        Some(_) => format!(": {mean} (95 % interval)"),
        None => format!(": {mean} (no interval)"),
    });
    let label = &quantity.label;
    let margin = source.result("margin");
    let Some(second) = margin.get("second").and_then(Json::as_str) else {
        return Some(format!(
            "{winner} is the only candidate that {label} is known of{mean}."
        ));
    };
    let margin_of = |name: &str| margin.get(name).and_then(Json::as_f64).map(scaled);
    let lead = margin_of("difference").map_or_else(
        || "an unknown amount".to_owned(),
        |lead| with_half(lead, margin_of("ci95"), quantity.unit),
    );
    if margin.get("exceeds_ci95").and_then(Json::as_bool) == Some(true) {
        return Some(format!(
            "{winner} has the best {label}{mean}; it is better than {second}, the next, by {lead}."
        ));
    }
    let alike: Vec<&str> = source
        .result("alike")
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect();
    let alike = if alike.len() > 1 {
        format!("; alike are {}", alike.join(" and "))
    } else {
        String::new()
    };
    Some(format!(
        "No clear winner: {winner} ranks first with {label}{mean}, but its difference from {second} is {lead}{alike}."
    ))
}

/// The answer that a document itself gives: of published values how many agree.
fn verdict(source: &Source) -> Option<String> {
    let table = &source.table;
    if !table.names().any(|name| name == "published") {
        return None;
    }
    let column = ["verdict", "within", "agrees", "ok"]
        .into_iter()
        .find(|name| table.names().any(|known| known == *name));
    let compared = (0..table.len())
        .filter(|row| table.value(*row, "published").is_some())
        .count();
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    for value in (0..table.len()).filter_map(|row| table.value(row, column?)) {
        *verdicts.entry(value.text()).or_default() += 1;
    }
    let rows = counted(table.len(), "row");
    if column.is_none() {
        return Some(format!(
            "{compared} of {rows} have a published value beside ours."
        ));
    }
    let mut take = |words: &[&str]| -> Vec<(String, usize)> {
        let taken = words.iter().filter_map(|word| verdicts.remove_entry(*word));
        taken.collect()
    };
    let (agree, differ) = (take(&AGREE), take(&DIFFER));
    let others: Vec<(String, usize)> = verdicts.into_iter().collect();
    let count = |all: &[(String, usize)]| all.iter().map(|(_, count)| count).sum::<usize>();
    let list = |all: &[(String, usize)], before: &str, after: &str| {
        let texts: Vec<String> = all
            .iter()
            .map(|(text, count)| format!("{} {count}", text.replace('_', " ")))
            .collect();
        match texts.join(", ") {
            none if none.is_empty() => String::new(),
            some => format!("{before}{some}{after}"),
        }
    };
    if agree.is_empty() && differ.is_empty() {
        return Some(format!(
            "No row has a judgement{}.",
            list(&others, ": ", "")
        ));
    }
    Some(format!(
        "{} of {} agree with the published results{}{}.",
        count(&agree),
        counted(count(&agree) + count(&differ), "judged row"),
        list(&differ, " (", ")"),
        list(&others, "; without a judgement: ", ""),
    ))
}

/// Verdicts of rows that agree with what is published, and of those that do not (docs/figures.md); further ones judge nothing.
const AGREE: [&str; 4] = ["ok", "bounded", "held", "true"];
const DIFFER: [&str; 4] = ["off", "deviates", "contradicted", "false"];

/// The settings of a document.
fn params(source: &Source) -> Option<Table> {
    let params = source
        .params()
        .as_object()
        .filter(|params| !params.is_empty())?;
    let text = |value: &Json| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    Some(Table {
        caption: "Parameters of the document".to_owned(),
        headings: ["name", "value"].map(str::to_owned).to_vec(),
        rows: params
            .iter()
            .map(|(name, value)| vec![name.clone(), text(value)])
            .collect(),
        words: 2,
    })
}
