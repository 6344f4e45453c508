//! The natural picture of each kind of file, one file per kind.

mod advise;
mod compared;
mod delays;
mod packets;
mod reproduce;
mod series;
mod summary;
mod sweep;
mod timeline;
mod trace;

use crate::PlotError;
use crate::chosen::{self, Choice};
use crate::picture::Picture;
use crate::source::Source;

/// A kind of file.
pub struct Kind {
    /// Name, for people.
    pub name: &'static str,
    /// Content of the picture, for help.
    pub about: &'static str,
    /// Whether a table or document is of this kind.
    fits: fn(&Source) -> bool,
    draw: fn(&Source) -> Result<Picture, PlotError>,
}

/// Every kind; the first that fits is drawn.
pub static KINDS: [&Kind; 10] = [
    &advise::KIND,
    &compared::KIND,
    &summary::KIND,
    &reproduce::KIND,
    &sweep::KIND,
    &series::KIND,
    &packets::KIND,
    &delays::KIND,
    &timeline::KIND,
    &trace::KIND,
];

/// The column by which a document judges its rows: the objective of `tmt advise`, the criterion of `tmt fit`; none for others.
#[must_use]
pub fn objective(source: &Source) -> Option<&'static str> {
    match source.document() {
        "advise" => advise::objective(source),
        "fit" => ["bic", "aic"].into_iter().find(|name| source.has(name)),
        _ => None,
    }
}

/// The picture of chosen columns, or without a choice the natural picture of a table or document.
///
/// # Errors
/// Data of no kind, or that are not what their kind should be; columns that are not there.
pub fn draw(source: &Source, choice: &Choice) -> Result<Picture, PlotError> {
    let mut picture = drawn(source, choice)?;
    picture.notes.extend(source.notes.iter().cloned());
    Ok(picture)
}

fn drawn(source: &Source, choice: &Choice) -> Result<Picture, PlotError> {
    if *choice != Choice::default() {
        return chosen::draw(source, choice);
    }
    let kind = KINDS.iter().find(|kind| (kind.fits)(source));
    let kind = kind.ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let columns: Vec<&str> = source.table.names().collect();
        PlotError::Asked(format!(
            "found a table of another kind than {}, expected columns as `y`: {}",
            names.join(", "),
            columns.join(", ")
        ))
    })?;
    if source.table.is_empty() {
        return Err(PlotError::Data(format!(
            "found no rows, expected a {} with at least one",
            kind.name
        )));
    }
    (kind.draw)(source)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tmt_core::format::records::{Records, Value};

    use super::*;
    use crate::render::{Size, svg, text};

    /// Columns of all kinds, so that every kind is met.
    const NAMES: [&str; 27] = [
        "time_s",
        "cwnd",
        "srtt_ns",
        "queue",
        "goodput_bps",
        "flow",
        "packet",
        "copy",
        "sent_s",
        "fate",
        "kind",
        "delay_ns",
        "share",
        "tx_time_ns",
        "decode_delay_ns",
        "attempts",
        "published",
        "ours",
        "ours_ci95",
        "quantity",
        "cell",
        "scheme",
        "run",
        "seed",
        "scope",
        "total_goodput_bps",
        "in_flight_packets",
    ];

    fn value() -> impl Strategy<Value = Option<Value>> {
        prop_oneof![
            2 => Just(None),
            4 => (0..5_i64).prop_map(|whole| Some(Value::Whole(whole))),
            1 => any::<i64>().prop_map(|whole| Some(Value::Whole(whole))),
            4 => (0.0..10.0_f64).prop_map(|real| Some(Value::Real(real))),
            1 => any::<f64>().prop_map(|real| Some(Value::Real(real))),
            1 => any::<bool>().prop_map(|truth| Some(Value::Truth(truth))),
            1 => "\\PC{0,60}".prop_map(|text| Some(Value::Text(text))),
        ]
    }

    fn table() -> impl Strategy<Value = Records> {
        let names = proptest::sample::subsequence(NAMES.to_vec(), 0..NAMES.len());
        let rows = names.prop_flat_map(|names| {
            let row = proptest::collection::vec(value(), names.len());
            (Just(names), proptest::collection::vec(row, 0..40))
        });
        rows.prop_map(|(names, rows)| {
            let mut table = Records::default();
            for row in rows {
                table.row(names.iter().copied().zip(row));
            }
            table
        })
    }

    fn choice() -> impl Strategy<Value = Choice> {
        let name = || proptest::sample::select(NAMES.to_vec()).prop_map(str::to_owned);
        (
            proptest::option::of(name()),
            proptest::collection::vec(name(), 0..3),
            proptest::collection::vec(name(), 0..2),
        )
            .prop_map(|(x, y, by)| Choice { x, y, by })
    }

    proptest! {
        #![proptest_config(test_support::cases(2000))]
        #[test]
        fn any_table_is_a_picture_or_an_error(table in table(), choice in choice(), logs: [bool; 2], chosen: bool) {
            let source = Source::of_table(table);
            let choice = if chosen { choice } else { Choice::default() };
            if let Ok(mut picture) = draw(&source, &choice) {
                picture.make_log(logs[0], logs[1]);
                let drawn = svg(&picture, Size::default());
                prop_assert!(drawn.starts_with("<svg") && drawn.ends_with("</svg>\n") || drawn.ends_with("</svg>"));
                prop_assert!(!drawn.contains("NaN") && !drawn.contains("inf\""), "{drawn}");
                prop_assert_eq!(&drawn, &svg(&picture, Size::default()));
                prop_assert!(!text(&picture, 80, 24).is_empty());
            }
        }
    }

    #[test]
    fn text_of_a_table_is_text_in_the_picture() {
        let mut table = Records::default();
        let label = "<script>\"&'</svg> $x_2$ \\$ \u{1b}[31m \u{202e}";
        for x in 0..3 {
            for label in [label, "b"] {
                table.row([
                    ("x", Some(Value::Whole(x))),
                    ("y_s", Some(Value::Whole(x))),
                    ("by", Some(Value::Text(label.to_owned()))),
                ]);
            }
        }
        let choice = Choice {
            x: Some("x".to_owned()),
            y: vec!["y_s".to_owned()],
            by: vec!["by".to_owned()],
        };
        let drawn = svg(
            &draw(&Source::of_table(table), &choice).unwrap(),
            Size::default(),
        );
        let shown = "&lt;script&gt;&quot;&amp;&apos;&lt;/svg&gt; $x_2$ \\$ \u{fffd}[31m \u{fffd}";
        assert!(drawn.contains(shown), "{drawn}");
    }

    #[test]
    fn a_row_is_a_dot_and_a_missing_cell_a_gap() {
        let mut table = Records::default();
        for (time, cwnd) in [(0, Some(1)), (1, Some(2)), (2, None), (3, Some(5))] {
            table.row([
                ("time_s", Some(Value::Whole(time))),
                ("cwnd", cwnd.map(Value::Whole)),
                ("flow", Some(Value::Whole(0))),
            ]);
        }
        let drawn = svg(
            &draw(&Source::of_table(table), &Choice::default()).unwrap(),
            Size::default(),
        );
        assert_eq!(drawn.matches("stroke=\"#0072b2\"").count(), 1, "{drawn}");
        assert_eq!(drawn.matches("<circle").count(), 1, "{drawn}");
    }
}
