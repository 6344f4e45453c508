//! Congestion control: the trait, and the registry by name.
//!
//! A controller sees events and answers with a window; when and what to send is the sender's. A new
//! one is one file in `congestion/` and one line in `REGISTRY`.

mod cubic;
mod newreno;

use std::fmt;
use std::str::FromStr;

use tmt_core::units::{Span, Time};

/// New data was acknowledged outside of a fast recovery, and the window was what held the sender back.
#[derive(Debug, Clone, Copy)]
pub struct AckEvent {
    /// Now.
    pub now: Time,
    /// Segments newly acknowledged.
    pub acked: u64,
    /// Smoothed round-trip time, once measured.
    pub srtt: Option<Span>,
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

/// What congestion was inferred from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Duplicate or selective acknowledgements.
    FastRetransmit,
    /// The retransmission timer.
    Timeout,
    /// The timer once more for the same packet: the threshold stays as it is (RFC 5681 §3.1).
    RepeatedTimeout,
}

/// A congestion controller; windows are in segments, fractions allowed.
pub trait CongestionControl: fmt::Debug + Send {
    /// New data was acknowledged.
    fn on_ack(&mut self, ack: &AckEvent);
    /// Congestion was inferred: the window becomes what it is to be after recovery, or 1 after a timeout.
    fn on_congestion(&mut self, event: &CongestionEvent);
    /// The congestion window, segments.
    fn cwnd(&self) -> f64;
    /// The slow-start threshold, segments; none before the first congestion.
    fn ssthresh(&self) -> Option<f64>;
}

/// A controller by name with its parameters, such as `cubic:beta=0.8,c=0.4`.
#[derive(Debug, Clone, PartialEq)]
pub struct Algorithm {
    entry: &'static Entry,
    parameters: Vec<f64>,
}

/// A parameter: name, value when left out, smallest and largest value.
type Parameter = (&'static str, f64, f64, f64);

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
static REGISTRY: [Entry; 2] = [newreno::ENTRY, cubic::ENTRY];

/// The smallest slow-start threshold, segments (RFC 5681 §3.1).
const LEAST_SSTHRESH: f64 = 2.0;

impl Algorithm {
    /// The controller at the start of a connection with this initial window, segments.
    #[must_use]
    pub fn start(&self, initial_window: f64) -> Box<dyn CongestionControl> {
        (self.entry.make)(initial_window, &self.parameters)
    }

    /// The forms of all controllers, for help.
    #[must_use]
    pub fn forms() -> Vec<String> {
        REGISTRY.iter().map(Entry::form).collect()
    }
}

impl Entry {
    fn form(&self) -> String {
        let parameters: Vec<String> = self
            .parameters
            .iter()
            .map(|(name, value, ..)| format!("{name}={value}"))
            .collect();
        if parameters.is_empty() {
            self.name.to_owned()
        } else {
            format!("{}[:{}]", self.name, parameters.join(","))
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)?;
        for (index, ((name, ..), value)) in self
            .entry
            .parameters
            .iter()
            .zip(&self.parameters)
            .enumerate()
        {
            write!(f, "{}{name}={value}", if index == 0 { ':' } else { ',' })?;
        }
        Ok(())
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
        let mut parameters: Vec<f64> = entry
            .parameters
            .iter()
            .map(|(_, value, ..)| *value)
            .collect();
        let mut given = vec![false; parameters.len()];
        for part in rest.into_iter().flat_map(|rest| rest.split(',')) {
            let refuse = |why: &str| {
                Err(AlgorithmError(format!(
                    "'{part}' {why}; expected {}",
                    entry.form()
                )))
            };
            let Some((key, value)) = part.split_once('=') else {
                return refuse("is no parameter");
            };
            let Some(index) = entry.parameters.iter().position(|(name, ..)| *name == key) else {
                return refuse(&format!("is no parameter of {name}"));
            };
            let (_, _, least, most) = entry.parameters[index];
            let Some(value) = value
                .parse::<f64>()
                .ok()
                .filter(|value| (least..=most).contains(value))
            else {
                return refuse(&format!("is no number from {least} to {most}"));
            };
            if std::mem::replace(&mut given[index], true) {
                return refuse("stands twice");
            }
            parameters[index] = value;
        }
        Ok(Self { entry, parameters })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_left_out_take_their_values_and_all_are_shown() {
        let shown = |text: &str| {
            text.parse::<Algorithm>()
                .map(|algorithm| algorithm.to_string())
        };
        assert_eq!(shown("newreno").unwrap(), "newreno");
        assert_eq!(shown("cubic").unwrap(), "cubic:beta=0.7,c=0.4");
        assert_eq!(shown("cubic:c=1,beta=0.8").unwrap(), "cubic:beta=0.8,c=1");
    }

    #[test]
    fn what_is_no_controller_is_refused() {
        for text in [
            "",
            "tahoe",
            "newreno:x=1",
            "cubic:beta",
            "cubic:beta=2",
            "cubic:beta=nan",
            "cubic:beta=0.5,beta=0.5",
            "cubic:",
        ] {
            assert!(text.parse::<Algorithm>().is_err(), "{text}");
        }
    }
}
