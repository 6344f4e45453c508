//! MODCODs that a link can choose: those of DVB-S2, a single code, or a table (docs/acm.md, Sec. 1).

use std::fmt;

use super::error_curve::Code;
use super::{ErrorCurve, RadioError};

/// A modulation with a code, which a link can choose.
#[derive(Debug, Clone, PartialEq)]
pub struct Modcod {
    /// Its name.
    pub name: String,
    /// Bits per symbol, above 0.
    pub efficiency_bit_per_symbol: f64,
    /// Lowest Es/N0 at which it is chosen, dB.
    pub threshold_db: f64,
    /// Its word error rate.
    pub curve: ErrorCurve,
}

/// Error rate at the threshold of a code that is chosen by name: that of EN 302 307-1, table 13.
const THRESHOLD_RATE: f64 = 1e-7;

/// How far an Es/N0 may be below a threshold that it meets, dB: thresholds of curves are found to 1e-6 dB, and an Es/N0 of a
/// table is rounded on its way through ratios and margins.
const TIE_DB: f64 = 2e-6;

/// Start of the names of DVB-S2.
const DVB_S2: &str = "dvb-s2";

/// Header of a table in a file.
const HEADER: &str = "name,efficiency_bit_per_symbol,threshold_es_n0_db,code";

/// The MODCODs of a link, by rising efficiency.
///
/// ```
/// use tmt_core::radio::Modcods;
///
/// let modcods = Modcods::named("dvb-s2")?;
/// assert_eq!(modcods.iter().count(), 22);
/// assert_eq!(modcods.best(1.2), Some(3)); // QPSK 1/2 needs 1.00 dB, QPSK 3/5 2.23 dB
/// assert_eq!(modcods.best(-3.0), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Modcods {
    /// Text from which they are read again.
    text: String,
    by_efficiency: Vec<Modcod>,
    /// The one with the lowest threshold.
    lowest: usize,
}

impl Modcods {
    /// A preset or a single code: `dvb-s2` has the MODCODs of DVB-S2 but those for which another one has more efficiency
    /// at no higher threshold; the name of a published code, such as `dvb-s2:qpsk-1/2`, is that one alone.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn named(name: &str) -> Result<Self, RadioError> {
        let modcod = |code: &'static Code| -> Option<Modcod> {
            let curve = ErrorCurve::Code(code);
            Some(Modcod {
                name: code.name.to_owned(),
                efficiency_bit_per_symbol: code.efficiency_bit_per_symbol,
                threshold_db: curve.threshold_db(THRESHOLD_RATE)?,
                curve,
            })
        };
        let of_dvb_s2 = |code: &&Code| code.name.starts_with("dvb-s2:");
        let found: Vec<Modcod> = if name == DVB_S2 {
            let mut all: Vec<Modcod> = ErrorCurve::codes()
                .filter(of_dvb_s2)
                .filter_map(modcod)
                .collect();
            let known = all.clone();
            all.retain(|one| {
                !known.iter().any(|other| {
                    other.threshold_db <= one.threshold_db
                        && other.efficiency_bit_per_symbol > one.efficiency_bit_per_symbol
                })
            });
            all
        } else {
            let named = ErrorCurve::codes().filter(|code| code.name == name);
            named.filter_map(modcod).collect()
        };
        if found.is_empty() {
            return Err(RadioError(format!(
                "unknown table of MODCODs '{name}'; expected dvb-s2, a code such as dvb-s2:qpsk-1/2, or a file"
            )));
        }
        Self::new(name.to_owned(), found)
    }

    /// Reads lines of name, efficiency in bit/symbol, threshold as Es/N0 in dB, and error curve, separated by commas, after
    /// the header `name,efficiency_bit_per_symbol,threshold_es_n0_db,code`. Empty lines and lines that start with `#` are
    /// skipped.
    ///
    /// # Errors
    /// A line is not of this form, or two have the same name or efficiency. The message names the line.
    pub fn read(text: &str) -> Result<Self, RadioError> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let refuse = |line: u32, what: String| RadioError(format!("line {line}: {what}"));
        match lines.next() {
            Some((_, HEADER)) => {}
            Some((line, found)) => {
                return Err(refuse(
                    line,
                    format!("found '{found}', expected the header {HEADER}"),
                ));
            }
            None => {
                return Err(RadioError(format!(
                    "found no line, expected the header {HEADER}"
                )));
            }
        }
        let mut modcods: Vec<Modcod> = Vec::new();
        for (line, text) in lines {
            let modcod = modcod(text).map_err(|RadioError(what)| refuse(line, what))?;
            let same = |other: &Modcod| {
                other.name == modcod.name
                    || other
                        .efficiency_bit_per_symbol
                        .total_cmp(&modcod.efficiency_bit_per_symbol)
                        .is_eq()
            };
            if let Some(other) = modcods.iter().find(|other| same(other)) {
                let what = format!(
                    "found the name or the efficiency of {}, expected another one",
                    other.name
                );
                return Err(refuse(line, what));
            }
            modcods.push(modcod);
        }
        if modcods.is_empty() {
            return Err(RadioError(
                "found no MODCOD, expected at least one".to_owned(),
            ));
        }
        let rows: Vec<String> = modcods.iter().map(|modcod| modcod.row(INLINE.1)).collect();
        Self::new(format!("{}{}", INLINE.0, rows.join(INLINE.2)), modcods)
    }

    /// Reads a table as it displays; `None` if `text` has another form.
    ///
    /// # Errors
    /// See [`Self::read`].
    pub(super) fn of_text(text: &str) -> Option<Result<Self, RadioError>> {
        let rows = text.strip_prefix(INLINE.0)?;
        let rows = rows.replace(INLINE.1, ",").replace(INLINE.2, "\n");
        Some(Self::read(&format!("{HEADER}\n{rows}")))
    }

    fn new(text: String, mut modcods: Vec<Modcod>) -> Result<Self, RadioError> {
        modcods.sort_by(|one, other| {
            let key = |modcod: &Modcod| modcod.efficiency_bit_per_symbol;
            key(one).total_cmp(&key(other))
        });
        let thresholds = modcods.iter().map(|modcod| modcod.threshold_db);
        let lowest = (0..)
            .zip(thresholds)
            .min_by(|one, other| one.1.total_cmp(&other.1));
        let (lowest, _) = lowest.ok_or_else(|| RadioError("found no MODCOD".to_owned()))?;
        Ok(Self {
            text,
            by_efficiency: modcods,
            lowest,
        })
    }

    /// The MODCODs, by rising efficiency.
    pub fn iter(&self) -> impl Iterator<Item = &Modcod> {
        self.by_efficiency.iter()
    }

    /// Index of the most efficient one whose threshold is at most `es_n0_db`, or 2e-6 dB above it; `None` if absent.
    #[must_use]
    pub fn best(&self, es_n0_db: f64) -> Option<usize> {
        self.by_efficiency
            .iter()
            .rposition(|modcod| modcod.threshold_db <= es_n0_db + TIE_DB)
    }

    /// Index of the one with the lowest threshold.
    #[must_use]
    pub fn lowest(&self) -> usize {
        self.lowest
    }
}

impl fmt::Display for Modcods {
    /// The name, or the table itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Start of a table in a text, and the separators of its fields and rows.
const INLINE: (&str, &str, &str) = ("modcods:", ";", "&");

impl Modcod {
    fn row(&self, separator: &str) -> String {
        let Self {
            name,
            efficiency_bit_per_symbol,
            threshold_db,
            curve,
        } = self;
        format!(
            "{name}{separator}{efficiency_bit_per_symbol}{separator}{threshold_db}{separator}{curve}"
        )
    }
}

/// Reads a MODCOD from its fields.
fn modcod(text: &str) -> Result<Modcod, RadioError> {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let [name, efficiency, threshold, curve] = fields[..] else {
        return Err(RadioError(format!(
            "found {} fields, expected four: {HEADER}",
            fields.len()
        )));
    };
    let number = |text: &str, what: &str| {
        let number: Option<f64> = text.parse().ok();
        number
            .filter(|number| number.is_finite())
            .ok_or_else(|| RadioError(format!("found '{text}', expected {what}")))
    };
    let efficiency_bit_per_symbol = number(efficiency, "an efficiency in bit/symbol")?;
    if !(efficiency_bit_per_symbol > 0.0 && efficiency_bit_per_symbol <= 20.0) {
        return Err(RadioError(format!(
            "found {efficiency} bit/symbol, expected more than 0 and at most 20"
        )));
    }
    Ok(Modcod {
        name: name.to_owned(),
        efficiency_bit_per_symbol,
        threshold_db: number(threshold, "an Es/N0 in dB")?,
        curve: curve.parse()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ladder_has_no_step_that_another_one_beats() {
        let ladder = Modcods::named("dvb-s2").unwrap();
        let all: Vec<&Modcod> = ladder.iter().collect();
        for pair in all.windows(2) {
            assert!(pair[0].efficiency_bit_per_symbol < pair[1].efficiency_bit_per_symbol);
            assert!(
                pair[0].threshold_db < pair[1].threshold_db,
                "{}",
                pair[1].name
            );
        }
        let names: Vec<&str> = all.iter().map(|modcod| modcod.name.as_str()).collect();
        // EN 302 307-1, table 13: 8PSK 3/5 has 1.780 bit/symbol at 5.50 dB, QPSK 8/9 1.766 at 6.20 dB.
        assert!(names.contains(&"dvb-s2:8psk-3/5") && !names.contains(&"dvb-s2:qpsk-8/9"));
        assert!((all[0].threshold_db + 2.35).abs() < 1e-5);
    }

    /// Thresholds as EN 302 307-1, table 13, writes them, after the ways that an Es/N0 takes through ratios and margins.
    #[test]
    fn a_modcod_is_taken_at_its_threshold() {
        let ladder = Modcods::named("dvb-s2").unwrap();
        for (name, threshold_db) in [
            ("dvb-s2:qpsk-1/4", -2.35),
            ("dvb-s2:qpsk-1/2", 1.00),
            ("dvb-s2:qpsk-3/4", 4.03),
            ("dvb-s2:8psk-3/5", 5.50),
            ("dvb-s2:16apsk-2/3", 8.97),
            ("dvb-s2:32apsk-9/10", 16.05),
        ] {
            let at = ladder
                .iter()
                .position(|modcod| modcod.name == name)
                .unwrap();
            for margin_db in [0.0, 1.0, 3.0, 0.1] {
                let es_n0_db: f64 = threshold_db + margin_db;
                let ratio = crate::math::num::pow(10.0, es_n0_db / 10.0);
                let usable_db = 10.0 * crate::math::num::log10(ratio) - margin_db;
                assert_eq!(ladder.best(usable_db), Some(at), "{name} {margin_db}");
                assert_eq!(
                    ladder.best(usable_db - 1e-4),
                    at.checked_sub(1),
                    "{name} {margin_db}"
                );
            }
        }
    }

    #[test]
    fn a_table_without_its_header_or_rows_is_refused() {
        let row = "low,0.490243,-2.35,dvb-s2:qpsk-1/4";
        assert!(Modcods::read(&format!("{HEADER}\n{row}\n")).is_ok());
        for text in [
            "",
            HEADER,
            &format!("{row}\n"),
            &format!("name,code\n{row}\n"),
        ] {
            assert!(Modcods::read(text).is_err(), "{text}");
        }
    }
}
