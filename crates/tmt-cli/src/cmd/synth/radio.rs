//! Flags of `tmt synth` for channels with an Es/N0: error curves, and fades that are written or read.

use std::sync::{Arc, OnceLock};

use tmt_core::channel::SlotChannel;
use tmt_core::format::table::{Cell, Column, Kind, TableWriter};
use tmt_core::radio::{
    ErrorCurve, FadeFile, FadeFormat, FadeOptions, Modulation, Outside, Points, RadioChannel,
    RadioError, Series,
};
use tmt_core::types::{Bytes, Metadata, Span, Time};

use super::Made;
use crate::exit::{Failure, Outcome, note, warning};
use crate::input::{open_table, text};
use crate::output::{Output, table_form};

/// Flags of channels with an Es/N0.
#[derive(Debug, clap::Args)]
pub(super) struct RadioArgs {
    /// Error curve of the code words by name, such as dvb-s2:qpsk-1/2; as --set code=NAME. --list-codes shows all. With --cn0 a
    /// code that is really decoded
    #[arg(long, value_name = "NAME")]
    pub(super) code: Option<String>,
    /// Error curve of the code words from a file: lines of Es/N0 in dB and error rate, for QPSK
    #[arg(
        long,
        value_name = "FILE",
        requires = "scenario",
        conflicts_with = "code"
    )]
    error_curve: Option<String>,
    /// Outside the error curve take the rate of its nearer end, instead of refusing
    #[arg(long, requires = "error_curve")]
    clamp_curve: bool,
    /// Write Es/N0 over time, as CSV or Parquet by the name of the file
    #[arg(long, value_name = "FILE")]
    pub(super) fading_out: Option<String>,
    /// Take Es/N0 over time from a file instead of the model: what --fading-out writes, or attenuation in dB, which is
    /// subtracted from Es/N0; also files of OpenSAND and SNS3
    #[arg(long, value_name = "FILE")]
    fading_in: Option<String>,
    /// Format of --fading-in [default: by its content]
    #[arg(long, value_name = "csv|opensand|sns3", requires = "fading_in")]
    fading_format: Option<FadeFormat>,
    /// Time between the steps that an OpenSAND file counts; other files have times
    #[arg(long, value_name = "D", requires = "fading_in")]
    fading_step: Option<Span>,
    /// Longest time between two rows of --fading-in [default: ten times the median]
    #[arg(long, value_name = "D", requires = "fading_in")]
    fading_gap: Option<Span>,
    /// Text of --fading-in, which may be a pipe and so is read once.
    #[arg(skip)]
    fade: OnceLock<String>,
}

/// Options of fades in messages of the library, and their flags.
const FLAGS: [(&str, &str); 2] = [
    ("`step`", "--fading-step"),
    ("`longest_gap`", "--fading-gap"),
];

/// Columns of a fade.
const COLUMNS: &[Column] = &[
    Column::always("time", Kind::Time),
    Column::always("es_n0_db", Kind::Exact),
];

impl RadioArgs {
    /// The value of the parameter `code` that the flags give.
    pub(super) fn code(&self) -> Outcome<Option<String>> {
        let Some(path) = &self.error_curve else {
            return Ok(self.code.clone());
        };
        let text = read(path, LONGEST_CURVE)?;
        let outside = if self.clamp_curve {
            Outside::Clamp
        } else {
            Outside::Refuse
        };
        let points = Points::read(&text, outside);
        let points = points.map_err(|error| Failure::failed(format!("{path}: {error}")))?;
        Ok(Some(
            ErrorCurve::Points(points, Modulation::Qpsk).to_string(),
        ))
    }

    /// The flag that gives the parameter `code`.
    pub(super) fn code_flag(&self) -> Option<&'static str> {
        match (&self.code, &self.error_curve) {
            (Some(_), _) => Some("--code"),
            (None, Some(_)) => Some("--error-curve"),
            (None, None) => None,
        }
    }

    /// Refuses flags of error curves where there is no scenario.
    pub(super) fn refuse_without_scenario(&self) -> Outcome {
        let Some(flag) = self.code_flag() else {
            return Ok(());
        };
        Err(Failure::usage(format!(
            "{flag}: found neither --scenario nor --cn0, expected one; a --channel has its own code: --channel land-mobile:es-n0=6dB,code=NAME"
        )))
    }

    /// Refuses flags that have no effect beside `--cn0`.
    pub(super) fn refuse_beside_code(&self) -> Outcome {
        let flags = [
            ("--error-curve", self.error_curve.is_some()),
            ("--clamp-curve", self.clamp_curve),
            ("--fading-in", self.fading_in.is_some()),
            ("--fading-out", self.fading_out.is_some()),
        ];
        match flags.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::usage(format!(
                "{flag}: found --cn0, expected --scenario: white noise at a C/N0 has no fade and no error curve"
            ))),
        }
    }

    /// Refuses a fade and slots on the same stdout.
    pub(super) fn refuse_shared_stdout(&self, slots: Option<&str>) -> Outcome {
        let stdout = |path: Option<&str>| path.is_none_or(|path| path == "-");
        let fade = self.fading_out.as_deref();
        if fade.is_some() && stdout(fade) && stdout(slots) {
            return Err(Failure::usage(
                "--fading-out -: the slots go to stdout, too; add -o FILE",
            ));
        }
        Ok(())
    }

    /// Refuses flags of a fade where there is no channel.
    pub(super) fn refuse_without_channel(&self) -> Outcome {
        let flags = [
            ("--fading-in", &self.fading_in),
            ("--fading-out", &self.fading_out),
        ];
        match flags.iter().find(|(_, path)| path.is_some()) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::usage(format!(
                "{flag}: found neither --scenario nor --channel, expected one with an Es/N0, such as land-mobile"
            ))),
        }
    }

    /// Whether a fade is written or read.
    pub(super) fn has_fade(&self) -> bool {
        self.fading_in.is_some() || self.fading_out.is_some()
    }

    /// The file of a measured fade.
    pub(super) fn measured(&self) -> Option<&str> {
        self.fading_in.as_deref()
    }

    /// The files that are read.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &String> {
        self.fading_in.iter().chain(&self.error_curve)
    }

    /// A message of the library with flags in place of what the library calls its options.
    pub(super) fn with_flags(&self, error: impl std::fmt::Display) -> String {
        let error = error.to_string();
        let error = FLAGS
            .iter()
            .fold(error, |error, (option, flag)| error.replace(option, flag));
        if self.error_curve.is_some() {
            error.replace("`@clamp` after the points", "--clamp-curve")
        } else {
            error
        }
    }

    /// The text of the measured fade in `path`.
    fn fade_text(&self, path: &str) -> Outcome<&str> {
        if let Some(text) = self.fade.get() {
            return Ok(text);
        }
        let text = read(path, LONGEST_FADE)?;
        Ok(self.fade.get_or_init(|| text))
    }

    /// The measured fade, for a channel with this Es/N0 over this time; and whether it is an attenuation.
    pub(super) fn series(&self, es_n0_db: f64, duration: Span) -> Outcome<Option<(Series, bool)>> {
        let Some(path) = &self.fading_in else {
            return Ok(None);
        };
        let options = FadeOptions {
            format: self.fading_format,
            step: self.fading_step,
            longest_gap: self.fading_gap,
        };
        let failed = |error: String| Failure::failed(format!("{path}: {error}"));
        let refused = |error: RadioError| failed(self.with_flags(error));
        let fade = FadeFile::read(self.fade_text(path)?, options).map_err(refused)?;
        let series = fade.series(es_n0_db).map_err(refused)?;
        let what = if fade.attenuation {
            format!("attenuation, subtracted from {es_n0_db} dB")
        } else {
            "Es/N0".to_owned()
        };
        let lasts = series.end().since(Time::ZERO);
        note!("synth", "{path}: {what}, {} over {lasts}", fade.format);
        if let Some(start) = fade.start().filter(|start| *start > Time::ZERO) {
            warning!(
                "synth",
                "--fading-in {path}: its first row, at {start}, is time 0 of the trace; cut it or add a row at 0 to have it otherwise"
            );
        }
        if lasts < duration {
            return Err(failed(format!(
                "found a fade of {lasts}, expected at least the duration of {duration}; give --duration {lasts} or a longer fade"
            )));
        }
        Ok(Some((series, fade.attenuation)))
    }

    /// The channel with the measured fade of the flags, if there is one.
    pub(super) fn on_fade(&self, channel: SlotChannel, duration: Span) -> Outcome<SlotChannel> {
        if self.fading_in.is_none() && self.fading_out.is_none() {
            return Ok(channel);
        }
        let Some(radio) = channel.radio() else {
            return Err(Failure::usage(format!(
                "--fading-in and --fading-out: found channel {channel}, expected one with an Es/N0, such as land-mobile"
            )));
        };
        if self.fading_in.is_some() && channel.link().is_some() {
            return Err(Failure::usage(
                "--fading-in: found --channel scenario, expected --scenario with the same values, which takes a measured fade",
            ));
        }
        let parameters = radio.parameters().clone();
        let Some((series, _)) = self.series(parameters.es_n0_db, duration)? else {
            return Ok(channel);
        };
        let radio = RadioChannel::of_series(series, &parameters);
        let radio = radio.map_err(|error| Failure::failed(self.with_flags(error)))?;
        Ok(SlotChannel::Timed(Arc::new(radio)))
    }

    /// The part of the command that names the measured fade: its content in short, as files have no names in heads.
    pub(super) fn recorded(&self) -> Outcome<String> {
        let Some(path) = &self.fading_in else {
            return Ok(String::new());
        };
        // FNV-1a, 64 bits.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let hash = self
            .fade_text(path)?
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, step);
        Ok(format!(" --fading-in fnv1a:{hash:016x}"))
    }

    /// Writes Es/N0 over the time of `made`, and over the window of its last slot.
    pub(super) fn write_fade(&self, made: &Made) -> Outcome {
        let (Some(path), Some(erased)) = (&self.fading_out, &made.erased) else {
            return Ok(());
        };
        let Some(radio) = erased.channel.radio() else {
            return Err(Failure::usage(format!(
                "--fading-out: found channel {}, expected one with an Es/N0, such as land-mobile",
                erased.channel
            )));
        };
        let window = radio.parameters().interleaver.max(erased.on_air);
        let until = made.slots.last().saturating_add(window);
        let mut head = Metadata::new();
        for (key, value) in made.head.iter() {
            head.push(key, value);
        }
        let output = Output::create(Some(path))?;
        let failed = |error: std::io::Error| Failure::io(path, &error);
        let mut table =
            TableWriter::new(output, table_form(path)?, COLUMNS, &head).map_err(failed)?;
        for (time, es_n0_db) in radio.fade(erased.seed, 0).over_time(0) {
            let row = [Cell::Time(time.as_nanos()), Cell::Exact(es_n0_db)];
            table.row(&row).map_err(failed)?;
            if time > until {
                break;
            }
        }
        table.finish().map_err(failed)?.finish()
    }
}

/// Longest text of a fade: a day at 50 rows a second.
const LONGEST_FADE: Bytes = Bytes(100_000_000);

/// Longest text of an error curve or a table of MODCODs.
pub(super) const LONGEST_CURVE: Bytes = Bytes(1 << 20);

/// The text of a file, or of stdin for `-`, which may be compressed or Parquet.
pub(super) fn read(path: &str, longest: Bytes) -> Outcome<String> {
    text(open_table("synth", Some(path))?, longest)
}
