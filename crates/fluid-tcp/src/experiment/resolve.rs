//! From what is given to what is run: defaults, refusals and remarks.

mod coupled;
mod endpoint;
mod facts;
mod link;
mod path;
mod return_trace;
mod starts;

use tmt_core::types::{Span, Time};

use super::error::{Error, Result, refused};
use super::parameters::Experiment;
use super::plan::{FlowPlan, LinkPlan, Plan};
use super::storage::Storage;
use super::values::{BufferSize, Count, FlowSpec, LinkKind, MOST_PACKETS, PathKind};
use crate::endpoint::Endpoint;
use crate::simulation::{ACK, Flow};
use facts::Facts;
use link::Link;

pub(super) use link::Rows;

impl Experiment {
    /// Resolves every parameter, and reads the traces through `storage`.
    ///
    /// # Errors
    /// Parameters that do not go together, traces that do not give what is needed or cannot be read.
    pub fn resolve(&self, storage: &impl Storage) -> Result<Plan> {
        if self.compares() {
            return refused(
                "compare_links",
                "`compare_links`: found two links, expected one",
            );
        }
        let ends = self.ends()?;
        let link = match self.link() {
            LinkKind::Timeline => self.timeline_link(storage)?.with_plan(LinkPlan::Timeline),
            LinkKind::Coupled => self.coupled_link(storage)?.with_plan(LinkPlan::Coupled),
            LinkKind::Synthetic => self.synthetic_link()?,
        };
        self.plan(storage, ends, link)
    }

    /// Why it cannot run, as far as that shows before a trace is read.
    #[must_use]
    pub fn refusal(&self) -> Option<Error> {
        self.ends().err()
    }

    /// Both ends of the flows, and the flows: all that can be refused before a trace is read.
    pub(super) fn ends(&self) -> Result<(Endpoint, Vec<FlowPlan>)> {
        self.check()?;
        let endpoint = self.endpoint()?;
        let plan = |flow: &FlowSpec| FlowPlan {
            flow: Flow {
                algorithm: flow.cc.clone().unwrap_or_else(|| self.cc()),
                endpoint,
                start: Span::ZERO,
                packets: flow.bytes.map(|bytes| bytes.0.div_ceil(self.packet().0)),
            },
            start: flow.start.unwrap_or_else(|| self.start()),
        };
        let flows = if self.flow.is_empty() {
            let all = FlowSpec {
                cc: None,
                start: None,
                bytes: self.bytes,
            };
            (0..self.flows().0).map(|_| plan(&all)).collect()
        } else {
            self.flow.iter().map(plan).collect()
        };
        Ok((endpoint, flows))
    }

    /// The plan of runs over `link`.
    pub(super) fn plan(
        &self,
        storage: &impl Storage,
        (endpoint, flows): (Endpoint, Vec<FlowPlan>),
        mut link: Link<LinkPlan>,
    ) -> Result<Plan> {
        let mut notes = std::mem::take(&mut link.notes);
        let (buffer, size, note) = self.queue_size(&link)?;
        notes.push(note);
        let (path, words) = self.way(&link, flows.len(), buffer)?;
        notes.extend(words);
        let (starts, words) = self.starts(&link, link.plan.period(), &flows)?.unzip();
        notes.extend(words);
        let latest = starts.as_ref().and_then(|starts| starts.last().copied());
        let end = self.end(&link, latest, &mut notes)?;
        notes.extend(self.warnings(&endpoint, &flows, &link.plan, buffer, end.since(link.begin)));
        notes.extend(self.path_notes());
        let return_trace = self.return_link(storage, &mut notes)?;
        let early = return_trace
            .as_ref()
            .and_then(|trace| trace.ends_before(end));
        notes.extend(early);
        let settings = self.settings_note(&endpoint);
        notes.push(settings.clone());
        let resolved = self.resolved(&mut link, &endpoint, &flows, size);
        let facts = Facts {
            link: &link.plan,
            scheme: link.scheme.as_deref(),
            link_rate_bps: link.rate_bps,
            overridden: &link.overridden,
            buffer,
            return_trace: return_trace.as_ref(),
            begin: link.begin,
            end,
            flows: &flows,
        };
        Ok(Plan {
            params: facts.params(&resolved.clone().shown()),
            link: link.plan,
            resolved: resolved.saved(self),
            flows,
            rtt: link.rtt,
            buffer,
            path,
            return_trace,
            begin: link.begin,
            end,
            starts,
            link_rate_bps: link.rate_bps,
            overridden: link.overridden,
            settings,
            notes,
        })
    }

    /// The last instant of the runs, of which the last begins at `latest`.
    fn end(
        &self,
        link: &Link<LinkPlan>,
        latest: Option<Span>,
        notes: &mut Vec<String>,
    ) -> Result<Time> {
        let wanted = self
            .duration
            .map(|duration| duration.saturating_add(latest.unwrap_or(Span::ZERO)))
            .map(|duration| link.begin.saturating_add(duration));
        match (wanted, link.ends) {
            (Some(wanted), Some(ends)) if wanted > ends => {
                if !self.compares() {
                    notes.push(format!(
                        "the timeline is usable until {ends}: the run ends there, before `duration` (`loop` repeats it)"
                    ));
                }
                Ok(ends)
            }
            (Some(wanted), _) => Ok(wanted),
            (None, Some(ends)) => Ok(ends),
            (None, None) => Err(self.lacks("duration")),
        }
    }

    /// Every value that is used.
    fn resolved(
        &self,
        link: &mut Link<LinkPlan>,
        endpoint: &Endpoint,
        flows: &[FlowPlan],
        buffer: BufferSize,
    ) -> Self {
        let mut resolved = Self {
            link: Some(link.plan.kind()),
            path: Some(self.path()),
            terrestrial_rtt: Some(self.terrestrial_rtt()),
            packet: Some(self.packet()),
            buffer: Some(buffer),
            queue: Some(self.queue()),
            looped: Some(self.looped()),
            profile: Some(self.profile()),
            seed: Some(self.seed()),
            ..std::mem::take(&mut link.resolved)
        };
        if self.path() == PathKind::Split {
            resolved.split_window = Some(self.split_window());
        }
        if self.offsets.is_none() {
            resolved.seeds = Some(self.seeds());
        }
        resolved.read_endpoint(endpoint);
        if self.flow.is_empty() {
            resolved.flows = Some(Count(flows.len() as u64));
            resolved.cc = Some(self.cc());
            resolved.start = Some(self.start());
        } else {
            let flows = self.flow.iter().map(|flow| FlowSpec {
                cc: Some(flow.cc.clone().unwrap_or_else(|| self.cc())),
                start: Some(flow.start.unwrap_or_else(|| self.start())),
                bytes: flow.bytes,
            });
            resolved.flow = flows.collect();
        }
        resolved
    }

    /// Of resolved values those that concern the way there.
    fn shown(mut self) -> Self {
        if self.link() == LinkKind::Synthetic {
            // They are about the return trace.
            (self.lldu, self.lldu_header) = (None, None);
        }
        self
    }

    /// Of resolved values those from which the same runs follow again, where `given` was given.
    fn saved(mut self, given: &Self) -> Self {
        if self.path() == PathKind::Split {
            // The proxy decides these.
            (self.delayed_ack, self.delayed_ack_timer, self.hold) = (None, None, None);
        }
        if given.return_trace.is_some() {
            // What the trace's metadata say is not said of the return trace.
            self.lldu = given.lldu;
        }
        if matches!(self.buffer, Some(BufferSize::Packets(MOST_PACKETS..))) {
            // More than can be given in packets.
            self.buffer = Some(given.buffer());
        }
        if given.compares() {
            // Each link has its own.
            self.link = None;
            self.overlap = given.overlap;
            self.buffer = Some(given.buffer());
            self.compare_links = given.compare_links;
        }
        self
    }

    /// What is unusual about the queue and the return path.
    fn path_notes(&self) -> impl Iterator<Item = String> {
        let queue = (!self.queue().is_drop_tail()).then(|| format!("queue {}", self.queue()));
        let loss = self
            .return_loss
            .map(|loss| format!("return path with loss {loss}"));
        let rate = self.return_rate;
        let rate = rate.map(|rate| format!("return path of {rate}, {ACK} an acknowledgement"));
        [queue, loss, rate].into_iter().flatten()
    }

    /// What is allowed and seldom meant.
    fn warnings(
        &self,
        endpoint: &Endpoint,
        flows: &[FlowPlan],
        link: &LinkPlan,
        buffer: u64,
        length: Span,
    ) -> Vec<String> {
        let mut warnings = Vec::new();
        // A proxy advertises its buffer before the first window.
        if buffer < u64::from(endpoint.initial_window) && self.path() != PathKind::Split {
            let iw = endpoint.initial_window;
            warnings.push(format!(
                "the queue of {buffer} packets is smaller than the initial window of {iw}"
            ));
        }
        let late = flows
            .iter()
            .filter(|flow| flow.start.latest() >= length)
            .count();
        if late > 0 {
            warnings.push(format!(
                "{late} flows may begin after the run of {length} has ended (`start`)"
            ));
        }
        let drawn = self.return_loss.is_some()
            || flows.iter().any(|flow| flow.start.is_drawn())
            || matches!(link, LinkPlan::Synthetic { loss: Some(_), .. })
            || matches!(link, LinkPlan::Coupled(plan) if plan.channel.is_some() || plan.link.lost_feedback.is_some());
        if self.seeds().0 > 1 && !drawn && !self.compares() {
            warnings.push("nothing in these runs is random: every seed gives the same".to_owned());
        }
        warnings
    }
}
