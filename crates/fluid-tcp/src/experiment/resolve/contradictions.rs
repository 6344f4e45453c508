//! Warnings on host settings that take away each other's effect.

use tmt_core::types::Note;

use crate::congestion::HystartForm;
use crate::endpoint::Endpoint;
use crate::experiment::parameters::{Experiment, Parameter};
use crate::experiment::plan::FlowPlan;
use crate::experiment::setting::Setting as _;
use crate::experiment::values::{PathKind, ReceiverWindow};

impl Experiment {
    /// Settings that were chosen although others leave them without effect.
    pub(super) fn contradictions(&self, endpoint: &Endpoint, flows: &[FlowPlan]) -> Vec<Note> {
        let is_chosen = |key| {
            let parameter = Parameter::of(key);
            parameter.is_some_and(|parameter| self.gives(key) && !parameter.is_default(self))
        };
        let acks = [
            "hystart",
            "quick_acks",
            "quick_while_growing",
            "delayed_ack",
        ];
        let classic = |plan: &FlowPlan| {
            let control = &plan.flow.algorithm;
            let parameters = control.entry().parameters.iter();
            let mut words = parameters.filter(|parameter| parameter.name == "hystart");
            words.any(|parameter| match control.values().word(parameter.name) {
                "profile" => {
                    endpoint.congestion.hystart == HystartForm::Classic
                        && acks.into_iter().any(is_chosen)
                }
                word => word == HystartForm::Classic.name(),
            })
        };
        let delays = endpoint.delayed_ack > 1
            && endpoint.quick_acks == 0
            && !endpoint.quick_while_growing
            && self.path() == PathKind::EndToEnd;
        let train = (delays && flows.iter().any(classic)).then(|| {
            "`hystart` classic without quick ACKs: delayed ACKs are further apart than its ACK trains allow, so that only delay ends \
             slow start; `quick_acks` or `quick_while_growing` on gives it an ACK per packet"
                .to_owned()
        });
        // An unlimited window has nothing to grow to.
        let largest = endpoint.receiver_window();
        let first_rwnd = self.first_rwnd.filter(|_| is_chosen("first_rwnd"));
        let first = match (first_rwnd, largest) {
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
        let growing = endpoint.quick_while_growing && is_chosen("quick_while_growing");
        let growing = growing && largest.is_none();
        let growing = growing.then(|| {
            "`quick_while_growing` on with an unlimited `rwnd`, which does not grow: it has no effect; give `rwnd` a size"
                .to_owned()
        });
        let all = [train, first, growing];
        all.into_iter().flatten().map(Note::warning).collect()
    }
}
