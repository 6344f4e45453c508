//! Reed–Solomon codes over GF(256): RS(n, k) with n ≤ 255, shortened ones included.
//!
//! Polynomial 0x11d, first root α⁰, systematic: n − k parity symbols follow the k data symbols. These are the conventions of
//! the public crate `reed-solomon`, so that each decodes what the other encodes. A shortened code is the code of length 255
//! whose first symbols are zero and are not sent.
//!
//! Encoding divides by the generator with one table look-up of n − k symbols for each data symbol. Decoding finds the errata
//! locator by Berlekamp and Massey's algorithm, its roots by trying all positions, the values by Forney's formula (Blahut,
//! Theory and Practice of Error Control Codes, 1983, Ch. 9).

use super::gf256::{add_multiple, add_powers, div, exp, log, mul, multiples};
use crate::types::named::ParseError;

/// Symbols of the longest code.
pub const LONGEST: usize = 255;

/// An encoder and decoder of RS(n, k).
#[derive(Debug, Clone)]
pub struct ReedSolomon {
    n: usize,
    k: usize,
    /// Remainders of each symbol · x^(n − k) by the generator, highest power first, in words of 8 symbols. The words of
    /// symbol s are at s · `width`.
    remainders: Vec<u64>,
    /// Words of a remainder: 1, 2, 4, 8 or 32.
    width: usize,
}

/// A word that no codeword is close enough to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no codeword is within the correctable distance")]
pub struct Failure;

impl ReedSolomon {
    /// The code of `n` symbols, `k` of them data.
    ///
    /// # Errors
    /// `n` is above 255, or `k` is 0 or not below `n`.
    pub fn new(n: usize, k: usize) -> Result<Self, ParseError> {
        if n > LONGEST || k == 0 || k >= n {
            return Err(ParseError::mismatch(
                format!("a code of n={n} symbols with k={k} data symbols"),
                "1 <= k < n <= 255",
            ));
        }
        let parity = n - k;
        // The product of x − α^i: the leading 1 is left out, the highest power of the others is first.
        let mut generator = vec![0; parity];
        for degree in 0..parity {
            let by_root = multiples(exp(degree));
            let mut above = 1;
            for coefficient in &mut generator[..=degree] {
                let product = by_root[usize::from(above)];
                above = *coefficient;
                *coefficient ^= product;
            }
        }
        let width = parity.div_ceil(8).next_power_of_two();
        let width = if width > 8 { 32 } else { width };
        let mut remainders = vec![0; 256 * width];
        for (symbol, words) in (0..=255).zip(remainders.chunks_mut(width)) {
            let mut bytes = vec![0; 8 * width];
            add_multiple(&mut bytes, symbol, &generator);
            for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
                *word = u64::from_le_bytes(*bytes);
            }
        }
        Ok(Self {
            n,
            k,
            remainders,
            width,
        })
    }

    /// Symbols of a codeword.
    #[must_use]
    pub const fn n(&self) -> usize {
        self.n
    }

    /// Data symbols of a codeword.
    #[must_use]
    pub const fn k(&self) -> usize {
        self.k
    }

    /// Computes the parity symbols, which follow the k data symbols in `word`.
    ///
    /// # Panics
    /// `word` has not n symbols.
    pub fn encode(&self, word: &mut [u8]) {
        let (data, parity) = self.parts(word);
        let mut found = [0; LONGEST + 1];
        self.remainder(data, &mut found);
        parity.copy_from_slice(&found[..parity.len()]);
    }

    /// Corrects `word` and returns the number of symbols that changed. `erasures` are places of symbols whose values count for
    /// nothing, each once. With s erasures, e further wrong symbols are corrected if 2 e + s ≤ n − k.
    ///
    /// A word with more errors fails, or is corrected to another codeword: this decoder cannot tell.
    ///
    /// # Errors
    /// No codeword is within that distance. `word` is then unchanged.
    ///
    /// # Panics
    /// `word` has not n symbols, or a place is n or above.
    pub fn decode(&self, word: &mut [u8], erasures: &[usize]) -> Result<usize, Failure> {
        let (data, parity) = self.parts(word);
        // Remainder of the received polynomial: it has the same values at the roots, and few terms.
        let mut difference = [0; LONGEST + 1];
        self.remainder(data, &mut difference);
        let difference = &mut difference[..parity.len()];
        for (symbol, parity) in difference.iter_mut().zip(&*parity) {
            *symbol ^= parity;
        }
        if difference.iter().all(|symbol| *symbol == 0) {
            return Ok(0);
        }
        let errata = Errata::find(self.n, difference, erasures)?;
        let mut changed = 0;
        for (place, value) in errata.values()? {
            word[place] ^= value;
            changed += usize::from(value != 0);
        }
        Ok(changed)
    }

    /// Data and parity of a word.
    fn parts<'w>(&self, word: &'w mut [u8]) -> (&'w mut [u8], &'w mut [u8]) {
        assert_eq!(word.len(), self.n, "symbols of a word");
        word.split_at_mut(self.k)
    }

    /// Remainder of `data` · x^(n − k) by the generator, highest power first.
    fn remainder(&self, data: &[u8], remainder: &mut [u8; LONGEST + 1]) {
        match self.width {
            1 => divide::<1>(&self.remainders, data, remainder),
            2 => divide::<2>(&self.remainders, data, remainder),
            4 => divide::<4>(&self.remainders, data, remainder),
            8 => divide::<8>(&self.remainders, data, remainder),
            _ => divide::<32>(&self.remainders, data, remainder),
        }
    }
}

/// [`ReedSolomon::remainder`] with a width that the compiler knows.
fn divide<const WIDTH: usize>(table: &[u64], data: &[u8], remainder: &mut [u8; LONGEST + 1]) {
    let Ok(table): Result<&[[u64; WIDTH]; 256], _> = table.as_chunks().0.try_into() else {
        return;
    };
    let mut words = [0u64; WIDTH];
    for symbol in data {
        let [first, ..] = words[0].to_le_bytes();
        let row = &table[usize::from(symbol ^ first)];
        for at in 0..WIDTH {
            let next = if at + 1 < WIDTH { words[at + 1] } else { 0 };
            words[at] = (words[at] >> 8 | next << 56) ^ row[at];
        }
    }
    for (bytes, word) in remainder.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
}

/// Erased and wrong symbols of a word, found but not yet corrected. Polynomials have the lowest power first.
struct Errata {
    syndromes: Polynomial,
    locator: Polynomial,
    /// Place of each erratum, and the logarithm of its locator.
    places: Vec<(usize, usize)>,
}

/// A polynomial of degree 255 at most.
type Polynomial = [u8; LONGEST + 1];

impl Errata {
    /// Finds the places, given the remainder of a word of `n` symbols, highest power first.
    fn find(n: usize, remainder: &[u8], erasures: &[usize]) -> Result<Self, Failure> {
        let parity = remainder.len();
        if erasures.len() > parity {
            return Err(Failure);
        }
        let mut syndromes = [0; LONGEST + 1];
        for (power, symbol) in remainder.iter().rev().enumerate() {
            if *symbol != 0 {
                add_powers(&mut syndromes[..parity], log(*symbol), power);
            }
        }
        let mut locator = [0; LONGEST + 1];
        locator[0] = 1;
        for (degree, place) in erasures.iter().enumerate() {
            assert!(*place < n, "place {place} of an erasure in {n} symbols");
            multiply_by_root(&mut locator[..degree + 2], exp(n - 1 - place));
        }
        let degree = extend_locator(&syndromes[..parity], &mut locator, erasures.len());
        if 2 * degree > parity + erasures.len() {
            return Err(Failure);
        }
        let places = roots(n, &locator[..=degree]);
        if places.len() != degree {
            return Err(Failure);
        }
        Ok(Self {
            syndromes,
            locator,
            places,
        })
    }

    /// Value to add to the symbol at each place, by Forney's formula: X Ω(1/X) / Λ'(1/X).
    fn values(&self) -> Result<Vec<(usize, u8)>, Failure> {
        let degree = self.places.len();
        // Ω = S Λ has a degree below that of Λ.
        let mut evaluator = [0; LONGEST + 1];
        for (power, coefficient) in self.locator[..=degree].iter().enumerate() {
            if power < degree {
                add_multiple(&mut evaluator[power..degree], *coefficient, &self.syndromes);
            }
        }
        let mut values = Vec::with_capacity(degree);
        for &(place, log) in &self.places {
            let inverse = exp(LONGEST - log);
            let above = evaluate(evaluator[..degree].iter(), inverse);
            // In a field of characteristic 2 the derivative has the odd coefficients.
            let odd = self.locator[1..=degree].iter().step_by(2);
            let below = evaluate(odd, mul(inverse, inverse));
            if below == 0 {
                return Err(Failure);
            }
            values.push((place, mul(exp(log), div(above, below))));
        }
        Ok(values)
    }
}

/// Multiplies a polynomial, whose highest coefficient is 0, by 1 − `root` x.
fn multiply_by_root(polynomial: &mut [u8], root: u8) {
    for at in (1..polynomial.len()).rev() {
        polynomial[at] ^= mul(polynomial[at - 1], root);
    }
}

/// Berlekamp and Massey's algorithm, started with the locator of `erased` symbols. Returns the degree that the locator should
/// have.
fn extend_locator(syndromes: &[u8], locator: &mut Polynomial, erased: usize) -> usize {
    let parity = syndromes.len();
    let (mut degree, mut other) = (erased, *locator);
    for step in erased..parity {
        let terms = locator[..=degree.min(step)].iter();
        let terms = terms.zip(syndromes[..=step].iter().rev());
        let discrepancy = terms.fold(0, |sum, (a, b)| sum ^ mul(*a, *b));
        other.copy_within(..parity, 1);
        other[0] = 0;
        if discrepancy == 0 {
            continue;
        }
        let before = *locator;
        add_multiple(&mut locator[..=parity], discrepancy, &other[..=parity]);
        if 2 * degree <= step + erased {
            degree = step + 1 + erased - degree;
            let inverse = multiples(div(1, discrepancy));
            other = before.map(|coefficient| inverse[usize::from(coefficient)]);
        }
    }
    degree
}

/// Places in a word of `n` symbols whose locators are inverse to a root of `locator`, and their logarithms.
fn roots(n: usize, locator: &[u8]) -> Vec<(usize, usize)> {
    // Values at α^−log for all logarithms below n.
    let mut values = [0; LONGEST];
    for (power, coefficient) in locator.iter().enumerate() {
        if *coefficient != 0 {
            let step = (LONGEST - power) % LONGEST;
            add_powers(&mut values[..n], log(*coefficient), step);
        }
    }
    let logs = values[..n].iter().enumerate();
    let logs = logs.filter(|(_, value)| **value == 0);
    logs.map(|(log, _)| (n - 1 - log, log)).collect()
}

/// The value at `x` of the polynomial with these coefficients.
fn evaluate<'c>(coefficients: impl DoubleEndedIterator<Item = &'c u8>, x: u8) -> u8 {
    let by_x = multiples(x);
    coefficients
        .rev()
        .fold(0, |sum, coefficient| by_x[usize::from(sum)] ^ coefficient)
}

#[cfg(test)]
mod tests;
