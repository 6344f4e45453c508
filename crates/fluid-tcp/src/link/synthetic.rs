//! Synthetic link: constant rate and random packet losses, as in ns-2 (docs/simulator.md, Sec. 2.3).

use tmt_core::channel::Losses;
use tmt_core::types::{BitRate, Bytes, Span, Time, to_f64};

use super::{Link, Service, Usage};

/// Link that serves packets at a constant rate. Losses occur after service, so a lost packet has used link time.
///
/// ```
/// use fluid_tcp::link::{Link, SyntheticLink};
/// use tmt_core::{BitRate, Bytes, Span, Time};
///
/// let (rate, packet, propagation) = (BitRate(12_000_000), Bytes(1500), Span::from_millis(20));
/// let mut link = SyntheticLink::new(rate, packet, propagation, None, Time::ZERO).ok_or("no such link")?;
/// let service = link.serve(Time::ZERO).ok_or("the link never ends")?;
/// assert_eq!(service.end.since(service.start), Span::from_millis(1));
/// assert_eq!(service.arrival, Some(Time::ZERO.saturating_add(Span::from_millis(21))));
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug)]
pub struct SyntheticLink {
    rate: u64,
    packet: Bytes,
    /// Bits per packet × 10^9. A service takes `work / rate` ns.
    work: u128,
    /// Remainder of the services so far after rounding down to ns, in units of 1/rate ns.
    carried: u128,
    propagation: Span,
    losses: Option<Losses>,
    served: u64,
    busy: Span,
    /// End of the last service.
    free: Time,
    /// Start of the busy period of the last service.
    busy_since: Time,
    started: Time,
}

impl SyntheticLink {
    /// Creates a link of `rate` for packets of size `packet`, with one-way delay `propagation`. `losses` decides which
    /// packets are lost; a packet is on air during its service.
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
        let work = u128::from(packet.0) * 8 * 1_000_000_000;
        let fits = rate.0 > 0
            && packet.0 > 0
            && work / u128::from(rate.0) <= u128::from(Span::MAX.as_nanos());
        fits.then_some(Self {
            rate: rate.0,
            packet,
            work,
            carried: 0,
            propagation,
            losses,
            served: 0,
            busy: Span::ZERO,
            free: started,
            busy_since: started,
            started,
        })
    }

    /// Service time of the next packet. Fractions of nanoseconds are carried over.
    fn service(&mut self) -> Option<Span> {
        let work = self.work + self.carried;
        // Division in 64 bits is much faster, and enough for all but the slowest links.
        let nanos = if let Ok(work) = u64::try_from(work) {
            self.carried = u128::from(work % self.rate);
            work / self.rate
        } else {
            let rate = u128::from(self.rate);
            self.carried = work % rate;
            u64::try_from(work / rate).ok()?
        };
        Span::from_nanos(nanos)
    }
}

impl Link for SyntheticLink {
    fn serve(&mut self, at: Time) -> Option<Service> {
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
        self.busy = self.busy.saturating_add(service);
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

    fn usage(&self, end: Time) -> Usage {
        // Services after the end of the run are one busy period. A service that the end cuts counts in part.
        let beyond = self.free.since(end.max(self.busy_since));
        let length = end.since(self.started);
        let used = self.busy.saturating_sub(beyond);
        Usage {
            utilisation: (!length.is_zero())
                .then(|| to_f64(used.as_nanos()) / to_f64(length.as_nanos())),
            packets_served: self.served,
            capacity_packets: Some(
                to_f64(self.rate) * length.as_secs_f64() / (8.0 * to_f64(self.packet.0)),
            ),
            ..Usage::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let service = link.serve(now).unwrap();
            assert!([5_128_205, 5_128_206].contains(&service.end.since(now).as_nanos()));
            now = service.end;
        }
        assert_eq!(now.as_nanos(), 5_128_205_128);
        assert_eq!(link.usage(now).utilisation, Some(1.0));
    }

    #[test]
    fn a_service_cut_by_the_end_counts_in_part() {
        let mut link =
            SyntheticLink::new(BitRate(8), Bytes(1), Span::ZERO, None, Time::ZERO).unwrap();
        link.serve(Time::ZERO).unwrap();
        let half = Time::from_nanos(500_000_000).unwrap();
        assert_eq!(link.usage(half).utilisation, Some(1.0));
    }
}
