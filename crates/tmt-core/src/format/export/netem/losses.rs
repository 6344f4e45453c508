//! Losses as netem has them: its models with the probabilities that were counted in a trace.
//!
//! Of each model the transitions are counted that the losses show. Of two states that is the likeliest parameter if the trace was
//! made by the model; of four, whose losses do not show all, a rule tells them apart. The fits of `tmt fit` need no rule.

use crate::format::import::Finding;

/// Received packets after which a burst of the four-state model has ended (Gmin of RFC 3611, Sec. 4.7.2).
const LEAST_GAP: u64 = 16;

/// The losses as a tc line holds them.
pub(super) struct Written {
    /// The words for the line, with a blank before them; empty if there are none.
    pub(super) text: String,
    /// Finding on the losses that the line does not hold.
    pub(super) simplified: Option<Finding>,
}

/// Counts losses.
#[derive(Debug)]
pub(super) struct Losses {
    model: Model,
    packets: u64,
    lost: u64,
    /// Whether the packet before was lost.
    before: Option<bool>,
    /// Transitions from received, from lost: all, and those to the other.
    from_received: (u64, u64),
    from_lost: (u64, u64),
    four: FourStates,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Model {
    None,
    Random,
    TwoStates,
    FourStates,
}

/// Transitions of the four-state model: 1 received in a gap, 2 received in a burst, 3 lost in a burst, 4 lost alone.
#[derive(Debug, Default)]
struct FourStates {
    /// Packets of gaps.
    gap: u64,
    bursts: u64,
    alone: u64,
    /// From state 3 to 1, to 2, to 3; from 2 to 3, to 2.
    three: [u64; 3],
    two: [u64; 2],
    /// The burst that has begun: its runs of lost packets, and its transitions 3 to 3, 3 to 2, and 2 to 2.
    runs: u64,
    burst: [u64; 3],
    /// Length of the run of received packets that has begun.
    received: u64,
    was_lost: bool,
}

impl FourStates {
    fn push(&mut self, is_lost: bool) {
        if !is_lost {
            self.received += 1;
            self.was_lost = false;
            return;
        }
        if self.was_lost {
            self.burst[0] += 1;
            return;
        }
        if self.runs > 0 && self.received < LEAST_GAP {
            self.burst[1] += 1;
            self.burst[2] += self.received - 1;
        } else {
            self.end_burst();
            self.gap += self.received;
        }
        self.runs += 1;
        self.received = 0;
        self.was_lost = true;
    }

    /// Counts the burst before a gap.
    fn end_burst(&mut self) {
        let [again, paused, received] = std::mem::take(&mut self.burst);
        match std::mem::take(&mut self.runs) {
            0 => {}
            1 if again == 0 => self.alone += 1,
            _ => {
                self.bursts += 1;
                self.three[0] += 1;
                self.three[1] += paused;
                self.three[2] += again;
                self.two[0] += paused;
                self.two[1] += received;
            }
        }
    }
}

/// `part` of `whole` in percent, cut to nine decimals, so that probabilities do not add up to more than 1; `preset` of nothing.
fn percent(part: u64, whole: u64, preset: &str) -> String {
    let Some(share) = (u128::from(part) * 100_000_000_000).checked_div(u128::from(whole)) else {
        return preset.to_owned();
    };
    let text = format!("{}.{:09}", share / 1_000_000_000, share % 1_000_000_000);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

impl Losses {
    pub(super) fn new(model: &str) -> Self {
        Self {
            model: match model {
                "random" => Model::Random,
                "state" => Model::FourStates,
                "none" => Model::None,
                _ => Model::TwoStates,
            },
            packets: 0,
            lost: 0,
            before: None,
            from_received: (0, 0),
            from_lost: (0, 0),
            four: FourStates::default(),
        }
    }

    pub(super) fn push(&mut self, is_lost: bool) {
        self.packets += 1;
        self.lost += u64::from(is_lost);
        if let Some(before) = self.before.replace(is_lost) {
            let from = if before {
                &mut self.from_lost
            } else {
                &mut self.from_received
            };
            from.0 += 1;
            from.1 += u64::from(before != is_lost);
        }
        self.four.push(is_lost);
    }

    /// The words of the tc line.
    pub(super) fn finish(&mut self) -> Written {
        let (packets, lost) = (self.packets, self.lost);
        let nothing = |text| Written {
            text,
            simplified: None,
        };
        if lost == 0 || self.model == Model::None {
            return nothing(String::new());
        }
        if lost == packets {
            return nothing(" loss random 100%".to_owned());
        }
        let counted = |from: (u64, u64), preset| percent(from.1, from.0, preset);
        match self.model {
            Model::None | Model::Random => {
                let bursts = self.from_received.1.max(1);
                let random = 1.0 - crate::types::to_f64(lost) / crate::types::to_f64(packets);
                let (mean, expected) = (
                    crate::types::to_f64(lost) / crate::types::to_f64(bursts),
                    1.0 / random,
                );
                let text = format!(
                    "losses come in bursts of {mean:.2} packets, independent ones in bursts of {expected:.2}: how they depend on each other is not carried (`loss-model` gemodel)"
                );
                Written {
                    text: format!(" loss random {}", percent(lost, packets, "0%")),
                    simplified: Some(Finding::note("bursts", lost, "packets", text).not_carried()),
                }
            }
            Model::TwoStates => nothing(format!(
                " loss gemodel {} {}",
                counted(self.from_received, "100%"),
                counted(self.from_lost, "100%")
            )),
            Model::FourStates => {
                let four = &mut self.four;
                four.end_burst();
                // The packets after the last loss are of a gap, too, the last one without a transition.
                let gap = four.gap + four.received.saturating_sub(1);
                let (three, two) = (four.three.iter().sum(), four.two.iter().sum());
                nothing(format!(
                    " loss state {} {} {} {} {}",
                    percent(four.bursts, gap, "100%"),
                    percent(four.three[0], three, "100%"),
                    percent(four.three[1], three, "0%"),
                    percent(four.two[0], two, "100%"),
                    percent(four.alone, gap, "0%")
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(model: &str, packets: &str) -> String {
        let mut losses = Losses::new(model);
        for packet in packets.bytes() {
            losses.push(packet == b'1');
        }
        losses.finish().text
    }

    #[test]
    fn transitions_are_counted() {
        // Of 8 received packets with a successor 2 are followed by a lost one, of 3 lost ones 2 by a received one.
        assert_eq!(
            words("gemodel", "000110000100"),
            " loss gemodel 25% 66.666666666%"
        );
        assert_eq!(words("random", "000110000100"), " loss random 25%");
        assert_eq!(words("gemodel", "0000"), "");
        assert_eq!(words("none", "0100"), "");
        assert_eq!(words("gemodel", "11"), " loss random 100%");
        // The only loss has no successor.
        assert_eq!(words("gemodel", "00001"), " loss gemodel 25% 100%");
    }

    #[test]
    fn a_burst_ends_with_16_received_packets_and_a_single_loss_is_alone() {
        let gap = "0".repeat(20);
        let trace = format!("{gap}1{gap}11010001{gap}");
        // Gaps of 20, 20 and 20 packets, the last without a successor; one loss alone, one burst of 4 lost and 4
        // received packets: 3 to 3 once, to 2 twice, to 1 once; 2 to 3 twice, to 2 twice.
        assert_eq!(
            words("state", &trace),
            " loss state 1.694915254% 25% 50% 50% 1.694915254%"
        );
        let apart = |received: usize| {
            let text = words("state", &format!("1{}1{gap}", "0".repeat(received)));
            text.split(' ')
                .skip(3)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        // One burst of 2 lost and 15 received packets before a gap of 19 with a successor; or two losses alone, 35 packets.
        assert_eq!(
            apart(15),
            ["5.263157894%", "50%", "50%", "6.666666666%", "0%"]
        );
        assert_eq!(apart(16), ["0%", "100%", "0%", "100%", "5.714285714%"]);
    }
}
