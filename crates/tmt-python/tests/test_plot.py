"""tmt.plot against the program, which draws the same."""

import json

import pyarrow as pa
import pytest
from conftest import run_tmt

import tmt

ROWS = {"time_s": [0.0, 1.0, 2.0, 3.0], "cwnd": [1.0, 2.0, None, 4.0], "flow": [0, 0, 0, 0]}


def test_a_table_a_file_and_the_program_give_one_picture(tmp_path):
    file = tmp_path / "series.csv"
    file.write_text("time_s,cwnd,flow\n0,1,0\n1,2,0\n2,,0\n3,4,0\n")
    drawn = tmt.plot(pa.table(ROWS))
    assert drawn.svg.startswith("<svg") and drawn._repr_svg_() == drawn.svg
    assert tmt.plot(file).svg == drawn.svg
    assert run_tmt("plot", str(file)).stdout == drawn.svg


def test_columns_axes_and_sizes_can_be_chosen():
    drawn = tmt.plot(pa.table(ROWS), x="time", y=["cwnd", "flow"], by="flow", log_x=True, title="Here", width="85mm")
    assert 'width="321.26"' in drawn.svg and ">Here<" in drawn.svg
    assert "1 value of zero or less" in drawn.svg


def test_results_of_a_sweep_have_intervals():
    results = tmt.sweep(link="synthetic", rate="4Mbps", rtt=["100ms", "200ms"], duration="2s", loss="bernoulli:p=0.01", seeds=3)
    assert "over 3 runs. Intervals: 95 %" in tmt.plot(results).svg


def test_a_document_is_drawn():
    candidate = {"scheme": "arq", "rank": 1, "efficiency": {"mean": 0.5, "ci95": 0.1, "runs": 4}}
    document = {"tool": "tmt", "schema": "tmt.advise/2", "params": {"objective": "efficiency"}, "results": {"candidates": [candidate]}}
    assert "over 4 runs" in tmt.plot(document).svg
    with pytest.raises(tmt.Error, match="expected a document"):
        tmt.plot(json.loads("{}"))


def test_what_cannot_be_drawn_is_refused():
    table = pa.table({"a": [1]})
    with pytest.raises(tmt.UsageError, match="expected columns as `y`: a"):
        tmt.plot(table)
    with pytest.raises(tmt.UsageError, match="found no column b"):
        tmt.plot(table, y="b")
    with pytest.raises(tmt.UsageError, match="`width`: found '3', expected a length"):
        tmt.plot(table, y="a", width="3")
    with pytest.raises(FileNotFoundError):
        tmt.plot("missing.csv")
