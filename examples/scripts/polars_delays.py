#!/usr/bin/env python3
"""Delays of LLDUs by scheme, and what TCP makes of them, paired trace by trace; in Polars."""

import subprocess
import sys

import polars as pl

import tmt

SCHEMES = ["arq", "arq,in-order", "harq:10/12", "harq:10/12,in-order"]
SEEDS = range(1, 6)
STUDENT_T = 2.776  # 97.5 % quantile for 5 - 1 degrees of freedom

delays, goodputs = [], []
for seed in SEEDS:
    link = ["--rate", "2.34Mbps", "--lldu", "33B", "--duration", "60s", "--decode-delay", "36ms", "--rtt", "500ms"]
    channel = ["--channel", "gilbert-elliott:alpha=0.999,beta=0.9", "--seed", str(seed)]
    subprocess.run([sys.executable, "-m", "tmt", "-q", "synth", *link, *channel, "-o", "phy.parquet"], check=True)
    # The metadata of a table are the head of the trace; Polars does not keep them, so the RTT is given.
    trace = pl.read_parquet("phy.parquet")
    for scheme, timeline in tmt.apply(trace, SCHEMES, rtt="500ms", feedback_delay="decode").items():
        ms = pl.from_arrow(timeline).select((pl.col("decode_delay_ns") / 1e6 + 250).alias("delay_ms"))
        delays.append(ms.with_columns(scheme=pl.lit(scheme)))
        run = pl.from_arrow(tmt.tcp(timeline, cc="cubic", rtt="500ms", lldu="33B"))
        run = run.filter(pl.col("scope") == "total").select(kbps=pl.col("goodput_bps") / 1e3)
        goodputs.append(run.with_columns(scheme=pl.lit(scheme), seed=seed))

by_scheme = (
    pl.concat(delays)
    .group_by("scheme", maintain_order=True)
    .agg(
        pl.col("delay_ms").median().alias("p50 ms"),
        pl.col("delay_ms").quantile(0.99).alias("p99 ms"),
        (pl.col("delay_ms").null_count() / pl.len()).alias("not delivered"),
    )
)

# All schemes ran over the same traces, so that their differences vary less than they do.
goodput = pl.concat(goodputs)
base = goodput.filter(pl.col("scheme") == SCHEMES[0]).select("seed", base="kbps")
gain = pl.col("kbps") - pl.col("base")
gains = (
    goodput.join(base, on="seed")
    .group_by("scheme", maintain_order=True)
    .agg(
        pl.col("kbps").mean().alias("goodput kbps"),
        gain.mean().alias(f"above {SCHEMES[0]}"),
        (STUDENT_T * gain.std() / gain.len().sqrt()).alias("± 95 %"),
    )
)
with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=3):
    print(by_scheme.join(gains, on="scheme"))
