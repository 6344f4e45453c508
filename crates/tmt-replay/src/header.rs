//! The fields of an IP header that a queue reads and marks: ECN (RFC 3168, Sec. 5; RFC 8200, Sec. 7).

use tmt_link::Ecn;

/// ECN field of a packet that begins with its IP header. A packet that is neither IPv4 nor IPv6 is not ECN-capable.
///
/// ```
/// use tmt_link::Ecn;
/// use tmt_replay::header::ecn;
///
/// assert_eq!(ecn(&[0x45, 0b10]), Ecn::Capable);
/// assert_eq!(ecn(&[0x60, 0b0011_0000]), Ecn::Marked);
/// assert_eq!(ecn(&[]), Ecn::NotCapable);
/// ```
#[must_use]
pub fn ecn(packet: &[u8]) -> Ecn {
    let &[first, second, ..] = packet else {
        return Ecn::NotCapable;
    };
    let field = match first >> 4 {
        4 => second & 3,
        6 => second >> 4 & 3,
        _ => 0,
    };
    match field {
        0 => Ecn::NotCapable,
        3 => Ecn::Marked,
        _ => Ecn::Capable,
    }
}

/// Sets the ECN field of an ECN-capable packet to "congestion experienced". The checksum of an IPv4 header follows
/// (RFC 1624, eq. 3).
pub fn mark(packet: &mut [u8]) {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            let word = |packet: &[u8], at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
            let before = word(packet, 0);
            packet[1] |= 3;
            let after = word(packet, 0);
            // HC' = ~(~HC + ~m + m'), in one's complement.
            let sum = u32::from(!word(packet, 10)) + u32::from(!before) + u32::from(after);
            let sum = (sum & 0xffff) + (sum >> 16);
            let sum = (sum & 0xffff) + (sum >> 16);
            let sum = u16::try_from(sum).unwrap_or(u16::MAX);
            packet[10..12].copy_from_slice(&(!sum).to_be_bytes());
        }
        Some(6) if packet.len() >= 2 => packet[1] |= 3 << 4,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The checksum of a header over all of its words (RFC 791, Sec. 3.1).
    fn checksum(header: &[u8]) -> u16 {
        let words = header.chunks(2).enumerate().filter(|(at, _)| *at != 5);
        let mut sum: u32 = words
            .map(|(_, word)| u32::from(u16::from_be_bytes([word[0], word[1]])))
            .sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !u16::try_from(sum).unwrap()
    }

    proptest! {
        #[test]
        fn a_mark_leaves_a_valid_checksum(mut header in prop::collection::vec(any::<u8>(), 20)) {
            header[0] = 0x45;
            let sum = checksum(&header);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            let before = header.clone();
            mark(&mut header);
            prop_assert_eq!(ecn(&header), Ecn::Marked);
            let found = u16::from_be_bytes([header[10], header[11]]);
            // Zero has two forms in one's complement.
            prop_assert!(found == checksum(&header) || found == 0xffff && checksum(&header) == 0);
            (header[1], header[10], header[11]) = (before[1], before[10], before[11]);
            prop_assert_eq!(header, before);
        }
    }

    #[test]
    fn a_mark_of_ipv6_is_in_the_traffic_class() {
        let mut packet = [0x60, 0x20, 1, 2];
        mark(&mut packet);
        assert_eq!(packet, [0x60, 0x30, 1, 2]);
    }
}
