//! The two-state model of Lutz et al. (1991), with parameters of the user: no published row could be verified
//! (docs/channels.md, Sec. 3).

use std::fmt;
use std::str::FromStr;

use super::{Environment, ExponentialState, Loo, Sequence};
use crate::radio::number::number;
use crate::radio::{RadioError, from_db, to_db};
use crate::types::named::in_parentheses;

/// Start of its text.
pub(super) const NAME: &str = "lutz:";

/// Parameters of the model. Its text is `lutz:key=value/…` or `lutz(key=value,…)` with every key.
///
/// In the good state the amplitude is Rician, with the direct signal at 0 dB. In the bad state there is no direct signal, and
/// multipath has a log-normal power (Suzuki's distribution). Lengths of sojourns are exponential.
///
/// ```
/// use tmt_core::radio::environment::Lutz;
///
/// let text = "lutz:rice-factor=10dB/bad-mean=-12dB/bad-deviation=4dB/good=90m/bad=30m/correlation=5m";
/// let lutz: Lutz = text.parse()?;
/// assert!((lutz.bad_share() - 0.25).abs() < 1e-12);
/// assert_eq!(lutz.to_string(), text);
/// let commas = "lutz(rice-factor=10dB,bad-mean=-12dB,bad-deviation=4dB,good=90m,bad=30m,correlation=5m)";
/// assert_eq!(lutz, commas.parse()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lutz {
    /// Power of the direct signal over that of the multipath in the good state, dB.
    pub rice_factor_db: f64,
    /// Mean of the power in dB in the bad state, relative to the unobstructed line of sight, where the power is averaged over
    /// the Rayleigh fading.
    pub bad_mean_db: f64,
    /// Standard deviation of the same, dB.
    pub bad_deviation_db: f64,
    /// Mean length of a good sojourn, m.
    pub good_m: f64,
    /// Mean length of a bad sojourn, m.
    pub bad_m: f64,
    /// Distance over which its correlation falls to 1/e, m.
    pub correlation_m: f64,
}

/// A key of the text.
struct Field {
    key: &'static str,
    unit: &'static str,
    lowest: f64,
    highest: f64,
    of: fn(&mut Lutz) -> &mut f64,
}

const fn field(
    key: &'static str,
    unit: &'static str,
    [lowest, highest]: [f64; 2],
    of: fn(&mut Lutz) -> &mut f64,
) -> Field {
    Field {
        key,
        unit,
        lowest,
        highest,
        of,
    }
}

/// The keys, in the order in which they are printed.
static FIELDS: [Field; 6] = [
    field("rice-factor", "dB", [0.0, 40.0], |lutz| {
        &mut lutz.rice_factor_db
    }),
    field("bad-mean", "dB", [-40.0, 0.0], |lutz| &mut lutz.bad_mean_db),
    field("bad-deviation", "dB", [0.0, 20.0], |lutz| {
        &mut lutz.bad_deviation_db
    }),
    field("good", "m", [0.1, 1e6], |lutz| &mut lutz.good_m),
    field("bad", "m", [0.1, 1e6], |lutz| &mut lutz.bad_m),
    field("correlation", "m", [0.1, 1000.0], |lutz| {
        &mut lutz.correlation_m
    }),
];

impl Field {
    fn includes(&self, value: f64) -> bool {
        (self.lowest..=self.highest).contains(&value)
    }

    fn range(&self) -> String {
        let Self {
            unit,
            lowest,
            highest,
            ..
        } = self;
        format!("a value from {lowest}{unit} to {highest}{unit}")
    }
}

impl Lutz {
    /// Share of the distance, and of the time, in the bad state.
    #[must_use]
    pub fn bad_share(&self) -> f64 {
        self.bad_m / (self.good_m + self.bad_m)
    }

    /// Its states over distance.
    #[must_use]
    pub fn environment(&self) -> Environment {
        let state = |loo, mean_m| ExponentialState { loo, mean_m };
        let good = Loo {
            direct_db: 0.0,
            shadowing_db: 0.0,
            multipath_db: -self.rice_factor_db,
            multipath_shadowing_db: 0.0,
        };
        let bad = Loo {
            direct_db: f64::NEG_INFINITY,
            shadowing_db: 0.0,
            multipath_db: self.bad_mean_db,
            multipath_shadowing_db: self.bad_deviation_db,
        };
        Environment {
            name: "lutz",
            elevation_deg: None,
            correlation_m: self.correlation_m,
            sequence: Sequence::Exponential {
                states: [state(good, self.good_m), state(bad, self.bad_m)],
            },
        }
    }

    /// What the power relative to the unobstructed line of sight hardly ever exceeds, dB: 10 dB over the mean of the good
    /// state, or of the bad state when it is four deviations above average.
    pub(super) fn highest_db(&self) -> f64 {
        let good_db = to_db(1.0 + from_db(-self.rice_factor_db));
        10.0 + good_db.max(self.bad_mean_db + 4.0 * self.bad_deviation_db)
    }

    /// Whether every value is in its range.
    pub(super) fn is_valid(mut self) -> bool {
        FIELDS
            .iter()
            .all(|field| field.includes(*(field.of)(&mut self)))
    }
}

impl fmt::Display for Lutz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lutz = *self;
        f.write_str(NAME)?;
        for (at, Field { key, unit, of, .. }) in FIELDS.iter().enumerate() {
            let mark = if at == 0 { "" } else { "/" };
            write!(f, "{mark}{key}={}{unit}", of(&mut lutz))?;
        }
        Ok(())
    }
}

impl FromStr for Lutz {
    type Err = RadioError;

    fn from_str(text: &str) -> Result<Self, RadioError> {
        let keys = || FIELDS.iter().map(|field| field.key);
        let mut lutz = Self {
            rice_factor_db: f64::NAN,
            bad_mean_db: f64::NAN,
            bad_deviation_db: f64::NAN,
            good_m: f64::NAN,
            bad_m: f64::NAN,
            correlation_m: f64::NAN,
        };
        // In parentheses commas separate the keys, as everywhere; after `lutz:` they would end the value.
        let (inside, mark) = match in_parentheses(text) {
            Some((_, inside)) => (inside, ','),
            None => (text.strip_prefix(NAME).unwrap_or(text), '/'),
        };
        for part in inside.split(mark).filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let field = FIELDS.iter().find(|field| field.key == key);
            let field = field.ok_or_else(|| {
                let keys: Vec<&str> = keys().collect();
                RadioError(format!(
                    "'{NAME}{part}': expected {NAME}KEY=VALUE/… with the keys {}",
                    keys.join(", ")
                ))
            })?;
            let place = (field.of)(&mut lutz);
            if !place.is_nan() {
                return Err(RadioError(format!(
                    "'{key}' of {NAME}… is given more than once"
                )));
            }
            let found = number(key, value, field.unit, &field.range())?;
            if !field.includes(found) {
                return Err(RadioError(format!(
                    "'{key}={value}' of {NAME}…: expected {}",
                    field.range()
                )));
            }
            *place = found;
        }
        match FIELDS.iter().find(|field| (field.of)(&mut lutz).is_nan()) {
            None => Ok(lutz),
            Some(missing) => Err(RadioError(format!(
                "'{}' of {NAME}… is missing: expected {}; all of {} are needed",
                missing.key,
                missing.range(),
                keys().collect::<Vec<_>>().join(", ")
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "lutz:rice-factor=10dB/bad-mean=-12.5dB/bad-deviation=4dB/good=90m/bad=30m/correlation=5m";

    #[test]
    fn the_states_are_rice_and_suzuki() {
        let lutz: Lutz = TEXT.parse().unwrap();
        let Sequence::Exponential {
            states: [good, bad],
        } = lutz.environment().sequence
        else {
            panic!("not exponential")
        };
        let parts = |state: ExponentialState| {
            let loo = state.loo;
            [
                loo.direct_db,
                loo.shadowing_db,
                loo.multipath_db,
                loo.multipath_shadowing_db,
                state.mean_m,
            ]
            .map(|value| value.to_string())
        };
        assert_eq!(parts(good), ["0", "0", "-10", "0", "90"]);
        assert_eq!(parts(bad), ["-inf", "0", "-12.5", "4", "30"]);
        // -12.5 dB + 4 · 4 dB + 10 dB.
        assert!((lutz.highest_db() - 13.5).abs() < 1e-12);
    }

    #[test]
    fn every_key_is_needed_once_and_in_range() {
        for (from, to, words) in [
            (
                "/bad=30m",
                "",
                "'bad' of lutz:… is missing: expected a value from 0.1m to 1000000m; all of rice-factor, bad-mean,",
            ),
            (
                "bad=30m",
                "bad=30",
                "'bad=30': expected a value from 0.1m to 1000000m",
            ),
            (
                "good=90m",
                "good=0m",
                "'good=0m' of lutz:…: expected a value from 0.1m to 1000000m",
            ),
            ("rice-factor=10dB", "rice-factor=-1dB", "from 0dB to 40dB"),
            ("bad-mean=-12.5dB", "bad-mean=1dB", "from -40dB to 0dB"),
            (
                "bad-deviation=4dB",
                "bad-deviation=21dB",
                "from 0dB to 20dB",
            ),
            ("correlation=5m", "correlation=0.01m", "from 0.1m to 1000m"),
            (
                "bad=30m",
                "good=30m",
                "'good' of lutz:… is given more than once",
            ),
            (
                "bad=30m",
                "share=0.25",
                "with the keys rice-factor, bad-mean,",
            ),
        ] {
            let text = TEXT.replace(from, to);
            let error = text.parse::<Lutz>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        assert!("lutz:".parse::<Lutz>().is_err());
    }
}
