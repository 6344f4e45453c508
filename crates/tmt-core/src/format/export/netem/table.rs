//! The table of a distribution: netem takes an entry at random, and gives `middle + scale · entry / 8192`.

use std::io::{self, Write};

use super::super::ExportError;
use crate::stats::distribution::Distribution;
use crate::types::Span;

/// An entry that means one `scale`.
const UNIT: u128 = 8192;

/// The largest entry, of 16 bits.
const LARGEST: u128 = 32_767;

/// Most entries. netem takes 16 384, but tc puts its whole message into 32 768 bytes, of two tables as well.
pub(super) const MOST_ENTRIES: usize = 8000;

/// Entries per line, as in the tables of iproute2.
const PER_LINE: usize = 8;

/// A table that covers all values.
#[derive(Debug)]
pub(super) struct Table {
    /// The middle of the smallest and the largest value, ns.
    pub(super) middle: u64,
    /// netem's jitter, ns: not a deviation, but what gives the finest steps. 0 if all values are equal.
    pub(super) scale: u64,
    /// The values in ascending order.
    pub(super) entries: Vec<i16>,
}

impl Table {
    /// The table of `values`; `None` if there are none. Each of few values is an entry; of many, those of evenly spread
    /// ranks.
    ///
    /// # Errors
    /// Values that are too far apart for netem, whose jitter has 31 bits.
    pub(super) fn of(values: &Distribution) -> Result<Option<Self>, ExportError> {
        let (Some(least), Some(most)) = (values.min(), values.max()) else {
            return Ok(None);
        };
        let (least, most) = (least.as_nanos(), most.as_nanos());
        let middle = least + (most - least) / 2;
        let reach = u128::from(most - middle);
        let scale = (reach * UNIT).div_ceil(LARGEST);
        if scale > i32::MAX as u128 {
            let span = |nanos| Span::from_nanos(nanos).unwrap_or(Span::MAX);
            return Err(ExportError::Trace(format!(
                "found values from {} to {}, expected at most 17 s between them: netem has 31 bits for its jitter in ns",
                span(least),
                span(most)
            )));
        }
        let entry = |nanos: u64| {
            let distance = u128::from(nanos.abs_diff(middle)) * UNIT;
            let steps = (distance + scale / 2).checked_div(scale).unwrap_or(0);
            let steps = i16::try_from(steps.min(LARGEST)).unwrap_or(i16::MAX);
            if nanos < middle { -steps } else { steps }
        };
        let counts = values.counts();
        let count: u64 = counts.iter().map(|(_, count)| count).sum();
        let size = (MOST_ENTRIES as u64).min(count);
        let mut entries = Vec::new();
        let (mut below, mut ranks) = (0, (0..size).peekable());
        for (value, times) in counts {
            below += times;
            let entry = entry(value.as_nanos());
            // The rank of the middle of the k-th of `size` equal parts.
            let rank =
                |k: u64| (2 * u128::from(k) + 1) * u128::from(count) / (2 * u128::from(size));
            while ranks.next_if(|&k| rank(k) < u128::from(below)).is_some() {
                entries.push(entry);
            }
        }
        let scale = u64::try_from(scale).unwrap_or(u64::MAX);
        if scale == 0 {
            entries.truncate(1);
        }
        Ok(Some(Self {
            middle,
            scale,
            entries,
        }))
    }

    /// The distance of two values that the table can hold, ns, rounded up.
    pub(super) fn resolution(&self) -> u64 {
        self.scale.div_ceil(8192)
    }

    /// Writes the entries.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for line in self.entries.chunks(PER_LINE) {
            for entry in line {
                write!(out, " {entry}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}
