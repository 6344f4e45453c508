//! The only transcendental mathematics: pure Rust, so that every platform gets the same bits.

/// Cube root.
#[must_use]
pub fn cbrt(x: f64) -> f64 {
    libm::cbrt(x)
}

/// `x` rounded down to whole packets; zero for what is negative or no number.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and says 0 for NaN"
)]
pub fn whole(x: f64) -> u64 {
    x as u64
}
