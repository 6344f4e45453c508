//! Keys in which the heads and end lines of two traces differ.

use serde::Serialize;
use tmt_core::format::TraceReader;
use tmt_core::types::Metadata;

/// Keys that say how a trace was made, not what it is.
const PROVENANCE: [&str; 3] = ["tool", "command", "stage"];

/// A key whose values differ.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct KeyDifference {
    /// The key; `end slots` and `end usable_until_ns` are the fields of the end lines.
    pub(super) key: String,
    /// Its values in each head, in order; empty without the key.
    pub(super) a: Vec<String>,
    pub(super) b: Vec<String>,
    /// Whether it makes the traces different: not if it says how they were made.
    pub(super) decides: bool,
}

/// The keys in which two traces, which were read to their ends, differ: those of the first head in its order, then others.
pub(super) fn differing_keys(readers: &[TraceReader<'_>; 2]) -> Vec<KeyDifference> {
    let [a, b] = readers;
    let mut found = of_heads(a.metadata(), b.metadata());
    // A text without a head has no end line, which its head shows.
    let end = |reader: &TraceReader<'_>| reader.end().and_then(|end| end.end_line);
    if let (Some(a), Some(b)) = (end(a), end(b)) {
        let fields = [
            ("end slots", a.slots, b.slots),
            (
                "end usable_until_ns",
                a.usable_until.as_nanos(),
                b.usable_until.as_nanos(),
            ),
        ];
        let differing = fields.into_iter().filter(|(_, a, b)| a != b);
        found.extend(differing.map(|(key, a, b)| KeyDifference {
            key: key.to_owned(),
            a: vec![a.to_string()],
            b: vec![b.to_string()],
            decides: true,
        }));
    }
    found
}

fn of_heads(a: &Metadata, b: &Metadata) -> Vec<KeyDifference> {
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in a.iter().chain(b.iter()) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let values = |head: &Metadata, key: &str| -> Vec<String> {
        let values = head.iter().filter(|(other, _)| *other == key);
        values.map(|(_, value)| value.to_owned()).collect()
    };
    let differing = keys.into_iter().filter_map(|key| {
        let (a, b) = (values(a, key), values(b, key));
        (a != b).then(|| KeyDifference {
            key: key.to_owned(),
            a,
            b,
            decides: !PROVENANCE.contains(&key),
        })
    });
    differing.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_compared_with_all_their_values_in_order() {
        let head = |entries: &[(&str, &str)]| {
            let mut head = Metadata::new();
            for (key, value) in entries {
                head.push(key, *value);
            }
            head
        };
        let a = head(&[
            ("tool", "x"),
            ("stage", "1"),
            ("seed", "1"),
            ("note", "n"),
            ("seed", "2"),
        ]);
        let b = head(&[
            ("note", "n"),
            ("seed", "2"),
            ("tool", "y"),
            ("seed", "1"),
            ("site", "z"),
        ]);
        let found = of_heads(&a, &b);
        let shown: Vec<(&str, bool, usize, usize)> = found
            .iter()
            .map(|key| (key.key.as_str(), key.decides, key.a.len(), key.b.len()))
            .collect();
        assert_eq!(
            shown,
            [
                ("tool", false, 1, 1),
                ("stage", false, 1, 0),
                ("seed", true, 2, 2),
                ("site", true, 0, 1)
            ]
        );
        assert!(of_heads(&a, &a).is_empty());
    }
}
