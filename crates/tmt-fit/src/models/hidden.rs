//! What the models that are hidden Markov chains share: search, standard errors, law.

use super::{Data, Fitted, Parameter, bernoulli};
use crate::chain::{Chain, shifted};
use crate::law::ChainLaw;
use crate::matrix::{Square, eigen};
use crate::search::{Found, search};

/// A parameter as a function of the choices of a chain.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) name: &'static str,
    /// Its value for the probabilities of all choices.
    pub(crate) of: fn(&[f64]) -> f64,
    /// The choices that it depends on.
    pub(crate) needs: &'static [usize],
}

/// Fits `chain` from `starts`; `order` brings equivalent parameters into the order of their names.
pub(crate) fn fit<const N: usize>(
    data: &Data<'_>,
    chain: &Chain<N>,
    starts: &[Vec<f64>],
    outputs: &[Output],
    order: fn(&[f64]) -> Option<Vec<f64>>,
) -> Fitted {
    let mut found = search(chain, data.coded, starts, data.stop);
    if let Some(theta) = order(&found.theta) {
        // The same process under other names of the states.
        let stop = crate::search::Stop {
            em_steps: 0,
            ..data.stop
        };
        found = Found {
            em_steps: found.em_steps,
            newton_steps: found.newton_steps,
            ..search(chain, data.coded, &[theta], stop)
        };
    }
    let covariance = Covariance::of(&found);
    // Without memory, states and their probabilities are exchangeable, and what was found follows noise.
    let gain = found.ln_likelihood - bernoulli::ln_likelihood(data);
    let has_memory = chain.choices == 2 || 2.0 * gain > MEMORY;
    let parameters = outputs.iter().map(|output| Parameter {
        name: output.name,
        value: (output.of)(&found.theta),
        error: if has_memory {
            covariance.error(output, &found.theta)
        } else {
            Err("not determined: independent losses fit as well".to_owned())
        },
    });
    Fitted {
        ln_likelihood: found.ln_likelihood,
        free: chain.choices as u64,
        parameters: parameters.collect(),
        law: Box::new(ChainLaw(chain.matrices(&found.theta))),
        converged: found.converged,
        steps: Some((found.em_steps, found.newton_steps)),
    }
}

/// Covariance of the logits of the choices that are free.
struct Covariance {
    free: Vec<usize>,
    cells: Square,
    /// Free choices that the likelihood does not determine.
    loose: Vec<usize>,
}

/// Smallest eigenvalue of the information, scaled to a diagonal of 1, at which a direction counts as determined.
const DETERMINED: f64 = 1e-6;

/// Gain of twice the log-likelihood over independent losses from which states are more than noise: the quantile 0.999 of
/// chi-square with three degrees of freedom, rounded.
const MEMORY: f64 = 16.0;

/// Largest standard error of a logit for which a normal error of the probability means anything.
const WIDEST: f64 = 2.0;

impl Covariance {
    fn of(found: &Found) -> Self {
        let n = found.free.len();
        let diagonal: Vec<f64> = (0..n).map(|i| found.information[i][i]).collect();
        let mut loose: Vec<usize> = Vec::new();
        let scale: Vec<f64> = diagonal.iter().map(|d| d.max(1e-12).sqrt()).collect();
        let scaled = (0..n).map(|i| {
            let row = (0..n).map(|j| found.information[i][j] / (scale[i] * scale[j]));
            row.collect::<Vec<f64>>()
        });
        let (values, vectors) = eigen(&scaled.collect());
        for (i, d) in diagonal.iter().enumerate() {
            /// Share of a direction by which a choice is part of it.
            const PART: f64 = 0.1;
            let in_loose = (0..n).any(|e| values[e] < DETERMINED && vectors[i][e].abs() > PART);
            if *d <= 1e-9 || in_loose {
                loose.push(found.free[i]);
            }
        }
        let cell = |i: usize, j: usize| {
            let kept = (0..n).filter(|e| values[*e] >= DETERMINED);
            let terms = kept.map(|e| vectors[i][e] * vectors[j][e] / values[e]);
            terms.sum::<f64>() / (scale[i] * scale[j])
        };
        let cells = (0..n).map(|i| (0..n).map(|j| cell(i, j)).collect());
        Self {
            cells: cells.collect(),
            free: found.free.clone(),
            loose,
        }
    }

    /// Standard error of an output by the delta method; why there is none.
    fn error(&self, output: &Output, theta: &[f64]) -> Result<f64, String> {
        let value = (output.of)(theta);
        if value <= 0.0 || value >= 1.0 {
            return Err(format!("at the end of its range, {value}"));
        }
        if output.needs.iter().any(|k| self.loose.contains(k)) {
            return Err("not determined: other values fit as well".to_owned());
        }
        let slope = |k: &usize| {
            /// Change of a logit.
            const H: f64 = 1e-6;
            let at = |shift: f64| {
                let mut moved = theta.to_vec();
                moved[*k] = shifted(theta[*k], shift);
                // The complement, if it is the smaller one, has more digits.
                (output.of)(&moved)
            };
            (at(H) - at(-H)) / (2.0 * H)
        };
        let slopes: Vec<f64> = self
            .free
            .iter()
            .map(|k| {
                if output.needs.contains(k) {
                    slope(k)
                } else {
                    0.0
                }
            })
            .collect();
        let mut variance = 0.0;
        for (i, one) in slopes.iter().enumerate() {
            for (j, other) in slopes.iter().enumerate() {
                variance += one * self.cells[i][j] * other;
            }
        }
        let error = variance.sqrt();
        let logit = error / (value * (1.0 - value));
        if !error.is_finite() || logit > WIDEST {
            return Err("too uncertain for a normal error".to_owned());
        }
        Ok(error)
    }
}

/// Order for a chain whose states cannot be exchanged.
pub(crate) fn as_they_are(_: &[f64]) -> Option<Vec<f64>> {
    None
}
