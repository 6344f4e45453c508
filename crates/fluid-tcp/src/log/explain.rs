//! `--explain`: all that happened to one packet.

use tmt_core::types::Time;

use crate::endpoint::receiver::Ack;
use crate::endpoint::sender::Why;
use crate::link::{PacketCopy, Service};
use crate::simulation::Setup;
use crate::simulation::delay::DelayParts;
use crate::simulation::probe::{Probe, Refused};

/// One packet's story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Story {
    /// The flow, from 0.
    pub flow: usize,
    /// The packet of the flow, from 0.
    pub packet: u64,
    /// Its copies in the order of sending.
    pub copies: Vec<CopyStory>,
    /// When the receiver first told of it, among other things or by itself.
    pub told: Option<Time>,
    /// When the sender first learned of it from a SACK block.
    pub sacked: Option<Time>,
    /// When the sender learned that it and all before it were received.
    pub acked: Option<Time>,
}

/// One copy's story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyStory {
    /// 1 for the first transmission.
    pub copy: u32,
    /// Why it was sent.
    pub why: Why,
    /// When it was sent.
    pub sent: Time,
    /// When it reached the gateway; none where the run ended before.
    pub reached: Option<Time>,
    /// Packets that it met in the queue, the one in service included.
    pub queue_met: u64,
    /// Why the gateway did not take it in, if it did not.
    pub refused: Option<Refused>,
    /// When the queue dropped it that had taken it in.
    pub dropped: Option<Time>,
    /// What the link did with it; what lies behind the end of the run did not happen.
    pub service: Option<Service>,
    /// Whether the link lost it.
    pub lost: bool,
    /// When it reached the receiver.
    pub delivered: Option<Time>,
    /// What its delay is made of, where it was delivered.
    pub delay: Option<DelayParts>,
}

/// Listens for one packet.
#[derive(Debug)]
pub struct Explain {
    story: Story,
    end: Time,
    /// Packets in the gateway's buffer.
    queue: u64,
    /// Whether a proxy keeps them until the link has acknowledged them.
    proxied: bool,
    /// Packets that the flow sent at least once.
    sent: u64,
}

impl Explain {
    /// Listens for packet `packet` of `flow` in a run of `setup`.
    #[must_use]
    pub fn new(flow: usize, packet: u64, setup: &Setup) -> Self {
        Self {
            story: Story {
                flow,
                packet,
                copies: Vec::new(),
                told: None,
                sacked: None,
                acked: None,
            },
            end: setup.end,
            queue: 0,
            proxied: setup.path.split.is_some(),
            sent: 0,
        }
    }

    /// The story, or how many packets the flow sent where this one was not among them.
    ///
    /// # Errors
    /// The packet was never sent.
    pub fn finish(self) -> Result<Story, u64> {
        if self.story.copies.is_empty() {
            Err(self.sent)
        } else {
            Ok(self.story)
        }
    }

    /// The copy that is meant, if it is one of the packet's.
    fn copy(&mut self, copy: PacketCopy) -> Option<&mut CopyStory> {
        let wanted = copy.flow == self.story.flow && copy.packet == self.story.packet;
        let index = usize::try_from(copy.copy.checked_sub(1)?).ok()?;
        self.story.copies.get_mut(index).filter(|_| wanted)
    }

    fn is_about(&self, flow: usize, ack: &Ack) -> (bool, bool) {
        let packet = self.story.packet;
        let ours = flow == self.story.flow;
        let in_block = ack
            .blocks
            .iter()
            .any(|(start, end)| (*start..*end).contains(&packet));
        (ours && packet < ack.next, ours && in_block)
    }
}

impl Probe for Explain {
    fn on_sent(&mut self, now: Time, copy: PacketCopy) {
        if copy.flow != self.story.flow {
            return;
        }
        self.sent = self.sent.max(copy.packet.saturating_add(1));
        if copy.packet != self.story.packet {
            return;
        }
        self.story.copies.push(CopyStory {
            copy: copy.copy,
            why: copy.why,
            sent: now,
            reached: None,
            queue_met: 0,
            refused: None,
            dropped: None,
            service: None,
            lost: false,
            delivered: None,
            delay: None,
        });
    }

    fn on_enqueued(&mut self, now: Time, copy: PacketCopy) {
        let met = self.queue;
        self.queue += 1;
        if let Some(story) = self.copy(copy) {
            (story.reached, story.queue_met) = (Some(now), met);
        }
    }

    fn on_refused(&mut self, now: Time, copy: PacketCopy, why: Refused) {
        let met = self.queue;
        if let Some(story) = self.copy(copy) {
            (story.reached, story.queue_met) = (Some(now), met);
            story.refused = Some(why);
        }
    }

    fn on_released(&mut self, _now: Time, _copy: PacketCopy) {
        self.queue = self.queue.saturating_sub(1);
    }

    fn on_dropped(&mut self, now: Time, copy: PacketCopy) {
        self.queue = self.queue.saturating_sub(1);
        if let Some(story) = self.copy(copy) {
            story.dropped = Some(now);
        }
    }

    fn on_service(&mut self, copy: PacketCopy, service: &Service) {
        let begins = service.start <= self.end;
        if let Some(story) = self.copy(copy).filter(|_| begins) {
            story.service = Some(*service);
            let reached = story.reached;
            story.delay = reached.and_then(|at| DelayParts::of(story.sent, at, service));
        }
    }

    fn on_departure(&mut self, _left: Time, copy: PacketCopy, lost: bool) {
        if !self.proxied {
            self.queue = self.queue.saturating_sub(1);
        }
        if let Some(story) = self.copy(copy) {
            story.lost = lost;
        }
    }

    fn on_delivered(&mut self, now: Time, copy: PacketCopy) {
        if let Some(story) = self.copy(copy) {
            story.delivered = Some(now);
        }
    }

    fn on_ack_sent(&mut self, now: Time, flow: usize, ack: &Ack) {
        let (below, in_block) = self.is_about(flow, ack);
        if below || in_block {
            self.story.told.get_or_insert(now);
        }
    }

    fn on_ack_received(&mut self, now: Time, flow: usize, ack: &Ack) {
        if self.is_about(flow, ack).1 {
            self.story.sacked.get_or_insert(now);
        }
    }

    fn on_acked(&mut self, now: Time, flow: usize, next: u64) {
        if flow == self.story.flow && self.story.packet < next {
            self.story.acked.get_or_insert(now);
        }
    }
}
