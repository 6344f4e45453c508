//! The codes of each family (Celandroni 2006, Sec. IV.B; docs/models.md, Sec. 4.6).

use strum::{EnumString, IntoEnumIterator as _, VariantNames};
use tmt_core::model::conv::Rate;
use tmt_core::model::ser::{Burst, Code, Outer};

/// A family of codes that are compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
pub enum Family {
    /// Convolutional codes of all rates, and uncoded.
    #[strum(serialize = "conv")]
    Conv,
    /// Reed-Solomon codes with 223 data bytes, and uncoded.
    #[strum(serialize = "rs")]
    ReedSolomon,
    /// Erasure codes with 48 data blocks of 23 bytes, and uncoded.
    #[strum(serialize = "erasure")]
    Erasure,
    /// RS(255, 223) around convolutional codes and alone, and uncoded.
    #[strum(serialize = "rsconv")]
    ReedSolomonConv,
    /// The erasure code (64, 48) around convolutional codes, and uncoded.
    #[strum(serialize = "erconv")]
    ErasureConv,
}

/// A code with its name and the size of a segment.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Name in results, such as `RS(255,223)+conv 1/2`.
    pub name: String,
    /// Outer and inner code of the candidate.
    pub code: Code,
    /// Data bits of a segment.
    pub bits: f64,
}

/// Redundant symbols of the Reed-Solomon codes, and below those of the erasure codes, in blocks.
const RS: [u64; 7] = [2, 4, 8, 16, 32, 48, 64];
const ERASURE: [u64; 8] = [2, 4, 8, 12, 16, 24, 32, 48];

/// The codes of a family, in the order of docs/models.md, Sec. 4.6.
///
/// `strict` omits Reed-Solomon codes of more than 255 symbols, which do not exist for 8 bits per symbol.
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

/// Whether a Reed-Solomon code has more symbols than 8 bits per symbol allow.
pub(super) fn too_long(code: &Code) -> bool {
    matches!(code.outer, Outer::ReedSolomon { n, .. } if n > 255)
}

/// Bits of a segment of five Reed-Solomon blocks, and below those of a segment of 48 erasure blocks of 23 bytes.
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
