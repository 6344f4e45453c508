//! What `zhu` takes and gives.

use tmt_core::closed_form;
use tmt_core::model::{ModelError, Outcome};

use super::{Case, EndToEnd};
use crate::model::path::{BUFFER, LOSS, PIECES, Path, RATE, SATELLITE, SPARSE, TERRESTRIAL};

closed_form! {
    /// The model.
    pub(in crate::model) static MODEL: "zhu",
        "Throughput of TCP end to end over a satellite link with selective-repeat ARQ that keeps order";
    source: "papers/004 §III and appendix B, equations (20), (28) to (40); models.md §4.3";
    notes: [
        "One connection in congestion avoidance that fills the buffer, loses one segment there and halves; no timeouts, no delayed acknowledgements",
        "Losses on the link are independent; ARQ repeats without limit and keeps order; T1 is constant",
        "Valid for B from about 30 segments on and theta S > 2; norm_direct_sum is the same without the approximations between (38) and (39): 1.5 % off at B = 100, 15 % at B = 10",
        "Arguments of the factorials are TCP segments; (x-1)! is Gamma(x)",
        "(73)'s last line has misplaced terms (Z3), (74) and (77) mix factors in their sums (Z4); (39) and (40) are right, and X1 to X3 of (75) are A1 to A3 (Z5)",
        "norm = lambda/mu reaches 1-r at most; efficiency = norm/(1-r) is what compares with splitting (Z6)",
    ];
    example: "B=200 T1=0.1 T2=0.5 p=0.1";
    keys: [BUFFER, RATE, TERRESTRIAL, SATELLITE, LOSS, PIECES];
    answer(given) {
        let path = Path::of(given);
        path.check(path.buffer)?;
        let Some(found) = path.end_to_end() else {
            return Err(ModelError::refused(
                "(39) comes out negative: so few segments are outside of what it is made for",
            ));
        };
    }
    results {
        "r" = path.loss.yes, "loss of a link-layer packet";
        "nu" = path.reordering, "(1-r)/ln(1/r)";
        "beta" = path.beta(), "B/(mu T2)";
        "Tcal" = found.tcal, "transfer time of the largest window beyond T1, in T2";
        "rho" = found.rho, "its share of the whole";
        "wmax" = found.w_max, "largest window, segments";
        "case" = found.case as u64, "1: beta >= 1+rho, 2: 1 < beta < 1+rho, 3: beta <= 1";
        "A1" = found.a[0], "of (40)";
        "A2" = found.a[1], "of (40)";
        "A3" = found.a[2], "of (40)";
        "norm" = found.norm, "throughput over mu";
        "throughput" = path.rate * found.norm, "segments/s";
        "efficiency" = found.efficiency, "throughput over mu (1-r)";
        "norm_direct_sum" = found.direct,
            "throughput over mu by (38) over whole windows, from w_max/2 rounded (half to even) to twice that";
    }
    and remarks(&path, &found);
}

/// What lies outside of the model's assumptions.
pub(in crate::model) fn remarks(outcome: Outcome, path: &Path, found: &EndToEnd) -> Outcome {
    let outcome = outcome
        .remark_if(
            path.loss.no <= 0.0,
            "nothing gets through: efficiency is its limit for p to 1",
        )
        .remark_if(
            path.satellite <= 0.0,
            "the satellite link has no length: beta and Tcal are infinite, the rest are limits for T2 to 0",
        )
        .remark_if(path.sparse(path.buffer), SPARSE)
        .remark_if(
            found.efficiency > 1.0,
            "more than the link could carry: outside of what (39) is made for",
        );
    outcome
        .remark_if(
            path.buffer < 30.0,
            "B is below 30 segments: (39) approximates the sum (38), norm_direct_sum, for large windows",
        )
        .remark_if(
            path.buffer >= 30.0
                && found.case != Case::Full
                && path.terrestrial < 0.1 * path.satellite
                && path.loss.no > 0.0,
            "the buffer is below (1+rho) mu T2: the link idles after every loss (51)",
        )
}
