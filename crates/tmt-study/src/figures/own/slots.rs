//! The slots of a link alone: how many are erased, in what runs, and what the link is.

use fluid_tcp::experiment::{Error, Experiment, InMemory};
use serde_json::Value;
use tmt_core::types::{Span, to_f64};

use crate::record::Fields;

/// Statistics of the generated slots.
pub(super) fn run(experiment: &Experiment, stopped: &dyn Fn() -> bool) -> Result<Fields, String> {
    let loaded = experiment.chain_slots(&InMemory, experiment.seed().0);
    let loaded = loaded.map_err(|error| error.to_string())?;
    let (mut slots, mut erased, mut bursts) = (0_u64, 0_u64, 0_u64);
    let mut was_erased = false;
    for block in loaded.rows.slots() {
        if stopped() {
            return Err(Error::Stopped.to_string());
        }
        for slot in block.map_err(|error| error.to_string())? {
            let is_erased = slot.is_erased();
            slots += 1;
            erased += u64::from(is_erased);
            bursts += u64::from(is_erased && !was_erased);
            was_erased = is_erased;
        }
    }
    let of_head = |key: &str| {
        loaded
            .head
            .get(key)
            .and_then(|text| text.parse::<f64>().ok())
    };
    let ratio = |one: u64, other: u64| (other > 0).then(|| to_f64(one) / to_f64(other));
    let delay = loaded.rows.median_delay().map(Span::as_secs_f64);
    let results = [
        ("slots", Some(to_f64(slots))),
        ("erasure_ratio", ratio(erased, slots)),
        ("mean_burst_slots", ratio(erased, bursts)),
        ("rate_bps", of_head("rate_bps")),
        ("lldu_bytes", of_head("lldu_bytes")),
        ("decode_delay_s", delay),
    ];
    let results = results.into_iter();
    Ok(results
        .map(|(name, number)| (name.to_owned(), Value::from(number)))
        .collect())
}
