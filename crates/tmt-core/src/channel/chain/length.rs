//! How long a sojourn in a state lasts.

use std::str::FromStr;

use super::Base;
use crate::math::num;
use crate::types::named::suggestion;
use crate::types::{Span, to_f64};

/// Shortest mean length of time, ns. Lengths are rounded to 1 ns, a thousandth of this.
const SHORTEST: f64 = 1000.0;

/// Names of the distributions.
const KINDS: [&str; 5] = [
    "geometric",
    "exponential",
    "fixed",
    "lognormal",
    "histogram",
];

/// Distribution of the length of a sojourn, in units or in ns.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::channel) enum Length {
    /// Units, with a constant probability of leaving after each. Kept instead of that of staying, which rounds to 1 too early.
    Geometric {
        /// Probability of leaving, 0 to 1.
        leave: f64,
    },
    /// Time, with a constant rate of leaving.
    Exponential {
        /// Mean length.
        mean: Span,
    },
    /// Always the same.
    Fixed(Amount),
    /// Time whose logarithm is normal, drawn again while it is below a minimum.
    LogNormal {
        /// Median length, without the minimum.
        median: Span,
        /// Standard deviation of the natural logarithm of the length, without the minimum.
        sigma: f64,
        /// Shortest length.
        least: Span,
    },
    /// Lengths with their weights.
    Histogram(Histogram),
}

/// A length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::channel) enum Amount {
    /// Units.
    Units(u64),
    /// Time.
    Time(Span),
}

/// Lengths with their weights summed up.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::channel) struct Histogram {
    base: Base,
    lengths: Vec<u64>,
    /// Sums of the weights up to each entry.
    sums: Vec<f64>,
    /// Sums of weight times length up to each entry.
    products: Vec<f64>,
}

impl Amount {
    fn base(self) -> Base {
        match self {
            Self::Units(_) => Base::Units,
            Self::Time(_) => Base::Time,
        }
    }

    /// The length in its base.
    fn value(self) -> u64 {
        match self {
            Self::Units(units) => units,
            Self::Time(span) => span.as_nanos(),
        }
    }

    fn checked(self) -> Result<Self, String> {
        match self {
            Self::Units(0) => Err("found a length of 0 units, expected at least 1".to_owned()),
            Self::Time(span) => checked(span).map(Self::Time),
            units @ Self::Units(_) => Ok(units),
        }
    }
}

/// A length of time that nanoseconds are fine enough for.
fn checked(span: Span) -> Result<Span, String> {
    if to_f64(span.as_nanos()) < SHORTEST {
        return Err(format!("found a length of {span}, expected at least 1us"));
    }
    Ok(span)
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(units) = text.parse::<u64>() {
            return Self::Units(units).checked();
        }
        let span = text.parse::<Span>();
        let span = span.map_err(|_| {
            format!("found '{text}', expected a whole number of units or a duration such as 20ms")
        })?;
        Self::Time(span).checked()
    }
}

impl Histogram {
    fn new(entries: &[(Amount, f64)]) -> Result<Self, String> {
        let base = match entries.first() {
            Some((amount, _)) => amount.base(),
            None => return Err("found no length, expected LENGTH:WEIGHT …".to_owned()),
        };
        if entries.iter().any(|(amount, _)| amount.base() != base) {
            return Err("found units and durations, expected one of them".to_owned());
        }
        let add = |sum: &mut f64, term: f64| {
            *sum += term;
            Some(*sum)
        };
        let weights = entries.iter().map(|(_, weight)| *weight);
        let sums: Vec<f64> = weights.scan(0.0, add).collect();
        let products = entries
            .iter()
            .map(|(amount, weight)| to_f64(amount.value()) * weight);
        let products: Vec<f64> = products.scan(0.0, add).collect();
        let total = products.last().copied().unwrap_or_default();
        if !(total > 0.0 && total.is_finite()) {
            return Err("found no weight above 0, expected one".to_owned());
        }
        Ok(Self {
            base,
            lengths: entries.iter().map(|(amount, _)| amount.value()).collect(),
            sums,
            products,
        })
    }

    /// The entry up to which `sums` first exceeds the share `u`.
    fn at(&self, sums: &[f64], u: f64) -> u64 {
        let total = sums.last().copied().unwrap_or_default();
        let place = sums.partition_point(|sum| *sum <= u * total);
        let length = self.lengths.get(place).or(self.lengths.last());
        length.copied().unwrap_or(1)
    }
}

impl Length {
    pub(super) fn base(&self) -> Base {
        match self {
            Self::Geometric { .. } => Base::Units,
            Self::Exponential { .. } | Self::LogNormal { .. } => Base::Time,
            Self::Fixed(amount) => amount.base(),
            Self::Histogram(histogram) => histogram.base,
        }
    }

    /// Mean length in its base; infinite for a state that is never left.
    pub(super) fn mean(&self) -> f64 {
        match self {
            Self::Geometric { leave } => 1.0 / leave,
            Self::Exponential { mean } => to_f64(mean.as_nanos()),
            Self::Fixed(amount) => to_f64(amount.value()),
            Self::LogNormal { sigma, .. } => {
                // Ratio of two tails: the mean above the minimum, over the share above it.
                let (mu, least) = self.logarithms();
                num::exp(mu + 0.5 * sigma * sigma) * tail((least - mu) / sigma - sigma)
                    / tail((least - mu) / sigma)
            }
            Self::Histogram(histogram) => {
                let last = |sums: &[f64]| sums.last().copied().unwrap_or_default();
                last(&histogram.products) / last(&histogram.sums)
            }
        }
    }

    /// The length whose rank is `u`, by inversion.
    pub(super) fn at(&self, u: f64) -> u64 {
        match self {
            // A ratio of x/−∞ means a certain change, of −x/0 a state that is never left.
            Self::Geometric { leave } if *leave >= 1.0 => 1,
            Self::Geometric { leave } if *leave <= 0.0 => u64::MAX,
            Self::Geometric { leave } => {
                num::floor_u64(num::log1p(-u) / num::log1p(-leave)).saturating_add(1)
            }
            Self::Exponential { mean } => {
                num::floor_u64(0.5 - to_f64(mean.as_nanos()) * num::log1p(-u))
            }
            Self::Fixed(amount) => amount.value(),
            Self::LogNormal { sigma, least, .. } => {
                let (mu, _) = self.logarithms();
                let length = num::exp(mu + sigma * self.rank(u, 0.0));
                num::floor_u64(length + 0.5).max(least.as_nanos())
            }
            Self::Histogram(histogram) => histogram.at(&histogram.sums, u),
        }
    }

    /// Remainder, at time zero, of a sojourn that began before, in a process that has always run: a uniform share of a length,
    /// which is drawn by its share of all time. `u` and `place` are uniform on [0, 1).
    pub(super) fn left(&self, u: f64, place: f64) -> u64 {
        let whole = match self {
            // Without memory, what is left is distributed like the whole.
            Self::Geometric { .. } | Self::Exponential { .. } => return self.at(u),
            Self::Fixed(amount) => to_f64(amount.value()),
            Self::LogNormal { sigma, .. } => {
                // By its share of all time, the logarithm is normal around mu + sigma^2.
                let (mu, _) = self.logarithms();
                num::exp(mu + sigma * (self.rank(u, *sigma) + sigma))
            }
            Self::Histogram(histogram) => to_f64(histogram.at(&histogram.products, u)),
        };
        match self.base() {
            Base::Units => num::floor_u64(place * whole) + 1,
            Base::Time => num::floor_u64(place * whole + 0.5),
        }
    }

    /// Logarithms of median and minimum, both in ns.
    fn logarithms(&self) -> (f64, f64) {
        match self {
            Self::LogNormal { median, least, .. } => {
                let log = |span: &Span| num::ln(to_f64(span.as_nanos()));
                (log(median), log(least))
            }
            _ => (0.0, 0.0),
        }
    }

    /// The standard normal number of rank `u` among those above the minimum, if `shift` is added to the number of the
    /// minimum's logarithm. In the upper tail, where u is near 1, the survivors are exact.
    fn rank(&self, u: f64, shift: f64) -> f64 {
        let Self::LogNormal { sigma, .. } = self else {
            return 0.0;
        };
        let (mu, least) = self.logarithms();
        -num::normal_quantile((1.0 - u) * tail((least - mu) / sigma - shift))
    }
}

/// Probability that a standard normal variable exceeds `x`.
fn tail(x: f64) -> f64 {
    0.5 * num::erfc(x * std::f64::consts::FRAC_1_SQRT_2)
}

impl FromStr for Length {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_ascii_whitespace();
        let kind = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        match kind {
            "geometric" => {
                let [mean] = values(&rest, ["mean"])?;
                let mean: f64 = number("mean", mean)?;
                if !(mean >= 1.0 && mean.is_finite()) {
                    return Err(format!("found mean={mean}, expected at least 1 unit"));
                }
                Ok(Self::Geometric { leave: 1.0 / mean })
            }
            "exponential" => {
                let [mean] = values(&rest, ["mean"])?;
                let mean = checked(span("mean", mean)?)?;
                Ok(Self::Exponential { mean })
            }
            "fixed" => match rest[..] {
                [amount] => amount.parse().map(Self::Fixed),
                _ => Err(format!("found '{text}', expected fixed LENGTH")),
            },
            "lognormal" => {
                let [median, sigma, least] = values(&rest, ["median", "sigma", "min"])?;
                let sigma: f64 = number("sigma", sigma)?;
                if !(sigma > 0.0 && sigma <= 10.0) {
                    return Err(format!(
                        "found sigma={sigma}, expected above 0 and up to 10"
                    ));
                }
                let (median, least) = (
                    checked(span("median", median)?)?,
                    checked(span("min", least)?)?,
                );
                let length = Self::LogNormal {
                    median,
                    sigma,
                    least,
                };
                if !(length.mean() > 0.0 && length.mean() < to_f64(Span::MAX.as_nanos())) {
                    return Err(format!(
                        "found '{text}', whose mean above its minimum is out of range, expected a smaller min or sigma"
                    ));
                }
                Ok(length)
            }
            "histogram" => {
                let entry = |text: &&str| {
                    let (amount, weight) = text
                        .split_once(':')
                        .ok_or_else(|| format!("found '{text}', expected LENGTH:WEIGHT"))?;
                    let weight: f64 = number("weight", weight)?;
                    if !(weight >= 0.0 && weight.is_finite()) {
                        return Err(format!("found '{text}', expected a weight of at least 0"));
                    }
                    Ok((amount.parse::<Amount>()?, weight))
                };
                let entries: Result<Vec<_>, String> = rest.iter().map(entry).collect();
                Histogram::new(&entries?).map(Self::Histogram)
            }
            _ => {
                let suggestion = suggestion(kind, KINDS);
                Err(format!(
                    "found '{text}'{suggestion}, expected one of {}",
                    FORMS.join("; ")
                ))
            }
        }
    }
}

/// The form of each distribution.
const FORMS: [&str; 5] = [
    "geometric mean=UNITS",
    "exponential mean=DURATION",
    "fixed LENGTH",
    "lognormal median=DURATION sigma=S min=DURATION",
    "histogram LENGTH:WEIGHT …",
];

/// The values of `keys`, which are all needed, in any order.
fn values<'t, const N: usize>(words: &[&'t str], keys: [&str; N]) -> Result<[&'t str; N], String> {
    let mut found = [None; N];
    for word in words {
        let place = word.split_once('=').and_then(|(name, value)| {
            let at = keys.iter().position(|key| *key == name)?;
            Some((found.get_mut(at)?, value))
        });
        match place {
            Some((place, value)) if place.is_none() => *place = Some(value),
            _ => {
                return Err(format!(
                    "found '{word}', expected {} once",
                    keys.map(|key| format!("{key}=…")).join(" ")
                ));
            }
        }
    }
    let mut values = [""; N];
    for ((value, found), key) in values.iter_mut().zip(found).zip(keys) {
        *value = found.ok_or_else(|| format!("found no {key}, expected {key}=…"))?;
    }
    Ok(values)
}

fn number(name: &str, text: &str) -> Result<f64, String> {
    let number = text.parse();
    number.map_err(|_| format!("found {name} '{text}', expected a number"))
}

fn span(name: &str, text: &str) -> Result<Span, String> {
    let span = text.parse::<Span>();
    span.map_err(|_| format!("found {name}={text}, expected a duration such as 20ms"))
}
