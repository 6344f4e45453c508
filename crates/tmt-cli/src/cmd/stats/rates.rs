//! `tmt stats --rate-window` and `--rates`: the rate of a trace over time.

use tmt_core::format::records::{Records, Value};
use tmt_core::format::table::TableForm;
use tmt_core::stats::{self, MOST_WINDOWS, RATE_WINDOW, RateTally};
use tmt_core::types::{Bytes, Metadata, Slot, Span, Time, TraceKind};

use crate::exit::{Failure, Outcome, warning};
use crate::output::{Output, document, refuse_two_on_stdout, table_form};

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

/// The rate over time in the making.
pub(super) struct Rates {
    tally: RateTally,
    lldu: Bytes,
    file: Option<(Output, TableForm)>,
    is_asked: bool,
}

impl RateArgs {
    /// The form of the file of --rates, which must not meet the report on stdout.
    pub(super) fn form(&self, report: Option<&str>) -> Outcome<Option<TableForm>> {
        let rates = self.rates.as_deref();
        refuse_two_on_stdout("--rates", rates, report)?;
        rates.map(table_form).transpose()
    }

    /// Rates that the flags ask for, or that a trace with this head has by default.
    pub(super) fn begin(
        &self,
        form: Option<TableForm>,
        head: &Metadata,
        lldu: Option<Bytes>,
    ) -> Outcome<Option<Rates>> {
        let is_asked = self.rate_window.is_some() || self.rates.is_some();
        if self.rate_window.is_some_and(Span::is_zero) {
            return Err(Failure::usage(
                "--rate-window: found 0, expected more than 0",
            ));
        }
        let Some(lldu) = lldu else {
            return if is_asked {
                Err(Failure::usage(
                    "--rate-window, --rates: found no size of LLDUs in the trace, expected --lldu",
                ))
            } else {
                Ok(None)
            };
        };
        if !is_asked && head.trace_kind() != Some(TraceKind::Capacity) {
            return Ok(None);
        }
        let tally = RateTally::new(self.rate_window.unwrap_or(RATE_WINDOW));
        let Some(form) = form else {
            return Ok(Some(Rates {
                tally,
                lldu,
                file: None,
                is_asked,
            }));
        };
        Ok(Some(Rates {
            tally: tally.listing(),
            lldu,
            file: Some((Output::create(self.rates.as_deref())?, form)),
            is_asked,
        }))
    }
}

impl Rates {
    /// Adds the next rows.
    pub(super) fn slots(&mut self, slots: &[Slot]) {
        self.tally.slots(slots);
    }

    /// Says that no window ended, where rates are asked for.
    pub(super) fn warn(&self) {
        if !self.is_asked {
            return;
        }
        warning!(
            "stats",
            "the trace is shorter than a window of {}: no rate over time; a shorter --rate-window",
            self.tally.window()
        );
    }

    /// The rates; `None` if the trace is shorter than a window.
    pub(super) fn figures(&self) -> Option<stats::Rates> {
        self.tally.finish(self.lldu)
    }

    /// Writes the file of --rates, which still has a temporary name.
    pub(super) fn write(self) -> Outcome<Option<Output>> {
        let Some((mut output, form)) = self.file else {
            return Ok(None);
        };
        let Some(windows) = self.tally.listed() else {
            return Err(Failure::failed(format!(
                "--rates: found more than {MOST_WINDOWS} windows, expected fewer: give a longer --rate-window"
            )));
        };
        let mut table = Records::default();
        for window in windows {
            let begin = window.begin.since(Time::ZERO).as_secs_f64();
            let rate_bps = self.tally.rate_bps(window.received, self.lldu);
            let count = |count: u64| i64::try_from(count).ok().map(Value::Whole);
            table.row([
                ("time_s", Some(Value::Real(begin))),
                ("rate_bps", Some(Value::Real(rate_bps))),
                ("slots", count(window.slots)),
                ("slots_erased", count(window.slots - window.received)),
            ]);
        }
        document::write(&table, &mut output, form, "tmt.rates/1", &[])?;
        Ok(Some(output))
    }
}
