//! Whether printed 95 % intervals contain the truth in 95 of 100 studies, over links with errors of different kinds. `.ci/long
//! coverage` runs it, within 20 minutes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Folder, bash, tmt};

/// Links: independent erasures, bursts, fading, rare long bursts that make runs bimodal.
const LINKS: [&str; 4] = [
    "--channel bernoulli:0.02 --rate 1Mbps --lldu 125B --rtt 40ms --duration 5s",
    "--channel gilbert-elliott:alpha=0.999,beta=0.9 --rate 2Mbps --lldu 250B --rtt 300ms --duration 15s",
    "--channel fading:m=30ms,X=0.05 --rate 3Mbps --lldu 500B --rtt 100ms --duration 8s",
    "--channel gilbert-elliott:alpha=0.9995,beta=0.98 --rate 4Mbps --lldu 500B --rtt 60ms --duration 8s",
];

/// Candidates of every link.
const SCHEMES: [&str; 5] = [
    "arq,in-order",
    "arq",
    "harq:10/11",
    "harq:10/12",
    "fec:10/12",
];

/// Seeds of a sweep. Student's t needs more of them, the more skewed the values are: with 12 a mean is covered by 92 of 100.
const SEEDS: usize = 40;

/// Repetitions of a study.
const STUDIES: usize = 200;

/// Seeds of the truth, far from those of the studies.
const TRUTH_SEED: u64 = 1_000_000_000;

/// Intervals that contain the truth, and all.
#[derive(Debug, Clone, Copy, Default)]
struct Coverage {
    holding: u32,
    all: u32,
}

impl Coverage {
    fn add(&mut self, (mean, half_width): (f64, f64), truth: f64) {
        self.holding += u32::from((mean - truth).abs() <= half_width);
        self.all += 1;
    }

    fn percent(self) -> f64 {
        100.0 * f64::from(self.holding) / f64::from(self.all)
    }
}

/// Coverage by what is printed and by link.
type Found = BTreeMap<(&'static str, usize), Coverage>;

fn merge(into: &mut Found, from: Found) {
    for (key, found) in from {
        let own = into.entry(key).or_default();
        own.holding += found.holding;
        own.all += found.all;
    }
}

/// Runs every study once, on both cores.
fn over_studies(count: usize, study: impl Fn(usize) -> Found + Sync) -> Found {
    let next = AtomicUsize::new(0);
    let mut all = Found::new();
    thread::scope(|scope| {
        let work = || {
            let mut own = Found::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return own;
                }
                merge(&mut own, study(number));
            }
        };
        let threads = [scope.spawn(work), scope.spawn(work)];
        for thread in threads {
            merge(&mut all, thread.join().unwrap());
        }
    });
    all
}

/// Means of goodput by scheme, over `seeds` seeds that no study has.
fn truth(link: &str, schemes: &str, seeds: u32) -> BTreeMap<String, f64> {
    let folder = Folder::new();
    let sweep = format!(
        "-q sweep --scheme {schemes} {link} --seeds {seeds} --seed {TRUTH_SEED} -o truth.csv"
    );
    let patience = Duration::from_mins(30);
    tmt(&sweep).patience(patience).within(&folder).run().ok();
    let summary = "-q summarise --json --by scheme --metric total_goodput_bps truth.csv";
    let groups = tmt(summary).within(&folder).run().ok().results();
    let groups = groups.as_array().unwrap().iter();
    let mean = |group: &Value| group["means"][0]["mean"].as_f64().unwrap();
    groups
        .map(|group| (group["by"][0].as_str().unwrap().to_owned(), mean(group)))
        .collect()
}

/// Mean and half-width of an estimate in JSON.
fn estimate(of: &Value) -> Option<(f64, f64)> {
    Some((of["mean"].as_f64()?, of["ci95"].as_f64()?))
}

fn advise(link: &str, more: &str, seed: usize) -> Value {
    let run = format!("-q -j 1 advise --json {more} {link} --seed {seed}");
    let folder = Folder::new();
    tmt(&run)
        .patience(Duration::from_mins(10))
        .within(&folder)
        .run()
        .ok()
        .results()
}

/// The finals of five fixed candidates, and one sweep with its summaries: means, paired differences from the first, and
/// differences of runs without common seeds.
fn of_candidates(link: usize, truth: &BTreeMap<String, f64>, study: usize) -> Found {
    let mut found = Found::new();
    let mut add = |what, estimate: (f64, f64), truth: f64| {
        found.entry((what, link)).or_default().add(estimate, truth);
    };
    let seed = 1 + study * 1000;
    let answer = advise(
        LINKS[link],
        &format!("--candidates {}", SCHEMES.join(",")),
        seed,
    );
    for one in answer["candidates"].as_array().unwrap() {
        let scheme = one["scheme"].as_str().unwrap();
        if let Some(estimate) = estimate(&one["total_goodput_bps"]) {
            add("advise", estimate, truth[scheme]);
        }
    }
    let folder = Folder::new();
    let schemes = SCHEMES.join(",");
    let sweep = |seed: usize, name: &str| {
        let sweep = format!(
            "-q -j 1 sweep --scheme {schemes} {} --seeds {SEEDS} --seed {seed} -o {name}",
            LINKS[link]
        );
        tmt(&sweep).within(&folder).run().ok();
    };
    sweep(seed + 400, "paired.csv");
    // The first scheme and the others have no seed in common.
    sweep(seed + 500, "other.csv");
    let first = format!("'\"{}\"'", SCHEMES[0]);
    let join = format!("(grep -v {first} paired.csv; grep {first} other.csv) > unpaired.csv");
    bash(&folder, &join).ok();
    for (name, what) in [("paired.csv", "paired"), ("unpaired.csv", "unpaired")] {
        let summary = format!(
            "-q summarise --json --by scheme --metric total_goodput_bps --against {} {name}",
            SCHEMES[0]
        );
        let groups = tmt(&summary).within(&folder).run().ok().results();
        for group in groups.as_array().unwrap() {
            let scheme = group["by"][0].as_str().unwrap();
            if let Some(estimate) = estimate(&group["means"][0]) {
                add("summarise", estimate, truth[scheme]);
            }
            if let Some(difference) = estimate(&group["differences"][0]) {
                add(what, difference, truth[scheme] - truth[SCHEMES[0]]);
            }
        }
    }
    found
}

/// Mean and half-width of goodput over starts in a trace that `seed` makes, `length` runs long.
fn from_starts(link: usize, starts: usize, over: f64, length: f64, seed: usize) -> (f64, f64) {
    let words: Vec<&str> = LINKS[link].split(' ').collect();
    let value = |flag: &str| words[words.iter().position(|word| *word == flag).unwrap() + 1];
    let number =
        |flag: &str, unit: &str| -> f64 { value(flag).trim_end_matches(unit).parse().unwrap() };
    let (duration, rate, lldu) = (
        number("--duration", "s"),
        number("--rate", "Mbps"),
        number("--lldu", "B"),
    );
    // A slot is decoded when it has been sent.
    let slot = (lldu * 8e3 / rate).round();
    let folder = Folder::new();
    let run = format!(
        "set -o pipefail; tmt -q synth --channel {} --rate {rate}Mbps --lldu {lldu}B --rtt {} --duration {}s \
         --decode-delay {slot}ns --seed {seed} | tmt -q apply --scheme {} \
         | tmt -q -j 1 tcp --json --duration {duration}s --offsets {starts}:over={}s",
        value("--channel"),
        value("--rtt"),
        duration * length,
        SCHEMES[0],
        duration * over,
    );
    let ran = bash(&folder, &run).ok();
    estimate(&ran.results()["mean"]["goodput_bps"]).unwrap()
}

#[test]
#[ignore = "minutes; .ci/long coverage"]
fn intervals_contain_the_truth_as_often_as_they_say() {
    let mut all = Found::new();
    for (number, link) in LINKS.iter().enumerate() {
        let truth = truth(link, &SCHEMES.join(","), 10_000);
        merge(
            &mut all,
            over_studies(STUDIES, |study| of_candidates(number, &truth, study)),
        );
        // Runs that overlap by 80 %, against those of a long trace that do not.
        let (truth, _) = from_starts(number, 3000, 3001.0, 3003.0, 77);
        let starts = over_studies(STUDIES, |study| {
            let estimate = from_starts(number, 16, 3.0, 4.5, 1000 + study);
            let mut found = Found::new();
            found
                .entry(("offsets", number))
                .or_default()
                .add(estimate, truth);
            found
        });
        merge(&mut all, starts);
    }
    let mut pooled: BTreeMap<&str, Coverage> = BTreeMap::new();
    for ((what, link), found) in &all {
        println!(
            "{what}, link {link}: {} of {} ({:.1} %)",
            found.holding,
            found.all,
            found.percent()
        );
        let sum = pooled.entry(what).or_default();
        sum.holding += found.holding;
        sum.all += found.all;
    }
    for (what, found) in &pooled {
        println!("{what}: {:.1} % of {}", found.percent(), found.all);
    }
    for ((what, link), found) in &all {
        let percent = found.percent();
        assert!(
            (90.0..=99.0).contains(&percent),
            "{what}, link {link}: {found:?}"
        );
    }
    for (what, found) in pooled {
        assert!(
            (93.0..=97.0).contains(&found.percent()),
            "{what}: {found:?}"
        );
    }
}

#[test]
#[ignore = "minutes; .ci/long coverage"]
fn the_mean_of_a_winner_is_the_truth() {
    for (number, link) in LINKS.iter().enumerate() {
        let found = over_studies(20, |study| {
            let answer = advise(link, "", 1 + study * 100_000);
            let winner = answer["winner"].as_str().unwrap();
            let candidates = answer["candidates"].as_array().unwrap();
            let own = candidates
                .iter()
                .find(|one| one["scheme"] == winner)
                .unwrap();
            let estimate = estimate(&own["total_goodput_bps"]).unwrap();
            let truth = truth(link, winner, 4000);
            let mut found = Found::new();
            found
                .entry(("winner", number))
                .or_default()
                .add(estimate, truth[winner]);
            found
        });
        let found = found[&("winner", number)];
        println!("winner, link {number}: {} of {}", found.holding, found.all);
        assert!(found.holding >= 17, "link {number}: {found:?}");
    }
}
