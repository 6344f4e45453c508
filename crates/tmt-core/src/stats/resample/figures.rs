//! The figures that have an interval: which sums they are the ratio of.

use super::Sums;
use super::cells::{Cell, bucket_of};
use crate::math::num::floor_u64;
use crate::stats::distribution::Distribution;
use crate::types::{Bytes, Show, Span, to_f64};

/// How a figure follows from its ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is the ratio.
    Ratio,
    /// The percentile of the delay at which the ratio is the share of delays up to it.
    Percentile(u8),
}

/// Property of the link that enters a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    Rtt,
    Lldu,
}

/// A figure of `tmt stats` with an interval.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// Its name with its unit, as in JSON.
    pub name: &'static str,
    /// Its name with its unit, as in tables.
    pub label: &'static str,
    /// How tables show it.
    pub show: Show,
    pub(super) kind: Kind,
    /// Range of the ratio, to which widened intervals are cut.
    pub(super) least: f64,
    pub(super) most: f64,
    /// Whether it counts slots of a kind, so that nothing is known if all or none are.
    counts: bool,
    needs: Needs,
    over: fn(&Cell) -> f64,
    under: fn(&Cell) -> f64,
}

const fn ratio(
    name: &'static str,
    label: &'static str,
    over: fn(&Cell) -> f64,
    under: fn(&Cell) -> f64,
) -> Figure {
    Figure {
        name,
        label,
        show: Show::Decimals(6),
        kind: Kind::Ratio,
        least: 0.0,
        most: f64::INFINITY,
        counts: false,
        needs: Needs::Nothing,
        over,
        under,
    }
}

/// A share of slots.
const fn share(figure: Figure) -> Figure {
    Figure {
        most: 1.0,
        counts: true,
        ..figure
    }
}

/// A mean length of runs, at least one slot.
const fn length(figure: Figure) -> Figure {
    Figure {
        least: 1.0,
        show: Show::Decimals(3),
        ..figure
    }
}

const fn delay(name: &'static str, label: &'static str, kind: Kind, needs: Needs) -> Figure {
    let over: fn(&Cell) -> f64 = |cell| seconds(cell.delay);
    Figure {
        kind,
        needs,
        show: Show::Milli,
        ..ratio(name, label, over, received)
    }
}

const P50: Kind = Kind::Percentile(50);
const P85: Kind = Kind::Percentile(85);
const P95: Kind = Kind::Percentile(95);
const P99: Kind = Kind::Percentile(99);

/// The figures, in the order of documents and tables.
pub static FIGURES: [Figure; 17] = [
    share(ratio(
        "erasure_ratio",
        "erasure ratio",
        |cell| to_f64(cell.erased),
        |cell| to_f64(cell.slots),
    )),
    share(ratio(
        "alpha",
        "P(received after received), alpha",
        |cell| to_f64(cell.stays_received),
        |cell| to_f64(cell.after_received),
    )),
    share(ratio(
        "beta",
        "P(erased after erased), beta",
        |cell| to_f64(cell.stays_erased),
        |cell| to_f64(cell.after_erased),
    )),
    length(ratio(
        "burst_mean_slots",
        "burst length, mean",
        |cell| to_f64(cell.erased),
        |cell| to_f64(cell.bursts),
    )),
    length(ratio(
        "gap_mean_slots",
        "gap length, mean",
        received,
        |cell| to_f64(cell.gaps),
    )),
    Figure {
        show: Show::Decimals(3),
        ..ratio(
            "slots_per_s",
            "slots per second",
            |cell| to_f64(cell.steps),
            |cell| cell.seconds,
        )
    },
    Figure {
        show: Show::Count,
        needs: Needs::Lldu,
        ..ratio(
            "rate_bps",
            "rate bps",
            |cell| to_f64(cell.steps),
            |cell| cell.seconds,
        )
    },
    delay(
        "decode_delay_mean_s",
        "decoding delay mean ms",
        Kind::Ratio,
        Needs::Nothing,
    ),
    delay(
        "decode_delay_p50_s",
        "decoding delay p50 ms",
        P50,
        Needs::Nothing,
    ),
    delay(
        "decode_delay_p85_s",
        "decoding delay p85 ms",
        P85,
        Needs::Nothing,
    ),
    delay(
        "decode_delay_p95_s",
        "decoding delay p95 ms",
        P95,
        Needs::Nothing,
    ),
    delay(
        "decode_delay_p99_s",
        "decoding delay p99 ms",
        P99,
        Needs::Nothing,
    ),
    delay(
        "delay_mean_s",
        "one-way delay mean ms",
        Kind::Ratio,
        Needs::Rtt,
    ),
    delay("delay_p50_s", "one-way delay p50 ms", P50, Needs::Rtt),
    delay("delay_p85_s", "one-way delay p85 ms", P85, Needs::Rtt),
    delay("delay_p95_s", "one-way delay p95 ms", P95, Needs::Rtt),
    delay("delay_p99_s", "one-way delay p99 ms", P99, Needs::Rtt),
];

fn received(cell: &Cell) -> f64 {
    to_f64(cell.slots - cell.erased)
}

/// A sum of nanoseconds in seconds.
#[expect(
    clippy::cast_precision_loss,
    reason = "a report, and 53 bits are enough for it"
)]
fn seconds(nanos: u128) -> f64 {
    nanos as f64 / 1e9
}

impl Figure {
    /// The sums of each cell; `None` if there is nothing to sum.
    pub(super) fn sums(&self, cells: &[Cell], delays: &Shares) -> Option<Vec<Sums>> {
        let below = match self.kind {
            Kind::Ratio => None,
            Kind::Percentile(percent) => Some(bucket_of(delays.rank(f64::from(percent) / 100.0)?)),
        };
        let sums = cells.iter().map(|cell| Sums {
            over: below.map_or_else(|| (self.over)(cell), |below| to_f64(up_to(cell, below))),
            under: (self.under)(cell),
            seconds: cell.seconds,
        });
        Some(sums.collect())
    }

    /// Whether resampling can say how the figure varies.
    pub(super) fn is_informative(&self, sums: &[Sums]) -> bool {
        let total = |of: fn(&Sums) -> f64| sums.iter().map(of).sum::<f64>();
        let (over, under) = (total(|sums| sums.over), total(|sums| sums.under));
        !self.counts || over > 0.0 && over < under
    }

    /// The figure as it is reported; `None` if what it needs of the link is unknown.
    pub(super) fn shown(&self, value: f64, rtt: Option<Span>, lldu: Option<Bytes>) -> Option<f64> {
        Some(match self.needs {
            Needs::Nothing => value,
            Needs::Rtt => value + rtt?.half().as_secs_f64(),
            Needs::Lldu => value * 8.0 * to_f64(lldu?.0),
        })
    }
}

/// Received rows of a cell whose delays are in this bucket or below.
fn up_to(cell: &Cell, bucket: u16) -> u64 {
    let below = cell.delays.partition_point(|(other, _)| *other <= bucket);
    cell.delays[..below]
        .iter()
        .map(|(_, count)| u64::from(*count))
        .sum()
}

/// The distribution of all delays: the share of them up to each.
#[derive(Debug)]
pub(super) struct Shares {
    /// Delays in ascending order, ns, with the number of delays up to each.
    up_to: Vec<(u64, u64)>,
}

impl Shares {
    pub(super) fn new(delays: &Distribution) -> Self {
        let mut sum = 0;
        let counts = delays.counts().into_iter();
        let up_to = counts.map(|(delay, count)| {
            sum += count;
            (delay.as_nanos(), sum)
        });
        Self {
            up_to: up_to.collect(),
        }
    }

    /// The delay, ns, up to which this share of all is, by nearest rank; `None` if there are none.
    pub(super) fn rank(&self, share: f64) -> Option<u64> {
        let (_, all) = self.up_to.last()?;
        // Shares of whole percents must not miss their rank by rounding.
        let rank = floor_u64((share * to_f64(*all) - 1e-9).ceil().max(1.0)).min(*all);
        let at = self.up_to.partition_point(|(_, up_to)| *up_to < rank);
        Some(self.up_to[at].0)
    }

    /// The same in seconds; NaN if there are none.
    pub(super) fn value(&self, share: f64) -> f64 {
        self.rank(share)
            .map_or(f64::NAN, |nanos| to_f64(nanos) / 1e9)
    }
}
