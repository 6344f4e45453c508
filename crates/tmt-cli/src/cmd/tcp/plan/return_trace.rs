//! `--return-trace`: the return link's own PHY trace or timeline.

use std::sync::Arc;

use fluid_tcp::link::return_link::ReturnTrace;
use fluid_tcp::simulation::ACK;
use tmt_core::format::Options;
use tmt_core::types::{Bytes, Metadata, Time};

use super::super::args::Args;
use super::super::spool::{self, Spool};
use super::link::{header, lldu, loop_period};
use super::params::Params;
use crate::exit::{Failure, Outcome};
use crate::input::{cut_note, open_trace};

/// The return link of all runs.
pub(crate) struct ReturnPlan {
    pub(crate) trace: ReturnTrace,
    /// The file that holds its timeline, where it is too long for memory.
    pub(crate) spool: Option<Arc<Spool>>,
    lldu: Bytes,
}

impl ReturnPlan {
    /// What `--json` shows of it.
    pub(super) fn show(&self, params: &mut Params) {
        params.return_trace = Some(true);
        params.return_lldu_bytes = Some(self.lldu.0);
        params.return_lldus_per_ack = Some(self.trace.lldus as u64);
    }

    /// What the head of a log says of it.
    pub(super) fn tell(&self, head: &mut Metadata) {
        head.set("return_trace", "on");
        head.set("return_lldu_bytes", self.lldu.0.to_string());
        head.set("return_lldus_per_ack", self.trace.lldus.to_string());
    }

    /// What to say where it ends before the run does.
    pub(super) fn ends_before(&self, end: Time) -> Option<String> {
        let last = self.trace.timeline.last()?;
        (self.trace.period.is_none() && last < end).then(|| {
            format!("the return trace ends at {last}, before the run: acknowledgements sent later never come (--loop repeats it)")
        })
    }
}

/// Refuses two traces from one stdin.
pub(super) fn check(args: &Args) -> Outcome {
    let has_trace = args.link != "synthetic" && args.channel.is_none();
    let from_stdin = |path: Option<&str>| path.unwrap_or("-") == "-";
    if args.return_trace.as_deref() == Some("-")
        && has_trace
        && from_stdin(args.trace.trace.as_deref())
    {
        return Err(Failure::usage(
            "the trace and --return-trace cannot both be stdin",
        ));
    }
    Ok(())
}

/// Reads the return link where there is one, and adds to `notes` what it is.
pub(super) fn read(args: &Args, notes: &mut Vec<String>) -> Outcome<Option<Box<ReturnPlan>>> {
    let Some(path) = args.return_trace.as_deref() else {
        return Ok(None);
    };
    let options = Options {
        unit: args.trace.unit,
        allow_cut: args.trace.allow_cut,
        attempts: true,
        ..Options::default()
    };
    let (name, mut reader) = open_trace("tcp", Some(path), options)?;
    let (mut timeline, spool) = spool::read(&name, &mut reader)?;
    notes.extend(cut_note(&name, &reader));
    let head = reader.metadata();
    // What the file says of its own LLDUs holds; --lldu is about the way there.
    let (lldu, origin) = match head.lldu_bytes() {
        Some(told) => (told, "metadata".to_owned()),
        None => lldu(args, head),
    };
    let (header, _) = header(args);
    let payload = lldu.0.checked_sub(header.0).filter(|payload| *payload > 0);
    let payload = payload.ok_or_else(|| {
        Failure::usage(format!(
            "{name}: an LLDU of {lldu} with a header of {header} has no room for an acknowledgement: --lldu, --lldu-header"
        ))
    })?;
    let lldus = ACK.0.div_ceil(payload);
    if args.looped {
        let end_line = reader.tail().and_then(|tail| tail.end);
        let unreadable = || {
            let failure = spool.as_ref().and_then(|spool| spool.failure());
            failure.unwrap_or_else(|| Failure::failed(format!("{name}: cannot be read")))
        };
        if let Some(end) = end_line {
            let known = timeline.known(end.usable_until).ok_or_else(unreadable)?;
            if !timeline.truncate(known) {
                return Err(unreadable());
            }
        }
    }
    if timeline.len() < lldus {
        return Err(Failure::failed(format!(
            "{name}: found {} LLDUs, expected at least the {lldus} that an acknowledgement of {ACK} needs",
            timeline.len()
        )));
    }
    let period = if args.looped {
        Some(loop_period(&name, &timeline)?)
    } else {
        None
    };
    notes.push(format!(
        "return path on a trace of {} LLDUs of {lldu} ({origin}), header {header}: {lldus} to an acknowledgement of {ACK}",
        timeline.len()
    ));
    Ok(Some(Box::new(ReturnPlan {
        trace: ReturnTrace {
            timeline: Arc::new(timeline),
            lldus: usize::try_from(lldus).unwrap_or(usize::MAX),
            period,
        },
        spool,
        lldu,
    })))
}
