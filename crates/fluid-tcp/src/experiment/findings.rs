//! Warnings that need the results of the runs (docs/warnings.md).

use tmt_core::types::to_f64;

use super::counted::counted;
use super::note::Note;
use super::plan::{LinkPlan, Plan};
use crate::endpoint::LossDetection;
use crate::simulation::metrics::{Metrics, RunReport};

/// Share of the retransmissions, in tenths, from which spurious ones are worth a warning.
const SPURIOUS_TENTHS: u64 = 1;

/// Share of the arrivals above which reordering is worth a warning.
const REORDERED: f64 = 0.01;

impl Plan {
    /// Warnings about the results of runs of this plan, without which somebody would draw a wrong conclusion.
    #[must_use]
    pub fn findings(&self, reports: &[&RunReport]) -> Vec<Note> {
        let totals: Vec<&Metrics> = reports.iter().map(|run| &run.total.metrics).collect();
        let warnings = [
            self.reordering(&totals),
            self.overload(&totals),
            self.unfinished(&totals),
        ];
        warnings.into_iter().flatten().map(Note::warning).collect()
    }

    /// Spurious retransmissions, and packets out of order.
    fn reordering(&self, runs: &[&Metrics]) -> Option<String> {
        let sum = |count: fn(&Metrics) -> u64| runs.iter().map(|run| count(run)).sum::<u64>();
        let again = sum(|run| run.packets_retransmitted);
        let spurious = sum(|run| run.packets_spurious);
        // The receiver behind a proxy does not acknowledge: its order is nothing to the senders.
        let shares = runs.iter().filter_map(|run| run.reordered_share);
        let reordered = shares
            .filter(|_| self.path.split.is_none())
            .fold(0.0, f64::max);
        let mut seen = Vec::new();
        if again > 0 && spurious * 10 >= again * SPURIOUS_TENTHS {
            seen.push(format!(
                "{spurious} of {again} retransmissions were spurious"
            ));
        }
        if reordered > REORDERED {
            let worst = if runs.len() > 1 {
                ", in the worst run"
            } else {
                ""
            };
            seen.push(format!(
                "{:.1} % of the packets arrived out of order{worst}",
                reordered * 100.0
            ));
        }
        if seen.is_empty() {
            return None;
        }
        let seen = seen.join(" and ");
        let endpoint = self.flows.first()?.flow.endpoint;
        if reordered == 0.0 {
            let f_rto = (!endpoint.f_rto).then_some("`f_rto` on");
            let sack = (!endpoint.sack).then_some("`sack` on");
            let ways: Vec<&str> = [sack, f_rto, Some("a larger `min_rto`")]
                .into_iter()
                .flatten()
                .collect();
            return Some(format!(
                "{seen}, although no packet was overtaken: the senders gave up packets that were only late; remedies: {}",
                ways.join(", ")
            ));
        }
        let in_order = match self.link {
            LinkPlan::Coupled(_) => "`in_order` flow (or `,in-order` in `scheme`)",
            _ => "`,in-order` at the end of the scheme of `tmt apply`",
        };
        let rack = match endpoint.loss_detection {
            LossDetection::Rack => String::new(),
            LossDetection::DupAcks => {
                ", or detect losses by time: `loss_detection` rack, part of `profile` linux"
                    .to_owned()
            }
        };
        Some(format!(
            "{seen}: the link reorders, and senders take that for loss; deliver in order: {in_order}{rack}"
        ))
    }

    /// A queue that dropped more than half of what was sent.
    fn overload(&self, runs: &[&Metrics]) -> Option<String> {
        let share = |run: &Metrics| to_f64(run.packets_dropped) / to_f64(run.packets_sent.max(1));
        let over = |run: &&&Metrics| share(run) > 0.5;
        let worst = runs
            .iter()
            .filter(over)
            .max_by(|one, other| share(one).total_cmp(&share(other)))?;
        let of_runs = match runs.len() {
            1 => String::new(),
            runs_made => format!(
                ", in the worst of {} runs of {runs_made} that did so",
                runs.iter().filter(over).count()
            ),
        };
        Some(format!(
            "the queue of {} dropped {} of the {} that were sent{of_runs}: the result is that of an overload; limit the senders (`rwnd`, `pacing` on, another `cc`) or enlarge `buffer`",
            counted(self.buffer, "packet"),
            worst.packets_dropped,
            counted(worst.packets_sent, "packet")
        ))
    }

    /// Transfers that the end of their run cut, if others are complete.
    fn unfinished(&self, runs: &[&Metrics]) -> Option<String> {
        if runs.len() < 2 || self.flows.iter().any(|plan| plan.flow.packets.is_none()) {
            return None;
        }
        let cut = runs
            .iter()
            .filter(|run| run.completion_time_s.is_none())
            .count();
        (cut > 0).then(|| {
            format!(
                "{cut} of {} runs ended before their transfers: they have no completion time, and the mean of the others is too small; a longer `duration` lets them finish",
                runs.len()
            )
        })
    }
}
