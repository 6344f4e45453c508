//! The convolutional code with constraint length K = 7 and generators (171, 133) octal, with its punctured rates
//! (docs/models.md, Sec. 4.1; Yasuda et al., IEEE Trans. Commun., 1984).
//!
//! A frame ends with K − 1 = 6 zero bits, which return the encoder to its first state. These bits take energy and time that
//! no rate here counts: Ec/N0 and Eb/N0 are those of a frame without its tail.

use crate::model::conv::Rate;

/// Constraint length: a channel bit depends on this many information bits.
pub const K: usize = 7;

/// Zero bits at the end of a frame.
pub const TAIL: usize = K - 1;

/// Bits of the register, the newest first, that each generator adds up.
const GENERATORS: [usize; 2] = [0o171, 0o133];

/// Channel bits (of 171, of 133) for each content of the register, newest bit in the lowest place.
pub(super) const OUTPUTS: [[u8; 2]; 128] = outputs();

const fn outputs() -> [[u8; 2]; 128] {
    let mut outputs = [[0; 2]; 128];
    let mut register = 0;
    while register < 128 {
        let mut generator = 0;
        while generator < 2 {
            let mut bit = 0;
            while bit < K {
                // The generators are written with the newest bit in the highest place.
                let taken = register >> bit & GENERATORS[generator] >> (K - 1 - bit) & 1;
                if taken == 1 {
                    outputs[register][generator] ^= 1;
                }
                bit += 1;
            }
            generator += 1;
        }
        register += 1;
    }
    outputs
}

/// Which of the two channel bits are sent for each information bit of a puncturing period.
pub(super) const fn pattern(rate: Rate) -> &'static [[bool; 2]] {
    const BOTH: [bool; 2] = [true, true];
    const FIRST: [bool; 2] = [true, false];
    const SECOND: [bool; 2] = [false, true];
    match rate {
        Rate::Half => &[BOTH],
        Rate::TwoThirds => &[BOTH, SECOND],
        Rate::ThreeQuarters => &[BOTH, SECOND, FIRST],
        Rate::FiveSixths => &[BOTH, SECOND, FIRST, SECOND, FIRST],
        Rate::SevenEighths => &[BOTH, SECOND, SECOND, SECOND, FIRST, SECOND, FIRST],
    }
}

/// Channel bits of a frame of `bits` information bits, tail included.
#[must_use]
pub fn channel_bits(rate: Rate, bits: usize) -> usize {
    let pattern = pattern(rate);
    let sent = |steps: &[[bool; 2]]| steps.iter().flatten().filter(|sent| **sent).count();
    let steps = bits + TAIL;
    steps / pattern.len() * sent(pattern) + sent(&pattern[..steps % pattern.len()])
}

/// Encodes the bits of `information`, highest bit of each byte first, and the tail. Appends the channel bits, 0 or 1 each, to
/// `channel`: of each pair the bit of 171 first.
pub fn encode(rate: Rate, information: &[u8], channel: &mut Vec<u8>) {
    encode_bits(rate, information, 8 * information.len(), channel);
}

/// The same for the first `bits` bits of `information`, which has at least as many.
pub fn encode_bits(rate: Rate, information: &[u8], bits: usize, channel: &mut Vec<u8>) {
    let information = information.iter().flat_map(|byte| {
        let byte = usize::from(*byte);
        (0..8).rev().map(move |place| byte >> place & 1)
    });
    let steps = information.take(bits).chain([0; TAIL]);
    channel.reserve(channel_bits(rate, bits));
    let mut register = 0;
    for (bit, [first, second]) in steps.zip(pattern(rate).iter().cycle()) {
        register = (register << 1 | bit) & 127;
        let pair = OUTPUTS[register];
        if *first {
            channel.push(pair[0]);
        }
        if *second {
            channel.push(pair[1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator as _;

    use super::*;

    #[test]
    fn an_impulse_gives_the_generators() {
        let mut channel = Vec::new();
        encode_bits(Rate::Half, &[0x80], 1, &mut channel);
        let octal = |row: usize| {
            let bits = channel.iter().skip(row).step_by(2);
            bits.fold(0, |octal, bit| octal << 1 | usize::from(*bit))
        };
        assert_eq!((octal(0), octal(1)), (0o171, 0o133));
    }

    #[test]
    fn puncturing_leaves_out_what_the_patterns_do() {
        let rows = [
            ("1", "1"),
            ("10", "11"),
            ("101", "110"),
            ("10101", "11010"),
            ("1000101", "1111010"),
        ];
        let information = [0x9a, 0x35, 0xff, 0x01, 0x77, 0xc0, 0x5e];
        for (rate, (x, y)) in Rate::iter().zip(rows) {
            let (mut all, mut sent) = (Vec::new(), Vec::new());
            for bits in 0..=56 {
                all.clear();
                sent.clear();
                encode_bits(Rate::Half, &information, bits, &mut all);
                encode_bits(rate, &information, bits, &mut sent);
                let rows = x.bytes().zip(y.bytes()).cycle();
                let kept = rows.flat_map(|(x, y)| [x == b'1', y == b'1']).zip(&all);
                let kept: Vec<u8> = kept.filter(|(k, _)| *k).map(|(_, bit)| *bit).collect();
                assert_eq!(sent, kept, "{} {bits}", rate.name());
                assert_eq!(sent.len(), channel_bits(rate, bits));
            }
        }
    }
}
