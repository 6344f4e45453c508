//! Congestion control: the trait, and the registry by name.
//!
//! A controller sees events and answers with a window; when and what to send is the sender's. A new
//! one is one file in `congestion/` and one line in `REGISTRY`.

mod backlog;
mod bbr;
mod bbr1;
mod compound;
mod cubic;
mod fixed;
mod hybla;
mod hystart;
mod newreno;
mod rate;
mod reno;
mod vegas;
mod westwood;

use std::fmt;
use std::str::FromStr;

use tmt_core::types::{Span, Time};

pub use rate::{LostPacket, RateSample};

/// An acknowledgement arrived.
#[derive(Debug, Clone, Copy, Default)]
pub struct AckEvent {
    /// Now.
    pub now: Time,
    /// Segments newly acknowledged; none by a duplicate.
    pub acked: u64,
    /// Segments that this tells to have arrived, each told once: by SACK blocks, or by a duplicate, too.
    pub delivered: u64,
    /// Segments outstanding before it arrived.
    pub in_flight: u64,
    /// Round trips so far: one more whenever something is acknowledged that was sent after the last one began.
    pub round: u64,
    /// Round-trip time of the last segment acknowledged, to the nanosecond whatever the timeout's clock;
    /// none where one of them was sent twice (Karn).
    pub rtt: Option<Span>,
    /// Smoothed round-trip time on the timeout's clock, once measured.
    pub srtt: Option<Span>,
    /// Segments that this made known as lost.
    pub lost: u64,
    /// It echoes a mark of a queue (RFC 3168).
    pub echo: bool,
    /// Segments in the network after it: sent, and neither known to have arrived nor to be lost.
    pub pipe: u64,
    /// How fast segments were delivered; only for controllers that ask
    /// ([`CongestionControl::samples_rate`]), none where nothing could be measured.
    pub rate: Option<RateSample>,
}

/// Congestion was inferred; at most once a recovery.
#[derive(Debug, Clone, Copy)]
pub struct CongestionEvent {
    /// Now.
    pub now: Time,
    /// Segments outstanding, RFC 5681's FlightSize.
    pub in_flight: f64,
    /// From what.
    pub cause: Cause,
}

impl CongestionEvent {
    /// Window and threshold after it, where the window falls to `threshold` segments (RFC 5681 §3.1): from one segment
    /// after a timeout, and with the `old` threshold where the same packet times out again.
    fn leaves(&self, threshold: f64, old: Option<f64>) -> (f64, Option<f64>) {
        let threshold = threshold.max(LEAST_SSTHRESH);
        match self.cause {
            Cause::RepeatedTimeout => (1.0, old),
            Cause::Timeout => (1.0, Some(threshold)),
            Cause::FastRetransmit | Cause::Ecn => (threshold, Some(threshold)),
        }
    }
}

/// What congestion was inferred from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Duplicate or selective acknowledgements.
    FastRetransmit,
    /// The retransmission timer.
    Timeout,
    /// The timer once more for the same packet: the threshold stays as it is (RFC 5681 §3.1).
    RepeatedTimeout,
    /// An echoed mark of a queue (RFC 3168): a cut without a loss.
    Ecn,
}

impl Cause {
    /// Whether sending starts again from a window of one segment.
    #[must_use]
    pub fn restarts(self) -> bool {
        matches!(self, Self::Timeout | Self::RepeatedTimeout)
    }
}

/// A controller that can be kept as it is, to go back to when a cut turns out to have been needless.
pub trait Keep {
    /// The controller as it is now.
    fn keep(&self) -> Box<dyn CongestionControl>;
}

impl<C: CongestionControl + Clone + 'static> Keep for C {
    fn keep(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

/// A congestion controller; windows are in segments, fractions allowed.
pub trait CongestionControl: Keep + fmt::Debug + Send {
    /// Any acknowledgement, in recovery and duplicates included, before anything is made of it: for
    /// controllers that measure. The window stays as it is.
    fn observe(&mut self, _ack: &AckEvent) {}
    /// New data was acknowledged outside of a fast recovery, and the window was what held the sender back.
    fn on_ack(&mut self, ack: &AckEvent);
    /// Congestion was inferred: the window becomes what it is to be after recovery, or 1 after a timeout.
    fn on_congestion(&mut self, event: &CongestionEvent);
    /// The congestion window, segments.
    fn cwnd(&self) -> f64;
    /// The slow-start threshold, segments; none before it was first set.
    fn ssthresh(&self) -> Option<f64>;
    /// Whether, without SACK, a fast recovery goes on after a partial acknowledgement (RFC 6582); the
    /// first one ends it where not (RFC 5681 §3.2).
    fn recovers_by_partial(&self) -> bool {
        true
    }
    /// Segments a second at which to send; none where the window alone decides.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
    /// Whether acknowledgements must carry [`AckEvent::rate`].
    fn samples_rate(&self) -> bool {
        false
    }
    /// Whether the controller sets its window in recoveries, too: every acknowledgement is given to
    /// [`CongestionControl::on_ack`], and what is in the network is held to the window, not by proportional rate
    /// reduction.
    fn governs_recovery(&self) -> bool {
        false
    }
    /// A packet was found lost, by an acknowledgement that is told of next or by a timer; only told to
    /// controllers that ask for rate samples.
    fn on_lost(&mut self, _lost: &LostPacket) {}
    /// Whether what is sent now tells nothing of the path's rate: the controller keeps the pipe empty on purpose.
    fn holds_back(&self) -> bool {
        false
    }
    /// Whether an echoed mark cuts the window: only then may packets be marked instead of dropped.
    fn answers_marks(&self) -> bool {
        true
    }
    /// A fast recovery, or one after a timeout, is over.
    fn on_recovered(&mut self, _now: Time) {}
    /// The sender starts again after it had nothing in the network.
    fn on_restart(&mut self, _now: Time) {}
}

/// A controller by name with its parameters, such as `cubic:beta=0.8,c=0.4`.
#[derive(Debug, Clone, PartialEq)]
pub struct Algorithm {
    entry: &'static Entry,
    parameters: Vec<f64>,
}

/// A parameter.
#[derive(Debug, Clone, Copy)]
struct Parameter {
    name: &'static str,
    /// When left out; 1 is on.
    value: f64,
    domain: Domain,
}

/// What a parameter may be.
#[derive(Debug, Clone, Copy)]
enum Domain {
    /// From the first to the second.
    Number(f64, f64),
    /// `on` or `off`.
    Switch,
    /// From the first to the second; must be given, and stands without its name: `fixed:20`.
    Bare(f64, f64),
}

/// A line of the registry.
#[derive(Debug)]
struct Entry {
    name: &'static str,
    parameters: &'static [Parameter],
    /// Makes a controller with this initial window and these parameters, in the order above.
    make: fn(f64, &[f64]) -> Box<dyn CongestionControl>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Every controller there is.
static REGISTRY: [Entry; 10] = [
    reno::ENTRY,
    newreno::ENTRY,
    cubic::ENTRY,
    compound::ENTRY,
    hybla::ENTRY,
    westwood::ENTRY,
    vegas::ENTRY,
    bbr1::ENTRY,
    bbr::ENTRY,
    fixed::ENTRY,
];

/// The smallest slow-start threshold, segments (RFC 5681 §3.1).
const LEAST_SSTHRESH: f64 = 2.0;

impl Algorithm {
    /// The controller at the start of a connection with this initial window, segments.
    #[must_use]
    pub fn start(&self, initial_window: f64) -> Box<dyn CongestionControl> {
        (self.entry.make)(initial_window, &self.parameters)
    }

    /// The names of all controllers.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        REGISTRY.iter().map(|entry| entry.name).collect()
    }

    /// How each is written, with its parameters and their defaults.
    #[must_use]
    pub fn forms() -> Vec<String> {
        REGISTRY.iter().map(Entry::form).collect()
    }
}

impl Parameter {
    const fn number(name: &'static str, value: f64, least: f64, most: f64) -> Self {
        Self {
            name,
            value,
            domain: Domain::Number(least, most),
        }
    }

    const fn switch(name: &'static str) -> Self {
        Self {
            name,
            value: 0.0,
            domain: Domain::Switch,
        }
    }

    /// A switch that is on when left out.
    const fn switched_on(name: &'static str) -> Self {
        Self {
            value: 1.0,
            ..Self::switch(name)
        }
    }

    const fn bare(name: &'static str, least: f64, most: f64) -> Self {
        Self {
            name,
            value: least,
            domain: Domain::Bare(least, most),
        }
    }

    fn is_bare(&self) -> bool {
        matches!(self.domain, Domain::Bare(..))
    }

    /// Whether this value is a switch as it stands when left out: then it need not be shown.
    fn goes_without_saying(&self, value: f64) -> bool {
        matches!(self.domain, Domain::Switch) && is_on(value) == is_on(self.value)
    }

    /// The parameter with this value as it is typed.
    fn show(&self, value: f64) -> String {
        match self.domain {
            Domain::Number(..) => format!("{}={value}", self.name),
            Domain::Switch => format!("{}={}", self.name, if is_on(value) { "on" } else { "off" }),
            Domain::Bare(..) => value.to_string(),
        }
    }

    fn parse(&self, text: &str) -> Result<f64, String> {
        match self.domain {
            Domain::Number(least, most) | Domain::Bare(least, most) => text
                .parse()
                .ok()
                .filter(|value| (least..=most).contains(value))
                .ok_or_else(|| format!("is no number from {least} to {most}")),
            Domain::Switch => match text {
                "on" => Ok(1.0),
                "off" => Ok(0.0),
                _ => Err("is neither on nor off".to_owned()),
            },
        }
    }
}

/// Whether a switch with this value is on.
fn is_on(value: f64) -> bool {
    value > 0.5
}

impl Entry {
    fn form(&self) -> String {
        let parameters: Vec<String> = self
            .parameters
            .iter()
            .map(|parameter| {
                if parameter.is_bare() {
                    parameter.name.to_owned()
                } else {
                    parameter.show(parameter.value)
                }
            })
            .collect();
        let parameters = parameters.join(",");
        if parameters.is_empty() {
            self.name.to_owned()
        } else if self.parameters.iter().any(Parameter::is_bare) {
            format!("{}:{parameters}", self.name)
        } else {
            format!("{}[:{parameters}]", self.name)
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)?;
        let parameters = self.entry.parameters.iter().zip(&self.parameters);
        let shown = parameters.filter(|(parameter, value)| !parameter.goes_without_saying(**value));
        for (index, (parameter, value)) in shown.enumerate() {
            write!(
                f,
                "{}{}",
                if index == 0 { ':' } else { ',' },
                parameter.show(*value)
            )?;
        }
        Ok(())
    }
}

/// CUBIC, as most hosts run.
impl Default for Algorithm {
    fn default() -> Self {
        let entry = REGISTRY.iter().find(|entry| entry.name == "cubic");
        let entry = entry.unwrap_or(&REGISTRY[0]);
        Self {
            entry,
            parameters: entry
                .parameters
                .iter()
                .map(|parameter| parameter.value)
                .collect(),
        }
    }
}

/// Why a controller's text was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlgorithmError(String);

impl fmt::Display for AlgorithmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for AlgorithmError {}

impl FromStr for Algorithm {
    type Err = AlgorithmError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, rest) = text
            .split_once(':')
            .map_or((text, None), |(name, rest)| (name, Some(rest)));
        let entry = REGISTRY
            .iter()
            .find(|entry| entry.name == name)
            .ok_or_else(|| {
                AlgorithmError(format!(
                    "'{name}' is no congestion control; expected one of {}",
                    Self::forms().join(", ")
                ))
            })?;
        let mut parameters: Vec<f64> = entry.parameters.iter().map(|p| p.value).collect();
        let mut given = vec![false; parameters.len()];
        for part in rest.into_iter().flat_map(|rest| rest.split(',')) {
            let refuse =
                |why: &str| AlgorithmError(format!("'{part}' {why}; expected {}", entry.form()));
            let (index, value) = match part.split_once('=') {
                Some((key, value)) => (entry.parameters.iter().position(|p| p.name == key), value),
                None => (entry.parameters.iter().position(Parameter::is_bare), part),
            };
            let index = index.ok_or_else(|| refuse(&format!("is no parameter of {name}")))?;
            let value = entry.parameters[index]
                .parse(value)
                .map_err(|why| refuse(&why))?;
            if std::mem::replace(&mut given[index], true) {
                return Err(refuse("stands twice"));
            }
            parameters[index] = value;
        }
        let missing = |(p, given): (&Parameter, &bool)| p.is_bare() && !given;
        if entry.parameters.iter().zip(&given).any(missing) {
            return Err(AlgorithmError(format!(
                "'{text}' lacks a value; expected {}",
                entry.form()
            )));
        }
        Ok(Self { entry, parameters })
    }
}

#[cfg(test)]
mod tests;
