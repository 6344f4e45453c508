//! Parameters of a land-mobile-satellite channel: one line each in [`PARAMETERS`].

use std::fmt;
use std::str::FromStr;

use crate::math::num::floor_u64;
use crate::types::named::{Entry, Values};
use crate::types::{NANOS_PER_SECOND, Span, to_f64};

use super::environment::{self, Environment, Sequence, Surroundings};
use super::gain::Model;
use super::{ErrorCurve, RadioError, from_db};

mod parameters;

pub use parameters::PARAMETERS;

/// Shortest time between samples; the Doppler frequencies of satellite terminals stay far below.
const SHORTEST_STEP: Span = Span::from_micros(1);

/// Speed of light, m/s.
const LIGHT_M_S: f64 = 299_792_458.0;

/// A land-mobile-satellite channel and the code over it. Its text is `key=value,…` with the keys of [`PARAMETERS`].
///
/// ```
/// use tmt_core::radio::LandMobile;
///
/// let channel: LandMobile = "environment=suburban,es-n0=6dB,interleaver=36ms".parse()?;
/// assert!((channel.speed_m_s * 3.6 - 60.0).abs() < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LandMobile {
    /// Selection of the [`Environment`].
    pub environment: Surroundings,
    /// Elevation of the satellite, degrees.
    pub elevation_deg: f64,
    /// Speed of the terminal, m/s.
    pub speed_m_s: f64,
    /// Carrier frequency, Hz.
    pub carrier_hz: f64,
    /// Es/N0 with an unobstructed line of sight, dB.
    pub es_n0_db: f64,
    /// Loss of the receiver, subtracted from Es/N0, dB.
    pub implementation_loss_db: f64,
    /// How often the deepest state is entered, relative to the published set.
    pub deep_shadow: f64,
    /// Independent variation of the effective Es/N0 of each word, dB rms.
    pub word_variation_db: f64,
    /// Error curve of the code.
    pub code: ErrorCurve,
    /// Time over which the bits of a word are spread; zero for none.
    pub interleaver: Span,
    /// Length of the transitions between states, relative to the published set.
    pub cross_fade: f64,
    /// Samples of the fading in a period of the largest Doppler frequency.
    pub samples_per_doppler: f64,
}

impl LandMobile {
    /// The channel with the defaults, at an Es/N0 of `es_n0_db`.
    #[must_use]
    pub fn new(es_n0_db: f64, code: ErrorCurve) -> Self {
        Self {
            environment: Surroundings::Published("suburban"),
            elevation_deg: 40.0,
            speed_m_s: 60.0 / 3.6,
            carrier_hz: 2.2e9,
            es_n0_db,
            implementation_loss_db: 0.0,
            deep_shadow: 1.0,
            word_variation_db: 0.0,
            code,
            interleaver: Span::ZERO,
            cross_fade: 1.0,
            samples_per_doppler: 16.0,
        }
    }

    /// Largest Doppler frequency, Hz.
    #[must_use]
    pub fn doppler_hz(&self) -> f64 {
        self.speed_m_s * self.carrier_hz / LIGHT_M_S
    }

    /// Time between samples of the fading: whole nanoseconds, at least as many samples a period as asked for.
    #[must_use]
    pub fn step(&self) -> Span {
        let step = to_f64(NANOS_PER_SECOND) / (self.doppler_hz() * self.samples_per_doppler);
        Span::from_nanos(floor_u64(step)).unwrap_or(Span::MAX)
    }

    /// The set of statistics that applies.
    ///
    /// # Errors
    /// The environment is unknown, or is known for another elevation only.
    pub fn set(&self) -> Result<Environment, RadioError> {
        let name = match self.environment {
            Surroundings::Published(name) => name,
            Surroundings::Lutz(lutz) => return Ok(lutz.environment()),
        };
        let set = Environment::nearest(name, self.elevation_deg);
        let set = set.ok_or_else(|| environment::unknown(name))?;
        if let (true, Some(known_deg)) = (set.is_three_state(), set.elevation_deg)
            && (self.elevation_deg - known_deg).abs() > 1e-9
        {
            return Err(RadioError(format!(
                "'elevation={}deg': the statistics of '{}' are known for {known_deg} degrees only; expected \
                 elevation={known_deg}deg, or an environment p681:…",
                self.elevation_deg, set.name
            )));
        }
        Ok(*set)
    }

    /// The sequence of states, with the share of deep shadow asked for.
    ///
    /// # Errors
    /// See [`Self::set`]; or `deep-shadow` would make a probability larger than 1, or is 0 with two states.
    pub fn sequence(&self) -> Result<Sequence, RadioError> {
        let sequence = self.set()?.sequence;
        sequence.with_deep_shadow(self.deep_shadow).ok_or_else(|| {
            RadioError(format!(
                "'deep-shadow={}': expected a factor that leaves every probability of '{}' at most 1, above 0 for p681:… and lutz:…",
                self.deep_shadow, self.environment
            ))
        })
    }

    /// Checks all parameters.
    ///
    /// # Errors
    /// A parameter is outside its range, or the error curve is not known for every Es/N0 that the channel reaches.
    pub fn check(&self) -> Result<(), RadioError> {
        self.check_ranges()?;
        self.sequence()?;
        if self.step() < SHORTEST_STEP {
            return Err(RadioError(format!(
                "samples of the fading are {} apart at a Doppler frequency of {:.0} Hz; expected at least {SHORTEST_STEP}: \
                 lower speed, carrier or samples-per-doppler",
                self.step(),
                self.doppler_hz(),
            )));
        }
        if let Surroundings::Lutz(_) = self.environment {
            self.check_lutz()?;
        }
        // A null of the multipath reaches any Es/N0 below.
        let highest = self.es_n0_db - self.implementation_loss_db + self.environment.highest_db();
        self.code.covers(f64::NEG_INFINITY, highest)
    }

    /// Refuses what has no meaning beside an environment lutz:….
    #[expect(clippy::float_cmp, reason = "the defaults are exact")]
    fn check_lutz(&self) -> Result<(), RadioError> {
        let refused = |what: String, lacks: &str, default: &str| {
            Err(RadioError(format!(
                "'{what}': found an environment lutz:…, which has no {lacks}; expected {default}"
            )))
        };
        if self.cross_fade != 1.0 {
            let what = format!("cross-fade={}", self.cross_fade);
            return refused(what, "transitions", "cross-fade=1");
        }
        if self.elevation_deg != 40.0 {
            let what = format!("elevation={}deg", self.elevation_deg);
            return refused(what, "elevation", "the default, elevation=40deg");
        }
        Ok(())
    }

    /// Checks each parameter by itself.
    ///
    /// # Errors
    /// A parameter is outside its range.
    pub(super) fn check_ranges(&self) -> Result<(), RadioError> {
        for (parameter, value) in self.values() {
            let is_known = parameter.name != "environment" || self.environment.is_valid();
            if !is_known || !parameter.kind.accepts(&value) {
                return Err(RadioError(format!(
                    "'{}': expected {}",
                    parameter.show(&value),
                    parameter.kind.expected()
                )));
            }
        }
        Ok(())
    }

    /// The model of its fading.
    ///
    /// # Errors
    /// A parameter is outside its range, or the error curve is not known for every Es/N0 that the channel reaches.
    pub(super) fn model(&self) -> Result<Model, RadioError> {
        self.check()?;
        let step = self.step();
        Ok(Model {
            step,
            step_m: self.speed_m_s * step.as_secs_f64(),
            samples_per_doppler: 1.0 / (self.doppler_hz() * step.as_secs_f64()),
            es_n0: from_db(self.es_n0_db),
            sequence: self.sequence()?,
            cross_fade: self.cross_fade,
            correlation_m: self.set()?.correlation_m,
        })
    }
}

/// The land-mobile channel as an entry, by which its texts are read.
static ENTRY: Entry<()> = Entry {
    name: "land-mobile",
    about: "",
    parameters: PARAMETERS,
    examples: &[],
    make: (),
};

impl fmt::Display for LandMobile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (parameter, value)) in self.values().enumerate() {
            let mark = if at == 0 { "" } else { "," };
            write!(f, "{mark}{}", parameter.show(&value))?;
        }
        Ok(())
    }
}

impl FromStr for LandMobile {
    type Err = RadioError;

    fn from_str(text: &str) -> Result<Self, RadioError> {
        Self::try_from(&ENTRY.read(Some(text))?)
    }
}

impl TryFrom<&Values> for LandMobile {
    type Error = RadioError;

    /// The channel with these values of [`PARAMETERS`].
    fn try_from(values: &Values) -> Result<Self, RadioError> {
        let channel = Self::of(values)?;
        channel.check()?;
        Ok(channel)
    }
}
