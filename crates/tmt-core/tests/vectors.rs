//! Every case of `fixtures/link-layer/cases.tsv`, byte for byte (docs/schemes.md).

use std::fs;
use std::path::Path;

use tmt_core::format::text::encode;
use tmt_core::format::{Options, Rows, TraceReader};
use tmt_core::scheme::runner::SchemeRunner;
use tmt_core::types::Span;

fn apply(trace: &[u8], scheme: &str, rtt_ns: u64, feedback_ns: u64) -> Vec<u8> {
    let span = |nanos| Span::from_nanos(nanos).unwrap();
    let mut runner = SchemeRunner::new(scheme.parse().unwrap(), span(rtt_ns), span(feedback_ns));
    let mut reader = TraceReader::new(trace, Options::default()).unwrap();
    let (mut rows, mut lldus) = (Rows::default(), Vec::new());
    while reader.next_rows(&mut rows).unwrap() {
        runner.push_slots(&rows.slots, &mut lldus).unwrap();
    }
    runner.finish(&mut lldus);
    let mut out = Vec::new();
    encode::timeline_header(&mut out);
    for lldu in &lldus {
        encode::lldu(lldu, &mut out);
    }
    out
}

#[test]
fn every_published_vector_is_reproduced_byte_for_byte() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/link-layer");
    let cases = fs::read_to_string(folder.join("cases.tsv")).unwrap();
    let mut checked = 0;
    for case in cases.lines().filter(|line| !line.starts_with('#')) {
        let [trace, scheme, rtt, feedback, expected] =
            case.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let trace = fs::read(folder.join(trace)).unwrap();
        let expected = fs::read(folder.join(expected)).unwrap();
        let got = apply(
            &trace,
            scheme,
            rtt.parse().unwrap(),
            feedback.parse().unwrap(),
        );
        let first_difference = got
            .split(|b| *b == b'\n')
            .zip(expected.split(|b| *b == b'\n'))
            .position(|(a, b)| a != b);
        assert!(got == expected, "{case}: line {first_difference:?} differs");
        checked += 1;
    }
    assert_eq!(checked, 23, "cases are missing from cases.tsv");
}
