//! Applications of flows: their plans, and what datagrams refuse and warn of.

use std::sync::Arc;

use tmt_core::named::brief;
use tmt_core::types::{Bytes, Note, Span};

use super::link::Link;
use crate::application::{Form, MOST_FLOWS, Site, traffic};
use crate::endpoint::Endpoint;
use crate::experiment::error::{Result, refused};
use crate::experiment::parameters::{Experiment, Group, PARAMETERS};
use crate::experiment::plan::FlowPlan;
use crate::experiment::values::{FlowSpec, PathKind};
use crate::simulation::{Flow, SplitWindow};

/// Groups of settings that only TCP has.
const OF_TCP: [Group; 4] = [
    Group::Hosts,
    Group::Acks,
    Group::Timeouts,
    Group::LossRecovery,
];

impl Experiment {
    /// The plan of a flow between hosts of TCP with these settings, or of datagrams.
    pub(super) fn flow_plan(&self, spec: &FlowSpec, endpoint: Endpoint) -> Result<FlowPlan> {
        let control = spec.cc.clone().unwrap_or_else(|| self.cc());
        let endless = Flow {
            terrestrial_rtt: spec.terrestrial_rtt,
            class: spec.class.unwrap_or(0),
            ..Flow::new(control, endpoint)
        };
        let traffic = spec.app.as_ref().map(traffic).transpose();
        let traffic = match traffic {
            Ok(traffic) => traffic,
            Err(error) => return refused("flow", format!("`flow`: {error}")),
        };
        let packet = self.packet();
        let flow = match (&traffic, spec.bytes) {
            (Some(traffic), _) => traffic.flow(endless.clone(), packet),
            (None, Some(bytes)) => endless.clone().of_bytes(bytes, packet),
            (None, None) => None,
        };
        Ok(FlowPlan {
            flow: flow.unwrap_or(endless),
            start: spec.start.unwrap_or_else(|| self.start()),
            app: spec.app.clone(),
            datagrams: traffic.as_ref().and_then(|traffic| traffic.datagrams()),
            is_random: traffic.as_ref().is_some_and(|traffic| traffic.is_random()),
            traffic: traffic.map(Arc::from),
        })
    }

    /// Refuses datagrams where only TCP goes, and settings of TCP where there are only datagrams.
    pub(super) fn check_datagrams(&self, flows: &[FlowPlan]) -> Result<()> {
        for (number, (name, form)) in named_datagrams(flows) {
            if self.is_split() {
                return refused(
                    "path",
                    format!(
                        "`path` split: found flow {number} with datagrams (app={name}), expected TCP, which the proxy speaks; use `path` e2e"
                    ),
                );
            }
            if form.size() > self.packet() {
                return refused(
                    "flow",
                    format!(
                        "`flow` {number}: found datagrams of {} with headers of {} (app={name}), expected at most `packet`, {}, in all: nothing is fragmented",
                        form.payload,
                        form.headers,
                        self.packet()
                    ),
                );
            }
        }
        if flows.iter().any(|flow| flow.datagrams.is_none()) {
            return Ok(());
        }
        let of_tcp = |key: &str, group: Group| key == "headers" || OF_TCP.contains(&group);
        let mut given = PARAMETERS
            .iter()
            .filter(|parameter| self.gives(parameter.key));
        match given.find(|parameter| of_tcp(parameter.key, parameter.group)) {
            Some(parameter) => refused(
                parameter.key,
                format!(
                    "`{key}` is a setting of TCP: found flows of datagrams only, expected a flow of TCP (`flow` cc=…), or no `{key}`",
                    key = parameter.key
                ),
            ),
            None => Ok(()),
        }
    }
}

impl Experiment {
    /// Refuses a proxy whose buffer would be shared with connections that are not open.
    pub(super) fn check_shares(&self, flows: &[FlowPlan]) -> Result<()> {
        let opens = |plan: &&FlowPlan| {
            let traffic = plan.traffic.as_ref();
            traffic.is_some_and(|traffic| traffic.opens_connections())
        };
        let shares = self.path() == PathKind::Split && self.split_window() == SplitWindow::Share;
        let app = flows.iter().find(opens).and_then(|plan| plan.app.as_ref());
        match app.filter(|_| shares) {
            Some(app) => refused(
                "split_window",
                format!(
                    "`split_window`: found share with connections that open during the run (app={}), which would have parts of the buffer before; expected whole",
                    app.in_parentheses()
                ),
            ),
            None => Ok(()),
        }
    }
}

/// Refuses a flow of datagrams that is faster than the slowest of these hops, each with its name, and warns of several that are
/// together.
pub(super) fn check_rates(
    hops: &[(&str, Option<f64>)],
    flows: &[FlowPlan],
) -> Result<Option<Note>> {
    let known = hops.iter().filter_map(|(hop, rate)| Some((*hop, (*rate)?)));
    let slowest = known.min_by(|one, other| one.1.total_cmp(&other.1));
    let Some((hop, rate_bps)) = slowest else {
        return Ok(None);
    };
    let kbps = |rate: f64| format!("{:.1} kbps", rate / 1e3);
    let mut all = 0.0;
    for (number, (name, form)) in named_datagrams(flows) {
        let Some(own) = form.mean_rate_bps() else {
            continue;
        };
        if own > rate_bps {
            return refused(
                "flow",
                format!(
                    "`flow` {number}: found {} with headers (app={name}), expected at most the rate of the {hop}, {}",
                    kbps(own),
                    kbps(rate_bps)
                ),
            );
        }
        all += own;
    }
    Ok((all > rate_bps).then(|| {
        Note::warning(format!(
            "datagrams of {} with headers on a {hop} of {}: its queue overflows",
            kbps(all),
            kbps(rate_bps)
        ))
    }))
}

/// Mean number of transfers below which a load can be far from what is drawn.
const FEW: f64 = 5.0;

/// Refuses loads if the rate of the link is not known, or if the number of transfers is unknown or too large, and warns of loads
/// above the rate of the link.
pub(super) fn check_loads(
    link: &Link,
    flows: &[FlowPlan],
    packet: Bytes,
    length: Span,
) -> Result<Vec<Note>> {
    let mut notes = Vec::new();
    let (mut loads, mut above) = (0.0, 0);
    for (number, plan) in flows.iter().enumerate() {
        let Some(traffic) = plan.traffic.as_ref() else {
            continue;
        };
        let site = Site {
            number,
            seed: 0,
            packet,
            rtt: link.rtt,
            rate_bps: link.rate_bps,
            length,
        };
        let start = plan.start.latest();
        let flow = plan.flow.clone().starting(start);
        notes.extend(
            traffic
                .note(&flow, &site)
                .map(|note| Note::warning(format!("`flow` {number}: {note}"))),
        );
        let load = traffic.load(&flow, &site);
        if let (Some(load), None) = (load, link.rate_bps) {
            return refused(
                "flow",
                format!(
                    "`flow` {number}: found a load of {load} on a link of unknown rate, expected a rate in the head of the trace"
                ),
            );
        }
        let most = traffic.most_flows(&flow, &site);
        if most > MOST_FLOWS {
            let (of_what, remedy) = match load {
                Some(_) => ("a load of some", "the load, or enlarge the size"),
                None => ("up to", "the objects, or enlarge `think`"),
            };
            return refused(
                "flow",
                format!(
                    "`flow` {number}: found {of_what} {most:.1e} transfers, expected at most {MOST_FLOWS:.0e}; reduce `duration` or {remedy}"
                ),
            );
        }
        let Some(load) = load else { continue };
        loads += load;
        if most < FEW && traffic.is_random() {
            notes.push(Note::warning(format!(
                "`flow` {number}: a load of {load} is some {most:.1} transfers of the mean size in the run: what is drawn can be far from it; increase `duration` or reduce the size"
            )));
        }
        if load > 1.0 {
            notes.push(Note::warning(format!(
                "`flow` {number} offers {} times the rate of the link: its queue overflows, and transfers pile up",
                shown(load)
            )));
            above += 1;
        }
    }
    let datagrams: f64 = named_datagrams(flows)
        .filter_map(|(_, (_, form))| form.mean_rate_bps())
        .sum();
    let all = loads + link.rate_bps.map_or(0.0, |rate_bps| datagrams / rate_bps);
    if loads > 0.0 && loads <= 1.0 && all > 1.0 || loads > 1.0 && above == 0 {
        notes.push(Note::warning(format!(
            "all loads and datagrams together are {all:.2} times the rate of the link: its queue overflows, and transfers pile up"
        )));
    }
    Ok(notes)
}

/// A load as it was given, or with two decimals if it follows from sizes.
fn shown(load: f64) -> String {
    let text = load.to_string();
    if text.len() > 6 {
        format!("{load:.2}")
    } else {
        text
    }
}

/// Flows of datagrams by their number, each with the name of its application.
fn named_datagrams(flows: &[FlowPlan]) -> impl Iterator<Item = (usize, (&'static str, Form))> {
    flows.iter().enumerate().filter_map(|(number, flow)| {
        let name = flow.app.as_ref()?.entry().name;
        Some((number, (name, flow.datagrams?)))
    })
}

/// Whether a flow of TCP may pause.
pub(super) fn have_pauses(flows: &[FlowPlan]) -> bool {
    let mut of_tcp = flows.iter().filter(|plan| plan.datagrams.is_none());
    of_tcp.any(|plan| plan.app.is_some() && plan.flow.packets().is_none())
}

/// The applications of the flows in words, each once; `None` if all are transfers without a name.
pub(super) fn words(flows: &[FlowPlan]) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    for app in flows.iter().filter_map(|flow| flow.app.as_ref()) {
        let text = brief(&app.in_parentheses());
        if !words.contains(&text) {
            words.push(text);
        }
    }
    (!words.is_empty()).then(|| words.join(" and "))
}
