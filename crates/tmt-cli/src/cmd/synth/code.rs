//! `--cn0`: slots that a real decoder loses at a C/N0, at the information rate of code and modulation.

use tmt_core::coding::spec::CodeSpec;
use tmt_core::model::linkbudget::Carrier;
use tmt_core::types::{BitRate, Bytes, to_f64};

use super::Args;
use crate::cmd::code::CN0_DBHZ;
use crate::exit::{Failure, Outcome};

/// Flags of a code over a carrier.
#[derive(Debug, clap::Args)]
pub(super) struct CodeArgs {
    /// Carrier power over noise density, such as 72dBHz: lose the slots that a real decoder of --code fails on, such as
    /// conv:3/4+rs:239/223. A slot is a codeword of the outer code, or an LLDU of the inner code alone; the rate is that of the
    /// information
    #[arg(long, value_name = "DBHZ", conflicts_with_all = ["scenario", "channel", "rate"],
          requires_all = ["code", "channel_rate"], value_parser = decibels)]
    cn0: Option<f64>,
    /// Rate of the channel bits: symbols per second, times 1 for BPSK, 2 for QPSK
    #[arg(long, value_name = "RATE", requires = "cn0")]
    channel_rate: Option<BitRate>,
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
    let (Some(code), Some(cn0_db), Some(channel_rate)) =
        (&args.radio.code, flags.cn0, flags.channel_rate)
    else {
        return Ok(None);
    };
    let code: CodeSpec = code
        .parse()
        .map_err(|refused| Failure::usage(format!("--code {code}: {refused}")))?;
    // Channel bits of BPSK and QPSK are alike: only their rate matters.
    let carrier = Carrier {
        cn0_db,
        bits: 1.0,
        symbols: to_f64(channel_rate.0),
        part: 1.0,
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
            "--channel-rate {channel_rate}: found an information rate below 1 bit/s, expected more"
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
    let number = number.filter(|db: &f64| CN0_DBHZ.contains(db));
    number.ok_or_else(|| "expected a C/N0 from -100dBHz to 200dBHz, such as 72dBHz".to_owned())
}
