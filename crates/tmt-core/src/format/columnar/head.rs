//! The head of a trace as key-value pairs, as Arrow and Parquet store it (docs/trace-format.md, Sec. 6).
//!
//! Keys of pairs are unique. If a key has several lines (`stage`), its value is these lines joined with LF. Pairs are
//! in the order of the first line of each key. If that does not determine the order of all lines, a pair [`ORDER`]
//! lists the keys of all lines. So text → Arrow → text gives the same bytes.

use std::collections::HashMap;

use crate::types::{EndLine, Error, ErrorKind, Metadata, Position, Result};

/// Key of the end line.
pub(crate) const END: &str = "end";

/// Key of the order of lines. The full stop keeps it apart from the keys of a head.
const ORDER: &str = "tmt.order";

/// Key of the pair that pandas adds, which is not a line of the head.
const PANDAS: &str = "pandas";

/// The pairs of a head; empty if there is no head.
pub(crate) fn pairs(head: &Metadata) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    if !head.is_head() {
        return pairs;
    }
    let mut order = Vec::new();
    let mut order_is_implied = true;
    for (key, value) in head.iter() {
        order.push(key);
        match pairs.iter().position(|(known, _)| known == key) {
            None => pairs.push((key.to_owned(), value.to_owned())),
            Some(at) => {
                order_is_implied &= at + 1 == pairs.len();
                pairs[at].1.push('\n');
                pairs[at].1.push_str(value);
            }
        }
    }
    if !order_is_implied {
        pairs.push((ORDER.to_owned(), order.join(" ")));
    }
    pairs
}

/// The head stored in `pairs`, empty if absent, and the end line if it is among them.
///
/// # Errors
/// An invalid value of a head, or an incomplete end line.
pub(crate) fn read<'a>(
    pairs: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<(Metadata, Option<EndLine>)> {
    let mut order = "";
    let mut end = None;
    let mut lines: Vec<(&str, &str)> = Vec::new();
    for (key, value) in pairs {
        match key {
            ORDER => order = value,
            END => end = Some(value),
            PANDAS => {}
            _ if Metadata::is_key(key) => {
                lines.extend(value.split('\n').map(|line| (key, line.trim())));
            }
            _ => {}
        }
    }
    let mut head = Metadata::new();
    if !lines.iter().any(|(key, _)| *key == "tool") {
        for (key, value) in lines {
            push(&mut head, key, value);
        }
        return Ok((head.of_table(), None));
    }
    // First the lines in the given order, then all others as they came.
    let mut of_key: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, (key, _)) in lines.iter().enumerate().rev() {
        of_key.entry(key).or_default().push(at);
    }
    let mut is_taken = vec![false; lines.len()];
    for key in order.split(' ') {
        if let Some(at) = of_key.get_mut(key).and_then(Vec::pop) {
            is_taken[at] = true;
            push(&mut head, key, lines[at].1);
        }
    }
    for ((key, value), _) in lines.iter().zip(&is_taken).filter(|(_, taken)| !**taken) {
        push(&mut head, key, value);
    }
    head.check(&[])?;
    Ok((head, end.map(end_line).transpose()?))
}

/// Adds a line exactly as the head of a text does, including a carriage return inside it.
fn push(head: &mut Metadata, key: &str, value: &str) {
    let is_line = head.read_line(&format!("{key}: {value}"));
    debug_assert!(is_line, "{key} is not a key");
}

/// The end line in `value`.
///
/// # Errors
/// It is incomplete or invalid.
pub(crate) fn end_line(value: &str) -> Result<EndLine> {
    EndLine::parse(value).ok_or_else(|| {
        let kind = ErrorKind::end(value, EndLine::FORM);
        Error::at(kind, Position::default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn head(lines: &[(String, String)]) -> Metadata {
        let mut head = Metadata::new();
        for (key, value) in lines {
            head.push(key, value.as_str());
        }
        head
    }

    fn back(pairs: &[(String, String)]) -> Metadata {
        read(
            pairs
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str())),
        )
        .unwrap()
        .0
    }

    proptest! {
        #[test]
        fn a_head_comes_back_line_by_line(
            lines in prop::collection::vec(("stage|overridden|note|x-1", "([a-zµ=]{1,5}( [a-z:.]{1,5})?)?"), 0..12),
            at in 0usize..12,
        ) {
            let mut lines = lines;
            lines.insert(at.min(lines.len()), ("tool".to_owned(), "tmt 0.1.0".to_owned()));
            let head = head(&lines);
            let pairs = pairs(&head);
            prop_assert_eq!(&back(&pairs), &head);
            let mut keys: Vec<_> = pairs.iter().map(|(key, _)| key).collect();
            keys.dedup();
            prop_assert_eq!(keys.len(), pairs.len());
        }

        #[test]
        fn pairs_in_any_order_lose_no_line(order in Just(vec![0, 1, 2, 3]).prop_shuffle()) {
            let lines = [("tool", "t"), ("stage", "a"), ("seed", "1"), ("stage", "b")];
            let lines = lines.map(|(key, value)| (key.to_owned(), value.to_owned()));
            let head = head(&lines);
            let pairs = pairs(&head);
            let shuffled: Vec<_> = order.into_iter().map(|at| pairs[at].clone()).collect();
            prop_assert_eq!(back(&shuffled), head);
        }
    }

    #[test]
    fn a_carriage_return_within_a_line_stays() {
        let mut head = Metadata::new();
        head.push("tool", "t");
        assert!(head.read_line("note: a\rb"));
        assert_eq!(back(&pairs(&head)), head);
    }

    #[test]
    fn an_order_that_does_not_fit_loses_no_line() {
        let pairs = [
            ("tool", "t"),
            ("stage", "a\nb"),
            ("seed", "1"),
            (ORDER, "stage nothing stage stage"),
        ];
        let (head, _) = read(pairs.into_iter()).unwrap();
        let lines: Vec<_> = head.iter().collect();
        assert_eq!(
            lines,
            [("stage", "a"), ("stage", "b"), ("tool", "t"), ("seed", "1")]
        );
    }

    #[test]
    fn without_a_tool_there_is_no_head() {
        let (head, end) = read([("seed", "1"), (END, "what")].into_iter()).unwrap();
        assert_eq!((head, end), (Metadata::new(), None));
    }

    #[test]
    fn pairs_of_other_libraries_are_ignored() {
        let pairs = [("tool", "t"), (PANDAS, "{}"), ("ARROW:schema", "/////")];
        let (head, _) = read(pairs.into_iter()).unwrap();
        assert_eq!(head.iter().collect::<Vec<_>>(), [("tool", "t")]);
    }

    #[test]
    fn an_invalid_head_is_refused() {
        assert!(read([("tool", "t"), ("seed", "x")].into_iter()).is_err());
        assert!(read([("tool", "t"), ("seed", "1\n2")].into_iter()).is_err());
        assert!(read([("tool", "t"), (END, "rows=1")].into_iter()).is_err());
    }
}
