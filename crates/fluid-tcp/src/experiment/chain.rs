//! The chain `tmt inject | tmt apply | tmt tcp` without files: slots, the timeline that a scheme makes of them, and TCP
//! over it. Several experiments can share the slots, and those with the same scheme the timeline.

use tmt_core::channel::{SlotChannel, Use};
use tmt_core::types::{EndLine, Span, Time};

use super::error::{Result, data, refused};
use super::parameters::Experiment;
use super::storage::{Loaded, Storage};
use super::values::LinkKind;
use tmt_link::apply::{AppliedScheme, applied_before};
use tmt_link::timeline::Trace;

impl Experiment {
    /// Whether it describes a chain: a scheme on the slots of a trace or channel, and TCP over the resulting timeline.
    /// `tmt tcp` alone refuses such parameters; a sweep runs them as `tmt apply | tmt tcp` would.
    #[must_use]
    pub fn is_chain(&self) -> bool {
        self.scheme.is_some() && self.link() == LinkKind::Timeline && !self.compares()
    }

    /// The slots of a chain: those of its trace, or of its channel under `seed`. `loss` erases slots, too; without a trace and
    /// a channel it is the channel.
    ///
    /// # Errors
    /// A trace that cannot be read, parameters that contradict each other, or a channel without rate or duration.
    pub fn chain_slots(&self, storage: &dyn Storage, seed: u64) -> Result<Loaded> {
        let channel = match (&self.trace, &self.channel, &self.loss) {
            (Some(_), Some(_), _) => {
                return refused(
                    "channel",
                    "`channel` generates slots and cannot be combined with `trace`; `loss` erases slots of a trace",
                );
            }
            (Some(_), None, loss) => return self.slots_of_trace(storage, loss.as_ref(), seed),
            (None, Some(_), Some(_)) => {
                return refused(
                    "loss",
                    "`loss` cannot be combined with `channel`, which erases slots itself",
                );
            }
            (None, Some(channel), None) | (None, None, Some(channel)) => channel,
            (None, None, None) => {
                return refused(
                    "scheme",
                    "`scheme` needs slots: give `trace`, `channel` or `loss`",
                );
            }
        };
        self.refuse_what_generated_slots_lack()?;
        let own = Self {
            channel: Some(channel.clone()),
            ..self.clone()
        };
        let own = own.filled();
        let (mut loaded, slots) = own.generated_slots(channel)?;
        loaded.rows = slots.trace(seed).rows();
        if let Some(rate) = own.rate_of_slots() {
            let (lldu, _) = own.lldu_size(&loaded.head);
            loaded.head.set("rate_bps", rate.0.to_string());
            loaded.head.set("lldu_bytes", lldu.0.to_string());
        }
        if channel.is_random() {
            loaded.head.set("seed", seed.to_string());
        }
        Ok(loaded)
    }

    /// Refuses what needs a trace, of a chain whose slots are generated.
    fn refuse_what_generated_slots_lack(&self) -> Result<()> {
        let reading = [
            ("unit", self.unit.is_some()),
            ("columns", self.columns.is_some()),
            ("allow_cut", self.allow_cut.is_some()),
        ];
        let given = reading.into_iter().find(|(_, is_given)| *is_given);
        if let Some((key, _)) = given.filter(|_| self.return_trace.is_none()) {
            return refused(
                key,
                format!(
                    "`{key}` says how a trace is read: found generated slots, expected `trace`"
                ),
            );
        }
        if self.offsets.is_some() && self.bytes.is_none() && self.flow.is_none() {
            return refused(
                "offsets",
                "`offsets` over generated slots needs `bytes`: `duration` is the length of the slots",
            );
        }
        Ok(())
    }

    /// Whether two seeds may give a chain different slots.
    #[must_use]
    pub fn chain_slots_are_random(&self) -> bool {
        let is_random =
            |process: &Option<SlotChannel>| process.as_ref().is_some_and(SlotChannel::is_random);
        is_random(&self.channel) || is_random(&self.loss)
    }

    /// The slots of the trace, erased by `loss` as `tmt inject` does.
    fn slots_of_trace(
        &self,
        storage: &dyn Storage,
        loss: Option<&SlotChannel>,
        seed: u64,
    ) -> Result<Loaded> {
        if self.rate.is_some() {
            return refused(
                "rate",
                "`rate` cannot be combined with `trace`, which determines it",
            );
        }
        let loaded = self.read(storage, self.trace.as_ref(), false)?;
        let Some(loss) = loss else {
            return Ok(loaded);
        };
        if loss.is_random() && loaded.head.erased_with(seed) {
            return Err(data(format!(
                "{}: found a stage that erased slots with seed {seed}, expected another `seed`: this one gives the same random numbers again",
                loaded.name
            )));
        }
        let on_air = loss.link().map_or_else(
            || {
                let known = loaded.head.rate().zip(loaded.head.lldu_bytes());
                known
                    .and_then(|(rate, lldu)| rate.time_of_bit(u128::from(lldu.0) * 8))
                    .map_or(Span::ZERO, |end| end.since(Time::ZERO))
            },
            |link| link.on_air,
        );
        let mut erasing = loss.begin(seed, Use::Forward);
        let mut collector = storage.collect();
        let mut first = 0;
        for slots in storage.slots(&loaded.rows) {
            let mut slots = slots?;
            erasing.erase(first, on_air, &mut slots);
            first += slots.len() as u64;
            collector.slots(&slots);
        }
        Ok(Loaded {
            rows: collector.finish()?,
            ..loaded
        })
    }

    /// The timeline that `tmt apply` makes of `slots` with the scheme of this experiment.
    ///
    /// # Errors
    /// No scheme, a feedback delay that the slots do not tell, repeats after 2^63 - 1 ns, or rows that cannot be read or
    /// stored.
    pub fn chain_timeline(&self, slots: &Loaded, storage: &dyn Storage) -> Result<Loaded> {
        let scheme = self.scheme.clone().ok_or_else(|| self.missing("scheme"))?;
        self.refuse_other_values(&slots.head)?;
        let decode_delay = slots.rows.median_delay();
        let (rtt, _, assumed) = self.round_trip(&slots.head);
        // Of the warnings of `tmt apply` those that its timeline does not show.
        let unseen =
            assumed
                .into_iter()
                .chain(applied_before("the input", &slots.head, scheme.text()));
        let notes = slots.notes.iter().cloned().chain(unseen);
        let (feedback_delay, _) = self.resolved_feedback_delay(&slots.head, decode_delay)?;
        let applied = AppliedScheme {
            scheme,
            rtt,
            feedback_delay,
        };
        let mut head = slots.head.clone();
        applied.describe(&mut head, decode_delay, slots.rows.rate());
        let (rows, mut end) = timeline_of(&applied, &slots.rows, storage)?;
        if let Some(input) = slots.end {
            end.usable_until = end.usable_until.min(input.usable_until);
        }
        Ok(Loaded {
            name: slots.name.clone(),
            rows,
            head,
            end: Some(end),
            notes: notes.collect(),
        })
    }

    /// The experiment over the timeline of the chain, which its storage must return for the trace `-`. A run over generated
    /// slots lasts as long as its timeline is usable.
    #[must_use]
    pub fn chain_run(&self) -> Self {
        let mut run = self.clone();
        if self.trace.is_none() {
            run.duration = None;
            // Parameters may replace the values of its link that a channel has written into the head.
            run.replace_head = Some(true);
        }
        run.trace = Some("-".to_owned());
        (run.scheme, run.channel, run.loss, run.rate) = (None, None, None, None);
        // Parameters of how a trace is read stay: the return trace is read by them, too.
        run.feedback_delay = None;
        run
    }
}

/// The timeline that a scheme makes of `slots`, and its end line.
pub(super) fn timeline_of(
    applied: &AppliedScheme,
    slots: &Trace,
    storage: &dyn Storage,
) -> Result<(Trace, EndLine)> {
    let mut collector = storage.collect();
    let end = applied.run_on(storage.slots(slots), |lldus| collector.lldus(lldus))?;
    Ok((collector.finish()?, end))
}
