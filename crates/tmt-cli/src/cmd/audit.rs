//! `tmt audit`: independent check of the packet log of a TCP run (docs/simulator.md, Sec. 13).

use fluid_tcp::audit::{
    AuditError, AuditReport, Beside, Log, NotRecomputed, RuleReport, audit_beside,
};
use serde_json::json;
use tmt_core::format::Options;

use crate::exit::{Failure, Outcome, print_line, warning};
use crate::input::{self, Input};
use crate::output::document::Document;
use crate::table::{Table, print};

/// Flags of `tmt audit`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --timeline the rules of the link are checked only as far as the log allows. With it, every \
                        service and delivery is recomputed from the LLDUs. --slots checks every slot of a coupled link against the packets: one unit per slot, repeats \
                        first. --terrestrial-trace and --far-trace do for hops beside the link what --timeline does for it. The exit code is 1 if a rule is broken.\n\n\
                        Example:\n  tmt tcp --cc cubic --packets packets.csv timeline.csv\n  \
                        tmt audit --timeline timeline.csv packets.csv\n  \
                        tmt tcp --link coupled --scheme arq \\\n    --packets packets.csv --slots slots.csv.gz phy.csv\n  \
                        tmt audit --slots slots.csv.gz packets.csv"
)]
pub(crate) struct Args {
    /// Packet log of `tmt tcp --packets`: text, also as gzip or zstd, or Parquet; the format is detected from the
    /// content [default: stdin, as for `-`]
    #[arg(value_name = "PACKETS")]
    packets: Option<String>,
    /// Timeline of the run
    #[arg(long, value_name = "TIMELINE")]
    timeline: Option<String>,
    /// Slot log of the same run, from `tmt tcp --slots`, in the same formats
    #[arg(long, value_name = "SLOTS", conflicts_with = "timeline")]
    slots: Option<String>,
    /// PHY trace or timeline that the hop before the gateway followed
    #[arg(long, value_name = "FILE")]
    terrestrial_trace: Option<String>,
    /// PHY trace or timeline that the hop behind the link followed
    #[arg(long, value_name = "FILE")]
    far_trace: Option<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let from_stdin = |path: &str| path == "-";
    let given = [
        ("--timeline", &args.timeline),
        ("--slots", &args.slots),
        ("--terrestrial-trace", &args.terrestrial_trace),
        ("--far-trace", &args.far_trace),
    ];
    let packets = ("the packet log", args.packets.as_deref().unwrap_or("-"));
    let given = given.map(|(flag, path)| path.as_deref().map(|path| (flag, path)));
    let inputs = std::iter::once(packets).chain(given.iter().copied().flatten());
    let mut stdin = inputs.filter(|(_, path)| from_stdin(path));
    if let (Some((one, _)), Some((other, _))) = (stdin.next(), stdin.next()) {
        return Err(Failure::usage(format!(
            "{one} and {other} cannot both be stdin; name a file"
        )));
    }
    let Input { name, reader } = input::open_table("audit", args.packets.as_deref())?;
    let mut names = [""; 4].map(str::to_owned);
    let mut open = |number: usize| -> Outcome<_> {
        let Some((_, path)) = given[number] else {
            return Ok(None);
        };
        // A cut trace matters only for a packet that used the missing part, which breaks a rule.
        let options = Options {
            allow_cut: true,
            ..Options::default()
        };
        let (name, trace) = input::open_trace("audit", Some(path), options)?;
        names[number] = name;
        Ok(Some(trace))
    };
    let mut beside = Beside {
        timeline: open(0)?,
        terrestrial_trace: open(2)?,
        far_trace: open(3)?,
        ..Beside::default()
    };
    if let Some(path) = &args.slots {
        let slots = input::open_table("audit", Some(path))?;
        names[1] = slots.name;
        beside.slots = Some(Box::new(slots.reader));
    }
    let [timeline, slots, near, far] = names;
    let report = audit_beside(reader, beside).map_err(|error| match error {
        AuditError::Log(error) => Failure::io(&name, &error),
        AuditError::Slots(error) => Failure::io(&slots, &error),
        AuditError::Timeline(error) => Failure::input(&timeline, &error),
        AuditError::Trace("terrestrial_trace", error) => Failure::input(&near, &error),
        AuditError::Trace(_, error) => Failure::input(&far, &error),
        other => Failure::failed(format!("{name}: {other}")),
    })?;
    // Files against which the packet log is checked.
    let params = json!({
        "timeline": args.timeline.is_some(),
        "slots": args.slots.is_some(),
        "terrestrial_trace": args.terrestrial_trace.is_some(),
        "far_trace": args.far_trace.is_some(),
    });
    let document = Document::new("tmt.audit/1", params, report);
    print(None, args.json, &document, table)?;
    let report = document.results();
    for NotRecomputed { trace, line } in &report.not_recomputed {
        warning!(
            "audit",
            "{name}:{line}: from this packet on services by {trace} are not recomputed: packets that arrive together could have had more orders than are followed, and none of those agrees"
        );
    }
    if report.passed() {
        return Ok(());
    }
    for rule in &report.rules {
        for violation in &rule.violations {
            let name = match violation.log {
                Log::Packets => &name,
                Log::Slots => &slots,
            };
            print_line(format_args!(
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
    let table = Table::of(&report.rules)
        .words("rule", |rule| rule.rule)
        .plain("checks", |rule| rule.checks)
        .plain("broken", |rule| rule.violations_total);
    let verdict = if report.passed() {
        "every rule holds"
    } else {
        "rules are broken"
    };
    format!("{table}{verdict}\n")
}
