//! The path beside a link: between the senders and the gateway, or behind the link. It has a queue before a rate or a
//! timeline of its own, and losses (docs/simulator.md, Sec. 3.1).

use tmt_core::channel::Losses;
use tmt_core::types::{BitRate, Bytes, Span, Time};

use super::{AttachError, Delay, Hop, Lossy, PathTrace, Queued};
use crate::link::{Link, SyntheticLink, TimelineLink};
use crate::queue::{self, Buffer, Context, Discipline};

/// Settings of the path beside a link, shared by all flows, without its propagation. By default it has neither losses nor a
/// queue.
#[derive(Debug, Clone, Default)]
pub struct SidePath {
    /// Process that loses packets, each on air during its service, or for an instant where nothing takes time.
    pub loss: Option<Losses>,
    /// Rate of the path; `None` for no limit.
    pub rate: Option<BitRate>,
    /// Timeline whose LLDUs the packets take, instead of a rate.
    pub trace: Option<PathTrace>,
    /// Queue discipline before rate or timeline.
    pub discipline: Discipline,
    /// Buffer of that queue, the packet in service included.
    pub buffer: Buffer,
}

impl SidePath {
    /// The path as a hop with this number in a run of `seed` that begins at `begin`. Its usual packets have size `packet`.
    ///
    /// # Errors
    /// [`AttachError::Unreadable`], if the rate or the timeline cannot carry any packet.
    pub fn hop(
        &self,
        packet: Bytes,
        number: u32,
        seed: u64,
        begin: Time,
    ) -> Result<Box<dyn Hop>, AttachError> {
        let unfit = |what: &str| {
            let expected = "expected one that carries at least one packet";
            AttachError::Unreadable(format!("found a {what} without capacity, {expected}"))
        };
        let context = Context {
            buffer: self.buffer,
            packet,
            rate: None,
            seed,
            hop: number,
        };
        match (&self.trace, self.rate) {
            (Some(trace), _) => {
                let (timeline, period) = (trace.timeline.clone(), trace.period);
                let link =
                    TimelineLink::new(timeline, trace.segmentation, Span::ZERO, period, begin);
                Ok(self.before(link.ok_or_else(|| unfit("timeline"))?, context))
            }
            (None, Some(rate)) => {
                let link = SyntheticLink::new(rate, packet, Span::ZERO, None, begin);
                Ok(self.before(link.ok_or_else(|| unfit("rate"))?, context))
            }
            (None, None) => Ok(self.with_losses(Delay::new(Vec::new()))),
        }
    }

    /// The queue before `link`.
    fn before(&self, link: impl Link + 'static, context: Context) -> Box<dyn Hop> {
        let rate = link.rate();
        let queue = queue::start(&self.discipline, &Context { rate, ..context });
        self.with_losses(Queued::new(link, self.buffer, queue))
    }

    fn with_losses(&self, hop: impl Hop + 'static) -> Box<dyn Hop> {
        match &self.loss {
            None => Box::new(hop),
            Some(losses) => Box::new(Lossy::new(hop, losses.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::Event;
    use crate::packet::Packet;
    use proptest::prelude::*;

    /// Fates of packets of these sizes that arrive at these times: when each leaves the path.
    fn leaves(path: &SidePath, arrivals: &[(u64, u64)]) -> Vec<Option<u64>> {
        let mut hop = path.hop(Bytes(1500), 1, 1, Time::ZERO).unwrap();
        let mut left = vec![None; arrivals.len()];
        let mut note = |event: Event| {
            if let Event::Served(packet, service) = event {
                left[usize::try_from(packet.id).unwrap()] = service.arrival.map(Time::as_nanos);
            }
        };
        let ends = arrivals.iter().map(|arrival| Some(*arrival)).chain([None]);
        for (id, arrival) in (0..).zip(ends) {
            let now = arrival.map(|(at, _)| Time::from_nanos(at).unwrap());
            while let Some(due) = hop.due().filter(|due| now.is_none_or(|now| *due <= now)) {
                std::iter::from_fn(|| hop.poll(due)).for_each(&mut note);
            }
            let (Some(now), Some((_, size))) = (now, arrival) else {
                break;
            };
            let packet = Packet {
                id,
                size: Bytes(size),
                enqueued: now,
                ..Packet::default()
            };
            hop.push(now, packet).into_iter().for_each(&mut note);
            std::iter::from_fn(|| hop.poll(now)).for_each(&mut note);
        }
        left
    }

    proptest! {
        /// Closed form of a queue without a limit: D(k) = max(D(k - 1), A(k)) + S(k). At 8 Gbps a byte takes 1 ns.
        #[test]
        fn a_rate_serves_one_packet_after_the_other(
            packets in prop::collection::vec((0u64..3000, 1u64..1500), 1..40),
        ) {
            let mut at = 0;
            let arrivals: Vec<_> = packets.iter().map(|(gap, size)| { at += gap; (at, *size) }).collect();
            let mut free = 0;
            let expected: Vec<_> = arrivals.iter().map(|(at, size)| { free = free.max(*at) + size; Some(free) }).collect();
            let path = SidePath { rate: Some(BitRate(8_000_000_000)), ..SidePath::default() };
            prop_assert_eq!(leaves(&path, &arrivals), expected);
        }
    }

    #[test]
    fn a_path_without_a_rate_takes_no_time() {
        let arrivals = [(3, 1500), (3, 40), (7, 1500)];
        assert_eq!(
            leaves(&SidePath::default(), &arrivals),
            [Some(3), Some(3), Some(7)]
        );
    }

    #[test]
    fn a_rate_of_zero_is_refused() {
        let path = SidePath {
            rate: Some(BitRate(0)),
            ..SidePath::default()
        };
        let refused = path.hop(Bytes(1500), 1, 1, Time::ZERO).unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("found a rate without capacity")
        );
    }
}
