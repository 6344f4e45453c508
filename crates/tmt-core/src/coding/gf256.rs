//! Arithmetic of GF(256) with the polynomial x⁸ + x⁴ + x³ + x² + 1 (0x11d), whose root α = 2 is primitive.
//!
//! Addition is exclusive or.

/// α^i for i from 0 to 509, so that the sum of two logarithms needs no reduction.
static EXP: [u8; 510] = powers();

/// The logarithm to the base α of each element but 0.
static LOG: [u8; 256] = logarithms();

/// All products. A row is the multiplication by a constant.
static PRODUCTS: [[u8; 256]; 256] = products();

const fn powers() -> [u8; 510] {
    let mut powers = [1; 510];
    let mut at = 1;
    while at < 510 {
        let before: u8 = powers[at - 1];
        let carry = if before & 0x80 != 0 { 0x1d } else { 0 };
        powers[at] = before << 1 ^ carry;
        at += 1;
    }
    powers
}

const fn logarithms() -> [u8; 256] {
    let powers = powers();
    let mut logarithms = [0; 256];
    let mut log: u8 = 0;
    while log < 255 {
        logarithms[powers[log as usize] as usize] = log;
        log += 1;
    }
    logarithms
}

#[expect(clippy::large_stack_arrays, reason = "it runs in the compiler")]
const fn products() -> [[u8; 256]; 256] {
    let (powers, logarithms) = (powers(), logarithms());
    let mut products = [[0; 256]; 256];
    let mut a = 1;
    while a < 256 {
        let mut b = 1;
        while b < 256 {
            products[a][b] = powers[logarithms[a] as usize + logarithms[b] as usize];
            b += 1;
        }
        a += 1;
    }
    products
}

/// The product of `a` and `b`.
#[must_use]
#[inline]
pub fn mul(a: u8, b: u8) -> u8 {
    PRODUCTS[usize::from(a)][usize::from(b)]
}

/// The products of `a` with all elements.
#[must_use]
#[inline]
pub fn multiples(a: u8) -> &'static [u8; 256] {
    &PRODUCTS[usize::from(a)]
}

/// α to the power `exponent`.
#[must_use]
#[inline]
pub fn exp(exponent: usize) -> u8 {
    EXP[exponent % 255]
}

/// The logarithm of `a` to the base α, from 0 to 254. `a` is not 0, for which the result is 0 as well.
#[must_use]
#[inline]
pub fn log(a: u8) -> usize {
    usize::from(LOG[usize::from(a)])
}

/// `a` divided by `b`, which is not 0.
#[must_use]
#[inline]
pub fn div(a: u8, b: u8) -> u8 {
    mul(a, EXP[255 - log(b)])
}

/// Adds the products of `factor` with the elements of `from` to those of `to`.
pub fn add_multiple(to: &mut [u8], factor: u8, from: &[u8]) {
    let multiples = multiples(factor);
    for (to, from) in to.iter_mut().zip(from) {
        *to ^= multiples[usize::from(*from)];
    }
}

/// Adds α^(`log` + i · `step`) to element i of `to`.
///
/// `log` and `step` are at most 254.
pub(super) fn add_powers(to: &mut [u8], log: usize, step: usize) {
    let mut at = log;
    for to in to {
        *to ^= EXP[at];
        at += step;
        if at >= 255 {
            at -= 255;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product by the definition: shifts and reductions.
    fn long_product(a: u8, b: u8) -> u8 {
        let (mut rest, mut sum) = (u16::from(a), 0u16);
        for bit in 0..8 {
            if b >> bit & 1 == 1 {
                sum ^= rest;
            }
            rest <<= 1;
            if rest & 0x100 != 0 {
                rest ^= 0x11d;
            }
        }
        u8::try_from(sum).unwrap()
    }

    #[test]
    fn products_are_those_of_polynomials() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(mul(a, b), long_product(a, b), "{a} {b}");
                if b != 0 {
                    assert_eq!(div(mul(a, b), b), a);
                }
            }
        }
    }

    #[test]
    fn powers_and_logarithms_are_inverse() {
        for a in 1..=255 {
            assert_eq!(exp(log(a)), a);
        }
        assert_eq!((exp(0), exp(1), exp(8), exp(255)), (1, 2, 0x1d, 1));
    }
}
