//! A column of a tidy table in memory: values that repeat are held once.

use std::collections::HashMap;
use std::ops::Range;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};

use super::{Kind, Value};
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
    Each(Vec<Option<Value>>),
    /// The only value, and the rows that have it, in order.
    Common(Value, Vec<Range<usize>>),
    /// Values that differ, which are not kept.
    Different,
}

/// Different values, each held once.
#[derive(Debug, Default)]
struct Repeated {
    each: Vec<Value>,
    /// Places of numbers and truth values, by type and bits.
    numbers: HashMap<(Kind, u64), u16>,
    /// Places of texts.
    texts: HashMap<String, u16>,
    /// Place of the value of each row.
    rows: Vec<u16>,
}

impl Repeated {
    /// The place of a value, which may be new; the value again if there are too many.
    fn place(&mut self, value: Value) -> Result<u16, Value> {
        // Neighbours are often alike. −0 equals 0, but is another.
        let last = self.rows.last().copied();
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
        self.each.get(usize::from(*self.rows.get(row)?))
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
        let value = match &mut self.values {
            Values::Each(_) | Values::Common(..) | Values::Different => value,
            Values::Repeated(repeated) => match repeated.place(value) {
                Ok(place) => {
                    repeated.rows.resize(row, NONE);
                    repeated.rows.push(place);
                    return;
                }
                Err(value) => {
                    let rows = 0..repeated.rows.len();
                    let each: Vec<Option<Value>> =
                        rows.map(|row| repeated.value(row).cloned()).collect();
                    self.texts = each.iter().flatten().map(text_bytes).sum();
                    self.values = Values::Each(each);
                    value
                }
            },
        };
        if let Values::Each(values) = &mut self.values {
            self.texts += text_bytes(&value);
            values.resize(row, None);
            values.push(Some(value));
        }
    }

    /// Bytes that the values take in memory, about.
    pub(super) fn bytes(&self) -> usize {
        let rows = match &self.values {
            Values::Repeated(repeated) => {
                let texts: usize = repeated.each.iter().map(text_bytes).sum();
                // Each text is a key, too.
                size_of_val(&*repeated.rows) + 2 * texts
            }
            Values::Each(values) => size_of_val(&**values),
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
    pub fn value(&self, row: usize) -> Option<&Value> {
        match &self.values {
            Values::Repeated(repeated) => repeated.value(row),
            Values::Each(values) => values.get(row)?.as_ref(),
            Values::Common(value, rows) => {
                let place = rows.partition_point(|rows| rows.end <= row);
                rows.get(place)?.contains(&row).then_some(value)
            }
            Values::Different => None,
        }
    }

    pub(super) fn array(&self, rows: usize) -> ArrayRef {
        let values = (0..rows).map(|row| self.value(row));
        match self.kind.unwrap_or(Kind::Real) {
            Kind::Truth => array_of::<_, BooleanArray, _>(values, |value| match value? {
                Value::Truth(truth) => Some(*truth),
                _ => None,
            }),
            Kind::Whole => array_of::<_, Int64Array, _>(values, |value| match value? {
                Value::Whole(whole) => Some(*whole),
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
        ) {
            let mut column = Column::new("x");
            let mut plain: Vec<Option<Value>> = Vec::new();
            let first = (0..distinct).map(|number| (0, Value::Whole(number + 100)));
            let then = given.into_iter().map(|(gap, kind, number)| (gap, match kind {
                0 => Value::Whole(number),
                1 => Value::Real([0.0, -0.0, f64::NAN, 1.5, f64::INFINITY, 100.0][usize::try_from(number).unwrap()]),
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
                prop_assert_eq!(format!("{:?}", column.value(row)), format!("{:?}", value.as_ref()));
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
