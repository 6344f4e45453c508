//! Warnings that need the results of the runs (docs/warnings.md).

use tmt_core::channel::{SlotChannel, unused_positions};
use tmt_core::types::{Note, Span, to_f64};

use super::counted::counted;
use super::plan::{LinkPlan, Plan};
use crate::endpoint::LossDetection;
use crate::simulation::ack_filter::rule;
use crate::simulation::metrics::{Metrics, RunReport};
use tmt_link::hop::terms;

/// Share of the retransmissions, in tenths, from which spurious ones are worth a warning.
const SPURIOUS_TENTHS: u64 = 1;

/// Share of all transmissions, in hundredths, from which spurious ones are worth a warning if reordering is not their cause:
/// fewer hardly take from the goodput, and Linux undoes the cuts.
const SPURIOUS_HUNDREDTHS: u64 = 5;

/// Share of the arrivals above which reordering is worth a warning.
const REORDERED: f64 = 0.01;

/// Whether senders repeated what had arrived for another reason than reordering: no packet was overtaken, or few were and
/// timeouts began more of the recoveries than duplicate ACKs did.
fn is_in_vain(reordered: f64, timeouts: u64, fast_recoveries: u64) -> bool {
    reordered == 0.0 || reordered <= REORDERED && timeouts > fast_recoveries
}

/// Requests, pages or transfers that the end of the run cut, unless they are the last one of each flow or few.
fn unfinished_work(reports: &[&RunReport]) -> Option<String> {
    type Value = fn(&Metrics) -> Option<u64>;
    const KINDS: [(&str, Value, Value); 3] = [
        ("requests", |m| m.requests_sent, |m| m.requests_answered),
        ("pages", |m| m.pages_begun, |m| m.pages_loaded),
        ("transfers", |m| m.transfers_begun, |m| m.transfers_complete),
    ];
    let flows: u64 = reports.iter().map(|run| run.flows.len() as u64).sum();
    KINDS.into_iter().find_map(|(name, begun, complete)| {
        let sum = |value: Value| -> u64 {
            let totals = reports.iter().map(|run| &run.total.metrics);
            totals.filter_map(value).sum()
        };
        let (begun, complete) = (sum(begun), sum(complete));
        let cut = begun.saturating_sub(complete);
        (cut > flows && 10 * cut > begun).then(|| {
            format!(
                "{cut} of {begun} {name} were not complete at the end of the run: times are those of the others, which are shorter; a longer `duration` helps unless the link is overloaded"
            )
        })
    })
}

/// Calls with many datagrams that come too late to be played.
fn late_calls(reports: &[&RunReport]) -> Option<String> {
    const MANY: f64 = 0.05;
    let flows = reports.iter().flat_map(|run| &run.flows);
    let late = flows.filter_map(|flow| flow.late_ratio);
    let most = late.fold(0.0, f64::max);
    (most > MANY).then(|| {
        format!(
            "{:.0} % of the datagrams of a call came too late to be played: the first datagram of each talkspurt sets the clock of its playout, which does not adapt; a larger `playout`, pauses (`on-off`), or a `start` in the queue that is to be judged changes the score",
            100.0 * most
        )
    })
}

impl Plan {
    /// Warnings about the results of runs of this plan, without which somebody would draw a wrong conclusion.
    #[must_use]
    pub fn findings(&self, reports: &[&RunReport]) -> Vec<Note> {
        let totals: Vec<&Metrics> = reports.iter().map(|run| &run.total.metrics).collect();
        let warnings = [
            self.reordering(&totals),
            self.overload(&totals),
            self.unfinished(&totals),
            unfinished_work(reports),
            late_calls(reports),
            self.thin_return_path(reports),
        ];
        let warnings = warnings.into_iter().flatten().map(Note::warning);
        warnings.chain(self.unused_positions(reports)).collect()
    }

    /// Lists of losses that are empty or longer than the run, in the run that used least of them.
    fn unused_positions(&self, reports: &[&RunReport]) -> Vec<Note> {
        let least = |count: fn(&RunReport) -> u64| reports.iter().map(|run| count(run)).min();
        let worst = if reports.len() > 1 {
            " in the shortest run"
        } else {
            ""
        };
        let given = &self.resolved;
        let on_link = given.loss.as_ref().filter(|_| self.link.trace().is_none());
        let lists = [
            (
                "loss",
                on_link,
                least(|run| run.total.packets_served),
                "packets served",
            ),
            (
                "queue_loss",
                given.queue_loss.as_ref(),
                least(|run| run.total.metrics.packets_sent),
                "packets sent",
            ),
            (
                "return_loss",
                given.return_loss.as_ref(),
                least(|run| run.total.metrics.acks_sent),
                "ACKs",
            ),
        ];
        let unused =
            |(key, process, units, what): (&str, Option<&SlotChannel>, Option<u64>, &str)| {
                let what = format!("{what}{worst}");
                unused_positions(&format!("`{key}`"), process?, units?, &what).map(Note::warning)
            };
        lists.into_iter().filter_map(unused).collect()
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
        let many = again > 0 && spurious * 10 >= again * SPURIOUS_TENTHS;
        let spurious_text = format!("{spurious} of {again} retransmissions were spurious");
        let timeouts = sum(|run| run.rto_events);
        if is_in_vain(reordered, timeouts, sum(|run| run.fast_recoveries)) {
            let overtaken = if reordered > 0.0 { "hardly any" } else { "no" };
            let needless = sum(|run| run.spurious_timeouts);
            let text = self.repeated_in_vain(overtaken, timeouts, needless)?;
            let sent = sum(|run| run.packets_sent);
            let costs = spurious * 100 >= sent * SPURIOUS_HUNDREDTHS;
            // Without undoing, a timeout in vain leaves a window of one packet.
            let collapses = needless > 0 && !self.undoes();
            return (many && (costs || collapses)).then(|| format!("{spurious_text}{text}"));
        }
        let mut seen = Vec::from_iter(many.then_some(spurious_text));
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
        let cause = if many {
            "the link reorders, and senders take that for loss"
        } else {
            "the link reorders"
        };
        let in_order = match self.link {
            LinkPlan::Coupled(_) => "`in_order` flow (or `,in-order` in `scheme`)",
            _ => "`,in-order` at the end of the scheme of `tmt apply`",
        };
        let rack = match self.flows.first()?.flow.endpoint.loss_detection {
            LossDetection::Rack => String::new(),
            LossDetection::DupAcks => {
                ", or detect losses by time: `loss_detection` rack, part of `profile` linux"
                    .to_owned()
            }
        };
        Some(format!(
            "{seen}: {cause}; deliver in order: {in_order}{rack}"
        ))
    }

    /// Whether all senders undo the cuts that spurious retransmissions caused.
    fn undoes(&self) -> bool {
        let mut flows = self.flows.iter();
        flows.all(|plan| plan.flow.endpoint.undo_recovery)
    }

    /// The cause and the remedies of spurious retransmissions where `overtaken` packet was. `needless` of the `timeouts`
    /// were spurious, as far as F-RTO is on.
    fn repeated_in_vain(&self, overtaken: &str, timeouts: u64, needless: u64) -> Option<String> {
        let endpoint = self.flows.first()?.flow.endpoint;
        let remedies = [
            (!endpoint.sack).then_some("`sack` on"),
            (!endpoint.f_rto).then_some("`f_rto` on"),
            (needless > 0).then_some("a larger `min_rto`"),
        ];
        let remedies: Vec<&str> = remedies.into_iter().flatten().collect();
        let remedies = match &remedies[..] {
            [] => String::new(),
            some => format!("; {}", some.join(", or ")),
        };
        let timeouts = counted(timeouts, "timeout");
        Some(format!(
            ", although {overtaken} packet was overtaken: senders repeated what had arrived, after {timeouts}{remedies}"
        ))
    }

    /// A return path that is the bottleneck: it drops ACKs, or they wait longer than a round trip.
    fn thin_return_path(&self, reports: &[&RunReport]) -> Option<String> {
        let waited = |run: &RunReport| run.total.ack_queueing_delay_max_s.unwrap_or(0.0);
        let worst = reports
            .iter()
            .max_by(|one, other| waited(one).total_cmp(&waited(other)))?;
        let dropped = reports.iter().map(|run| run.total.metrics.acks_dropped);
        let dropped = dropped.max().unwrap_or(0);
        // ACKs that wait for an assignment, or are held back to become one, do not wait for capacity.
        let on_purpose = self.waits_on_purpose().as_secs_f64();
        if dropped == 0 && waited(worst) <= self.rtt.as_secs_f64() + on_purpose {
            return None;
        }
        let used = worst.total.return_utilisation.unwrap_or(0.0);
        let (of, remedy) = match &self.resolved.return_capacity {
            Some(_) => ("what it was assigned", "`return_capacity`"),
            None if self.return_trace.is_some() => ("its LLDUs", "`return_trace`"),
            None => ("the time", "`return_rate`"),
        };
        Some(format!(
            "the return path is the bottleneck: it was in use for {:.0} % of {of}, ACKs waited up to {:.3} s, and its queue dropped {} of {}; {remedy}, or fewer ACKs (`delayed_ack`)",
            100.0 * used,
            waited(worst),
            dropped,
            counted(worst.total.metrics.acks_sent, "ACK"),
        ))
    }

    /// Time for which ACKs wait although the return path has capacity: until an assignment, and held back.
    fn waits_on_purpose(&self) -> Span {
        let access = self.resolved.return_capacity.as_ref();
        let requested = access.and_then(|access| terms(access).requested);
        let assigned = requested.map_or(Span::ZERO, |requested| {
            let round_trip = requested.round_trip.unwrap_or(self.rtt);
            round_trip
                .saturating_add(requested.frame)
                .saturating_add(requested.frame)
        });
        let held = self
            .resolved
            .ack_filter
            .as_ref()
            .and_then(rule)
            .map(|rule| rule.hold);
        assigned.saturating_add(held.unwrap_or(Span::ZERO))
    }

    /// A queue that dropped more than half of what was sent.
    fn overload(&self, runs: &[&Metrics]) -> Option<String> {
        let dropped = |run: &Metrics| {
            let beside = [run.packets_dropped_terrestrial, run.packets_dropped_far];
            run.packets_dropped + beside.into_iter().flatten().sum::<u64>()
        };
        let share = |run: &Metrics| to_f64(dropped(run)) / to_f64(run.packets_sent.max(1));
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
        let queue = if dropped(worst) > worst.packets_dropped {
            "queues of the path".to_owned()
        } else {
            self.queue_text()
        };
        Some(format!(
            "the {queue} dropped {} of the {} that were sent{of_runs}: the result is that of an overload; limit the senders (`rwnd`, `pacing` on, another `cc`) or enlarge `buffer`",
            dropped(worst),
            counted(worst.packets_sent, "packet")
        ))
    }

    /// Transfers that the end of their run cut, if others are complete.
    fn unfinished(&self, runs: &[&Metrics]) -> Option<String> {
        if runs.len() < 2 || self.flows.iter().any(|plan| plan.flow.packets().is_none()) {
            return None;
        }
        let cut = runs
            .iter()
            .filter(|run| run.completion_time_s.is_none())
            .count();
        // A trace that is not repeated ends the runs, regardless of their duration.
        let ends = self.link.trace().is_some() && !self.resolved.looped();
        let remedy = if ends {
            "`loop` with a `duration`"
        } else {
            "a longer `duration`"
        };
        (cut > 0).then(|| {
            format!(
                "{cut} of {} runs ended before their transfers: they have no completion time, and the mean of the others is too small; {remedy} lets them finish",
                runs.len()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::is_in_vain;

    #[test]
    fn a_little_reordering_does_not_explain_what_timeouts_repeat() {
        assert!(is_in_vain(0.0, 0, 5));
        assert!(is_in_vain(1e-4, 6, 5));
        assert!(is_in_vain(0.01, 6, 5));
        assert!(!is_in_vain(1e-4, 5, 5));
        assert!(!is_in_vain(0.0101, 6, 5));
    }
}
