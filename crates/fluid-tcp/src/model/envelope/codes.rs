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
    let made = |name: String, inner, outer, bits| Candidate {
        name,
        code: Code {
            inner,
            outer,
            burst,
        },
        bits,
    };
    let uncoded = |bits| made("uncoded".to_owned(), None, Outer::None { bits }, bits);
    let rs = |r: u64, inner: Option<Rate>| {
        let n = 223 + r;
        let outer = Outer::ReedSolomon {
            n,
            k: 223,
            m: 8.0,
            blocks: 5.0,
        };
        made(named(&format!("RS({n},223)"), inner), inner, outer, SEGMENT)
    };
    let erasure = |r: u64, inner: Option<Rate>| {
        let n = 48 + r;
        let outer = Outer::Erasure {
            n,
            k: 48,
            bytes: 23.0,
            overhead: 32.0,
        };
        made(
            named(&format!("erasure({n},48)"), inner),
            inner,
            outer,
            BLOCKS,
        )
    };
    match family {
        Family::Conv => {
            let conv = |rate: Rate| {
                let outer = Outer::None { bits: SEGMENT };
                made(format!("conv {}", rate.name()), Some(rate), outer, SEGMENT)
            };
            let codes = Rate::iter().map(conv);
            codes.chain([uncoded(SEGMENT)]).collect()
        }
        Family::ReedSolomon => {
            let codes = RS.into_iter().map(|r| rs(r, None));
            let codes = codes.filter(|made| !(strict && too_long(&made.code)));
            codes.chain([uncoded(SEGMENT)]).collect()
        }
        Family::Erasure => {
            let codes = ERASURE.into_iter().map(|r| erasure(r, None));
            codes.chain([uncoded(BLOCKS)]).collect()
        }
        Family::ReedSolomonConv => {
            let codes = Rate::iter().map(|rate| rs(32, Some(rate)));
            codes.chain([rs(32, None), uncoded(SEGMENT)]).collect()
        }
        Family::ErasureConv => {
            let codes = Rate::iter().map(|rate| erasure(16, Some(rate)));
            codes.chain([uncoded(BLOCKS)]).collect()
        }
    }
}

/// Whether a Reed-Solomon code has more bytes than one over bytes can.
pub(super) fn too_long(code: &Code) -> bool {
    matches!(code.outer, Outer::ReedSolomon { n, .. } if n > 255)
}

/// Bits of a segment of five Reed-Solomon blocks, and of one of 48 erasure blocks of 23 bytes.
const SEGMENT: f64 = 8920.0;
const BLOCKS: f64 = 8832.0;

fn named(outer: &str, inner: Option<Rate>) -> String {
    match inner {
        Some(rate) => format!("{outer}+conv {}", rate.name()),
        None => outer.to_owned(),
    }
}
