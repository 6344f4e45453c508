//! Losses and changes of delay that come with a period, such as the reconfigurations of Starlink every 15 s.
//!
//! Time is cut into bins. For a period, bins of equal phase are compared: in how many periods has each a loss, or a change of
//! the mean delay that is among the largest tenth of its period? Without a period, each bin of phase has an equal chance,
//! so the largest count has a binomial tail. The number of phases and of periods that were tried multiplies it (Bonferroni).
//! Losses of one burst, or of one bad time within a bin, count once, so bursts alone do not look like a period.

use statrs::distribution::{Binomial, DiscreteCDF as _};
use tmt_core::types::{NANOS_PER_SECOND, Slot, to_f64};

use crate::sequence::{Segment, Sequence};

/// Bins per second at first; halved whenever there are too many bins.
const BINS_PER_SECOND: u64 = 16;

/// Most bins, 36 h at 16 a second.
const MOST_BINS: usize = 1 << 21;

/// Longest period that is tried, s; each whole number of seconds from 1 on is.
const LONGEST: u64 = 60;

/// Fewest whole periods for a test.
const FEWEST: usize = 6;

/// Probability of finding a period in a trace without one, for losses and for delays each.
pub const SIGNIFICANCE: f64 = 0.001;

/// Counts and delays within a bin.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Bin {
    slots: u32,
    lost: u32,
    received: u32,
    delay_s: f64,
}

impl Bin {
    fn add(&mut self, other: &Self) {
        self.slots += other.slots;
        self.lost += other.lost;
        self.received += other.received;
        self.delay_s += other.delay_s;
    }
}

/// Slots in bins of time, for the search for periods.
#[derive(Debug, Clone, Default)]
pub struct Bins {
    /// First second of the bins.
    origin_s: Option<u64>,
    /// Halvings of the number of bins per second.
    coarse: u32,
    content: Vec<Bin>,
    /// Whether the trace is too long even for bins of a second.
    too_long: bool,
}

/// A period that was found.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Period {
    /// The period, s.
    pub period_s: f64,
    /// Begin of the window after each multiple of the period since time zero of the trace, s.
    pub phase_s: f64,
    /// Length of the window, s.
    pub window_s: f64,
    /// Resolution of phase and window, s.
    pub resolution_s: f64,
    /// Whole periods of the trace.
    pub periods: u64,
    /// Periods with a loss in the window, or with one of their largest changes of delay.
    pub hits: u64,
    /// Probability of a count as large anywhere if nothing has a period.
    pub p_value: f64,
}

/// Whether losses, or delays, have a period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Periodicity {
    /// They have.
    Found(Period),
    /// Nothing significant.
    None {
        /// Smallest probability over all periods.
        p_value: f64,
        /// Longest period that was tried, s: the trace has at least six of it.
        longest_s: u64,
    },
    /// Fewer than six periods of a second, a trace of more than 24 days, or slots that are more than a second apart.
    Untested,
}

impl Bins {
    /// Adds slots in order of time.
    pub fn push(&mut self, slots: &[Slot]) {
        for slot in slots {
            let nanos = slot.tx_time().as_nanos();
            let origin = *self.origin_s.get_or_insert(nanos / NANOS_PER_SECOND);
            let since = nanos.saturating_sub(origin * NANOS_PER_SECOND);
            let mut at = self.place(since);
            while at >= MOST_BINS && !self.too_long {
                self.halve();
                at = self.place(since);
            }
            if self.too_long {
                return;
            }
            if at >= self.content.len() {
                self.content.resize(at + 1, Bin::default());
            }
            let bin = &mut self.content[at];
            bin.slots += 1;
            if slot.is_erased() {
                bin.lost += 1;
            } else {
                bin.received += 1;
                bin.delay_s += slot.decode_delay().as_secs_f64();
            }
        }
    }

    fn place(&self, since: u64) -> usize {
        let per_second = BINS_PER_SECOND >> self.coarse;
        let bin = u128::from(since) * u128::from(per_second) / u128::from(NANOS_PER_SECOND);
        usize::try_from(bin).unwrap_or(usize::MAX)
    }

    fn halve(&mut self) {
        if BINS_PER_SECOND >> self.coarse == 1 {
            self.too_long = true;
            self.content = Vec::new();
            return;
        }
        self.coarse += 1;
        self.content = paired(&self.content);
    }

    fn resolution_s(&self) -> f64 {
        1.0 / to_f64(BINS_PER_SECOND >> self.coarse)
    }

    /// Bins wide enough that most have a slot; `None` if even those of a second have not: phases without slots would make
    /// any loss look like a period.
    fn wide_enough(&self) -> Option<Self> {
        let mut wide = self.clone();
        loop {
            let with = wide.content.iter().filter(|bin| bin.slots > 0).count();
            if with * 10 >= wide.content.len() * 9 {
                return Some(wide);
            }
            if BINS_PER_SECOND >> wide.coarse == 1 {
                return None;
            }
            wide.halve();
        }
    }

    /// Searches for a period of losses, among all whole seconds up to 60, or the one given.
    #[must_use]
    pub fn of_losses(&self, only: Option<u64>) -> Periodicity {
        let Some(wide) = self.wide_enough() else {
            return Periodicity::Untested;
        };
        let hits = |_: usize| wide.content.iter().map(|bin| bin.lost > 0).collect();
        wide.search(only, &hits, true)
    }

    /// Searches for a period of changes of the mean delay.
    #[must_use]
    pub fn of_delays(&self, only: Option<u64>) -> Periodicity {
        let Some(wide) = self.wide_enough() else {
            return Periodicity::Untested;
        };
        let hits = |length: usize| wide.largest_changes(length);
        wide.search(only, &hits, false)
    }

    /// For each bin, whether the mean delays before and after its start differ by more than at nine tenths of the bins of
    /// its period. The means are over a sixteenth of the period.
    fn largest_changes(&self, length: usize) -> Vec<bool> {
        let mut sums = vec![(0.0, 0.0)];
        let mut sum = (0.0, 0.0);
        for bin in &self.content {
            sum = (sum.0 + bin.delay_s, sum.1 + f64::from(bin.received));
            sums.push(sum);
        }
        let mean = |from: usize, to: usize| {
            let received = sums[to].1 - sums[from].1;
            (received > 0.0).then(|| (sums[to].0 - sums[from].0) / received)
        };
        let span = (length / 16).max(1);
        let change = |at: usize| {
            let before = mean(at.saturating_sub(span), at);
            let after = mean(at, (at + span).min(self.content.len()));
            let change = before
                .zip(after)
                .map_or(0.0, |(one, other)| (other - one).abs());
            // Delays are whole nanoseconds: what is below comes from rounding.
            if change < 1e-9 { 0.0 } else { change }
        };
        let changes: Vec<f64> = (0..self.content.len()).map(change).collect();
        let mut hits = Vec::with_capacity(changes.len());
        for period in changes.chunks(length) {
            let mut changes = period.to_vec();
            let rank = period.len() / 10;
            let (_, limit, _) =
                changes.select_nth_unstable_by(rank, |one, other| other.total_cmp(one));
            let limit = *limit;
            hits.extend(period.iter().map(|change| *change > limit));
        }
        hits
    }

    /// `hits` marks bins for a period of so many; `wide` asks for all neighbours of the best phase that are significant.
    fn search(
        &self,
        only: Option<u64>,
        hits: &dyn Fn(usize) -> Vec<bool>,
        wide: bool,
    ) -> Periodicity {
        let per_second = BINS_PER_SECOND >> self.coarse;
        let candidates: Vec<u64> = match only {
            Some(period) => vec![period],
            None => (1..=LONGEST).collect(),
        };
        let folded = candidates.iter().filter_map(|seconds| {
            let length = usize::try_from(seconds * per_second).ok()?;
            let periods = self.content.len() / length;
            (periods >= FEWEST && length >= 4).then(|| Folded::of(&hits(length), length))
        });
        let folded: Vec<Folded> = folded.collect();
        let tried = to_f64(folded.len() as u64);
        let best = folded
            .iter()
            .min_by(|one, other| one.p_value.total_cmp(&other.p_value));
        let Some(best) = best else {
            return Periodicity::Untested;
        };
        let p_value = (best.p_value * tried).min(1.0);
        if p_value > SIGNIFICANCE {
            let bins = folded.iter().map(|one| one.counts.len() as u64).max();
            let longest_s = bins.unwrap_or(0) / per_second;
            return Periodicity::None { p_value, longest_s };
        }
        let width = self.resolution_s();
        let (from, length) = if wide {
            best.window()
        } else {
            (best.middle(), 1)
        };
        let period_s = to_f64(best.counts.len() as u64) * width;
        // Bins begin at a whole second, periods at time zero.
        let phase_s = to_f64(self.origin_s.unwrap_or(0)) + to_f64(from as u64) * width;
        Periodicity::Found(Period {
            period_s,
            phase_s: phase_s % period_s,
            window_s: to_f64(length as u64) * width,
            resolution_s: width,
            periods: best.periods,
            hits: best.counts.iter().copied().max().unwrap_or(0),
            p_value,
        })
    }

    /// The sequence without the slots in the windows of `period`, and what those lose: slots, and lost slots.
    #[must_use]
    pub fn without(&self, sequence: &Sequence, period: &Period) -> (Sequence, [u64; 2]) {
        let width = self.resolution_s();
        let origin = to_f64(self.origin_s.unwrap_or(0));
        let mut rest = Sequence::default();
        let mut inside = [0; 2];
        let mut segment = Segment::default();
        let mut runs = sequence.segments.iter().flat_map(Segment::iter);
        let mut run = (false, 0);
        for (at, bin) in self.content.iter().enumerate() {
            let middle = origin + (to_f64(at as u64) + 0.5) * width;
            let since = (middle - period.phase_s).rem_euclid(period.period_s);
            let is_inside = since < period.window_s;
            if is_inside {
                let ended = std::mem::take(&mut segment);
                rest.segments.extend(Sequence::from(ended).segments);
            }
            let mut left = u64::from(bin.slots);
            while left > 0 {
                if run.1 == 0 {
                    match runs.next() {
                        Some(next) => run = next,
                        None => break,
                    }
                }
                let taken = left.min(run.1);
                if is_inside {
                    inside[0] += taken;
                    inside[1] += if run.0 { taken } else { 0 };
                } else {
                    segment.push(run.0, taken);
                }
                run.1 -= taken;
                left -= taken;
            }
        }
        rest.segments.extend(Sequence::from(segment).segments);
        (rest, inside)
    }
}

/// The text of a `reconfiguration` process that loses as much in the windows of a period, and as much and in bursts as long
/// on average in the `rest`: disturbances begin with the window, their lengths are uniform. Delays are left as they are.
///
/// # Errors
/// The losses of the rest are no short bursts.
pub fn reconfiguration(
    period: &Period,
    [slots, lost]: [u64; 2],
    rest: &Sequence,
) -> Result<String, String> {
    let share = to_f64(lost) / to_f64(slots.max(1));
    // Uniform lengths from `shortest` to the window have a mean of half their sum.
    let (shortest, disturbed) = if share <= 0.5 {
        (0.0, 2.0 * share)
    } else {
        ((2.0 * share - 1.0) * period.window_s, 1.0)
    };
    let loss = to_f64(rest.lost()) / to_f64(rest.slots().max(1));
    if loss > 0.5 {
        return Err("more than half of the rest is lost".to_owned());
    }
    let bursts = rest.burst_count();
    let burst = if bursts > 0 {
        to_f64(rest.lost()) / to_f64(bursts)
    } else {
        1.0
    };
    let span = |seconds: f64| {
        let nanos = tmt_core::math::num::floor_u64(seconds * 1e9 + 0.5);
        tmt_core::Span::from_nanos(nanos).unwrap_or(tmt_core::Span::MAX)
    };
    let text = format!(
        "reconfiguration:period={},first={},shortest={},longest={},disturbed={disturbed},loss={loss},burst={burst},spread=0s,jitter=0s,hold=40ms",
        span(period.period_s),
        span(period.phase_s),
        span(shortest),
        span(period.window_s),
    );
    let read = text.parse::<tmt_core::channel::SlotChannel>();
    read.map_err(|why| why.to_string())?;
    Ok(text)
}

/// Neighbouring bins together.
fn paired(bins: &[Bin]) -> Vec<Bin> {
    let join = |pair: &[Bin]| {
        let mut all = Bin::default();
        for bin in pair {
            all.add(bin);
        }
        all
    };
    bins.chunks(2).map(join).collect()
}

/// Whole periods laid upon each other.
struct Folded {
    /// Periods with a hit, by phase.
    counts: Vec<u64>,
    periods: u64,
    /// Mean share of periods with a hit.
    share: f64,
    /// For this period alone: that of the largest count, times the number of phases.
    p_value: f64,
}

impl Folded {
    fn of(hits: &[bool], length: usize) -> Self {
        let mut counts = vec![0_u64; length];
        let mut periods = 0;
        for period in hits.chunks_exact(length) {
            periods += 1;
            for (count, hit) in counts.iter_mut().zip(period) {
                *count += u64::from(*hit);
            }
        }
        let phases = to_f64(length as u64);
        let share = to_f64(counts.iter().sum()) / (phases * to_f64(periods));
        let mut folded = Self {
            counts,
            periods,
            share,
            p_value: 1.0,
        };
        let most = folded.counts.iter().copied().max().unwrap_or(0);
        if folded.is_large(most) {
            folded.p_value = (folded.tail(most) * phases).min(1.0);
        }
        folded
    }

    /// Whether a count is at least twice what is expected. Bins of some phases have a slot more than others, which long traces
    /// would make significant.
    fn is_large(&self, count: u64) -> bool {
        to_f64(count) >= 2.0 * self.share * to_f64(self.periods)
    }

    /// Probability that a phase has at least this many hits.
    fn tail(&self, count: u64) -> f64 {
        let law = Binomial::new(self.share.clamp(0.0, 1.0), self.periods);
        match count.checked_sub(1) {
            Some(below) => law.map_or(1.0, |law| law.sf(below)),
            None => 1.0,
        }
    }

    /// The middle one of the phases that have the largest count.
    fn middle(&self) -> usize {
        let most = self.counts.iter().copied().max().unwrap_or(0);
        let best = (0..self.counts.len()).filter(|at| self.counts[*at] == most);
        let best: Vec<usize> = best.collect();
        best[best.len() / 2]
    }

    /// First phase and number of phases around the largest count that are significant, too.
    fn window(&self) -> (usize, usize) {
        let n = self.counts.len();
        // The period is known by now: only its phases are tried.
        let level = SIGNIFICANCE / to_f64(n as u64);
        let is_high = |at: usize| {
            self.is_large(self.counts[at % n]) && self.tail(self.counts[at % n]) <= level
        };
        let best = (0..n).max_by_key(|at| self.counts[*at]).unwrap_or(0);
        let mut from = best + n;
        while from > best + 1 && is_high(from - 1) {
            from -= 1;
        }
        let mut to = best + n;
        while to - from + 1 < n && is_high(to + 1) {
            to += 1;
        }
        (from % n, to - from + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tmt_core::channel::{SlotChannel, Use};
    use tmt_core::{Span, Time};

    /// Slots every 10 ms for this long, with the losses of a process.
    fn slots_of(text: &str, seconds: u64, seed: u64) -> Vec<Slot> {
        let process: SlotChannel = text.parse().unwrap();
        let at = |number: u64| Time::from_nanos(number * 10_000_000).unwrap();
        let mut slots: Vec<Slot> = (0..seconds * 100)
            .map(|number| Slot::new(at(number), Span::from_millis(20)).unwrap())
            .collect();
        let on_air = Span::from_millis(10);
        process
            .begin(seed, Use::Forward)
            .erase(0, on_air, &mut slots);
        slots
    }

    fn bins(slots: &[Slot]) -> Bins {
        let mut bins = Bins::default();
        slots.chunks(777).for_each(|slots| bins.push(slots));
        bins
    }

    #[test]
    fn slots_seconds_apart_have_no_period() {
        // A frame every 7 s: every loss is in the only phase of 7 s that has slots.
        let slot = |number: u64| {
            let at = Time::from_nanos(number * 7_000_000_000).unwrap();
            let delay = Span::from_millis(u32::from(!number.is_multiple_of(9)));
            Slot::new(at, delay).unwrap()
        };
        let slots: Vec<Slot> = (0..1000).map(slot).collect();
        let bins = bins(&slots);
        for found in [
            bins.of_losses(None),
            bins.of_losses(Some(7)),
            bins.of_delays(None),
        ] {
            assert_eq!(found, Periodicity::Untested);
        }
    }

    #[test]
    fn the_reconfigurations_of_starlink_are_found_and_set_apart() {
        let slots = slots_of(
            "reconfiguration:first=12s,shortest=20ms,longest=80ms,disturbed=0.6,loss=0.001,burst=1.2",
            600,
            5,
        );
        let bins = bins(&slots);
        let Periodicity::Found(period) = bins.of_losses(None) else {
            panic!("no period: {:?}", bins.of_losses(None));
        };
        assert_eq!((period.period_s, period.phase_s), (15.0, 12.0));
        assert!(
            period.window_s <= 0.125 && period.p_value < 1e-6,
            "{period:?}"
        );
        let sequence = Sequence::of(slots.iter().map(Slot::is_erased));
        let (rest, [inside, lost]) = bins.without(&sequence, &period);
        assert_eq!(rest.slots() + inside, sequence.slots());
        assert_eq!(rest.lost() + lost, sequence.lost());
        assert_eq!(rest.segments.len(), 41);
        // The rest has the losses outside of disturbances.
        let share = to_f64(rest.lost()) / to_f64(rest.slots());
        assert!(share < 0.002, "{share}");
        // The process that is made of the fit loses as much.
        let text = reconfiguration(&period, [inside, lost], &rest).unwrap();
        let again = slots_of(&text, 3000, 8);
        let share = |slots: &[Slot]| {
            let lost = slots.iter().filter(|slot| slot.is_erased()).count() as u64;
            to_f64(lost) / to_f64(slots.len() as u64)
        };
        assert!(
            (share(&again) / share(&slots) - 1.0).abs() < 0.25,
            "{text} {} {}",
            share(&again),
            share(&slots)
        );
        let Periodicity::Found(delays) = bins.of_delays(None) else {
            panic!("no period of delays: {:?}", bins.of_delays(None));
        };
        assert_eq!(delays.period_s, 15.0);
        assert!((delays.phase_s - 12.0).abs() < 0.5, "{delays:?}");
    }

    /// Of 300 traces without a period, on average 0.3 would be taken for periodic.
    #[test]
    fn bursts_are_not_taken_for_a_period() {
        let mut found = 0;
        let traces = [
            "bernoulli:0.01",
            "gilbert-elliott:alpha=0.9995,beta=0.99,pg=0.001,pb=0.5",
            "gilbert-elliott:alpha=0.99,beta=0.8",
        ];
        for text in traces {
            for seed in 0..100 {
                let bins = bins(&slots_of(text, 120, seed));
                found += u32::from(matches!(bins.of_losses(None), Periodicity::Found(_)));
            }
        }
        assert!(found <= 3, "{found}");
    }

    /// Bins of a sixteenth of a second have 6 or 7 slots of 10 ms, by their phase.
    #[test]
    fn an_uneven_number_of_slots_is_not_taken_for_a_period() {
        let slots = slots_of(
            "gilbert-elliott:alpha=0.5,beta=0.55,pg=0.3,pb=0.7",
            20_000,
            1,
        );
        let bins = bins(&slots);
        assert!(
            matches!(bins.of_losses(None), Periodicity::None { .. }),
            "{:?}",
            bins.of_losses(None)
        );
        assert!(
            matches!(bins.of_delays(None), Periodicity::None { .. }),
            "{:?}",
            bins.of_delays(None)
        );
    }

    /// Delays that wander, with steps at random times.
    #[test]
    fn wandering_delays_are_not_taken_for_a_period() {
        use tmt_core::math::rng::{Stream, Uniform};
        let mut found = 0;
        for seed in 0..100 {
            let mut numbers = Uniform::new(seed, Stream::ChannelState);
            let mut delay = 50.0;
            let slots: Vec<Slot> = (0..12_000)
                .map(|number| {
                    let u = numbers.at(number);
                    delay = if u < 0.002 {
                        20.0 + 30_000.0 * u
                    } else {
                        delay + 0.05 * (u - 0.5)
                    };
                    let at = Time::from_nanos(number * 10_000_000).unwrap();
                    let nanos = tmt_core::math::num::floor_u64(1e6 * delay).max(1);
                    Slot::new(at, Span::from_nanos(nanos).unwrap()).unwrap()
                })
                .collect();
            found += u32::from(matches!(
                bins(&slots).of_delays(None),
                Periodicity::Found(_)
            ));
        }
        assert!(found <= 2, "{found}");
    }
}
