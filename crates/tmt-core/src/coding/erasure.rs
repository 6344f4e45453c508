//! An erasure code over blocks: k data blocks, n − k parity blocks, and a checksum in each.
//!
//! Byte i of all blocks is a word of RS(n, k) ([`ReedSolomon`]); only erasures are corrected. A block whose
//! checksum fails is erased. So any k blocks decode a codeword, which is the rule of the engine's ideal code
//! ([`Ideal`](crate::scheme::engine::Ideal)): schemes need no other [`Code`](crate::scheme::engine::Code) for it.
//!
//! A block has 32 bits beside its data (Celandroni 2006, Sec. III.C): its number, flags, and a CRC-16 over all that precedes.

use super::gf256::{add_multiple, div, multiples};
use super::reed_solomon::{Failure, ReedSolomon};
use crate::types::named::ParseError;

/// Bytes of a block beside its data: number, flags, checksum.
pub const OVERHEAD: usize = 4;

/// Bytes of the checksum.
const CHECKSUM: usize = 2;

/// Longest data of a block, bytes.
pub const LONGEST_BLOCK: usize = 4096;

/// Flag of parity blocks.
const IS_PARITY: u8 = 1;

/// CRC-16 with the polynomial 0x1021 and ones at the start, which CCSDS and many link layers use.
static CRC: crc::Crc<u16, crc::Table<16>> =
    crc::Crc::<u16, crc::Table<16>>::new(&crc::CRC_16_IBM_3740);

/// An encoder and decoder of an erasure code.
#[derive(Debug, Clone)]
pub struct ErasureCode {
    n: usize,
    k: usize,
    bytes: usize,
    /// Factors of the data blocks in each parity block.
    parity: Vec<Vec<u8>>,
}

impl ErasureCode {
    /// The code with `k` data blocks of `bytes` bytes among `n` blocks.
    ///
    /// # Errors
    /// `n` is above 255, `k` is 0 or not below `n`, or `bytes` is 0 or above [`LONGEST_BLOCK`].
    pub fn new(n: usize, k: usize, bytes: usize) -> Result<Self, ParseError> {
        if !(1..=LONGEST_BLOCK).contains(&bytes) {
            return Err(ParseError::mismatch(
                format!("blocks of {bytes} bytes"),
                format!("1 to {LONGEST_BLOCK} bytes"),
            ));
        }
        let code = ReedSolomon::new(n, k)?;
        let mut parity = vec![vec![0; k]; n - k];
        for data in 0..k {
            let mut word = vec![0; n];
            word[data] = 1;
            code.encode(&mut word);
            for (factors, factor) in parity.iter_mut().zip(&word[k..]) {
                factors[data] = *factor;
            }
        }
        Ok(Self {
            n,
            k,
            bytes,
            parity,
        })
    }

    /// Blocks of a codeword.
    #[must_use]
    pub const fn n(&self) -> usize {
        self.n
    }

    /// Bytes of a block on the channel.
    #[must_use]
    pub const fn block_bytes(&self) -> usize {
        self.bytes + OVERHEAD
    }

    /// The codeword of `data`: n blocks of [`Self::block_bytes`] bytes, those of the data first.
    ///
    /// # Panics
    /// `data` is not k blocks long.
    #[must_use]
    pub fn encode(&self, data: &[u8]) -> Vec<u8> {
        assert_eq!(data.len(), self.k * self.bytes, "bytes of k data blocks");
        let mut codeword = vec![0; self.n * self.block_bytes()];
        let blocks = codeword.chunks_mut(self.block_bytes());
        for (number, block) in (0..=u8::MAX).zip(blocks) {
            let (content, overhead) = block.split_at_mut(self.bytes);
            let place = usize::from(number);
            if let Some(factors) = place.checked_sub(self.k).map(|row| &self.parity[row]) {
                for (factor, data) in factors.iter().zip(data.chunks(self.bytes)) {
                    add_multiple(content, *factor, data);
                }
                overhead[1] = IS_PARITY;
            } else {
                content.copy_from_slice(&data[place * self.bytes..][..self.bytes]);
            }
            overhead[0] = number;
            let end = block.len() - CHECKSUM;
            let checksum = CRC.checksum(&block[..end]);
            block[end..].copy_from_slice(&checksum.to_be_bytes());
        }
        codeword
    }

    /// Whether the checksum of a block is right.
    #[must_use]
    pub fn is_intact(block: &[u8]) -> bool {
        block
            .split_last_chunk::<CHECKSUM>()
            .is_some_and(|(rest, checksum)| CRC.checksum(rest).to_be_bytes() == *checksum)
    }

    /// The data of a received codeword. Blocks with a wrong checksum are erased; `data` holds what was received of the others
    /// if the codeword cannot be decoded.
    ///
    /// # Errors
    /// Fewer than k blocks are intact, and not all data blocks are.
    ///
    /// # Panics
    /// `codeword` is not n blocks long, or `data` not k blocks of data.
    pub fn decode(&self, codeword: &[u8], data: &mut [u8]) -> Result<(), Failure> {
        assert_eq!(codeword.len(), self.n * self.block_bytes(), "n blocks");
        assert_eq!(data.len(), self.k * self.bytes, "bytes of k data blocks");
        let content = |place: usize| &codeword[place * self.block_bytes()..][..self.bytes];
        for (place, data) in data.chunks_mut(self.bytes).enumerate() {
            data.copy_from_slice(content(place));
        }
        let blocks = codeword.chunks(self.block_bytes()).enumerate();
        let (intact, erased): (Vec<_>, Vec<_>) =
            blocks.partition(|(_, block)| Self::is_intact(block));
        let erased: Vec<usize> = erased.iter().map(|(place, _)| *place).collect();
        let erased = &erased[..erased.partition_point(|place| *place < self.k)];
        let mut unknowns = Vec::with_capacity(erased.len());
        let parity = intact
            .iter()
            .filter_map(|(place, _)| place.checked_sub(self.k));
        for row in parity.take(erased.len()) {
            // Contribution of the erased blocks to this parity block.
            let mut sum = content(self.k + row).to_vec();
            for (place, _) in intact.iter().filter(|(place, _)| *place < self.k) {
                add_multiple(&mut sum, self.parity[row][*place], content(*place));
            }
            let factors = erased.iter().map(|place| self.parity[row][*place]);
            unknowns.push((factors.collect(), sum));
        }
        if unknowns.len() < erased.len() {
            return Err(Failure);
        }
        solve(&mut unknowns);
        for (place, (_, found)) in erased.iter().zip(&unknowns) {
            data[place * self.bytes..][..self.bytes].copy_from_slice(found);
        }
        Ok(())
    }
}

/// Solves linear equations, each with its factors and its right side, by elimination. Afterwards right side i is unknown i.
///
/// All square parts of the parity factors of an MDS code are regular, so that no pivot is 0.
fn solve(equations: &mut [(Vec<u8>, Vec<u8>)]) {
    for at in 0..equations.len() {
        let (factors, right) = &mut equations[at];
        let by_inverse = multiples(div(1, factors[at]));
        for symbol in factors.iter_mut().chain(right) {
            *symbol = by_inverse[usize::from(*symbol)];
        }
        let (factors, right) = equations[at].clone();
        for (_, (other, other_right)) in equations.iter_mut().enumerate().filter(|(i, _)| *i != at)
        {
            let factor = other[at];
            add_multiple(other, factor, &factors);
            add_multiple(other_right, factor, &right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data of `bytes` bytes that differ.
    fn data(bytes: usize) -> Vec<u8> {
        let numbers = (0..bytes).scan(1u32, |state, _| {
            *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Some(state.to_be_bytes()[0])
        });
        numbers.collect()
    }

    #[test]
    fn columns_are_codewords_of_the_reed_solomon_code() {
        let (n, k, bytes) = (64, 48, 23);
        let code = ErasureCode::new(n, k, bytes).unwrap();
        let columns = ReedSolomon::new(n, k).unwrap();
        let codeword = code.encode(&data(k * bytes));
        for column in 0..bytes {
            let symbols = codeword.chunks(code.block_bytes());
            let received: Vec<u8> = symbols.map(|block| block[column]).collect();
            let mut word = received.clone();
            columns.encode(&mut word);
            assert_eq!(word, received);
        }
        let blocks = codeword.chunks(27).enumerate();
        for (number, block) in blocks {
            assert_eq!(usize::from(block[23]), number);
            assert_eq!(block[24], u8::from(number >= k));
            assert!(ErasureCode::is_intact(block));
        }
    }

    #[test]
    fn any_k_blocks_decode_and_fewer_do_not() {
        for (n, k, bytes) in [(7, 4, 3), (6, 1, 2), (5, 4, 1)] {
            let code = ErasureCode::new(n, k, bytes).unwrap();
            let data = data(k * bytes);
            let sent = code.encode(&data);
            for erased in 0u32..1 << n {
                let mut received = sent.clone();
                for place in (0..n).filter(|place| erased >> place & 1 == 1) {
                    received[place * code.block_bytes()] ^= 0x40;
                }
                let mut decoded = vec![0; data.len()];
                let result = code.decode(&received, &mut decoded);
                if n - erased.count_ones() as usize >= k {
                    assert_eq!(result, Ok(()), "{erased:b}");
                    assert_eq!(decoded, data, "{erased:b}");
                } else {
                    assert_eq!(result, Err(Failure), "{erased:b}");
                }
            }
        }
    }

    #[test]
    fn the_longest_code_decodes_from_parity_alone() {
        let code = ErasureCode::new(255, 127, 5).unwrap();
        let data = data(127 * 5);
        let mut received = code.encode(&data);
        for block in received.chunks_mut(code.block_bytes()).take(127) {
            block[0] ^= 1;
        }
        let mut decoded = vec![0; data.len()];
        assert_eq!(code.decode(&received, &mut decoded), Ok(()));
        assert_eq!(decoded, data);
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        for (n, k, bytes) in [(256, 4, 3), (4, 4, 3), (4, 0, 3), (5, 4, 0), (5, 4, 4097)] {
            assert!(ErasureCode::new(n, k, bytes).is_err());
        }
    }
}
