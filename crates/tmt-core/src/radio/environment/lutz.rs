//! The two-state model of Lutz et al. (1991), with parameters of the user: no published row could be verified
//! (docs/channels.md, Sec. 3).

use std::fmt;
use std::str::FromStr;

use super::{Environment, ExponentialState, Loo, Sequence};
use crate::radio::{RadioError, from_db, to_db};
use crate::types::named::{Entry, Kind, Parameter, Quantity, Value, in_parentheses};

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

/// The model as an entry, whose parameters are in the order in which they are printed.
static ENTRY: Entry<()> = Entry {
    name: "lutz",
    about: "two states of exponential lengths, Rician and Suzuki",
    parameters: &[
        Parameter::required("rice-factor", Kind::Quantity(&RICE_FACTOR)),
        Parameter::required("bad-mean", Kind::Quantity(&BAD_MEAN)),
        Parameter::required("bad-deviation", Kind::Quantity(&BAD_DEVIATION)),
        Parameter::required("good", Kind::Quantity(&LENGTH)),
        Parameter::required("bad", Kind::Quantity(&LENGTH)),
        Parameter::required("correlation", Kind::Quantity(&CORRELATION)),
    ],
    examples: &[],
    make: (),
};

static RICE_FACTOR: Quantity = quantity("a value from 0dB to 40dB", 0.0, 40.0, DB);
static BAD_MEAN: Quantity = quantity("a value from -40dB to 0dB", -40.0, 0.0, DB);
static BAD_DEVIATION: Quantity = quantity("a value from 0dB to 20dB", 0.0, 20.0, DB);
static LENGTH: Quantity = quantity("a value from 0.1m to 1000000m", 0.1, 1e6, METRES);
static CORRELATION: Quantity = quantity("a value from 0.1m to 1000m", 0.1, 1000.0, METRES);

const DB: Units = &[("dB", 1.0, 1.0)];
const METRES: Units = &[("m", 1.0, 1.0)];

type Units = &'static [(&'static str, f64, f64)];

const fn quantity(expected: &'static str, least: f64, most: f64, units: Units) -> Quantity {
    Quantity {
        expected,
        least,
        most,
        units,
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

    /// Limit that the power relative to the unobstructed line of sight hardly ever exceeds, dB: 10 dB over the mean of the good
    /// state, or of the bad state when it is four deviations above average.
    pub(super) fn highest_db(&self) -> f64 {
        let good_db = to_db(1.0 + from_db(-self.rice_factor_db));
        10.0 + good_db.max(self.bad_mean_db + 4.0 * self.bad_deviation_db)
    }

    /// Whether every value is in its range.
    pub(super) fn is_valid(self) -> bool {
        let mut values = self.values();
        values.all(|(parameter, value)| parameter.kind.accepts(&value))
    }

    /// Each parameter with its value.
    fn values(self) -> impl Iterator<Item = (&'static Parameter, Value)> {
        let values = [
            self.rice_factor_db,
            self.bad_mean_db,
            self.bad_deviation_db,
            self.good_m,
            self.bad_m,
            self.correlation_m,
        ];
        ENTRY.parameters.iter().zip(values.map(Value::Number))
    }
}

impl fmt::Display for Lutz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAME)?;
        for (at, (parameter, value)) in self.values().enumerate() {
            let mark = if at == 0 { "" } else { "/" };
            write!(f, "{mark}{}", parameter.show(&value))?;
        }
        Ok(())
    }
}

impl FromStr for Lutz {
    type Err = RadioError;

    fn from_str(text: &str) -> Result<Self, RadioError> {
        // In parentheses commas separate the keys, as everywhere; after `lutz:` they would end the value.
        let (inside, mark) = match in_parentheses(text) {
            Some((_, inside)) => (inside, ','),
            None => (text.strip_prefix(NAME).unwrap_or(text), '/'),
        };
        let parts: Vec<&str> = inside.split(mark).filter(|part| !part.is_empty()).collect();
        let values = ENTRY.read(Some(&parts.join(",")))?;
        Ok(Self {
            rice_factor_db: values.number("rice-factor"),
            bad_mean_db: values.number("bad-mean"),
            bad_deviation_db: values.number("bad-deviation"),
            good_m: values.number("good"),
            bad_m: values.number("bad"),
            correlation_m: values.number("correlation"),
        })
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
                "found no bad, expected lutz:rice-factor,bad-mean,",
            ),
            (
                "bad=30m",
                "bad=30",
                "found 'bad=30', expected a value from 0.1m to 1000000m",
            ),
            (
                "good=90m",
                "good=0m",
                "found 'good=0m', expected a value from 0.1m to 1000000m",
            ),
            ("rice-factor=10dB", "rice-factor=-1dB", "from 0dB to 40dB"),
            ("bad-mean=-12.5dB", "bad-mean=1dB", "from -40dB to 0dB"),
            (
                "bad-deviation=4dB",
                "bad-deviation=21dB",
                "from 0dB to 20dB",
            ),
            ("correlation=5m", "correlation=0.01m", "from 0.1m to 1000m"),
            ("bad=30m", "good=30m", "expected good at most once"),
            ("bad=30m", "share=0.25", "expected one of these parameters"),
        ] {
            let text = TEXT.replace(from, to);
            let error = text.parse::<Lutz>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        assert!("lutz:".parse::<Lutz>().is_err());
    }
}
