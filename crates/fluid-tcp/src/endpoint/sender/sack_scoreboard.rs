//! Recovery with SACK: scoreboard, pipe and NextSeg (RFC 6675).

use tmt_core::types::Time;

use super::rate::tell_lost;
use super::{DUP_THRESHOLD, Phase, Sender};
use crate::endpoint::receiver::Ack;
use tmt_core::math::num::floor_u64;

impl Sender {
    /// Marks what the blocks tell; how many packets of it are news.
    pub(super) fn take_blocks(&mut self, now: Time, ack: &Ack) -> u64 {
        let mut news = 0;
        for (start, end) in ack.blocks {
            let (start, end) = (start.max(self.una), end.min(self.high));
            if start >= end {
                continue;
            }
            let (una, outstanding, pipe) = (self.una, &mut self.outstanding, &mut self.pipe);
            let (rack, rates, doubt) = (&mut self.rack, &mut self.rates, &mut self.doubt);
            self.sacked.insert(start, end, |packet| {
                let index = usize::try_from(packet - una).unwrap_or(usize::MAX);
                let entry = &mut outstanding[index];
                if let Some(rack) = rack {
                    rack.on_arrival(now, packet, entry);
                }
                if let Some(rates) = rates {
                    rates.on_arrival(now, packet, entry);
                }
                if let Some(doubt) = doubt {
                    doubt.on_arrival(packet, entry);
                }
                *pipe -= entry.in_pipe();
                entry.sacked = true;
                entry.lost = false;
                news += 1;
            });
        }
        self.sacked_count += news;
        news
    }

    /// IsLost (§4): a packet is lost when three above it have arrived.
    pub(super) fn find_lost(&mut self) {
        if let Some(below) = self.sacked.nth_highest(u64::from(DUP_THRESHOLD)) {
            self.lose(self.lost_below, below, false);
        }
    }

    /// What has not arrived of the packets from `from` up to `below` is lost, and so are their repeats, `again`.
    pub(super) fn lose(&mut self, from: u64, below: u64, again: bool) {
        for packet in from.max(self.una)..below {
            let index = self.index(packet);
            let entry = &mut self.outstanding[index];
            let news = !entry.sacked && (!entry.lost || (again && entry.again));
            self.pipe -= entry.in_pipe();
            entry.lost = !entry.sacked;
            entry.again &= !again;
            self.pipe += entry.in_pipe();
            if news {
                let rates = self.rates.as_deref();
                tell_lost(rates, self.cc.as_mut(), &mut self.lost, packet);
            }
        }
        self.lost_below = self.lost_below.max(below);
    }

    /// New data, while all goes well.
    pub(super) fn choose_open(&mut self) -> Option<u64> {
        if !self.has_new_data() {
            self.held_by_cwnd = false;
            return None;
        }
        let outstanding = self.high - self.una;
        let in_flight = if self.endpoint.limited_transmit {
            outstanding - self.sacked_count
        } else {
            outstanding
        };
        let window = floor_u64(self.cc.cwnd());
        if in_flight >= window {
            self.held_by_cwnd = true;
            return None;
        }
        if outstanding >= window {
            self.limited += 1;
        }
        Some(self.high)
    }

    /// NextSeg (§4), rules 1 to 3.
    pub(super) fn choose_missing(&mut self) -> Option<u64> {
        let in_recovery = matches!(self.phase, Phase::Recovery { .. });
        let allowed = if in_recovery && self.follows_prr() {
            self.prr.allows()
        } else {
            self.pipe < floor_u64(self.cc.cwnd())
        };
        if !allowed {
            self.held_by_cwnd = true;
            return None;
        }
        if !self.tries_new_data() {
            let lost = self.next_unsent(self.rtx_cursor, self.lost_below);
            self.rtx_cursor = lost.unwrap_or(self.lost_below).max(self.rtx_cursor);
            if lost.is_some() {
                return lost;
            }
        }
        if self.has_new_data() {
            return Some(self.high);
        }
        self.held_by_cwnd = false;
        // Rule 3 repeats what may be lost; by time it is known.
        if !in_recovery || self.rack.is_some() {
            return None;
        }
        let highest = self.sacked.highest().unwrap_or(0);
        let extra = self.next_unsent(self.extra_cursor.max(self.lost_below), highest);
        self.extra_cursor = extra.unwrap_or(highest).max(self.extra_cursor);
        extra
    }

    /// The first packet from `from` below `below` that has not arrived and was not sent again.
    fn next_unsent(&self, from: u64, below: u64) -> Option<u64> {
        (from.max(self.una)..below.min(self.high)).find(|packet| {
            let entry = self.outstanding[self.index(*packet)];
            !entry.sacked && !entry.again && (entry.lost || self.rack.is_none())
        })
    }
}
