//! Rows that a writer formats: rows in memory, or rows that are made when they are formatted.

use std::ops::Range;

/// Rows that are made a few at a time while they are formatted. They are then in the L1 cache, and no memory holds all of them.
pub trait Make<T>: Sync {
    /// Number of rows.
    fn len(&self) -> usize;

    /// Whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes the rows `range` and passes them to `take`, in order and in runs of any length. Every row is asked for once, by any
    /// thread.
    fn make(&self, range: Range<usize>, take: &mut dyn FnMut(&[T]));
}

/// Some of the rows that a writer formats, in order.
pub enum Part<'s, T> {
    /// Rows in memory.
    Kept(&'s [T]),
    /// Rows that are made, and which of them.
    Made(&'s dyn Make<T>, Range<usize>),
}

impl<'s, T> From<&'s [T]> for Part<'s, T> {
    fn from(rows: &'s [T]) -> Self {
        Self::Kept(rows)
    }
}

impl<'s, T> From<&'s dyn Make<T>> for Part<'s, T> {
    fn from(rows: &'s dyn Make<T>) -> Self {
        Self::Made(rows, 0..rows.len())
    }
}

impl<T> Part<'_, T> {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Kept(rows) => rows.len(),
            Self::Made(_, range) => range.len(),
        }
    }

    /// Takes the first `count` rows away, or all if there are fewer.
    pub(crate) fn take(&mut self, count: usize) -> Self {
        let count = count.min(self.len());
        match self {
            Self::Kept(rows) => {
                let (first, rest) = rows.split_at(count);
                *rows = rest;
                Self::Kept(first)
            }
            Self::Made(rows, range) => {
                let first = range.start..range.start + count;
                range.start = first.end;
                Self::Made(*rows, first)
            }
        }
    }

    /// Passes the rows to `take`, in order.
    pub(crate) fn rows(&self, take: &mut dyn FnMut(&[T])) {
        match self {
            Self::Kept(rows) => take(rows),
            Self::Made(rows, range) => rows.make(range.clone(), take),
        }
    }
}
