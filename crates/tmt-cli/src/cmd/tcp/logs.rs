//! What a run writes down beside its report: files that watch it.

use fluid_tcp::experiment::{Experiment, LinkKind, LinkPlan, PathKind, Plan, RunId};
use fluid_tcp::log::{
    Explain, HEADERS, LARGEST, PacketLog, Pcap, PcapFlow, Qlog, Series, SlotLog, Story,
};
use fluid_tcp::simulation::Setup;
use fluid_tcp::simulation::probe::{All, Probe};
use tmt_core::format::table::TableForm;

use super::args::Args;
use super::explain::PacketFlag;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, is_stdout, refuse_twice};
use crate::provenance::{TOOL, new_head};

/// The files that the flags ask for, as typed; a capture has one at each end.
fn files(args: &Args) -> Vec<(&'static str, String)> {
    let mut files: Vec<(&str, String)> = [
        ("--packets", &args.packets),
        ("--series", &args.series),
        ("--slots", &args.slots),
        ("--qlog", &args.qlog),
    ]
    .into_iter()
    .filter_map(|(flag, path)| Some((flag, path.clone()?)))
    .collect();
    if let Some(path) = &args.pcap {
        files.extend(ENDS.map(|end| ("--pcap", capture(path, end))));
    }
    files
}

/// The ends of a connection, as the names of captures have them.
const ENDS: [&str; 2] = ["sender", "receiver"];

/// The name of the capture at one end.
fn capture(path: &str, end: &str) -> String {
    let stem = path.strip_suffix(".pcap").unwrap_or(path);
    format!("{stem}-{end}.pcap")
}

/// Whether the runs are watched at all.
pub(super) fn are_asked_for(args: &Args) -> bool {
    args.explain.is_some() || !files(args).is_empty()
}

/// The name of a log of `run`.
fn name(path: &str, run: RunId) -> String {
    let path = path.replace("{seed}", &run.seed.to_string());
    let (number, _) = run.offset.unwrap_or_default();
    path.replace("{offset}", &number.to_string())
}

/// Refuses to follow a packet of a flow that does not exist.
pub(super) fn check_flow(args: &Args, flows: usize) -> Outcome {
    match args.explain.filter(|wanted| wanted.flow >= flows) {
        Some(wanted) => Err(Failure::usage(format!(
            "--explain: found flow {}, expected one of the {flows} flows, counted from 0",
            wanted.flow
        ))),
        None => Ok(()),
    }
}

/// Refuses logs that do not go with `experiment`, and names that cannot be written, or not by all runs.
pub(super) fn check(args: &Args, experiment: &Experiment) -> Outcome {
    let files = files(args);
    let explained = args.explain.map(|_| "--explain");
    let mut watched = files.iter().map(|(flag, _)| *flag).chain(explained);
    if let Some(flag) = watched.next()
        && experiment.compares()
    {
        return Err(Failure::usage(format!(
            "{flag} has no meaning with --compare-links: run each link by itself"
        )));
    }
    if args.slots.is_some() && experiment.link() != LinkKind::Coupled {
        return Err(Failure::usage(format!(
            "--slots has no meaning with --link {}",
            experiment.link()
        )));
    }
    for path in [&args.packets, &args.series, &args.slots]
        .into_iter()
        .flatten()
    {
        TableForm::of_name(path).map_err(Failure::usage)?;
    }
    if args.pcap.is_some() && experiment.path() == PathKind::Split {
        return Err(Failure::usage(
            "--pcap: a split path has two connections, a capture shows the ends of one",
        ));
    }
    if args.pcap.as_deref().is_some_and(is_stdout) {
        return Err(Failure::usage(
            "--pcap -: found stdout, expected a name, as there is a file for each end",
        ));
    }
    if args.pcap.is_some() && !(HEADERS + 1..=LARGEST).contains(&experiment.packet().0) {
        return Err(Failure::usage(format!(
            "--pcap: found packets of {}, expected {} B to {LARGEST} B, as {HEADERS} B of each are the headers of IPv4 and TCP",
            experiment.packet(),
            HEADERS + 1
        )));
    }
    for (flag, path) in &files {
        let offsets = experiment.offsets.map_or(1, |offsets| offsets.count);
        let several = [
            (offsets > 1, "{offset}"),
            (experiment.seeds().0 > 1, "{seed}"),
        ];
        let lacking = |(several, key): &(bool, &str)| *several && !path.contains(key);
        if let Some((_, key)) = several.into_iter().find(lacking) {
            return Err(Failure::usage(format!(
                "{flag} of several runs needs {key} in the file's name"
            )));
        }
        if experiment.offsets.is_none() && path.contains("{offset}") {
            return Err(Failure::usage(format!(
                "{flag} {path}: {{offset}} has no meaning without --offsets"
            )));
        }
    }
    let saved = args.save_params.clone().map(|path| ("--save-params", path));
    let beside = files.iter().chain(&saved);
    let mut to_stdout = beside.filter(|(_, path)| is_stdout(path));
    if let Some((flag, _)) = to_stdout.next()
        && args.output.as_deref().is_none_or(is_stdout)
    {
        return Err(Failure::usage(format!(
            "{flag} - and the report cannot both go to stdout: say --output"
        )));
    }
    // One file may be both ways of the link.
    let trace = experiment.trace.as_ref();
    let return_trace = experiment.return_trace.as_ref();
    let fixed = [
        trace,
        return_trace.filter(|path| trace != Some(path)),
        args.output.as_ref(),
        args.params.as_ref(),
        args.save_params.as_ref(),
    ]
    .into_iter()
    .flatten()
    .cloned();
    let first = experiment.seed().0;
    let logs = (first..first.saturating_add(experiment.seeds().0)).flat_map(|seed| {
        let expand = move |path: &String| path.replace("{seed}", &seed.to_string());
        files.iter().map(move |(_, path)| expand(path))
    });
    let paths: Vec<String> = fixed.chain(logs).collect();
    refuse_twice(paths.iter().map(String::as_str))
}

/// The logs of one run.
pub(super) struct Logs<'a> {
    args: &'a Args,
    packets: Option<PacketLog<Output>>,
    series: Option<Series<Output>>,
    slots: Option<SlotLog<Output>>,
    pcap: Option<Pcap<Output>>,
    qlog: Option<Qlog<Output>>,
    explain: Option<Explain>,
}

impl<'a> Logs<'a> {
    /// Opens what the flags ask for.
    pub(super) fn open(args: &'a Args, plan: &Plan, setup: &Setup, run: RunId) -> Outcome<Self> {
        let flows = setup.flows.len();
        let open = |path: &str| Output::create(Some(&name(path, run)));
        let mut head = new_head("tmt tcp");
        plan.describe(&mut head, setup, run.seed);
        head.push("log", "packets");
        let packets = table(args.packets.as_deref(), |path, form| {
            PacketLog::new(open(path)?, form, &head, setup).map_err(|e| Failure::io(path, &e))
        })?;
        head.set("log", "series");
        let series = table(args.series.as_deref(), |path, form| {
            let interval = args.series_interval;
            Series::new(open(path)?, form, &head, flows, interval)
                .map_err(|e| Failure::io(path, &e))
        })?;
        head.set("log", "slots");
        let slots = table(args.slots.as_deref(), |path, form| {
            SlotLog::new(open(path)?, form, &head).map_err(|e| Failure::io(path, &e))
        })?;
        let pcap = args.pcap.as_deref().map(|path| {
            let flows = setup.flows.iter().map(|flow| PcapFlow {
                sack: flow.endpoint.sack,
                rwnd: flow.endpoint.rwnd,
            });
            let [sender, receiver] = ENDS.map(|end| open(&capture(path, end)));
            Pcap::new(sender?, receiver?, setup.packet, flows).map_err(|e| Failure::io(path, &e))
        });
        let qlog = args.qlog.as_deref().map(|path| {
            let output = open(path)?;
            Qlog::new(output, setup.packet, flows, TOOL, &plan.settings)
                .map_err(|e| Failure::io(path, &e))
        });
        let explain = args
            .explain
            .map(|wanted| Explain::new(wanted.flow, wanted.packet, setup));
        Ok(Self {
            args,
            packets,
            series,
            slots,
            pcap: pcap.transpose()?,
            qlog: qlog.transpose()?,
            explain,
        })
    }

    /// Those who watch the run.
    pub(super) fn probes(&mut self) -> All<'_> {
        fn watch<P: Probe>(probe: &mut Option<P>) -> Option<&mut dyn Probe> {
            probe.as_mut().map(|probe| probe as &mut dyn Probe)
        }
        let probes = [
            watch(&mut self.packets),
            watch(&mut self.series),
            watch(&mut self.slots),
            watch(&mut self.pcap),
            watch(&mut self.qlog),
            watch(&mut self.explain),
        ];
        All(probes.into_iter().flatten().collect())
    }

    /// Writes what is left, and gives the story that was asked for; the files are yet to be made final.
    pub(super) fn finish(self, plan: &Plan, outputs: &mut Vec<Output>) -> Outcome<Option<Story>> {
        let args = self.args;
        let pcap = self.pcap.map(Pcap::finish).transpose();
        let logs = [
            (&args.packets, self.packets.map(PacketLog::finish)),
            (&args.series, self.series.map(Series::finish)),
            (&args.slots, self.slots.map(SlotLog::finish)),
            (&args.qlog, self.qlog.map(Qlog::finish)),
        ];
        for (path, log) in logs {
            outputs.extend(
                log.transpose()
                    .map_err(|error| failed(path.as_ref(), &error))?,
            );
        }
        let pcap = pcap.map_err(|error| failed(args.pcap.as_ref(), &error))?;
        outputs.extend(pcap.into_iter().flatten());
        let (Some(explain), Some(PacketFlag { flow, packet })) = (self.explain, args.explain)
        else {
            return Ok(None);
        };
        let mut story = explain.finish().map_err(|sent| {
            Failure::failed(format!(
                "--explain: packet {packet} of flow {flow} was never sent: found {sent} packets sent, counted from 0"
            ))
        })?;
        // A packet's slots do not say what became of its LLDUs: their repeats are not among them.
        if let LinkPlan::Timeline(link) = &plan.link {
            story.add_lldus(&link.timeline, link.period);
        }
        Ok(Some(story))
    }
}

/// Opens a table where there is a path, in the form that its name asks for.
fn table<T>(
    path: Option<&str>,
    open: impl FnOnce(&str, TableForm) -> Outcome<T>,
) -> Outcome<Option<T>> {
    path.map(|path| open(path, TableForm::of_name(path).map_err(Failure::usage)?))
        .transpose()
}

/// The failure of the log that went to `path`.
fn failed(path: Option<&String>, error: &std::io::Error) -> Failure {
    Failure::io(path.map_or("", |path| path), error)
}
