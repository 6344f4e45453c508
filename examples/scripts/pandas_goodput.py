#!/usr/bin/env python3
"""Goodput by scheme and congestion control over ten independent traces, with 95 % intervals; in pandas.

Writes goodput.parquet, which goodput.R reads.
"""

import subprocess
import sys

import pandas as pd

import tmt

SCHEMES = ["none", "arq,in-order", "harq:10/12,in-order", "fec:10/12"]
CONTROLS = ["cubic", "bbr"]
SEEDS = range(1, 11)
STUDENT_T = 2.262  # 97.5 % quantile for 10 - 1 degrees of freedom

runs = []
for seed in SEEDS:
    # A car in a suburb, one of ten users of a geostationary satellite.
    scenario = ["--scenario", "internet-interleaved", "--es-n0", "8dB", "--duration", "60s", "--seed", str(seed)]
    subprocess.run([sys.executable, "-m", "tmt", "-q", "synth", *scenario, "-o", "phy.arrow"], check=True)
    for scheme, timeline in tmt.apply("phy.arrow", SCHEMES, feedback_delay="decode").items():
        for cc in CONTROLS:
            run = tmt.tcp(timeline, cc=cc).to_pandas()
            runs.append(run.assign(trace_seed=seed, scheme=scheme, cc=cc))

results = pd.concat(runs, ignore_index=True)
results.to_parquet("goodput.parquet")

totals = results[results["scope"] == "total"]
kbps = totals.assign(goodput_kbps=totals["goodput_bps"] / 1e3).groupby(["scheme", "cc"])["goodput_kbps"]
table = pd.DataFrame({"mean": kbps.mean(), "± 95 %": STUDENT_T * kbps.sem(), "traces": kbps.size()})
print(table.loc[SCHEMES].round(1).to_string())
