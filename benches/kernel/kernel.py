"""Runs of a real kernel, read from tables, and the same settings in `tmt tcp`."""

import collections
import csv
import io
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Settings of our own, and the folder of the larger set, which is not part of the project. Each has tables of runs, and the
# packets that were lost in them.
OWN = ROOT / "fixtures/reference/kernel"
SHARED = pathlib.Path(os.environ.get("TMT_SHARED", ROOT.parent / "shared")) / "reference/kernel"

# tmt's name of each congestion control of the kernel, under the profile linux.
CONTROLS = {"reno": "newreno", "cubic": "cubic", "bbr": "bbr1"}
PACKET_B, PAYLOAD_B = 1500, 1448
# net.ipv4.tcp_rmem of the larger set, and the share of such memory that is payload of packets of 1500 B (tcp_measure_rcv_mss).
RMEM, ROOM = "4096 8388608 67108864", (157, 256)
# Two flows begin within this time, each seed at other times: the kernel's do not begin together to the microsecond.
APART_MS = 20
# RTTs whose difference is a whole number of services put the arrivals of two flows into fixed phases, so that a full queue
# drops those of one of them (Floyd and Jacobson 1992). A host's timing is not so exact: runs are spread over this many phases.
PHASES = 8

Setting = collections.namedtuple("Setting", "grid rate_bps rtt_ms queue cc loss seconds size rmem extra_ms")


class Simulator:
    """A `tmt` binary with the flags of a comparison."""

    def __init__(self, tmt, seeds, jobs, flags=(), controls=()):
        self.tmt, self.seeds, self.jobs, self.flags = tmt, seeds, jobs, list(flags)
        self.controls = CONTROLS | dict(controls)

    def command(self, setting, loss=None, phase=0.0):
        """The command of a setting; `loss` replaces the process of its losses.

        `phase` is added to the RTT of a second flow, in services of a packet.
        """
        command = [self.tmt, "tcp", "--quiet", "--jobs", str(self.jobs), "--profile", "linux", "--link", "synthetic"]
        command += ["--rate", f"{setting.rate_bps:.0f}bps", "--rtt", f"{setting.rtt_ms:g}ms"]
        command += ["--buffer", f"{setting.queue}pkt", "--duration", f"{setting.seconds:g}s", "--json"]
        if loss or setting.loss:
            command += ["--loss", loss or f"bernoulli:{setting.loss:g}"]
        first, largest = (int(size) * ROOM[0] // ROOM[1] for size in setting.rmem.split()[1:])
        command += ["--first-rwnd", f"{first}B", "--rwnd", f"{largest // 1448}pkt"]
        flows = setting.cc.split("+")
        if len(flows) == 1:
            command += ["--cc", self.controls[setting.cc]]
            command += ["--bytes", f"{setting.size}B"] if setting.size else []
        for number, cc in enumerate(flows if len(flows) > 1 else []):
            # The kernel's data begin when the handshake is over, a round trip after the call.
            extra_ms = setting.extra_ms if number else 0
            rtt_ns = round(extra_ms * 1e6 + (phase * PACKET_B * 8e9 / setting.rate_bps if number else 0))
            start = f"start={extra_ms:g}ms..{extra_ms + APART_MS:g}ms"
            command += ["--flow", f"cc={self.controls[cc]},{start},terrestrial-rtt={rtt_ns}ns"]
        return command + self.flags

    def runs(self, setting, loss=None, more=()):
        """The runs of a setting, as tmt reports them: one where nothing is random."""
        # Starts are cheap, and few of them lose anything.
        seeds = self.seeds * (10 if setting.size else 1) if setting.loss and not loss else 1
        if "+" not in setting.cc:
            return self.run(self.command(setting, loss) + ["--seeds", str(seeds), *more])
        seeds = max(self.seeds // PHASES, 1)
        commands = [self.command(setting, loss, phase / PHASES) for phase in range(PHASES)]
        return [run for command in commands for run in self.run([*command, "--seeds", str(seeds), *more])]

    @staticmethod
    def run(command):
        """The runs of a command."""
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"compare: {' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
        return json.loads(done.stdout)["results"]["runs"]


def number(text):
    """A cell of a table: a number, text, or none where it is empty."""
    try:
        return float(text)
    except ValueError:
        return text or None


def setting_of(row):
    return Setting(
        row["grid"], row["rate"], row["rtt_ms"], int(row["queue"]), row["cc"], row["loss"], row["seconds"],
        int(row["bytes"]), row.get("rmem") or RMEM, row.get("extra_ms") or 0.0,
    )  # fmt: skip


def measured(paths):
    """Settings with their runs: a list of rows per run, one row a flow or a transfer."""
    found = {}
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                row = {key: number(value) for key, value in row.items()}
                if row["share"] is None and row["completion_s"] is None:
                    continue  # a transfer that the run cut
                of_setting = found.setdefault(setting_of(row), {})
                of_setting.setdefault((row["seed"], row["conn"]), []).append(row)
    return {setting: list(runs.values()) for setting, runs in sorted(found.items())}


def share(metrics, setting):
    """Packets in order, as a share of what the link carries in the run."""
    return metrics["packets_delivered"] * PACKET_B * 8 / setting.seconds / setting.rate_bps


def student(freedom):
    """The 97.5 % point of Student's t: a table, then the expansion in 1/freedom (off by less than 1e-3)."""
    table = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571}
    z = statistics.NormalDist().inv_cdf(0.975)
    expansion = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return table.get(freedom, expansion)


def interval(values):
    """Mean and half-width of the 95 % interval; no half-width of one value."""
    if len(values) < 2:
        return values[0], None
    return statistics.fmean(values), student(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


def quantile(values, part):
    """A quantile, linear between the values."""
    values = sorted(values)
    at = part * (len(values) - 1)
    low = int(at)
    return values[low] + (at - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def archive(path):
    """The files of an archive by the last two parts of their names, as text."""
    with tarfile.open(path) as files:
        members = [member for member in files if member.isfile()]
        return {"/".join(pathlib.PurePath(m.name).parts[-2:]): files.extractfile(m).read().decode() for m in members}


def rows_of(text):
    """The rows of a table in text."""
    return [{key: number(value) for key, value in row.items()} for row in csv.DictReader(io.StringIO(text))]
