"""`tmt.sweep` gives the rows of `tmt sweep`."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tmt
from tmt import _arguments

SYNTHETIC = {"link": "synthetic", "rate": "2Mbps", "rtt": "100ms", "duration": "5s"}

PLANS = {
    "synthetic": {**SYNTHETIC, "cc": ["newreno", "cubic:beta=0.8"], "loss": "bernoulli:1e-3..1e-2:log:3", "seeds": 2},
    "chains over channels": {
        "channel": ["bernoulli:0.01", "gilbert-elliott:alpha=0.99,beta=0.5"],
        "scheme": ["arq,in-order", "harq:10/12"],
        "rate": "500kbps",
        "lldu": "33B",
        "rtt": "300ms",
        "duration": "10s",
    },
    "zipped": {**SYNTHETIC, "rate": ["1Mbps", "2Mbps"], "buffer": ["10pkt", "20pkt"], "zip": ["rate", "buffer"]},
    "stopped": {**SYNTHETIC, "loss": "bernoulli:0.01", "seeds": 8, "stop": "goodput_bps:20%,min=3"},
    "variables": {**SYNTHETIC, "p": [0.001, 1e-05], "loss": "bernoulli:{p}", "sack": [True, False]},
    "closed forms": {"model": "fec", "nd": 10, "nr": [0, 1, 2], "beta": "0.5..0.9:3"},
    "a refused cell": {**SYNTHETIC, "cc": ["reno", "bbr"], "sack": False},
}


def toml(value):
    """A value in TOML."""
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PLANS)
def test_the_rows_are_those_of_the_program(name, program, tmp_path):
    plan, path = PLANS[name], tmp_path / "plan.toml"
    path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in plan.items()))
    program("-q", "sweep", path, "-o", tmp_path / "r.parquet")
    wanted = pq.read_table(tmp_path / "r.parquet")
    assert len(wanted) > 1
    table = tmt.sweep(plan)
    # The rows of flows, and those of no flow, are those of the program.
    assert _arguments.written(table).equals(wanted)
    assert table.schema.metadata == {b"tool": f"tmt {tmt.__version__}".encode(), b"schema": b"tmt.sweep/1"}
    assert tmt.sweep(path, jobs=1).equals(table)
    assert tmt.sweep(**plan).equals(table)


@pytest.mark.filterwarnings("ignore")
def test_traces_are_tables_or_files(phy, trace, program, tmp_path):
    axes = {"scheme": ["arq", "harq:10/12"], "cc": ["cubic", "reno"], "offsets": 3, "duration": "5s"}
    flags = ["--trace", phy, "--scheme", "arq,harq:10/12", "--cc", "cubic,reno", "--offsets", 3, "--duration", "5s"]
    program("-q", "sweep", *flags, "-o", tmp_path / "r.parquet")
    wanted = pq.read_table(tmp_path / "r.parquet")
    assert _arguments.written(tmt.sweep(trace=phy, **axes)).equals(wanted)
    held = tmt.sweep(trace={str(phy): tmt.read(phy)}, **axes)
    assert _arguments.written(held).equals(wanted)
    # Several tables, each read by several cells; a stream is read once and held.
    half = trace.slice(0, len(trace) // 2)
    both = tmt.sweep(trace={"whole": trace, "half": half.to_reader()}, **axes)
    assert both["trace"].unique().to_pylist() == ["whole", "half"]
    whole = pl.from_arrow(both).filter(trace="whole", scope="flow")["goodput_bps"]
    assert whole.equals(pl.from_arrow(wanted)["goodput_bps"])
    assert set(tmt.sweep(trace=trace, **axes)["trace"].to_pylist()) == {"table"}


@pytest.mark.filterwarnings("ignore")
def test_values_may_have_the_types_of_python():
    base = tmt.sweep(SYNTHETIC, seeds=2, rtt=["100ms", "200ms"], iw=[4, 10])
    alike = tmt.sweep(
        SYNTHETIC,
        seeds=np.int64(2),
        rtt=[datetime.timedelta(milliseconds=100), pd.Timedelta(200, "ms")],
        iw=pd.Series([4, 10]),
        cc=None,
    )
    assert alike.equals(base)
    for values in (range(4, 6), np.array([4, 5]), pl.Series([4, 5]), pa.array([4, 5]), pa.chunked_array([[4], [5]])):
        assert tmt.sweep(SYNTHETIC, iw=values)["iw"].to_pylist() == [4, 4, 5, 5]


def test_what_is_assumed_and_what_misleads_is_a_warning():
    with pytest.warns(tmt.TmtWarning, match="`rtt`"):
        tmt.sweep(link="synthetic", rate="1Mbps", duration="2s", cc=["reno", "cubic"])


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({}, "found nothing to run"),
        ({"cc": ["cubik"]}, "`cc`: .*did you mean 'cubic'"),
        ({"ccc": ["cubic"]}, "ccc"),
        ({"cc": []}, "`cc`: found no value"),
        ({"zip": ["cc", "rate"], "cc": ["reno", "cubic"], "rate": "1Mbps"}, "equal numbers"),
        ({"cc": object()}, "`cc`: found a value of type object"),
        ({"stop": 3}, "`stop`: expected a string"),
    ],
)
def test_plans_that_cannot_run_are_refused(plan, message):
    with pytest.raises(tmt.UsageError, match=message):
        tmt.sweep(plan)


def test_an_error_in_a_file_has_its_place(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text('rtt = "100ms"\ncc = ["cubik"]\n')
    with pytest.raises(tmt.UsageError, match=r"plan.toml:2:1: `cc`"):
        tmt.sweep(path)
    with pytest.raises(FileNotFoundError):
        tmt.sweep(tmp_path / "nowhere.toml")
    with pytest.raises(tmt.UsageError, match="plan of type int"):
        tmt.sweep(3)


@pytest.mark.filterwarnings("ignore")
def test_a_trace_that_cannot_be_read_ends_the_sweep(trace, tmp_path):
    with pytest.raises(tmt.Error, match="nowhere.csv"):
        tmt.sweep(trace=tmp_path / "nowhere.csv", scheme="arq")
    broken = trace.rename_columns(["when", *trace.column_names[1:]])
    with pytest.raises(tmt.Error, match="when"):
        tmt.sweep(trace=broken, scheme="arq")
    with pytest.raises(tmt.UsageError, match="dictionary that names them"):
        tmt.sweep(trace=[trace, trace], scheme="arq")
