//! The three-state model of Perez-Fontan et al. at 40 degrees of elevation, S-band.
//!
//! Numbers as in `params/ParamDualSat.m` of github.com/ricoalvarino/linkadaptation, the only transcription found; the papers
//! themselves were not read (docs/channels.md, Sec. 2).

use super::{Environment, FrameState, Loo, Sequence};

const fn state(
    [direct_db, shadowing_db, multipath_db]: [f64; 3],
    frame_m: f64,
    row: [f64; 3],
) -> FrameState {
    FrameState {
        loo: Loo {
            direct_db,
            shadowing_db,
            multipath_db,
            multipath_shadowing_db: 0.0,
        },
        frame_m,
        row,
    }
}

const fn set(
    name: &'static str,
    correlation_m: f64,
    transition_m: f64,
    states: [FrameState; 3],
) -> Environment {
    Environment {
        name,
        elevation_deg: Some(40.0),
        correlation_m,
        sequence: Sequence::Frames {
            states,
            transition_m,
        },
    }
}

#[rustfmt::skip]
#[expect(clippy::approx_constant, reason = "a published number that happens to resemble pi")]
pub(super) static SETS: &[Environment] = &[
    set("open", 2.5, 12.4, [
        state([0.10, 0.37, -22.0], 8.9, [0.9530, 0.0431, 0.0039]),
        state([-1.0, 0.5, -22.0], 7.5, [0.0515, 0.9347, 0.0138]),
        state([-2.25, 0.13, -21.2], 4.0, [0.0334, 0.0238, 0.9428]),
    ]),
    set("suburban", 1.7, 2.2, [
        state([-1.0, 0.5, -13.0], 5.2, [0.8177, 0.1715, 0.0108]),
        state([-3.7, 0.98, -12.2], 3.7, [0.1544, 0.7997, 0.0459]),
        state([-15.0, 5.9, -13.0], 3.0, [0.1400, 0.1433, 0.7167]),
    ]),
    set("intermediate-tree", 1.5, 2.6, [
        state([-0.4, 1.5, -13.2], 6.3, [0.7193, 0.1865, 0.0942]),
        state([-8.2, 3.9, -12.7], 6.3, [0.1848, 0.7269, 0.0883]),
        state([-17.0, 3.14, -10.0], 4.5, [0.1771, 0.0971, 0.7258]),
    ]),
    // The first state is never entered; its triplet is that of the second.
    set("heavy-tree", 1.7, 3.5, [
        state([-10.1, 2.25, -10.0], 0.0, [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]),
        state([-10.1, 2.25, -10.0], 4.8, [0.0, 0.9259, 0.0741]),
        state([-19.0, 4.0, -10.0], 4.5, [0.0, 0.0741, 0.9259]),
    ]),
];
