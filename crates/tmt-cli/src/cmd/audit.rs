//! `tmt audit`: an independent check of a TCP run's packet log (tcp.md §6).

use fluid_tcp::audit::{AuditError, AuditReport, Log, RuleReport, audit, audit_with_slots};
use tmt_core::format::Options;

use crate::exit::{Failure, Outcome, tell};
use crate::input::{self, Input};
use crate::table::{Report, print};

/// Flags of `tmt audit`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --timeline the link's rules are checked as far as the log alone tells; with it, \
                        every service and delivery is computed anew from the LLDUs. A log of a run with --loop is \
                        checked without. With --slots every slot of a coupled link is held against the packets: \
                        one unit each, repeats first. Exit code 1 says that a rule was broken.\n\n\
                        Example:\n  tmt tcp --cc cubic --packets packets.csv timeline.csv\n  \
                        tmt audit --timeline timeline.csv packets.csv\n  \
                        tmt tcp --link coupled --scheme arq --packets packets.csv --slots slots.csv.gz phy.csv\n  \
                        tmt audit --slots slots.csv.gz packets.csv"
)]
pub(crate) struct Args {
    /// The packet log of `tmt tcp --packets`: text, also as gzip or zstd, or Parquet, told by its content;
    /// stdin when left out or `-`
    #[arg(value_name = "PACKETS")]
    packets: Option<String>,
    /// The timeline the run was made on
    #[arg(long, value_name = "TIMELINE")]
    timeline: Option<String>,
    /// The slot log of the same run, `tmt tcp --slots`, in the same forms
    #[arg(long, value_name = "SLOTS", conflicts_with = "timeline")]
    slots: Option<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let from_stdin = |path: &Option<String>| path.as_deref().unwrap_or("-") == "-";
    for (flag, beside) in [("--timeline", &args.timeline), ("--slots", &args.slots)] {
        if beside.is_some() && from_stdin(&args.packets) && from_stdin(beside) {
            return Err(Failure::usage(format!(
                "the packet log and {flag} cannot both be stdin"
            )));
        }
    }
    let Input { name, reader } = input::open_table("audit", args.packets.as_deref())?;
    let mut beside = String::new();
    let report = if let Some(path) = &args.slots {
        let slots = input::open_table("audit", Some(path))?;
        beside = slots.name;
        audit_with_slots(reader, slots.reader)
    } else if let Some(path) = &args.timeline {
        // A cut timeline matters only to a packet that used what is missing, and that shows.
        let options = Options {
            allow_cut: true,
            ..Options::default()
        };
        let (timeline_name, timeline) = input::open_trace("audit", Some(path), options)?;
        beside = timeline_name;
        audit(reader, Some(timeline))
    } else {
        audit(reader, None)
    };
    let report = report.map_err(|error| match error {
        AuditError::Log(error) => Failure::io(&name, &error),
        AuditError::Slots(error) => Failure::io(&beside, &error),
        AuditError::Timeline(error) => Failure::input(&beside, &error),
        other => Failure::failed(format!("{name}: {other}")),
    })?;
    print(None, args.json, &report, table)?;
    if report.passed() {
        return Ok(());
    }
    for rule in &report.rules {
        for violation in &rule.violations {
            let name = match violation.log {
                Log::Packets => &name,
                Log::Slots => &beside,
            };
            tell(format_args!(
                "tmt audit: {name}:{}: {}: found {}, expected {}",
                violation.line, rule.rule, violation.found, violation.expected
            ));
        }
    }
    let broken = |rule: &&RuleReport| rule.violations_total > 0;
    let broken = report.rules.iter().filter(broken).count();
    Err(Failure::failed(format!(
        "{name}: {broken} of {} rules are broken",
        report.rules.len()
    )))
}

fn table(report: &AuditReport) -> String {
    let mut table = Report::new(["rule", "checks", "broken"]);
    for rule in &report.rules {
        table.row(
            rule.rule,
            [rule.checks.to_string(), rule.violations_total.to_string()],
        );
    }
    let verdict = if report.passed() {
        "every rule holds"
    } else {
        "rules are broken"
    };
    format!("{table}{verdict}\n")
}
