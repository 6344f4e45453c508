//! Runs of candidates: all on the same starts of a trace, or the same seeds of a channel.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fluid_tcp::congestion::Algorithm;
use fluid_tcp::experiment::{
    BufferSize, Collect, Count, Error, Experiment, FlowSpec, LinkKind, LinkPlan, Loaded, Offsets,
    Params, Plan, RunId, Storage,
};
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::Until;
use tmt_core::format::Options;
use tmt_core::scheme::SchemeSpec;
use tmt_core::types::{BitRate, Bytes, Fate, Lldu, Severity, Slot, Span, Time, to_f64};

use super::bounds::Bounds;
use super::census::Census;
use super::{AdviceError, Question, Runs, spread};
use crate::engine::{Over, Shared};

/// Facts about the link of all candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkFacts {
    /// RTT of the link; `None` if no candidate ran.
    pub rtt: Option<Span>,
    /// Median decoding delay of the slots; `None` if none was received.
    pub decode_delay: Option<Span>,
    /// Rate of the slots, if known.
    pub rate: Option<BitRate>,
    /// Size of an LLDU, if the slots tell it.
    pub lldu: Option<Bytes>,
}

/// Stretches of a trace on which the race runs; a power of two.
pub(super) const STRETCHES: u64 = 8;

/// Transfers in a stretch.
const TRANSFERS: u32 = 4;

/// The numbers of one run of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// Goodput of all flows together.
    pub goodput_bps: Option<f64>,
    /// 99 % quantile of the delay of packets; `None` if none arrived.
    pub delay_p99_s: Option<f64>,
    /// Time until all transfers are complete, or the mean page load time of applications that load pages; the length of the run if the
    /// transfers are not complete or no page is loaded, `None` for endless flows.
    pub completion_time_s: Option<f64>,
    /// Data LLDUs delivered per slot: of the whole timeline, or per slot that the coupled link used.
    pub efficiency: Option<f64>,
    /// Share of the link (docs/metrics.md, Sec. 5).
    pub link_share: Option<f64>,
    /// Length of the run.
    pub length_s: f64,
    /// Whether a transfer was not complete, or no page loaded, when the run ended.
    pub is_incomplete: bool,
}

/// A change of the question, which shows what the answer depends on.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Another size of the queue.
    Queue(BufferSize),
    /// Another congestion control of all flows.
    Control(Algorithm),
    /// The erasures of a second, independent realisation of the channel, or of the trace from its middle on, on top.
    TwiceTheLosses,
}

/// Results of a candidate's runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Outcome {
    /// A sample a run, in the order in which the runs were asked for.
    pub(super) samples: Vec<Sample>,
    /// Warnings of its runs, with parameters in backticks.
    pub(super) warnings: Vec<String>,
    /// RTT of the link.
    pub(super) rtt: Option<Span>,
    /// Resolved parameters.
    pub(super) params: Option<Params>,
}

/// Why a candidate has no runs.
pub(super) enum Refusal {
    /// It cannot run on this link.
    Refused(String),
    /// A trace cannot be read or stored, which ends the search.
    Storage(String),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::Storage(_) | Error::Stopped => Self::Storage(error.to_string()),
            error => Self::Refused(error.to_string()),
        }
    }
}

/// Outcomes of some candidates, in their order.
pub(super) type Outcomes = Vec<Result<Outcome, Refusal>>;

/// Runs candidates on several threads.
pub(super) struct Bench<'a> {
    shared: Shared<'a>,
    experiment: Experiment,
    runs: Runs,
    threads: usize,
    /// The slots of all runs, if they have a trace.
    slots: Option<Loaded>,
    /// Whether the erasures of another realisation are added to those of the channel.
    twice: bool,
}

/// Seeds of second realisations lie this far after those of the first.
const SECOND: u64 = 1 << 32;

impl<'a> Bench<'a> {
    /// Reads the trace, if there is one, and spreads the starts over it.
    pub(super) fn new(
        question: &Question,
        storage: &'a dyn Storage,
        threads: usize,
    ) -> Result<(Self, LinkFacts), AdviceError> {
        let mut bench = Self {
            shared: Shared::of_traces(storage),
            experiment: question.experiment.clone(),
            runs: question.runs,
            threads,
            slots: None,
            twice: false,
        };
        let seed = bench.experiment.seed().0;
        let slots = bench.experiment.chain_slots(&bench.shared, seed)?;
        let link = LinkFacts {
            rtt: None,
            decode_delay: slots.rows.median_delay(),
            rate: slots.head.rate(),
            lldu: slots.head.lldu_bytes(),
        };
        if let Runs::Starts { count, duration } = question.runs {
            bench.slots = Some(slots);
            let (offsets, duration) = spread(count, duration, bench.length())?;
            bench.experiment.offsets = Some(offsets);
            bench.experiment.duration = Some(duration);
        }
        Ok((bench, link))
    }

    /// The experiment of all candidates, with the starts.
    pub(super) fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// Spreads `count` starts over the trace from now on.
    pub(super) fn set_starts(&mut self, count: u32) -> Result<(), AdviceError> {
        if let Runs::Starts { duration, .. } = self.runs {
            let (offsets, _) = spread(count, duration, self.length())?;
            self.experiment.offsets = Some(offsets);
        }
        Ok(())
    }

    /// Counts runs from this seed on from now on.
    pub(super) fn set_seed(&mut self, seed: u64) {
        self.experiment.seed = Some(Count(seed));
    }

    /// Runs `work` with the question changed.
    pub(super) fn changed<T>(
        &mut self,
        change: &Change,
        work: impl FnOnce(&Self) -> T,
    ) -> Result<T, Error> {
        let (experiment, slots) = (self.experiment.clone(), self.slots.clone());
        match change {
            Change::Queue(size) => self.experiment.buffer = Some(*size),
            Change::Control(control) => {
                self.experiment.cc = Some(control.clone());
                for flow in self.experiment.flow.iter_mut().flatten() {
                    flow.cc = None;
                }
            }
            Change::TwiceTheLosses => {
                self.twice = true;
                if let Some(slots) = &slots {
                    let half = slots.rows.len() / 2;
                    let rows = || slots.rows.slots().map_while(Result::ok).flatten();
                    let middle = usize::try_from(half).unwrap_or(0);
                    let second = rows().skip(middle).chain(rows().take(middle));
                    self.slots = Some(self.erased_by(slots, second)?);
                }
            }
        }
        let done = work(self);
        (self.experiment, self.slots, self.twice) = (experiment, slots, false);
        Ok(done)
    }

    /// `slots`, with the erasures of `second` added.
    fn erased_by(
        &self,
        slots: &Loaded,
        mut second: impl Iterator<Item = Slot>,
    ) -> Result<Loaded, Error> {
        let mut collector = self.shared.collect();
        for block in slots.rows.slots() {
            let mut block = block?;
            for slot in &mut block {
                if second.next().is_some_and(|other| other.is_erased()) {
                    *slot = Slot::erased(slot.tx_time());
                }
            }
            collector.slots(&block);
        }
        Ok(Loaded {
            rows: collector.finish()?,
            ..slots.clone()
        })
    }

    /// Length of the trace; 0 without one.
    pub(super) fn length(&self) -> Span {
        let slots = self.slots.as_ref();
        let ends = slots.and_then(|slots| slots.rows.first().zip(slots.rows.last()));
        ends.map_or(Span::ZERO, |(first, last)| last.since(first))
    }

    /// The erasures of the channel, of all runs.
    pub(super) fn census(&self) -> Result<Census, AdviceError> {
        let unreadable = || AdviceError::Failed("the slots cannot be read".to_owned());
        if let Some(slots) = &self.slots {
            return Census::default().with(&slots.rows).ok_or_else(unreadable);
        }
        let Runs::Seeds { count } = self.runs else {
            return Err(unreadable());
        };
        let all: Vec<u64> = (0..u64::from(count)).collect();
        let slots = self.parallel(all.len(), |place| self.generated(all[place]).ok());
        let mut census = Census::default();
        for slots in slots {
            let slots = slots.ok_or_else(unreadable)?;
            census = census.with(&slots.rows).ok_or_else(unreadable)?;
        }
        Ok(census)
    }

    /// Runs `schemes` with these of the runs.
    pub(super) fn samples(
        &self,
        schemes: &[&SchemeSpec],
        runs: &[u64],
        advanced: &(impl Fn(u64) + Sync),
    ) -> Outcomes {
        if matches!(self.runs, Runs::Starts { .. }) {
            return self.parallel(schemes.len(), |place| {
                let done = self.of_trace(schemes[place], runs);
                advanced(runs.len() as u64);
                done
            });
        }
        let mut outcomes: Outcomes = schemes.iter().map(|_| Ok(Outcome::default())).collect();
        for run in runs {
            // Every seed has slots of its own, which all candidates share.
            let slots = match self.experiment.link() {
                LinkKind::Timeline => Some(self.generated(*run)),
                _ => None,
            };
            let more = self.parallel(schemes.len(), |place| {
                if outcomes[place].is_err() {
                    return None;
                }
                let done = self.of_seed(schemes[place], *run, slots.as_ref());
                advanced(1);
                Some(done)
            });
            for (outcome, more) in outcomes.iter_mut().zip(more) {
                match (outcome.as_mut(), more) {
                    (Ok(outcome), Some(Ok(more))) => outcome.extend(more),
                    (_, Some(Err(refusal))) => *outcome = Err(refusal),
                    _ => (),
                }
            }
        }
        outcomes
    }

    /// Stretches of this `length` of the trace, spread evenly over it, in an order whose first half is, too. None without a trace, or
    /// if they overlap.
    pub(super) fn stretches(&self, length: Span) -> Result<Vec<Loaded>, Error> {
        let Some(slots) = &self.slots else {
            return Ok(Vec::new());
        };
        let first = slots.rows.first().unwrap_or(Time::ZERO);
        let whole = self.length();
        if length.checked_mul(STRETCHES).is_none_or(|all| all > whole) {
            return Ok(Vec::new());
        }
        let room = whole.saturating_sub(length).as_nanos();
        let starts = (0..STRETCHES).map(|number| {
            // In the order of the bits of its number, from the last to the first.
            let place = number.reverse_bits() >> (STRETCHES.leading_zeros() + 1);
            let nanos = u128::from(room) * u128::from(place) / u128::from(STRETCHES - 1);
            let start = u64::try_from(nanos).ok().and_then(Span::from_nanos);
            first.saturating_add(start.unwrap_or(Span::ZERO))
        });
        starts
            .map(|start| self.cut(slots, start, start.saturating_add(length)))
            .collect()
    }

    /// The slots from `start` to before `end`.
    fn cut(&self, slots: &Loaded, start: Time, end: Time) -> Result<Loaded, Error> {
        let mut collector = self.shared.collect();
        let mut rows: Vec<Slot> = Vec::new();
        let trace = &slots.rows;
        for number in trace.block_at(start)..trace.blocks() {
            let Some(block) = trace.block(number) else {
                return Err(Error::Data("the slots cannot be read".to_owned()));
            };
            rows.clear();
            let own = block.slots(0..trace.rows_in(number));
            rows.extend(own.filter(|slot| (start..end).contains(&slot.tx_time())));
            if rows.is_empty() && block.tx_time(0) >= end {
                break;
            }
            collector.slots(&rows);
        }
        Ok(Loaded {
            rows: collector.finish()?,
            end: None,
            notes: Vec::new(),
            ..slots.clone()
        })
    }

    /// Runs `schemes` over `stretches` of the trace: a run each for endless flows, or transfers from several starts.
    pub(super) fn heats(
        &self,
        schemes: &[&SchemeSpec],
        stretches: &[Loaded],
        length: Span,
        advanced: &(impl Fn(u64) + Sync),
    ) -> Outcomes {
        let has_end = |flows: &Vec<_>| flows.iter().all(|flow: &FlowSpec| flow.bytes.is_some());
        let given = &self.experiment;
        let transfers = given.flow.as_ref().map_or(given.bytes.is_some(), has_end);
        let half = length.half();
        let offsets = transfers.then_some(Offsets {
            count: TRANSFERS,
            random: false,
            over: Some(half),
        });
        let heat = Experiment {
            duration: transfers.then_some(half),
            offsets,
            ..given.clone()
        };
        let runs: Vec<u64> = (0..offsets.map_or(1, |offsets| u64::from(offsets.count))).collect();
        self.parallel(schemes.len(), |place| {
            let mut all = Outcome::default();
            let experiment = Experiment {
                scheme: Some(schemes[place].clone()),
                ..heat.clone()
            };
            for stretch in stretches {
                all.extend(if experiment.is_chain() {
                    self.of_timeline(&experiment, stretch, |plan, efficiency| {
                        outcome(plan, &runs, efficiency, &self.shared)
                    })?
                } else {
                    let storage = Over {
                        storage: &self.shared,
                        timeline: stretch.clone(),
                    };
                    let experiment = Experiment {
                        trace: Some("-".to_owned()),
                        ..experiment.clone()
                    };
                    outcome(&experiment.resolve(&storage)?, &runs, None, &self.shared)?
                });
            }
            advanced(1);
            Ok(all)
        })
    }

    /// Runs from starts of the trace.
    fn of_trace(&self, scheme: &SchemeSpec, runs: &[u64]) -> Result<Outcome, Refusal> {
        let experiment = self.of_scheme(scheme);
        let Some(slots) = self.slots.as_ref().filter(|_| experiment.is_chain()) else {
            if let Some(slots) = self.slots.as_ref().filter(|_| self.twice) {
                let storage = Over {
                    storage: &self.shared,
                    timeline: slots.clone(),
                };
                let trace = Some("-".to_owned());
                let experiment = Experiment {
                    trace,
                    ..experiment
                };
                return outcome(&experiment.resolve(&storage)?, runs, None, &self.shared);
            }
            let plan = experiment.resolve(&self.shared)?;
            return outcome(&plan, runs, None, &self.shared);
        };
        self.of_timeline(&experiment, slots, |plan, efficiency| {
            outcome(plan, runs, efficiency, &self.shared)
        })
    }

    /// The run of one seed.
    fn of_seed(
        &self,
        scheme: &SchemeSpec,
        run: u64,
        slots: Option<&Result<Loaded, Error>>,
    ) -> Result<Outcome, Refusal> {
        let experiment = Experiment {
            seed: Some(Count(self.experiment.seed().0.saturating_add(run))),
            ..self.of_scheme(scheme)
        };
        match slots {
            None if self.twice => {
                let storage = Over {
                    storage: &self.shared,
                    timeline: self.generated(run)?,
                };
                let mut experiment = Experiment {
                    trace: Some("-".to_owned()),
                    ..experiment
                };
                (experiment.channel, experiment.loss, experiment.rate) = (None, None, None);
                outcome(&experiment.resolve(&storage)?, &[0], None, &self.shared)
            }
            None => outcome(&experiment.resolve(&self.shared)?, &[0], None, &self.shared),
            Some(Err(error)) => Err(Refusal::Refused(error.to_string())),
            Some(Ok(slots)) => self.of_timeline(&experiment, slots, |plan, efficiency| {
                outcome(plan, &[0], efficiency, &self.shared)
            }),
        }
    }

    /// The transform of `slots`, and the runs over it.
    fn of_timeline(
        &self,
        experiment: &Experiment,
        slots: &Loaded,
        runs: impl FnOnce(&Plan, Option<f64>) -> Result<Outcome, Refusal>,
    ) -> Result<Outcome, Refusal> {
        let counting = Counting {
            storage: &self.shared,
            delivered: Arc::default(),
        };
        let timeline = experiment.chain_timeline(slots, &counting)?;
        let delivered = *lock(&counting.delivered);
        let all = timeline.end.map(|end| end.slots).filter(|slots| *slots > 0);
        let efficiency = all.map(|all| to_f64(delivered) / to_f64(all));
        let storage = Over {
            storage: &self.shared,
            timeline,
        };
        let plan = experiment.chain_run().resolve(&storage)?;
        runs(&plan, efficiency)
    }

    fn of_scheme(&self, scheme: &SchemeSpec) -> Experiment {
        Experiment {
            scheme: Some(scheme.clone()),
            ..self.experiment.clone()
        }
    }

    /// The slots of the channel under a seed, in storage: each candidate would generate them again.
    fn generated(&self, run: u64) -> Result<Loaded, Error> {
        let seed = self.experiment.seed().0.saturating_add(run);
        let mut slots = self.experiment.chain_slots(&self.shared, seed)?;
        let mut collector = self.shared.collect();
        let failed = |_| Error::Data("the slots cannot be generated".to_owned());
        for block in slots.rows.slots() {
            collector.slots(&block.map_err(failed)?);
        }
        slots.rows = collector.finish()?;
        if self.twice {
            let second = self
                .experiment
                .chain_slots(&self.shared, seed.saturating_add(SECOND))?;
            let second = second.rows.slots().map_while(Result::ok).flatten();
            return self.erased_by(&slots, second);
        }
        Ok(slots)
    }

    /// The bounds of `schemes` on the channel of `census`, in their order.
    pub(super) fn bounds(
        &self,
        schemes: &[SchemeSpec],
        census: &Census,
    ) -> Result<Vec<Bounds>, AdviceError> {
        let all = self.parallel(schemes.len(), |place| {
            (!self.shared.stopped()).then(|| Bounds::of(&schemes[place], census))
        });
        let all: Option<Vec<Bounds>> = all.into_iter().collect();
        Ok(all.ok_or(Error::Stopped)?)
    }

    /// The values of `work` for 0 … `count` − 1, in this order.
    fn parallel<T: Send + Sync>(&self, count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let done: Vec<OnceLock<T>> = (0..count).map(|_| OnceLock::new()).collect();
        let next = AtomicUsize::new(0);
        let share = || {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(cell) = done.get(place) else { return };
                let _ = cell.set(work(place));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads.min(count).max(1) {
                scope.spawn(share);
            }
            share();
        });
        done.into_iter().filter_map(OnceLock::into_inner).collect()
    }
}

impl Outcome {
    /// Adds further runs.
    pub(super) fn extend(&mut self, more: Self) {
        self.samples.extend(more.samples);
        for warning in more.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        self.rtt = self.rtt.or(more.rtt);
        self.params = self.params.take().or(more.params);
    }
}

/// These runs of `plan`. `efficiency` is that of the timeline.
fn outcome(
    plan: &Plan,
    runs: &[u64],
    efficiency: Option<f64>,
    storage: &dyn Storage,
) -> Result<Outcome, Refusal> {
    let ids = plan.runs();
    let mut samples = Vec::new();
    for run in runs {
        let id = usize::try_from(*run).ok().and_then(|run| ids.get(run));
        let id: RunId = *id.ok_or_else(|| Refusal::Refused(format!("there is no run {run}")))?;
        let report = plan.run(id, &mut Until(|_| storage.stopped()))?;
        samples.push(sample(plan, &report, efficiency));
    }
    let warnings = plan.notes.iter();
    let warnings = warnings.filter(|note| note.severity == Severity::Warning);
    Ok(Outcome {
        samples,
        warnings: warnings.map(|note| note.text.clone()).collect(),
        rtt: Some(plan.rtt),
        params: Some(plan.params.clone()),
    })
}

fn sample(plan: &Plan, report: &RunReport, efficiency: Option<f64>) -> Sample {
    let total = &report.total;
    let metrics = &total.metrics;
    // Pages count before the transfers beside them.
    let (is_page, done) = match metrics.pages_loaded {
        Some(_) => (true, metrics.page_time_mean_s),
        None => (false, metrics.completion_time_s),
    };
    let transfers = is_page || plan.flows.iter().all(|flow| flow.flow.packets().is_some());
    let is_incomplete = transfers && done.is_none();
    // A run that ends first says that the transfer takes at least as long.
    let limit = || {
        plan.resolved
            .duration
            .map_or(report.duration_s, Span::as_secs_f64)
    };
    let completion = done.or_else(|| is_incomplete.then(limit));
    let of_slots = || {
        let LinkPlan::Coupled(link) = &plan.link else {
            return None;
        };
        let used = total.lldus_used.filter(|used| *used > 0)?;
        let complete = total.packets_served.saturating_sub(metrics.packets_lost);
        Some(to_f64(complete) * to_f64(link.trace.lldus_per_packet) / to_f64(used))
    };
    Sample {
        goodput_bps: metrics.goodput_bps,
        delay_p99_s: metrics.delay_p99_s,
        completion_time_s: completion.filter(|_| transfers),
        efficiency: efficiency.or_else(of_slots),
        link_share: metrics.link_share,
        length_s: report.duration_s,
        is_incomplete,
    }
}

/// Storage that counts the LLDUs that are delivered.
struct Counting<'a> {
    storage: &'a dyn Storage,
    delivered: Arc<Mutex<u64>>,
}

impl Storage for Counting<'_> {
    fn read(&self, path: Option<&str>, options: Options) -> Result<Loaded, Error> {
        self.storage.read(path, options)
    }

    fn collect(&self) -> Box<dyn Collect> {
        Box::new(CountingCollect {
            rows: self.storage.collect(),
            delivered: Arc::clone(&self.delivered),
            own: 0,
        })
    }

    fn stopped(&self) -> bool {
        self.storage.stopped()
    }
}

struct CountingCollect {
    rows: Box<dyn Collect>,
    delivered: Arc<Mutex<u64>>,
    own: u64,
}

impl Collect for CountingCollect {
    fn lldus(&mut self, lldus: &[Lldu]) {
        let delivered = lldus.iter().filter(|lldu| lldu.fate == Fate::Delivered);
        self.own += delivered.count() as u64;
        self.rows.lldus(lldus);
    }

    fn slots(&mut self, slots: &[Slot]) {
        self.rows.slots(slots);
    }

    fn finish(self: Box<Self>) -> Result<tmt_link::timeline::Trace, Error> {
        *lock(&self.delivered) += self.own;
        self.rows.finish()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
