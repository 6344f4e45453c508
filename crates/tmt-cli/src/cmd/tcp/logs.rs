//! Log files of a run.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io;

use fluid_tcp::experiment::{Experiment, LinkKind, LinkPlan, PARAMETERS, PathKind, Plan, RunId};
use fluid_tcp::log::{
    Delays, Explain, Intervals, PacketHistory, PacketLog, Pcap, Qlog, Series, SlotLog, check_packet,
};
use fluid_tcp::simulation::Setup;
use fluid_tcp::simulation::probe::{All, Probe};
use tmt_core::types::Span;

use super::args::Args;
use super::explain::PacketFlag;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, is_stdout, refuse_shared_files, table_form};
use crate::provenance::{TOOL, new_head};

/// The log files, with paths as typed. A capture has one file per host.
fn files(args: &Args) -> Vec<(&'static str, String)> {
    let logs = [
        ("--packets", &args.packets),
        ("--series", &args.series),
        ("--delays", &args.delays),
        ("--slots", &args.slots),
        ("--qlog", &args.qlog),
    ];
    let logs = logs
        .into_iter()
        .filter_map(|(flag, path)| Some((flag, path.clone()?)));
    let ends = |path: &String| ENDS.map(|end| ("--pcap", capture(path, end)));
    logs.chain(args.pcap.iter().flat_map(ends)).collect()
}

/// The hosts of a connection, as in the names of captures.
const ENDS: [&str; 2] = ["sender", "receiver"];

/// Name of the capture at one host.
fn capture(path: &str, end: &str) -> String {
    let stem = path.strip_suffix(".pcap").unwrap_or(path);
    format!("{stem}-{end}.pcap")
}

/// Whether any log is requested.
pub(super) fn are_asked_for(args: &Args) -> bool {
    args.explain.is_some() || args.interval.is_some() || !files(args).is_empty()
}

/// Name of a log of `run`.
fn name(path: &str, run: RunId) -> String {
    let path = path.replace("{seed}", &run.seed.to_string());
    let (number, _) = run.offset.unwrap_or_default();
    path.replace("{offset}", &number.to_string())
}

/// Refuses the flags if `wrong`.
fn refuse(wrong: bool, why: impl Display) -> Outcome {
    if wrong {
        return Err(Failure::usage(why));
    }
    Ok(())
}

/// Most lines of `--interval`, which stay in memory until the report.
const MAX_LINES: u64 = 1_000_000;

/// Refuses what shows only once the run is known: `--explain` of a flow that does not exist, and too many lines of
/// `--interval`.
pub(super) fn check_plan(args: &Args, plan: &Plan) -> Outcome {
    let flows = plan.flows.len();
    if let Some(length) = args.interval {
        let run = plan.end.since(plan.begin());
        let per_interval = flows as u64 + u64::from(flows > 1);
        let intervals = run.as_nanos().div_ceil(length.as_nanos().max(1));
        let lines = intervals.saturating_mul(per_interval);
        let why = format_args!(
            "--interval {length}: found {lines} lines in a run of {run}, expected at most {MAX_LINES}; use a longer interval, or --series FILE"
        );
        refuse(lines > MAX_LINES, why)?;
    }
    let flow = args.explain.map_or(0, |wanted| wanted.flow);
    let expected = if flows == 1 {
        "flow 0, the only one".to_owned()
    } else {
        format!("0 to {}", flows.saturating_sub(1))
    };
    let why = format!("--explain: found flow {flow}, expected {expected}");
    refuse(args.explain.is_some() && flow >= flows, why)
}

/// Refuses logs that `experiment` does not support, and file names that cannot be written or would be shared.
pub(super) fn check(args: &Args, experiment: &Experiment) -> Outcome {
    let files = files(args);
    let explained = args.explain.map(|_| "--explain");
    let per_interval = args.interval.map(|_| "--interval");
    let mut watched = files
        .iter()
        .map(|(flag, _)| *flag)
        .chain(explained)
        .chain(per_interval);
    if let Some(flag) = watched.next() {
        let why = "cannot be combined with --compare-links; run each link by itself";
        refuse(experiment.compares(), format_args!("{flag} {why}"))?;
    }
    let link = experiment.link();
    let why = format_args!("--slots needs --link coupled, found --link {link}");
    refuse(args.slots.is_some() && link != LinkKind::Coupled, why)?;
    let tables = [&args.packets, &args.series, &args.delays, &args.slots];
    for path in tables.into_iter().flatten() {
        table_form(path)?;
    }
    if let Some(path) = &args.pcap {
        let why = "--pcap cannot be combined with --path split, which has two connections: a capture shows the hosts of one";
        refuse(experiment.path() == PathKind::Split, why)?;
        let why = "--pcap -: found stdout, expected a file name, as each host has its own file";
        refuse(is_stdout(path), why)?;
        let headers = experiment.headers;
        let headers = headers.unwrap_or_else(|| experiment.profile().endpoint().headers);
        if let Err(why) = check_packet(experiment.packet(), headers) {
            refuse(true, format_args!("--pcap: {why}"))?;
        }
    }
    let offsets = experiment.offsets.map_or(1, |offsets| offsets.count.into());
    let seeds = experiment.seeds().0;
    let why = "--interval prints the intervals of one run, found several; --series FILE writes those of each";
    refuse(args.interval.is_some() && (offsets > 1 || seeds > 1), why)?;
    let why = "--interval 0s: expected a duration above 0";
    refuse(args.interval.is_some_and(Span::is_zero), why)?;
    for (flag, path) in &files {
        for (runs, key) in [(offsets, "{offset}"), (seeds, "{seed}")] {
            let why = format_args!("{flag} {path}: several runs need {key} in the file name");
            refuse(runs > 1 && !path.contains(key), why)?;
        }
        let needless = experiment.offsets.is_none() && path.contains("{offset}");
        let why = format_args!("{flag} {path}: {{offset}} needs --offsets");
        refuse(needless, why)?;
    }
    let saved = args.save_params.clone().map(|path| ("--save-params", path));
    let results = args.results.clone().map(|path| ("--results", path));
    if let Some((_, path)) = &results {
        table_form(path)?;
    }
    let mut beside = files.iter().chain(&saved).chain(&results);
    if let Some((flag, _)) = beside.find(|(_, path)| is_stdout(path)) {
        let why = format_args!("{flag} - and the report cannot both go to stdout; add --output");
        refuse(args.output.as_deref().is_none_or(is_stdout), why)?;
    }
    // One file can be the trace of several paths.
    let given = PARAMETERS.iter().filter(|parameter| parameter.is_trace());
    let traces: BTreeSet<_> = given.filter_map(|it| it.text(experiment)).collect();
    let others = [&args.output, &args.params, &args.save_params, &args.results];
    let others = others.into_iter().map(Option::as_ref);
    let fixed = traces.into_iter().chain(others.flatten().cloned());
    let first = experiment.seed().0;
    let logs = (first..first.saturating_add(seeds)).flat_map(|seed| {
        let expand = move |path: &String| path.replace("{seed}", &seed.to_string());
        files.iter().map(move |(_, path)| expand(path))
    });
    let paths: Vec<String> = fixed.chain(logs).collect();
    refuse_shared_files(paths.iter().map(String::as_str))
}

/// One log of a run.
enum Log {
    Packets(PacketLog<Output>),
    Series(Series<Output>),
    Delays(Box<Delays<Output>>),
    Slots(SlotLog<Output>),
    Qlog(Qlog<Output>),
    Pcap(Pcap<Output>),
}

impl Log {
    fn probe(&mut self) -> &mut dyn Probe {
        match self {
            Self::Packets(log) => log,
            Self::Series(log) => log,
            Self::Delays(log) => &mut **log,
            Self::Slots(log) => log,
            Self::Qlog(log) => log,
            Self::Pcap(log) => log,
        }
    }

    /// Writes the rest of the log.
    fn finish(self) -> io::Result<Vec<Output>> {
        let output = match self {
            Self::Packets(log) => log.finish(),
            Self::Series(log) => log.finish(),
            Self::Delays(log) => log.finish(),
            Self::Slots(log) => log.finish(),
            Self::Qlog(log) => log.finish(),
            Self::Pcap(log) => return log.finish().map(Vec::from),
        };
        Ok(vec![output?])
    }
}

/// The logs of one run.
pub(super) struct Logs<'a> {
    /// Each with its path as typed.
    files: Vec<(&'a str, Log)>,
    explain: Option<(PacketFlag, Explain)>,
    intervals: Option<Intervals>,
}

impl<'a> Logs<'a> {
    /// Opens the requested logs.
    pub(super) fn open(args: &'a Args, plan: &Plan, setup: &Setup, run: RunId) -> Outcome<Self> {
        let flows = setup.flow_count();
        let open = |path: &str| Output::create(Some(&name(path, run)));
        let mut head = new_head("tmt tcp");
        plan.describe(&mut head, setup, run.seed);
        let mut logs = Vec::new();
        for (kind, path) in [
            ("packets", &args.packets),
            ("series", &args.series),
            ("delays", &args.delays),
            ("slots", &args.slots),
            ("qlog", &args.qlog),
            ("pcap", &args.pcap),
        ] {
            let Some(path) = path else { continue };
            head.set("log", kind);
            let form = || table_form(path);
            let log = match kind {
                "packets" => PacketLog::new(open(path)?, form()?, &head, setup).map(Log::Packets),
                "series" => {
                    let interval = args.series_interval;
                    Series::new(open(path)?, form()?, &head, setup, interval).map(Log::Series)
                }
                "delays" => Delays::new(open(path)?, form()?, &head, setup)
                    .map(|log| Log::Delays(Box::new(log))),
                "slots" => SlotLog::new(open(path)?, form()?, &head).map(Log::Slots),
                "qlog" => {
                    Qlog::new(open(path)?, setup.packet, flows, TOOL, &plan.settings).map(Log::Qlog)
                }
                _ => {
                    let [sender, receiver] = ENDS.map(|end| open(&capture(path, end)));
                    Pcap::new(sender?, receiver?, setup).map(Log::Pcap)
                }
            };
            logs.push((&**path, log.map_err(|error| Failure::io(path, &error))?));
        }
        let explain = args
            .explain
            .map(|wanted| (wanted, Explain::new(wanted.flow, wanted.packet, setup)));
        let intervals = args.interval.map(|length| Intervals::new(setup, length));
        Ok(Self {
            files: logs,
            explain,
            intervals,
        })
    }

    /// The probes of the run.
    pub(super) fn probes(&mut self) -> All<'_> {
        let logs = self.files.iter_mut().map(|(_, log)| log.probe());
        let explain = self.explain.iter_mut();
        let explain = explain.map(|(_, explain)| explain as &mut dyn Probe);
        let intervals = self.intervals.iter_mut();
        let intervals = intervals.map(|intervals| intervals as &mut dyn Probe);
        All(logs.chain(explain).chain(intervals).collect())
    }

    /// Writes the rest of the logs, closes them and returns the explanation, if requested. The files still have temporary names. The lines of
    /// intervals go to `report`.
    pub(super) fn finish(
        self,
        plan: &Plan,
        report: &mut Output,
        outputs: &mut Vec<Output>,
    ) -> Outcome<Option<PacketHistory>> {
        if let Some(intervals) = self.intervals {
            report.write(intervals.finish().as_bytes())?;
            report.write(b"\n")?;
        }
        for (path, log) in self.files {
            let mut files = log.finish().map_err(|error| Failure::io(path, &error))?;
            // Closed, as the logs of many runs would exceed the number of open files.
            files.iter_mut().try_for_each(Output::close)?;
            outputs.extend(files);
        }
        let Some((PacketFlag { flow, packet }, explain)) = self.explain else {
            return Ok(None);
        };
        let mut story = explain.finish().map_err(|sent| {
            Failure::failed(format!(
                "--explain: packet {packet} of flow {flow} was never sent: found {sent} packets sent, counted from 0"

            ))
        })?;
        // The slots of a packet exclude the repeats of its LLDUs, so only a timeline has their fate.
        if let LinkPlan::Timeline(link) = &plan.link {
            story.add_lldus(&link.rows, link.period);
        }
        Ok(Some(story))
    }
}
