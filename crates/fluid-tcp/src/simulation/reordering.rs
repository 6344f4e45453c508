//! Reordering of the transmissions of a flow on their way to the receiver (RFC 4737).
//!
//! The sequence of RFC 4737 is here the order in which the sender sent them, so that a retransmission is not out of
//! order by itself. A transmission is reordered if one that was sent later arrived before it (Sec. 3.3). Its extent is
//! the distance, in arrivals, to the first of those (Sec. 4.2.2).

use std::collections::VecDeque;

use tmt_core::types::to_f64;

/// Counts of reordered transmissions. Their memory is bounded by the transmissions in the network.
#[derive(Debug, Default)]
pub(super) struct Reordering {
    /// Numbers of the transmissions that may still arrive, ascending.
    in_network: VecDeque<u64>,
    /// Largest number that has arrived.
    latest: Option<u64>,
    /// Arrivals that overtook what may still arrive: number, and position among the arrivals. Both ascend.
    overtook: VecDeque<(u64, u64)>,
    arrived: u64,
    extents: Extents,
}

/// Extents of the reordered transmissions of one flow, or of several.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extents {
    /// Number of reordered transmissions.
    pub(super) count: u64,
    sum: u64,
    /// Largest extent, arrivals; 0 if nothing was reordered.
    pub(super) max: u64,
}

impl Extents {
    /// Mean extent, arrivals; `None` if nothing was reordered.
    pub(super) fn mean(self) -> Option<f64> {
        (self.count > 0).then(|| to_f64(self.sum) / to_f64(self.count))
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            sum: self.sum + other.sum,
            max: self.max.max(other.max),
        }
    }
}

impl Reordering {
    /// The sender sends transmission `number`, which is larger than those before.
    pub(super) fn on_sent(&mut self, number: u64) {
        self.in_network.push_back(number);
    }

    /// Transmission `number` will not arrive.
    pub(super) fn on_gone(&mut self, number: u64) {
        if let Some(place) = self.place(number) {
            self.in_network.remove(place);
            self.forget();
        }
    }

    /// Transmission `number` arrives at the receiver.
    #[inline]
    pub(super) fn on_arrival(&mut self, number: u64) {
        // The usual case: the oldest in the network, which nothing has overtaken.
        if self.in_network.front() == Some(&number) && self.overtook.is_empty() {
            self.in_network.pop_front();
            self.latest = Some(number);
            self.arrived += 1;
            return;
        }
        self.on_arrival_in_any_order(number);
    }

    fn on_arrival_in_any_order(&mut self, number: u64) {
        let place = self.place(number);
        if self.latest.is_some_and(|latest| number < latest) {
            let first = self.overtook.partition_point(|(by, _)| *by < number);
            if let Some((_, since)) = self.overtook.get(first) {
                let extent = self.arrived - since;
                self.extents.count += 1;
                self.extents.sum += extent;
                self.extents.max = self.extents.max.max(extent);
            }
        } else {
            // Overtaken is what was sent since the latest arrival and is still on its way.
            let before = place.and_then(|place| self.in_network.get(place.checked_sub(1)?));
            if before.is_some_and(|before| self.latest.is_none_or(|latest| latest < *before)) {
                self.overtook.push_back((number, self.arrived));
            }
            self.latest = Some(number);
        }
        self.arrived += 1;
        if let Some(place) = place {
            self.in_network.remove(place);
            self.forget();
        }
    }

    pub(super) fn extents(&self) -> Extents {
        self.extents
    }

    /// Place of transmission `number` among those in the network.
    fn place(&self, number: u64) -> Option<usize> {
        // The usual cases: a network that keeps the order, and a full queue.
        if self.in_network.front() == Some(&number) {
            Some(0)
        } else if self.in_network.back() == Some(&number) {
            self.in_network.len().checked_sub(1)
        } else {
            self.in_network.binary_search(&number).ok()
        }
    }

    /// Forgets the arrivals that overtook nothing that may still arrive.
    fn forget(&mut self) {
        let oldest = self.in_network.front().copied().unwrap_or(u64::MAX);
        while self.overtook.front().is_some_and(|(by, _)| *by < oldest) {
            self.overtook.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 4737, Sec. 3.3 and 4.2.2, as written: `arrivals` are sequence numbers in the order of arrival.
    fn by_definition(arrivals: &[u64]) -> Extents {
        let mut extents = Extents::default();
        let mut next_expected = 0;
        for (i, number) in arrivals.iter().enumerate() {
            if *number >= next_expected {
                next_expected = number + 1;
                continue;
            }
            let j = arrivals[..i].iter().position(|earlier| earlier > number);
            let extent = (i - j.unwrap()) as u64;
            extents.count += 1;
            extents.sum += extent;
            extents.max = extents.max.max(extent);
        }
        extents
    }

    #[test]
    fn the_extents_of_rfc_4737() {
        // Sec. 7.3 of the RFC: packet 4 arrives after 5 to 8 (extent 4); then 9 in order.
        let mut reordering = Reordering::default();
        (1..=9).for_each(|number| reordering.on_sent(number));
        for number in [1, 2, 3, 5, 6, 7, 8, 4, 9] {
            reordering.on_arrival(number);
        }
        let one = Extents {
            count: 1,
            sum: 4,
            max: 4,
        };
        assert_eq!(reordering.extents(), one);
        assert_eq!(by_definition(&[1, 2, 3, 5, 6, 7, 8, 4, 9]), one);
    }

    #[test]
    fn a_network_that_keeps_the_order_needs_no_memory() {
        let mut reordering = Reordering::default();
        for number in 0..10_000 {
            reordering.on_sent(number);
            if number % 7 == 0 {
                reordering.on_gone(number);
            } else if number > 100 {
                // The one before may be gone.
                reordering.on_arrival(number);
            }
            assert!(reordering.overtook.len() <= 100);
        }
        assert_eq!(reordering.extents(), Extents::default());
        assert!(reordering.in_network.len() <= 100);
    }

    proptest! {
        /// Transmissions with delays, some of them lost on their way, learnt late.
        #[test]
        fn counts_are_those_of_the_definition(
            packets in prop::collection::vec((1u64..4, prop_oneof![Just(10u64), 0u64..60], 0u8..8), 1..150),
        ) {
            let mut events = Vec::new();
            let mut now = 0;
            for (number, (step, delay, fate)) in (0u64..).zip(packets) {
                now += step;
                events.push((now, 0, number));
                events.push((now + delay + u64::from(fate == 0) * 20, if fate == 0 { 1 } else { 2 }, number));
            }
            events.sort_unstable();
            let mut reordering = Reordering::default();
            let mut arrivals = Vec::new();
            for (_, what, number) in events {
                match what {
                    0 => reordering.on_sent(number),
                    1 => reordering.on_gone(number),
                    _ => {
                        reordering.on_arrival(number);
                        arrivals.push(number);
                    }
                }
            }
            prop_assert_eq!(reordering.extents(), by_definition(&arrivals));
            prop_assert!(reordering.in_network.is_empty() && reordering.overtook.is_empty());
        }
    }
}
