//! `tmt tcp`: TCP flows over a link-layer timeline or a synthetic link (tcp.md §7).

mod args;
mod flows;
mod plan;
mod report;

pub(crate) use args::Args;
use plan::{LinkPlan, Plan};

use std::sync::Arc;

use fluid_tcp::link::{SyntheticLink, TimelineLink};
use fluid_tcp::log::{PacketLog, Series};
use fluid_tcp::metrics::RunReport;
use fluid_tcp::probe::{Both, NoProbe, Probe};
use fluid_tcp::simulation::{self, Setup};
use rayon::prelude::*;
use tmt_core::channel::Channel;

use crate::exit::{Failure, Outcome};
use crate::output::{Output, json};

pub(crate) fn run(args: &Args) -> Outcome {
    let plan = plan::resolve(args)?;
    plan.tell();
    let mut output = Output::create(args.output.as_deref())?;
    let mut logs = Vec::new();
    let seeds: Vec<u64> = (args.seed..args.seed + u64::from(args.seeds)).collect();
    let reports: Vec<(u64, RunReport)> = if args.packets.is_some() || args.series.is_some() {
        seeds
            .iter()
            .map(|seed| Ok((*seed, logged(args, &plan, *seed, &mut logs)?)))
            .collect::<Outcome<_>>()?
    } else {
        seeds
            .par_iter()
            .map(|seed| Ok((*seed, plan.run(*seed, &mut NoProbe)?)))
            .collect::<Outcome<_>>()?
    };
    let report = report::Report::new(&plan, reports);
    if args.json {
        json(&mut output, &report)?;
    } else {
        output.write(report.table().as_bytes())?;
    }
    // Files get their names only when everything is where it goes.
    logs.push(output);
    logs.iter_mut().try_for_each(Output::settle)?;
    logs.into_iter().try_for_each(Output::finish)
}

/// One run with its logs written; they are yet to be made final.
fn logged(args: &Args, plan: &Plan, seed: u64, logs: &mut Vec<Output>) -> Outcome<RunReport> {
    let setup = plan.setup(seed);
    let open = |path: &Option<String>| {
        path.as_ref()
            .map(|path| Output::create(Some(&path.replace("{seed}", &seed.to_string()))))
            .transpose()
    };
    let (packets, series) = (open(&args.packets)?, open(&args.series)?);
    let mut head = plan.log_head(&setup, seed);
    head.push("log", "packets");
    let mut packets =
        packets.map(|output| PacketLog::new(output, &head, setup.flows.len(), setup.end));
    head.set("log", "series");
    let mut series =
        series.map(|output| Series::new(output, &head, setup.flows.len(), args.series_interval));
    let report = plan.run(seed, &mut Both(&mut packets, &mut series))?;
    let name = |path: &Option<String>| path.clone().unwrap_or_default();
    if let Some(log) = packets {
        logs.push(
            log.finish()
                .map_err(|error| Failure::io(&name(&args.packets), &error))?,
        );
    }
    if let Some(log) = series {
        logs.push(
            log.finish()
                .map_err(|error| Failure::io(&name(&args.series), &error))?,
        );
    }
    Ok(report)
}

impl Plan {
    /// Runs the plan under `seed`.
    pub(crate) fn run<P: Probe>(&self, seed: u64, probe: &mut P) -> Outcome<RunReport> {
        let setup: Setup = self.setup(seed);
        Ok(match &self.link {
            LinkPlan::Timeline(link) => {
                let link = TimelineLink::new(
                    Arc::clone(&link.timeline),
                    link.usable,
                    link.lldus_per_packet,
                    setup.rtt.half(),
                    link.period,
                )
                .ok_or_else(|| Failure::failed("found no room for a packet on the timeline"))?;
                simulation::run(&setup, link, probe)
            }
            LinkPlan::Synthetic { rate, loss } => {
                let channel = loss.map(|spec| Channel::new(spec, seed));
                let link =
                    SyntheticLink::new(*rate, setup.packet, setup.rtt.half(), channel, setup.begin)
                        .ok_or_else(|| {
                            Failure::usage(
                                "--rate and --packet leave no link: both must be above zero",
                            )
                        })?;
                simulation::run(&setup, link, probe)
            }
        })
    }
}
