//! `--cn0`: slots that a real decoder loses at a C/N0, at the information rate of code and modulation.

use tmt_core::coding::spec::CodeSpec;
use tmt_core::model::linkbudget::Carrier;
use tmt_core::types::{BitRate, Bytes};

use super::Args;
use crate::exit::{Failure, Outcome};

/// Flags of a code over a carrier.
#[derive(Debug, clap::Args)]
pub(super) struct CodeArgs {
    /// Carrier power over noise density, such as 72dBHz: lose the slots that a real decoder of --code fails on, such as
    /// conv:3/4+rs:239/223. A slot is a codeword of the outer code, or an LLDU of the inner code alone; the rate is that of the
    /// information
    #[arg(long, value_name = "DBHZ", conflicts_with_all = ["scenario", "channel", "rate"],
          requires_all = ["code", "symbol_rate", "modulation"], value_parser = decibels)]
    cn0: Option<f64>,
    /// Symbol rate of the carrier, symbols/s, such as 2M
    #[arg(long, value_name = "RATE", requires = "cn0", value_parser = symbols)]
    symbol_rate: Option<f64>,
    /// Modulation of the carrier
    #[arg(long, value_name = "NAME", requires = "cn0")]
    modulation: Option<Modulation>,
    /// Assigned share of the carrier, above 0 and at most 1
    #[arg(long, value_name = "S", requires = "cn0", default_value_t = 1.0, value_parser = share)]
    share: f64,
}

/// Modulations whose channel bits have the same error rate at the same Ec/N0: 1 and 2 bits per symbol. Without a text for each, which
/// would stretch the help of all flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Modulation {
    Bpsk,
    Qpsk,
}

/// The link of the flags.
pub(super) struct Coded {
    pub(super) rate: BitRate,
    pub(super) lldu: Bytes,
    /// Text of the channel.
    pub(super) channel: String,
}

/// The link of the flags; `None` without `--cn0`.
pub(super) fn link(args: &Args) -> Outcome<Option<Coded>> {
    let flags = &args.code;
    let (Some(code), Some(cn0_db), Some(symbols), Some(modulation)) = (
        &args.radio.code,
        flags.cn0,
        flags.symbol_rate,
        flags.modulation,
    ) else {
        return Ok(None);
    };
    let code: CodeSpec = code
        .parse()
        .map_err(|refused| Failure::usage(format!("--code {code}: {refused}")))?;
    let bits = match modulation {
        Modulation::Bpsk => 1.0,
        Modulation::Qpsk => 2.0,
    };
    let carrier = Carrier {
        cn0_db,
        bits,
        symbols,
        part: flags.share,
    };
    let (lldu, of_slot) = match (code.outer_data_bytes().map(Bytes), args.lldu) {
        (Some(data), None) => (data, String::new()),
        (Some(data), Some(lldu)) if lldu == data => (data, String::new()),
        (Some(data), Some(lldu)) => {
            return Err(Failure::usage(format!(
                "--lldu {lldu}: found a code whose codewords have {data} of data, expected that size or no --lldu: a slot is a codeword"
            )));
        }
        (None, Some(lldu)) => (lldu, format!(",lldu={lldu}")),
        (None, None) => {
            return Err(Failure::usage(format!(
                "--code {code}: expected --lldu, too, the size of a slot, which only an outer code gives"
            )));
        }
    };
    let rate = tmt_core::math::num::floor_u64(carrier.information_rate(code.rate()).round());
    if rate == 0 {
        return Err(Failure::usage(format!(
            "--symbol-rate {symbols}: found an information rate below 1 bit/s, expected more"
        )));
    }
    Ok(Some(Coded {
        rate: BitRate(rate),
        lldu,
        channel: format!("coded:code={code},ecn0={:.9}dB{of_slot}", carrier.ecn0_db()),
    }))
}

fn decibels(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("dBHz").and_then(|db| db.parse().ok());
    let number = number.filter(|db: &f64| (-100.0..=200.0).contains(db));
    number.ok_or_else(|| "expected a C/N0 from -100dBHz to 200dBHz, such as 72dBHz".to_owned())
}

fn symbols(text: &str) -> Result<f64, String> {
    let bare = text.strip_suffix("Bd").unwrap_or(text);
    let (digits, factor) = match bare.as_bytes().last() {
        Some(b'k') => (&bare[..bare.len() - 1], 1e3),
        Some(b'M') => (&bare[..bare.len() - 1], 1e6),
        Some(b'G') => (&bare[..bare.len() - 1], 1e9),
        _ => (bare, 1.0),
    };
    let number = digits.parse().ok().map(|number: f64| number * factor);
    let number = number.filter(|rate| (1.0..=1e12).contains(rate));
    number
        .ok_or_else(|| "expected symbols per second from 1 to 1e12, such as 2M or 2MBd".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let number = text
        .parse()
        .ok()
        .filter(|share: &f64| *share > 0.0 && *share <= 1.0);
    number.ok_or_else(|| "expected a share above 0 and at most 1, such as 0.5".to_owned())
}
