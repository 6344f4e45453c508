//! Packing of packets and ACKs into LLDUs: the parameter, or what the trace says.

use std::num::NonZeroU64;

use tmt_core::types::{Bytes, Metadata, Note, to_f64};

use crate::experiment::parameters::Experiment;
use crate::experiment::values::LinkKind;
use tmt_link::Packing;
use tmt_link::apply::Origin;

/// Share of their LLDUs below which packets that begin an LLDU of their own waste enough capacity to mislead. The LLDU of
/// 33 B, in which an ACK fills 40 of 64 B, is above it.
const LEAST_FILL: f64 = 0.6;

impl Experiment {
    /// Packing on a trace with this head, and its origin.
    pub(super) fn packing_of(&self, head: &Metadata) -> (Packing, String) {
        Origin::Metadata.chosen("`packing`", self.packing, known(head), Packing::default())
    }

    /// Packing on the link of this kind over a trace with this head, its origin, and a warning if the link does not
    /// support what the trace says.
    pub(super) fn forward_packing(
        &self,
        kind: LinkKind,
        head: &Metadata,
    ) -> (Packing, String, Option<Note>) {
        let (packing, origin) = self.packing_of(head);
        if packing == Packing::Packet || kind == LinkKind::Timeline && !self.compares() {
            return (packing, origin, None);
        }
        // Both links of a comparison pack alike.
        let warning = (kind == LinkKind::Coupled).then(|| {
            Note::warning(
                "the trace says packing bytes, but on a coupled link each packet begins an LLDU of its own, so that a packet smaller than an LLDU takes a whole one; run `tmt apply` first and use `link` timeline to share LLDUs, or confirm with `packing` packet",
            )
        });
        let origin = "a coupled link supports no other".to_owned();
        (Packing::Packet, origin, warning)
    }
}

/// Packing that the metadata say: key `packing`, or a first stage that converted a mahimahi trace without writing it.
fn known(head: &Metadata) -> Option<Packing> {
    if let Some(packing) = head.get("packing") {
        return packing.parse().ok();
    }
    is_from_mahimahi(head).then_some(Packing::Bytes)
}

/// Whether the command is `tmt convert --from FORMAT`, with any further arguments.
fn is_conversion(command: &str, format: &str) -> bool {
    let mut words = command.split_ascii_whitespace();
    let starts = words.by_ref().take(3).eq(["tmt", "convert", "--from"]);
    starts && words.next() == Some(format)
}

/// Whether the metadata come from a mahimahi trace, which `mm-link` repeats by default.
pub(super) fn is_from_mahimahi(head: &Metadata) -> bool {
    head.iter()
        .any(|(key, value)| matches!(key, "command" | "stage") && is_conversion(value, "mahimahi"))
}

/// Part of a note: packing and its origin, unless it is the default.
pub(super) fn packing_text(packing: Packing, origin: &str) -> String {
    match (packing, origin) {
        (Packing::Packet, "default") => String::new(),
        _ => format!(", packing {packing} ({origin})"),
    }
}

/// A warning if packets, or ACKs, of this size leave much of the LLDUs that they begin unused.
pub(super) fn fill_warning(
    packing: Packing,
    what: &str,
    size: Bytes,
    payload: NonZeroU64,
    remedy: &str,
) -> Option<Note> {
    let lldus = size.0.div_ceil(payload.get());
    let share = to_f64(size.0) / (to_f64(lldus) * to_f64(payload.get()));
    (packing == Packing::Packet && share < LEAST_FILL).then(|| {
        Note::warning(format!(
            "{what} of {size} fills {:.1} % of the LLDUs that it takes, and the rest of their capacity is unused; {remedy}",
            share * 100.0
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::values::LinkKind::{Coupled, Timeline};

    /// Lines of a head.
    type Lines<'a> = &'a [(&'a str, &'a str)];

    fn head(lines: Lines<'_>) -> Metadata {
        let mut head = Metadata::new();
        for (key, value) in lines {
            head.push(key, *value);
        }
        head
    }

    #[test]
    fn the_key_decides_and_old_conversions_are_recognised() {
        let old = [
            ("tool", "tmt 0.1.0"),
            ("command", "tmt convert --from mahimahi --decode-delay 1ns"),
        ];
        let cases: [(Lines<'_>, Option<Packing>); 6] = [
            (&old, Some(Packing::Bytes)),
            (&[("packing", "bytes")], Some(Packing::Bytes)),
            (&[old[1], ("packing", "packet")], Some(Packing::Packet)),
            (
                &[("stage", "tmt convert --from mahimahi")],
                Some(Packing::Bytes),
            ),
            (&[("stage", "tmt convert --from mahimahi2")], None),
            (
                &[("stage", "tmt convert --from delay-loss --lldu 1500B")],
                None,
            ),
        ];
        for (lines, packing) in cases {
            assert_eq!(known(&head(lines)), packing, "{lines:?}");
        }
    }

    #[test]
    fn the_parameter_wins_and_a_coupled_link_packs_whole_packets() {
        let says_bytes = head(&[("packing", "bytes")]);
        let given = |packing| Experiment {
            packing,
            ..Experiment::default()
        };
        let resolved = |packing, kind| {
            let (packing, _, warning) = given(packing).forward_packing(kind, &says_bytes);
            (packing, warning.is_some())
        };
        assert_eq!(resolved(None, Timeline), (Packing::Bytes, false));
        assert_eq!(
            resolved(Some(Packing::Packet), Timeline),
            (Packing::Packet, false)
        );
        assert_eq!(resolved(None, Coupled), (Packing::Packet, true));
        assert_eq!(
            resolved(Some(Packing::Packet), Coupled),
            (Packing::Packet, false)
        );
    }

    #[test]
    fn a_warning_needs_much_unused_capacity() {
        let warns = |packing, size, payload| {
            let payload = NonZeroU64::new(payload).unwrap();
            fill_warning(packing, "a packet", Bytes(size), payload, "").is_some()
        };
        // 1500 B in two LLDUs of 1499 B, and ACKs in opportunities of 1503 B.
        assert!(warns(Packing::Packet, 1500, 1499));
        assert!(warns(Packing::Packet, 40, 1503));
        assert!(!warns(Packing::Bytes, 40, 1503));
        // The LLDU of 33 B, and a packet per opportunity.
        assert!(!warns(Packing::Packet, 1500, 32));
        assert!(!warns(Packing::Packet, 40, 32));
        assert!(!warns(Packing::Packet, 1500, 1503));
    }
}
