//! Windows of connections that grow equally and are cut individually, with the segments that each has sent.

/// Minimum number of cycles between two summations of all windows.
const REFRESH: usize = 1024;
/// If the common factor is below this, the windows are multiplied by it.
const SMALL: f64 = 1e-3;

/// The windows w_i.
///
/// All grow by the same amount, and the segments that each sends in a cycle are linear in its window. A window is
/// therefore stored as `scale` · base + `offset`, and the segments it has sent follow from two sums over cycles. The
/// cost of a cycle does not depend on the number of connections; a cut or a choice costs log N.
#[derive(Debug, Clone)]
pub(super) struct Windows {
    base: Vec<f64>,
    /// Sums of `base` over power-of-two ranges (a Fenwick tree), from index 1.
    tree: Vec<f64>,
    scale: f64,
    offset: f64,
    total: f64,
    /// A connection with a constant base has sent base · `gain` + `drift` segments since both were 0.
    gain: f64,
    drift: f64,
    /// `gain` and `drift` when the segments of the connection were last settled.
    seen: Vec<(f64, f64)>,
    sent: Vec<f64>,
    /// Cycles until all windows are summed again.
    rest: usize,
}

impl Windows {
    /// `count` equal windows with a sum of `total` segments.
    pub(super) fn new(count: usize, total: f64) -> Self {
        let share = total / tmt_core::types::to_f64(count as u64);
        let mut windows = Self {
            base: vec![share; count],
            tree: vec![0.0; count + 1],
            scale: 1.0,
            offset: 0.0,
            total,
            gain: 0.0,
            drift: 0.0,
            seen: vec![(0.0, 0.0); count],
            sent: vec![0.0; count],
            rest: 0,
        };
        windows.refresh();
        windows
    }

    /// Sum of all windows, w, in segments.
    pub(super) fn total(&self) -> f64 {
        self.total
    }

    /// The window of a connection, in segments.
    pub(super) fn window(&self, at: usize) -> f64 {
        self.scale * self.base[at] + self.offset
    }

    /// Each connection sends `slope` · w_i + `level` segments, and its window grows by `each`.
    pub(super) fn grow(&mut self, slope: f64, level: f64, each: f64, total: f64) {
        self.gain += slope * self.scale;
        self.drift += slope * self.offset + level;
        self.offset += each;
        self.total = total;
        self.rest = self.rest.saturating_sub(1);
        if self.rest == 0 {
            self.refresh();
        }
    }

    /// Multiplies all windows by `factor`.
    pub(super) fn cut_all(&mut self, factor: f64) {
        self.scale *= factor;
        self.offset *= factor;
        self.total *= factor;
        if self.scale < SMALL {
            self.refresh();
        }
    }

    /// Multiplies the window of a connection by `factor`.
    pub(super) fn cut(&mut self, at: usize, factor: f64) {
        self.settle(at);
        let before = self.window(at);
        let after = before * factor;
        self.total = (self.total - (before - after)).max(0.0);
        let base = (after - self.offset) / self.scale;
        let change = base - self.base[at];
        self.base[at] = base;
        let mut place = at + 1;
        while place < self.tree.len() {
            self.tree[place] += change;
            place += place & place.wrapping_neg();
        }
    }

    /// The connection chosen by `u` in [0, 1), with probability w_i/w.
    pub(super) fn choose(&self, u: f64) -> usize {
        let count = self.base.len();
        if count == 1 {
            return 0;
        }
        let (mut place, mut rest) = (0, u * self.total);
        let mut step = 1 << count.ilog2();
        while step > 0 {
            let next = place + step;
            if next <= count {
                let width = tmt_core::types::to_f64(step as u64);
                let inside = self.scale * self.tree[next] + self.offset * width;
                if inside <= rest {
                    rest -= inside;
                    place = next;
                }
            }
            step >>= 1;
        }
        place.min(count - 1)
    }

    /// Segments that each connection has sent.
    pub(super) fn sent(&mut self) -> &[f64] {
        for at in 0..self.base.len() {
            self.settle(at);
        }
        &self.sent
    }

    /// Resets the segments that have been sent.
    pub(super) fn forget(&mut self) {
        self.sent();
        self.sent.fill(0.0);
    }

    fn settle(&mut self, at: usize) {
        let (gain, drift) = self.seen[at];
        self.sent[at] += self.base[at] * (self.gain - gain) + (self.drift - drift);
        self.seen[at] = (self.gain, self.drift);
    }

    /// Applies factor and offset to the windows and sums them again, so that rounding errors do not accumulate.
    fn refresh(&mut self) {
        self.sent();
        self.tree.fill(0.0);
        for at in 0..self.base.len() {
            let window = self.window(at).max(0.0);
            self.base[at] = window;
            let place = at + 1;
            self.tree[place] += window;
            let parent = place + (place & place.wrapping_neg());
            if parent < self.tree.len() {
                self.tree[parent] += self.tree[place];
            }
        }
        (self.scale, self.offset) = (1.0, 0.0);
        (self.gain, self.drift) = (0.0, 0.0);
        self.seen.fill((0.0, 0.0));
        self.total = self.base.iter().sum();
        self.rest = REFRESH.max(4 * self.base.len());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Grow(f64),
        Cut(usize, f64),
        CutAll(f64),
        Choose(f64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0.0..5.0).prop_map(Step::Grow),
            (0..7usize, 0.3..1.0).prop_map(|(at, factor)| Step::Cut(at, factor)),
            (0.1..1.0).prop_map(Step::CutAll),
            (0.0..1.0).prop_map(Step::Choose),
        ]
    }

    proptest! {
        #[test]
        fn they_equal_windows_stored_individually(count in 1..7usize, steps in prop::collection::vec(step(), 1..200)) {
            let mut windows = Windows::new(count, 12.0);
            let width = tmt_core::types::to_f64(count as u64);
            let mut plain = vec![12.0 / width; count];
            let mut sent = vec![0.0; count];
            for step in steps {
                match step {
                    Step::Grow(each) => {
                        let total = windows.total() + each * width;
                        windows.grow(0.7, 0.1 * each, each, total);
                        for (window, sent) in plain.iter_mut().zip(&mut sent) {
                            *sent += 0.7 * *window + 0.1 * each;
                            *window += each;
                        }
                    }
                    Step::Cut(at, factor) => {
                        windows.cut(at % count, factor);
                        plain[at % count] *= factor;
                    }
                    Step::CutAll(factor) => {
                        windows.cut_all(factor);
                        for window in &mut plain { *window *= factor; }
                    }
                    Step::Choose(u) => {
                        let at = windows.choose(u);
                        let before: f64 = plain[..at].iter().sum();
                        let part = u * plain.iter().sum::<f64>();
                        prop_assert!(before <= part + 1e-9 && part <= before + plain[at] + 1e-9);
                    }
                }
            }
            for (at, window) in plain.iter().enumerate() {
                prop_assert!((windows.window(at) - window).abs() < 1e-9 * (1.0 + window));
            }
            prop_assert!((windows.total() - plain.iter().sum::<f64>()).abs() < 1e-8);
            for (ours, plain) in windows.sent().iter().zip(&sent) {
                prop_assert!((ours - plain).abs() < 1e-9 * (1.0 + plain));
            }
        }
    }
}
