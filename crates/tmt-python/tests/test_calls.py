"""Behaviour that all functions share: Ctrl-C, progress, errors, and output in a notebook."""

import os
import re
import signal
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tmt
from tmt import _help, _results, _watch

SYNTHETIC = {"link": "synthetic", "rate": "2Mbps", "rtt": "100ms", "duration": "5s"}


def interrupted(call, after_s=1.0):
    """Runs a call that takes long in a process of its own, presses Ctrl-C, and returns until its end the time of the processor and the
    time that passes, s, and what it raised."""
    # From a thread, so that the time of the signal is known.
    script = f"""
import os, signal, sys, threading, time
import tmt
pressed = []
def press():
    time.sleep({after_s})
    pressed.extend([time.process_time(), time.monotonic()])
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
try:
    {call}
    print("ended")
except KeyboardInterrupt as stop:
    print(time.process_time() - pressed[0], time.monotonic() - pressed[1])
    print(type(stop).__name__)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.count("\n") == 2, done.stdout + done.stderr
    times, rest = done.stdout.splitlines()
    worked, passed = map(float, times.split())
    return worked, passed, rest


LONG = '"60000s", link="synthetic", rate="100Mbps", rtt="100ms"'

CALLS = {
    "one run": f"tmt.tcp(duration={LONG})",
    "both links": 'tmt.tcp(compare_links=True, scheme="arq", channel="bernoulli:0.01", rate="2Mbps", lldu="100B", rtt="100ms", '
    'duration="300s", seeds=40, feedback_delay="10ms")',
    "a sweep": f"tmt.sweep(duration={LONG}, cc=['cubic', 'reno'])",
    "advice": 'tmt.advise(channel="bernoulli:0.01", rate="2Mbps", lldu="100B", rtt="100ms", duration="100s", seeds=8)',
    "a trace": 'tmt.synth(rate="1Gbps", lldu="33B", duration="1000s", decode_delay="36ms")',
    "points": 'tmt.model("ser-measured", scheme="uncoded", ecn0_db="5..9:100000", most_bits=1000000)',
    "a figure": 'tmt.reproduce("kuhn-table3")',
    "a figure of schemes": 'tmt.reproduce("kuhn-fig5", duration="20000s")',
    "a figure of codes": 'tmt.reproduce("celandroni-decoded")',
    "a sweep of codes": 'tmt.sweep(model="ser-measured", scheme="rsconv", ecn0_db=[5, 6], most_bits=10**12)',
    "a figure of overflows": 'tmt.reproduce("zhu-fig17", seeds=5000)',
}

# Time of the processor that a call may take after Ctrl-C, on all cores, s: unlike the time that passes, the same on a busy machine.
SOON_S = 0.2 * (os.cpu_count() or 1)

# Time that may pass where others have the cores, s: less than a call that waits for its end.
LATE_S = 10.0


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_ends_a_call_soon(name):
    worked, passed, rest = interrupted(CALLS[name])
    assert worked < SOON_S and passed < LATE_S
    assert rest.startswith("Interrupted" if name.startswith("a sweep") else "KeyboardInterrupt")


@pytest.mark.filterwarnings("ignore")
def test_a_sweep_keeps_what_is_finished_and_goes_on(monkeypatch):
    plan = {**SYNTHETIC, "duration": "20s", "iw": list(range(1, 41)), "loss": "bernoulli:0.001", "seeds": 2}
    whole = tmt.sweep(plan)
    seen = []

    def press(_watcher, done, total, unit):
        seen.append((total, unit))
        if 0 < done < total:
            raise KeyboardInterrupt

    monkeypatch.setattr(_watch.Watcher, "progress", press)
    with pytest.raises(tmt.Interrupted, match="rows are in `results`") as stop:
        for _ in range(20):
            plan["duration"] = f"{int(plan['duration'][:-1]) * 2}s"
            tmt.sweep(plan, jobs=1)
    monkeypatch.undo()
    assert set(seen) == {(80, "runs")}
    whole = tmt.sweep(plan)
    finished = stop.value.results
    assert 0 < len(finished) < len(whole)
    part = whole.filter(pa.compute.is_in(whole["cell"], finished["cell"].unique()))
    assert len(part) >= len(finished)
    resumed = stop.value.resume()
    assert resumed.equals(whole)


@pytest.mark.filterwarnings("ignore")
def test_rows_of_tcp_and_sweep_are_alike():
    run = tmt.tcp(**SYNTHETIC, seeds=2, flows=2)
    cell = tmt.sweep({**SYNTHETIC, "flows": 2, "cc": "cubic", "seeds": 2})
    assert run["scope"].to_pylist() == cell["scope"].to_pylist() == ["total", "flow", "flow"] * 2
    assert run["run"].to_pylist() == cell["run"].to_pylist() == [0, 0, 0, 1, 1, 1]
    assert run["goodput_bps"].equals(cell["goodput_bps"])
    for name in ("flow", "seed", "cc", "duration_s"):
        assert run[name].to_pylist() == cell[name].to_pylist(), name
    assert run.schema.field("run").type == cell.schema.field("run").type
    closed = tmt.sweep(model="fec", nd=10, nr=[0, 1])
    assert closed["scope"].to_pylist() == ["total", "total"]
    # Means of pictures and pages have every run once.
    assert tmt.plot(cell, x="run", y="total_goodput_bps").svg == tmt.plot(run, x="run", y="total_goodput_bps").svg


def test_an_exception_of_a_generator_is_the_cause(trace):
    class Broken(Exception):
        pass

    def batches():
        yield from trace.to_batches()[:1]
        raise Broken("the disk is on fire")

    for call in (
        lambda reader: tmt.stats(reader),
        lambda reader: tmt.apply(reader, "arq"),
        lambda reader: tmt.read(reader),
        lambda reader: tmt.inject(reader, bernoulli=0.1),
        lambda reader: tmt.lint(reader),
    ):
        with pytest.raises(tmt.Error, match="^the table.*: Broken: the disk is on fire$") as error:
            call(pa.RecordBatchReader.from_batches(trace.schema, batches()))
        assert isinstance(error.value.__cause__, Broken)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tmt.tcp(**SYNTHETIC, seeds=np.array([1, 2, 3])), "`seeds`.*3"),
        (lambda: tmt.tcp(**SYNTHETIC, jobs=-1), "`jobs`: found -1, expected a whole number from 1"),
        (lambda: tmt.tcp(**SYNTHETIC, jobs=0), "`jobs`: found 0"),
        (lambda: tmt.tcp(**SYNTHETIC, jobs=True), "`jobs`: found True"),
        (lambda: tmt.sweep(SYNTHETIC, cc=["reno", "cubic"], jobs=2.5), "`jobs`: found 2.5"),
        (lambda: tmt.tcp(**SYNTHETIC, loss=0.01), '`loss`: found the number 0.01, expected .* "bernoulli:0.01"'),
        (lambda: tmt.apply("t.csv", "arq", rt="1s"), r"`rt`: found no such parameter \(did you mean rtt\?\)"),
        (lambda: tmt.read("t.csv", colums="tx=a"), r"did you mean columns\?"),
        (lambda: tmt.plot("t.csv", tittle="a"), r"did you mean title\?"),
    ],
)
def test_arguments_are_refused_with_their_names(call, message):
    with pytest.raises(tmt.UsageError, match=message):
        call()


@pytest.mark.filterwarnings("ignore")
def test_numbers_of_numpy_are_numbers():
    base = tmt.tcp(**SYNTHETIC, seeds=2, jobs=1)
    given = {**SYNTHETIC, "rtt": np.timedelta64(100, "ms")}
    assert tmt.tcp(**given, seeds=np.int64(2), jobs=np.int32(1)).equals(base)
    assert tmt.tcp(**{**SYNTHETIC, "rtt": pd.Timedelta(100, "ms")}, seeds=np.uint8(2)).equals(base)


@pytest.mark.filterwarnings("ignore:.*without a delay")
def test_columns_may_have_commas(trace):
    names = ["time, ns", 'delay "ns"']
    renamed = trace.rename_columns(names)
    columns = dict(zip(("tx", "delay"), names, strict=True))
    wanted = tmt.read(trace)
    assert tmt.read(renamed, columns=columns, unit="ns").equals(wanted)
    assert tmt.stats(renamed, columns=columns, unit="ns", rtt="500ms").results["slots_erased"] == tmt.stats(trace).results["slots_erased"]
    ours = tmt.apply(renamed, "arq", columns=columns, unit="ns", rtt="500ms")
    assert ours.equals(tmt.apply(trace, "arq", rtt="500ms"))


def test_warnings_are_at_the_line_of_the_call():
    with pytest.warns(tmt.TmtWarning) as caught:
        tmt.tcp(link="synthetic", rate="1Mbps", duration="2s")
    assert {warning.filename for warning in caught} == {__file__}


def test_nothing_leaks():
    assert sorted(dir(tmt)) == sorted(tmt.__all__)
    for name in tmt.__all__:
        each = getattr(tmt, name)
        assert getattr(each, "__module__", "tmt") == "tmt", name


def test_help_has_no_broken_backticks():
    for name in tmt.__all__:
        text = getattr(tmt, name).__doc__ or ""
        assert "``" not in text and text.count("`") % 2 == 0, name
    assert _help.in_python("`--cc cubic:hystart=off` and --iw, `tmt tcp --iw 3`, `--no-such`") == (
        '`cc="cubic:hystart=off"` and `iw`, `tmt tcp --iw 3`, `--no-such`'
    )


@pytest.mark.filterwarnings("ignore")
def test_a_notebook_shows_results(trace):
    table = tmt.sweep({**SYNTHETIC, "cc": ["reno", "cubic"], "seeds": 40})
    shown = _results.table_html(table)
    assert "<b>tmt.sweep/1</b>, 160 rows" in shown and "30 of 160 rows" in shown
    assert '<th scope="col">cc</th>' in shown and "further columns" in shown
    # A table of others is not ours to show.
    assert _results.table_html(pa.table({"a": [1]})) is None
    hostile = tmt.Document(tool="tmt", schema="tmt.x/1", params={}, results=[{"a": "</script><b>&", "b": {"c": None}, "d": [1.5, True]}])
    shown = hostile._repr_html_()
    assert "<b>&" not in shown and "&lt;/script&gt;&lt;b&gt;&amp;" in shown
    assert "<table>" in tmt.stats(trace)._repr_html_()


class Terminal:
    """A terminal of tests."""

    def __init__(self):
        self.lines, self.cleared = [], 0

    def show(self, text, share):
        self.lines.append((text, share))

    def clear(self):
        self.cleared += 1


WORK = {
    "simulated seconds": lambda: tmt.tcp(**{**SYNTHETIC, "rate": "100Mbps", "duration": "500000s"}),
    "runs": lambda: tmt.sweep({**SYNTHETIC, "duration": "60s", "cc": ["reno", "cubic"], "seeds": 10_000, "loss": "bernoulli:0.01"}),
    "runs at most": lambda: tmt.advise(
        channel="bernoulli:0.01", rate="2Mbps", lldu="100B", rtt="100ms", duration="20s", seeds=1000, candidates="arq,harq:10/12,fec:10/12"
    ),
}


@pytest.mark.parametrize("unit", WORK)
@pytest.mark.filterwarnings("ignore")
def test_progress_is_shown_and_goes(monkeypatch, unit):
    """Work of minutes, which the terminal ends once it has seen three steps."""

    class Impatient(Terminal):
        def show(self, text, share):
            super().show(text, share)
            if len({share for _, share in self.lines}) == 3:
                raise KeyboardInterrupt

    terminal = Impatient()
    monkeypatch.setattr(_watch, "PATIENCE_S", 0.0)
    monkeypatch.setattr(_watch, "_shown", lambda: terminal)
    with pytest.raises(KeyboardInterrupt):
        WORK[unit]()
    shares = [share for _, share in terminal.lines]
    assert shares == sorted(shares) and 0 <= shares[0] and shares[-1] < 1
    for text, share in terminal.lines:
        done, total = re.fullmatch(rf"(\d+) of (\d+) {unit}(?:, .* left)?", text).groups()
        assert int(done) / int(total) == share
        assert text.endswith(" left") == (share > 0)
    assert terminal.cleared == 1


@pytest.mark.filterwarnings("ignore")
def test_nobody_is_shown_progress_who_does_not_wait_for_it(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(_watch, "_place", lambda: terminal)
    tmt.show_progress()
    monkeypatch.setattr(_watch, "PATIENCE_S", 3600.0)
    tmt.tcp(**{**SYNTHETIC, "rate": "20Mbps", "duration": "500s"})
    monkeypatch.setattr(_watch, "PATIENCE_S", 0.0)
    tmt.show_progress(False)
    tmt.tcp(**{**SYNTHETIC, "rate": "20Mbps", "duration": "500s"})
    tmt.show_progress()
    assert terminal.lines == [] and terminal.cleared == 0


def test_progress_on_a_terminal_is_one_line(tmp_path):
    pty = pytest.importorskip("pty")
    script = f"import tmt\ntmt.tcp(duration={LONG})"
    end, other = pty.openpty()
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", script], stderr=other, stdout=subprocess.PIPE)
    os.close(other)
    # Without progress the test would wait for the end of the run.
    deadline = threading.Timer(60, process.kill)
    deadline.start()
    seen, is_pressed = b"", False
    try:
        while part := os.read(end, 4096):
            seen += part
            if not is_pressed and seen.count(b"simulated seconds") > 2:
                process.send_signal(signal.SIGINT)
                is_pressed = True
    except OSError:
        pass  # Linux reports the end of the other side as an error.
    process.communicate(timeout=60)
    deadline.cancel()
    line, traceback, _ = seen.partition(b"Traceback")
    assert traceback and b"\n" not in line
    first, *shown, last = line.split(b"\r\x1b[K")
    assert first == last == b"", "the line is not removed"
    done = [int(re.fullmatch(rb"(\d+) of 60000 simulated seconds.*", text)[1]) for text in shown]
    assert len(done) > 2 and done == sorted(done) and done[0] < done[-1] < 60000

