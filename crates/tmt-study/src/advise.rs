//! Which scheme a link should use (docs/advise.md): candidates are pruned by closed forms and raced on the same starts or seeds.
//! The best run again on others, and what they say there is the answer.

mod bounds;
mod candidates;
mod census;
mod evaluation;
mod finals;
mod objective;
mod race;
mod verdict;

use fluid_tcp::experiment::{Experiment, Offsets, Storage};
use tmt_core::scheme::SchemeSpec;
use tmt_core::types::Span;

pub use candidates::{MAX_CANDIDATES, candidates, read};
pub use census::Census;
pub use evaluation::{Change, LinkFacts};
pub use objective::Objective;
pub use verdict::{Advice, Candidate, Changed, Difference, Fate, Finals};

/// Runs by which candidates are compared. All candidates have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// Runs from several starts in one trace.
    Starts {
        /// Number of starts, 1 or more; evenly spaced.
        count: u32,
        /// Length of a run; `None` for a quarter of the trace.
        duration: Option<Span>,
    },
    /// Runs over a channel with successive seeds, from that of the experiment on.
    Seeds {
        /// Number of seeds, 1 or more.
        count: u32,
    },
}

/// A link, an objective, and the candidates.
#[derive(Debug, Clone)]
pub struct Question {
    /// The link, the path and the traffic: all parameters of a run but the scheme and the number of runs.
    pub experiment: Experiment,
    /// Schemes to choose from, each once.
    pub candidates: Vec<SchemeSpec>,
    /// Objective.
    pub objective: Objective,
    /// Runs of a candidate that is evaluated completely.
    pub runs: Runs,
    /// Whether all candidates are evaluated completely: nothing is pruned or dropped by the race.
    pub exhaustive: bool,
    /// Whether candidates between those of the grid are tried around the best.
    pub refine: bool,
    /// Least number of runs of the best candidates on seeds or starts that the race has not seen; 1 without random numbers.
    pub fresh: u32,
}

/// Why there is no advice. Messages name parameters by their keys, in backticks.
#[derive(Debug, thiserror::Error)]
pub enum AdviceError {
    /// The question contradicts itself or lacks something.
    #[error("{0}")]
    Refused(String),
    /// The trace cannot be used or read, or all candidates are refused.
    #[error("{0}")]
    Failed(String),
}

impl From<fluid_tcp::experiment::Error> for AdviceError {
    fn from(error: fluid_tcp::experiment::Error) -> Self {
        match error {
            fluid_tcp::experiment::Error::Refused { message, .. } => Self::Refused(message),
            error => Self::Failed(error.to_string()),
        }
    }
}

impl Question {
    /// Searches the candidates on `threads` threads. `advanced` is called with the number of runs that are done. The answer
    /// depends neither on threads nor on time.
    ///
    /// ```
    /// use fluid_tcp::experiment::{Experiment, InMemory};
    /// use tmt_core::Span;
    /// use tmt_study::advise::{Objective, Question, Runs, read};
    ///
    /// let question = Question {
    ///     experiment: Experiment {
    ///         channel: Some("bernoulli:0.01".parse()?),
    ///         rate: Some("2Mbps".parse()?),
    ///         duration: Some(Span::from_secs(20)),
    ///         rtt: Some(Span::from_millis(500)),
    ///         ..Experiment::default()
    ///     },
    ///     candidates: read("none,arq,in-order,fec:10/20")?,
    ///     objective: Objective::Goodput,
    ///     runs: Runs::Seeds { count: 2 },
    ///     exhaustive: false,
    ///     refine: false,
    ///     fresh: 8,
    /// };
    /// let advice = question.answer(&InMemory, 1, &|_| ())?;
    /// assert_eq!(advice.winner().scheme.text(), "arq,in-order");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// No candidates, a trace that cannot be read, candidates that are all refused, or none that delivers anything.
    pub fn answer(
        &self,
        storage: &dyn Storage,
        threads: usize,
        advanced: &(impl Fn(u64) + Sync),
    ) -> Result<Advice, AdviceError> {
        let refused = |message: &str| Err(AdviceError::Refused(message.to_owned()));
        if self.candidates.is_empty() {
            return refused("found no candidate, expected at least one scheme");
        }
        if self.objective == Objective::PageTime
            && !self.has_bytes()
            && !loads_pages(&self.experiment)
        {
            return refused(
                "the objective page-time needs `bytes`, the size of a page, or a `flow` with app=pages(size=SIZE)",
            );
        }
        race::run(self, storage, threads, advanced)
    }

    /// Whether every flow ends after some bytes.
    fn has_bytes(&self) -> bool {
        match &self.experiment.flow {
            Some(flows) => flows.iter().all(|flow| flow.bytes.is_some()),
            None => self.experiment.bytes.is_some(),
        }
    }

    /// Runs if no candidate leaves the race, and the finals take as many as they may.
    #[must_use]
    pub fn most_runs(&self) -> u64 {
        let around = if self.refine { race::MOST_AROUND } else { 0 };
        let race = (self.candidates.len() as u64 + around) * self.count();
        race + finals::most_runs(self)
    }

    /// Number of runs of a candidate that is evaluated completely.
    fn count(&self) -> u64 {
        match self.runs {
            Runs::Starts { count, .. } | Runs::Seeds { count } => u64::from(count.max(1)),
        }
    }
}

/// Whether a flow loads pages.
#[must_use]
pub fn loads_pages(experiment: &Experiment) -> bool {
    let apps = experiment.flow.iter().flatten();
    apps.filter_map(|flow| flow.app.as_ref())
        .any(|app| app.entry().name == "pages")
}

/// The starts of runs over a trace of this `length`: their number and range, and the length of a run.
fn spread(
    count: u32,
    duration: Option<Span>,
    length: Span,
) -> Result<(Offsets, Span), AdviceError> {
    let duration = duration.unwrap_or_else(|| whole_millis(length.half().half()));
    if duration > length {
        return Err(AdviceError::Failed(format!(
            "found a trace of {length}, expected at least the {duration} of a run (`duration`)"
        )));
    }
    let over = whole_millis(length.saturating_sub(duration));
    let offsets = Offsets {
        count,
        random: false,
        over: Some(over),
    };
    Ok((offsets, duration))
}

/// `span` without a fraction of a millisecond, unless it is shorter than ten: such numbers are easier to repeat.
fn whole_millis(span: Span) -> Span {
    let (nanos, milli) = (span.as_nanos(), 1_000_000);
    let whole = Span::from_nanos(nanos / milli * milli);
    whole.filter(|_| nanos >= 10 * milli).unwrap_or(span)
}
