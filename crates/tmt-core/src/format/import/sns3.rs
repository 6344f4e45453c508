//! Tables of SNS3: received power over time, and error rates over Es/N0. Neither says of a packet whether it arrived, so both
//! are refused with what can use them (docs/trace-format.md, Sec. 12.16).

use super::{Files, Given, Import, ImportError, Importer, Key, Lines, Remark, TRACE, whole_lines};
use crate::format::foreign::Carries;
use crate::types::{Error, ErrorKind, Result, TraceKind};

/// Importer of tables of SNS3, which refuses them.
#[derive(Debug)]
pub struct Format;

impl Importer for Format {
    fn name(&self) -> &'static str {
        "sns3"
    }

    fn about(&self) -> &'static str {
        "tables of SNS3, which hold no packets: refused with what can use them"
    }

    fn kind(&self) -> TraceKind {
        TraceKind::Probe
    }

    fn carries(&self) -> Carries {
        Carries::NOTHING
    }

    fn recognises(&self, first: &[u8]) -> bool {
        let mut rows = whole_lines(first).map(|line| table(line.trim_ascii()));
        let Some(Some(kind)) = rows.next() else {
            return false;
        };
        rows.all(|row| row == Some(kind))
    }

    fn keys(&self) -> &'static [Key] {
        &[TRACE]
    }

    fn open(
        &self,
        _: &Given,
        files: &mut dyn Files,
        _: &mut dyn FnMut(Remark),
    ) -> Result<Import, ImportError> {
        let mut lines = Lines::new(files.open(TRACE.name).map_err(Error::from)?);
        let kind = if lines.advance()? {
            table(lines.text())
        } else {
            return Err(Error::new(ErrorKind::EmptyTrace).into());
        };
        let (found, way) = match kind {
            Some(Table::Power) => (
                "received power over time (s, W/Hz)",
                "`tmt synth --scenario NAME --fading-in FILE --fading-format sns3` makes a trace of it",
            ),
            Some(Table::ErrorRate) => (
                "error rates over Es/N0 (dB)",
                "`tmt synth --scenario NAME --error-curve FILE` uses them as the curve of a code",
            ),
            None => (
                "no table of SNS3",
                "a trace of ns-3 is read with --from ns3 or ns2",
            ),
        };
        let expected = format!("a record per packet, which no table of SNS3 has; {way}");
        Err(lines
            .error(ErrorKind::format(found, expected.replace('`', "'")))
            .into())
    }
}

/// Tables of SNS3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    /// `time_s W/Hz`, which is tiny.
    Power,
    /// `es_n0_db error_rate`.
    ErrorRate,
}

/// The table that a line is of.
fn table(line: &[u8]) -> Option<Table> {
    let fields = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let numbers: Option<Vec<f64>> = fields.map(|field| field.parse().ok()).collect();
    match numbers?[..] {
        [time, power] if time >= 0.0 && power > 0.0 && power < 1e-9 => Some(Table::Power),
        [es_n0, rate] if es_n0.abs() < 100.0 && (0.0..=1.0).contains(&rate) => {
            Some(Table::ErrorRate)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::refusal_of_files as refusal;
    use super::*;

    #[test]
    fn each_table_is_refused_with_what_can_use_it() {
        for (text, way) in [
            (
                "0.269673\t2.77e-21\n0.27\t2.8e-21\n",
                "--fading-format sns3",
            ),
            ("3.9155 2.76e-3\n4.1 1e-4\n", "--error-curve FILE"),
            ("1,2,3\n", "--from ns3 or ns2"),
        ] {
            let error = refusal(&Format, &[("trace", text)], &[]);
            assert!(
                error.contains(way) && error.contains("a record per packet"),
                "{error}"
            );
        }
        assert!(
            Format.recognises(b"0.269673\t2.77e-21\n") && Format.recognises(b"3.9155 2.76e-3\n")
        );
        assert!(!Format.recognises(b"1\n2\n") && !Format.recognises(b"0 250\n1 260\n"));
    }
}
