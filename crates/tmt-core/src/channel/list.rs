//! `list`: losses at given positions, such as those of a run of another simulator, an emulator or a capture.
//!
//! A position is the number of a unit among the units that the process decides about, from 0 and in their order. The use decides
//! which units these are: packets in the order of their service, packets offered to a queue, ACKs, slots.

use std::fmt;
use std::sync::Arc;

use super::chain::{self, Row, Rows};
use super::family::{Family, Make, TableError};
use super::{Erasing, Process, SlotChannel, Use};
use crate::types::{Slot, Span};

pub(super) static FAMILY: Family = Family {
    name: "list",
    about: "Losses at given positions",
    parameters: &[chain::table(
        "numbers of the units that are lost, from 0: one a line, rising; a header `position` may precede them",
    )],
    examples: &["list:{0;3;4;1999}", "list:{}"],
    make: Make {
        content: Some(|text| chain::content(text, positions)),
        ..Make::timed(|values| {
            let rows = Rows::of(values.text(chain::TABLE))?;
            let list = List {
                positions: positions(&rows)?.into(),
                text: format!("{}:{{{}}}", FAMILY.name, rows.in_one_line()),
            };
            Ok(SlotChannel::Timed(Arc::new(list)))
        })
    },
};

/// Name of the only column.
const HEADER: &str = "position";

/// Positions of lost units, rising.
#[derive(Debug)]
struct List {
    text: String,
    positions: Arc<[u64]>,
}

/// The positions of a table.
fn positions(rows: &Rows<'_>) -> Result<Vec<u64>, TableError> {
    let rows = rows.without_header(HEADER);
    let mut positions: Vec<u64> = Vec::with_capacity(rows.len());
    for row in rows {
        let position = position(row)?;
        match positions.last() {
            Some(before) if *before == position => {
                return Err(row.fault(
                    0,
                    format!("found {position} twice, expected each position once"),
                ));
            }
            Some(before) if *before > position => {
                let found = format!("found {position} after {before}");
                return Err(row.fault(
                    0,
                    format!("{found}, expected rising positions; sort the list (`sort -n`)"),
                ));
            }
            _ => positions.push(position),
        }
    }
    Ok(positions)
}

/// The position on a row.
fn position(row: &Row<'_>) -> Result<u64, TableError> {
    const FORM: &str = "the number of a unit, from 0 to 2^63 - 1";
    let [text] = row.cells[..] else {
        let found = row.cells.len();
        return Err(row.fault(
            1,
            format!(
                "found {found} columns, expected one: {FORM}; keep that column only (`cut -d, -f`)"
            ),
        ));
    };
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    let number = number.filter(|number| i64::try_from(*number).is_ok());
    number.ok_or_else(|| row.fault(0, format!("found '{text}', expected {FORM}")))
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Process for List {
    fn begin(&self, _seed: u64, _used: Use) -> Box<dyn Erasing> {
        Box::new(Running {
            positions: Arc::clone(&self.positions),
            next_unit: 0,
            next: 0,
        })
    }

    fn is_timed(&self) -> bool {
        false
    }

    fn is_random(&self) -> bool {
        false
    }

    fn positions(&self) -> Option<&[u64]> {
        Some(&self.positions)
    }

    fn note(&self, _on_air: Span) -> String {
        match self.positions.last() {
            Some(last) => format!("{} positions, the last {last}", self.positions.len()),
            None => "no position".to_owned(),
        }
    }
}

/// Why the list `process`, given by `name`, does not suit a run with `units` of `what`: it is empty, or has positions beyond
/// them. `None` if it does, or if the process is not a list.
///
/// ```
/// use tmt_core::channel::{SlotChannel, unused_positions};
///
/// let list: SlotChannel = "list:{3;5;8}".parse()?;
/// let text = unused_positions("--loss", &list, 5, "packets served").unwrap_or_default();
/// assert_eq!(text, "2 of 3 positions of --loss lie beyond the 5 packets served");
/// # Ok::<(), tmt_core::channel::ChannelError>(())
/// ```
#[must_use]
pub fn unused_positions(
    name: &str,
    process: &SlotChannel,
    units: u64,
    what: &str,
) -> Option<String> {
    let positions = process.positions()?;
    let all = positions.len();
    match (all, all - positions.partition_point(|at| *at < units)) {
        (0, _) => Some(format!(
            "the list of {name} has no position: nothing is lost"
        )),
        (_, 0) => None,
        (_, beyond) => {
            let lie = if beyond == 1 { "lies" } else { "lie" };
            Some(format!(
                "{beyond} of {all} positions of {name} {lie} beyond the {units} {what}"
            ))
        }
    }
}

/// A running list.
#[derive(Debug)]
struct Running {
    positions: Arc<[u64]>,
    /// The unit that follows the last call.
    next_unit: u64,
    /// Index of the first position from `next_unit` on.
    next: usize,
}

impl Erasing for Running {
    fn erase(&mut self, first: u64, _on_air: Span, slots: &mut [Slot]) {
        if first != self.next_unit {
            self.next = self.positions.partition_point(|at| *at < first);
        }
        for at in &self.positions[self.next..] {
            let place = usize::try_from(at - first).unwrap_or(usize::MAX);
            let Some(slot) = slots.get_mut(place) else {
                break;
            };
            *slot = Slot::erased(slot.tx_time());
            self.next += 1;
        }
        self.next_unit = first.saturating_add(slots.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::channel::{Losses, with_files};
    use crate::types::Time;

    proptest! {
        /// Against membership in a set, unit by unit.
        #[test]
        fn exactly_the_listed_units_are_lost(
            listed in prop::collection::btree_set(0u64..500, 0..60),
            seed: u64,
        ) {
            let text: Vec<String> = listed.iter().map(u64::to_string).collect();
            let list: SlotChannel = format!("list:{{{}}}", text.join(";")).parse().unwrap();
            let mut losses = Losses::new(&list, seed, Use::Forward);
            for unit in 0..500 {
                let lost = losses.loses(Time::ZERO, Span::ZERO);
                prop_assert_eq!(lost, listed.contains(&unit), "{}", unit);
            }
        }
    }

    fn of_file(text: &str) -> Result<String, String> {
        let mut read = |_: &str| Ok(text.to_owned());
        let read = with_files("list:lost.txt", &[&FAMILY], &mut read);
        read.map(std::borrow::Cow::into_owned)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_may_have_a_header_comments_and_blank_lines() {
        let text = "\u{feff}# by hand\nposition\r\n5\r\n\n 17 # the second\n40\n";
        let read = of_file(text).unwrap();
        assert_eq!(read, "list:{position;5;17;40}");
        let list: SlotChannel = read.parse().unwrap();
        assert_eq!(list.positions(), Some(&[5, 17, 40][..]));
        assert_eq!(of_file("# nothing\n").unwrap(), "list:{}");
    }

    #[test]
    fn a_wrong_list_is_refused_with_its_place() {
        for (text, expected) in [
            (
                "1\nx\n",
                "lost.txt:2: column 1: found 'x', expected the number of a unit",
            ),
            ("-1\n", "lost.txt:1: column 1: found '-1', expected"),
            ("+1\n", "lost.txt:1: column 1: found '+1', expected"),
            ("1.5\n", "lost.txt:1: column 1: found '1.5', expected"),
            (
                "9223372036854775808\n",
                "expected the number of a unit, from 0 to 2^63 - 1",
            ),
            (
                "# c\n7\n3\n",
                "lost.txt:3: column 1: found 3 after 7, expected rising positions; sort",
            ),
            ("7\n7\n", "lost.txt:2: column 1: found 7 twice"),
            (
                "L,7,100\n",
                "lost.txt:1: column 2: found 3 columns, expected one",
            ),
            ("1\nposition\n", "lost.txt:2: column 1: found 'position'"),
        ] {
            let refused = of_file(text).unwrap_err();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
