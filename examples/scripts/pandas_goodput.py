#!/usr/bin/env python3
"""Goodput by scheme and congestion control over ten independent traces, with 95 % intervals; in pandas.

Writes goodput.parquet, which goodput.R reads.
"""

import tmt

SCHEMES = ["none", "arq,in-order", "harq:10/12,in-order", "fec:10/12"]
SEEDS = 10
STUDENT_T = 2.262  # 97.5 % quantile for 10 - 1 degrees of freedom

results = tmt.sweep(
    # A car in a suburb, one of ten users of a geostationary satellite.
    channel="scenario:internet-interleaved,es-n0=8dB,duration=60s",
    scheme=SCHEMES,
    cc=["cubic", "bbr"],
    feedback_delay="decode",
    # Every seed is another trace, the same for all schemes and controls.
    seeds=SEEDS,
).to_pandas()
# A row per run: those of its flows, which are one here, are left out.
results = results[results["scope"] == "total"]
results.to_parquet("goodput.parquet")

kbps = results.assign(goodput_kbps=results["goodput_bps"] / 1e3).groupby(["scheme", "cc"])["goodput_kbps"]
table = kbps.agg(mean="mean", ci95=lambda runs: STUDENT_T * runs.sem(), traces="size")
print(table.loc[SCHEMES].round(1).to_string())
