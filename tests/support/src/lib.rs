//! Depth and seed of tests that are random or take long, for the tests of all crates.
//!
//! `cargo test` runs them at the quick depth, `.ci/long` at the full one: `TMT_TESTS=full cargo test`.

use std::env;
use std::time::SystemTime;

use proptest::test_runner::Config;

/// `quick`, or `full` with `TMT_TESTS=full`.
#[must_use]
pub fn depth<T>(quick: T, full: T) -> T {
    let is_full = env::var_os("TMT_TESTS").is_some_and(|depth| depth == "full");
    if is_full { full } else { quick }
}

/// Seed of a random test: `TMT_SEED`, or the number of the day, so that other cases are tried every day. It is printed, and
/// thus shown if the test fails.
///
/// # Panics
/// `TMT_SEED` is not a number.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "tests may look at the environment and the clock"
)]
pub fn seed() -> u64 {
    let seed = if let Ok(text) = env::var("TMT_SEED") {
        text.parse().expect("TMT_SEED is a number")
    } else {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |since| since.as_secs() / 86_400)
    };
    println!("TMT_SEED={seed}");
    seed
}

/// Prints a figure that a test has measured, for those who look with `--nocapture`.
pub fn report(figure: &str) {
    println!("{figure}");
}

/// Settings of a property that runs `cases` cases at full depth and a quarter of them at the quick one, or `PROPTEST_CASES` if
/// that is more.
#[must_use]
pub fn cases(cases: u32) -> Config {
    let default = Config::default();
    Config {
        cases: depth(cases / 4, cases).max(default.cases),
        failure_persistence: None,
        ..default
    }
}
