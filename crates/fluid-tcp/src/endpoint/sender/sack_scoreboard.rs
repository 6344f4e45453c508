//! Recovery with SACK: scoreboard, `IsLost`, `pipe` and `NextSeg` (RFC 6675, Sec. 4).

use tmt_core::types::Time;

use super::rate::report_lost;
use super::{DUP_THRESH, Outstanding, Phase, Sender};
use crate::endpoint::receiver::Ack;

/// Packets that an ACK newly reports in SACK blocks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NewlySacked {
    /// Number of packets.
    pub(super) packets: u64,
    /// First and last of those that were sent once, and when.
    first: Option<(u64, Time)>,
    last: Option<(u64, Time)>,
}

impl NewlySacked {
    /// A single packet.
    #[inline]
    pub(super) fn one(packet: u64, entry: &Outstanding) -> Self {
        let once = (entry.transmissions == 1).then_some((packet, entry.sent));
        Self {
            packets: 1,
            first: once,
            last: once,
        }
    }

    fn add(&mut self, packet: u64, entry: &Outstanding) {
        self.packets += 1;
        if entry.transmissions == 1 {
            let new = (packet, entry.sent);
            self.first = Some(self.first.map_or(new, |first| first.min(new)));
            self.last = Some(self.last.map_or(new, |last| last.max(new)));
        }
    }

    /// Time at which the first of the packets sent once was sent.
    pub(super) fn first_sent(&self) -> Option<Time> {
        self.first.map(|(_, sent)| sent)
    }

    /// Time at which the last of the packets sent once was sent.
    pub(super) fn last_sent(&self) -> Option<Time> {
        self.last.map(|(_, sent)| sent)
    }
}

impl Sender {
    /// `Update()`: records the SACK blocks of an ACK, and returns what they newly report.
    pub(super) fn update_scoreboard(&mut self, now: Time, ack: &Ack) -> NewlySacked {
        let mut new = NewlySacked::default();
        if let Some(rack) = &mut self.rack {
            rack.begin_ack();
        }
        if ack.blocks != <[(u64, u64); 3]>::default() {
            self.record_blocks(now, ack, &mut new);
        }
        new
    }

    #[inline(never)]
    fn record_blocks(&mut self, now: Time, ack: &Ack, new: &mut NewlySacked) {
        let reported = std::mem::replace(&mut self.reported, ack.blocks);
        for block in ack.blocks {
            let (start, end) = block;
            let (start, end) = (start.max(self.snd_una), end.min(self.snd_nxt));
            if start >= end || reported.contains(&block) {
                continue;
            }
            let (outstanding, pipe) = (&mut self.outstanding, &mut self.pipe);
            let (rack, rates, frto) = (&mut self.rack, &mut self.rates, &mut self.f_rto);
            self.sacked.insert(start, end, |packet| {
                let entry = outstanding.entry_mut(packet);
                if let Some(rack) = rack {
                    rack.on_arrival(now, packet, entry);
                }
                if let Some(rates) = rates {
                    rates.on_arrival(now, packet, entry);
                }
                if let Some(frto) = frto {
                    frto.on_arrival(packet, entry);
                }
                *pipe -= entry.in_pipe();
                entry.sacked = true;
                entry.lost = false;
                new.add(packet, entry);
            });
        }
        self.sacked_count += new.packets;
    }

    /// `IsLost()`: marks packets lost that have `DupThresh` SACKed packets above them.
    pub(super) fn sack_detect_losses(&mut self) {
        if let Some(below) = self.sacked.nth_highest(u64::from(DUP_THRESH)) {
            self.mark_lost(self.lost_below, below, false);
        }
    }

    /// Marks packets in [`from`, `below`) lost unless they are SACKed; with `retransmissions`, retransmitted packets,
    /// too.
    pub(super) fn mark_lost(&mut self, from: u64, below: u64, retransmissions: bool) {
        for packet in from.max(self.snd_una)..below {
            let entry = self.outstanding.entry_mut(packet);
            if entry.sacked && !retransmissions {
                continue;
            }
            let newly_lost =
                !entry.sacked && (!entry.lost || (retransmissions && entry.retransmitted));
            self.pipe -= entry.in_pipe();
            entry.lost = !entry.sacked;
            entry.retransmitted &= !retransmissions;
            self.pipe += entry.in_pipe();
            if newly_lost {
                let rates = self.rates.as_deref();
                report_lost(rates, self.cc.as_mut(), &mut self.lost, packet);
            }
        }
        self.lost_below = self.lost_below.max(below);
    }

    /// Returns the next new packet outside recovery, with limited transmit.
    pub(super) fn next_new_data(&mut self) -> Option<u64> {
        if !self.has_new_data() {
            self.on_window_open();
            return None;
        }
        if self.packets_in_window() >= self.window {
            self.on_window_filled();
            return None;
        }
        if self.snd_nxt - self.snd_una >= self.window {
            self.limited_transmits += 1;
        }
        Some(self.snd_nxt)
    }

    /// Packets that the window limits outside recovery: with limited transmit, not those that are SACKed.
    pub(super) fn packets_in_window(&self) -> u64 {
        let outstanding = self.snd_nxt - self.snd_una;
        if self.endpoint.limited_transmit {
            outstanding - self.sacked_count
        } else {
            outstanding
        }
    }

    /// Whether PRR, or pipe and the window, allow a packet in a recovery.
    #[inline]
    pub(super) fn allows_next(&self) -> bool {
        if matches!(self.phase, Phase::Recovery { .. }) && self.uses_prr() {
            self.prr.allows(self.pipe)
        } else {
            self.pipe < self.window
        }
    }

    /// `NextSeg()`, rules 1 to 3: lost packets, new data, packets that may be lost.
    pub(super) fn next_seg(&mut self) -> Option<u64> {
        if !self.allows_next() {
            self.on_window_filled();
            return None;
        }
        if !self.f_rto_sends_new_data() {
            let lost = self.next_unretransmitted(self.rtx_cursor, self.lost_below);
            self.rtx_cursor = lost.unwrap_or(self.lost_below).max(self.rtx_cursor);
            if lost.is_some() {
                return lost;
            }
        }
        if self.has_new_data() {
            return Some(self.snd_nxt);
        }
        self.on_window_open();
        // Rule 3 retransmits packets that may be lost. RACK needs no guess.
        if !matches!(self.phase, Phase::Recovery { .. }) || self.rack.is_some() {
            return None;
        }
        let highest = self.sacked.highest().unwrap_or(0);
        let extra = self.next_unretransmitted(self.rule_3_cursor.max(self.lost_below), highest);
        self.rule_3_cursor = extra.unwrap_or(highest).max(self.rule_3_cursor);
        extra
    }

    /// Returns the first packet in [`from`, `below`) that is neither SACKed nor retransmitted.
    fn next_unretransmitted(&self, from: u64, below: u64) -> Option<u64> {
        (from.max(self.snd_una)..below.min(self.snd_nxt)).find(|packet| {
            let entry = self.outstanding.entry(*packet);
            !entry.sacked && !entry.retransmitted && (entry.lost || self.rack.is_none())
        })
    }
}
