#!/usr/bin/env python3
"""A channel that SQL makes, transformed and run without a copy; the results evaluated in SQL."""

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import tmt

# One slot in 200 is erased, and every minute the link is away for half a second, as when the antenna turns.
CHANNEL = """
    SELECT
        slot * 112821 AS tx_time_ns,
        CASE
            WHEN random() < 0.005 OR (slot * 112821) % 60_000_000_000 < 500_000_000 THEN NULL
            ELSE 36_000_000
        END AS decode_delay_ns
    FROM range(1_000_000) AS slots(slot)
"""

database = duckdb.connect()
runs = []
for seed in range(1, 6):
    database.execute(f"SELECT setseed({seed / 10})").fetchall()
    slots = database.sql(CHANNEL)
    # The results name the scheme of the timeline.
    for timeline in tmt.apply(slots, ["arq,in-order", "harq:10/12,in-order"], rtt="500ms", feedback_delay="decode").values():
        run = tmt.tcp(timeline, cc="cubic", rtt="500ms", lldu="33B")
        runs.append(run.append_column("channel", pa.array([seed] * len(run))))
pq.write_table(pa.concat_tables(runs, promote_options="default"), "results.parquet")

STUDENT_T = 2.776  # 97.5 % quantile for 5 - 1 degrees of freedom
database.sql(f"""
    SELECT
        scheme,
        round(avg(goodput_bps) / 1e3, 1) AS goodput_kbps,
        round({STUDENT_T} * stddev_samp(goodput_bps) / sqrt(count(*)) / 1e3, 1) AS ci95_kbps,
        sum(rto_events)::BIGINT AS timeouts
    FROM 'results.parquet'
    WHERE scope = 'total'
    GROUP BY scheme
    ORDER BY scheme
""").show()
