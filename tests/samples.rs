//! A sample of every format that is read: `tmt lint` finds in it what `tmt convert` warns of, and knows it by its content where
//! that is possible. A new format needs a line in [`SAMPLES`].

use std::fs;

use serde_json::Value;
use tmt_core::format::import::{FIRST_BYTES, FORMATS, Importers, Severity, known};

use crate::common::{Folder, Ran, project, tmt};
use crate::lint::{sources, used};

/// Files of a format, odd where the format can be.
struct Sample {
    format: &'static str,
    /// Flag, empty for the positional file, and content of each file; none if [`prepared`] makes them.
    files: &'static [(&'static str, &'static str)],
    /// Further flags of a conversion that a look takes, too. It takes delays as they are, so a propagation is given.
    flags: &'static str,
    /// The file whose content only this format can have.
    telling: Option<usize>,
    /// Findings that must be reported.
    found: &'static [&'static str],
}

/// Why a sample is refused, of formats that hold no packets.
const REFUSED: [(&str, &str); 1] = [("sns3", "no table of SNS3 has")];

const SAMPLES: &[Sample] = &[
    Sample {
        format: "delay-loss",
        files: &[
            ("--delay", "20\r\n15\n21\n0\n22\n"),
            ("--loss", "0\n0\n1\n1\n1\n"),
        ],
        flags: "--interval 10ms --delay-unit ms --propagation 1ms",
        telling: Some(1),
        found: &["mixed-line-ends", "polarity-suspected", "filler-delays"],
    },
    Sample {
        format: "mahimahi",
        files: &[("", "1\r\n5\n5\n9\n")],
        flags: "",
        telling: Some(0),
        found: &["mixed-line-ends"],
    },
    Sample {
        format: "ping",
        files: &[(
            "",
            "[2024-05-27 11:16:48.963710] PING 192.0.2.1 (192.0.2.1) 38(66) bytes of data.\n\
             [2024-05-27 11:16:48.964186] 46 bytes from 192.0.2.1: icmp_seq=2 ttl=58 time=33.4 ms\n\
             [2024-05-27 11:16:49.162628] 46 bytes from 192.0.2.1: icmp_seq=3 ttl=58 time=31.4 ms (DUP!)\n\
             [2024-05-27 11:17:50.566311] 46 bytes from 192.0.2.1: icmp_seq=4 ttl=58 time=129 ms\n\
             [2024-05-27 11:17:50.766311] 46 bytes from 192.0.2.1: icmp_seq=5 ttl=58 time=129 ms\n\
             something else\n\
             12 packets transmitted, 5 received, 14% packet loss, time 29855ms\n",
        )],
        flags: "--propagation 16ms",
        telling: Some(0),
        found: &[
            "missing-numbers",
            "clock-steps",
            "summary-differs",
            "other-lines",
            "delays-below-propagation",
        ],
    },
    Sample {
        format: "ping",
        files: &[(
            "",
            "time,rtt_ms\n1716823009.1,31.4\n1716823010.1,30.4\n1716823011.1,39.4\n",
        )],
        flags: "--propagation 1ms",
        telling: Some(0),
        found: &["losses-left-out", "times-of-answers"],
    },
    Sample {
        format: "crawdad",
        files: &[("", "0 6\n1 128\n5 255\n5 0\n12 3\n")],
        flags: "--interval 100ms",
        telling: Some(0),
        found: &[
            "frames-in-error",
            "missing-numbers",
            "losses-at-ends-unknown",
        ],
    },
    Sample {
        format: "irtt",
        files: &[],
        flags: "--direction up --propagation 0s",
        telling: Some(0),
        found: &["delays-unknown"],
    },
    Sample {
        format: "iperf3",
        files: &[(
            "",
            "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
             [  5]   0.00-0.50   sec  5.47 MBytes  91.5 Mbits/sec  0.008 ms  3/20 (15%)  \n\
             [  5]   0.50-1.00   sec  17.6 MBytes   297 Mbits/sec  0.127 ms  0/0 (43%)  \n\
             [  5]   1.00-1.50   sec  17.6 MBytes   297 Mbits/sec  0.127 ms  -1/4 (43%)  \n",
        )],
        flags: "--spread even",
        telling: Some(0),
        found: &["silent-intervals", "losses-out-of-range"],
    },
    Sample {
        format: "leocc",
        files: &[
            ("--bandwidth", "1\r\n2\n12\n65\n"),
            ("--delay", "7\n9\n12\n7\n"),
        ],
        flags: "--propagation 8ms",
        telling: None,
        found: &[
            "mixed-line-ends",
            "delays-repeated",
            "delays-below-propagation",
        ],
    },
    Sample {
        format: "lens",
        files: &[(
            "",
            "timestamp,rtt,uplink,downlink\n1705744800616897349,0,0,-1\n1705744800626565141,120,72,48\n\
             1705744800636737402,0,-1,0\n1705744800646307744,100,102,-2\n1705744800656307744,-1,0,0\n",
        )],
        flags: "--direction down --propagation 1ms",
        telling: Some(0),
        found: &[
            "clock-offset",
            "negative-delays",
            "never-sent",
            "loss-direction-unknown",
        ],
    },
    Sample {
        format: "pcap",
        files: &[],
        flags: "--propagation 1ms",
        telling: Some(0),
        found: &["segments-without-payload"],
    },
    Sample {
        format: "sigfox",
        files: &[(
            "",
            "[{\"rx\": {\"time\": \"1473675865\", \"data\": \"0002\"}, \"tx\": {\"data\": \"0002\"}},\n{\"tx\": {\"data\": \"0005\"}},\n\
             {\"rx\": {\"time\": 1473675880, \"data\": \"0009\"}, \"tx\": {\"data\": \"0008\"}}]\n",
        )],
        flags: "",
        telling: Some(0),
        found: &["payload-differs", "missing-numbers"],
    },
    Sample {
        format: "cellreplay",
        files: &[
            ("--light", "0 21 0\n200 23 0\n400 22 0\n"),
            ("--heavy", "0\n10\n10\n390\n600\r\n900\n"),
        ],
        flags: "--propagation 22ms",
        telling: Some(0),
        found: &[
            "mixed-line-ends",
            "delays-repeated",
            "delays-below-propagation",
        ],
    },
    Sample {
        format: "leoreplayer",
        files: &[("--delay", "12\n16\n9\n")],
        flags: "--propagation 10ms",
        telling: Some(0),
        found: &["delays-below-propagation"],
    },
    Sample {
        format: "linkem",
        files: &[("--delay", "42 39 25 40 44 "), ("--loss", "0101110111")],
        flags: "--interval 10ms --propagation 30ms",
        telling: Some(1),
        found: &["delays-repeated", "delays-below-propagation"],
    },
    Sample {
        format: "opensand",
        files: &[("", "# delays\r\n0 250\n100 255\n200 250\n")],
        flags: "--values delay --step 1ms --propagation 251ms",
        telling: Some(0),
        found: &["mixed-line-ends", "delays-below-propagation"],
    },
    Sample {
        format: "sns3",
        files: &[("", "0.269673\t2.77e-21\n0.28\t2.8e-21\n")],
        flags: "",
        telling: Some(0),
        found: &[],
    },
    Sample {
        format: "ns2",
        files: &[(
            "",
            "+ 0.1 0 1 tcp 1040 ------- 1 0.0 1.0 3 12\n- 0.1 0 1 tcp 1040 ------- 1 0.0 1.0 3 12\n\
             - 0.12 0 1 tcp 1040 ------- 1 0.0 1.0 4 13\n+ 0.15 0 1 tcp 1040 ------- 1 0.0 1.0 4 14\nd 0.2 0 1 tcp 1040 ------- 1 0.0 1.0 4 14\n\
             r 0.362 0 1 tcp 1040 ------- 1 0.0 1.0 3 12\nr 0.37 0 1 tcp 1040 ------- 1 0.0 1.0 9 99\n",
        )],
        flags: "--link 0-1 --propagation 300ms",
        telling: Some(0),
        found: &["queue-drops", "arrivals-unsent"],
    },
    Sample {
        format: "ns3",
        files: &[("", "0,7,8,\n12 7")],
        flags: "--interval 10ms",
        telling: Some(0),
        found: &["duplicates", "received-at-end-unknown"],
    },
];

/// Writes the files of a sample and returns their flags and names.
fn prepared(sample: &Sample, folder: &Folder) -> Vec<(&'static str, String)> {
    match sample.format {
        "irtt" => {
            folder.write(
                "file0",
                fs::read(project("fixtures/importers/irtt.json")).unwrap(),
            );
            vec![("", "file0".to_owned())]
        }
        "pcap" => {
            tmt("tcp --link synthetic --rate 2Mbps --rtt 40ms --loss bernoulli:0.01 --duration 5s --pcap run")
                .within(folder)
                .run()
                .ok();
            let file = |side: &str| format!("run-{side}.pcap");
            vec![
                ("--sender", file("sender")),
                ("--receiver", file("receiver")),
            ]
        }
        _ => {
            let files = sample.files.iter().enumerate();
            let write = |(at, (flag, text)): (usize, &(&'static str, &'static str))| {
                let name = format!("file{at}");
                folder.write(&name, text);
                (*flag, name)
            };
            files.map(write).collect()
        }
    }
}

/// Messages of a conversion, without their common prefix.
fn said(ran: &Ran, kind: &str) -> Vec<String> {
    let prefix = format!("tmt convert: {kind}");
    let lines = ran.stderr.lines();
    lines
        .filter_map(|line| line.strip_prefix(&prefix).map(str::to_owned))
        .collect()
}

fn text(found: &Value, field: &str) -> String {
    found[field].as_str().unwrap().to_owned()
}

#[test]
fn every_format_has_a_sample_in_which_lint_finds_what_convert_warns_of() {
    let checks = used(&sources("crates/tmt-core/src/pipeline/lint"));
    let formats: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    assert!(
        SAMPLES
            .iter()
            .all(|sample| formats.contains(&sample.format))
    );
    for format in formats {
        let mut samples = SAMPLES
            .iter()
            .filter(|sample| sample.format == format)
            .peekable();
        assert!(samples.peek().is_some(), "{format} has no sample");
        for sample in samples {
            let folder = Folder::new();
            let files = prepared(sample, &folder);
            let with = |command: &str| {
                let command = tmt(command).arg_list("--from").arg(format);
                let command = command.arg_list(sample.flags).within(&folder);
                let all = files.iter().fold(command, |command, (flag, name)| {
                    command.arg_list(flag).arg(name)
                });
                all.run()
            };
            let (convert, lint) = (with("convert -v -o phy.csv"), with("lint --json"));
            if let Some((_, words)) = REFUSED.iter().find(|(name, _)| *name == format) {
                convert.fails(1, &[words]);
                lint.fails(1, &[words]);
                continue;
            }
            assert_eq!(convert.code, Some(0), "{format}: {}", convert.stderr);
            let results = lint.results();
            assert_eq!(results["error"], Value::Null, "{format}");
            let findings = results["findings"].as_array().unwrap();
            let is_odd = findings.iter().any(|found| found["severity"] == "warning");
            assert_eq!(lint.code, Some(i32::from(is_odd)), "{format}: {findings:?}");
            for name in sample.found {
                let is_found = findings.iter().any(|found| found["name"] == *name);
                assert!(is_found, "{format}: no {name} in {findings:?}");
            }
            // Warnings of both are the same, but for what a file of probes is, and what looks at slots finds besides.
            let warnings = said(&convert, "warning: ");
            for warning in &warnings {
                let found = findings
                    .iter()
                    .find(|found| found["text"] == warning.as_str());
                let found = found.unwrap_or_else(|| panic!("{format}: lint has no: {warning}"));
                let is_kind = found["name"] == "rate-of-probes";
                assert!(
                    found["severity"] == "warning" || is_kind,
                    "{format}: {found}"
                );
            }
            let all = said(&convert, "");
            for found in findings {
                let (name, said) = (text(found, "name"), text(found, "text"));
                let is_warning = known(&name).unwrap().severity == Severity::Warning;
                let may_be_harmless = ["rate-of-probes", "clock-offset"].contains(&name.as_str());
                assert!(
                    is_warning == (found["severity"] == "warning") || may_be_harmless,
                    "{format}: {found}"
                );
                let is_warned = warnings.contains(&said);
                let is_said = is_warned || all.contains(&said);
                let is_of_slots = checks.contains(name.as_str());
                assert!(
                    is_said || is_of_slots,
                    "{format}: convert does not say: {found}"
                );
                if is_said && found["severity"] == "warning" {
                    assert!(is_warned, "{format}: convert does not warn: {found}");
                }
            }
        }
    }
}

#[test]
fn samples_are_known_by_their_content_where_that_is_said() {
    for sample in SAMPLES {
        let (format, folder) = (sample.format, Folder::new());
        let files = prepared(sample, &folder);
        let recognised = |name: &str| {
            let bytes = fs::read(folder.path(name)).unwrap();
            Importers::default().recognise(&bytes[..bytes.len().min(FIRST_BYTES)])
        };
        let Some(telling) = sample.telling else {
            for (_, name) in &files {
                assert_ne!(recognised(name), [format], "say that {name} tells it");
            }
            continue;
        };
        let (_, name) = &files[telling];
        assert_eq!(recognised(name), [format], "{name}");
        let ran = tmt("lint").arg(name).within(&folder).run();
        ran.says(&[&format!(
            "looks like {format} by its content (--from {format})"
        )]);
    }
}
