//! `fec`: block erasure codes, optionally interleaved, on a Gilbert–Elliott channel (docs/models.md, Sec. 3.1).

use super::arq::RTT;
use super::chain::{Chain, Measure};
use super::ge::{self, ALPHA, BETA, DEPTH, PB, PG};
use super::{Arguments, ModelError};
use crate::types::to_f64;

keys! {
    pub(super) ND: Count(1, 65_535), "nd" | "ND" = 10, "data LLDUs of a codeword";
    pub(super) NR: Count(0, 65_534), "nr" | "NR" = 2, "repair LLDUs of a codeword";
    pub(super) TP: NonNegative, "tp" | "TP" = 0.0, "time per LLDU, s";
}

/// Largest number of LLDUs of a codeword, as in the text of a scheme.
const MOST: u64 = 65_535;

/// A systematic block code ND/N, and the channel between its LLDUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Code {
    /// The channel between consecutive LLDUs of a codeword, interleaving included.
    pub chain: Chain,
    /// Data LLDUs ND, at least 1.
    pub data: usize,
    /// Repair LLDUs NR, 0 or more.
    pub repair: usize,
}

/// Outcome of a codeword that is sent once.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Block {
    /// P(at most NR erasures among N).
    pub decode: f64,
    /// P(more than NR erasures among N), summed separately to keep its precision.
    pub fail: f64,
    /// Mean data LLDUs per codeword that are erased in a codeword that fails.
    pub lost: f64,
    /// Mean data LLDUs per codeword that are received in a codeword that fails.
    pub kept: f64,
}

/// Recovery of erased data LLDUs by their codeword.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recovery {
    /// P(the codeword decodes | one of its data LLDUs is erased), averaged over the data LLDUs.
    pub given_erased: f64,
    /// Mean wait of a data LLDU until the end of the codeword, in LLDUs; 0 if it is received or never recovered.
    pub until_end: f64,
    /// The same until the ND-th received LLDU of the codeword.
    pub until_enough: f64,
}

impl Code {
    /// All LLDUs of a codeword, N.
    #[must_use]
    pub fn units(&self) -> usize {
        self.data + self.repair
    }

    /// Calls `each` with a, l and the joint probability J(a, l) of a erasures among the data and l among the repair LLDUs,
    /// for every pair with a + l > NR.
    pub(super) fn failures(&self, mut each: impl FnMut(usize, usize, f64)) {
        let (data, good, bad) = self.joint();
        for a in 0..data.counts() {
            let [to_good, to_bad] = data.states(a);
            let least = (self.repair + 1).saturating_sub(a);
            for l in least..good.counts().max(bad.counts()) {
                each(a, l, to_good * good.at(l) + to_bad * bad.at(l));
            }
        }
    }

    /// Erasures among the data LLDUs by the state of the next LLDU, and among the repair LLDUs from each initial state.
    fn joint(&self) -> (Measure, Measure, Measure) {
        let repair = |start| Measure::new(self.chain, self.repair, start).after(self.repair);
        (
            Measure::stationary(self.chain, self.data).after(self.data),
            repair([1.0, 0.0]),
            repair([0.0, 1.0]),
        )
    }

    /// Outcome of a codeword that is sent once.
    #[must_use]
    pub fn block(&self) -> Block {
        let (data, good, bad) = self.joint();
        let tails = [tails(&good), tails(&bad)];
        self.block_of(data.counts(), |a| {
            let [to_good, to_bad] = data.states(a);
            // Erasures among the repair LLDUs that make the codeword fail.
            let more = (self.repair + 1).saturating_sub(a);
            let allowed = self.repair.checked_sub(a);
            [
                to_good * tails[0](more) + to_bad * tails[1](more),
                allowed.map_or(0.0, |most| {
                    to_good * good.up_to(most) + to_bad * bad.up_to(most)
                }),
            ]
        })
    }

    /// [`Self::block`] with data and repair LLDUs erased independently of each other, as in the factorisation
    /// P(a, ND)·P(l, NR) of Kuhn 2015.
    #[must_use]
    pub fn block_of_products(&self) -> Block {
        let data = Measure::stationary(self.chain, self.data).after(self.data);
        let repair = Measure::stationary(self.chain, self.repair).after(self.repair);
        let tails = tails(&repair);
        self.block_of(data.counts(), |a| {
            let weight = data.at(a);
            let more = (self.repair + 1).saturating_sub(a);
            let allowed = self.repair.checked_sub(a);
            [
                weight * tails(more),
                allowed.map_or(0.0, |most| weight * repair.up_to(most)),
            ]
        })
    }

    /// Sums over the number of erasures among the data LLDUs. For a number, `shares` returns its joint probabilities with
    /// failure and with decoding.
    fn block_of(&self, counts: usize, shares: impl Fn(usize) -> [f64; 2]) -> Block {
        let mut block = Block::default();
        for a in 0..counts {
            let [fail, decode] = shares(a);
            block.decode += decode;
            block.fail += fail;
            block.lost += of(a) * fail;
            block.kept += of(self.data - a) * fail;
        }
        // Rounding may bring a sum of probabilities slightly above 1.
        block.decode = block.decode.min(1.0);
        block.fail = block.fail.min(1.0);
        block
    }

    /// Recovery of erased data LLDUs; the limit for rare erasures if the channel erases nothing.
    #[must_use]
    pub fn recovery(&self) -> Recovery {
        let chain = self.chain.nearly();
        let (units, most) = (self.units(), self.repair);
        let mut plain = Measure::stationary(chain, most);
        // Weighted by the erased data LLDUs so far, and by their distances from the end of the codeword.
        let mut erased = Measure::new(chain, most, [0.0; 2]);
        let mut waits = Measure::new(chain, most, [0.0; 2]);
        let mut saved = 0.0;
        for k in 1..=units {
            erased.step();
            waits.step();
            if k <= self.data {
                let hit = plain.erased();
                erased.add(&hit, 1.0);
                waits.add(&hit, of(units - k));
            }
            plain.step();
            if (self.data..units).contains(&k) {
                // ND LLDUs have been received after k.
                saved += erased.up_to(k - self.data);
            }
        }
        let data = of(self.data);
        let real = if self.chain == chain { 1.0 } else { 0.0 };
        Recovery {
            given_erased: (erased.up_to(most) / (data * chain.erasure_probability())).min(1.0),
            until_end: real * waits.up_to(most) / data,
            until_enough: real * (waits.up_to(most) - saved) / data,
        }
    }

    /// P(recovered | erased) as printed in Kuhn 2015, eq. (2), which treats the other N − 1 LLDUs as unconditioned (K4).
    #[must_use]
    pub fn printed_recovery(&self) -> f64 {
        if self.repair == 0 {
            return 0.0;
        }
        let others = Measure::stationary(self.chain, self.repair).after(self.units() - 1);
        others.up_to(self.repair - 1)
    }
}

/// P(at least n) as a function of n, summed from the end so that small tails keep their precision.
fn tails(law: &Measure) -> impl Fn(usize) -> f64 + use<> {
    let mut tails = vec![0.0; law.counts() + 1];
    for count in (0..law.counts()).rev() {
        tails[count] = tails[count + 1] + law.at(count);
    }
    move |count| tails.get(count).copied().unwrap_or(0.0)
}

/// `count` as a double.
pub(super) fn of(count: usize) -> f64 {
    to_f64(count as u64)
}

/// The code of the arguments, on the channel between its LLDUs.
pub(super) fn code(arguments: &Arguments) -> Result<Code, ModelError> {
    let (data, repair) = (arguments.count(&ND), arguments.count(&NR));
    if data + repair > MOST {
        return Err(ModelError::refused(format!(
            "nd + nr: found {} LLDUs per codeword, expected at most {MOST}",
            data + repair
        )));
    }
    Ok(Code {
        chain: ge::interleaved(arguments)?,
        data: arguments.size(&ND),
        repair: arguments.size(&NR),
    })
}

/// Data LLDUs delivered / LLDUs sent, from the number of received LLDUs (Kuhn 2015, eq. (1), with K3).
fn efficiency_by_count(code: &Code, decode: f64) -> f64 {
    let units = code.units();
    let law = Measure::stationary(code.chain, units).after(units);
    let undecoded: f64 = (1..code.data)
        .map(|through| of(through) * law.at(units - through))
        .sum();
    (undecoded + of(code.data) * decode) / of(units)
}

/// Remark on what `delay` of interleaved codewords ignores.
const SPACING: &str = "depth > 1: delay and delay_exact count tp from one LLDU of a codeword to the next, as printed; \
     LLDUs of an interleaved codeword are depth · tp apart, which delay_nd takes into account";

closed_form! {
    /// Interface of `tmt model fec`: keys, results, source and notes.
    pub static MODEL: "fec", "FEC and interleaved FEC: efficiency, residual loss, recovery delay";
    source: "Kuhn 2015, Sec. 3.5, eq. (1), (2), (4); docs/models.md, Sec. 3.1";
    notes: [
        "The code is systematic: received data LLDUs count even if decoding fails",
        ge::STAYING,
        ge::SWAPPED,
        "K3: the first argument of P counts erasures, and blocks with more than ND received LLDUs count too; \
         eta uses the joint distribution of data and repair LLDUs, eta_product the printed factorisation, eta_count \
         the printed sum with both corrections",
        "K4: if an LLDU is erased, the others of its codeword are not distributed like any N − 1 LLDUs: \
         delay is the printed eq. (2), delay_exact the exact one",
    ];
    example: "nd=10 nr=2 alpha=0.99 beta=0.8";
    keys: [ND, NR, RTT, TP, ALPHA, BETA, PG, PB, DEPTH];
    answer(arguments) {
        let code = code(arguments)?;
        let (rtt, tp) = (arguments.number(&RTT), arguments.number(&TP));
        let depth = to_f64(arguments.count(&DEPTH));
        let (block, products) = (code.block(), code.block_of_products());
        let recovery = code.recovery();
        let printed = code.printed_recovery();
        let (data, units) = (of(code.data), of(code.units()));
        let p = code.chain.erasure_probability();
    }
    results {
        "erasure_prob" = p, "probability that an LLDU is erased";
        "p_decode" = block.decode, "P(at most NR erasures among N)";
        "eta" = (data * block.decode + block.kept) / units, "data LLDUs delivered / LLDUs sent";
        "eta_product" = (data * products.decode + products.kept) / units,
            "the same with data and repair LLDUs independent";
        "eta_allornothing" = data * block.decode / units, "the same, counting only decoded codewords";
        "eta_count" = efficiency_by_count(&code, block.decode), "the same by the corrected eq. (1)";
        "residual_loss" = block.lost / data, "data LLDUs lost / data LLDUs sent";
        "p_recover_given_erased_paper" = printed, "P(recovered | erased) as printed";
        "p_recover_given_erased" = recovery.given_erased, "P(recovered | erased), exact";
        "delay" = rtt / 2.0 + p * printed * (units / 2.0) * tp, "mean delay of an LLDU by eq. (2), s";
        "delay_exact" = rtt / 2.0 + recovery.until_end * tp,
            "mean delay of an LLDU, recovered at the end of the codeword, s";
        "p_fail" = block.fail, "P(more than NR erasures among N)";
        "delay_nd" = rtt / 2.0 + recovery.until_enough * depth * tp,
            "mean delay of an LLDU, recovered with the ND-th received one, LLDUs depth · tp apart, s";
    }
    remarks {
        if p <= 0.0 => "no LLDU is erased: p_recover_given_erased is the limit for rare erasures";
        if depth > 1.0 && tp > 0.0 => SPACING;
    }
}

#[cfg(test)]
mod tests;
