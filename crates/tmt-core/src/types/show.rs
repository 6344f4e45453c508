//! How tables for people show numbers.

/// Format of a number in a table for people. A missing number is a dash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// Integer.
    Count,
    /// Divided by 1000, with three decimals.
    Kilo,
    /// Multiplied by 1000, with three decimals.
    Milli,
    /// Multiplied by 100, with this number of decimals.
    Percent(usize),
    /// With this number of decimals.
    Decimals(usize),
    /// With at most this number of significant digits.
    Significant(usize),
}

impl Show {
    /// Formats a value for the table; `-` if absent.
    #[must_use]
    pub fn text(self, value: Option<f64>) -> String {
        let Some(value) = value else {
            return "-".to_owned();
        };
        let decimals = match self {
            Self::Significant(digits) => return rounded(value, digits),
            Self::Count => 0,
            Self::Kilo | Self::Milli => 3,
            Self::Percent(decimals) | Self::Decimals(decimals) => decimals,
        };
        format!("{:.decimals$}", self.scaled(value))
    }

    /// Largest number of decimals.
    #[must_use]
    pub fn decimals(self) -> usize {
        match self {
            Self::Count => 0,
            Self::Kilo | Self::Milli => 3,
            Self::Percent(decimals) | Self::Decimals(decimals) => decimals,
            Self::Significant(digits) => digits,
        }
    }

    /// The value in the unit of the table.
    #[must_use]
    pub fn scaled(self, value: f64) -> f64 {
        match self {
            Self::Kilo => value / 1e3,
            Self::Milli => value * 1e3,
            Self::Percent(_) => value * 100.0,
            Self::Count | Self::Decimals(_) | Self::Significant(_) => value,
        }
    }
}

/// `value` with this number of significant digits, at least one, without trailing zeros.
#[must_use]
pub fn rounded(value: f64, digits: usize) -> String {
    let last = digits.saturating_sub(1);
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{value:.last$e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if (-4..9).contains(&exponent) {
        let most = i32::try_from(last).unwrap_or(i32::MAX);
        let decimals = usize::try_from(most - exponent).unwrap_or(0);
        trimmed(&format!("{value:.decimals$}"))
    } else {
        format!("{}e{exponent}", trimmed(mantissa))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_six_significant_digits_are_shown() {
        for (value, text) in [
            (0.0, "0"),
            (0.5, "0.5"),
            (10.0, "10"),
            (-0.25, "-0.25"),
            (0.000_123_456_78, "0.000123457"),
            (1e-9, "1e-9"),
            (1.234_567_8e-7, "1.23457e-7"),
            (0.999_999_99, "1"),
            (123_456_789.0, "123456789"),
            (1.5e12, "1.5e12"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(Show::Significant(6).text(Some(value)), text);
        }
    }
}
