//! Flags of what is kept of a trace, and of where it is moved to.

use std::fmt::{self, Display};
use std::str::FromStr;

use tmt_core::pipeline::{Move, Selection};
use tmt_core::types::{QuantityError, Span, Time};

use crate::exit::{Failure, Outcome};
use crate::quantity::whole;

/// Rows kept of one trace, and their new place in time.
#[derive(Debug, clap::Args)]
pub(super) struct Cut {
    /// Keep one slot in N, as a user gets it on a link whose slots N users take in turn; `rate_bps` is divided
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1, u32::MAX.into()))]
    every: Option<u64>,
    /// Which of the N, from 0 [default: 0]
    #[arg(long, value_name = "K", requires = "every", value_parser = whole::<u64>(0, u32::MAX.into()))]
    offset: Option<u64>,
    /// Keep slots that start at this time or later
    #[arg(long, value_name = "TIME")]
    from: Option<Span>,
    /// Keep slots that start before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Span>,
    /// Keep rows from A on, before B; one of the two may be missing. The first row is 0
    #[arg(long, value_name = "A..B")]
    rows: Option<RowRange>,
    /// Move the first slot that is kept to 0 s, and all others with it
    #[arg(long)]
    rebase: bool,
    /// Move all slots by a duration, earlier if it is negative; with --rebase, the first slot to this time
    #[arg(long, value_name = "[-]DURATION", allow_hyphen_values = true)]
    shift: Option<Shift>,
}

/// A range of rows, `A..B`.
#[derive(Debug, Clone, Copy)]
struct RowRange {
    first: Option<u64>,
    end: Option<u64>,
}

impl Display for RowRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |row: Option<u64>| row.map_or_else(String::new, |row| row.to_string());
        write!(f, "{}..{}", text(self.first), text(self.end))
    }
}

impl FromStr for RowRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected =
            || "expected two whole numbers, A..B with A below B, or A.. or ..B".to_owned();
        let (first, end) = text.split_once("..").ok_or_else(expected)?;
        let row = |text: &str| match text {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| expected()),
        };
        let range = Self {
            first: row(first)?,
            end: row(end)?,
        };
        let is_empty = range.end.is_some_and(|end| range.first.unwrap_or(0) >= end);
        if is_empty || (range.first, range.end) == (None, None) {
            return Err(expected());
        }
        Ok(range)
    }
}

/// A change of times.
#[derive(Debug, Clone, Copy)]
enum Shift {
    Later(Span),
    Earlier(Span),
}

impl Display for Shift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Later(by) => write!(f, "{by}"),
            Self::Earlier(by) => write!(f, "-{by}"),
        }
    }
}

impl FromStr for Shift {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (span, is_negative) = text
            .strip_prefix('-')
            .map_or((text, false), |span| (span, true));
        let span = span
            .parse()
            .map_err(|error: QuantityError| error.to_string())?;
        Ok(if is_negative {
            Self::Earlier(span)
        } else {
            Self::Later(span)
        })
    }
}

/// Time between two traces.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Gap {
    /// One slot, by rate and LLDU of the head.
    #[default]
    Slot,
    /// The gap that they have.
    Keep,
    /// This time.
    Span(Span),
}

impl Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slot => f.write_str("slot"),
            Self::Keep => f.write_str("keep"),
            Self::Span(span) => write!(f, "{span}"),
        }
    }
}

impl FromStr for Gap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "slot" => Ok(Self::Slot),
            "keep" => Ok(Self::Keep),
            _ => text
                .parse()
                .map(Self::Span)
                .map_err(|error| format!("{error}, slot or keep")),
        }
    }
}

impl Cut {
    /// Its flags with their values, as they are recorded; empty if none is given.
    pub(super) fn flags(&self) -> String {
        let mut flags = String::new();
        let mut flag = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                flags.push_str(&format!(" --{name}{value}"));
            }
        };
        let text = |value: &dyn Display| format!(" {value}");
        flag("every", self.every.map(|every| text(&every)));
        flag(
            "offset",
            self.every.map(|_| text(&self.offset.unwrap_or(0))),
        );
        flag("from", self.from.map(|from| text(&from)));
        flag("until", self.until.map(|until| text(&until)));
        flag("rows", self.rows.map(|rows| text(&rows)));
        flag("rebase", self.rebase.then(String::new));
        flag("shift", self.shift.map(|shift| text(&shift)));
        flags
    }

    /// Whether rows are left out.
    pub(super) fn selects(&self) -> bool {
        self.every.is_some() || self.from.is_some() || self.until.is_some() || self.rows.is_some()
    }

    /// Which rows are kept.
    pub(super) fn selection(&self) -> Outcome<Selection> {
        let (every, offset) = (self.every.unwrap_or(1), self.offset.unwrap_or(0));
        if offset >= every {
            return Err(Failure::usage(format!(
                "--offset {offset}: expected less than --every {every}; the first slot has offset 0"
            )));
        }
        if let (Some(from), Some(until)) = (self.from, self.until)
            && from >= until
        {
            return Err(Failure::usage(format!(
                "--until {until}: expected a time after --from {from}"
            )));
        }
        let at = |span: Span| Time::ZERO.saturating_add(span);
        Ok(Selection {
            every,
            offset,
            from: at(self.from.unwrap_or(Span::ZERO)),
            until: self.until.map(at),
            first_row: self.rows.and_then(|rows| rows.first).unwrap_or(0),
            end_row: self.rows.and_then(|rows| rows.end),
        })
    }

    /// Where the rows are moved to.
    pub(super) fn motion(&self) -> Outcome<Move> {
        match (self.rebase, self.shift) {
            (false, None) => Ok(Move::default()),
            (false, Some(Shift::Later(by))) => Ok(Move::Later(by)),
            (false, Some(Shift::Earlier(by))) => Ok(Move::Earlier(by)),
            (true, None) => Ok(Move::FirstAt(Time::ZERO)),
            (true, Some(Shift::Later(by))) => Ok(Move::FirstAt(Time::ZERO.saturating_add(by))),
            (true, Some(Shift::Earlier(by))) => Err(Failure::usage(format!(
                "--shift -{by} with --rebase: expected zero or more, as the first slot is moved to that time"
            ))),
        }
    }
}
