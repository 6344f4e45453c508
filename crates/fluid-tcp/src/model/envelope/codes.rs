//! The codes of each family (Celandroni 2006, Sec. IV.B; docs/models.md, Sec. 4.6).

use strum::{EnumString, IntoEnumIterator as _, VariantNames};
use tmt_core::coding::spec::{self, CodeSpec};
use tmt_core::math::num::floor_u64;
use tmt_core::model::conv::Rate;
use tmt_core::model::ser::{Burst, Code, Interleaver, Outer};
use tmt_core::types::to_f64;

/// A family of codes that are compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, strum::EnumIter, VariantNames)]
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
    /// Reed-Solomon codes around convolutional codes and alone, and uncoded.
    #[strum(serialize = "rsconv")]
    ReedSolomonConv,
    /// Erasure codes around convolutional codes, and uncoded.
    #[strum(serialize = "erconv")]
    ErasureConv,
}

/// The codes that a family has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Set {
    /// One outer code around convolutional codes; Reed-Solomon codes of any length.
    Basic,
    /// As Celandroni 2006, Sec. IV.B: RS(255, 223) and RS(239, 223), erasure blocks of 46 and 23 bytes around
    /// convolutional codes, each outer code alone, and Reed-Solomon codes of 255 symbols at most.
    Paper,
}

/// Choice of candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The family.
    pub family: Family,
    /// Its codes.
    pub set: Set,
    /// Definition of the burst length.
    pub burst: Burst,
    /// Interleaver of Reed-Solomon codes around convolutional ones.
    pub interleaver: Interleaver,
    /// Whether Reed-Solomon codes of more than 255 symbols are omitted, which do not exist for 8 bits per symbol.
    pub strict: bool,
}

/// A code with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Name in results, such as `RS(255,223)+conv 1/2`.
    pub name: String,
    /// Outer and inner code of the candidate.
    pub code: Code,
}

/// Redundant symbols of the Reed-Solomon codes, and below those of the erasure codes, in blocks of 23 and 46 bytes.
const RS: [u64; 7] = [2, 4, 8, 16, 32, 48, 64];
const ERASURE: [u64; 8] = [2, 4, 8, 12, 16, 24, 32, 48];
const LARGE: [u64; 4] = [2, 4, 8, 12];

/// Bits of a segment of five Reed-Solomon blocks, and below those of a segment of erasure blocks.
const SEGMENT: f64 = 8920.0;
const BLOCKS: f64 = 8832.0;

/// RS(223 + `redundant`, 223), five blocks a segment.
fn rs(redundant: u64) -> Outer {
    Outer::ReedSolomon {
        n: 223 + redundant,
        k: 223,
        m: 8.0,
        blocks: 5.0,
    }
}

/// `k` data blocks of 1104/k bytes, and `redundant` more.
fn erasure(k: u64, redundant: u64) -> Outer {
    Outer::Erasure {
        n: k + redundant,
        k,
        bytes: BLOCKS / 8.0 / to_f64(k),
        overhead: 32.0,
    }
}

fn alone(outer: Outer) -> (Outer, Option<Rate>) {
    (outer, None)
}

fn around(outer: Outer) -> impl Iterator<Item = (Outer, Option<Rate>)> {
    Rate::iter().map(move |rate| (outer, Some(rate)))
}

/// The codes of a family, in the order of docs/models.md, Sec. 4.6.
#[must_use]
pub fn candidates(choice: &Choice) -> Vec<Candidate> {
    let small = |redundant| erasure(48, redundant);
    let large = |redundant| erasure(24, redundant);
    let (mut codes, bits): (Vec<_>, f64) = match (choice.family, choice.set) {
        (Family::Conv, _) => (around(Outer::None { bits: SEGMENT }).collect(), SEGMENT),
        (Family::ReedSolomon, _) => (RS.map(rs).map(alone).to_vec(), SEGMENT),
        (Family::Erasure, _) => (ERASURE.map(small).map(alone).to_vec(), BLOCKS),
        (Family::ReedSolomonConv, Set::Basic) => {
            (around(rs(32)).chain([alone(rs(32))]).collect(), SEGMENT)
        }
        (Family::ReedSolomonConv, Set::Paper) => {
            let outer = [rs(32), rs(16)];
            let inner = outer.into_iter().flat_map(around);
            (inner.chain(outer.map(alone)).collect(), SEGMENT)
        }
        (Family::ErasureConv, Set::Basic) => (around(small(16)).collect(), BLOCKS),
        (Family::ErasureConv, Set::Paper) => {
            let outer = LARGE.map(large).into_iter().chain([small(16)]);
            let inner = outer.flat_map(around);
            (inner.chain(ERASURE.map(small).map(alone)).collect(), BLOCKS)
        }
    };
    codes.push(alone(Outer::None { bits }));
    let made = codes.into_iter().map(|(outer, inner)| Candidate {
        name: named(&outer, inner),
        code: Code {
            inner,
            outer,
            burst: choice.burst,
            interleaver: choice.interleaver,
        },
    });
    let strict = choice.strict || choice.set == Set::Paper;
    made.filter(|made| !(strict && too_long(&made.code)))
        .collect()
}

/// The codes of all families as [`Set::Paper`] has them, each once, in the same order.
#[must_use]
pub fn all() -> Vec<CodeSpec> {
    let mut codes = Vec::new();
    for family in Family::iter() {
        let of_family = candidates(&Choice {
            family,
            set: Set::Paper,
            burst: Burst::Errors,
            interleaver: Interleaver::None,
            strict: true,
        });
        for candidate in of_family {
            let code = real(&candidate.code);
            if !codes.contains(&code) {
                codes.push(code);
            }
        }
    }
    codes
}

/// The code that a decoder exists for.
fn real(code: &Code) -> CodeSpec {
    let small = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let outer = match code.outer {
        Outer::None { .. } => None,
        Outer::ReedSolomon { n, k, .. } => Some(spec::Outer::ReedSolomon {
            n: small(n),
            k: small(k),
        }),
        Outer::Erasure { n, k, bytes, .. } => Some(spec::Outer::Erasure {
            n: small(n),
            k: small(k),
            bytes: small(floor_u64(bytes)),
        }),
    };
    CodeSpec {
        inner: code.inner,
        outer,
    }
}

/// Whether a Reed-Solomon code has more symbols than 8 bits per symbol allow.
pub(super) fn too_long(code: &Code) -> bool {
    matches!(code.outer, Outer::ReedSolomon { n, .. } if n > 255)
}

/// Name of a code, such as `RS(255,223)+conv 1/2`.
pub(super) fn named(outer: &Outer, inner: Option<Rate>) -> String {
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
