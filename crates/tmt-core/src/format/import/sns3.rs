//! Tables of SNS3: received power over time, and error rates over Es/N0. Neither says of a packet whether it arrived, so both
//! are refused with what can use them (docs/trace-format.md, Sec. 12.16).

use super::{Importer, Lines, TRACE, whole_lines};
use crate::format::foreign::Carries;
use crate::types::{Error, ErrorKind, TraceKind};

/// Importer of tables of SNS3, which refuses them.
pub static FORMAT: Importer = Importer {
    name: "sns3",
    about: "tables of SNS3, which hold no packets: refused with what can use them",
    kind: TraceKind::Probe,
    carries: Carries::NOTHING,
    keys: &[TRACE],
    recognises: |first| {
        let mut rows = whole_lines(first).map(|line| table(line.trim_ascii()));
        let Some(Some(kind)) = rows.next() else {
            return false;
        };
        rows.all(|row| row == Some(kind))
    },
    open: |_, files, _| {
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
    },
};

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
