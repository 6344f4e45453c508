//! The page of one run, from its packet log and what else was written.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use tmt_core::format::records::Cell;
use tmt_core::stats::distribution::Distribution;
use tmt_core::types::{Span, to_f64};
use tmt_plot::chosen::Choice;
use tmt_plot::picture::{Mark, Point, Unit, counted};
use tmt_plot::thin::{Extent, thin};
use tmt_plot::{Source, natural};

use crate::ReportError;
use crate::dataset::finite;
use crate::markup::{Page, Table};
use crate::study::{own_version, quoted};
use crate::text::{rounded, with_unit};

/// Inputs of the page.
#[derive(Debug)]
pub struct Input<'a> {
    /// Packet log.
    pub packets: &'a Source,
    /// Series over time.
    pub series: Option<&'a Source>,
    /// Timeline of the link.
    pub timeline: Option<&'a Source>,
    /// Names of the files, in this order.
    pub names: [Option<String>; 3],
}

/// Most packets in the data of a page, all of them with their course.
const PACKETS: usize = 5000;

/// Most flows with lines of their own.
const FLOWS: usize = 4;

/// Stretches of time over which shares are taken.
const BINS: usize = 150;

/// Parts of the delay: column, and name.
const PARTS: [(&str, &str); 4] = [
    ("delay_propagation_s", "propagation"),
    ("delay_queue_s", "queue"),
    ("delay_serialisation_s", "serialisation"),
    ("delay_wait_s", "wait: decoding, repeats, order"),
];

/// Columns of the series: name, title of the panel.
const SERIES: [(&str, &str); 4] = [
    ("cwnd", "Congestion window"),
    ("srtt", "Smoothed RTT"),
    ("queue", "Queue"),
    ("goodput", "Goodput"),
];

/// A packet of the log; NaN where there is no time.
#[derive(Debug, Clone)]
struct Packet {
    flow: i64,
    number: i64,
    copy: i64,
    fate: String,
    /// Sent, enqueued, start and end of service, delivered, acknowledged, s.
    times: [f64; 6],
    parts: [f64; 4],
}

impl Packet {
    fn is_lost(&self) -> bool {
        self.fate == "queue" || self.fate == "link"
    }

    fn delay(&self) -> f64 {
        self.times[4] - self.times[0]
    }
}

/// The page of a run.
///
/// # Errors
/// A table that is no packet log, or no series.
pub fn page(input: &Input<'_>) -> Result<Page, ReportError> {
    let packets = packets(input.packets)?;
    let panels = match input.series {
        Some(series) => panels(series, &packets)?,
        None => Vec::new(),
    };
    let link: Vec<Json> = input
        .timeline
        .map(repeats)
        .transpose()?
        .into_iter()
        .flatten()
        .collect();
    let (chosen, note) = chosen(&packets);
    let mut page = Page {
        title: format!("Run {}", input.names[0].as_deref().unwrap_or_default()),
        answer: answer(&packets, input.series)?,
        table: numbers(&packets),
        data: json!({
            "kind": "run",
            "panels": panels.into_iter().chain(link).collect::<Vec<_>>(),
            "parts": parts_over_time(&packets),
            "packets": columns(&chosen),
        }),
        ..Page::default()
    };
    page.warnings.extend(note);
    page.warnings.extend(input.packets.notes.iter().cloned());
    let all = [Some(input.packets), input.series, input.timeline];
    page.warnings
        .extend(all.into_iter().flatten().flat_map(Source::left_out));
    for (name, source) in [
        ("Series", input.series),
        ("Packets", Some(input.packets)),
        ("Link", input.timeline),
    ] {
        if let Some(source) = source
            && let Ok(picture) = natural::draw(source, &Choice::default())
        {
            page.pictures.push((name.to_owned(), picture));
        }
    }
    page.notes
        .push("A click on a packet, or its number, shows its way.".to_owned());
    let [log, series, timeline] = &input.names;
    let flag = |flag: &str, name: &Option<String>| {
        name.as_ref()
            .map_or_else(String::new, |name| format!(" {flag}{}", quoted(name)))
    };
    page.commands.push(format!(
        "tmt report{}{}{} -o run.html",
        flag("--packets ", log),
        flag("--series ", series),
        flag("", timeline)
    ));
    let head = &input.packets.head;
    let of_tool = head.iter().find(|(name, _)| name == "tool");
    page.versions
        .extend(of_tool.map(|(_, tool)| format!("Results by {tool}")));
    if !head.is_empty() {
        page.details.push(Table {
            caption: "Settings of the run, from the head of the packet log".to_owned(),
            headings: ["name", "value"].map(str::to_owned).to_vec(),
            rows: head
                .iter()
                .map(|(name, value)| vec![name.clone(), value.clone()])
                .collect(),
            words: 2,
        });
    }
    page.versions.push(own_version());
    Ok(page)
}

fn packets(source: &Source) -> Result<Vec<Packet>, ReportError> {
    const TIMES: [&str; 6] = [
        "sent_s",
        "enqueued_s",
        "service_start_s",
        "service_end_s",
        "delivered_s",
        "acked_s",
    ];
    let table = &source.table;
    for column in ["packet", "copy", "fate"].iter().chain(&TIMES[..1]) {
        if !table.names().any(|name| name == *column) {
            let names: Vec<&str> = table.names().collect();
            return Err(ReportError::Data(format!(
                "found no column {column} among {}, expected a packet log, as `tmt tcp --packets` writes it",
                names.join(", ")
            )));
        }
    }
    if table.is_empty() {
        return Err(ReportError::Data(
            "found no packets, expected a packet log with at least one".to_owned(),
        ));
    }
    let number = |row: usize, name: &str| {
        table
            .value(row, name)
            .and_then(Cell::number)
            .unwrap_or(f64::NAN)
    };
    let whole = |row: usize, name: &str| match table.value(row, name) {
        Some(Cell::Whole(whole)) => whole,
        _ => 0,
    };
    let packet = |row: usize| Packet {
        flow: whole(row, "flow"),
        number: whole(row, "packet"),
        copy: whole(row, "copy"),
        fate: source.text(row, "fate"),
        times: TIMES.map(|name| number(row, name)),
        parts: PARTS.map(|(name, _)| number(row, name)),
    };
    Ok((0..table.len()).map(packet).collect())
}

fn answer(packets: &[Packet], series: Option<&Source>) -> Result<String, ReportError> {
    let delivered: Vec<&Packet> = packets
        .iter()
        .filter(|packet| packet.fate == "delivered")
        .collect();
    let again = packets.iter().filter(|packet| packet.copy > 1).count();
    let lost = packets.iter().filter(|packet| packet.is_lost()).count();
    let mut text = String::new();
    if let Some(goodput) = series.map(goodput).transpose()?.flatten() {
        text.push_str(&format!(
            "Goodput {}. ",
            with_unit(goodput, Unit::BitsPerSecond)
        ));
    }
    if let Some((mean, p95)) = delays(&delivered) {
        text.push_str(&format!(
            "Packets take {} in the mean, 95 % of them up to {}",
            with_unit(mean, Unit::Seconds),
            with_unit(p95, Unit::Seconds)
        ));
        let sums = PARTS.iter().enumerate().map(|(place, (_, name))| {
            let sum: f64 = delivered
                .iter()
                .map(|packet| packet.parts[place])
                .filter(|part| part.is_finite())
                .sum();
            (sum, *name)
        });
        let sums: Vec<(f64, &str)> = sums.collect();
        let all: f64 = sums.iter().map(|(sum, _)| sum).sum();
        if let Some((most, name)) = sums
            .iter()
            .max_by(|one, other| one.0.total_cmp(&other.0))
            .filter(|(most, _)| *most > 0.0)
        {
            let name = name.split(':').next().unwrap_or(name);
            text.push_str(&format!(
                "; the largest part is {name}, {:.0} %",
                most / all * 100.0
            ));
        }
        text.push_str(". ");
    }
    text.push_str(&format!(
        "{} of {}, {lost} lost.",
        counted(again, "retransmission"),
        counted(packets.len(), "packet")
    ));
    Ok(text)
}

/// The mean goodput of all flows over the time of the series, bit/s. A row has that since the row before it.
fn goodput(series: &Source) -> Result<Option<f64>, ReportError> {
    if !series.has("goodput") {
        return Ok(None);
    }
    let values = series.numbers(&series.quantity("goodput")?)?.values;
    let times = series.numbers(&series.quantity("time")?)?.values;
    // Last time, bits, first time.
    let mut flows: BTreeMap<String, (f64, f64, f64)> = BTreeMap::new();
    for (row, (value, time)) in values.iter().zip(&times).enumerate() {
        let (last, bits, _) = flows
            .entry(series.text(row, "flow"))
            .or_insert((*time, 0.0, *time));
        if value.is_finite() {
            *bits += value * (time - *last);
        }
        *last = *time;
    }
    let rates = flows.values().filter(|(last, _, first)| last > first);
    let total: f64 = rates.map(|(last, bits, first)| bits / (last - first)).sum();
    Ok((total > 0.0).then_some(total))
}

/// Mean and 95th percentile of the delay, s.
fn delays(delivered: &[&Packet]) -> Option<(f64, f64)> {
    let mut all = Distribution::default();
    let mut sum = 0.0;
    for packet in delivered.iter().filter(|packet| packet.delay().is_finite()) {
        sum += packet.delay();
        if let Some(span) = span(packet.delay()) {
            all.push(span);
        }
    }
    let [p95] = all.percentiles([95]);
    Some((sum / to_f64(delivered.len() as u64), p95?.as_secs_f64()))
}

fn span(seconds: f64) -> Option<Span> {
    format!("{seconds:.9}s").parse().ok()
}

/// The numbers of each flow.
fn numbers(packets: &[Packet]) -> Table {
    let mut flows: BTreeMap<i64, Vec<&Packet>> = BTreeMap::new();
    for packet in packets {
        flows.entry(packet.flow).or_default().push(packet);
    }
    let row = |(flow, packets): (&i64, &Vec<&Packet>)| {
        let count = |fate: &str| {
            packets
                .iter()
                .filter(|packet| packet.fate == fate)
                .count()
                .to_string()
        };
        let delivered: Vec<&Packet> = packets
            .iter()
            .copied()
            .filter(|packet| packet.fate == "delivered")
            .collect();
        let delay = delays(&delivered);
        let again = packets.iter().filter(|packet| packet.copy > 1).count();
        let shown = |value: Option<f64>| {
            value.map_or_else(|| "–".to_owned(), |value| with_unit(value, Unit::Seconds))
        };
        let mean = |place: usize| {
            let values = || {
                delivered
                    .iter()
                    .map(|packet| packet.parts[place])
                    .filter(|part| part.is_finite())
            };
            let count = values().count();
            (count > 0).then(|| values().sum::<f64>() / to_f64(count as u64))
        };
        let mut cells = vec![
            flow.to_string(),
            packets.len().to_string(),
            count("delivered"),
            again.to_string(),
            count("queue"),
            count("link"),
            count("open"),
            count("duplicate"),
            shown(delay.map(|delay| delay.0)),
            shown(delay.map(|delay| delay.1)),
        ];
        cells.extend((0..PARTS.len()).map(|place| shown(mean(place))));
        cells
    };
    let headings = [
        "flow",
        "sent",
        "delivered",
        "retransmissions",
        "dropped at the queue",
        "lost on the link",
        "open at the end",
        "duplicates",
        "delay, mean",
        "delay, p95",
    ];
    let parts = PARTS
        .iter()
        .map(|(_, name)| format!("of it {}", name.split(':').next().unwrap_or(name)));
    Table {
        caption: "Packets of each flow, each copy counted".to_owned(),
        headings: headings
            .map(str::to_owned)
            .into_iter()
            .chain(parts)
            .collect(),
        rows: flows.iter().map(row).collect(),
        words: 1,
    }
}

/// The ends of finite values.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        })
}

/// The window, the RTT, the queue and the goodput over time, with losses and retransmissions on the window.
fn panels(series: &Source, packets: &[Packet]) -> Result<Vec<Json>, ReportError> {
    let times = series.numbers(&series.quantity("time")?)?.values;
    let (first, last) = ends(times.iter().copied());
    let flow_of: Vec<String> = (0..times.len())
        .map(|row| series.text(row, "flow"))
        .collect();
    let mut flows: Vec<String> = flow_of.clone();
    flows.sort();
    flows.dedup();
    let mut panels = Vec::new();
    for (column, title) in SERIES {
        if !series.has(column) {
            continue;
        }
        let quantity = series.quantity(column)?;
        let values = series.numbers(&quantity)?.values;
        let (least, most) = ends(values.iter().copied());
        if least > most {
            continue;
        }
        let (size, unit) = quantity.unit.shown(most.abs());
        let extent = Extent {
            x: (first, last),
            y: (least.min(most - 1e-9), most),
            width: 400.0,
            height: 200.0,
        };
        let mut lines = Vec::new();
        for flow in flows.iter().take(FLOWS) {
            let rows = (0..times.len()).filter(|row| {
                flow_of[*row] == *flow && (column == "cwnd" || values[*row].is_finite())
            });
            let points: Vec<Point> = rows
                .map(|row| Point::new(times[row], values[row]))
                .collect();
            let label = if flows.len() > 1 {
                format!("flow {flow}")
            } else {
                title.to_lowercase()
            };
            let steps = column == "cwnd" || column == "queue";
            if column == "cwnd" {
                let of_flow: Vec<&Packet> = packets
                    .iter()
                    .filter(|packet| packet.flow.to_string() == *flow)
                    .collect();
                for (name, dots) in marks(&of_flow, &points, extent) {
                    lines.push((
                        format!(
                            "{name}{}",
                            if flows.len() > 1 {
                                format!(", {label}")
                            } else {
                                String::new()
                            }
                        ),
                        dots,
                        false,
                        false,
                    ));
                }
            }
            lines.push((
                label,
                thin(points, Mark::Line, extent, flows.len()),
                true,
                steps,
            ));
        }
        let series = lines.into_iter().map(|(label, points, line, steps)| {
            json!({
                "label": label,
                "line": line,
                "steps": steps,
                "x": points.iter().map(|point| finite(point.x)).collect::<Vec<_>>(),
                "y": points.iter().map(|point| finite(point.y / size)).collect::<Vec<_>>(),
            })
        });
        let left = flows.len().saturating_sub(FLOWS);
        panels.push(json!({
            "title": title,
            "unit": unit,
            "series": series.collect::<Vec<_>>(),
            "note": if left > 0 { format!("{left} more flows are not drawn.") } else { String::new() },
        }));
    }
    Ok(panels)
}

/// Lost and retransmitted packets at the window of their time.
fn marks(packets: &[&Packet], window: &[Point], extent: Extent) -> Vec<(&'static str, Vec<Point>)> {
    let place = |packet: &&&Packet| {
        let after = window.partition_point(|point| point.x <= packet.times[0]);
        let known = after.checked_sub(1).and_then(|before| window.get(before))?;
        Some(Point::new(packet.times[0], known.y))
    };
    let lost = packets
        .iter()
        .filter(|packet| packet.is_lost())
        .filter_map(|packet| place(&packet));
    let again = packets
        .iter()
        .filter(|packet| packet.copy > 1)
        .filter_map(|packet| place(&packet));
    [
        ("sent and lost", lost.collect::<Vec<Point>>()),
        ("retransmission", again.collect()),
    ]
    .into_iter()
    .filter(|(_, points)| !points.is_empty())
    .map(|(name, points)| (name, thin(points, Mark::Dots, extent, 8)))
    .collect()
}

/// Number of the stretch of `value`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of few stretches"
)]
fn bin(value: f64, (low, high): (f64, f64)) -> usize {
    let share = (value - low) / (high - low).max(f64::MIN_POSITIVE);
    ((share * to_f64(BINS as u64)) as usize).min(BINS - 1)
}

fn middle(bin: usize, (low, high): (f64, f64)) -> f64 {
    low + (to_f64(bin as u64) + 0.5) / to_f64(BINS as u64) * (high - low)
}

/// Mean parts of the delay over the time of sending.
fn parts_over_time(packets: &[Packet]) -> Json {
    let delivered = || {
        packets
            .iter()
            .filter(|packet| packet.parts.iter().all(|part| part.is_finite()))
    };
    let times = ends(packets.iter().map(|packet| packet.times[0]));
    let mut sums = vec![([0.0; 4], 0.0); BINS];
    for packet in delivered() {
        let (sums, count) = &mut sums[bin(packet.times[0], times)];
        for (sum, part) in sums.iter_mut().zip(packet.parts) {
            *sum += part;
        }
        *count += 1.0;
    }
    let filled: Vec<(usize, [f64; 4])> = sums
        .iter()
        .enumerate()
        .filter(|(_, (_, count))| *count > 0.0)
        .map(|(place, (sums, count))| (place, sums.map(|sum| sum / count)))
        .collect();
    let most = filled
        .iter()
        .map(|(_, parts)| parts.iter().sum::<f64>())
        .fold(0.0, f64::max);
    let (size, unit) = Unit::Seconds.shown(most);
    json!({
        "unit": unit,
        "names": PARTS.map(|(_, name)| name),
        "x": filled.iter().map(|(place, _)| finite(middle(*place, times))).collect::<Vec<_>>(),
        "y": (0..4).map(|part| filled.iter().map(|(_, parts)| finite(parts[part] / size)).collect::<Vec<_>>()).collect::<Vec<_>>(),
    })
}

/// Share of the LLDUs of a timeline that arrived by a repeat, and that never did.
fn repeats(timeline: &Source) -> Result<Option<Json>, ReportError> {
    if !timeline.has("tx_time") || !timeline.has("attempts") {
        return Err(ReportError::Data(
            "found a table without the columns of a timeline beside the packet log, expected the timeline of the run".to_owned(),
        ));
    }
    let times = timeline.numbers(&timeline.quantity("tx_time")?)?.values;
    let attempts = timeline.numbers(&timeline.quantity("attempts")?)?.values;
    let delays = timeline
        .numbers(&timeline.quantity("decode_delay")?)?
        .values;
    let stretch = ends(times.iter().copied());
    let mut counts = vec![[0.0; 3]; BINS];
    for ((time, attempts), delay) in times
        .iter()
        .zip(&attempts)
        .zip(&delays)
        .filter(|((time, _), _)| time.is_finite())
    {
        let counts = &mut counts[bin(*time, stretch)];
        counts[0] += 1.0;
        counts[1] += f64::from(u8::from(*attempts > 1.0 && *delay > 0.0));
        counts[2] += f64::from(u8::from(*delay <= 0.0 || delay.is_nan()));
    }
    let filled: Vec<(usize, [f64; 3])> = counts
        .into_iter()
        .enumerate()
        .filter(|(_, counts)| counts[0] > 0.0)
        .collect();
    let line = |label: &str, place: usize| {
        json!({
            "label": label,
            "line": true,
            "x": filled.iter().map(|(bin, _)| finite(middle(*bin, stretch))).collect::<Vec<_>>(),
            "y": filled.iter().map(|(_, counts)| finite(counts[place] / counts[0] * 100.0)).collect::<Vec<_>>(),
        })
    };
    Ok(Some(json!({
        "title": "Repeats on the link",
        "unit": "% of LLDUs",
        "series": [line("delivered by a repeat", 1), line("never delivered", 2)],
        "note": "By the time of the first transmission.",
    })))
}

/// Packets in the data: all, or all losses and retransmissions that fit, and others evenly; with a warning.
fn chosen(packets: &[Packet]) -> (Vec<&Packet>, Option<String>) {
    if packets.len() <= PACKETS {
        return (packets.iter().collect(), None);
    }
    let is_special = |packet: &Packet| packet.is_lost() || packet.copy > 1;
    let special = packets.iter().filter(|packet| is_special(packet)).count();
    let every_special = special.div_ceil(PACKETS / 2).max(1);
    let room = PACKETS - special.div_ceil(every_special);
    let every_other = (packets.len() - special).div_ceil(room).max(1);
    let mut seen = [0; 2];
    let kept = packets.iter().filter(|packet| {
        let (seen, every) = if is_special(packet) {
            (&mut seen[0], every_special)
        } else {
            (&mut seen[1], every_other)
        };
        *seen += 1;
        (*seen - 1) % every == 0
    });
    let kept: Vec<&Packet> = kept.collect();
    let which = if every_special == 1 {
        "all losses and retransmissions among them"
    } else {
        "losses and retransmissions first"
    };
    let warning = format!(
        "The page holds the ways of {} of {}, {which}; tables and parts of the delay count all",
        kept.len(),
        counted(packets.len(), "packet")
    );
    (kept, Some(warning))
}

/// The packets by column. Times are in ms, so that they are short.
fn columns(packets: &[&Packet]) -> Json {
    let time = |place: usize| {
        packets
            .iter()
            .map(|packet| milliseconds(packet.times[place]))
            .collect::<Vec<_>>()
    };
    let part = |place: usize| {
        packets
            .iter()
            .map(|packet| milliseconds(packet.parts[place]))
            .collect::<Vec<_>>()
    };
    json!({
        "flow": packets.iter().map(|packet| packet.flow).collect::<Vec<_>>(),
        "packet": packets.iter().map(|packet| packet.number).collect::<Vec<_>>(),
        "copy": packets.iter().map(|packet| packet.copy).collect::<Vec<_>>(),
        "fate": packets.iter().map(|packet| packet.fate.as_str()).collect::<Vec<_>>(),
        "times_ms": (0..6).map(time).collect::<Vec<_>>(),
        "parts_ms": (0..4).map(part).collect::<Vec<_>>(),
    })
}

/// A time in ms to the microsecond.
fn milliseconds(seconds: f64) -> Json {
    let micros = (seconds * 1e6).round();
    serde_json::Number::from_f64(rounded(micros / 1e3, 12)).map_or(Json::Null, Json::Number)
}
