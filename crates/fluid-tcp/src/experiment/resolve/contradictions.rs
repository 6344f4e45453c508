//! Warnings on host settings that take away each other's effect.

use crate::congestion::HystartForm;
use crate::endpoint::Endpoint;
use crate::experiment::note::Note;
use crate::experiment::parameters::Experiment;
use crate::experiment::setting::Setting as _;
use crate::experiment::values::{PathKind, ReceiverWindow};

impl Experiment {
    /// Settings that were chosen although others leave them without effect.
    pub(super) fn contradictions(&self, endpoint: &Endpoint) -> Vec<Note> {
        let classic = endpoint.congestion.hystart == HystartForm::Classic;
        let chosen = [
            self.hystart.is_some(),
            self.quick_acks.is_some(),
            self.quick_while_growing.is_some(),
            self.delayed_ack.is_some(),
        ];
        let is_chosen = chosen.contains(&true);
        let delays = endpoint.delayed_ack > 1
            && endpoint.quick_acks == 0
            && !endpoint.quick_while_growing
            && self.path() == PathKind::EndToEnd;
        let train = (classic && is_chosen && delays).then(|| {
            "`hystart` classic without quick ACKs: delayed ACKs are further apart than its ACK trains allow, so that only delay ends \
             slow start; `quick_acks` or `quick_while_growing` on gives it an ACK per packet"
                .to_owned()
        });
        // An unlimited window has nothing to grow to.
        let largest = endpoint.receiver_window();
        let first = match (self.first_rwnd, largest) {
            (None | Some(ReceiverWindow::Unlimited), _) => None,
            (Some(first), None) => {
                Some((first, "is below an unlimited `rwnd`, which does not grow"))
            }
            (Some(first), Some(largest)) => {
                let is_above = first.packets(self.packet()) > largest;
                is_above.then_some((first, "is above `rwnd`"))
            }
        };
        let first = first
            .map(|(first, why)| format!("`first_rwnd` {} {why}: it has no effect", first.text()));
        let growing = self.quick_while_growing == Some(true) && largest.is_none();
        let growing = growing.then(|| {
            "`quick_while_growing` on with an unlimited `rwnd`, which does not grow: it has no effect; give `rwnd` a size"
                .to_owned()
        });
        let all = [train, first, growing];
        all.into_iter().flatten().map(Note::warning).collect()
    }
}
