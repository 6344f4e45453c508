//! One direction of a run: its parameters, and the link that follows from them.

use fluid_tcp::experiment::{
    self, Collect, Count, Experiment, Group, LinkKind, Loaded, PARAMETERS, Plan, ReceiverWindow,
    Storage,
};
use tmt_core::format::Options;
use tmt_core::types::{Bytes, Severity, Span};

use crate::cmd::tcp::{Files, named, typed, unescaped};
use crate::exit::{Failure, Outcome, warning};

/// Length of a run whose links do not end.
const ENDLESS: Span = Span::from_secs(86_400 * 365);

/// Bit by which the seed of `up` differs from that of `down`.
const UP_SEED: u64 = 1 << 62;

/// Length of generated slots of a timeline.
const GENERATED: Span = Span::from_secs(600);

/// A direction.
#[derive(Debug)]
pub(super) struct Direction {
    /// `down` or `up`.
    pub(super) name: &'static str,
    /// Its link; `None` if it only delays.
    pub(super) experiment: Option<Experiment>,
    /// Whether its link has slots.
    pub(super) has_slots: bool,
    loops: bool,
}

impl Direction {
    /// The direction with this trace, if any. `own` parameters go before those of both directions.
    pub(super) fn new(
        name: &'static str,
        trace: Option<&str>,
        shared: &Experiment,
        own: Experiment,
        loops: bool,
    ) -> Outcome<Self> {
        if trace == Some("-") {
            return Err(Failure::usage(format!(
                "--{name} -: found stdin, which belongs to the command, expected a file name"
            )));
        }
        let has_slots = trace.is_some() || own.channel.is_some();
        let has_link = has_slots || own.rate.is_some();
        for (key, given, needed, expected) in [
            ("scheme", own.scheme.is_some(), has_slots, "slots"),
            ("loss", own.loss.is_some(), has_link, "a link"),
            ("buffer", own.buffer.is_some(), has_link, "a link"),
            ("queue", own.queue.is_some(), has_link, "a link"),
        ] {
            if given && !needed {
                let rate = if expected == "slots" {
                    ""
                } else {
                    " or --NAME-rate"
                };
                let remedy = format!("--NAME TRACE, --NAME-channel{rate}").replace("NAME", name);
                return Err(Failure::usage(format!(
                    "--{name}-{key}: found a direction without {expected}, expected {remedy}, too"
                )));
            }
        }
        if !has_link {
            return Ok(Self {
                name,
                experiment: None,
                has_slots,
                loops,
            });
        }
        let mut experiment = shared.clone();
        experiment.override_with(own);
        experiment.trace = trace.map(str::to_owned);
        experiment.looped = None;
        if has_slots {
            let wanted = shared.link.unwrap_or(LinkKind::Timeline);
            if wanted == LinkKind::Synthetic {
                return Err(Failure::usage(
                    "--link synthetic: expected timeline or coupled; a rate alone makes a link of constant rate",
                ));
            }
            experiment.link = Some(wanted);
        } else {
            experiment.link = Some(LinkKind::Synthetic);
        }
        refuse_queues_of_flows(name, &experiment)?;
        forget_needless(&mut experiment);
        // The hosts are real: the simulated flow is there only because a plan needs one.
        experiment.bytes = Some(Bytes(1));
        experiment.rwnd = Some(ReceiverWindow::Unlimited);
        if name == "up" {
            // Losses and channels of both directions are independent of each other.
            experiment.seed = Some(Count(experiment.seed().0 ^ UP_SEED));
        }
        Ok(Self {
            name,
            experiment: Some(experiment),
            has_slots,
            loops,
        })
    }

    /// The plan of its link; `None` if it only delays.
    pub(super) fn plan(&self) -> Outcome<Option<Plan>> {
        let Some(experiment) = &self.experiment else {
            return Ok(None);
        };
        let plan = self
            .resolved(experiment)
            .map_err(|error| self.failure(error))?;
        let warnings = plan.notes.iter();
        let warnings = warnings.filter(|note| note.severity == Severity::Warning);
        for note in warnings {
            warning!("replay", "{}: {}", self.name, self.words(&note.text));
        }
        Ok(Some(plan))
    }

    fn resolved(&self, experiment: &Experiment) -> experiment::Result<Plan> {
        let mut experiment = experiment.clone();
        let loop_all = |run: &mut Experiment| {
            run.duration = Some(ENDLESS);
            run.looped = Some(true);
        };
        if experiment.is_chain() {
            if experiment.channel.is_some() {
                experiment.duration = experiment.duration.or(Some(GENERATED));
            }
            let slots = experiment.chain_slots(&Files::here(), experiment.seed().0)?;
            let timeline = experiment.chain_timeline(&slots, &Files::here())?;
            let mut run = experiment.chain_run();
            run.duration = None;
            if self.loops {
                loop_all(&mut run);
            }
            return run.resolve(&Ready(timeline, Files::here()));
        }
        if experiment.trace.is_none() {
            // A rate, or a channel whose slots are generated on demand.
            experiment.duration = Some(ENDLESS);
        } else {
            experiment.duration = None;
            if self.loops {
                loop_all(&mut experiment);
            }
        }
        experiment.resolve(&Files::here())
    }

    fn words(&self, text: &str) -> String {
        let trace = format!("--{}", self.name);
        unescaped(&named(text, |key| match key {
            "trace" => trace.clone(),
            key => typed(key),
        }))
    }

    /// The failure of its link.
    pub(super) fn failure(&self, error: experiment::Error) -> Failure {
        match error {
            experiment::Error::Refused { message, .. } => {
                Failure::usage(format!("{}: {}", self.name, self.words(&message)))
            }
            experiment::Error::Storage(error) => match error.downcast::<Failure>() {
                Ok(failure) => *failure,
                Err(error) => Failure::failed(error),
            },
            stopped @ experiment::Error::Stopped => Failure::failed(stopped),
            other @ experiment::Error::Data(_) => {
                Failure::failed(format!("{}: {}", self.name, self.words(&other.to_string())))
            }
        }
    }
}

/// Refuses disciplines that tell flows apart, since all packets of a replay are one flow of class 0.
fn refuse_queues_of_flows(direction: &str, experiment: &Experiment) -> Outcome {
    let queue = experiment.queue.as_ref();
    match queue.filter(|queue| queue.entry().make.by_flow) {
        None => Ok(()),
        Some(queue) => Err(Failure::usage(format!(
            "--queue {queue}, {direction}: found a queue that tells flows apart, expected another: all packets of a replay are one flow"
        ))),
    }
}

/// Forgets parameters of both directions that the link of this one does not have.
fn forget_needless(experiment: &mut Experiment) {
    let link = experiment.link();
    for parameter in PARAMETERS {
        let is_of_slots = ["lldu", "lldu_header", "packing", "overlap"].contains(&parameter.key);
        let is_of_scheme = parameter.group == Group::CoupledLink
            && !["scheme", "channel", "feedback_delay"].contains(&parameter.key);
        let is_needless = match link {
            LinkKind::Synthetic => {
                is_of_slots
                    || parameter.group == Group::CoupledLink
                    || parameter.group == Group::Input
            }
            LinkKind::Coupled => parameter.key == "overlap",
            LinkKind::Timeline => {
                is_of_scheme || parameter.key == "feedback_delay" && experiment.scheme.is_none()
            }
        };
        let is_needless =
            is_needless || parameter.group == Group::Input && experiment.trace.is_none();
        if is_needless {
            experiment.unset(parameter);
        }
    }
}

/// The timeline of a chain, and storage of the call for the rest.
struct Ready(Loaded, Files);

impl Storage for Ready {
    fn read(&self, _path: Option<&str>, _options: Options) -> experiment::Result<Loaded> {
        Ok(self.0.clone())
    }

    fn collect(&self) -> Box<dyn Collect> {
        self.1.collect()
    }

    fn stopped(&self) -> bool {
        self.1.stopped()
    }
}
