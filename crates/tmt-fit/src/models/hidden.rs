//! Parts that the models share that are hidden Markov chains: search, standard errors, law.

use super::{Data, Error, Fitted, Parameter, bernoulli};
use crate::chain::{Chain, shifted};
use crate::law::{ChainLaw, Law, Nearby, SHIFT};
use crate::matrix::{Square, eigen};
use crate::search::profile::{Profile, Range};
use crate::search::{Found, Place, Stop, climb_from, search};

/// The same process as another chain, and the probabilities of its choices from those of the one that is fitted.
pub(crate) type Turned<const N: usize> = (&'static Chain<N>, fn(&[f64]) -> Vec<f64>);

/// A parameter: the probability of a choice of a chain.
#[derive(Debug)]
pub(crate) struct Output<const N: usize> {
    pub(crate) name: &'static str,
    pub(crate) choice: usize,
    /// Whether it is the probability that the choice does not fall out as yes.
    pub(crate) complement: bool,
    /// The same process as a chain that has this choice, if the one that is fitted has not; and its probabilities.
    pub(crate) other: Option<Turned<N>>,
}

impl<const N: usize> Output<N> {
    /// The probability of a choice of the chain that is fitted.
    pub(crate) const fn of(name: &'static str, choice: usize) -> Self {
        Self {
            name,
            choice,
            complement: false,
            other: None,
        }
    }

    /// One less this probability.
    pub(crate) const fn less(name: &'static str, choice: usize) -> Self {
        Self {
            complement: true,
            ..Self::of(name, choice)
        }
    }

    /// The probability of the choice.
    pub(super) fn chosen(&self, theta: &[f64]) -> f64 {
        match self.other {
            Some((_, turned)) => turned(theta)[self.choice],
            None => theta[self.choice],
        }
    }

    fn value(&self, chosen: f64) -> f64 {
        if self.complement {
            1.0 - chosen
        } else {
            chosen
        }
    }
}

/// A search with the standard errors of what it found.
struct Estimate<'a, const N: usize> {
    place: Place<'a, N>,
    found: Found,
    covariance: Covariance,
    stop: Stop,
}

/// A model that a chain contains, with parameters of no effect: where it fits as well, they follow noise.
#[derive(Debug)]
pub(crate) struct Nested {
    pub(crate) name: &'static str,
    /// The chain as that model at its largest likelihood.
    pub(crate) theta: Vec<f64>,
    pub(crate) ln_likelihood: f64,
}

/// Fits `chain` from `starts`; `order` brings equivalent parameters into the order of their names.
pub(crate) fn fit<const N: usize>(
    data: &Data<'_>,
    chain: &'static Chain<N>,
    starts: &[Vec<f64>],
    outputs: &[Output<N>],
    order: fn(&[f64]) -> Option<Vec<f64>>,
    nested: Option<&Nested>,
) -> Fitted {
    /// Steps of Newton's method after which what is not above the noise around a nested model is taken as noise.
    const FIRST: u32 = 15;
    /// Searches that begin where a profile exceeded the maximum.
    const AGAIN: u32 = 3;
    // Without EM, which has brought the search near the maximum.
    let near = Stop {
        em_steps: 0,
        ..data.stop
    };
    let is_noise = |found: &Found| {
        let gain = |one: &Nested| found.ln_likelihood - one.ln_likelihood;
        nested.filter(|one| 2.0 * gain(one) <= MEMORY)
    };
    let first = Stop {
        newton_steps: data
            .stop
            .newton_steps
            .min(nested.map_or(u32::MAX, |_| FIRST)),
        ..data.stop
    };
    let mut found = search(chain, data.coded, starts, first);
    if !found.converged && is_noise(&found).is_none() {
        found = found.then(climb_from(chain, data.coded, found.theta.clone(), near));
    }
    if let Some(one) = nested
        && found.ln_likelihood < one.ln_likelihood
    {
        let stay = Stop {
            newton_steps: 0,
            ..near
        };
        found = found.then(climb_from(chain, data.coded, one.theta.clone(), stay));
    }
    let mut rounds = 0;
    loop {
        if let Some(theta) = order(&found.theta) {
            // The same process under other names of the states.
            found = found.then(search(chain, data.coded, &[theta], near));
        }
        let gain = found.ln_likelihood - bernoulli::ln_likelihood(data);
        // Without memory, states and their probabilities are exchangeable, and what was found follows noise.
        let has_memory = chain.choices == 2 || 2.0 * gain > MEMORY;
        let as_well = if has_memory {
            is_noise(&found).map(|one| one.name)
        } else {
            Some("independent losses")
        };
        let estimate = Estimate {
            place: Place::new(chain, data.coded, found.theta.clone()),
            covariance: Covariance::of(&found),
            stop: near,
            found: found.clone(),
        };
        let mut above = None;
        let parameters = outputs.iter().map(|output| {
            let value = output.value(output.chosen(&found.theta));
            let error = if let Some(name) = as_well {
                Err(format!("not determined: {name} fit as well"))
            } else if !data.ranges {
                Err("not asked for".to_owned())
            } else {
                estimate.error(output, &mut above)
            };
            Parameter {
                name: output.name,
                value,
                error,
            }
        });
        let parameters: Vec<Parameter> = parameters.collect();
        if let Some(theta) = above.filter(|_| rounds < AGAIN) {
            rounds += 1;
            found = found.then(search(chain, data.coded, &[theta], near));
            continue;
        }
        return Fitted {
            ln_likelihood: found.ln_likelihood,
            free: chain.choices as u64,
            parameters,
            law: law(chain, &found.theta),
            near: estimate.near(),
            // Of what follows noise nothing more is to be found.
            converged: found.converged || as_well.is_some(),
            steps: Some((found.em_steps, found.newton_steps)),
        };
    }
}

fn law<const N: usize>(chain: &Chain<N>, theta: &[f64]) -> Box<dyn Law> {
    Box::new(ChainLaw(chain.matrices(theta)))
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

    /// Standard error of the logit of an output by the delta method; `None` if the likelihood is flat, or if the output is 0
    /// or 1.
    fn error<const N: usize>(&self, output: &Output<N>, theta: &[f64]) -> Option<f64> {
        let value = output.chosen(theta);
        let slope = |k: &usize| {
            /// Change of a logit.
            const H: f64 = 1e-6;
            let at = |shift: f64| {
                let mut moved = theta.to_vec();
                moved[*k] = shifted(theta[*k], shift);
                output.chosen(&moved)
            };
            (at(H) - at(-H)) / (2.0 * H * value * (1.0 - value))
        };
        let slopes: Vec<f64> = self.free.iter().map(slope).collect();
        let is_needed = |(k, slope): (&usize, &f64)| *slope != 0.0 && self.loose.contains(k);
        if self.free.iter().zip(&slopes).any(is_needed) {
            return None;
        }
        let mut variance = 0.0;
        for (i, one) in slopes.iter().enumerate() {
            for (j, other) in slopes.iter().enumerate() {
                variance += one * self.cells[i][j] * other;
            }
        }
        Some(variance.sqrt()).filter(|error| error.is_finite() && *error > 0.0)
    }
}

impl<const N: usize> Estimate<'_, N> {
    fn near(&self) -> Nearby {
        let moved = |k: &usize| {
            let mut theta = self.found.theta.clone();
            theta[*k] = shifted(theta[*k], SHIFT);
            law(self.place.chain, &theta)
        };
        Nearby {
            laws: self.covariance.free.iter().map(moved).collect(),
            covariance: self.covariance.cells.clone(),
        }
    }

    /// The standard error of an output, or why not. Puts a place above the maximum into `above`.
    fn error(&self, output: &Output<N>, above: &mut Option<Vec<f64>>) -> Result<Error, String> {
        let chosen = output.chosen(&self.place.theta);
        let value = output.value(chosen);
        let error = self.covariance.error(output, &self.place.theta);
        let range = || {
            let Range { low, high } = if let Some((chain, turned)) = output.other {
                let place = Place::new(chain, self.place.coded, turned(&self.place.theta));
                // A place above the maximum in another chain starts no search.
                Profile::new(&place, output.choice, None, self.stop).range(error)
            } else {
                let known = (&self.found.free[..], &self.found.information);
                let mut profile = Profile::new(&self.place, output.choice, Some(known), self.stop);
                let range = profile.range(error);
                *above = above.take().or(profile.above);
                range
            };
            if output.complement {
                let (low, high) = (1.0 - high, 1.0 - low);
                return Range { low, high };
            }
            Range { low, high }
        };
        Error::of(value, error, range)
    }
}

/// Order for a chain whose states cannot be exchanged.
pub(crate) fn as_they_are(_: &[f64]) -> Option<Vec<f64>> {
    None
}
