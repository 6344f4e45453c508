//! Definitions of metrics, their list, and the table.

use super::*;

#[test]
fn jains_index_is_one_for_equal_flows_and_one_over_n_for_a_single_active_flow() {
    let index = |values: &[f64]| jain_index(values.iter().copied());
    assert_eq!(index(&[3.0, 3.0, 3.0, 3.0]), Some(1.0));
    assert_eq!(index(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
    assert_eq!(index(&[0.0]), None);
}

/// Compares with serde: every field is listed under its name, with its value.
#[test]
fn the_list_of_metrics_agrees_with_json() {
    let setup = Setup::new(Vec::new(), Span::ZERO, Span::ZERO);
    let report = RunReport::new(&setup, Time::ZERO, LinkUse::default(), &[], None);
    let json = serde_json::to_value(&report.total).unwrap();
    let json = json.as_object().unwrap();
    let (metrics, total) = (Metrics::ALL.iter(), Total::ALL.iter());
    let names = metrics.map(|m| m.name).chain(total.map(|m| m.name));
    let optional = Metrics::ALL.iter().filter(|metric| metric.is_optional);
    assert!(optional.clone().all(|metric| metric.nullable));
    let of_total = Total::ALL.iter().filter(|metric| metric.is_optional);
    assert!(of_total.clone().all(|metric| metric.nullable));
    let optional = optional.map(|metric| metric.name);
    let optional: Vec<_> = optional.chain(of_total.map(|metric| metric.name)).collect();
    assert_eq!(names.clone().count(), json.len() + optional.len());
    let names = names.filter(|name| !optional.contains(name));
    for name in names {
        let listed = report.total.numbers().find(|(known, _)| *known == name);
        let number = listed.map(|(_, number)| number);
        assert_eq!(json[name].as_f64(), number, "{name}");
    }
}

#[test]
fn what_counts_has_a_unit_and_a_name_that_ends_in_one_has_it() {
    for metric in Metrics::ALL {
        let counts = metric.kind == Kind::Count;
        assert!(!counts || !metric.unit().is_empty(), "{}", metric.name);
        if metric.name.ends_with("_packets") {
            assert_eq!(metric.unit(), "packets", "{}", metric.name);
        }
    }
}

#[test]
fn rows_have_distinct_positions_and_units_in_label_and_name() {
    let rows = Metrics::rows();
    assert!(
        rows.windows(2)
            .all(|pair| pair[0].0.place < pair[1].0.place)
    );
    for metric in Metrics::ALL {
        if let Some(Row { label, show, .. }) = metric.row {
            assert_eq!(show == Show::Milli, label.ends_with(" ms"), "{label}");
            assert_eq!(show == Show::Kilo, label.ends_with(" kbps"), "{label}");
            let in_seconds =
                label.ends_with('s') && (label.ends_with(" ms") || label.ends_with(" s"));
            assert_eq!(in_seconds, metric.name.ends_with("_s"), "{label}");
        }
    }
}
