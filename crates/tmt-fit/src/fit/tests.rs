use proptest::prelude::*;
use test_support::{depth, report, seed};
use tmt_core::channel::{Channel, ChannelSpec, SlotChannel};
use tmt_core::types::Stopped;

use super::*;
use crate::chain::Chain;
use crate::models::gilbert_elliott::CHAIN as PAIR;
use crate::models::netem_state::CHAIN as FOUR;
use crate::models::two_state::starts;
use crate::search::em_step;

fn trace(spec: &str, seed: u64, slots: u64) -> Sequence {
    let mut channel = Channel::new(spec.parse::<ChannelSpec>().unwrap(), seed);
    Sequence::of((0..slots).map(|_| channel.erases()))
}

fn one(sequence: &Sequence, name: &str) -> Fit {
    let fits = fit(sequence, &[model(name).unwrap()], &Options::default());
    fits.into_iter().next().unwrap()
}

/// Traces of [`coverage`], of seeds from 1.
fn traces() -> u32 {
    depth(25, 100)
}

/// For each parameter, in how many of the traces the truth is within two standard errors.
fn coverage(spec: &str, name: &str, truth: &[f64], slots: u64) -> Vec<u32> {
    let mut within = vec![0; truth.len()];
    for seed in 1..=u64::from(traces()) {
        let fit = one(&trace(spec, seed, slots), name);
        for ((parameter, truth), within) in fit.parameters.iter().zip(truth).zip(&mut within) {
            let error = parameter
                .error
                .as_ref()
                .map_or(f64::NAN, |error| error.standard);
            *within += u32::from((parameter.value - truth).abs() <= 2.0 * error);
        }
    }
    within
}

#[test]
fn parameters_are_within_two_standard_errors() {
    for (name, spec, truth, slots) in [
        (
            "gilbert-elliott",
            "gilbert-elliott:alpha=0.99,beta=0.9,pg=0.005,pb=0.6",
            &[0.99, 0.9, 0.005, 0.6][..],
            30_000,
        ),
        (
            "gilbert",
            "gilbert-elliott:alpha=0.99,beta=0.9,pg=0,pb=0.6",
            &[0.99, 0.9, 0.6],
            20_000,
        ),
        (
            "simple-gilbert",
            "gilbert-elliott:alpha=0.99,beta=0.7",
            &[0.99, 0.7],
            20_000,
        ),
        ("bernoulli", "bernoulli:0.02", &[0.02], 20_000),
    ] {
        let within = coverage(spec, name, truth, slots);
        assert!(
            within.iter().all(|count| 100 * count >= 88 * traces()),
            "{spec}: {within:?}"
        );
    }
}

/// The figures of docs/fit.md, Sec. 5: `cargo test -p tmt-fit --release -- --ignored`.
#[test]
#[ignore = "800 fits: .ci/long runs it"]
fn coverage_of_many_settings_is_that_of_the_page() {
    let page = include_str!("../../../../docs/fit.md");
    let rows = page.lines().filter(|line| line.starts_with("| 0."));
    let mut differing = Vec::new();
    let mut settings = 0;
    for row in rows {
        let cells: Vec<f64> = row
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.replace(' ', "").parse().unwrap())
            .collect();
        let (truth, slots) = (&cells[..4], num::floor_u64(cells[4]));
        let spec = format!(
            "gilbert-elliott:alpha={},beta={},pg={},pb={}",
            truth[0], truth[1], truth[2], truth[3]
        );
        let within = coverage(&spec, "gilbert-elliott", truth, slots);
        let within: Vec<f64> = within.into_iter().map(f64::from).collect();
        if within != cells[5..] {
            differing.push((spec, within));
        }
        settings += 1;
    }
    assert!(differing.is_empty(), "{differing:#?}");
    assert_eq!(settings, 8);
}

#[test]
fn closed_forms_are_met() {
    let sequence = trace("gilbert-elliott:alpha=0.97,beta=0.6", 4, 50_000);
    // Changes of state over the slots from which one can start.
    let (gaps, bursts) = (sequence.gaps(), sequence.bursts());
    let runs: u64 = gaps.values().sum::<u64>() + bursts.values().sum::<u64>();
    let starts_lost = sequence.segments[0].starts_lost;
    let ends_lost = starts_lost == (runs % 2 == 1);
    let lost = sequence.lost();
    let received = sequence.slots() - lost;
    let changes = |runs: u64, ends: bool| to_f64(runs - u64::from(ends));
    let leave = changes(gaps.values().sum(), !ends_lost) / to_f64(received - u64::from(!ends_lost));
    let back = changes(bursts.values().sum(), ends_lost) / to_f64(lost - u64::from(ends_lost));
    let fit = one(&sequence, "simple-gilbert");
    // The state of the first slot is drawn from the stationary distribution, which moves the estimate by less than 1/n.
    for (parameter, expected) in fit.parameters.iter().zip([1.0 - leave, 1.0 - back]) {
        assert!(
            (parameter.value - expected).abs() < 3.0 / 1500.0 * 0.1,
            "{parameter:?} {expected}"
        );
    }
    // Errors of a binomial share: sqrt(p (1 − p) / n).
    let expected = [(leave, received), (back, lost)];
    for (parameter, (p, n)) in fit.parameters.iter().zip(expected) {
        let expected = (p * (1.0 - p) / to_f64(n)).sqrt();
        let found = parameter.error.as_ref().unwrap().standard;
        assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
    }
    let bernoulli = one(&sequence, "bernoulli");
    let p = to_f64(lost) / to_f64(sequence.slots());
    assert!((bernoulli.parameters[0].value - p).abs() < 1e-15);
    let ln = to_f64(lost) * num::ln(p) + to_f64(received) * num::ln(1.0 - p);
    assert!((bernoulli.log_likelihood - ln).abs() < 1e-6);
}

/// For tests that look at likelihoods only.
const QUICK: Options = Options {
    stop: Stop {
        relative_change: 1e-8,
        em_steps: 25,
        newton_steps: 60,
    },
    interval_s: None,
    at_interval_s: None,
    without_ranges: true,
    stopped: Stopped::NEVER,
};

#[test]
fn bic_finds_the_model_that_made_the_trace() {
    for (spec, name) in [
        ("bernoulli:0.03", "bernoulli"),
        ("gilbert-elliott:alpha=0.98,beta=0.7", "simple-gilbert"),
        (
            "gilbert-elliott:alpha=0.995,beta=0.95,pg=0,pb=0.5",
            "gilbert",
        ),
        (
            "gilbert-elliott:alpha=0.995,beta=0.95,pg=0.01,pb=0.6",
            "gilbert-elliott",
        ),
    ] {
        let right =
            (1..=5).filter(|seed| fit_all(&trace(spec, *seed, 40_000), &QUICK)[0].model == name);
        let right = right.count();
        assert!(right >= 4, "{spec}: {right} of 5");
    }
}

#[test]
fn bic_finds_four_states() {
    // Burst periods with short gaps, and lone losses: no two states have both.
    let text = "markov:{state,erasure,s1,s2,s3,s4;s1,0,0.985,0,0.005,0.01;s2,0,0,0.3,0.7,0;s3,1,0.05,0.25,0.7,0;s4,1,1,0,0,0}";
    let process: SlotChannel = text.parse().unwrap();
    let mut losses = tmt_core::channel::Losses::new(&process, 1, tmt_core::channel::Use::Forward);
    let at = tmt_core::Time::ZERO;
    let sequence = Sequence::of((0..300_000).map(|_| losses.loses(at, tmt_core::Span::ZERO)));
    let fits = fit_all(&sequence, &Options::default());
    assert_eq!(fits[0].model, "netem-state");
    for (parameter, truth) in fits[0]
        .parameters
        .iter()
        .zip([0.005, 0.05, 0.25, 0.7, 0.01])
    {
        let error = parameter.error.as_ref().unwrap().standard;
        assert!(
            (parameter.value - truth).abs() < 3.0 * error,
            "{parameter:?} {truth}"
        );
    }
}

#[test]
fn other_values_fit_a_trace_without_memory_as_well() {
    let fit = one(&trace("bernoulli:0.05", 2, 30_000), "gilbert-elliott");
    assert!(!fit.without_error.is_empty(), "{fit:?}");
    let bernoulli = one(&trace("bernoulli:0.05", 2, 30_000), "bernoulli");
    assert!(fit.log_likelihood >= bernoulli.log_likelihood - 1e-6);
}

/// At 0 and at 1 nothing bends: the range is where the likelihood has fallen, and its other end is the value.
#[test]
fn probabilities_at_the_end_of_their_range_have_a_range() {
    let sequence = trace("gilbert-elliott:alpha=0.98,beta=0.7", 1, 50_000);
    let fit = one(&sequence, "gilbert-elliott");
    assert!(fit.converged && fit.without_error.is_empty(), "{fit:#?}");
    let at_ends = fit
        .parameters
        .iter()
        .filter(|one| one.value <= 0.0 || one.value >= 1.0);
    let mut seen = 0;
    for parameter in at_ends {
        let error = parameter.error.clone().unwrap();
        let (near, far) = if parameter.value > 0.0 {
            (error.high, error.low)
        } else {
            (error.low, error.high)
        };
        assert_eq!(near, parameter.value);
        assert_eq!(2.0 * error.standard, (far - near).abs());
        // A share of what the state was seen for: some slots of 50 000, or losses of some 3000.
        assert!((1e-6..0.05).contains(&error.standard), "{parameter:?}");
        seen += 1;
    }
    assert!(seen > 0, "{fit:#?}");
}

/// The range is that of the profile, by brute force: a grid over the other parameter.
#[test]
fn ranges_are_those_of_the_likelihood() {
    let sequence = trace("gilbert-elliott:alpha=0.99,beta=0.6", 3, 800);
    let coded = Coded::new(&sequence);
    let fit = one(&sequence, "simple-gilbert");
    let beta = fit.parameters[1].error.clone().unwrap();
    let profile = |beta: f64| {
        let alphas = (1..4000).map(|step| 1e-5 * f64::from(step));
        let at = alphas.map(|leave| {
            crate::models::simple_gilbert::CHAIN.ln_likelihood(&coded, &[leave, 1.0 - beta])
        });
        at.fold(f64::NEG_INFINITY, f64::max)
    };
    for end in [beta.low, beta.high] {
        let fall = 2.0 * (fit.log_likelihood - profile(end));
        assert!((fall - 4.0).abs() < 0.2, "{beta:?} {fall}");
    }
    let far = (beta.high - fit.parameters[1].value).max(fit.parameters[1].value - beta.low);
    assert_eq!(beta.standard, 0.5 * far);
}

#[test]
fn traces_of_one_kind_have_a_bound_only() {
    for lost in [false, true] {
        let fits = fit_all(
            &Sequence::of(std::iter::repeat_n(lost, 1000)),
            &Options::default(),
        );
        assert_eq!(fits.len(), 1);
        assert_eq!(fits[0].model, "bernoulli");
        assert!(fits[0].log_likelihood.abs() < 1e-12);
        // 1 − p to the power 1000 is e^-2.
        let error = fits[0].parameters[0].error.clone().unwrap();
        let width = -num::expm1(-2.0 / 1000.0);
        assert!((error.high - error.low) / width - 1.0 < 0.03, "{error:?}");
        assert_eq!(
            if lost { error.high } else { error.low },
            f64::from(u8::from(lost))
        );
    }
    assert!((never_seen_bound(1000) * 1000.0 / 3.0 - 1.0).abs() < 0.005);
    // 0.05 = (1 − p)^n.
    assert!((num::pow(1.0 - never_seen_bound(50), 50.0) - 0.05).abs() < 1e-12);
    assert!(fit_all(&Sequence::default(), &Options::default()).is_empty());
}

#[test]
fn a_fit_that_is_stopped_ends_at_its_next_likelihoods_without_a_result() {
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Likelihoods before the stop: somewhere within the search of a model with hidden states.
    const BEFORE: u32 = 10;
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let sequence = trace(
        "gilbert-elliott:alpha=0.99,beta=0.9,pg=0.005,pb=0.6",
        3,
        20_000,
    );
    let counted = |stops_after: fn() -> bool| {
        ASKED.store(0, Ordering::Relaxed);
        let options = Options {
            stopped: Stopped::when(stops_after),
            ..Options::default()
        };
        let fits = fit_all(&sequence, &options);
        (fits, ASKED.load(Ordering::Relaxed))
    };
    let (whole, asked) = counted(|| ASKED.fetch_add(1, Ordering::Relaxed) == u32::MAX);
    let unasked = fit_all(&sequence, &Options::default());
    assert_eq!(format!("{whole:?}"), format!("{unasked:?}"));
    assert!(asked > 20 * BEFORE, "{asked}");
    let (none, until) = counted(|| ASKED.fetch_add(1, Ordering::Relaxed) >= BEFORE);
    assert!(none.is_empty());
    // What is asked afterwards costs nothing, but it ends, too.
    assert!(until < asked / 2, "{until} {asked}");
}

/// Every text is read back as the process that it is the text of.
#[test]
fn texts_of_processes_are_read_back() {
    let options = Options {
        interval_s: Some(0.01),
        at_interval_s: Some(0.003),
        ..Options::default()
    };
    for spec in [
        "gilbert-elliott:alpha=0.99,beta=0.9,pg=0.005,pb=0.6",
        "gilbert-elliott:alpha=0.98,beta=0.3",
        "bernoulli:0.1",
    ] {
        for fit in fit_all(&trace(spec, 3, 20_000), &options) {
            let later = fit.at_interval.as_ref().and_then(|at| at.process.as_ref());
            for text in [Some(&fit.process), later]
                .into_iter()
                .flatten()
                .filter_map(|texts| texts.channel.as_ref())
            {
                let process: SlotChannel =
                    text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
                let again: SlotChannel = process.to_string().parse().unwrap();
                assert_eq!(process, again);
                if let Some(loss) = process.erasure_probability(tmt_core::Span::ZERO) {
                    let share = to_f64(trace(spec, 3, 20_000).lost()) / 20_000.0;
                    assert!(
                        (loss - share).abs() < 0.1 * share,
                        "{}: {loss} {share}",
                        fit.model
                    );
                }
            }
        }
    }
}

/// Baum–Welch on any chain from any start. The step leaves out that the first state has the stationary distribution, so the
/// likelihood may fall, but not by more than the likelihood of that state does.
fn rises<const N: usize>(chain: &Chain<N>, coded: &Coded, mut theta: Vec<f64>) {
    let mut now = chain.evaluate(coded, &theta);
    for _ in 0..10 {
        let next_theta = em_step(&theta, &now);
        let next = chain.evaluate(coded, &next_theta);
        let (before, after) = (
            chain.stationary(&theta).unwrap(),
            chain.stationary(&next_theta).unwrap(),
        );
        let of_first_states: f64 = (0..N)
            .filter(|state| now.first[*state] > 0.0)
            .map(|state| now.first[state] * num::ln(after[state] / before[state]))
            .sum();
        let least = now.ln_likelihood + of_first_states.min(0.0) - 1e-9;
        assert!(
            next.ln_likelihood >= least,
            "{} {least}",
            next.ln_likelihood
        );
        (now, theta) = (next, next_theta);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn em_does_not_lower_the_likelihood(
        runs in prop::collection::vec(1u64..200, 20..100),
        theta in prop::array::uniform5(0.05f64..0.95),
    ) {
        let mut segment = crate::Segment::default();
        for (at, length) in runs.iter().enumerate() {
            segment.push(at % 2 == 0, *length);
        }
        let coded = Coded::new(&Sequence::from(segment));
        rises(&PAIR, &coded, theta[..4].to_vec());
        rises(&FOUR, &coded, theta.to_vec());
    }

    /// The whole search: never below any of its starts, nor below the models that it contains.
    #[test]
    fn more_general_models_are_at_least_as_likely(
        runs in prop::collection::vec((1u64..60, 1u64..6), 5..60),
    ) {
        let mut segment = crate::Segment::default();
        for (gap, burst) in runs {
            segment.push(false, gap);
            segment.push(true, burst);
        }
        let sequence = Sequence::from(segment);
        let coded = Coded::new(&sequence);
        let fits = fit_all(&sequence, &QUICK);
        let of = |name: &str| fits.iter().find(|fit| fit.model == name).unwrap().log_likelihood;
        for start in starts(&sequence) {
            prop_assert!(of("gilbert-elliott") >= PAIR.ln_likelihood(&coded, &start) - 1e-6);
        }
        for (general, special) in [("simple-gilbert", "bernoulli"), ("gilbert", "simple-gilbert"), ("gilbert-elliott", "gilbert"), ("netem-state", "simple-gilbert")] {
            prop_assert!(of(general) >= of(special) - 1e-3, "{} {} {} {}", general, of(general), special, of(special));
        }
    }
}

/// A model and a process of it, of random parameters, and slots that have some hundred bursts.
fn random_truth(uniform: &mut dyn FnMut() -> f64) -> (&'static str, String, u64) {
    let mut scale = |low: f64, high: f64| num::exp(num::ln(low) + uniform() * num::ln(high / low));
    let (good, bad) = (scale(20.0, 300.0), scale(1.5, 20.0));
    let (alpha, beta) = (1.0 - 1.0 / good, 1.0 - 1.0 / bad);
    let (pb, pg) = (scale(0.2, 0.8), scale(0.001, 0.02));
    let (p, which) = (scale(0.005, 0.3), uniform());
    let pair =
        |pg: f64, pb: f64| format!("gilbert-elliott:alpha={alpha},beta={beta},pg={pg},pb={pb}");
    let slots = 30_000 + num::floor_u64(uniform() * 70_000.0);
    match num::floor_u64(which * 5.0) {
        0 => ("bernoulli", format!("bernoulli:{p}"), slots),
        1 => ("simple-gilbert", pair(0.0, 1.0), slots),
        2 => ("gilbert", pair(0.0, pb), slots),
        3 => ("gilbert-elliott", pair(pg, pb), slots),
        _ => {
            let (p13, p14, p32, p31, p23) = (0.5 / good, pg, 0.5 * pb, 0.4 / bad, pb);
            let rows = format!(
                "s1,0,{},0,{p13},{p14};s2,0,0,{},{p23},0;s3,1,{p31},{p32},{},0;s4,1,1,0,0,0",
                1.0 - p13 - p14,
                1.0 - p23,
                1.0 - p31 - p32
            );
            (
                "netem-state",
                format!("markov:{{state,erasure,s1,s2,s3,s4;{rows}}}"),
                slots,
            )
        }
    }
}

/// With the right model, p-values of both tests are below 5 % in 5 % of the traces: Sec. 6 of docs/fit.md.
#[test]
fn tests_of_run_lengths_have_the_size_that_is_said() {
    let mut numbers =
        tmt_core::math::rng::Uniform::new(depth(5, seed()), tmt_core::math::rng::Stream::FlowStart);
    let mut at = 0;
    let mut uniform = || {
        at += 1;
        numbers.at(at)
    };
    let traces = depth(200, 3000);
    // By model and kind of run: tests, those below 0.05, those below 0.01.
    let mut counts = std::collections::BTreeMap::<(&str, &str), [f64; 3]>::new();
    // Sum of squares over its mean, of tests with some cells.
    let mut ratios = Vec::new();
    for number in 0..traces {
        let (name, process, slots) = random_truth(&mut uniform);
        let process: SlotChannel = process.parse().unwrap();
        let mut losses =
            tmt_core::channel::Losses::new(&process, number, tmt_core::channel::Use::Forward);
        let at = tmt_core::Time::ZERO;
        let trace = Sequence::of((0..slots).map(|_| losses.loses(at, tmt_core::Span::ZERO)));
        let fits = fit(&trace, &[model(name).unwrap()], &QUICK);
        for (kind, test) in [("bursts", &fits[0].bursts), ("gaps", &fits[0].gaps)] {
            let squares = test.chi_square.zip(test.degrees_of_freedom);
            ratios.extend(squares.filter(|two| two.1 > 8.0).map(|two| two.0 / two.1));
            if let Some(p) = test.p_value {
                for name in ["all", name] {
                    let count = counts.entry((name, kind)).or_default();
                    let below = [1.0, 0.05, 0.01].map(|level| f64::from(u8::from(p <= level)));
                    *count = std::array::from_fn(|k| count[k] + below[k]);
                }
            }
        }
    }
    for ((name, kind), [tests, five, one]) in &counts {
        report(&format!(
            "{name} {kind}: {tests} tests, {:.4} below 0.05, {:.4} below 0.01",
            five / tests,
            one / tests
        ));
    }
    let mean = ratios.iter().sum::<f64>() / to_f64(ratios.len() as u64);
    report(&format!(
        "mean of chi-square over its degrees of freedom: {mean:.4} of {}",
        ratios.len()
    ));
    assert!((mean - 1.0).abs() < depth(0.06, 0.03), "{mean}");
    for kind in ["bursts", "gaps"] {
        let [tests, five, _] = counts[&("all", kind)];
        let off = 0.05 - five / tests;
        assert!(
            off.abs() <= depth(0.035, 0.015),
            "{kind}: {five} of {tests}"
        );
    }
}

/// Data of `simple-gilbert`, which `netem-state` contains, in whose other parameters the likelihood is flat.
#[test]
fn four_states_of_two_end_soon_and_not_below_them() {
    for seed in 1..=depth(3, 40) {
        let trace = trace("gilbert-elliott:alpha=0.92,beta=0.5", seed, 100_000);
        let (simple, four) = (one(&trace, "simple-gilbert"), one(&trace, "netem-state"));
        assert!(
            four.log_likelihood >= simple.log_likelihood - 1e-6,
            "{four:?}"
        );
        assert!(four.converged && four.newton_steps <= Some(20), "{four:?}");
        let bound = four.log_likelihood - simple.log_likelihood > 8.0;
        assert_eq!(
            four.without_error.len(),
            if bound { 0 } else { 5 },
            "{four:?}"
        );
    }
}
