//! A run: namespaces, links, commands, logs.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode, ExitStatus};

use fluid_tcp::experiment::{Plan, RunId};
use fluid_tcp::simulation::Setup;
use tmt_core::types::{Span, Time};
use tmt_link::apply::DEFAULT_RTT;
use tmt_link::hop::{AnyHop, Delay, Drive as _};
use tmt_replay::linux::{
    Addresses, End, Ended, NamespaceError, Session, SessionError, Tap, Tapped, TunPort,
    as_first_process, follow_parent,
};
use tmt_replay::{Carried, Carrier, Recorder};

use super::args::Args;
use super::{logs, show};
use crate::exit::{self, Failure, Outcome, warning};

/// Variable with the number of the process outside the namespaces; set inside only.
const INSIDE: &str = "TMT_REPLAY_PARENT";

/// Largest MTU of a TUN device, and the least of IPv4 (RFC 791, Sec. 3.2), bytes.
const MTUS: std::ops::RangeInclusive<u64> = 68..=65_535;

impl From<NamespaceError> for Failure {
    fn from(error: NamespaceError) -> Self {
        Self::failed(error)
    }
}

/// Stage before the namespaces exist, while the process has one thread: checks of the flags, and the same program again inside.
/// Returns its exit code; `None` inside.
pub(crate) fn outside(args: &Args) -> Option<ExitCode> {
    let outcome = match std::env::var_os(INSIDE) {
        Some(parent) => match follow_parent(&parent.to_string_lossy()) {
            Ok(()) => return None,
            Err(error) => Err(error.into()),
        },
        None => args
            .directions()
            .and_then(|_| Ok(as_first_process(INSIDE)?))
            .map(code_of),
    };
    Some(match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => exit::code("replay", Err(failure)),
    })
}

/// Exit code of a command, or 128 and its signal.
fn code_of(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128 + signal);
    let code = status.code().or(signal).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// The link of a direction.
struct Link {
    name: &'static str,
    /// `None` if it only delays.
    plan: Option<(Plan, RunId, Setup)>,
    /// Its delay, if it only delays.
    delay: Span,
}

impl Link {
    fn begin(&self) -> Time {
        self.plan
            .as_ref()
            .map_or(Time::ZERO, |(_, _, setup)| setup.begin)
    }

    /// Carries the packets of a port.
    fn carry(
        &self,
        port: TunPort,
        (ends, tap): ([usize; 2], Option<Tap>),
        mut recorder: Recorder,
    ) -> Result<Carried, String> {
        let mut port = Tapped::new(port, ends, tap);
        let carried = if let Some((plan, run, setup)) = &self.plan {
            use fluid_tcp::simulation::probe::Probe as _;
            let slots = recorder.watches_slots();
            let carrier = Carrier::new(&mut port, &mut recorder, setup.end);
            plan.attach(*run, setup, slots, carrier)
                .map_err(|error| error.to_string())?
        } else {
            let hop = AnyHop::new(Box::new(Delay::new(vec![self.delay])));
            Carrier::new(&mut port, &mut recorder, Time::MAX).drive(hop)
        };
        carried.map_err(|error| format!("{}: {error}", self.name))
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let directions = args.directions()?;
    let mtu = args.shared().packet().0;
    let mtu = u16::try_from(mtu).ok().filter(|_| MTUS.contains(&mtu));
    let mtu = mtu.ok_or_else(|| {
        Failure::usage(format!(
            "--packet {}: expected {} B to {} B, the MTU of both ends",
            args.shared().packet(),
            MTUS.start(),
            MTUS.end()
        ))
    })?;
    let [down, up] = &directions;
    let plans = [down.plan()?, up.plan()?];
    let known = plans.iter().flatten().map(|plan| plan.rtt).next();
    let rtt = args.shared().rtt.or(known);
    if rtt.is_none() {
        warning!("replay", "no RTT in --rtt: assuming {DEFAULT_RTT} (GEO)");
    }
    let delay = rtt.unwrap_or(DEFAULT_RTT).half();
    let links = plans.map(|plan| {
        plan.map(|plan| {
            let run = RunId {
                seed: plan.resolved.seed().0,
                offset: None,
            };
            let setup = plan.setup(run);
            (plan, run, setup)
        })
    });
    let [down_plan, up_plan] = links;
    let link = |name, plan| Link { name, plan, delay };
    let links = [link(down.name, down_plan), link(up.name, up_plan)];
    let mut writings = Vec::new();
    let mut recorders = Vec::new();
    for link in &links {
        let recorder = match &link.plan {
            Some((plan, run, setup)) => {
                let (recorder, writing) = logs::open(args, link.name, plan, (*run, setup))?;
                writings.extend(writing);
                recorder
            }
            None => Recorder::none(),
        };
        recorders.push(recorder);
    }
    let (taps, writing) = logs::captures(args)?;
    writings.extend(writing);
    let end = |addresses| End::new(addresses, mtu).map_err(Failure::failed);
    let ends = [end(Addresses::NEAR)?, end(Addresses::FAR)?];
    let (sampler, writing) = logs::series(args, &ends)?;
    writings.extend(writing);
    let session = Session {
        ends,
        sampler,
        near: near(args),
        far: args.far.as_ref().map(|text| {
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(text);
            with_addresses(command)
        }),
    };
    let [down_tap, up_tap] = taps;
    let mut recorders = recorders.into_iter();
    let mut next = || recorders.next().unwrap_or_else(Recorder::none);
    let (down_recorder, up_recorder) = (next(), next());
    let names = [down.name, up.name];
    let [down, up] = links;
    let ran = session.run([
        (
            down.begin(),
            Box::new(move |port| down.carry(port, ([1, 0], down_tap), down_recorder)) as Work,
        ),
        (
            up.begin(),
            Box::new(move |port| up.carry(port, ([0, 1], up_tap), up_recorder)),
        ),
    ]);
    let written = logs::finish(writings);
    let (ended, carried) = match ran {
        Ok(ran) => ran,
        Err(error) => return Err(refused(error)),
    };
    for (name, carried) in names.iter().zip(&carried) {
        show::carried(name, carried);
    }
    written?;
    judged(names, &carried, &ended, args.max_lateness)
}

/// The outcome of a run that went to its end: that of the command, unless the run is invalid.
fn judged(names: [&str; 2], carried: &[Carried; 2], ended: &Ended, most_lateness: Span) -> Outcome {
    let mut of_each = names.iter().zip(carried);
    let checked = of_each.try_for_each(|(name, of)| show::check(name, of, most_lateness));
    if let (Err(_), Ended::Command(status)) = (&checked, ended) {
        let code = code_of(*status);
        exit::print_line(format_args!("tmt replay: the command ended with {code}"));
    }
    checked?;
    match *ended {
        Ended::Command(status) => match code_of(status) {
            0 => Ok(()),
            code => Err(Failure::Exit(code)),
        },
        Ended::Link(number) => Err(Failure::failed(format!(
            "{}: the trace ended before the command; --at-end loop repeats it",
            names[number]
        ))),
        Ended::Signal(signal) => Err(Failure::Exit(u8::try_from(128 + signal).unwrap_or(1))),
    }
}

/// The work of a direction.
type Work = Box<dyn FnOnce(TunPort) -> Result<Carried, String> + Send>;

/// The failure of a run; shells report a command that is not found, or not executable, by codes of their own.
fn refused(error: SessionError) -> Failure {
    let code = match &error {
        SessionError::Start { error, .. } => match error.kind() {
            std::io::ErrorKind::NotFound => Some(127),
            std::io::ErrorKind::PermissionDenied => Some(126),
            _ => None,
        },
        _ => None,
    };
    match code {
        None => Failure::failed(error),
        Some(code) => {
            exit::print_line(format_args!("tmt replay: {error}"));
            Failure::Exit(code)
        }
    }
}

/// The command at the near end.
fn near(args: &Args) -> Command {
    let shell = || std::env::var_os("SHELL").unwrap_or_else(|| OsString::from("/bin/sh"));
    let mut words = args.command.iter().cloned();
    let mut command = Command::new(words.next().unwrap_or_else(shell));
    command.args(words);
    with_addresses(command)
}

/// The command with the addresses of both ends in its environment.
fn with_addresses(mut command: Command) -> Command {
    command.env_remove(INSIDE);
    for (name, addresses) in [("TMT_NEAR", Addresses::NEAR), ("TMT_FAR", Addresses::FAR)] {
        command.env(name, addresses.ipv4.to_string());
        command.env(format!("{name}_6"), addresses.ipv6.to_string());
    }
    command
}
