//! When flows begin, and flows that differ.

use std::fmt;
use std::str::FromStr;

use tmt_core::math::rng::{Stream, Uniform};
use tmt_core::types::{Bytes, Span, to_f64};

use crate::congestion::Algorithm;

/// When a flow begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Then, from the start of the run.
    At(Span),
    /// Uniformly in [from, to).
    Within(Span, Span),
}

impl Start {
    /// The start of flow `index` under `seed`.
    #[must_use]
    pub fn draw(self, seed: u64, index: usize) -> Span {
        match self {
            Self::At(span) => span,
            Self::Within(from, to) => {
                let share = Uniform::new(seed, Stream::FlowStart).at(index as u64);
                let width = to_f64(to.saturating_sub(from).as_nanos());
                let offset = Span::from_nanos(tmt_core::math::num::whole(share * width))
                    .unwrap_or(Span::MAX);
                from.saturating_add(offset)
            }
        }
    }

    /// The latest time at which the flow may begin.
    #[must_use]
    pub fn latest(self) -> Span {
        match self {
            Self::At(span) | Self::Within(_, span) => span,
        }
    }

    /// Whether the start is drawn.
    #[must_use]
    pub fn is_drawn(self) -> bool {
        matches!(self, Self::Within(from, to) if from < to)
    }
}

impl FromStr for Start {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let span = |text: &str| text.parse::<Span>().map_err(|error| error.to_string());
        let Some((from, to)) = text.split_once("..") else {
            return span(text).map(Self::At);
        };
        let (from, to) = (span(from)?, span(to)?);
        if from > to {
            return Err(format!(
                "found '{text}', expected a range that begins before it ends"
            ));
        }
        Ok(Self::Within(from, to))
    }
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(span) => write!(f, "{span}"),
            Self::Within(from, to) => write!(f, "{from}..{to}"),
        }
    }
}

/// One flow of several that differ; what it leaves out is as for all flows.
#[derive(Debug, Clone)]
pub struct FlowSpec {
    /// Its congestion control.
    pub cc: Option<Algorithm>,
    /// When it begins.
    pub start: Option<Start>,
    /// What it transfers; without end where this is not given.
    pub bytes: Option<Bytes>,
}

/// What a flow may have of its own.
const KEYS: [&str; 3] = ["cc", "start", "bytes"];

impl FromStr for FlowSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut values: [Option<String>; 3] = [None, None, None];
        let mut last = None;
        for part in text.split(',') {
            let known = part.split_once('=').and_then(|(key, value)| {
                KEYS.iter()
                    .position(|known| *known == key)
                    .map(|index| (index, value))
            });
            match (known, last) {
                (Some((index, value)), _) => {
                    if values[index].replace(value.to_owned()).is_some() {
                        return Err(format!("'{}' is given more than once", KEYS[index]));
                    }
                    last = Some(index);
                }
                // Parameters of the congestion control are separated by commas, too.
                (None, Some(0)) => {
                    if let Some(cc) = &mut values[0] {
                        cc.push(',');
                        cc.push_str(part);
                    }
                }
                (None, _) => {
                    return Err(format!("found '{part}', expected cc=…, start=… or bytes=…"));
                }
            }
        }
        let [cc, start, bytes] = values;
        Ok(Self {
            cc: cc.map(|cc| cc.parse::<Algorithm>()).transpose()?,
            start: start.map(|start| start.parse()).transpose()?,
            bytes: bytes
                .map(|bytes| bytes.parse::<Bytes>())
                .transpose()
                .map_err(|error| error.to_string())?,
        })
    }
}

impl fmt::Display for FlowSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cc = self.cc.as_ref().map(|cc| format!("cc={cc}"));
        let start = self.start.map(|start| format!("start={start}"));
        let bytes = self.bytes.map(|bytes| format!("bytes={bytes}"));
        let parts: Vec<String> = [cc, start, bytes].into_iter().flatten().collect();
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_may_have_a_control_with_parameters() {
        let flow: FlowSpec = "start=5s,cc=cubic:beta=0.8,c=0.4,bytes=1MB"
            .parse()
            .unwrap();
        let flow_text = flow.to_string();
        assert_eq!(flow.cc.unwrap().to_string(), "cubic:beta=0.8,c=0.4");
        assert_eq!(flow.bytes, Some(Bytes(1_000_000)));
        assert_eq!(flow.start, Some(Start::At(Span::from_secs(5))));
        let again: FlowSpec = flow_text.parse().unwrap();
        assert_eq!(again.to_string(), flow_text);
    }

    #[test]
    fn what_is_no_flow_is_refused() {
        for text in [
            "",
            "cc=tahoe",
            "start=soon",
            "bytes=1",
            "rate=1",
            "cc=cubic,cc=cubic",
            "start=5s..1s",
        ] {
            assert!(text.parse::<FlowSpec>().is_err(), "{text}");
        }
    }

    #[test]
    fn starts_are_drawn_within_their_range_for_each_flow_and_seed() {
        let start: Start = "1s..5s".parse().unwrap();
        let drawn: Vec<Span> = (0..50).map(|flow| start.draw(1, flow)).collect();
        assert!(
            drawn
                .iter()
                .all(|at| (Span::from_secs(1)..Span::from_secs(5)).contains(at))
        );
        assert!(drawn.windows(2).all(|pair| pair[0] != pair[1]));
        assert_ne!(start.draw(2, 0), drawn[0]);
        assert_eq!(start.draw(1, 7), drawn[7]);
    }
}
