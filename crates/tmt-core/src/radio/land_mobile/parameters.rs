//! The parameters: key, unit, default, range, meaning and origin of each, in one line.

use crate::types::Span;

use super::{LandMobile, RadioError};
use crate::radio::ErrorCurve;

/// A parameter of [`LandMobile`].
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Name in texts.
    pub key: &'static str,
    /// Placeholder for the value, with its unit.
    pub value: &'static str,
    /// Default, as it is written; `None` if it must be given.
    pub preset: Option<&'static str>,
    /// Values that are accepted.
    pub range: &'static str,
    /// Meaning.
    pub about: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
    /// Reads the value.
    pub read: fn(&mut LandMobile, &str) -> Result<(), RadioError>,
    /// The value as it is read.
    pub show: fn(&LandMobile) -> String,
    /// Whether the value is in range.
    pub check: fn(&LandMobile) -> bool,
}

/// All parameters, in the order in which they are printed.
pub static PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "es-n0",
        value: "RATIO",
        preset: None,
        range: "a ratio in dB, from -30dB to 40dB",
        about: "Es/N0 with an unobstructed line of sight",
        source: "of the experiment",
        read: |channel, text| number("es-n0", text, "dB").map(|value| channel.es_n0_db = value),
        show: |channel| format!("{}dB", channel.es_n0_db),
        check: |channel| (-30.0..=40.0).contains(&channel.es_n0_db),
    },
    Parameter {
        key: "environment",
        value: "NAME",
        preset: Some("suburban"),
        range: "open, suburban, intermediate-tree, heavy-tree; p681: with urban, suburban, village, rural-wooded or residential; or lutz:… (docs/channels.md, Sec. 3)",
        about: "surroundings of the terminal, which choose the published statistics; lutz:… has its own numbers",
        source: "suburban: Kuhn 2015, Sec. 4.1",
        read: |channel, text| {
            channel.environment = text.parse()?;
            Ok(())
        },
        show: |channel| channel.environment.to_string(),
        check: |channel| channel.environment.is_valid(),
    },
    Parameter {
        key: "elevation",
        value: "ANGLE",
        preset: Some("40deg"),
        range: "an angle from 5deg to 90deg",
        about: "elevation of the satellite; p681:… takes the nearest row of its table, lutz:… has none",
        source: "Kuhn 2015, Sec. 4.1",
        read: |channel, text| {
            number("elevation", text, "deg").map(|value| channel.elevation_deg = value)
        },
        show: |channel| format!("{}deg", channel.elevation_deg),
        check: |channel| (5.0..=90.0).contains(&channel.elevation_deg),
    },
    Parameter {
        key: "speed",
        value: "SPEED",
        preset: Some("60km/h"),
        range: "a speed in km/h or m/s, above 0 and up to 2000km/h (a terminal that stands sees one gain: use bernoulli, or a fading file)",
        about: "speed of the terminal",
        source: "Kuhn 2015, Sec. 4.1",
        read: |channel, text| {
            channel.speed_m_s = if text.ends_with("km/h") {
                number("speed", text, "km/h")? / 3.6
            } else {
                number("speed", text, "m/s")?
            };
            Ok(())
        },
        show: |channel| {
            let kmh = (channel.speed_m_s * 3.6 * 1e6).round() / 1e6;
            if (kmh / 3.6).to_bits() == channel.speed_m_s.to_bits() {
                format!("{kmh}km/h")
            } else {
                format!("{}m/s", channel.speed_m_s)
            }
        },
        check: |channel| channel.speed_m_s > 0.0 && channel.speed_m_s <= 2000.0 / 3.6,
    },
    Parameter {
        key: "carrier",
        value: "FREQUENCY",
        preset: Some("2.2GHz"),
        range: "a frequency in GHz, MHz or Hz, from 0.1GHz to 100GHz",
        about: "carrier frequency",
        source: "S-band: Kuhn 2015, Sec. 4.1; the exact carrier is ours",
        read: |channel, text| {
            let units = [("GHz", 1e9), ("MHz", 1e6), ("Hz", 1.0)];
            let (unit, hz) = units
                .into_iter()
                .find(|(unit, _)| text.ends_with(unit))
                .unwrap_or(units[0]);
            number("carrier", text, unit).map(|value| channel.carrier_hz = value * hz)
        },
        show: |channel| {
            let ghz = channel.carrier_hz / 1e9;
            if (ghz * 1e9).to_bits() == channel.carrier_hz.to_bits() {
                format!("{ghz}GHz")
            } else {
                format!("{}Hz", channel.carrier_hz)
            }
        },
        check: |channel| (0.1e9..=100e9).contains(&channel.carrier_hz),
    },
    Parameter {
        key: "implementation-loss",
        value: "LOSS",
        preset: Some("0dB"),
        range: "a loss in dB, from 0dB to 20dB",
        about: "loss of the receiver, subtracted from Es/N0",
        source: "ours",
        read: |channel, text| {
            number("implementation-loss", text, "dB")
                .map(|value| channel.implementation_loss_db = value)
        },
        show: |channel| format!("{}dB", channel.implementation_loss_db),
        check: |channel| (0.0..=20.0).contains(&channel.implementation_loss_db),
    },
    Parameter {
        key: "deep-shadow",
        value: "FACTOR",
        preset: Some("1"),
        range: "a factor from 0 to 10",
        about: "how often the deepest state is entered, relative to the published set",
        source: "ours; 1 is the published set",
        read: |channel, text| {
            number("deep-shadow", text, "").map(|value| channel.deep_shadow = value)
        },
        show: |channel| channel.deep_shadow.to_string(),
        check: |channel| (0.0..=10.0).contains(&channel.deep_shadow),
    },
    Parameter {
        key: "word-variation",
        value: "DEVIATION",
        preset: Some("0dB"),
        range: "a standard deviation in dB, from 0dB to 10dB",
        about: "independent variation of the effective Es/N0 of each word, rms",
        source: "ours",
        read: |channel, text| {
            number("word-variation", text, "dB").map(|value| channel.word_variation_db = value)
        },
        show: |channel| format!("{}dB", channel.word_variation_db),
        check: |channel| (0.0..=10.0).contains(&channel.word_variation_db),
    },
    Parameter {
        key: "code",
        value: "CODE",
        preset: Some("turbo:264-1/3"),
        range: "a code by name, such as turbo:264-1/3 or dvb-s2:qpsk-1/2",
        about: "error curve of the code words",
        source: "ours: 33 bytes and the rate of Kuhn 2015 suggest rate 1/3",
        read: |channel, text| text.parse().map(|code| channel.code = code),
        show: |channel| channel.code.to_string(),
        check: |_| true,
    },
    Parameter {
        key: "interleaver",
        value: "DURATION",
        preset: Some("0s"),
        range: "a duration up to 60s, 0s for no interleaver",
        about: "time over which the bits of a word are spread",
        source: "of the experiment",
        read: |channel, text| {
            let span = text.parse::<Span>();
            channel.interleaver = span.map_err(|error| {
                RadioError(format!("'interleaver={text}': {error}; 0s for none"))
            })?;
            Ok(())
        },
        show: |channel| channel.interleaver.to_string(),
        check: |channel| channel.interleaver <= Span::from_secs(60),
    },
    Parameter {
        key: "cross-fade",
        value: "FACTOR",
        preset: Some("1"),
        range: "a factor from 0 to 10",
        about: "length of the transitions between states, relative to the published set; lutz:… has none",
        source: "ours; 1 is the published set",
        read: |channel, text| {
            number("cross-fade", text, "").map(|value| channel.cross_fade = value)
        },
        show: |channel| channel.cross_fade.to_string(),
        check: |channel| (0.0..=10.0).contains(&channel.cross_fade),
    },
    Parameter {
        key: "samples-per-doppler",
        value: "NUMBER",
        preset: Some("16"),
        range: "a number from 10 to 1000",
        about: "samples of the fading in a period of the largest Doppler frequency",
        source: "ours",
        read: |channel, text| {
            number("samples-per-doppler", text, "").map(|value| channel.samples_per_doppler = value)
        },
        show: |channel| channel.samples_per_doppler.to_string(),
        check: |channel| (10.0..=1000.0).contains(&channel.samples_per_doppler),
    },
];

/// The code of the default.
pub(super) fn default_code() -> Result<ErrorCurve, RadioError> {
    let code = PARAMETERS.iter().find(|parameter| parameter.key == "code");
    code.and_then(|code| code.preset)
        .unwrap_or_default()
        .parse()
}

/// Reads a number with its unit. The error says what the parameter accepts.
fn number(key: &str, text: &str, unit: &str) -> Result<f64, RadioError> {
    let known = PARAMETERS.iter().find(|parameter| parameter.key == key);
    let range = known.map_or("a number", |parameter| parameter.range);
    crate::radio::number::number(key, text, unit, range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_its_unit_is_refused_with_the_range() {
        let refused = |key: &str, value: &str| {
            let mut channel = LandMobile::new(6.0, default_code().unwrap());
            let error = channel.set_parameter(key, value).unwrap_err();
            error.to_string()
        };
        let with_units = [
            "es-n0",
            "elevation",
            "speed",
            "carrier",
            "implementation-loss",
            "word-variation",
        ];
        for parameter in PARAMETERS {
            let (key, range) = (parameter.key, parameter.range);
            let values: &[&str] = match key {
                _ if with_units.contains(&key) => &["0", "-1", "x", ""],
                "deep-shadow" | "cross-fade" | "samples-per-doppler" => &["0dB", "x", "-1"],
                "interleaver" => {
                    let error = refused(key, "0");
                    assert!(
                        error.starts_with("'interleaver=0': ") && error.ends_with("0s for none")
                    );
                    continue;
                }
                _ => continue,
            };
            for value in values {
                let expected = format!("'{key}={value}': expected {range}");
                assert_eq!(refused(key, value), expected);
            }
        }
        assert!(refused("speed", "0").contains("above 0 and up to 2000km/h"));
    }
}
