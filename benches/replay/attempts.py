"""Runs of `tmt replay` that are repeated while they are invalid, for compare and pages."""

import argparse
import dataclasses
import os
import re
import shutil
import subprocess
import sys

# First among all processes, where that is allowed.
REALTIME = ["chrt", "-f", "10"] if os.geteuid() == 0 and shutil.which("chrt") else []
# Before a command of a run: before others, so that its socket does not run empty, but not before the link, where it may spin and stop all.
USUAL = "chrt -o 0 nice -n -15 " if REALTIME else ""
# Time for all that a run does beside its transfers, and for a run of the model.
MARGIN_S, MODEL_S = 120, 1200
LATE = re.compile(r"^tmt replay: (?:down|up): .*p99\.9 ([0-9.]+)(ns|us|ms|s),", re.M)
UNIT_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}


@dataclasses.dataclass
class Attempt:
    """A run of `tmt replay`: lateness at 99.9 % of its later direction, why it is invalid (empty: it is valid), whether more than
    lateness is wrong with it, and what it has found, if anything."""

    late_ms: float
    invalid: str
    has_failed: bool
    found: object = None

    def fail(self, reason):
        self.has_failed = True
        self.invalid = f"{self.invalid}; {reason}" if self.invalid else reason


def attempt(said, code):
    """The attempt with this report and exit code; None without the lateness of any packet."""
    late_ms = [float(number) * UNIT_MS[unit] for number, unit in LATE.findall(said)]
    if not late_ms:
        return None
    late = re.search(r"^tmt replay: invalid run: (.*?)(?:; use an idle machine.*)?$", said, re.M)
    command = re.search(r"^tmt replay: the command ended with (\d+)$", said, re.M)
    has_failed = code != 0 and (late is None or command is None or command[1] != "0")
    reasons = [late[1]] if late else []
    if has_failed:
        reports = re.compile(r"tmt replay: (?:(?:down|up): \d+ packets, |invalid run: |the command ended with )")
        other = [line for line in said.splitlines() if line.startswith("tmt replay: ") and not reports.match(line)]
        reasons.append(f"ended with {command[1] if command else code}" + (f": {other[-1]}" if other else ""))
    return Attempt(max(late_ms), "; ".join(reasons), has_failed)


def best(attempts):
    """The first that is valid, after which none is begun; else the least late, those that failed otherwise last. None without any."""
    seen = []
    for each in attempts:
        seen.append(each)
        if not each.invalid:
            return each
    return min(seen, key=lambda each: (each.found is None, each.has_failed, each.late_ms), default=None)


def run(command, timeout_s, folder=None):
    """Runs a command to its end, or ends this program where it takes longer than the timeout."""
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            # tmt replay ends its two commands on SIGTERM.
            process.terminate()
            try:
                _, stderr = process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                stderr = ""
            sys.exit(f"{' '.join(command)}: has not ended after {timeout_s} s: {stderr.strip()[-1000:]}")
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def refuse_unknown(program, only, names):
    """Ends the program where a text of --only begins no name."""
    for text in only.split(",") if only else []:
        if not text or not any(name.startswith(text) for name in names):
            sys.exit(f"{program}: --only {only}: found no run that begins with {text!r}, expected one of {', '.join(names)}")


def positive(text):
    """The type of an argument that is a number above 0."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"found {text}, expected at least 1")
    return number
