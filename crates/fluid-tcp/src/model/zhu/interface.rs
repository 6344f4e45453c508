//! Keys and results of `zhu`.

use tmt_core::closed_form;
use tmt_core::model::{ModelError, Outcome};

use super::{Case, EndToEnd};
use crate::model::path::{BUFFER, LOSS, PIECES, Path, RATE, SATELLITE, SPARSE, TERRESTRIAL};

closed_form! {
    /// `tmt model zhu` (docs/models.md, Sec. 7.3).
    pub(in crate::model) static MODEL: "zhu",
        "Throughput of TCP end to end over selective-repeat ARQ with in-order delivery";
    source: "Zhu 2006, Sec. III and appendix B, eq. (20), (28) to (40); docs/models.md, Sec. 7.3";
    notes: [
        "One connection in congestion avoidance that overflows the buffer, loses one segment and halves; no timeouts, no delayed ACKs",
        "Losses on the link are independent; repeats are unlimited; T1 is constant",
        "Valid for B of at least about 30 segments and theta S > 2. norm_direct_sum avoids the approximations between (38) and (39), which are 1.5 % at B = 100 and 15 % at B = 10",
        "Arguments of the factorials are TCP segments; (x-1)! is Gamma(x)",
        "The last line of (73) has misplaced terms (Z3), (74) and (77) mix factors (Z4); (39) and (40) are right; X1 to X3 of (75) are A1 to A3 (Z5)",
        "norm is at most 1-r; compare efficiency = norm/(1-r) with that of split (Z6)",
    ];
    example: "B=200 T1=0.1 T2=0.5 p=0.1";
    keys: [BUFFER, RATE, TERRESTRIAL, SATELLITE, LOSS, PIECES];
    answer(given) {
        let path = Path::of(given);
        path.check(path.buffer)?;
        let Some(found) = path.end_to_end() else {
            return Err(ModelError::refused(
                "(39) is negative: too few segments for this model",
            ));
        };
    }
    results {
        "r" = path.loss.yes, "loss of a link-layer packet";
        "nu" = path.reordering, "(1-r)/ln(1/r)";
        "beta" = path.beta(), "B/(mu T2)";
        "Tcal" = found.tcal, "transfer time of the largest window without T1, in units of T2";
        "rho" = found.rho, "share of Tcal in the total transfer time";
        "wmax" = found.w_max, "largest window, segments";
        "case" = found.case as u64, "1: beta >= 1+rho, 2: 1 < beta < 1+rho, 3: beta <= 1";
        "A1" = found.a[0], "coefficient of (40)";
        "A2" = found.a[1], "coefficient of (40)";
        "A3" = found.a[2], "coefficient of (40)";
        "norm" = found.norm, "throughput over mu";
        "throughput" = path.rate * found.norm, "segments/s";
        "efficiency" = found.efficiency, "throughput over mu (1-r)";
        "norm_direct_sum" = found.direct,
            "throughput over mu by (38) over whole windows, from w_max/2 rounded (half to even) to twice that";
    }
    and remarks(&path, &found);
}

/// Remarks on violated assumptions of the model.
pub(in crate::model) fn remarks(outcome: Outcome, path: &Path, found: &EndToEnd) -> Outcome {
    let outcome = outcome
        .remark_if(
            path.loss.no <= 0.0,
            "every segment is lost: efficiency is its limit for p to 1",
        )
        .remark_if(
            path.satellite <= 0.0,
            "T2 = 0: beta and Tcal are infinite, the other results are limits for T2 to 0",
        )
        .remark_if(path.sparse(path.buffer), SPARSE)
        .remark_if(
            found.efficiency > 1.0,
            "the throughput is above the capacity of the link: outside of the domain of (39)",
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
            "the buffer is below (1+rho) mu T2: the link is idle after every loss (51)",
        )
}
