//! Resolution of an experiment to a plan: defaults, refusals and notes.

mod applications;
mod contradictions;
mod coupled;
mod endpoint;
mod link;
mod packing;
mod params;
mod path;
mod return_trace;
mod rows;
mod side_paths;
mod size;
mod starts;
mod trace_warnings;

use std::borrow::Cow;

use tmt_core::channel::SlotChannel;
use tmt_core::types::{BitRate, Note, Span, Time, to_f64};

use tmt_link::queue::Discipline;

use super::counted::{counted, lasting};
use super::error::{Error, Result, refused};
use super::parameters::Experiment;
use super::plan::{FlowPlan, LinkPlan, Params, Plan, SidePlan};
use super::storage::Storage;
use super::values::{BufferSize, FlowSpec, LinkKind, MAX_PACKETS, PathKind};
use crate::endpoint::Endpoint;
use link::Link;
use packing::is_from_mahimahi;

impl Experiment {
    /// Resolves every parameter, and reads the traces through `storage`.
    ///
    /// # Errors
    /// Contradicting parameters, or traces that are unsuitable or cannot be read.
    pub fn resolve(&self, storage: &dyn Storage) -> Result<Plan> {
        let filled = self.filled();
        filled.resolve_filled(storage)
    }

    /// The experiment with the duration of the link to whose slots the channel belongs, where it gives none.
    pub(super) fn filled(&self) -> Cow<'_, Self> {
        let link = self.channel.as_ref().and_then(SlotChannel::link);
        match link {
            None => Cow::Borrowed(self),
            Some(link) => Cow::Owned(Self {
                duration: self.duration.or(Some(link.duration)),
                ..self.clone()
            }),
        }
    }

    fn resolve_filled(&self, storage: &dyn Storage) -> Result<Plan> {
        if self.compares() {
            return refused(
                "compare_links",
                "`compare_links`: found two links, expected one; use `Experiment::resolve_comparison`",
            );
        }
        let ends = self.ends()?;
        let (link, plan) = match self.link() {
            LinkKind::Timeline => {
                let loaded = self.read(storage, self.trace.as_ref(), true)?;
                let (link, trace) = self.link_over(LinkKind::Timeline, loaded, false)?;
                (link, LinkPlan::Timeline(trace))
            }
            LinkKind::Coupled => {
                let (link, plan) = self.coupled_link(storage)?;
                (link, LinkPlan::Coupled(Box::new(plan)))
            }
            LinkKind::Synthetic => self.synthetic_link()?,
        };
        self.plan(storage, ends, link, plan)
    }

    /// The error that keeps it from running, if it shows before a trace is read.
    #[must_use]
    pub fn refusal(&self) -> Option<Error> {
        self.filled().ends().err()
    }

    /// Host settings and flows. Makes every check that needs no trace.
    pub(super) fn ends(&self) -> Result<(Endpoint, Vec<FlowPlan>)> {
        self.check()?;
        let endpoint = self.endpoint()?;
        if endpoint.headers >= self.packet() {
            let key = if self.headers.is_some() {
                "headers"
            } else {
                "packet"
            };
            let message = format!(
                "`packet` {}: expected more than `headers`, which are {}",
                self.packet(),
                endpoint.headers
            );
            return refused(key, message);
        }
        let plan = |spec: &FlowSpec| self.flow_plan(spec, endpoint);
        let alike = FlowSpec {
            bytes: self.bytes,
            ..FlowSpec::default()
        };
        let flows: Vec<FlowPlan> = match &self.flow {
            Some(flows) => flows.iter().map(plan).collect::<Result<_>>()?,
            None => vec![plan(&alike)?; usize::try_from(self.flows().0).unwrap_or(usize::MAX)],
        };
        self.check_datagrams(&flows)?;
        self.check_controls(&endpoint, &flows)?;
        Ok((endpoint, flows))
    }

    /// The plan of runs over `link`, whose facts are in `facts`.
    pub(super) fn plan(
        &self,
        storage: &dyn Storage,
        (endpoint, flows): (Endpoint, Vec<FlowPlan>),
        mut facts: Link,
        link: LinkPlan,
    ) -> Result<Plan> {
        let mut notes = std::mem::take(&mut facts.notes);
        let (buffer, size, note) = self.queue_size(&facts)?;
        notes.push(note.into());
        let (path, more) = self.path_plan(&facts, &link, flows.len(), buffer)?;
        notes.extend(more);
        let period = link.trace().and_then(|trace| trace.period);
        let (starts, note) = self.starts(&facts, period, &flows)?.unzip();
        notes.extend(note.map(Note::from));
        let latest = starts.as_ref().and_then(|starts| starts.last().copied());
        let end = self.end(&facts, latest, &mut notes)?;
        let length = end.since(facts.begin);
        self.check_size(&facts, &endpoint, &flows, buffer, length)?;
        let bps = |rate: Option<BitRate>| rate.map(|rate| to_f64(rate.0));
        let hops = [
            ("link", facts.rate_bps),
            ("terrestrial path", bps(self.terrestrial_rate)),
            ("far path", bps(self.far_rate)),
        ];
        notes.extend(applications::check_rates(&hops, &flows)?);
        self.check_shares(&flows)?;
        let loads = applications::check_loads(&facts, &flows, self.packet(), length);
        notes.extend(loads?);
        notes.extend(self.contradictions(&endpoint, &flows));
        notes.extend(self.warnings(&endpoint, &flows, &link, buffer, length));
        notes.extend(self.path_notes().map(Note::from));
        let of_tcp = flows.iter().filter(|flow| flow.datagrams.is_none());
        notes.extend(self.window_warning(&facts, &endpoint, of_tcp.count()));
        let return_trace = self.return_link(storage, (endpoint.bare_ack(), end), &mut notes)?;
        let return_buffer = self.return_queue(return_trace.as_ref(), facts.rtt, &mut notes)?;
        let side_paths = self.side_paths(storage, &facts, end, &mut notes)?;
        let settings = self.settings_note(&endpoint, &flows);
        notes.push(settings.clone().into());
        let mut plan = Plan {
            resolved: self.resolved(facts.resolved, &link, &endpoint, size, &flows),
            params: Params::new(),
            link,
            flows,
            rtt: facts.rtt,
            buffer,
            path,
            return_trace,
            side_paths,
            begin: facts.begin,
            end,
            starts,
            link_rate_bps: facts.rate_bps,
            overridden: facts.overridden,
            settings,
            notes,
        };
        plan.resolved.return_buffer = return_buffer;
        let [terrestrial, far] = &plan.side_paths;
        let size = |side: &Option<SidePlan>| side.as_ref().and_then(|side| side.size);
        let queue = |side: &Option<SidePlan>| {
            let side = side.as_ref().filter(|side| side.size.is_some());
            side.map(|side| side.discipline.clone())
        };
        plan.resolved.terrestrial_queue = queue(terrestrial);
        plan.resolved.terrestrial_buffer = size(terrestrial);
        plan.resolved.far_queue = queue(far);
        plan.resolved.far_buffer = size(far);
        plan.params = plan.params(&facts.head);
        self.reduce_for_file(&mut plan.resolved);
        Ok(plan)
    }

    /// End of the runs; the last one begins at `latest`.
    fn end(&self, link: &Link, latest: Option<Span>, notes: &mut Vec<Note>) -> Result<Time> {
        let latest = link.begin.saturating_add(latest.unwrap_or(Span::ZERO));
        let wanted = self
            .duration
            .map(|duration| latest.saturating_add(duration));
        match (wanted, link.ends) {
            (Some(wanted), Some(ends)) if wanted > ends => {
                if !self.compares() {
                    let default = if is_from_mahimahi(&link.head) {
                        ", as mm-link does by default"
                    } else {
                        ""
                    };
                    notes.push(Note::warning(format!(
                        "the run ends at {ends}, before `duration`: the timeline is not usable beyond (`loop` repeats it{default})"
                    )));
                }
                Ok(ends)
            }
            (Some(wanted), _) => Ok(wanted),
            (None, Some(ends)) => Ok(ends),
            (None, None) => Err(self.missing("duration")),
        }
    }

    /// Every value that is used. `resolved` has those of the link.
    fn resolved(
        &self,
        resolved: Self,
        link: &LinkPlan,
        endpoint: &Endpoint,
        buffer: BufferSize,
        flows: &[FlowPlan],
    ) -> Self {
        let mut resolved = Self {
            link: Some(link.kind()),
            path: Some(self.path()),
            terrestrial_rtt: Some(self.terrestrial_rtt()),
            packet: Some(self.packet()),
            buffer: Some(buffer),
            queue: Some(self.queue()),
            looped: Some(self.looped()),
            seed: Some(self.seed()),
            ..resolved
        };
        if self.path() == PathKind::Split {
            resolved.split_window = Some(self.split_window());
        }
        if self.offsets.is_none() {
            resolved.seeds = Some(self.seeds());
        }
        if flows.iter().any(|flow| flow.datagrams.is_none()) {
            resolved.profile = Some(self.profile());
            resolved.rwnd = Some(self.receiver_window());
            resolved.first_rwnd = Some(self.first_receiver_window());
            resolved.read_endpoint(endpoint);
        }
        if self.flow.is_none() {
            resolved.flows = Some(self.flows());
            resolved.cc = Some(self.cc());
            resolved.start = Some(self.start());
        }
        for (flow, plan) in resolved.flow.iter_mut().flatten().zip(flows) {
            if plan.datagrams.is_none() {
                flow.cc.get_or_insert_with(|| self.cc());
            }
            flow.start.get_or_insert_with(|| self.start());
        }
        resolved
    }

    /// Removes resolved values that are derived, so that a saved file reproduces the runs.
    fn reduce_for_file(&self, resolved: &mut Self) {
        if self.path() == PathKind::Split {
            // The proxy determines these.
            (resolved.delayed_ack, resolved.delayed_ack_timer) = (None, None);
            resolved.hold = None;
        }
        if self.has_trace_beside() {
            // The metadata of the trace do not apply to the return trace.
            (resolved.lldu, resolved.packing) = (self.lldu, self.packing);
            resolved.lldu_header = self.lldu_header;
        }
        if matches!(resolved.buffer, Some(BufferSize::Packets(MAX_PACKETS..))) {
            // More packets than the parameter accepts.
            resolved.buffer = Some(self.buffer());
        }
        if self.compares() {
            // Each link resolves its own.
            resolved.link = None;
            resolved.overlap = self.overlap;
        }
    }

    /// Notes on queue and return path, where they differ from the default.
    fn path_notes(&self) -> impl Iterator<Item = String> {
        let queue =
            (self.queue() != Discipline::default()).then(|| format!("queue {}", self.queue()));
        let dropped = self.queue_loss.as_ref();
        let dropped =
            dropped.map(|loss| format!("dropped on arrival at the queue: {}", loss.brief()));
        let loss = self.return_loss.as_ref();
        let loss = loss.map(|loss| format!("return path: loss {}", loss.brief()));
        let rate = self.return_rate;
        let rate = rate.map(|rate| format!("return path: {rate}"));
        let access = self.return_capacity.as_ref();
        let access = access.map(|access| format!("return path: {access}"));
        let filter = self.ack_filter.as_ref();
        let filter = filter.map(|filter| format!("return path: ACK filter {filter}"));
        [queue, dropped, loss, rate, access, filter]
            .into_iter()
            .flatten()
    }

    /// Warnings about settings that are valid but rarely intended.
    fn warnings(
        &self,
        endpoint: &Endpoint,
        flows: &[FlowPlan],
        link: &LinkPlan,
        buffer: u64,
        length: Span,
    ) -> Vec<Note> {
        let mut warnings = Vec::new();
        // On a split path the proxy advertises its buffer before the first window is sent.
        let has_tcp = flows.iter().any(|flow| flow.datagrams.is_none());
        let is_small = has_tcp && buffer < u64::from(endpoint.initial_window);
        if is_small && self.path() != PathKind::Split {
            let iw = endpoint.initial_window;
            warnings.push(Note::warning(format!(
                "the queue of {} is smaller than the initial window of {iw}",
                counted(buffer, "packet")
            )));
        }
        let is_late = |flow: &&FlowPlan| flow.start.latest() >= length;
        let late = flows.iter().filter(is_late).count();
        if late > 0 {
            warnings.push(Note::warning(format!(
                "{} may begin after the end of the run of {} (`start`)",
                counted(late, "flow"),
                lasting(length)
            )));
        }
        let is_random =
            |process: &Option<SlotChannel>| process.as_ref().is_some_and(SlotChannel::is_random);
        let on_link = match link {
            LinkPlan::Synthetic { loss, .. } => is_random(loss),
            LinkPlan::Coupled(plan) => {
                plan.channel.as_ref().is_some_and(|slots| slots.is_random())
                    || plan.link.lost_feedback.is_some()
            }
            LinkPlan::Timeline(_) => false,
        };
        let drawn = on_link
            || is_random(&self.queue_loss)
            || is_random(&self.return_loss)
            || is_random(&self.terrestrial_loss)
            || is_random(&self.far_loss)
            || [
                Some(self.queue()),
                self.terrestrial_queue.clone(),
                self.far_queue.clone(),
            ]
            .into_iter()
            .flatten()
            .any(|queue| queue.entry().make.draws)
            || flows
                .iter()
                .any(|flow| flow.start.is_drawn() || flow.is_random);
        if self.seeds().0 > 1 && !drawn && !self.compares() {
            warnings.push(Note::warning(
                "nothing in these runs is random: every seed gives the same result",
            ));
        }
        warnings
    }
}
