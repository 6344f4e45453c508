//! Own entries reach every command.

use std::fs;
use std::process::{Command, Output};

/// Runs the program in the scratch folder of the tests.
fn own(arguments: &str) -> Output {
    let folder = env!("CARGO_TARGET_TMPDIR");
    let mut run = Command::new(env!("CARGO_BIN_EXE_own-tmt"));
    let run = run.current_dir(folder).args(arguments.split_whitespace());
    run.output().expect("the program starts")
}

fn printed(arguments: &str) -> String {
    let output = own(arguments);
    assert!(output.status.success(), "{arguments}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn read(name: &str) -> String {
    let folder = env!("CARGO_TARGET_TMPDIR");
    fs::read_to_string(format!("{folder}/{name}")).expect("a file was written")
}

#[test]
fn own_entries_run_sweep_and_are_listed() {
    let link = "--link synthetic --rate 10Mbps --duration 20s --rtt 100ms";
    let text = printed(&format!(
        "-q tcp {link} --cc scalable:gain=0.02 --queue own-red"
    ));
    assert!(text.contains("goodput"), "{text}");
    printed(&format!(
        "-q sweep {link} --cc cubic,scalable --queue red,own-red --seeds 2 -o results.csv"
    ));
    let text = read("results.csv");
    let rows = |name: &str| text.lines().filter(|line| line.contains(name)).count();
    assert!(rows("scalable") >= 2 && rows("own-red") >= 2, "{text}");

    let slots = "-q synth -o phy.csv --rate 1Mbps --lldu 33B --duration 5s --decode-delay 1ms --channel bernoulli:0.2";
    printed(slots);
    let twice = printed("-q apply --scheme twice:2/3 --rtt 20ms phy.csv");
    let harq = printed("-q apply --scheme harq:2/3,rounds=2 --rtt 20ms phy.csv");
    let rows = |text: &str| -> Vec<String> {
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        rows.map(str::to_owned).collect()
    };
    assert!(rows(&twice).len() > 1000);
    assert_eq!(rows(&twice), rows(&harq));

    for (help, name) in [
        ("tcp --help", "scalable"),
        ("completions bash", "own-red"),
        ("apply --help", "twice:ND/N"),
    ] {
        assert!(printed(help).contains(name), "{help}");
    }
    let unknown = own(&format!("tcp {link} --cc scalabel"));
    let message = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(message.contains("did you mean 'scalable'?"), "{message}");

    // A saved run names them, and runs again.
    let first = printed(&format!(
        "-q tcp {link} --cc scalable --save-params run.toml"
    ));
    let saved = read("run.toml");
    assert!(saved.contains("scalable"), "{saved}");
    assert_eq!(printed("-q tcp --params run.toml"), first);
}
