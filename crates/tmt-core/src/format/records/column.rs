//! A column of a tidy table in memory: values that repeat are held once.

use std::collections::HashMap;
use std::ops::Range;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};

use super::{Cell, Kind, Value};
use crate::format::table::array_of;

/// Most different values that are held once each. A column with more is one of measured values, which seldom repeat.
const MOST: u16 = 1 << 12;

/// Place of a row without a value.
const NONE: u16 = u16::MAX;

/// A column: its name, its type, and the values of the rows that have one.
#[derive(Debug)]
pub struct Column {
    pub(super) name: String,
    /// `None` before the first value.
    pub(super) kind: Option<Kind>,
    values: Values,
    /// Bytes of texts beyond the values themselves.
    texts: usize,
}

/// Values by row; the rows after the last value have none.
#[derive(Debug)]
enum Values {
    Repeated(Repeated),
    /// Real numbers; [`GAP`] for none.
    Reals(Vec<f64>),
    /// Whole numbers; [`NO_WHOLE`] for none.
    Wholes(Vec<i64>),
    /// Values of different types, texts, and numbers that stand for no value.
    Each(Vec<Option<Value>>),
    /// The only value, and the rows that have it, in order.
    Common(Value, Vec<Range<usize>>),
    /// Values that differ, which are not kept.
    Different,
}

/// Bits of the NaN that stands for a row without a value in a column of real numbers.
const GAP: u64 = 0x7ff8_6761_7000_0000;

/// Stands for a row without a value in a column of whole numbers.
const NO_WHOLE: i64 = i64::MIN;

/// Most stretches of rows with one value before each row has a place of its own.
const STRETCHES: usize = 16;

/// Different values, each held once.
#[derive(Debug, Default)]
struct Repeated {
    each: Vec<Value>,
    /// Places of numbers and truth values, by type and bits.
    numbers: HashMap<(Kind, u64), u16>,
    /// Places of texts.
    texts: HashMap<String, u16>,
    rows: Places,
}

/// Place of the value of each row.
#[derive(Debug)]
enum Places {
    /// Rows in a row with one place: where they end, exclusive, and the place.
    Stretches(Vec<(usize, u16)>),
    Each(Vec<u16>),
}

impl Default for Places {
    fn default() -> Self {
        Self::Stretches(Vec::new())
    }
}

impl Places {
    fn len(&self) -> usize {
        match self {
            Self::Stretches(all) => all.last().map_or(0, |(end, _)| *end),
            Self::Each(all) => all.len(),
        }
    }

    fn last(&self) -> Option<u16> {
        match self {
            Self::Stretches(all) => all.last().map(|(_, place)| *place),
            Self::Each(all) => all.last().copied(),
        }
    }

    fn get(&self, row: usize) -> Option<u16> {
        match self {
            Self::Stretches(all) => {
                let stretch = all.partition_point(|(end, _)| *end <= row);
                all.get(stretch).map(|(_, place)| *place)
            }
            Self::Each(all) => all.get(row).copied(),
        }
    }

    /// Gives the rows from the length to before `end` this place.
    fn extend(&mut self, end: usize, place: u16) {
        if end <= self.len() {
            return;
        }
        match self {
            Self::Each(all) => all.resize(end, place),
            Self::Stretches(all) => match all.len() {
                count if count > 0 && all[count - 1].1 == place => all[count - 1].0 = end,
                count if count < STRETCHES => all.push((end, place)),
                _ => {
                    let mut each = Vec::with_capacity(end);
                    for (end, place) in &*all {
                        each.resize(*end, *place);
                    }
                    each.resize(end, place);
                    *self = Self::Each(each);
                }
            },
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Stretches(all) => size_of_val(&**all),
            Self::Each(all) => size_of_val(&**all),
        }
    }
}

impl Repeated {
    /// The place of a value, which may be new; the value again if there are too many.
    fn place(&mut self, value: Value) -> Result<u16, Value> {
        // Neighbours are often alike. −0 equals 0, but is another.
        let last = self.rows.last();
        let is_alike = |last: &u16| self.each.get(usize::from(*last)) == Some(&value);
        if let Some(last) = last.filter(is_alike)
            && !matches!(value, Value::Real(_))
        {
            return Ok(last);
        }
        let number = |bits| (value.kind(), bits);
        let bits = match &value {
            Value::Truth(truth) => number(u64::from(*truth)),
            Value::Whole(whole) => number(whole.cast_unsigned()),
            Value::Real(real) => number(real.to_bits()),
            Value::Text(text) => {
                let known = self.texts.get(text.as_str()).copied();
                let next = self.next();
                return match known.or(next) {
                    None => Err(value),
                    Some(place) => {
                        if known.is_none() {
                            self.texts.insert(text.clone(), place);
                            self.each.push(value);
                        }
                        Ok(place)
                    }
                };
            }
        };
        if let Some(place) = self.numbers.get(&bits) {
            return Ok(*place);
        }
        let Some(place) = self.next() else {
            return Err(value);
        };
        self.numbers.insert(bits, place);
        self.each.push(value);
        Ok(place)
    }

    /// The place of the next new value.
    fn next(&self) -> Option<u16> {
        let place = u16::try_from(self.each.len()).ok()?;
        (place < MOST).then_some(place)
    }

    fn value(&self, row: usize) -> Option<&Value> {
        self.each.get(usize::from(self.rows.get(row)?))
    }

    /// The values by row, of the narrowest form.
    fn values(self) -> Values {
        let rows = 0..self.rows.len();
        let values = || rows.clone().map(|row| self.value(row));
        let reals = values().map(|value| match value {
            None => Some(f64::from_bits(GAP)),
            Some(Value::Real(real)) if real.to_bits() != GAP => Some(*real),
            Some(_) => None,
        });
        if let Some(reals) = reals.collect() {
            return Values::Reals(reals);
        }
        let wholes = values().map(|value| match value {
            None => Some(NO_WHOLE),
            Some(Value::Whole(whole)) if *whole != NO_WHOLE => Some(*whole),
            Some(_) => None,
        });
        match wholes.collect() {
            Some(wholes) => Values::Wholes(wholes),
            None => Values::Each(values().map(Option::<&Value>::cloned).collect()),
        }
    }
}

/// Bytes of the text of a value.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        _ => 0,
    }
}

impl Column {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: None,
            values: Values::Repeated(Repeated::default()),
            texts: 0,
        }
    }

    /// Sets the value of `row`, as [`Self::push`] does, of a column that keeps its values only while they are equal.
    pub(super) fn push_common(&mut self, row: usize, value: Value) {
        match &mut self.values {
            Values::Different => {}
            Values::Common(common, rows) if *common == value => match rows.last_mut() {
                Some(last) if last.end == row => last.end += 1,
                _ => rows.push(row..row + 1),
            },
            Values::Repeated(repeated) if repeated.each.is_empty() => {
                self.kind = Some(value.kind());
                self.values = Values::Common(value, std::iter::once(row..row + 1).collect());
            }
            _ => self.leave(),
        }
    }

    /// Leaves out the values.
    pub(super) fn leave(&mut self) {
        self.values = Values::Different;
    }

    /// Whether values were left out.
    pub(super) fn is_left(&self) -> bool {
        matches!(self.values, Values::Different)
    }

    /// Sets the value of `row`, which has none yet, nor has any after it.
    pub(super) fn push(&mut self, row: usize, value: Value) {
        let kind = value.kind();
        self.kind = Some(match self.kind.unwrap_or(kind) {
            before if before == kind => kind,
            Kind::Whole | Kind::Real if matches!(kind, Kind::Whole | Kind::Real) => Kind::Real,
            _ => Kind::Text,
        });
        match &mut self.values {
            Values::Common(..) | Values::Different => {}
            Values::Repeated(repeated) => match repeated.place(value) {
                Ok(place) => {
                    repeated.rows.extend(row, NONE);
                    repeated.rows.extend(row + 1, place);
                }
                Err(value) => {
                    self.values = std::mem::take(repeated).values();
                    if let Values::Each(values) = &self.values {
                        self.texts = values.iter().flatten().map(text_bytes).sum();
                    }
                    self.push_each(row, value);
                }
            },
            Values::Reals(_) | Values::Wholes(_) | Values::Each(_) => self.push_each(row, value),
        }
    }

    /// Sets the value of `row` of a column that has too many to hold each once.
    fn push_each(&mut self, row: usize, value: Value) {
        match (&mut self.values, value) {
            (Values::Reals(reals), Value::Real(real)) if real.to_bits() != GAP => {
                reals.resize(row, f64::from_bits(GAP));
                reals.push(real);
            }
            (Values::Wholes(wholes), Value::Whole(whole)) if whole != NO_WHOLE => {
                wholes.resize(row, NO_WHOLE);
                wholes.push(whole);
            }
            (_, value) => {
                let mut values = self.take_each();
                self.texts += text_bytes(&value);
                values.resize(row, None);
                values.push(Some(value));
                self.values = Values::Each(values);
            }
        }
    }

    /// Takes the values of rows out of a column that has too many to hold each once.
    fn take_each(&mut self) -> Vec<Option<Value>> {
        match std::mem::replace(&mut self.values, Values::Different) {
            Values::Each(values) => values,
            Values::Reals(reals) => {
                let value = |real: f64| (real.to_bits() != GAP).then_some(Value::Real(real));
                reals.into_iter().map(value).collect()
            }
            Values::Wholes(wholes) => {
                let value = |whole| (whole != NO_WHOLE).then_some(Value::Whole(whole));
                wholes.into_iter().map(value).collect()
            }
            Values::Repeated(_) | Values::Common(..) | Values::Different => Vec::new(),
        }
    }

    /// Bytes that the values take in memory, about.
    pub(super) fn bytes(&self) -> usize {
        let rows = match &self.values {
            Values::Repeated(repeated) => {
                let texts: usize = repeated.each.iter().map(text_bytes).sum();
                // Each text is a key, too.
                repeated.rows.bytes() + 2 * texts
            }
            Values::Each(values) => size_of_val(&**values),
            Values::Reals(reals) => size_of_val(&**reals),
            Values::Wholes(wholes) => size_of_val(&**wholes),
            Values::Common(_, rows) => size_of_val(&**rows),
            Values::Different => 0,
        };
        rows + self.texts
    }

    /// Name of the column.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value of a row, counted from 0; `None` if absent or not kept.
    #[must_use]
    pub fn value(&self, row: usize) -> Option<Cell<'_>> {
        match &self.values {
            Values::Repeated(repeated) => repeated.value(row).map(Value::cell),
            Values::Reals(reals) => {
                let real = *reals.get(row)?;
                (real.to_bits() != GAP).then_some(Cell::Real(real))
            }
            Values::Wholes(wholes) => {
                let whole = *wholes.get(row)?;
                (whole != NO_WHOLE).then_some(Cell::Whole(whole))
            }
            Values::Each(values) => values.get(row)?.as_ref().map(Value::cell),
            Values::Common(value, rows) => {
                let place = rows.partition_point(|rows| rows.end <= row);
                rows.get(place)?.contains(&row).then(|| value.cell())
            }
            Values::Different => None,
        }
    }

    pub(super) fn array(&self, rows: usize) -> ArrayRef {
        let values = (0..rows).map(|row| self.value(row));
        match self.kind.unwrap_or(Kind::Real) {
            Kind::Truth => array_of::<_, BooleanArray, _>(values, |value| match value? {
                Cell::Truth(truth) => Some(truth),
                _ => None,
            }),
            Kind::Whole => array_of::<_, Int64Array, _>(values, |value| match value? {
                Cell::Whole(whole) => Some(whole),
                _ => None,
            }),
            Kind::Real => array_of::<_, Float64Array, _>(values, |value| value?.number()),
            Kind::Text => array_of::<_, StringArray, _>(values, |value| Some(value?.text())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(test_support::cases(60))]
        /// Against a plain list, with few and with many different values, and gaps.
        #[test]
        fn a_column_holds_what_it_was_given(
            given in proptest::collection::vec((0_usize..4, 0_u8..4, 0_i64..6), 0..60),
            distinct in prop_oneof![Just(0_i64), Just(i64::from(MOST) - 3), Just(i64::from(MOST) + 3)],
            is_real in any::<bool>(),
            kinds in 1_u8..5,
        ) {
            let mut column = Column::new("x");
            let mut plain: Vec<Option<Value>> = Vec::new();
            let first = (0..distinct).map(|number| (0, if is_real {
                Value::Real(f64::from(u32::try_from(number).unwrap()) + 100.5)
            } else {
                Value::Whole(number + 100)
            }));
            // The bits of gaps are values, too.
            let reals = [0.0, -0.0, f64::NAN, 1.5, f64::INFINITY, f64::from_bits(GAP)];
            let then = given.into_iter().map(|(gap, kind, number)| (gap, match (kind % kinds + u8::from(is_real)) % 4 {
                0 => Value::Whole(if number > 4 { NO_WHOLE } else { number }),
                1 => Value::Real(reals[usize::try_from(number).unwrap()]),
                2 => Value::Text(number.to_string()),
                _ => Value::Truth(number > 2),
            }));
            for (gap, value) in first.chain(then) {
                plain.resize(plain.len() + gap, None);
                column.push(plain.len(), value.clone());
                plain.push(Some(value));
            }
            let is_repeated = matches!(column.values, Values::Repeated(_));
            prop_assert!(distinct <= i64::from(MOST) || !is_repeated);
            prop_assert!(distinct > 0 || is_repeated);
            for (row, value) in plain.iter().enumerate() {
                // NaN differs from itself, and 0 is −0.
                prop_assert_eq!(format!("{:?}", column.value(row)), format!("{:?}", value.as_ref().map(Value::cell)));
            }
            prop_assert_eq!(column.value(plain.len()), None);
        }
    }

    #[test]
    fn values_that_repeat_take_two_bytes() {
        let mut column = Column::new("scheme");
        for row in 0..1000 {
            column.push(row, Value::Text(["arq", "harq:10/12"][row % 2].to_owned()));
        }
        assert_eq!(column.bytes(), 2000 + 2 * 13);
    }

    #[test]
    fn what_all_rows_share_takes_nothing_and_a_number_eight_bytes() {
        let bytes = |value: fn(usize) -> Value| {
            let mut column = Column::new("x");
            (0..10_000).for_each(|row| column.push(row, value(row)));
            column.bytes()
        };
        assert!(bytes(|_| Value::Truth(true)) < 100);
        assert_eq!(
            bytes(|row| Value::Real(crate::types::to_f64(row as u64) + 0.5)),
            80_000
        );
        assert_eq!(
            bytes(|row| Value::Whole(i64::try_from(row).unwrap())),
            80_000
        );
    }

    #[test]
    fn texts_count_when_they_are_too_many_to_be_held_once() {
        let mut column = Column::new("path");
        let most = usize::from(MOST);
        for row in 0..=most {
            column.push(row, Value::Text(format!("{row:1000}")));
        }
        assert!(matches!(column.values, Values::Each(_)));
        assert_eq!(
            column.bytes(),
            (most + 1) * (size_of::<Option<Value>>() + 1000)
        );
    }
}
