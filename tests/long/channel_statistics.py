#!/usr/bin/env python3
"""Holds the land-mobile channel of `tmt synth` against the textbook: channel_statistics.py [--tmt BIN] [--slots N].

Three comparisons, each with its own tolerance from the spread between independent pieces of time:
- the textbook against the figures that docs/channels.md prints;
- the fade that --fading-out writes against the textbook's: levels, crossings, durations; and, given that fade, each
  slot's erasure against the textbook's probability, which needs no statistics of fading;
- erasures of many slots against the textbook's: rate, bursts by length, pairs by distance.
Fails where a statistic is further off than 4.5 standard errors and the stated allowance for sampling.
"""

import argparse
import math
import subprocess
import sys
import tempfile

import numpy as np
import textbook_channel as textbook

PIECE_S = 500.0
LIMIT = 4.5
CODE = "turbo-264-1/3"
SLOT_S = 264 / 2.63e6
INTERLEAVER_S = 0.036
THRESHOLDS_DB = (0, -3, -5, -10, -15, -20)
BURSTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
LAGS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)

failures = []


def verdict(name, ours, ours_error, theirs, theirs_error, allowance):
    """Prints one line; `allowance` is relative."""
    scale = math.sqrt(ours_error**2 + theirs_error**2) + allowance / LIMIT * abs(theirs) + 1e-12
    z = (ours - theirs) / scale
    ok = abs(z) <= LIMIT
    if not ok:
        failures.append(name)
    print(f"{name:34} {ours:12.5g} ± {ours_error:.2g}  {theirs:12.5g} ± {theirs_error:.2g}  {z:+5.1f}"
          f"{'' if ok else '  OUTSIDE'}", flush=True)  # fmt: skip


def compare(title, ours, theirs, allowance):
    """Two lists of {name: value}, one entry an independent piece of time."""
    print(f"\n== {title}: ours {len(ours)} pieces, textbook {len(theirs)}")
    for name in theirs[0]:
        one, other = (np.array([piece[name] for piece in some]) for some in (ours, theirs))
        errors = [some.std(ddof=1) / math.sqrt(len(some)) for some in (one, other)]
        verdict(name, one.mean(), errors[0], other.mean(), errors[1], allowance(name))


def of_fade(gain, step_s):
    found = {"mean power": gain.mean()}
    for threshold in THRESHOLDS_DB:
        below, count = textbook.crossings(gain, threshold)
        found[f"share below {threshold} dB"] = below
        found[f"crossings/s of {threshold} dB"] = count / (len(gain) * step_s)
    return found


def of_erasures(erased):
    found = {"erasure ratio": erased.mean()}
    lengths = textbook.burst_lengths(erased)
    for length in BURSTS:
        found[f"slots in bursts of {length} or more"] = lengths[lengths >= length].sum() / len(erased)
    for lag in LAGS:
        found[f"both erased, {lag} slots apart"] = np.mean(erased[:-lag] & erased[lag:])
    return found


def textbook_erasures(seed, es_n0_db, interleaver_s):
    fading = textbook.Fading(seed, "suburban", PIECE_S + 0.1)
    starts = np.arange(int(PIECE_S / SLOT_S)) * SLOT_S
    gamma = fading.gain * 10 ** (es_n0_db / 10)
    information = textbook.word_information(gamma, fading.step_s, starts, SLOT_S, interleaver_s)
    rate = textbook.word_error_rate(information, CODE)
    return np.random.default_rng([seed, 1]).random(len(rate)) < rate


def published():
    """The textbook against the printed figures of the suburban set, without cross-fade as there."""
    levels = {1: -17.7, 5: -9.64, 10: -6.69, 50: -1.88, 90: 0.56, 99: 1.99}
    ratios = {(2, 0): 0.292, (5, 0): 0.108, (8, 0): 0.0521, (11, 0): 0.0289, (14, 0): 0.0160,
              (2, 36): 0.241, (5, 36): 0.059, (8, 36): 0.0449, (11, 36): 0.0203, (14, 36): 0.0023}  # fmt: skip
    shares, pieces = (0.5475, 0.3893, 0.0632), []
    for seed in range(16):
        fading = textbook.Fading(seed, "suburban", PIECE_S, cross_fade=False)
        piece = {f"share of state {state + 1}": np.mean(fading.state == state) for state in range(3)}
        for percent, level in levels.items():
            piece[f"{percent} % level"] = np.mean(fading.gain < 10 ** (level / 10))
        starts = np.arange(0, PIECE_S - 0.1, 10 * SLOT_S)
        for es_n0_db, depth_ms in ratios:
            gamma = fading.gain * 10 ** (es_n0_db / 10)
            information = textbook.word_information(gamma, fading.step_s, starts, SLOT_S, depth_ms / 1e3)
            piece[f"PER at {es_n0_db} dB, {depth_ms} ms"] = textbook.word_error_rate(information, CODE).mean()
        pieces.append(piece)
    print("== the textbook against the printed figures")
    printed = {**{f"share of state {state + 1}": share for state, share in enumerate(shares)},
               **{f"{percent} % level": percent / 100 for percent in levels},
               **{f"PER at {e} dB, {d} ms": ratio for (e, d), ratio in ratios.items()}}  # fmt: skip
    for name, figure in printed.items():
        some = np.array([piece[name] for piece in pieces])
        # The figures come from single runs of 8000 to 20 000 s, which spread like ours.
        error = some.std(ddof=1) / math.sqrt(len(some))
        verdict(name, some.mean(), error, figure, error, 0.01)


def fade(tmt, environment, seconds):
    """Our fade against the textbook's, and our erasures given our fade."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [tmt, "synth", "--scenario", "internet-interleaved", "--set", f"environment={environment}", "--es-n0", "5dB",
             "--set", "word-variation=0dB", "--duration", f"{seconds}s", "--seed", "7", "-o", f"{folder}/trace.csv",
             "--fading-out", f"{folder}/fade.csv"],
            check=True,
        )  # fmt: skip
        time, es_n0_db = numbers(f"{folder}/fade.csv")
        with open(f"{folder}/trace.csv", "rb") as trace:
            erased, starts = np.concatenate(list(erasures(trace))), numbers(f"{folder}/trace.csv")[0]
    step_s = float(np.median(np.diff(time)))
    gain = 10 ** ((es_n0_db - 5) / 10)
    each = int(PIECE_S / step_s)
    ours = [of_fade(gain[first : first + each], step_s) for first in range(0, len(gain) - each + 1, each)]
    theirs = [of_fade(f.gain, f.step_s) for f in (textbook.Fading(seed, environment, PIECE_S) for seed in range(100, 124))]
    # Crossings of deep levels depend on the sampling, which is not the same.
    compare(f"fade, {environment}", ours, theirs, lambda name: 0.05 if "-15" in name or "-20" in name else 0.01)

    rate = textbook.word_error_rate(
        textbook.word_information(gain * 10**0.5, step_s, starts - time[0], SLOT_S, INTERLEAVER_S), CODE
    )
    inside = starts + INTERLEAVER_S < time[-1]
    rate, erased = rate[inside], erased[inside]
    print(f"\n== erasures given the fade, {environment}: {len(rate)} slots")
    edges = [0, 1e-4, 1e-3, 1e-2, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 1.01]
    for low, high in zip(edges, edges[1:]):
        chosen = (rate >= low) & (rate < high)
        expected = rate[chosen].sum()
        spread = math.sqrt((rate[chosen] * (1 - rate[chosen])).sum())
        # The curve's tail below 1e-3 is tabulated in one and fitted in the other.
        verdict(f"erased at rates from {low:g}", erased[chosen].sum(), 0.0, expected, max(spread, 1), 0.3 if high < 1e-2 else 0.01)


def numbers(path):
    """Columns of a table of numbers with a header and comments."""
    with open(path, encoding="utf-8") as table:
        lines = (line for line in table if not line.startswith("#"))
        next(lines)
        return np.loadtxt(lines, delimiter=",", ndmin=2).T


def erasures(trace):
    """Whether each row of a canonical trace is erased, in chunks: its delay is the single character 0."""
    rest = b""
    while chunk := trace.read(1 << 24):
        cut = chunk.rfind(b"\n") + 1
        text, rest = rest + chunk[:cut], chunk[cut:]
        if b"#" in text or b"t" in text:
            text = b"".join(line for line in text.splitlines(keepends=True) if line[:1].isdigit())
        letters = np.frombuffer(text, dtype=np.uint8)
        ends = np.flatnonzero(letters == ord("\n"))
        yield (letters[ends - 1] == ord("0")) & (letters[ends - 2] == ord(","))


def many(tmt, scenario, es_n0_db, interleaver_s, slots):
    """Erasures of `slots` slots of all users."""
    command = [tmt, "synth", "--scenario", scenario, "--all-users", "--es-n0", f"{es_n0_db}dB", "--no-head",
               "--duration", f"{math.ceil(slots * SLOT_S)}s", "--seed", "11"]  # fmt: skip
    each, rest, ours = int(PIECE_S / SLOT_S), np.zeros(0, bool), []
    with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
        for some in erasures(running.stdout):
            rest = np.concatenate([rest, some])
            while len(rest) >= each:
                ours.append(of_erasures(rest[:each]))
                rest = rest[each:]
        if running.wait():
            raise SystemExit(f"{' '.join(command)} failed")
    theirs = [of_erasures(textbook_erasures(seed, es_n0_db, interleaver_s)) for seed in range(200, 224)]
    compare(f"{scenario} at {es_n0_db} dB, {slots:g} slots", ours, theirs, lambda _: 0.02)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tmt", default="tmt")
    parser.add_argument("--slots", type=float, default=1e8)
    given = parser.parse_args()
    published()
    fade(given.tmt, "suburban", 6000)
    many(given.tmt, "internet-interleaved", 5, INTERLEAVER_S, given.slots)
    many(given.tmt, "internet-interleaved", 8, INTERLEAVER_S, given.slots / 5)
    many(given.tmt, "internet", 8, 0.0, given.slots / 5)
    if failures:
        print(f"\n{len(failures)} outside: {', '.join(failures)}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
