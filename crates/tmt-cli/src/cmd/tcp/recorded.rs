//! `--compare-log`: a run beside a packet log whose losses it repeats (docs/replay.md, Sec. 5).

use fluid_tcp::log::{Course, PacketLog, Recording, RecordingError, Stretch, Totals};
use fluid_tcp::simulation::probe::{All, Probe};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tmt_core::format::records::{Records, cells};
use tmt_core::format::table::TableForm;
use tmt_core::types::Span;

use super::args::Args;
use super::given::Source;
use super::simulated::Simulated;
use super::spool::Files;
use crate::exit::{Failure, Outcome, headline, warning};
use crate::input::{Input, open_table};
use crate::output::document::{self, Document, object};
use crate::output::{Output, refuse_shared_files, table_form};
use crate::provenance::new_head;
use crate::table::{Show, Table, write};

const SCHEMA: &str = "tmt.tcp-compare-log/1";

/// Most stretches of time: each looks at all packets.
const MOST: u64 = 20_000;

/// Stretches of the text, and of the table of `--series` if no interval is given.
const SHOWN: u64 = 20;
const WRITTEN: u64 = 200;

/// Metrics that are compared: name in JSON, label with its unit, and format.
const COMPARED: [(&str, &str, Show); 8] = [
    ("goodput_bps", "goodput kbit/s", Show::Kilo),
    ("packets_sent", "packets sent", Show::Count),
    ("packets_retransmitted", "retransmissions", Show::Count),
    ("packets_dropped", "dropped by the queue", Show::Count),
    ("packets_lost", "lost on the link", Show::Count),
    ("packets_delivered", "packets delivered", Show::Count),
    ("delay_mean_s", "delay ms", Show::Milli),
    ("in_flight_packets", "in flight packets", Show::Decimals(3)),
];

/// Both runs, and their difference in percent of the recorded one.
#[derive(Debug, Serialize)]
struct Results {
    /// `real` or `simulated`.
    hosts: &'static str,
    recorded: Totals,
    model: Totals,
    /// None where the recorded run has no value, or zero.
    difference_percent: Map<String, Value>,
    intervals: Vec<Interval>,
}

/// The same stretch of time of one of the runs.
#[derive(Debug, Clone, Serialize)]
struct Interval {
    run: &'static str,
    #[serde(flatten)]
    stretch: Stretch,
}

pub(super) fn run(args: &Args, path: &str, source: &Source) -> Outcome {
    check(args, path, source)?;
    let Input { name, reader } = open_table("tcp", Some(path))?;
    let refused = |error: RecordingError| {
        Failure::failed(format!("{name}: {}", source.named(&error.to_string())))
    };
    let recording = Recording::read(reader).map_err(refused)?;
    let experiment = recording.experiment(source.experiment.clone(), args.compare_drops.into());
    let experiment = experiment.map_err(refused)?;
    let plan = experiment.resolve(&Files::here());
    let plan = plan.map_err(|error| source.failure(error))?;
    headline!("tcp", "{}", plan.headline(&experiment));
    source.print_notes(&plan.notes);
    notes(&recording, &name, &plan.settings);
    let mut output = Output::create(args.output.as_deref())?;
    let series = args.series.as_ref().map(|path| {
        let output = Output::create(Some(path))?;
        Ok::<_, Failure>((output, table_form(path)?))
    });
    let series = series.transpose()?;
    let first = plan.runs().into_iter().next();
    let run = first.ok_or_else(|| Failure::failed("found no run, expected one"))?;
    let setup = recording
        .setup(&plan, run, args.compare_drops.into())
        .map_err(refused)?;
    let mut head = new_head("tmt tcp");
    plan.describe(&mut head, &setup, run.seed);
    let log = PacketLog::new(Vec::new(), TableForm::Text(None), &head, &setup);
    let mut log = log.map_err(Failure::failed)?;
    let packets = args.packets.as_ref().map(|path| {
        let log = PacketLog::new(
            Output::create(Some(path))?,
            table_form(path)?,
            &head,
            &setup,
        );
        log.map_err(|error| Failure::io(path, &error))
    });
    let mut packets = packets.transpose()?;
    let work = Simulated::of(&plan, 1);
    let ran = work.watch(|clock| {
        let mut probes: Vec<&mut dyn Probe> = vec![&mut log, clock];
        probes.extend(packets.as_mut().map(|log| log as &mut dyn Probe));
        plan.run_with(run, &setup, &mut All(probes))
    });
    ran.map_err(|error| source.failure(error))?;
    let log = log.finish().map_err(Failure::failed)?;
    let model = Recording::read(&log[..]).map_err(|error| Failure::failed(error.to_string()))?;
    if model.len() > recording.len() {
        let more = model.len() - recording.len();
        headline!(
            "tcp",
            "the model sends {more} packets more than the log has, without losses"
        );
    }
    let courses = [Course::of(&recording, &setup), Course::of(&model, &setup)];
    // Both over the same time.
    let begin = courses[0].span().0.min(courses[1].span().0);
    let courses = courses.map(|course| course.since(begin));
    let [recorded, modelled] = courses.each_ref().map(Course::totals);
    let length = courses[0].span();
    let length = length.1.since(length.0);
    let [shown, written] = steps(args, length)?;
    let results = Results {
        hosts: if recording.is_of_real_hosts() {
            "real"
        } else {
            "simulated"
        },
        difference_percent: differences(&recorded, &modelled)?,
        recorded,
        model: modelled,
        intervals: intervals(&courses, shown),
    };
    let document = Document::new(SCHEMA, &plan.params, &results);
    write(&mut output, args.json, &document, |results| text(results))?;
    let mut outputs = vec![output];
    outputs.extend(
        packets
            .map(PacketLog::finish)
            .transpose()
            .map_err(Failure::failed)?,
    );
    if let Some((mut output, form)) = series {
        let mut table = Records::default();
        for interval in intervals(&courses, written) {
            table.row(cells(&object(&interval)?));
        }
        document::write(&table, &mut output, form, SCHEMA, &[])?;
        outputs.push(output);
    }
    outputs.iter_mut().try_for_each(Output::close)?;
    outputs.into_iter().try_for_each(Output::finish)
}

/// Lengths of the stretches that are shown, and of those that are written.
fn steps(args: &Args, length: Span) -> Outcome<[Span; 2]> {
    let part = |parts: u64| Span::from_nanos(length.as_nanos().div_ceil(parts).max(1));
    let steps = [
        args.interval.or(part(SHOWN)),
        args.series_interval.or(args.interval).or(part(WRITTEN)),
    ];
    let steps = steps.map(|step| step.unwrap_or(length));
    for step in steps {
        let stretches = length.as_nanos().div_ceil(step.as_nanos().max(1));
        if stretches > MOST {
            return Err(Failure::usage(format!(
                "found {stretches} stretches of {step}, expected at most {MOST}: a longer --interval or --series-interval"
            )));
        }
    }
    Ok(steps)
}

/// Refuses outputs of a usual run, and files that would be shared.
fn check(args: &Args, path: &str, source: &Source) -> Outcome {
    for (flag, given) in [
        ("--delays", args.delays.is_some()),
        ("--slots", args.slots.is_some()),
        ("--qlog", args.qlog.is_some()),
        ("--pcap", args.pcap.is_some()),
        ("--explain", args.explain.is_some()),
        ("--results", args.results.is_some()),
        ("--save-params", args.save_params.is_some()),
        ("--compare-links", source.experiment.compares()),
    ] {
        if given {
            return Err(Failure::usage(format!(
                "{flag} cannot be combined with --compare-log, which prints a run beside its log; --series writes both over time, --packets the packets of the model"
            )));
        }
    }
    let lengths = [args.interval, args.series_interval];
    if lengths.into_iter().flatten().any(Span::is_zero) {
        return Err(Failure::usage(
            "--interval or --series-interval: found 0s, expected a duration above 0",
        ));
    }
    let trace = source.experiment.trace.as_deref();
    let files = [
        Some(path),
        trace,
        args.output.as_deref(),
        args.series.as_deref(),
        args.packets.as_deref(),
    ];
    refuse_shared_files(files.into_iter().flatten())
}

/// Says what is not compared.
fn notes(recording: &Recording, name: &str, settings: &str) {
    let [more, lost] = recording.left_out();
    if more > 0 {
        headline!(
            "tcp",
            "{name}: {more} packets of other sizes are left out, {lost} of them lost: data are packets of full size"
        );
    }
    if let Some(of_log) = recording.settings().filter(|of_log| *of_log != settings) {
        warning!(
            "tcp",
            "{name} is of other hosts than the model: found {of_log}, expected {settings}"
        );
    }
}

/// Differences in percent of what is recorded.
fn differences(recorded: &Totals, model: &Totals) -> Outcome<Map<String, Value>> {
    let (recorded, model) = (object(recorded)?, object(model)?);
    let difference = |(key, _, _): &(&str, &str, Show)| {
        let [one, other] = [&recorded, &model].map(|of| of.get(*key).and_then(Value::as_f64));
        let percent = one.zip(other).and_then(|(one, other)| match one {
            0.0 => None,
            one => Some(100.0 * (other - one) / one),
        });
        ((*key).to_owned(), json!(percent))
    };
    Ok(COMPARED.iter().map(difference).collect())
}

/// Both runs in stretches of this length, from the first packet of the log.
fn intervals(courses: &[Course<'_>; 2], length: Span) -> Vec<Interval> {
    let (begin, _) = courses[0].span();
    let of = |run, course: &Course<'_>| {
        let stretches = course.stretches(begin, length).into_iter();
        let all: Vec<_> = stretches.map(|stretch| Interval { run, stretch }).collect();
        all
    };
    let [recorded, model] = courses;
    [of("recorded", recorded), of("model", model)].concat()
}

fn text(results: &Results) -> String {
    let value = |of: &Totals, key: &str| object(of).ok()?.get(key)?.as_f64();
    let totals = Table::of(COMPARED)
        .words("", |(_, label, _)| *label)
        .plain("recorded", |(key, _, show)| {
            show.text(value(&results.recorded, key))
        })
        .plain("model", |(key, _, show)| {
            show.text(value(&results.model, key))
        })
        .number("difference %", Show::Decimals(2), |(key, _, _)| {
            results.difference_percent.get(*key)?.as_f64()
        });
    let half = results.intervals.len() / 2;
    let (recorded, model) = results.intervals.split_at(half);
    let over_time = Table::of(recorded.iter().zip(model))
        .number("until s", Show::Decimals(3), |(one, _)| one.stretch.time_s)
        .number("goodput kbit/s: recorded", Show::Kilo, |(one, _)| {
            one.stretch.goodput_bps
        })
        .number("model", Show::Kilo, |(_, other)| other.stretch.goodput_bps)
        .number("in flight: recorded", Show::Decimals(1), |(one, _)| {
            one.stretch.in_flight_packets
        })
        .number("model", Show::Decimals(1), |(_, other)| {
            other.stretch.in_flight_packets
        });
    format!("{totals}\n{over_time}")
}
