"""The kernel's runs repeated with the packets that the emulator lost.

The emulator's log numbers all packets that the sender's host offered: 0 is the SYN, 1 the ACK that ends the handshake, k + 2
the k-th transmission of data, more where SYNs were lost. A loss on the link (`L`) is drawn for each packet that is served,
so its position is its number less the queue drops (`Q`) before it. Queue drops are the simulator's own.
"""

import bisect
import csv
import io
import pathlib
import statistics
import subprocess
import sys
import tempfile

import kernel
import unpaired

# A run sends no more packets of this size in its time: all but those of the handshake have 1500 B.
PACKET_LEAST_B = 1400
# Packets of the handshake that the emulator counts, and that the simulator does not send.
HANDSHAKE = 2
# Times of the comparison, s, and how far the packets delivered may be.
TIMES_S, DELIVERED = range(10, 61, 10), 0.02


def drawn(seed, loss, count):
    """Numbers of the packets below `count` that the emulator loses, of those that it serves: splitmix64, a draw a packet."""
    mask, state = (1 << 64) - 1, (seed * 0xD1342543DE82EF95 + 1) & ((1 << 64) - 1)
    for number in range(count):
        state = (state + 0x9E3779B97F4A7C15) & mask
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & mask
        if ((mixed ^ (mixed >> 31)) >> 11) * 2.0**-53 < loss:
            yield number


class Losses:
    """Packets that the emulator dropped in a run, and the positions on the link that it lost or would have lost later.

    The simulator may send more than the kernel did, so the log does not suffice: its losses are drawn anew, and must be those
    of the log as far as that goes.
    """

    def __init__(self, name, text, setting, row):
        rows = [line.split(",") for line in text.splitlines()]
        # Our own logs have no times.
        rows = [(kind, int(number), int(time[0]) if time else None) for kind, number, *time in rows]
        dropped = [number for kind, number, _ in rows if kind == "Q"]
        logged = {number - bisect.bisect_left(dropped, number) for kind, number, _ in rows if kind == "L"}
        count = round(setting.rate_bps * (setting.seconds + 10) / 8 / PACKET_LEAST_B)
        lost = list(drawn(round(row["seed"]), setting.loss, count))
        # Some logs lack lines: a full disk tore them.
        is_whole = row.get("queue_drops") in (None, len(dropped))
        if is_whole and not logged <= set(lost):
            sys.exit(f"compare: {name}: found losses in the log that the emulator's generator does not draw")
        # A SYN that is lost is sent again.
        before = HANDSHAKE + next(count for count in range(len(lost) + 1) if count not in logged)
        self.dropped = [(number - before, time) for kind, number, time in rows if kind == "Q"]
        self.positions = [number - before for number in lost if number >= before]

    def process(self, folder):
        """The process of `--loss`; none where nothing is lost."""
        path = pathlib.Path(folder) / "lost.txt"
        path.write_text("position\n" + "".join(f"{position}\n" for position in self.positions), encoding="ascii")
        return f"list:{path}" if self.positions else None


def runs(measured, folder, wanted):
    """Settings, rows and losses of runs of one flow, by name of the run."""
    logs = kernel.archive(folder / "losses.tar.xz")
    logs = {pathlib.PurePath(path).name.removesuffix(".emu.lost"): text for path, text in logs.items()}
    for setting, of_setting in measured.items():
        for row in (run[0] for run in of_setting):
            name = f"{setting.grid}-{setting.cc}-{setting.loss:g}-{row['seed']:g}"
            if name.startswith(wanted) and name in logs and not setting.size:
                yield name, setting, row, Losses(name, logs[name], setting, row)


def samples_of(folder):
    """Samples by ss of some runs, by name of the run."""
    path = folder / "windows.tar.xz"
    found = kernel.archive(path) if path.exists() else {}
    return {pathlib.PurePath(path).stem: kernel.rows_of(text) for path, text in found.items()}


def logged(simulator, setting, losses, flag):
    """A run with the kernel's losses, and the rows of its log of `flag`."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "log.csv"
        (run,) = simulator.runs(setting, losses.process(folder), [flag, str(path)])
        rows = [line for line in path.read_text(encoding="ascii").splitlines() if not line.startswith("#")]
    return run["total"], csv.DictReader(io.StringIO("\n".join(rows)))


def deliveries(simulator, measured, folder, wanted):
    """Runs with the same losses: totals of all, and packets delivered over time where ss sampled them."""
    windows = samples_of(folder)
    verdicts, cells, series = unpaired.Verdicts(), {}, []
    for name, setting, row, losses in runs(measured, folder, wanted):
        if name in windows:
            total, log = logged(simulator, setting, losses, "--packets")
            series.append([name, *compared(name, setting, windows[name], losses, list(log), verdicts)])
        else:
            with tempfile.TemporaryDirectory() as folder:
                (run,) = simulator.runs(setting, losses.process(folder))
            total = run["total"]
        cells.setdefault(setting, []).append((row, total))
    unpaired.head(
        "grid|cc|loss|n|share kernel|tmt|tmt/kernel, mean ± sd of pairs|retr. kernel|tmt|RTOs kernel|tmt|queueing ms kernel"
        "|tmt|queue drops kernel|tmt"
    )
    for setting, pairs in cells.items():
        ratios = [kernel.share(total, setting) / row["share"] for row, total in pairs]
        name = f"{setting.grid} {setting.cc} {setting.loss:g}"
        mean = lambda values: statistics.fmean(values)  # noqa: E731
        spread = statistics.stdev(ratios) if len(ratios) > 1 else 0.0
        of_kernel = lambda key: mean(row[key] for row, _ in pairs)  # noqa: E731
        of_tmt = lambda key: mean(total[key] for _, total in pairs)  # noqa: E731
        unpaired.row([
            setting.grid, setting.cc, f"{setting.loss:g}", len(pairs), f"{of_kernel('share'):.3f}",
            f"{mean(kernel.share(total, setting) for _, total in pairs):.3f}",
            f"{mean(ratios):.3f} ± {spread:.3f}"
            + verdicts.check(f"{name}: goodput", abs(mean(ratios) - 1) <= unpaired.GOODPUT),
            f"{of_kernel('retransmitted'):.0f}",
            f"{of_tmt('packets_retransmitted'):.0f}"
            + verdicts.check(
                f"{name}: retransmissions",
                abs(of_tmt("packets_retransmitted") / of_kernel("retransmitted") - 1) <= unpaired.RETRANSMISSIONS,
            ),
            f"{of_kernel('rto_events'):.2f}",
            f"{of_tmt('rto_events'):.2f}", f"{of_kernel('mean_wait_s') * 1e3:.1f}",
            f"{of_tmt('queueing_delay_mean_s') * 1e3:.1f}", "-" if pairs[0][0].get("queue_drops") is None else f"{of_kernel('queue_drops'):.0f}",
            f"{of_tmt('packets_dropped'):.0f}",
        ])  # fmt: skip
    if series:
        print("\nPackets delivered, the simulator's over the kernel's, until a queue drop differs:")
        unpaired.head("run|first other queue drop, s|" + "|".join(f"{time} s" for time in TIMES_S))
        for line in series:
            unpaired.row(line)
    verdicts.summary()
    return bool(verdicts.failed)


def compared(name, setting, samples, losses, log, verdicts):
    """Time of the first queue drop that differs, and the ratio of the packets delivered at each time."""
    rtt_s = setting.rtt_ms / 1e3
    # The emulator's time begins with the SYN, the others when the sender knows of the connection.
    theirs = [(number, time / 1e9 - rtt_s) for number, time in losses.dropped]
    ours = [(number, float(row["enqueued_s"])) for number, row in enumerate(log) if row["fate"] == "queue"]
    pairs = zip(theirs + [(None, float("inf"))], ours + [(None, float("inf"))])
    first = next((min(one[1], other[1]) for one, other in pairs if one[0] != other[0]), float("inf"))
    # Knowledge of the sender: half an RTT after the first arrival of a packet.
    arrivals = {}
    for row in log:
        if row["delivered_s"]:
            at = float(row["delivered_s"]) + rtt_s / 2
            arrivals[row["packet"]] = min(at, arrivals.get(row["packet"], at))
    arrivals = sorted(arrivals.values())
    ratios = []
    for time in TIMES_S:
        # The kernel counts the SYN.
        kernels = next((row["delivered"] - 1 for row in reversed(samples) if row["t"] <= time), None)
        ratio = bisect.bisect_right(arrivals, time) / kernels
        if time > first:
            ratios.append(f"({ratio:.3f})")
            continue
        holds = abs(ratio - 1) <= DELIVERED
        ratios.append(f"{ratio:.3f}" + verdicts.check(f"{name}: delivered at {time} s", holds))
    return [f"{first:.2f}" if first < 1e9 else "none", *ratios]


def windows(simulator, measured, folder, wanted):
    """Congestion windows at the same times, in packets: kernel / simulator."""
    times = (1, 2, 3, 5, 7, *TIMES_S)
    samples = samples_of(folder)
    unpaired.head("run|" + "|".join(f"{time} s" for time in times))
    for name, setting, _, losses in runs(measured, folder, wanted):
        if name not in samples:
            continue
        short = setting._replace(seconds=max(times) + 1)
        _, log = logged(simulator, short, losses, "--series")
        ours = [(float(row["time_s"]), float(row["cwnd"])) for row in log]
        moments = [time for time, _ in ours]
        cells = []
        for time in times:
            kernels = next(row["cwnd"] for row in reversed(samples[name]) if row["t"] <= time)
            at = bisect.bisect_right(moments, time) - 1
            cells.append(f"{kernels:.0f} / {ours[at][1]:.0f}")
        unpaired.row([name, *cells])
    return False
