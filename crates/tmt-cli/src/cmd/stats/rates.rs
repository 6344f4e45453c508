//! `tmt stats --rate-window` and `--rates`: the rate of a trace over time.

use tmt_core::format::records::{Records, Value};
use tmt_core::stats::{MOST_WINDOWS, RATE_WINDOW, RateTally};
use tmt_core::types::{Bytes, Metadata, Span, Time, TraceKind};

use crate::exit::{Failure, Outcome};

/// Flags of the rate over time.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct RateArgs {
    /// Length of the windows over which rates are taken, for traces of any kind [default: 1s for capacity traces]
    #[arg(long, value_name = "DURATION")]
    rate_window: Option<Span>,
    /// Write the rate of each window to a file: CSV, or the format of the extension: .csv.gz, .csv.zst, .parquet
    #[arg(long, value_name = "FILE")]
    pub(super) rates: Option<String>,
}

impl RateArgs {
    /// The tally that the flags ask for, or that a trace with this head has by default.
    pub(super) fn tally(&self, head: &Metadata, lldu: Option<Bytes>) -> Outcome<Option<RateTally>> {
        let is_asked = self.rate_window.is_some() || self.rates.is_some();
        if self.rate_window.is_some_and(Span::is_zero) {
            return Err(Failure::usage(
                "--rate-window: found 0, expected more than 0",
            ));
        }
        if lldu.is_none() && is_asked {
            return Err(Failure::usage(
                "--rate-window, --rates: found no size of LLDUs in the trace, expected --lldu",
            ));
        }
        let by_default = head.trace_kind() == Some(TraceKind::Capacity) && lldu.is_some();
        if !is_asked && !by_default {
            return Ok(None);
        }
        let tally = RateTally::new(self.rate_window.unwrap_or(RATE_WINDOW));
        Ok(Some(if self.rates.is_some() {
            tally.listing()
        } else {
            tally
        }))
    }

    /// The table of the windows, a row each.
    pub(super) fn table(tally: &RateTally, lldu: Bytes) -> Outcome<Records> {
        let Some(windows) = tally.listed() else {
            return Err(Failure::failed(format!(
                "--rates: found more than {MOST_WINDOWS} windows, expected fewer: give a longer --rate-window"
            )));
        };
        let mut table = Records::default();
        for window in windows {
            let begin = window.begin.since(Time::ZERO).as_secs_f64();
            let count = |count: u64| i64::try_from(count).ok().map(Value::Whole);
            table.row([
                ("time_s", Some(Value::Real(begin))),
                (
                    "rate_bps",
                    Some(Value::Real(tally.rate_bps(window.received, lldu))),
                ),
                ("slots", count(window.slots)),
                ("slots_erased", count(window.slots - window.received)),
            ]);
        }
        Ok(table)
    }
}
