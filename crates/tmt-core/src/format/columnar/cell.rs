//! Columns by what they hold, and single values of them: tables, and the contract's own columns.

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Times, or lengths of time: INT64, nanoseconds.
    Time,
    /// Whole numbers: UINT64.
    Count,
    /// Whole numbers below 2^32, few of them different: UINT32.
    Small,
    /// Real numbers, six decimals in text: DOUBLE.
    Real,
    /// One of a few words: UTF8.
    Word,
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether a row may have nothing in it.
    pub optional: bool,
}

impl Column {
    /// A column with a value in every row.
    pub(crate) const fn required(name: &'static str, kind: Kind) -> Self {
        Self {
            name,
            kind,
            optional: false,
        }
    }

    /// Whether `cell` is one of this column's.
    pub(crate) fn holds(&self, cell: &Cell) -> bool {
        match (self.kind, cell) {
            (_, Cell::None) => self.optional,
            (Kind::Small, Cell::Count(count)) => u32::try_from(*count).is_ok(),
            (Kind::Time, Cell::Time(_))
            | (Kind::Count, Cell::Count(_))
            | (Kind::Real, Cell::Real(_))
            | (Kind::Word, Cell::Word(_)) => true,
            _ => false,
        }
    }
}

/// A value, of its column's kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell {
    /// Nothing: an empty field, or a null.
    None,
    /// Nanoseconds.
    Time(u64),
    /// A whole number, of a column of [`Kind::Count`] or [`Kind::Small`].
    Count(u64),
    /// A real number.
    Real(f64),
    /// A word without commas.
    Word(&'static str),
}
