//! Synthetic link: constant rate and random packet losses, as in ns-2 (docs/simulator.md, Sec. 2.3).

use tmt_core::channel::Losses;
use tmt_core::types::{BitRate, Bytes, Span, Time, to_f64};

use super::{Link, Service, Usage};
use crate::packet::Packet;

/// Nanoseconds per byte, times the rate in bit/s.
const WORK_PER_BYTE: u128 = 8 * 1_000_000_000;

/// Link that serves packets at a constant rate. Losses occur after service, so a lost packet has used link time.
///
/// ```
/// use tmt_core::{BitRate, Bytes, Span, Time};
/// use tmt_link::{Link, Packet, SyntheticLink};
///
/// let (rate, size, propagation) = (BitRate(12_000_000), Bytes(1500), Span::from_millis(20));
/// let mut link = SyntheticLink::new(rate, size, propagation, None, Time::ZERO).ok_or("no such link")?;
/// let full = Packet { size, ..Packet::default() };
/// let service = link.serve(Time::ZERO, &full).ok_or("the link never ends")?;
/// assert_eq!(service.end.since(service.start), Span::from_millis(1));
/// assert_eq!(service.arrival, Some(Time::ZERO.saturating_add(Span::from_millis(21))));
/// let half = Packet { size: Bytes(750), ..full };
/// let service = link.serve(service.end, &half).ok_or("the link never ends")?;
/// assert_eq!(service.end.since(service.start).as_nanos(), 500_000);
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug)]
pub struct SyntheticLink {
    rate: u64,
    /// Size that the capacity is counted in.
    nominal: Bytes,
    /// Size of the last packet. Its service takes `whole` ns and `fraction` / rate ns.
    size: Bytes,
    whole: u64,
    fraction: u64,
    /// Remainder of the services so far after rounding down to ns, in units of 1/rate ns.
    carried: u64,
    propagation: Span,
    losses: Option<Losses>,
    served: u64,
    /// Bytes served, without those of the packets of the current size: all since this many were served.
    other_bytes: u64,
    same_since: u64,
    /// End of the last service.
    free: Time,
    /// Start of the busy period of the last service.
    busy_since: Time,
    started: Time,
}

/// Time that a packet of `size` takes at `rate`: whole nanoseconds, and a remainder in units of 1/rate ns. `None` above
/// 2^63 − 1 ns, or if the rate is zero.
fn service_time(rate: u64, size: Bytes) -> Option<(u64, u64)> {
    let work = u128::from(size.0) * WORK_PER_BYTE;
    let whole = u64::try_from(work.checked_div(rate.into())?).ok()?;
    Span::from_nanos(whole)?;
    let fraction = u64::try_from(work % u128::from(rate)).ok()?;
    Some((whole, fraction))
}

impl SyntheticLink {
    /// Creates a link of `rate` with one-way delay `propagation`. `losses` decides which packets are lost; a packet is on air
    /// during its service. Capacity is counted in packets of size `packet`.
    ///
    /// Returns `None` if the rate or the size is zero, or if one packet takes longer than 2^63 − 1 ns.
    #[must_use]
    pub fn new(
        rate: BitRate,
        packet: Bytes,
        propagation: Span,
        losses: Option<Losses>,
        started: Time,
    ) -> Option<Self> {
        let (whole, fraction) = service_time(rate.0, packet)?;
        (packet.0 > 0).then_some(Self {
            rate: rate.0,
            nominal: packet,
            size: packet,
            whole,
            fraction,
            carried: 0,
            propagation,
            losses,
            served: 0,
            other_bytes: 0,
            same_since: 0,
            free: started,
            busy_since: started,
            started,
        })
    }

    /// Prepares for packets of another size; `None` if one takes longer than 2^63 − 1 ns.
    #[cold]
    fn resize(&mut self, size: Bytes) -> Option<()> {
        (self.whole, self.fraction) = service_time(self.rate, size)?;
        (self.other_bytes, self.same_since) = (self.served_bytes(), self.served);
        self.size = size;
        Some(())
    }

    fn served_bytes(&self) -> u64 {
        self.other_bytes + (self.served - self.same_since) * self.size.0
    }

    /// Service time of the next packet. Fractions of nanoseconds are carried over.
    fn service(&mut self) -> Option<Span> {
        // Both are below the rate, and so is their sum less the rate.
        let left = self.rate - self.fraction;
        let carry = self.carried >= left;
        self.carried = if carry {
            self.carried - left
        } else {
            self.carried + self.fraction
        };
        Span::from_nanos(self.whole + u64::from(carry))
    }

    /// Time of all services so far.
    fn busy(&self) -> Span {
        let nanos = u128::from(self.served_bytes()) * WORK_PER_BYTE / u128::from(self.rate);
        let busy = u64::try_from(nanos).ok().and_then(Span::from_nanos);
        busy.unwrap_or(Span::MAX)
    }
}

impl Link for SyntheticLink {
    #[expect(clippy::inline_always, reason = "every packet takes this way")]
    #[inline(always)]
    fn serve(&mut self, at: Time, packet: &Packet) -> Option<Service> {
        if packet.size != self.size {
            self.resize(packet.size)?;
        }
        let service = self.service()?;
        let end = at.checked_add(service)?;
        let lost = self.losses.as_mut();
        let lost = lost.is_some_and(|losses| losses.loses(at, service));
        let arrival = if lost {
            None
        } else {
            Some(end.checked_add(self.propagation)?)
        };
        let ordinal = self.served;
        self.served += 1;
        if at > self.free {
            self.busy_since = at;
        }
        self.free = end;
        Some(Service {
            start: at,
            end,
            arrival,
            propagation: self.propagation,
            first_unit: ordinal,
            last_unit: ordinal,
        })
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn rate(&self) -> Option<BitRate> {
        Some(BitRate(self.rate))
    }

    fn usage(&self, end: Time) -> Usage {
        // Services after the end of the run are one busy period. A service that the end cuts counts in part.
        let beyond = self.free.since(end.max(self.busy_since));
        let length = end.since(self.started);
        let used = self.busy().saturating_sub(beyond);
        Usage {
            utilisation: (!length.is_zero())
                .then(|| to_f64(used.as_nanos()) / to_f64(length.as_nanos())),
            capacity_packets: Some(
                to_f64(self.rate) * length.as_secs_f64() / (8.0 * to_f64(self.nominal.0)),
            ),
            ..Usage::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packet(size: u64) -> Packet {
        Packet {
            size: Bytes(size),
            ..Packet::default()
        }
    }

    #[test]
    fn service_times_add_up_to_the_rate_exactly() {
        // 12 000 bits at 2.34 Mbit/s take 5 128 205.128 ns; 1000 packets take 5.128205128 s.
        let mut link = SyntheticLink::new(
            BitRate(2_340_000),
            Bytes(1500),
            Span::from_millis(250),
            None,
            Time::ZERO,
        )
        .unwrap();
        let mut now = Time::ZERO;
        for _ in 0..1000 {
            let service = link.serve(now, &packet(1500)).unwrap();
            assert!([5_128_205, 5_128_206].contains(&service.end.since(now).as_nanos()));
            now = service.end;
        }
        assert_eq!(now.as_nanos(), 5_128_205_128);
        assert_eq!(link.usage(now).utilisation, Some(1.0));
    }

    proptest! {
        /// After services of n bytes in total the link has been busy for ⌊8 n / rate⌋, in one division.
        #[test]
        fn service_times_add_up_to_any_rate(
            rate in prop_oneof![1u64..20, 1u64..1 << 40, u64::MAX - 5..=u64::MAX],
            sizes in prop::collection::vec(prop_oneof![Just(1500u64), 1u64..3, 1u64..10_000], 1..200),
        ) {
            let link = SyntheticLink::new(BitRate(rate), Bytes(1500), Span::ZERO, None, Time::ZERO);
            let mut link = link.unwrap();
            let (mut now, mut bytes) = (Time::ZERO, 0);
            for size in sizes {
                now = link.serve(now, &packet(size)).unwrap().end;
                bytes += u128::from(size);
                prop_assert_eq!(u128::from(now.as_nanos()), bytes * 8_000_000_000 / u128::from(rate));
            }
            prop_assert_eq!(link.busy(), now.since(Time::ZERO));
        }
    }

    #[test]
    fn a_service_cut_by_the_end_counts_in_part() {
        let mut link =
            SyntheticLink::new(BitRate(8), Bytes(1), Span::ZERO, None, Time::ZERO).unwrap();
        link.serve(Time::ZERO, &packet(1)).unwrap();
        let half = Time::from_nanos(500_000_000).unwrap();
        assert_eq!(link.usage(half).utilisation, Some(1.0));
    }
}
