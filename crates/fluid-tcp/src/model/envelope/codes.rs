//! The codes that each family has to offer (papers/003, section IV.B; models.md §3.6).

use strum::{EnumString, IntoEnumIterator as _, VariantNames};
use tmt_core::model::conv::Rate;
use tmt_core::model::ser::{Burst, Code, Outer};

/// Codes that are compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
pub enum Family {
    /// Convolutional codes, all rates, and none.
    #[strum(serialize = "conv")]
    Conv,
    /// Reed-Solomon codes with 223 bytes of data, and none.
    #[strum(serialize = "rs")]
    ReedSolomon,
    /// Erasure codes with 48 blocks of 23 bytes, and none.
    #[strum(serialize = "erasure")]
    Erasure,
    /// RS(255, 223) around convolutional codes, alone, and none.
    #[strum(serialize = "rsconv")]
    ReedSolomonConv,
    /// The erasure code (64, 48) around convolutional codes, and none.
    #[strum(serialize = "erconv")]
    ErasureConv,
}

/// A code with its name and the bits of data of a segment.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Name.
    pub name: String,
    /// The code.
    pub code: Code,
    /// Bits of data of a segment.
    pub bits: f64,
}

/// Redundant symbols of the Reed-Solomon codes, and blocks of the erasure codes.
const RS: [u64; 7] = [2, 4, 8, 16, 32, 48, 64];
const ERASURE: [u64; 8] = [2, 4, 8, 12, 16, 24, 32, 48];

/// The codes of a family in their order; `strict` leaves out Reed-Solomon codes of more than 255 bytes, which do
/// not exist with symbols of 8 bits.
#[must_use]
pub fn candidates(family: Family, burst: Burst, strict: bool) -> Vec<Candidate> {
    let plain = Outer::None { bits: SEGMENT };
    let rs = |redundant: u64| Outer::ReedSolomon {
        n: 223 + redundant,
        k: 223,
        m: 8.0,
        blocks: 5.0,
    };
    let erasure = |redundant: u64| Outer::Erasure {
        n: 48 + redundant,
        k: 48,
        bytes: 23.0,
        overhead: 32.0,
    };
    let alone = |outer: Outer| (outer, None);
    let around = |outer: Outer| Rate::iter().map(move |rate| (outer, Some(rate)));
    let (codes, bits): (Vec<(Outer, Option<Rate>)>, f64) = match family {
        Family::Conv => (around(plain).collect(), SEGMENT),
        Family::ReedSolomon => (RS.map(rs).map(alone).to_vec(), SEGMENT),
        Family::Erasure => (ERASURE.map(erasure).map(alone).to_vec(), BLOCKS),
        Family::ReedSolomonConv => (around(rs(32)).chain([alone(rs(32))]).collect(), SEGMENT),
        Family::ErasureConv => (around(erasure(16)).collect(), BLOCKS),
    };
    let all = codes.into_iter().chain([alone(Outer::None { bits })]);
    let made = all.map(|(outer, inner)| Candidate {
        name: named(&outer, inner),
        code: Code {
            inner,
            outer,
            burst,
        },
        bits,
    });
    made.filter(|made| !(strict && too_long(&made.code)))
        .collect()
}

/// Whether a Reed-Solomon code has more bytes than one over bytes can.
pub(super) fn too_long(code: &Code) -> bool {
    matches!(code.outer, Outer::ReedSolomon { n, .. } if n > 255)
}

/// Bits of a segment of five Reed-Solomon blocks, and of one of 48 erasure blocks of 23 bytes.
const SEGMENT: f64 = 8920.0;
const BLOCKS: f64 = 8832.0;

fn named(outer: &Outer, inner: Option<Rate>) -> String {
    let outer = match outer {
        Outer::None { .. } => None,
        Outer::ReedSolomon { n, k, .. } => Some(format!("RS({n},{k})")),
        Outer::Erasure { n, k, .. } => Some(format!("erasure({n},{k})")),
    };
    let inner = inner.map(|rate| format!("conv {}", rate.name()));
    let names: Vec<String> = outer.into_iter().chain(inner).collect();
    if names.is_empty() {
        return "uncoded".to_owned();
    }
    names.join("+")
}
