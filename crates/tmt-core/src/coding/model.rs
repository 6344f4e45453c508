//! `ser-measured`: error rates of a code that is really encoded and decoded, beside the closed forms (docs/models.md, Sec. 4.8).

use super::counts::Bits;
use super::measure::{Event, Settings, measure};
use super::simulation::{Decision, Link};
use super::spec::{CodeSpec, DEEPEST, Interleaver, Outer};
use crate::model::conv::{EBN0, ECN0, energies};
use crate::model::ser;
use crate::model::ser::keys::{BYTES, K, N, RATE, SCHEME, sizes};
use crate::model::{Arguments, ModelError};
use crate::types::to_f64;
use crate::{closed_form, keys};

keys! {
    pub INTERLEAVER: Word(&["none", "ideal", "block"]), "interleaver" = "none",
        "order of the symbols of outer codewords: as they are, shuffled over 128 KiB, or depth codewords by columns";
    pub DEPTH: Count(1, DEEPEST as u64), "depth", "codewords of a block interleaver";
    pub DECISION: Word(Decision::VARIANTS), "decision" = "quantised",
        "values for the inner decoder: 8-bit ones, single-precision numbers, or hard decisions";
    pub(super) SEGMENT: Count(1, 1 << 20), "segment_bytes", "bytes of a segment, padded to whole codewords of an outer code, one of an erasure code [default: 1115, or the codewords that hold them]";
    pub(super) EVENT: Word(Event::VARIANTS), "count" = "segments", "errors that are counted for stopping";
    pub EVENTS: Count(1, 1_000_000_000), "events" = 100, "errors after which it stops; 100 give about ±20 %";
    pub BITS: Count(1, 1_000_000_000_000_000), "most_bits" = 100_000_000, "information bits after which it stops in any case";
    pub SEED: Count(0, u64::MAX), "seed" = 1, "seed";
}

/// The remark where the bound on bits ended the simulation.
const FEW: &str = "fewer errors than asked for within most_bits: the intervals are wide, and of errors that were never seen only \
                   word_high and ser_high say something, upper bounds at 95 %";

/// The remark on closed forms beside hard decisions.
pub(super) const SOFT: &str =
    "hard decisions: the closed forms are those of soft ones, and have no value here";

closed_form! {
    /// `tmt model ser-measured`.
    pub static MODEL: "ser-measured", "Error rates of a code that is really encoded and decoded, over white noise";
    source: "Monte-Carlo simulation of encoder, channel and decoder; codes as in Celandroni 2006, Sec. III; docs/models.md, Sec. 4.8";
    notes: [
        "BPSK, or QPSK with Gray labels, which is two of it: Ec/N0 is the energy per channel bit",
        "The inner decoder is Viterbi's over frames of 4096 bytes, whose tail bits the rate does not count",
        "Reed-Solomon words fail or are decoded wrongly: word_failures and word_undetected; erasure blocks by CRC-16",
        "Intervals are those of 95 %: of Clopper and Pearson, without an event the bound -ln(0.05)/n; for bits by independent bursts, \
         without a wrong bit none",
        "theory_ber and theory_ser are those of model ser: union bound, eq. (16), (17); those of an ideal interleaver for a block one",
        "The result depends on the seed and not on the number of threads",
    ];
    example: "scheme=conv rate=1/2 ebn0_db=3 events=20";
    keys: [SCHEME, RATE, N, K, BYTES, ECN0, EBN0, INTERLEAVER, DEPTH, DECISION, SEGMENT, EVENT, EVENTS, BITS, SEED];
    answer(arguments) {
        let code = code(arguments)?;
        let mut settings = settings(arguments, &code)?;
        let padding = Padding::of(arguments, &settings);
        let rate = code.rate() * padding.share();
        let (channel, information) = energies(arguments, rate)?;
        settings.link.ecn0_db = channel;
        let found = measure(&code, &settings)?;
        let segment_bytes = settings.link.segment_bytes.unwrap_or(code.segment_bytes());
        let interleaver = interleaver_of_theory(settings.link.interleaver);
        let theory = ser::Code { interleaver, ..code.closed_form(segment_bytes) }.errors_at(channel);
        let (ber, words, segments) = (found.information.rate(), found.codewords.rate(), found.segments.rate());
        let has_outer = code.outer.is_some();
        let is_soft = code.inner.is_none() || settings.link.decision != Decision::Hard;
        let count = |count: u64| has_outer.then(|| to_f64(count));
    }
    results {
        "rate" = rate, "information bits per channel bit, all codes and padding together";
        "ecn0_db" = channel, "Ec/N0, dB";
        "ebn0_db" = information, "Eb/N0, dB";
        "ber" = ber.value, "bit error rate of the information";
        "ber_low" = ber.low, "lower end of its 95 % interval";
        "ber_high" = (found.information.wrong > 0).then_some(ber.high), "upper end; without a wrong bit none, since bursts have no length then";
        "inner_ber" = found.decoded.rate().value, "bit error rate after the inner decoder, or on the channel";
        "burst_errors" = per_burst(&found.decoded, found.decoded.wrong), "wrong bits of a burst there";
        "burst_span_bits" = per_burst(&found.decoded, found.decoded.span), "bits from the first to the last wrong one";
        "word_error_rate" = has_outer.then_some(words.value), "codewords of the outer code with an error";
        "word_low" = has_outer.then_some(words.low), "lower end of its 95 % interval";
        "word_high" = has_outer.then_some(words.high), "upper end";
        "words" = count(found.codewords.all), "codewords of the outer code";
        "word_failures" = count(found.codewords.failures), "those that the decoder gave up";
        "word_undetected" = count(found.codewords.undetected), "those that it decoded wrongly";
        "ser" = segments.value, "segment error rate";
        "ser_low" = segments.low, "lower end of its 95 % interval";
        "ser_high" = segments.high, "upper end";
        "segments" = found.segments.all, "segments";
        "segment_errors" = found.segments.failed(), "those with an error";
        "theory_ber" = is_soft.then_some(theory.ber), "closed form of inner_ber";
        "theory_ser" = is_soft.then_some(theory.segment), "closed form of ser";
    }
    remarks {
        if found.is_bounded => FEW;
        if !has_outer => "no outer code: words have no values";
        if found.decoded.bursts == 0 => "no wrong bit after the inner decoder: bursts have no length";
        if found.decoded.bursts > 0 && found.information.wrong == 0 => "no wrong bit of information: ber_high has no value";
        if !is_soft => SOFT;
        if padding.share() < 1.0 => &padding.text();
    }
}

/// Bytes that fill the last codeword of a segment.
pub(super) struct Padding {
    /// Bytes of a segment as it was asked for, and with its padding.
    segment: Option<(u64, u64)>,
}

impl Padding {
    /// That of the segments of `settings`, which follow from `arguments`.
    pub(super) fn of(arguments: &Arguments, settings: &Settings) -> Self {
        let asked = arguments.maybe(&SEGMENT).map(crate::math::num::floor_u64);
        let whole = settings.link.segment_bytes;
        let whole = whole.and_then(|bytes| u64::try_from(bytes).ok());
        Self {
            segment: asked.zip(whole),
        }
    }

    /// Share of the bytes that are information, in (0, 1].
    pub(super) fn share(&self) -> f64 {
        self.segment
            .map_or(1.0, |(asked, whole)| to_f64(asked) / to_f64(whole))
    }

    /// What is to be said of it.
    pub(super) fn text(&self) -> String {
        let (asked, whole) = self.segment.unwrap_or_default();
        format!(
            "segments of {asked} bytes are padded to {whole}, whole codewords, which the rate counts"
        )
    }
}

/// The closed forms' interleaver: a block interleaver is between the two that they know.
#[must_use]
pub const fn interleaver_of_theory(interleaver: Interleaver) -> ser::Interleaver {
    match interleaver {
        Interleaver::None => ser::Interleaver::None,
        Interleaver::Ideal | Interleaver::Block(_) => ser::Interleaver::Ideal,
    }
}

fn per_burst(bits: &Bits, sum: u64) -> Option<f64> {
    (bits.bursts > 0).then(|| to_f64(sum) / to_f64(bits.bursts))
}

/// The code of the arguments, whose keys are those of `ser`.
pub(super) fn code(arguments: &Arguments) -> Result<CodeSpec, ModelError> {
    let scheme = arguments.word(&SCHEME);
    let is_inner = matches!(scheme, "conv" | "rsconv" | "erconv");
    let small = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let sizes = |n, k| sizes(arguments, n, k).map(|(n, k)| (small(n), small(k)));
    let outer = match scheme {
        "rs" | "rsconv" => {
            let (n, k) = sizes(255, 223)?;
            Some(Outer::ReedSolomon { n, k })
        }
        "erasure" | "erconv" => {
            let (n, k) = sizes(64, 48)?;
            let bytes = arguments.number(&BYTES);
            let whole = crate::math::num::floor_u64(bytes);
            if (to_f64(whole) - bytes).abs() > 0.0 {
                return Err(ModelError::refused(format!(
                    "found block_bytes={bytes}, expected a whole number: real blocks have whole bytes"
                )));
            }
            let bytes = small(whole);
            Some(Outer::Erasure { k, n, bytes })
        }
        _ => None,
    };
    let code = CodeSpec {
        inner: is_inner.then(|| arguments.choice(&RATE)),
        outer,
    };
    code.checked()
        .map_err(|refused| ModelError::refused(refused.to_string()))
}

/// The interleaver of [`INTERLEAVER`] and [`DEPTH`].
///
/// # Errors
/// A depth without block interleaver, or a block interleaver without depth.
pub fn interleaver(arguments: &Arguments) -> Result<Interleaver, ModelError> {
    let depth = arguments
        .maybe(&DEPTH)
        .and_then(|depth| usize::try_from(crate::math::num::floor_u64(depth)).ok());
    match (arguments.word(&INTERLEAVER), depth) {
        ("none", None) => Ok(Interleaver::None),
        ("ideal", None) => Ok(Interleaver::Ideal),
        ("block", Some(depth)) => Ok(Interleaver::Block(depth)),
        ("block", None) => Err(ModelError::refused("interleaver=block needs depth")),
        (other, Some(_)) => Err(ModelError::refused(format!(
            "depth has no effect with interleaver={other}"
        ))),
        (other, None) => Err(ModelError::refused(format!("unknown interleaver {other}"))),
    }
}

/// How the arguments of [`MODEL`] measure a code, but for Ec/N0, which is 0 dB.
///
/// # Errors
/// A key that has no effect with the code, or segments that are longer than the only codeword of an erasure code.
pub fn settings(arguments: &Arguments, code: &CodeSpec) -> Result<Settings, ModelError> {
    let small = |number: f64| usize::try_from(crate::math::num::floor_u64(number)).ok();
    let (has_inner, has_outer) = (code.inner.is_some(), code.outer.is_some());
    let idle = [
        (
            "decision",
            has_inner,
            arguments.word(&DECISION) != "quantised",
            "an inner code",
        ),
        (
            "interleaver",
            has_outer,
            arguments.word(&INTERLEAVER) != "none",
            "an outer code",
        ),
        (
            "count=codewords",
            has_outer,
            arguments.word(&EVENT) == "codewords",
            "an outer code",
        ),
        (
            "n",
            has_outer,
            arguments.maybe(&N).is_some(),
            "an outer code",
        ),
        (
            "k",
            has_outer,
            arguments.maybe(&K).is_some(),
            "an outer code",
        ),
    ];
    if let Some((key, _, _, expected)) = idle.iter().find(|(_, has, given, _)| *given && !has) {
        return Err(ModelError::refused(format!(
            "{key} has no effect with {code}: expected a code with {expected}"
        )));
    }
    let segment_bytes = match (arguments.maybe(&SEGMENT).and_then(small), code.outer) {
        (Some(bytes), Some(Outer::ReedSolomon { k, .. })) => Some(bytes.next_multiple_of(k)),
        (Some(bytes), Some(Outer::Erasure { .. })) if bytes > code.segment_bytes() => {
            return Err(ModelError::refused(format!(
                "found segment_bytes={bytes}, expected at most {}: a segment is one codeword of {code}",
                code.segment_bytes()
            )));
        }
        (Some(_), Some(Outer::Erasure { .. })) => Some(code.segment_bytes()),
        (bytes, _) => bytes,
    };
    Ok(Settings {
        link: Link {
            ecn0_db: 0.0,
            decision: arguments.choice(&DECISION),
            interleaver: interleaver(arguments)?,
            segment_bytes,
            seed: arguments.count(&SEED),
            point: 0,
        },
        event: arguments.choice(&EVENT),
        events: arguments.count(&EVENTS),
        most_bits: arguments.count(&BITS),
        stopped: arguments.stopped(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(arguments: &str, name: &str) -> f64 {
        MODEL.run(arguments).unwrap().get(name).unwrap()
    }

    #[test]
    fn the_model_measures_what_its_closed_form_says_where_that_is_exact() {
        let rs = "scheme=rs ecn0_db=5 events=40";
        let theory = result(rs, "theory_ser");
        assert!(
            result(rs, "ser_low") < theory && theory < result(rs, "ser_high"),
            "{theory}"
        );
        let uncoded = "ecn0_db=2 events=200";
        let theory = result(uncoded, "theory_ber");
        assert!(result(uncoded, "ber_low") < theory && theory < result(uncoded, "ber_high"));
    }

    #[test]
    fn what_no_code_or_interleaver_has_is_refused() {
        for wrong in [
            "ecn0_db=5 interleaver=block",
            "ecn0_db=5 depth=4",
            "scheme=rs n=300 k=200 ecn0_db=5",
            "scheme=erasure block_bytes=23.5 ecn0_db=5",
            "scheme=erasure block_bytes=1e18 ecn0_db=5",
            "scheme=erasure block_bytes=1e30 ecn0_db=5",
            "scheme=rs n=200 k=200 ecn0_db=5",
            "scheme=rs n=10 k=20 ecn0_db=5",
            "ecn0_db=5 decision=hard",
            "ecn0_db=5 interleaver=ideal",
            "ecn0_db=5 count=codewords",
            "scheme=conv n=64 ecn0_db=5",
            "scheme=erasure segment_bytes=1105 ecn0_db=5",
        ] {
            assert!(MODEL.run(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn segments_that_fill_no_codeword_are_padded_and_it_is_said() {
        for (code, bytes, whole) in [
            ("scheme=rs", 1000, 1115),
            ("scheme=rsconv rate=3/4", 224, 446),
            ("scheme=erasure", 100, 1104),
        ] {
            let run = |bytes: u64| {
                let keys = format!("{code} segment_bytes={bytes} ecn0_db=4.5 most_bits=1000000");
                MODEL.run(&keys).unwrap()
            };
            let (padded, full) = (run(bytes), run(whole));
            for same in ["ser", "segments", "theory_ser", "word_error_rate"] {
                assert_eq!(padded.get(same), full.get(same), "{code} {same}");
            }
            let share = to_f64(bytes) / to_f64(whole);
            let rate = |of: &crate::model::Outcome| of.get("rate").unwrap();
            assert!(
                (rate(&padded) / rate(&full) - share).abs() < 1e-12,
                "{code}"
            );
            let loss = padded.get("ebn0_db").unwrap() - full.get("ebn0_db").unwrap();
            assert!(
                (loss + crate::model::conv::decibels(share)).abs() < 1e-9,
                "{code}"
            );
            let says = format!("segments of {bytes} bytes are padded to {whole}");
            assert!(
                padded.remarks().iter().any(|text| text.contains(&says)),
                "{code}"
            );
            assert!(
                !full.remarks().iter().any(|text| text.contains("padded")),
                "{code}"
            );
        }
    }

    #[test]
    fn without_keys_there_is_no_code() {
        let code = code(&MODEL.arguments([]).unwrap()).unwrap();
        assert_eq!(code, CodeSpec::default());
    }
}
