//! Runs beyond memory and work, and host settings that take away each other's effect.

use crate::common::{Folder, tmt};

const LINK: &str = "tcp --link synthetic --rtt 50ms --duration 2s";

#[test]
fn runs_beyond_memory_or_work_are_refused_with_the_estimate() {
    let fast = "--rate 1000000000Gbps";
    for (flags, words) in [
        (
            format!("{fast} --rwnd unlimited"),
            "--rwnd unlimited: 1.1e12 packets may be in flight, about 439805 GB of memory; expected at most 4.3e7; limit --rwnd",
        ),
        (
            "--rate 10Mbps --rwnd unlimited --cc fixed:1000000 --flows 1000".to_owned(),
            "1.0e9 packets may be in flight, about 400 GB of memory",
        ),
        (
            format!("{fast} --rtt 1us --duration 100s --profile rfc"),
            "--duration: 4.2e11 packets may be sent, which take 5 days at a million a second; expected at most 1e11; reduce --duration",
        ),
    ] {
        let link = if flags.contains("--rtt") {
            "tcp --link synthetic"
        } else {
            LINK
        };
        let folder = Folder::new();
        let run = tmt(&format!("{link} {flags} -o out.json"))
            .within(&folder)
            .run();
        run.fails(2, &[words]);
        assert!(!folder.path("out.json").exists());
    }
    tmt(&format!("{LINK} --rate 1Mbps --cc fixed:1000000000"))
        .run()
        .fails(2, &["expected a number from 1 to 1000000"]);
}

/// The window, or the data, keeps them small.
#[test]
fn fast_links_with_limited_windows_run() {
    for limit in ["--rwnd 100pkt", "--rwnd unlimited --bytes 100kB"] {
        tmt(&format!("{LINK} --rate 1000000000Gbps {limit}"))
            .run()
            .ok();
    }
}

#[test]
fn host_settings_without_effect_are_warned_of() {
    let warned = |flags: &str| tmt(&format!("{LINK} --rate 10Mbps {flags}")).run().ok();
    let train = "--hystart classic without quick ACKs: delayed ACKs are further apart";
    let no_quick = "--profile linux --quick-acks 0 --quick-while-growing off";
    warned(no_quick).says(&[train]);
    warned("--profile rfc --hystart classic").says(&[train]);
    warned("--profile rfc --cc cubic:hystart=classic").says(&[train]);
    warned("--profile linux --rwnd 64kB --first-rwnd 100kB")
        .says(&["--first-rwnd 100000B is above --rwnd: it has no effect"]);
    warned("--profile linux --rwnd unlimited --first-rwnd 100kB")
        .says(&["--first-rwnd 100000B is below an unlimited --rwnd"]);
    warned("--profile rfc --rwnd unlimited --quick-while-growing on")
        .says(&["--quick-while-growing on with an unlimited --rwnd"]);
    let folder = Folder::new();
    for flags in [
        "--profile linux",
        "--profile linux --rwnd unlimited",
        "--profile rfc --hystart classic --delayed-ack off",
        &format!("{no_quick} --cc newreno"),
        &format!("{no_quick} --cc cubic:hystart=off"),
    ] {
        let run = warned(&format!(
            "{flags} --save-params {}",
            folder.path("run.toml").display()
        ));
        assert!(!run.stderr.contains("warning"), "{flags}: {}", run.stderr);
        let again = tmt("tcp --params run.toml").within(&folder).run().ok();
        assert!(
            !again.stderr.contains("warning"),
            "{flags}: {}",
            again.stderr
        );
    }
}
