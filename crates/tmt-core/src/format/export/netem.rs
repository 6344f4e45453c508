//! Tables and settings for netem: a `.dist` table of the delays, or of the times between slots, and the `tc` line that uses it,
//! with the losses (docs/trace-format.md, Sec. 14.4).
//!
//! The table holds the delays as they are, not a curve that was fitted to them. The probabilities of losses are counted.

mod losses;
#[cfg(test)]
mod machine;
#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "probabilities and times of a test are small"
)]
mod model;
mod table;

use std::io::{BufWriter, Write};

use super::seen::Seen;
use super::{ADD_PROPAGATION, Export, ExportError, Exporter, LLDU, OUTPUT, lldu, propagation};
use crate::format::foreign::Carries;
use crate::format::import::{Finding, Remark};
use crate::stats::distribution::{Distribution, EXACT_UP_TO};
use crate::types::named::{Kind, Parameter};
use crate::types::{Metadata, Slot, Span, Time};
use losses::Losses;
use table::Table;

/// Name of the table in the `tc` line.
const NAME: &str = "tmt";

const TABLE: Parameter = Parameter::optional(
    "table",
    Kind::Words(&["delay", "slot"]),
    "what the table has: delay, one-way delays for `distribution`, or slot, times between slots for `slot distribution` \
     [default: delay]",
);

const LOSS_MODEL: Parameter = Parameter::optional(
    "loss-model",
    Kind::Words(&["gemodel", "state", "random", "none"]),
    "losses of the tc line: gemodel (two states), state (four states), random (independent) or none [default: gemodel]",
);

/// Exporter to tables of netem.
pub static FORMAT: Exporter = Exporter {
    name: "netem",
    about: "a table for `distribution` of netem, with the tc line that uses it and the losses",
    carries: Carries::NOTHING.capacity().delay().loss(),
    keys: &[TABLE, LOSS_MODEL, ADD_PROPAGATION, LLDU],
    open: |given, head, outputs, note| {
        let is_slots = given.text(TABLE.name) == Some("slot");
        let model = given.text(LOSS_MODEL.name).unwrap_or("gemodel");
        let slot = lldu(given, head);
        let what = if is_slots {
            "time between slots"
        } else {
            "delay"
        };
        note(Remark::not_carried(format!(
            "netem draws each {what} by itself: how one depends on the one before is not carried"
        )));
        let added = if is_slots {
            note(Remark::not_carried(match slot {
                Some(slot) => format!(
                    "netem lets one packet pass per slot, regardless of its size; a slot of the trace has {slot}"
                ),
                None => "netem lets one packet pass per slot, regardless of its size".to_owned(),
            }));
            Span::ZERO
        } else {
            note(Remark::not_carried(
                "the capacity is not carried (`table` slot, or netem's own rate)",
            ));
            propagation(given, head, note)
        };
        Ok(Box::new(Netem {
            out: BufWriter::new(outputs.create(OUTPUT)?),
            is_slots,
            losses: Losses::new(model),
            added,
            values: Distribution::within(EXACT_UP_TO, usize::MAX),
            last: None,
            seen: Seen::default(),
            head: head.clone(),
        }))
    },
};

/// A time for tc: in us, since not every version takes ns.
fn tc_time(nanos: u64) -> String {
    let text = format!("{}.{:03}", nanos / 1000, nanos % 1000);
    format!("{}us", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A table that is being collected.
struct Netem {
    out: BufWriter<Box<dyn Write + Send>>,
    /// Whether the table is of times between slots.
    is_slots: bool,
    losses: Losses,
    /// Propagation.
    added: Span,
    values: Distribution,
    last: Option<Time>,
    seen: Seen,
    head: Metadata,
}

impl Netem {
    /// The part of the tc line that uses `table`.
    fn use_of(&self, table: &Table) -> String {
        let middle = tc_time(table.middle + self.added.as_nanos());
        let scale = tc_time(table.scale);
        match (self.is_slots, table.scale) {
            (false, 0) => format!("delay {middle}"),
            (false, _) => format!("delay {middle} {scale} distribution {NAME}"),
            (true, 0) => format!("slot {middle} {middle} packets 1"),
            (true, _) => format!("slot distribution {NAME} {middle} {scale} packets 1"),
        }
    }
}

impl Export for Netem {
    fn put(&mut self, slots: &[Slot]) -> Result<(), ExportError> {
        for slot in slots {
            self.seen.slot(slot);
            self.losses.push(slot.is_erased());
            if !self.is_slots {
                if !slot.is_erased() {
                    self.values.push(slot.decode_delay());
                }
            } else if let Some(last) = self.last.replace(slot.tx_time()) {
                self.values.push(slot.tx_time().since(last));
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<Finding>, ExportError> {
        let (what, least) = if self.is_slots {
            ("times between slots", "two slots")
        } else {
            ("one-way delays of received packets", "one received packet")
        };
        let Some(table) = Table::of(&self.values)? else {
            return Err(ExportError::Trace(format!(
                "found no {what}, expected at least {least}"
            )));
        };
        let losses = self.losses.finish();
        let line = format!(
            "tc qdisc add dev DEV root netem {}{}",
            self.use_of(&table),
            losses.text
        );
        let count = self.values.count();
        let entries = table.entries.len();
        let added = self.added;
        let at = |span: Option<Span>| span.unwrap_or_default().saturating_add(added);
        writeln!(
            self.out,
            "# {count} {what}, from {} to {}, by `tmt convert --to netem`",
            at(self.values.min()),
            at(self.values.max())
        )?;
        writeln!(
            self.out,
            "# copy to {NAME}.dist in /usr/lib/tc (or $TC_LIB_DIR), then"
        )?;
        writeln!(self.out, "# {line}")?;
        writeln!(
            self.out,
            "# netem holds at most 1000 packets unless `limit` says more"
        )?;
        table.write(&mut self.out)?;
        self.out.flush()?;
        let mut findings = vec![Finding::note("tc-line", 1, "lines", line)];
        if table.resolution() > 1 {
            let text = format!(
                "{what} are rounded to steps of {}, 1/8192 of netem's jitter",
                Span::from_nanos(table.resolution()).unwrap_or(Span::MAX)
            );
            findings.push(Finding::note("rounded", count, "values", text).not_carried());
        }
        if entries as u64 != count && table.scale > 0 {
            let text = format!(
                "the table has {entries} of {count} {what}, evenly spread over their ranks: netem takes no more"
            );
            findings.push(Finding::note("thinned", count, "values", text).not_carried());
        }
        if let Some(lost) = losses.simplified {
            findings.push(lost);
        }
        if self.is_slots {
            findings.extend(self.seen.delays_lost(" (`table` delay)"));
            findings.extend(self.seen.probes(&self.head));
        } else {
            findings.extend(self.seen.order_lost());
        }
        if losses.text.is_empty() {
            findings.extend(self.seen.losses_lost("not carried (`loss-model`)"));
        }
        Ok(findings)
    }
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "counts of a test are small")]
mod tests {
    use super::super::testing::{Exported, export, slot};
    use super::machine::{MEANS, Netem as Kernel, differ};
    use super::model::{draws, read_table, tc_nanos};
    use super::*;
    use crate::format::import::Effect;

    /// The words of the tc line after `netem`.
    fn words(exported: &Exported) -> Vec<String> {
        let line = exported
            .text()
            .lines()
            .find(|line| line.contains("tc qdisc"))
            .unwrap();
        let (_, words) = line.split_once(" netem ").unwrap();
        words.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_table_gives_back_the_delays_by_the_rule_of_the_kernel() {
        let delays = [1_000_000, 7_000_000, 7_250_000, 90_000_001, 3];
        let slots: Vec<Slot> = (0..)
            .zip(delays)
            .map(|(at, delay)| slot(at, delay))
            .collect();
        let head = [("propagation_removed_ns", "20000000")];
        let exported = export(&FORMAT, &[], &head, &slots).unwrap();
        let words = words(&exported);
        assert_eq!(&words[0..1], ["delay"]);
        assert_eq!(words[3..5], ["distribution", "tmt"]);
        let (middle, jitter) = (tc_nanos(&words[1]), tc_nanos(&words[2]));
        let table = read_table(exported.text());
        let mut given: Vec<i64> = table
            .iter()
            .map(|&t| model::delay(middle, jitter, t))
            .collect();
        given.sort_unstable();
        let mut expected: Vec<i64> = delays
            .iter()
            .map(|delay| 20_000_000 + delay.cast_signed())
            .collect();
        expected.sort_unstable();
        for (given, expected) in given.iter().zip(&expected) {
            // 90 ms in 65534 steps.
            assert!(
                (given - expected).abs() <= 90_000_000 / 65_534 / 2 + 2,
                "{given} {expected}"
            );
        }
        assert!(exported.found("rounded").unwrap().text.contains("1.374us"));
    }

    #[test]
    fn many_delays_are_thinned_to_what_tc_takes() {
        let slots: Vec<Slot> = (0..100_000)
            .map(|at| slot(at, 1 + at * 7 % 100_000))
            .collect();
        let exported = export(&FORMAT, &[], &[], &slots).unwrap();
        let table = read_table(exported.text());
        assert_eq!(table.len(), table::MOST_ENTRIES);
        assert!(table.is_sorted());
        let words = words(&exported);
        let (middle, jitter) = (tc_nanos(&words[1]), tc_nanos(&words[2]));
        // Delays are 1 to 100000 ns, each once: the k-th of n entries is at rank (2k + 1) / 2n.
        for (k, &t) in table.iter().enumerate() {
            let expected = (2.0 * k as f64 + 1.0) / (2.0 * table.len() as f64) * 100_000.0;
            let given = model::delay(middle, jitter, t) as f64;
            assert!((given - expected).abs() < 16.0, "{k} {given} {expected}");
        }
        assert_eq!(
            exported.found("thinned").unwrap().effect,
            Effect::NotCarried
        );
    }

    #[test]
    fn equal_delays_need_no_table_and_none_are_refused() {
        let exported = export(&FORMAT, &[], &[], &[slot(0, 500), slot(9, 500)]).unwrap();
        assert_eq!(words(&exported), ["delay", "0.5us"]);
        let refused = export(&FORMAT, &[], &[], &[slot(0, 0)]);
        assert!(matches!(refused, Err(ExportError::Trace(_))));
        let refused = export(&FORMAT, &[], &[], &[slot(0, 1), slot(1, 20_000_000_000)]);
        assert!(matches!(refused, Err(ExportError::Trace(_))));
    }

    #[test]
    fn times_between_slots_are_a_table_too() {
        let slots = [slot(0, 1), slot(1000, 0), slot(4000, 1), slot(5000, 9)];
        let exported = export(
            &FORMAT,
            &[("table", "slot")],
            &[("lldu_bytes", "1500")],
            &slots,
        );
        let exported = exported.unwrap();
        let words = words(&exported);
        assert_eq!(words[..3], ["slot", "distribution", "tmt"]);
        let (middle, jitter) = (tc_nanos(&words[3]), tc_nanos(&words[4]));
        let table = read_table(exported.text());
        let gaps: Vec<i64> = table
            .iter()
            .map(|&t| model::delay(middle, jitter, t))
            .collect();
        assert_eq!(gaps, [1000, 1000, 3000]);
        assert_eq!(words[5..7], ["packets", "1"]);
        assert!(exported.found("delays-not-carried").is_some());
    }

    /// Losses by a chain of two states, or four as netem has them.
    fn trace(model: &str, count: usize) -> Vec<Slot> {
        let lost = losses(&model.split(' ').collect::<Vec<_>>(), 7, count);
        (0..)
            .zip(lost)
            .map(|(at, lost)| slot(at, u64::from(!lost)))
            .collect()
    }

    /// Losses of netem with these words after `loss`.
    fn losses(words: &[&str], seed: u64, count: usize) -> Vec<bool> {
        let (mut kernel, mut draw) = (Kernel::new(words), draws(seed));
        (0..count).map(|_| kernel.loses(&mut draw)).collect()
    }

    /// The line that is written for a trace makes netem lose as the trace does.
    #[test]
    fn the_kernel_loses_as_the_trace_does() {
        const PACKETS: usize = 2_000_000;
        for (source, written) in [
            ("gemodel 1% 16.7%", "gemodel"),
            ("gemodel 0.05% 80%", "gemodel"),
            ("gemodel 30% 10%", "gemodel"),
            ("state 1% 25% 5% 50% 0.1%", "state"),
            ("state 0.2% 60% 20% 30% 0.5%", "state"),
            ("random 3%", "random"),
        ] {
            let slots = trace(source, PACKETS);
            let exported = export(&FORMAT, &[("loss-model", written)], &[], &slots).unwrap();
            let words = words(&exported);
            let at = words.iter().position(|word| word == "loss").unwrap();
            let line: Vec<&str> = words[at + 1..].iter().map(String::as_str).collect();
            assert_eq!(line[0], written);
            let model = losses(&line, 1, PACKETS);
            let trace: Vec<bool> = slots.iter().map(Slot::is_erased).collect();
            // Of four states a rule distinguishes lone losses from short bursts, which keeps their means only.
            let count = if written == "state" {
                MEANS
            } else {
                usize::MAX
            };
            assert_eq!(differ(&model, &trace, count), None, "{source}: {line:?}");
        }
    }

    #[test]
    fn losses_in_bursts_are_not_random() {
        let slots = trace("gemodel 1% 16.7%", 100_000);
        let exported = export(&FORMAT, &[("loss-model", "random")], &[], &slots).unwrap();
        assert_eq!(exported.found("bursts").unwrap().effect, Effect::NotCarried);
        let none = export(&FORMAT, &[("loss-model", "none")], &[], &slots).unwrap();
        assert!(none.found("losses-not-carried").is_some() && !none.text().contains("loss "));
    }
}
