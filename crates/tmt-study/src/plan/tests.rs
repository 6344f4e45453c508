use fluid_tcp::experiment::ParameterFile;
use proptest::prelude::*;

use super::*;

fn plan(text: &str) -> Result<Plan, PlanError> {
    Draft::parse(text)?.plan(&mut |_| Ok(None))
}

fn texts(plan: &Plan, name: &str) -> Vec<String> {
    let cells = (0..plan.cells()).map(|number| plan.cell(number).unwrap());
    cells.map(|cell| cell.text(name).unwrap()).collect()
}

#[test]
fn the_last_axis_varies_fastest() {
    let plan =
        plan("rate = \"1Mbps\"\ncc = [\"reno\", \"cubic\"]\nloss = \"bernoulli:0.1..0.3:3\"\n")
            .unwrap();
    assert_eq!(plan.cells(), 6);
    assert_eq!(
        texts(&plan, "cc").join(" "),
        "reno reno reno cubic cubic cubic"
    );
    let losses = "bernoulli:0.1 bernoulli:0.2 bernoulli:0.3";
    assert_eq!(texts(&plan, "loss").join(" "), format!("{losses} {losses}"));
    assert_eq!(plan.varying().collect::<Vec<_>>(), ["cc", "loss"]);
}

#[test]
fn zipped_axes_vary_together() {
    let plan = plan(
        "rate = [\"1Mbps\", \"2Mbps\"]\ncc = [\"reno\", \"bbr\", \"cubic\"]\nbuffer = [\"10pkt\", \"20pkt\"]\nzip = [\"rate\", \"buffer\"]\n",
    )
    .unwrap();
    assert_eq!(plan.cells(), 6);
    let pairs: Vec<String> = (0..6)
        .map(|number| {
            let cell = plan.cell(number).unwrap();
            format!(
                "{} {}",
                cell.text("rate").unwrap(),
                cell.text("buffer").unwrap()
            )
        })
        .collect();
    assert_eq!(pairs[..3], ["1Mbps 10pkt"; 3]);
    assert_eq!(pairs[3..], ["2Mbps 20pkt"; 3]);
}

#[test]
fn an_empty_array_leaves_a_parameter_out() {
    let text = "rate = \"1Mbps\"\npath = [\"e2e\", \"split\"]\nhold = [[\"acknowledged\"], []]\nzip = [\"path\", \"hold\"]\n";
    let plan = plan(text).unwrap();
    let gives_hold = (0..2).map(|number| {
        let Work::Runs { experiment, .. } = plan.cell(number).unwrap().work().unwrap() else {
            panic!("found a model")
        };
        experiment.hold.is_some()
    });
    assert_eq!(gives_hold.collect::<Vec<_>>(), [true, false]);
    assert_eq!(
        self::plan(&plan.to_file()).unwrap().canonical(),
        plan.canonical()
    );
    assert!(self::plan("n = [[], 3]\nscheme = \"harq:2/{n}\"\n").is_err());
}

#[test]
fn the_length_of_a_trace_is_not_that_of_a_run() {
    let chain = "scheme = \"arq\"\nchannel = \"bernoulli:0.01\"\nrate = \"1Mbps\"\n";
    let lengths = |text: &str| {
        let Work::Runs {
            experiment,
            trace_duration,
            assumed,
        } = plan(&format!("{chain}{text}"))?.cell(0)?.work()?
        else {
            panic!("found a model")
        };
        let slots = of_slots(&experiment, trace_duration)
            .duration
            .map(|length| length.to_string());
        Ok::<_, PlanError>((
            slots,
            experiment.duration.map(|length| length.to_string()),
            assumed.len(),
        ))
    };
    let length = |text: &str| Some(text.to_owned());
    assert_eq!(
        lengths("trace_duration = \"400s\"\nduration = \"60s\"\n").unwrap(),
        (length("400s"), length("60s"), 0)
    );
    assert_eq!(
        lengths("trace-duration = \"400s\"\n").unwrap(),
        (length("400s"), None, 0)
    );
    assert_eq!(
        lengths("duration = \"60s\"\n").unwrap(),
        (length("60s"), length("60s"), 0)
    );
    for (text, word) in [
        ("trace_duration = \"soon\"\n", "soon"),
        (
            "trace_duration = \"9s\"\nlink = \"coupled\"\n",
            "needs `scheme`",
        ),
    ] {
        let error = lengths(text).unwrap_err();
        assert!(error.message.contains(word), "{error}");
    }
}

#[test]
fn variables_fill_the_values_that_name_them() {
    let plan = plan(
        "p = \"1e-3..1e-2:log:2\"\nn = \"11..13\"\nscheme = \"harq:10/{n}\"\nchannel = \"gilbert-elliott:alpha=0.999,beta=0.9,pg={p}\"\n",
    )
    .unwrap();
    assert_eq!(plan.cells(), 6);
    let last = plan.cell(5).unwrap();
    assert_eq!(
        last.text("channel").unwrap(),
        "gilbert-elliott:alpha=0.999,beta=0.9,pg=0.01"
    );
    let plan =
        self::plan("n = [11, 12]\nscheme = \"harq:10/{n}\"\nloss = \"bernoulli:0.01\"\n").unwrap();
    assert_eq!(texts(&plan, "scheme"), ["harq:10/11", "harq:10/12"]);
}

#[test]
fn combinations_that_differ_in_unused_variables_are_one_cell() {
    let plan = plan(
        "nd = [10]\nn = \"11..13\"\nscheme = [\"arq\", \"harq:{nd}/{n}\", \"none\"]\nloss = \"bernoulli:0.01\"\n",
    )
    .unwrap();
    assert_eq!(plan.cells(), 5);
    let texts = (0..5).map(|number| {
        let cell = plan.cell(number).unwrap();
        [cell.number.to_string()]
            .into_iter()
            .chain(["scheme", "nd", "n"].map(|name| cell.text(name).unwrap_or_default()))
            .collect::<Vec<_>>()
            .join(" ")
    });
    let expected = [
        "0 arq  ",
        "1 harq:10/11 10 11",
        "2 none  ",
        "3 harq:10/12 10 12",
        "4 harq:10/13 10 13",
    ];
    assert_eq!(texts.collect::<Vec<_>>(), expected);
    assert!(plan.canonical().contains("cells = 5\n"));
    // Variables that vary with something else stay.
    let zipped = self::plan(
        "n = [11, 12]\ncc = [\"cubic\", \"reno\"]\nzip = [[\"n\", \"cc\"]]\nscheme = [\"arq\", \"harq:10/{n}\"]\nloss = \"bernoulli:0.01\"\n",
    )
    .unwrap();
    assert_eq!(zipped.cells(), 4);
}

#[test]
fn a_number_after_a_named_value_is_refused_with_the_remedy() {
    let mut draft = Draft::default();
    let error = draft.set("loss", "bernoulli:1e-5,1e-4").unwrap_err();
    for words in [
        "found '1e-4' after 'bernoulli:1e-5'",
        "'bernoulli:1e-4'",
        "bernoulli:1e-5..1e-4:log:2",
    ] {
        assert!(error.to_string().contains(words), "{error}");
    }
    draft.set("buffer", "1bdp,100pkt").unwrap();
    draft.set("cc", "cubic:beta=0.8,reno").unwrap();
}

#[test]
fn a_saved_parameter_file_is_a_plan_of_one_cell() {
    let file = "link = \"synthetic\"\nrate = \"1Mbps\"\nduration = \"9s\"\nflow = [\"cc=cubic\", \"cc=reno\"]\n";
    let experiment = ParameterFile::parse(file).unwrap().experiment;
    let plan = plan(&experiment.to_file("0.0.0")).unwrap();
    assert_eq!(plan.cells(), 1);
    let Work::Runs {
        experiment: read, ..
    } = plan.cell(0).unwrap().work().unwrap()
    else {
        panic!("found a model")
    };
    assert_eq!(read.flow.as_ref().map(Vec::len), Some(2));
}

#[test]
fn faulty_plans_are_refused_at_their_place() {
    for (text, place, word) in [
        ("cc = \"cubik\"\n", Some((1, 1)), "did you mean"),
        (
            "rate = \"1Mbps\"\nloss = \"bernoulli:1..2:0\"\n",
            Some((2, 8)),
            "values",
        ),
        ("rtx = \"1s\"\n", Some((1, 1)), "did you mean 'rtt'?"),
        ("cc = []\n", Some((1, 1)), "no value"),
        (
            "cc = [\"reno\"]\ncc = [\"bbr\"]\n",
            Some((2, 1)),
            "duplicate",
        ),
        (
            "cc = [\"reno\", [\"bbr\", \"cubic\"]]\n",
            Some((1, 6)),
            "expected an array of strings",
        ),
        (
            "zip = [\"cc\", \"rate\"]\ncc = [\"reno\"]\n",
            None,
            "found rate",
        ),
        (
            "zip = [\"cc\", \"rate\"]\ncc = [\"reno\"]\nrate = [\"1Mbps\", \"2Mbps\"]\n",
            None,
            "expected equal numbers",
        ),
        ("compare_links = true\n", Some((1, 1)), "use link ="),
        ("model = \"fek\"\n", Some((1, 1)), "did you mean 'fec'?"),
        (
            "model = \"fec\"\nndd = 3\n",
            Some((2, 1)),
            "did you mean 'nd'?",
        ),
        (
            "stop = \"goodput_bps:2%\"\ncc = \"reno\"\n",
            None,
            "needs `seeds`",
        ),
        (
            "stop = \"goodputt:2%\"\n",
            Some((1, 8)),
            "did you mean 'goodput_bps'?",
        ),
        (
            "x = \"1..1000000:1000000\"\ny = \"1..1000000:1000000\"\nloss = \"bernoulli:{x}{y}\"\n",
            None,
            "more than",
        ),
    ] {
        let error = plan(text).unwrap_err();
        assert_eq!(error.place, place, "{text}: {error}");
        assert!(error.message.contains(word), "{text}: {error}");
    }
    let plan = plan("n = [12, 9]\nscheme = \"harq:10/{n}\"\n").unwrap();
    assert!(plan.cell(0).is_ok());
    let error = plan.cell(1).unwrap_err();
    assert!(error.message.contains("(cell 1)"), "{error}");
}

#[test]
fn a_parameter_has_one_name_however_it_is_typed() {
    let mut draft =
        Draft::parse("min-rto = [\"1s\", \"2s\"]\ncc = [\"reno\", \"cubic\"]\n").unwrap();
    draft.set("min_rto", "300ms,400ms").unwrap();
    draft.zip(["min-rto", "cc"]);
    let plan = draft.plan(&mut |_| Ok(None)).unwrap();
    assert_eq!(texts(&plan, "min_rto"), ["300ms", "400ms"]);
    let twice = Draft::parse("min-rto = \"1s\"\nmin_rto = \"2s\"\n").unwrap_err();
    assert_eq!(twice.place.unwrap().0, 2);
    assert!(twice.message.contains("found it twice"), "{twice}");
}

#[test]
fn flags_replace_values_of_the_file() {
    let mut draft =
        Draft::parse("cc = [\"reno\", \"bbr\"]\nseeds = 3\nrate = \"1Mbps\"\n").unwrap();
    let mut flags = Draft::default();
    flags.set("cc", "cubic:beta=0.8,vegas").unwrap();
    flags.set("flows", "1..3").unwrap();
    draft.override_with(flags);
    let plan = draft.plan(&mut |_| Ok(None)).unwrap();
    assert_eq!(plan.cells(), 6);
    assert_eq!(texts(&plan, "cc")[3], "vegas");
    let canonical = plan.canonical();
    assert!(
        canonical.starts_with("cc = [[\"cubic:beta=0.8\"],[\"vegas\"]]\nseeds = "),
        "{canonical}"
    );
}

/// A value of the variable `name`, or of the list `flow`.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{1,2}\\.\\.[0-9]{1,2}",
        "[0-9]\\.\\.[0-9]\\.\\.[0-9]:[2-4]",
        "[-0-9a-z.,:=%{}'\"\\\\ #\\[\\]]{0,12}",
        "\\PC{0,6}",
        "[\t\n\r\u{0}-\u{1f}\u{7f}'\"]{0,4}",
    ]
}

proptest! {
    #[test]
    fn a_plan_in_toml_is_the_same_plan(
        variables in prop::collection::btree_map("[a-z]{1,3}|[a-z \"'.\\\\\n\u{7f}é]{0,4}", prop::collection::vec(any_text(), 1..4), 0..5),
        flows in prop::collection::vec(prop::collection::vec("cc=(reno|cubic)", 1..3), 0..3),
        percent in prop::option::of((1e-9f64..100.0, 2usize..9)),
        is_zipped: bool,
    ) {
        let mut draft = Draft::default();
        let names: Vec<String> = variables.keys().filter(|name| names::parameter(name).is_none() && !matches!(name.as_str(), "zip" | "stop" | "model")).cloned().collect();
        let all: Vec<String> = names.iter().map(|name| format!("{{{name}}}")).collect();
        let all = all.concat();
        for name in &names {
            let values = &variables[name];
            draft.give(name, values.iter().map(|text| vec![text.clone()]).collect(), None);
        }
        draft.set("seeds", "1..9:5").unwrap();
        draft.give("loss", vec![vec![format!("bernoulli:{all}")], vec!["bernoulli:0.1".to_owned()]], None);
        if !flows.is_empty() {
            draft.give("flow", flows, None);
        }
        let mut lengths = names.iter().map(|name| (variables[name].len(), name.clone()));
        if is_zipped && let Some((length, first)) = lengths.next() {
            let others = lengths.filter(|(other, _)| *other == length).map(|(_, name)| name);
            let group: Vec<String> = std::iter::once(first).chain(others).collect();
            if group.len() > 1 {
                draft.zip(group);
            }
        }
        if let Some((half_width_percent, min_runs)) = percent {
            draft.stop(Stop { metric: "goodput_bps".to_owned(), half_width_percent, min_runs });
        }
        let plan = draft.plan(&mut |_| Ok(None));
        // A value may name a variable by chance, which its parameter then refuses.
        prop_assume!(plan.is_ok());
        let plan = plan.unwrap();
        let file = plan.to_file();
        let read = self::plan(&file);
        prop_assert!(read.is_ok(), "{}: {:?}", file, read);
        let read = read.unwrap();
        prop_assert_eq!(read.canonical(), plan.canonical());
        prop_assert_eq!(read.to_file(), file);
        prop_assert_eq!(read.cells(), plan.cells());
    }
}

#[test]
fn names_of_a_plan_are_no_variables() {
    for name in ["zip", "stop", "version"] {
        let mut draft = Draft::default();
        draft.set(name, "1,2").unwrap();
        draft.set("loss", &format!("bernoulli:{{{name}}}")).unwrap();
        let error = draft.plan(&mut |_| Ok(None)).unwrap_err();
        assert!(error.message.contains("is reserved"), "{error}");
    }
}
