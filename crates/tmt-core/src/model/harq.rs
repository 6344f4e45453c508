//! `harq`: HARQ-II with up to R rounds and NS extra LLDUs in each (docs/models.md, Sec. 3.3).

use super::ModelError;
use super::arq::RTT;
use super::chain::{Chain, Measure};
use super::fec::{self, Code, ND, NR, TP, of};
use super::ge::{self, ALPHA, BETA, DEPTH, PB, PG};

keys! {
    NS: Count(0, 65_535), "ns" | "NS" = 0, "extra repair LLDUs in each round";
    R: Count(0, 1000), "R" | "r" | "rounds" = 2, "largest number of rounds";
    TRI: Count(0, 1), "tri" = 0,
        "1 adds the sending time of a round, tp · E[m_i | round i happens], to delay and delay_given_decoded";
}

/// Limit of the steps of the sums over rounds, one or two seconds of work.
const MOST_WORK: f64 = 2e9;
/// Limit of the steps for the distribution of the LLDUs sent.
const MOST_SENT: usize = 1 << 27;
/// Limit of the table entries that it needs.
const MOST_ROWS: usize = 1 << 22;
/// Paths with a smaller probability are omitted from the distribution of the LLDUs sent.
const UNLIKELY: f64 = 1e-30;

/// Parameters of the rounds of a codeword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeats {
    /// Extra repair LLDUs per round, NS.
    pub extra: usize,
    /// Largest number of rounds, R.
    pub rounds: usize,
}

/// Outcomes of a codeword that lacks n LLDUs, for every n up to ND.
#[derive(Debug)]
struct Fates {
    /// `decode[z][n]`: P(decoded exactly in round z + 1 from now).
    decode: Vec<Vec<f64>>,
    /// `fail[z][n]`: P(not decoded within z rounds).
    fail: Vec<Vec<f64>>,
    /// `sent[z][n]`: mean LLDUs sent in round z + 1, 0 if it does not happen.
    sent: Vec<Vec<f64>>,
}

impl Fates {
    /// Computes all rounds together. The number missing never grows, so the outcomes for smaller n are known first.
    fn new(chain: Chain, data: usize, repeats: Repeats) -> Self {
        let Repeats { extra, rounds } = repeats;
        let column = || vec![vec![0.0; data + 1]; rounds];
        let mut fates = Self {
            decode: column(),
            fail: vec![vec![1.0; data + 1]; rounds + 1],
            sent: column(),
        };
        for fail in &mut fates.fail {
            fail[0] = 0.0;
        }
        let mut census = Measure::stationary(chain, data + extra).after(extra);
        for missing in 1..=data {
            census.step();
            let law = &census;
            let enough = law.up_to(extra);
            // Missing LLDUs after the round, by the erasures in it.
            let left = |of_rest: &[f64]| -> f64 {
                let counts = extra + 1..law.counts();
                counts
                    .map(|count| law.at(count) * of_rest[count - extra])
                    .sum()
            };
            for z in 0..rounds {
                let [decode, sent] = if z == 0 {
                    [enough, of(missing + extra)]
                } else {
                    [left(&fates.decode[z - 1]), left(&fates.sent[z - 1])]
                };
                fates.decode[z][missing] = decode;
                fates.sent[z][missing] = sent;
                fates.fail[z + 1][missing] = left(&fates.fail[z]);
            }
        }
        fates
    }
}

/// HARQ-II of one code on one channel, whose state is independent between rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Harq {
    /// P(decoded exactly in round z), z = 0 … R; round 0 is the first transmission.
    pub decode: Vec<f64>,
    /// P(round z happens), z = 1 … R.
    pub happens: Vec<f64>,
    /// Mean LLDUs sent in round z, 0 if it does not happen, z = 1 … R.
    pub sent: Vec<f64>,
    /// Mean LLDUs sent per codeword.
    pub mean_sent: f64,
    /// Mean data LLDUs delivered per codeword.
    pub mean_useful: f64,
    /// `mean_useful` with data and repair LLDUs independent in the term for codewords that fail.
    pub mean_useful_of_products: f64,
    /// Data LLDUs lost / data LLDUs sent.
    pub residual_loss: f64,
    /// Mean rounds for which a data LLDU waits; 0 if it is received at once or never recovered.
    pub rounds_waited: f64,
}

impl Harq {
    /// Evaluates `code` with `repeats` (Kuhn 2015, eq. (5), (6), with K6 to K10, for any R).
    #[must_use]
    pub fn new(code: &Code, repeats: Repeats) -> Self {
        let fates = Fates::new(code.chain, code.data, repeats);
        let block = code.block();
        // P(n missing after the first transmission), n = 0 for decoded.
        let missing = first_missing(code);
        let over = |values: &[f64]| -> f64 {
            missing
                .iter()
                .zip(values)
                .map(|(chance, value)| chance * value)
                .sum()
        };
        let mut decode = vec![block.decode];
        decode.extend(fates.decode.iter().map(|values| over(values)));
        let happens = fates.fail[..repeats.rounds]
            .iter()
            .map(|values| over(values));
        let sent: Vec<f64> = fates.sent.iter().map(|values| over(values)).collect();
        let data = of(code.data);
        let waits: Vec<f64> = (0..=code.data)
            .map(|n| {
                let rounds = fates.decode.iter().zip(1..);
                rounds.map(|(decode, z)| of(z) * decode[n]).sum()
            })
            .collect();
        let given_up = &fates.fail[repeats.rounds];
        let (mut kept, mut lost, mut rounds_waited) = (0.0, 0.0, 0.0);
        code.failures(|a, l, chance| {
            let n = a + l - code.repair;
            kept += of(code.data - a) * chance * given_up[n];
            lost += of(a) * chance * given_up[n];
            rounds_waited += of(a) / data * chance * waits[n];
        });
        let decoded = decode.iter().sum::<f64>().min(1.0);
        Self {
            happens: happens.collect(),
            mean_sent: of(code.units()) + sent.iter().sum::<f64>(),
            mean_useful: data * decoded + kept,
            mean_useful_of_products: data * decoded + kept_of_products(code, given_up),
            residual_loss: lost / data,
            rounds_waited,
            decode,
            sent,
        }
    }

    /// P(decoded within R rounds).
    #[must_use]
    pub fn decoded(&self) -> f64 {
        self.decode.iter().sum::<f64>().min(1.0)
    }

    /// Data LLDUs delivered / LLDUs sent.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        self.mean_useful / self.mean_sent
    }

    /// Mean LLDUs of each round given that it happens, up to the last round that can happen.
    #[must_use]
    pub fn round_sizes(&self) -> Vec<f64> {
        let rounds = self.sent.iter().zip(&self.happens);
        rounds
            .map_while(|(sent, happens)| (*happens > 0.0).then(|| sent / happens))
            .collect()
    }
}

/// P(n LLDUs are missing after the first transmission), n = 0 … ND.
fn first_missing(code: &Code) -> Vec<f64> {
    let units = code.units();
    let law = Measure::stationary(code.chain, units).after(units);
    let mut missing: Vec<f64> = (code.repair..=units).map(|count| law.at(count)).collect();
    missing[0] = law.up_to(code.repair);
    missing
}

/// Σ (ND − a) P(a, ND) P(l, NR) pfail(a + l − NR, R).
fn kept_of_products(code: &Code, given_up: &[f64]) -> f64 {
    let data = Measure::stationary(code.chain, code.data).after(code.data);
    let repair = Measure::stationary(code.chain, code.repair).after(code.repair);
    let mut kept = 0.0;
    for a in 0..data.counts() {
        let weight = of(code.data - a) * data.at(a);
        for l in (code.repair + 1).saturating_sub(a)..repair.counts() {
            kept += weight * repair.at(l) * given_up[a + l - code.repair];
        }
    }
    kept
}

/// Distribution PS(j) of the LLDUs sent per codeword (Kuhn 2015, eq. (6), for any R), without paths below `UNLIKELY`.
/// `None` if it would take more than about a second.
#[must_use]
pub fn sent_law(code: &Code, repeats: Repeats) -> Option<Vec<(u64, f64)>> {
    let Repeats { extra, rounds } = repeats;
    let most = rounds.checked_mul(code.data + extra)?;
    // After the first round, every number missing and sent so far leads to every number missing.
    let paths = if rounds > 2 { most } else { 1 };
    let steps = (code.data + extra).checked_mul(code.data)?;
    let steps = steps.checked_mul(paths)?.checked_mul(rounds.max(1))?;
    if steps > MOST_SENT || (code.data + extra).pow(2) > MOST_ROWS {
        return None;
    }
    let mut rows = Vec::with_capacity(code.data);
    let mut census = Measure::stationary(code.chain, code.data + extra).after(extra);
    for _ in 0..code.data {
        census.step();
        rows.push(census.clone());
    }
    let mut law = vec![0.0; most + 1];
    // By the number missing and the LLDUs sent in rounds so far: the probability.
    let mut now: Vec<Vec<f64>> = first_missing(code)
        .into_iter()
        .map(|chance| vec![chance])
        .collect();
    law[0] = std::mem::take(&mut now[0][0]);
    for round in 1..=rounds {
        let ends = round == rounds;
        let reach = if ends {
            0
        } else {
            round * (code.data + extra) + 1
        };
        let mut next = vec![vec![0.0; reach]; code.data + 1];
        for (n, paths) in now.iter().enumerate().skip(1) {
            let row = &rows[n - 1];
            let enough = row.up_to(extra);
            for (so_far, chance) in paths.iter().enumerate().filter(|(_, p)| **p > UNLIKELY) {
                let sent = so_far + n + extra;
                law[sent] += if ends { *chance } else { chance * enough };
                if !ends {
                    for count in extra + 1..row.counts() {
                        next[count - extra][sent] += chance * row.at(count);
                    }
                }
            }
        }
        now = next;
        if now.iter().flatten().all(|chance| *chance <= UNLIKELY) {
            break;
        }
    }
    // Without rounds, what is missing remains missing.
    for paths in now.iter().skip(1) {
        for chance in paths {
            law[0] += chance;
        }
    }
    let units = code.units() as u64;
    let law = law.into_iter().zip(units..);
    Some(law.filter(|(p, _)| *p > 0.0).map(|(p, j)| (j, p)).collect())
}

closed_form! {
    /// Interface of `tmt model harq`: keys, results, source and notes.
    pub static MODEL: "harq", "HARQ-II for any R and NS: efficiency, LLDUs sent, residual loss, delay";
    source: "Kuhn 2015, Sec. 3.5, eq. (5), (6); docs/models.md, Sec. 3.3";
    notes: [
        "The channel is independent between rounds, which are one RTT apart: bursts are short compared with the RTT. \
         Received data LLDUs count even if decoding fails",
        "p_decode is P(decoded within R rounds), the sum of Rz; Rz[0] is P(decoded) without rounds",
        "K6, K7, K8, K9: limits of the printed sums in eq. (5) and (6) are wrong; R complementary transmissions are \
         R + 1 transmissions, and each round sends what is still missing plus NS",
        "K10: eq. (5) takes data and repair LLDUs as independent although they are contiguous; eta uses their joint \
         distribution, eta_product the printed product in the term for codewords that fail",
        "K11: the printed delay is per codeword (delay, delay_given_decoded); delay_lldu is per LLDU, as measured; \
         LLDUs that are never recovered count 0",
        ge::STAYING,
        "K12: 'NR-FEC=12, NR-HARQ=7' in Sec. 3.6.1 are values of N: FEC(10/12), HARQ(5/7)",
    ];
    example: "nd=38 nr=13 R=2 alpha=0.98 beta=0.9";
    keys: [ND, NR, NS, R, TRI, RTT, TP, ALPHA, BETA, PG, PB, DEPTH];
    answer(arguments) {
        let code = fec::code(arguments)?;
        let repeats = Repeats {
            extra: arguments.size(&NS),
            rounds: arguments.size(&R),
        };
        let side = of(code.data) + of(repeats.extra);
        if side * side * of(repeats.rounds + 1) > MOST_WORK {
            return Err(ModelError::refused(format!(
                "(nd + ns)² · (R + 1) = {:.1e} steps, expected at most {MOST_WORK:.0e}: lower R, nd or ns",
                side * side * of(repeats.rounds + 1)
            )));
        }
        let (rtt, tp) = (arguments.number(&RTT), arguments.number(&TP));
        let harq = Harq::new(&code, repeats);
        let sizes = harq.round_sizes();
        let airtime = if arguments.count(&TRI) == 1 { tp } else { 0.0 };
        let later = harq.decode[1..].iter().zip(&sizes).zip(1..);
        let waits: f64 = later
            .map(|((decoded, size), z)| decoded * of(z) * (rtt + airtime * size))
            .sum();
        let sent = sent_law(&code, repeats);
        let (has_sent_law, decoded) = (sent.is_some(), harq.decoded());
        let block = of(code.units()) * tp + rtt / 2.0;
        let given = (decoded > 0.0).then(|| block + waits / decoded);
        let lldu = rtt / 2.0 + code.recovery().until_end * tp + rtt * harq.rounds_waited;
        let (useful, product) = (harq.mean_useful, harq.mean_useful_of_products);
        let never = sizes.len() < repeats.rounds;
    }
    results {
        "Rz" = harq.decode.clone(), "P(decoded exactly in round z), z = 0 … R";
        "p_decode" = decoded, "P(decoded within R rounds)";
        "mean_sent" = harq.mean_sent, "mean LLDUs sent per codeword";
        "mean_useful" = useful, "mean data LLDUs delivered per codeword";
        "eta" = useful / harq.mean_sent, "mean_useful / mean_sent";
        "eta_product" = product / harq.mean_sent, "the same with the product of eq. (5) for codewords that fail";
        "PS" = sent.unwrap_or_default(), "P(j LLDUs are sent for a codeword), by j";
        "mean_round_size" = sizes, "mean LLDUs of round z given that it happens, z = 1 … R";
        "delay" = block + waits, "mean delay of a codeword as printed, cut at R, s";
        "delay_lldu" = lldu, "mean delay of a data LLDU, s";
        "delay_given_decoded" = given, "mean delay of a decoded codeword, s";
        "residual_loss" = harq.residual_loss, "data LLDUs lost / data LLDUs sent";
    }
    remarks {
        if arguments.count(&DEPTH) > 1 && tp > 0.0 =>
            "depth > 1: delays count tp from one LLDU of a codeword to the next, which are depth · tp apart";
        if never => "mean_round_size is shorter than R: later rounds never happen";
        if !has_sent_law => "PS is omitted: it would take more than about 100 million steps";
        if decoded <= 0.0 => "no codeword is decoded: delay_given_decoded has no value";
    }
}

#[cfg(test)]
mod tests;
