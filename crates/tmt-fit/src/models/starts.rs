//! Where searches begin: losses in groups by the lengths of the gaps between them.
//!
//! As in the GI model (Salsano 2012), a shortest gap `gmin` decides which losses belong together: those with shorter gaps
//! between them. Every power of two is tried, since only the likelihood tells which one fits.

use tmt_core::types::to_f64;

use crate::sequence::Sequence;

/// Counts of groups by a shortest gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Groups {
    /// Slots outside of groups.
    pub(crate) outside: f64,
    /// Losses that are alone.
    pub(crate) alone: f64,
    /// Groups of two losses or more.
    pub(crate) count: f64,
    /// Slots in these groups, from the first to the last loss.
    pub(crate) inside: f64,
    /// Losses in these groups.
    pub(crate) lost: f64,
    /// Bursts in these groups.
    pub(crate) bursts: f64,
}

/// Groups of losses with gaps shorter than `gmin` between them.
fn grouped(sequence: &Sequence, gmin: u64) -> Groups {
    let mut all = Groups {
        outside: to_f64(sequence.slots()),
        alone: 0.0,
        count: 0.0,
        inside: 0.0,
        lost: 0.0,
        bursts: 0.0,
    };
    let mut end = |slots: u64, lost: u64, bursts: u64| match lost {
        0 => {}
        1 => all.alone += 1.0,
        _ => {
            all.count += 1.0;
            all.outside -= to_f64(slots);
            all.inside += to_f64(slots);
            all.lost += to_f64(lost);
            all.bursts += to_f64(bursts);
        }
    };
    for segment in &sequence.segments {
        let (mut slots, mut lost, mut bursts, mut gap) = (0, 0, 0, 0);
        for (is_lost, length) in segment.iter() {
            if !is_lost {
                gap = length;
                if gap >= gmin {
                    end(slots, lost, bursts);
                    (slots, lost, bursts) = (0, 0, 0);
                }
                continue;
            }
            if lost > 0 {
                slots += gap;
            }
            slots += length;
            lost += length;
            bursts += 1;
        }
        end(slots, lost, bursts);
    }
    all
}

/// The groups for each power of two up to the longest gap.
pub(crate) fn groups(sequence: &Sequence) -> Vec<Groups> {
    let gaps = sequence.gaps();
    let longest = gaps.keys().last().copied().unwrap_or(1);
    let powers = std::iter::successors(Some(1_u64), |gmin| gmin.checked_mul(2));
    let powers = powers.take_while(|gmin| *gmin <= longest);
    powers.map(|gmin| grouped(sequence, gmin)).collect()
}

/// A share with half a case added on both sides, so that it is neither 0 nor 1.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    ((part + 0.5) / (whole.max(part) + 1.0)).clamp(1e-9, 1.0 - 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_grouped_by_the_gaps_between_them() {
        // . . X . X X . . . . X . .
        let lost = [2, 4, 5, 10];
        let sequence = Sequence::of((0..13).map(|slot| lost.contains(&slot)));
        let found = grouped(&sequence, 2);
        let expected = Groups {
            outside: 9.0,
            alone: 1.0,
            count: 1.0,
            inside: 4.0,
            lost: 3.0,
            bursts: 2.0,
        };
        assert_eq!(found, expected);
        assert_eq!(grouped(&sequence, 1).alone, 2.0);
        assert_eq!(grouped(&sequence, 5).inside, 9.0);
        assert_eq!(groups(&sequence).len(), 3);
    }
}
