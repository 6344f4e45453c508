//! Datagrams of one flow: rules `causality`, `acked`, `story` and `form`.
//!
//! They are neither acknowledged nor retransmitted. They have one size, and leave one after the other at a rate, or in bursts at
//! a rate with pauses of a length that the log does not show; or they are arrivals of any size at any time.

use tmt_core::types::Time;

use super::datagram_form::Form;
use super::report::{Rule, RuleTally};
use super::row::{Fate, Row};
use super::totals::Counts;

/// The datagrams of a flow so far.
#[derive(Debug)]
pub(super) struct Datagrams {
    form: Form,
    next: u64,
    /// Time and number of the first datagram of the burst.
    burst: Option<(Time, u64)>,
}

impl Datagrams {
    pub(super) const fn new(form: Form) -> Self {
        Self {
            form,
            next: 0,
            burst: None,
        }
    }

    /// Checks the next row of the flow.
    pub(super) fn on_row(&mut self, row: &Row, counts: &mut Counts, tally: &mut RuleTally) {
        let &Row { packet, copy, .. } = row;
        let mut causality = tally.at(Rule::Causality, row.line);
        let found = format_args!("datagram {packet} copy {copy}");
        let expected = format_args!("datagram {} copy 1: it is not retransmitted", self.next);
        causality.check((packet, copy) == (self.next, 1), found, expected);
        let (start, first) = *self.burst.get_or_insert((row.sent, packet));
        if let Some(pace) = self.form.pace {
            let after = pace.after(packet.saturating_sub(first), self.form.payload);
            let due = start.saturating_add(after);
            let goes_on = row.sent == due;
            let begins = pace.pauses && row.sent > due;
            let found = format_args!("datagram {packet} sent {}", row.sent);
            let or_later = if pace.pauses { ", or later" } else { "" };
            let rate = pace.rate_bps;
            let expected = format_args!("{due}{or_later}, by the rate of {rate} bit/s");
            causality.check(goes_on || begins, found, expected);
            if begins {
                self.burst = Some((row.sent, packet));
            }
        } else {
            let found = format_args!("datagram {packet} sent {}", row.sent);
            let expected = format_args!("{start} or later, when the one before it was sent");
            causality.check(row.sent >= start, found, expected);
            self.burst = Some((row.sent, packet));
        }
        self.next = self.next.max(packet.saturating_add(1));
        let size = self.form.payload.saturating_add(self.form.headers);
        let up_to = if self.form.pace.is_some() {
            ""
        } else {
            "at most "
        };
        let mut form = tally.at(Rule::Form, row.line);
        let found = format_args!("size_bytes {}", row.size);
        let expected = format_args!("{up_to}{size}, with headers");
        form.check(self.form.accepts(row.size), found, expected);
        let found = format_args!("datagram {packet} with fate 'duplicate'");
        let mut story = tally.at(Rule::Story, row.line);
        story.check(
            row.fate != Fate::Duplicate,
            found,
            "another fate: it is not retransmitted",
        );
        let found = format_args!("datagram {packet} with a time in 'acked'");
        let mut acked = tally.at(Rule::Acked, row.line);
        acked.check(row.acked.is_none(), found, "no ACK of a datagram");
        // Each is passed on as it arrives.
        counts.packets_delivered_in_order += u64::from(row.delivered.is_some());
    }
}
