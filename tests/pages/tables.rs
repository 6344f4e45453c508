//! Pages of tables: long ones, foreign ones, columns of other types.

use std::fs;
use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, Decimal128Array, Float64Array, Int64Array, ListArray, RecordBatch, StringArray,
    StructArray, TimestampMicrosecondArray,
};
use parquet::arrow::ArrowWriter;

use crate::common::{Folder, tmt};
use crate::pages::{answer, data, page, sweep};

/// Tables with rows of all flows together, as the Python package has them of a sweep, and results of TCP alone: means over the runs.
#[test]
fn rows_of_all_flows_together_make_the_answer() {
    let folder = Folder::new();
    let plain = sweep(500_000_000, [1, 2, 3], 0);
    let scoped = plain
        .lines()
        .enumerate()
        .flat_map(|(number, line)| match number {
            0 => vec![line.replace("flow,", "scope,flow,").replace("total_", "")],
            1..7 => {
                let fields: Vec<&str> = line.splitn(6, ',').collect();
                let [cell, scheme, run, seed, _, rest] = fields[..] else {
                    panic!()
                };
                let row = |scope: &str, flow: &str, rest: &str| {
                    format!("{cell},{scheme},{run},{seed},{scope},{flow},{rest}")
                };
                vec![
                    row("total", "", rest),
                    row("flow", "0", "1,500000000,,tmt 0"),
                ]
            }
            _ => vec![line.replacen(",,,,,", ",,,,,,", 1)],
        });
    let scoped: Vec<String> = scoped.map(|line| line + "\n").collect();
    folder.write("plain.csv", &plain);
    folder.write("scoped.csv", scoped.concat());
    let [plain, scoped] = ["plain.csv", "scoped.csv"].map(|name| page(&folder, name));
    assert_eq!(answer(&scoped), answer(&plain));
    assert_eq!(data(&scoped), data(&plain));
    assert!(scoped.contains("1 cell without a result, shown as gaps: refused"));

    let run = "-q tcp --link synthetic --rate 2Mbps --rtt 100ms --duration 5s --loss bernoulli:0.01 --seeds 3 --flows 2";
    let json = tmt(&format!("{run} --results runs.csv --json"))
        .within(&folder)
        .run()
        .ok()
        .stdout;
    let found: serde_json::Value = serde_json::from_slice(&json).unwrap();
    folder.write("runs.json", String::from_utf8(json).unwrap());
    let mean = &found["results"]["mean"]["goodput_bps"];
    let part = |name: &str| mean[name].as_f64().unwrap();
    assert!(part("ci95") > 1e3);
    let [table, document] = ["runs.csv", "runs.json"].map(|name| page(&folder, name));
    assert_eq!(answer(&table), answer(&document));
    let (start, end) = ("The goodput is ", " (95 % interval, 3 runs).");
    let numbers = answer(&table)
        .strip_prefix(start)
        .unwrap()
        .strip_suffix(end)
        .unwrap();
    let [value, "±", half, unit] = numbers.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{numbers}")
    };
    let size = if unit == "kbps" { 1e3 } else { 1e6 };
    let [value, half] = [value, half].map(|text| text.parse::<f64>().unwrap() * size);
    assert!(
        (value / part("mean") - 1.0).abs() < 0.05 && (half / part("ci95") - 1.0).abs() < 0.06,
        "{numbers}"
    );
    assert!(document.contains("tmt tcp --params repeated-run.toml --json"));
}

/// What a page does not show changes nothing of it; what all runs share is a parameter, also where cells were refused.
#[test]
fn further_columns_of_a_sweep_are_left_out_unless_all_runs_share_them() {
    let folder = Folder::new();
    let plain = sweep(500_000_000, [1, 2, 3], 0);
    folder.write("results.csv", &plain);
    let first = page(&folder, "results.csv");
    let wider = |value: fn(usize) -> String| {
        let mut lines = plain.lines().enumerate();
        let (_, head) = lines.next().unwrap();
        let rows = lines.map(|(number, line)| format!("{line},{}\n", value(number)));
        let further = format!("{head},further\n{}", rows.collect::<String>());
        folder.write("results.csv", further);
        page(&folder, "results.csv")
    };
    assert!(wider(|number| number.to_string()) == first);
    let shared = wider(|number| {
        if number > 6 {
            String::new()
        } else {
            "7".to_owned()
        }
    });
    assert!(shared.contains("<td class=\"word\">further</td><td class=\"word\">7</td>"));
    assert_eq!(data(&shared), data(&first));
}

/// Parquet of these columns, as others write it.
fn foreign(folder: &Folder, name: &str, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = fs::File::create(folder.path(name)).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn a_column_of_another_type_is_left_out_unless_the_page_needs_it() {
    let folder = Folder::new();
    let decimal = || Arc::new(Decimal128Array::from(vec![1_234, 5_678, 9])) as ArrayRef;
    let zoned = TimestampMicrosecondArray::from(vec![1, 2, 3]).with_timezone("Europe/Rome");
    let inner: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let inner = StructArray::try_from(vec![("a", inner)]).unwrap();
    let list = ListArray::from_iter_primitive::<Int64Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]);
    let number = || Arc::new(Float64Array::from(vec![3.0, 1.0, 2.0])) as ArrayRef;
    let whole = || Arc::new(Int64Array::from(vec![0, 1, 2])) as ArrayRef;
    let text: ArrayRef = Arc::new(StringArray::from(vec!["arq", "fec", "harq"]));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("name", text),
        ("price", decimal()),
        ("at", Arc::new(zoned)),
        ("inner", Arc::new(inner)),
        ("list", Arc::new(list)),
        ("height_m", number()),
    ];
    foreign(&folder, "odd.parquet", columns.clone());
    let said = tmt("report odd.parquet -o odd.html")
        .within(&folder)
        .run()
        .ok();
    let page = page(&folder, "odd.parquet");
    for (column, kind) in [
        ("price", "Decimal128(38, 10)"),
        ("at", "Timestamp("),
        ("inner", "Struct("),
        ("list", "List("),
    ] {
        let text = format!("The column {column} is left out: its values have the type {kind}");
        assert!(said.stderr.contains(&text), "{}", said.stderr);
        assert!(page.replace("&quot;", "\"").contains(&text), "{column}");
    }
    // All else is as without them.
    let plain = [columns[0].clone(), columns[5].clone()].to_vec();
    foreign(&folder, "plain.parquet", plain);
    let plain = self::page(&folder, "plain.parquet");
    assert_eq!(data(&page), data(&plain));
    assert_eq!(
        answer(&page).replace("odd", "plain"),
        answer(&plain).to_owned()
    );
    tmt("report odd.parquet --compare plain.parquet")
        .within(&folder)
        .run()
        .fails(1, &["expected two tables of results"]);
    // A picture of such a column is refused with the reason.
    tmt("plot odd.parquet --y price")
        .within(&folder)
        .run()
        .fails(
            2,
            &["found no column price", "The column price is left out"],
        );
    // The page of a study needs its metrics and axes.
    let study = |name: &str, goodput: ArrayRef, further: ArrayRef| {
        let columns = vec![
            ("cell", whole()),
            ("load", whole()),
            ("run", Arc::new(Int64Array::from(vec![0, 0, 0])) as ArrayRef),
            ("seed", Arc::new(Int64Array::from(vec![1, 1, 1]))),
            ("flow", Arc::new(Int64Array::from(vec![0, 0, 0]))),
            ("total_goodput_bps", goodput),
            ("own", further),
        ];
        foreign(&folder, name, columns);
    };
    study("needed.parquet", decimal(), number());
    let run = |name: &str| tmt("report").arg(name).within(&folder).run();
    run("needed.parquet").fails(
        1,
        &[
            "column total_goodput_bps: found values of the type Decimal128",
            "cast the column",
        ],
    );
    study("further.parquet", number(), decimal());
    assert!(run("further.parquet").ok().stdout.starts_with(b"<!DOCTYPE"));
}

#[test]
fn the_data_tell_close_values_apart() {
    let folder = Folder::new();
    folder.write("close.csv", "name,goodput_bps\na,1301234\nb,1301236\n");
    let page = page(&folder, "close.csv");
    assert!(page.contains("1.301234") && page.contains("1.301236"));
}

#[test]
fn a_long_table_is_aggregated_and_the_page_says_so() {
    let folder = Folder::new();
    let rows: Vec<String> = (0..60_000)
        .map(|row| format!("{row},{}\n", row % 7))
        .collect();
    folder.write("long.csv", format!("time_s,height_m\n{}", rows.concat()));
    let page = page(&folder, "long.csv");
    assert!(page.contains("60,000 rows are aggregated: each row of the page is the mean of"));
}
