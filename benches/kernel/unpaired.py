"""Tables of the kernel's runs beside the simulator's, each with random losses of its own, and the bars."""

import statistics

import kernel

# Bars: how far the simulator may be from the kernel's mean where it is outside the kernel's own 95 % interval.
GOODPUT, RETRANSMISSIONS, COMPLETION, SHARE = 0.05, 0.15, 0.03, 0.1
# Timeouts a run where the kernel has none.
TIMEOUTS = 0.05


class Verdicts:
    """Which bars hold, by name."""

    def __init__(self):
        self.held, self.failed = [], []

    def check(self, name, holds):
        (self.held if holds else self.failed).append(name)
        return "" if holds else " **✗**"

    def summary(self):
        total = len(self.held) + len(self.failed)
        print(f"\n{len(self.held)} of {total} bars hold.")
        for name in self.failed:
            print(f"- fails: {name}")


def shown(pair, factor=1.0, digits=3):
    mean, half = pair
    text = f"{mean * factor:.{digits}f}"
    return text if half is None else f"{text} ± {half * factor:.{digits}f}"


def deviation(kernel_mean, simulated):
    return f"{100 * (simulated / kernel_mean - 1):+.1f} %" if kernel_mean else "-"


def near(pair, simulated, bound):
    """Whether the simulator's mean is within `bound` of the kernel's, or inside the kernel's interval."""
    mean, half = pair
    return abs(simulated - mean) <= max(bound * mean, half or 0.0)


def bulk(name, setting, runs, simulated, verdicts):
    rows = [run[0] for run in runs]
    totals = [run["total"] for run in simulated]
    share_k = kernel.interval([row["share"] for row in rows])
    share_s = kernel.interval([kernel.share(total, setting) for total in totals])
    again_k = kernel.interval([row["retransmitted"] / row["data_segs_out"] for row in rows])
    again_s = kernel.interval([total["packets_retransmitted"] / total["packets_sent"] for total in totals])
    rto_k = kernel.interval([row["rto_events"] for row in rows])
    rto_s = kernel.interval([total["rto_events"] for total in totals])
    wait_k = kernel.interval([row["mean_wait_s"] for row in rows])
    wait_s = kernel.interval([total["queueing_delay_mean_s"] for total in totals])
    mark = verdicts.check(f"{name}: goodput", near(share_k, share_s[0], GOODPUT))
    mark_again = verdicts.check(f"{name}: retransmissions", near(again_k, again_s[0], RETRANSMISSIONS))
    mark_rto = "" if rto_k[0] else verdicts.check(f"{name}: timeouts", rto_s[0] <= TIMEOUTS)
    return [
        setting.grid, setting.cc, f"{setting.loss:g}", len(rows), shown(share_k), shown(share_s),
        deviation(share_k[0], share_s[0]) + mark, shown(again_k, 100, 2), shown(again_s, 100, 2),
        deviation(again_k[0], again_s[0]) + mark_again, shown(rto_k, 1, 2), shown(rto_s, 1, 2) + mark_rto,
        shown(wait_k, 1000, 1), shown(wait_s, 1000, 1),
    ]  # fmt: skip


def short(name, setting, runs, simulated, verdicts):
    rows = [run[0] for run in runs]
    totals = [run["total"] for run in simulated]
    times_k = [row["completion_s"] for row in rows]
    times_s = [total["completion_time_s"] or setting.seconds for total in totals]
    pair, mean = kernel.interval(times_k), statistics.fmean(times_s)
    inside = pair[1] is not None and abs(mean - pair[0]) <= pair[1]
    holds = inside if setting.loss else abs(mean - pair[0]) <= COMPLETION * pair[0]
    mark = verdicts.check(f"{name}: completion", holds)
    return [
        setting.grid, setting.cc, f"{setting.loss:g}", len(rows), shown(pair), f"{kernel.quantile(times_k, 0.5):.3f}",
        f"{kernel.quantile(times_k, 0.9):.3f}", f"{statistics.fmean(r['rto_events'] for r in rows):.2f}",
        f"{statistics.fmean(r['retransmitted'] for r in rows):.2f}", shown(kernel.interval(times_s)),
        f"{kernel.quantile(times_s, 0.5):.3f}", f"{kernel.quantile(times_s, 0.9):.3f}",
        f"{statistics.fmean(t['rto_events'] for t in totals):.2f}",
        f"{statistics.fmean(t['packets_retransmitted'] for t in totals):.2f}", deviation(pair[0], mean) + mark,
    ]  # fmt: skip


def pair(name, setting, runs, simulated, verdicts):
    """Two flows: the sum of both, and the first flow's part of it."""
    shares_k = [[row["share"] for row in sorted(run, key=lambda row: row["flow"])] for run in runs]
    shares_s = [[kernel.share(flow, setting) for flow in run["flows"]] for run in simulated]
    sums = [kernel.interval([sum(run) for run in shares]) for shares in (shares_k, shares_s)]
    firsts = [kernel.interval([run[0] / sum(run) for run in shares]) for shares in (shares_k, shares_s)]
    again_k = statistics.fmean(sum(r["retransmitted"] for r in run) / sum(r["data_segs_out"] for r in run) for run in runs)
    again_s = statistics.fmean(r["total"]["packets_retransmitted"] / r["total"]["packets_sent"] for r in simulated)
    rto_k = statistics.fmean(sum(row["rto_events"] for row in run) for run in runs)
    rto_s = statistics.fmean(run["total"]["rto_events"] for run in simulated)
    mark = verdicts.check(f"{name}: sum of the goodputs", near((sums[0][0], None), sums[1][0], GOODPUT))
    mark_first = verdicts.check(f"{name}: shares", abs(firsts[1][0] - firsts[0][0]) <= SHARE)
    return [
        setting.grid, setting.cc, f"{setting.extra_ms:g}", f"{setting.loss:g}", len(runs), shown(sums[0]), shown(sums[1]),
        deviation(sums[0][0], sums[1][0]) + mark, shown(firsts[0]), shown(firsts[1]),
        f"{firsts[1][0] - firsts[0][0]:+.3f}" + mark_first, f"{again_k * 100:.2f}", f"{again_s * 100:.2f}", f"{rto_k:.2f}",
        f"{rto_s:.2f}",
    ]  # fmt: skip


BULK = "grid|cc|loss|n|share kernel|share tmt|dev.|retr. % kernel|tmt|dev.|RTOs kernel|tmt|queueing ms kernel|tmt"
SHORT = (
    "grid|cc|loss|n|kernel mean s|median|p90|RTOs/start|retr./start|tmt mean s|median|p90|RTOs/start|retr./start|mean dev."
)
PAIR = (
    "grid|flows|extra RTT ms|loss|n|sum kernel|sum tmt|dev.|part of the first, kernel|tmt|difference|retr. % kernel|tmt"
    "|RTOs kernel|tmt"
)


def row(cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def head(columns):
    print(f"\n| {columns.replace('|', ' | ')} |\n" + "|---" * (columns.count("|") + 1) + "|")


def tables(simulator, measured, wanted):
    """Prints the tables and the verdicts; whether a bar fails."""
    verdicts = Verdicts()
    kinds = [
        (BULK, bulk, lambda setting: not setting.size and "+" not in setting.cc),
        (SHORT, short, lambda setting: setting.size),
        (PAIR, pair, lambda setting: "+" in setting.cc),
    ]
    for columns, cells, belongs in kinds:
        chosen = [s for s in measured if belongs(s) and f"{s.grid}-{s.cc}-{s.loss:g}".startswith(wanted)]
        if chosen:
            head(columns)
        for setting in chosen:
            name = f"{setting.grid} {setting.cc} {setting.loss:g}"
            row(cells(name, setting, measured[setting], simulator.runs(setting), verdicts))
    verdicts.summary()
    return bool(verdicts.failed)
