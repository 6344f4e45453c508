//! Logs of a run, each written on a thread of its own.

use std::io;
use std::thread::JoinHandle;

use fluid_tcp::experiment::{LinkPlan, Plan, RunId};
use fluid_tcp::log::{HostSeries, PacketLog, SlotLog};
use fluid_tcp::simulation::Setup;
use fluid_tcp::simulation::probe::{All, Probe};
use tmt_replay::Recorder;
use tmt_replay::linux::{Captures, End, Sampler, Tap};

use super::args::Args;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, table_form};
use crate::provenance::new_head;

/// A thread that writes files and returns them, with their name in messages.
pub(super) type Writing = (String, JoinHandle<io::Result<Vec<Output>>>);

/// Keys of the head that describe hosts of a simulation.
const OF_SIMULATED_HOSTS: [&str; 7] = [
    "flow_settings",
    "delayed_ack",
    "delayed_ack_timer_ns",
    "quick_acks",
    "quick_while_growing",
    "sack_compression_ns",
    "settings",
];

/// Name of the file of a direction: before the extensions, `-down` or `-up`.
pub(super) fn name_of(path: &str, direction: &str) -> String {
    let file = path.rfind('/').map_or(0, |slash| slash + 1);
    match path[file..].find('.') {
        Some(dot) => {
            let (stem, extension) = path.split_at(file + dot);
            format!("{stem}-{direction}{extension}")
        }
        None => format!("{path}-{direction}"),
    }
}

/// Opens the logs of a direction. Returns what observes it, and the thread that writes them.
pub(super) fn open(
    args: &Args,
    direction: &str,
    plan: &Plan,
    (run, setup): (RunId, &Setup),
) -> Outcome<(Recorder, Option<Writing>)> {
    let is_coupled = matches!(plan.link, LinkPlan::Coupled(_));
    let slots = args.slots.as_ref().filter(|_| is_coupled);
    if args.packets.is_none() && slots.is_none() {
        return Ok((Recorder::none(), None));
    }
    let mut head = new_head("tmt replay");
    plan.describe(&mut head, setup, run.seed);
    let payload = match &plan.link {
        LinkPlan::Timeline(trace) => Some(trace.payload),
        LinkPlan::Coupled(plan) => Some(plan.trace.payload),
        LinkPlan::Synthetic { .. } => None,
    };
    if let Some(payload) = payload {
        // Packets of any size take LLDUs by their payload.
        head.set("lldu_payload_bytes", payload.to_string());
    }
    head.set("direction", direction);
    head.set("hosts", "real");
    for key in OF_SIMULATED_HOSTS {
        head.remove(key);
    }
    let packets = args.packets.as_ref().map(|path| {
        let name = name_of(path, direction);
        let log = PacketLog::of_real_hosts(
            Output::create(Some(&name))?,
            table_form(&name)?,
            &head,
            setup,
        );
        log.map_err(|error| Failure::io(&name, &error))
    });
    let mut packets = packets.transpose()?;
    let slots = slots.map(|path| {
        let name = name_of(path, direction);
        let log = SlotLog::new(Output::create(Some(&name))?, table_form(&name)?, &head);
        log.map_err(|error| Failure::io(&name, &error))
    });
    let mut slots = slots.transpose()?;
    let (recorder, recording) = Recorder::new(slots.is_some());
    let write = move || {
        let mut probes: Vec<&mut dyn Probe> = Vec::new();
        probes.extend(packets.as_mut().map(|log| log as &mut dyn Probe));
        probes.extend(slots.as_mut().map(|log| log as &mut dyn Probe));
        recording.replay(&mut All(probes));
        let packets = packets.map(PacketLog::finish).transpose()?;
        let slots = slots.map(SlotLog::finish).transpose()?;
        Ok(packets.into_iter().chain(slots).collect())
    };
    let writing = spawned(format!("log of {direction}"), write)?;
    Ok((recorder, Some(writing)))
}

/// Starts to sample the connections at both ends.
pub(super) fn series(args: &Args, ends: &[End; 2]) -> Outcome<(Option<Sampler>, Option<Writing>)> {
    let Some(path) = &args.series else {
        return Ok((None, None));
    };
    let head = new_head("tmt replay");
    let open = |end: &str| {
        let name = name_of(path, end);
        let series = HostSeries::new(Output::create(Some(&name))?, table_form(&name)?, &head);
        series.map_err(|error| Failure::io(&name, &error))
    };
    let files = [open("near")?, open("far")?];
    let sampler = Sampler::new(ends.each_ref(), args.series_interval);
    let (sampler, samples) = sampler.map_err(|error| Failure::io("--series", &error))?;
    let write = move || Ok(samples.write(files)?.into());
    let writing = spawned("--series".to_owned(), write)?;
    Ok((Some(sampler), Some(writing)))
}

/// Opens the captures. Returns what passes packets to them.
pub(super) fn captures(args: &Args) -> Outcome<([Option<Tap>; 2], Option<Writing>)> {
    let Some(prefix) = &args.pcap else {
        return Ok(([None, None], None));
    };
    let stem = prefix.strip_suffix(".pcap").unwrap_or(prefix);
    let open = |end: &str| Output::create(Some(&format!("{stem}-{end}.pcap")));
    let files = [open("near")?, open("far")?];
    let (taps, captures) = Captures::new();
    let write = move || Ok(captures.write(files)?.into());
    let writing = spawned("--pcap".to_owned(), write)?;
    Ok((taps.map(Some), Some(writing)))
}

fn spawned(
    name: String,
    write: impl FnOnce() -> io::Result<Vec<Output>> + Send + 'static,
) -> Outcome<Writing> {
    let thread = std::thread::Builder::new().spawn(write);
    let thread = thread.map_err(|error| Failure::io(&name, &error))?;
    Ok((name, thread))
}

/// Waits for the threads and gives the files their names.
pub(super) fn finish(writings: Vec<Writing>) -> Outcome {
    let mut files = Vec::new();
    for (name, thread) in writings {
        let written = thread.join();
        let written = written.map_err(|_| Failure::failed(format!("{name}: its thread failed")))?;
        files.extend(written.map_err(|error| Failure::io(&name, &error))?);
    }
    files.iter_mut().try_for_each(Output::close)?;
    files.into_iter().try_for_each(Output::finish)
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn the_direction_is_before_the_extensions() {
        assert_eq!(name_of("a.b/log.csv.gz", "up"), "a.b/log-up.csv.gz");
        assert_eq!(name_of("a.b/log", "down"), "a.b/log-down");
    }
}
