"""`tmt.tcp` gives the rows of `tmt tcp --results`."""

import datetime
import json
import logging

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tmt
from tmt import _help


@pytest.fixture(scope="module")
def timeline(phy, program, tmp_path_factory):
    """A file of a timeline."""
    path = tmp_path_factory.mktemp("timeline") / "timeline.arrow"
    program("-q", "apply", "--scheme", "arq,in-order", "--feedback-delay", "decode", "-o", path, phy)
    return path


def flags(parameters):
    """Parameters as flags."""
    for key, value in parameters.items():
        flag = "--" + key.replace("_", "-")
        if value is True and _help.PARAMETERS[key]["kind"] == "flag":
            yield flag
        else:
            values = value if isinstance(value, list) else [value]
            yield from (part for each in values for part in (flag, {True: "on", False: "off"}.get(each, each)))


RUNS = {
    "timeline": {"cc": "cubic", "seeds": 2, "start": "0s..2s", "flows": 3},
    "every kind of value": {"bytes": "100kB", "offsets": 20, "sack": False, "profile": "rfc", "iw": 4},
    "flows of their own": {"flow": ["cc=reno", "cc=bbr,start=1s"], "rtt": "400ms", "replace_head": True},
    "both links": {"compare_links": True, "scheme": "harq:10/12", "feedback_delay": "decode", "in_order": "link"},
    "coupled": {"link": "coupled", "scheme": "harq:10/12,rounds=3", "in_order": "flow", "feedback_delay": "decode"},
    "without a trace": {
        "link": "coupled",
        "scheme": "arq",
        "channel": "fading:m=50ms,X=0.1",
        "rate": "2Mbps",
        "duration": "20s",
        "rtt": "400ms",
        "feedback_delay": "decode",
        "feedback_loss": 0.01,
        "seeds": 2,
    },
    "synthetic": {"link": "synthetic", "rate": "2.34Mbps", "rtt": "500ms", "duration": "30s", "loss": "bernoulli:1e-3"},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RUNS)
def test_the_rows_are_those_of_the_program(name, phy, timeline, program, tmp_path):
    parameters = RUNS[name]
    is_generated = {"rate", "channel"} & set(parameters)
    path = phy if "scheme" in parameters else timeline
    traces = [] if is_generated else [path]
    program("-q", "tcp", *flags(parameters), "--results", tmp_path / "r.parquet", *traces)
    wanted = pq.read_table(tmp_path / "r.parquet")
    held = [tmt.read(each) for each in traces]
    table = tmt.tcp(*held, **parameters)
    assert table.drop_columns(["run"]).equals(wanted)
    assert table.schema.metadata == {b"tool": f"tmt {tmt.__version__}".encode(), b"schema": b"tmt.tcp/1"}
    assert set(table["scope"].to_pylist()) == {"total", "flow"}
    # The name of a file is a trace, too, in both places.
    if traces:
        assert tmt.tcp(path, **parameters).equals(table)
        assert tmt.tcp(trace=str(path), **parameters).equals(table)
        assert tmt.tcp(pl.from_arrow(held[0]).to_arrow().cast(held[0].schema), **parameters).equals(table)


@pytest.mark.filterwarnings("ignore:.*were spurious")
def test_pandas_and_polars_take_the_rows(timeline):
    table = tmt.tcp(tmt.read(timeline), cc="newreno", seeds=np.int64(1))
    assert table.to_pandas()["goodput_bps"][0] == pl.from_arrow(table)["goodput_bps"][0] > 1e5
    assert pd.DataFrame(json.loads(table["link_attempts"][0].as_py())).shape[1] == 2


@pytest.mark.filterwarnings("ignore")
def test_values_may_have_the_types_of_python(timeline):
    base = tmt.tcp(timeline, rtt="400ms", replace_head=True, sack=True, iw=10, loop=True, duration="25s")
    alike = tmt.tcp(
        timeline,
        rtt=datetime.timedelta(milliseconds=400),
        replace_head=True,
        sack=np.True_,
        iw="10",
        loop=True,
        duration=pd.Timedelta(25, "s"),
        bytes=None,
    )
    assert alike.equals(base)


@pytest.mark.filterwarnings("ignore")
def test_the_return_trace_may_be_a_table(phy, timeline):
    of_files = tmt.tcp(timeline, return_trace=phy, duration="10s")
    assert tmt.tcp(tmt.read(timeline), return_trace=tmt.read(phy), duration="10s").equals(of_files)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rtt": 500}, "`rtt`: found '500', expected a duration"),
        ({"rtt": True}, "`rtt`: found 'on'"),
        ({"cc": "tahoe"}, "`cc`: .*cubic"),
        ({"iw": 0}, "`iw`: .*from 1"),
        ({"iw": 2.5}, "`iw`: "),
        ({"flow": ["cc=tahoe"]}, "`flow`: .*cubic"),
        ({"link": "wifi"}, "`link`: .*timeline"),
        ({"link": "synthetic"}, "`rate`"),
        ({"link": "coupled"}, "`scheme`"),
        ({"tail": "pad"}, "`tail`.*`link` coupled"),
        ({}, "`trace`: found none, expected a table"),
        ({"seed": "x"}, "`seed`: "),
    ],
)
def test_arguments_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message) as refused:
        tmt.tcp(**parameters)
    assert isinstance(refused.value, tmt.UsageError)
    assert "--" not in str(refused.value)


def test_unknown_parameters_are_refused_with_the_nearest(timeline):
    with pytest.raises(TypeError, match="fedback_delay.*did you mean feedback_delay") as refused:
        tmt.tcp(timeline, fedback_delay="decode")
    assert isinstance(refused.value, ValueError)
    with pytest.raises(ValueError, match="two traces"):
        tmt.tcp(timeline, trace=timeline)


def test_data_is_refused(trace, timeline, tmp_path):
    with pytest.raises(FileNotFoundError, match="gone.csv"):
        tmt.tcp("gone.csv")
    with pytest.raises(tmt.Error, match=r"the table of `trace`: row 2: tx_time"):
        tmt.tcp(pa.table({"tx_time_ns": [1, 0], "decode_delay_ns": [1, 1]}))
    with pytest.raises(tmt.Error, match="gone.txt"):
        tmt.tcp(link="synthetic", rate="1Mbps", duration="1s", loss="list:gone.txt")
    with pytest.raises(tmt.Error, match="allow_cut=True"):
        tmt.tcp(tmt.read(timeline).slice(0, 1000))
    (tmp_path / "lost.txt").write_text("3\n5\n")
    with pytest.warns(tmt.TmtWarning):
        table = tmt.tcp(link="synthetic", rate="1Mbps", duration="1s", loss=f"list:{tmp_path}/lost.txt")
    assert table["packets_lost"][0].as_py() == 2


@pytest.mark.filterwarnings("ignore:.*were spurious")
def test_a_timeline_without_its_end_line_warns(timeline):
    table = tmt.read(timeline)
    pairs = {key: value for key, value in table.schema.metadata.items() if key != b"end"}
    with pytest.warns(tmt.TmtWarning, match="without its end line.*tmt.read"):
        tmt.tcp(table.replace_schema_metadata(pairs))


@pytest.mark.filterwarnings("ignore:.*were spurious")
def test_notes_are_logged_and_warnings_warn(timeline, caplog):
    with caplog.at_level(logging.INFO, "tmt"):
        tmt.tcp(timeline)
    assert any("RTT 500ms" in record.message for record in caplog.records)
    assert not any("--" in record.message for record in caplog.records)
    with pytest.warns(tmt.TmtWarning, match="`seed`|every seed gives the same") as told:
        tmt.tcp(timeline, seeds=2)
    assert told[0].filename == __file__
