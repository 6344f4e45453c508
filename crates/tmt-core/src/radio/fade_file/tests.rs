//! Forms of fades, and what is refused.

use super::*;

/// Reads a text; steps are a second long.
fn read(text: &str) -> Result<FadeFile, RadioError> {
    let counts_steps = detect(text).is_ok_and(|format| format == FadeFormat::OpenSand);
    let options = FadeOptions {
        step: counts_steps.then_some(Span::from_secs(1)),
        ..FadeOptions::default()
    };
    FadeFile::read(text, options)
}

fn error(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn each_form_is_recognised_and_read() {
    let at = |secs| Time::ZERO.saturating_add(Span::from_secs(secs));
    for (text, format, attenuation, values) in [
        (
            "# by hand\ntime_s,es_n0_db\n0,10\n1,8.5\n",
            FadeFormat::Csv,
            false,
            [10.0, 8.5],
        ),
        (
            "time_s,attenuation_db\n0,0\n1,1.5\n",
            FadeFormat::Csv,
            true,
            [0.0, 1.5],
        ),
        (
            "# OpenSAND\n0 0.5\n1 3.2\n",
            FadeFormat::OpenSand,
            true,
            [0.5, 3.2],
        ),
        ("0\t2e-21\n1\t2e-22\n", FadeFormat::Sns3, true, [0.0, 10.0]),
    ] {
        let fade = read(text).unwrap();
        assert_eq!(
            (fade.format, fade.attenuation),
            (format, attenuation),
            "{text}"
        );
        for ((time, db), (expected_time, expected)) in fade
            .points
            .iter()
            .zip([at(0), at(1)].into_iter().zip(values))
        {
            assert!(
                *time == expected_time && (db - expected).abs() < 1e-9,
                "{text} {db}"
            );
        }
    }
}

#[test]
fn attenuation_is_subtracted_and_time_starts_at_zero() {
    let fade = read("time_s,attenuation_db\n5,0\n6,1.5\n").unwrap();
    let series = fade.series(10.0).unwrap();
    assert_eq!(series.range_db(), (8.5, 10.0));
    assert_eq!(series.end(), Time::ZERO.saturating_add(Span::from_secs(1)));
}

#[test]
fn faults_are_named_with_their_place() {
    for (text, part) in [
        ("", "no known form"),
        ("hello\n", "no known form"),
        ("0.5 3\n", "no known form"),
        ("time_s,rain\n0,1\n", "line 1, column 1"),
        ("time_s,es_n0_db\n0,1\n1,nan\n", "line 3, column 3"),
        (
            "time_s,es_n0_db\n0,1\n1,\n",
            "line 3, column 1: found 1 fields",
        ),
        ("time_s,es_n0_db\n0,1\n-1,2\n", "line 3, column 1: time"),
        ("time_s,es_n0_db\n1,1\n1,2\n", "line 3, column 1: time"),
        ("time_s,es_n0_db\n0,1\n", "found 1 rows"),
        (
            "time_s,es_n0_db\n0,1\n1,1\n2,1\n20,1\n",
            "line 5: a gap of 18s",
        ),
        ("0 2e-21\n1 -2e-21\n", "line 2, column 3"),
    ] {
        assert!(error(text).contains(part), "{text}: {}", error(text));
    }
    let steps = FadeFile::read("0 1\n1 2\n", FadeOptions::default()).unwrap_err();
    assert!(steps.to_string().contains("expected `step`"), "{steps}");
    assert!(error("time_s,es_n0_db\n0,1\n1,1\n2,1\n20,1\n").contains("`longest_gap`"));
    let gap = FadeOptions {
        longest_gap: Some(Span::from_secs(18)),
        ..FadeOptions::default()
    };
    assert!(FadeFile::read("time_s,es_n0_db\n0,1\n1,1\n2,1\n20,1\n", gap).is_ok());
}

#[test]
fn a_time_of_steps_beside_rows_with_times_is_refused() {
    for text in ["time_s,es_n0_db\n0,1\n1,2\n", "0 2e-21\n1 2e-22\n"] {
        let options = FadeOptions {
            step: Some(Span::from_secs(1)),
            ..FadeOptions::default()
        };
        let error = FadeFile::read(text, options).unwrap_err().to_string();
        assert!(
            error.starts_with("`step` 1s: found a fade of format "),
            "{error}"
        );
        assert!(read(text).is_ok());
    }
}
