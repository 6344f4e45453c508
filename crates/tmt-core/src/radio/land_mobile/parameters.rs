//! The parameters: name, range, default, meaning and origin of each.

use super::LandMobile;
use crate::types::Span;
use crate::types::named::{Kind, Parameter, Quantity, Value, Values};

use crate::radio::RadioError;

const DB: &[(&str, f64, f64)] = &[("dB", 1.0, 1.0)];
const PLAIN: &[(&str, f64, f64)] = &[("", 1.0, 1.0)];

/// All parameters, in the order in which they are printed. A comment says where a default comes from; those without are ours.
pub static PARAMETERS: &[Parameter] = &[
    // Of the experiment.
    Parameter::required("es-n0", quantity(&ES_N0))
        .described("RATIO", "Es/N0 with an unobstructed line of sight"),
    // Kuhn 2015, Sec. 4.1.
    Parameter::preset("environment", Kind::Text(ENVIRONMENTS), Value::text("suburban")).described(
        "NAME",
        "surroundings of the terminal, which choose the published statistics; lutz:… has its own numbers",
    ),
    // Kuhn 2015, Sec. 4.1.
    Parameter::preset("elevation", quantity(&ELEVATION), Value::Number(40.0)).described(
        "ANGLE",
        "elevation of the satellite; p681:… takes the nearest row of its table, lutz:… has none",
    ),
    // Kuhn 2015, Sec. 4.1.
    Parameter::preset("speed", quantity(&SPEED), Value::Number(60.0 / 3.6))
        .described("SPEED", "speed of the terminal"),
    // S-band: Kuhn 2015, Sec. 4.1; the exact carrier is ours.
    Parameter::preset("carrier", quantity(&CARRIER), Value::Number(2.2e9))
        .described("FREQUENCY", "carrier frequency"),
    Parameter::preset("implementation-loss", quantity(&LOSS), Value::Number(0.0))
        .described("LOSS", "loss of the receiver, subtracted from Es/N0"),
    // 1 is the published set.
    Parameter::preset("deep-shadow", quantity(&FACTOR), Value::Number(1.0)).described(
        "FACTOR",
        "how often the deepest state is entered, relative to the published set",
    ),
    Parameter::preset("word-variation", quantity(&DEVIATION), Value::Number(0.0)).described(
        "DEVIATION",
        "independent variation of the effective Es/N0 of each word, rms",
    ),
    // 33 bytes and the rate of Kuhn 2015 suggest rate 1/3.
    Parameter::preset("code", Kind::Text(CODES), Value::text("turbo:264-1/3"))
        .described("CODE", "error curve of the code words"),
    // Of the experiment.
    Parameter::preset("interleaver", INTERLEAVER, Value::Duration(Span::ZERO))
        .described("DURATION", "time over which the bits of a word are spread"),
    // 1 is the published set.
    Parameter::preset("cross-fade", quantity(&FACTOR), Value::Number(1.0)).described(
        "FACTOR",
        "length of the transitions between states, relative to the published set; lutz:… has none",
    ),
    Parameter::preset("samples-per-doppler", quantity(&SAMPLES), Value::Number(16.0)).described(
        "NUMBER",
        "samples of the fading in a period of the largest Doppler frequency",
    ),
];

const ENVIRONMENTS: &str = "open, suburban, intermediate-tree, heavy-tree; p681: with urban, suburban, village, rural-wooded or residential; or lutz:… (docs/channels.md, Sec. 3)";
const CODES: &str = "a code by name, such as turbo:264-1/3 or dvb-s2:qpsk-1/2";
const INTERLEAVER: Kind = Kind::Duration(Span::ZERO, Span::from_secs(60));

const fn quantity(quantity: &'static Quantity) -> Kind {
    Kind::Quantity(quantity)
}

static ES_N0: Quantity = Quantity {
    expected: "a ratio in dB, from -30dB to 40dB",
    least: -30.0,
    most: 40.0,
    units: DB,
};
static ELEVATION: Quantity = Quantity {
    expected: "an angle from 5deg to 90deg",
    least: 5.0,
    most: 90.0,
    units: &[("deg", 1.0, 1.0)],
};
static SPEED: Quantity = Quantity {
    expected: "a speed in km/h or m/s, above 0 and up to 2000km/h (a terminal that stands sees one gain: use bernoulli, or a fading file)",
    least: f64::MIN_POSITIVE,
    most: 2000.0 / 3.6,
    units: &[("km/h", 1.0, 3.6), ("m/s", 1.0, 1.0)],
};
static CARRIER: Quantity = Quantity {
    expected: "a frequency in GHz, MHz or Hz, from 0.1GHz to 100GHz",
    least: 0.1e9,
    most: 100e9,
    units: &[("GHz", 1e9, 1.0), ("MHz", 1e6, 1.0), ("Hz", 1.0, 1.0)],
};
static LOSS: Quantity = Quantity {
    expected: "a loss in dB, from 0dB to 20dB",
    least: 0.0,
    most: 20.0,
    units: DB,
};
static DEVIATION: Quantity = Quantity {
    expected: "a standard deviation in dB, from 0dB to 10dB",
    least: 0.0,
    most: 10.0,
    units: DB,
};
static FACTOR: Quantity = Quantity {
    expected: "a factor from 0 to 10",
    least: 0.0,
    most: 10.0,
    units: PLAIN,
};
static SAMPLES: Quantity = Quantity {
    expected: "a number from 10 to 1000",
    least: 10.0,
    most: 1000.0,
    units: PLAIN,
};

impl LandMobile {
    /// The channel with these values of [`PARAMETERS`], without a check against each other.
    pub(super) fn of(values: &Values) -> Result<Self, RadioError> {
        Ok(Self {
            es_n0_db: values.number("es-n0"),
            environment: values.text("environment").parse()?,
            elevation_deg: values.number("elevation"),
            speed_m_s: values.number("speed"),
            carrier_hz: values.number("carrier"),
            implementation_loss_db: values.number("implementation-loss"),
            deep_shadow: values.number("deep-shadow"),
            word_variation_db: values.number("word-variation"),
            code: values.text("code").parse()?,
            interleaver: values.duration("interleaver"),
            cross_fade: values.number("cross-fade"),
            samples_per_doppler: values.number("samples-per-doppler"),
        })
    }

    /// Each parameter with its value.
    pub(super) fn values(&self) -> impl Iterator<Item = (&'static Parameter, Value)> {
        let values = [
            self.es_n0_db.into(),
            Value::Text(self.environment.to_string().into()),
            self.elevation_deg.into(),
            self.speed_m_s.into(),
            self.carrier_hz.into(),
            self.implementation_loss_db.into(),
            self.deep_shadow.into(),
            self.word_variation_db.into(),
            Value::Text(self.code.to_string().into()),
            self.interleaver.into(),
            self.cross_fade.into(),
            self.samples_per_doppler.into(),
        ];
        PARAMETERS.iter().zip(values)
    }
}
