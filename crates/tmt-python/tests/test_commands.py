"""Functions of commands return what the commands print, digit for digit."""

import inspect
import json
import pathlib
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tmt
from tmt import _commands, _tmt

FIXTURES = pathlib.Path(__file__).resolve().parents[3] / "fixtures"

SYNTH = {"rate": "1Mbps", "lldu": "33B", "duration": "5s", "decode_delay": "36ms", "rtt": "500ms"}


def flags(given):
    """Keyword arguments as flags."""
    for key, value in given.items():
        flag = "--" + {"from_": "from"}.get(key, key.replace("_", "-"))
        if isinstance(value, dict):
            value = [f"{name}={each}" for name, each in value.items()]
        for each in value if isinstance(value, list) else [value]:
            yield from [flag] if each is True else [flag, str(each)]


@pytest.fixture(scope="module")
def packets(phy, program, tmp_path_factory):
    """A packet log, a slot log and a series of one run."""
    folder = tmp_path_factory.mktemp("packets")
    names = {name: folder / f"{name}.csv" for name in ("packets", "slots", "series")}
    logs = [part for name, path in names.items() for part in (f"--{name}", path)]
    program("-q", "tcp", "--link", "coupled", "--scheme", "arq", "--feedback-delay", "decode", "--bytes", "200kB", *logs, phy)
    return names


DOCUMENTS = {
    "stats": ("stats", {}),
    "stats with intervals": ("stats", {"resample": 100, "seed": 3, "segments": True, "outage": "200ms"}),
    "lint": ("lint", {}),
    "fit": ("fit", {}),
    "fit for another rate": ("fit", {"model": "gilbert", "period": "off", "at_rate": "10Mbps", "packet": "1500B"}),
    "advise": ("advise", {"candidates": "none,arq,in-order,harq:10/12", "starts": 2, "duration": "4s"}),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_of_a_trace_are_those_of_the_program(name, program, phy, trace):
    command, given = DOCUMENTS[name]
    wanted = json.loads(program("-q", command, "--json", *flags(given), phy) if command != "lint" else lint_of(program, phy))
    document = getattr(tmt, command)(phy, **given)
    assert document == wanted
    assert document.results == wanted["results"] and document.params == wanted["params"]
    table = tmt.read(phy)
    # In a command of the shell the name of the table is quoted.
    name = "'the table'" if command == "advise" else "the table"
    assert getattr(tmt, command)(table, jobs=1, **given).results == named(wanted["results"], str(phy), name)
    assert "<table>" in document._repr_html_()


def lint_of(program, path):
    """The document of `tmt lint`, whose exit code says whether there are warnings."""
    from conftest import run_tmt

    return run_tmt("-q", "lint", "--json", path).stdout


def named(results, path, name):
    """Results with another name in place of that of the file."""
    return json.loads(json.dumps(results).replace(path, name))


POINTS = {
    "one point": {"nd": 38, "nr": 13, "alpha": 0.98, "beta": 0.9},
    "a range": {"nr": "2..6"},
    "lists": {"nr": [2, 4], "beta": np.array([0.5, 0.9])},
}


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.filterwarnings("ignore")
def test_closed_forms_are_those_of_the_program(name, program):
    arguments = []
    for key, value in POINTS[name].items():
        values = [value] if np.isscalar(value) else [str(each) for each in value]
        is_sweep = not np.isscalar(value) or ".." in str(value)
        arguments += ["--sweep", f"{key}={','.join(map(str, values))}"] if is_sweep else [f"{key}={value}"]
    wanted = json.loads(program("-q", "model", "harq", "--json", *arguments))
    assert tmt.model("harq", **POINTS[name]) == wanted


def test_lists_are_those_of_the_program(program):
    for function, arguments in {
        tmt.models: ["model", "--list"],
        tmt.figures: ["reproduce", "--list"],
        tmt.formats: ["convert", "--list"],
        tmt.codes: ["synth", "--list-codes"],
        tmt.scenarios: ["synth", "--list"],
    }.items():
        assert function() == json.loads(program("-q", *arguments, "--json"))
    one = tmt.scenarios("internet-interleaved", set={"es-n0": "6dB"})
    arguments = ["--scenario", "internet-interleaved", "--set", "es-n0=6dB", "--show-parameters"]
    assert one == json.loads(program("-q", "synth", *arguments, "--json"))
    assert [each[0] for each in _tmt.models()] == [each["model"] for each in tmt.models().results]


TRACES = {
    "constant": SYNTH,
    "erased": {**SYNTH, "channel": "gilbert-elliott:alpha=0.99,beta=0.8", "seed": 7},
    "scenario": {"scenario": "internet-interleaved", "es_n0": "6dB", "duration": "5s", "set": {"every": 2}},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TRACES)
def test_synthetic_traces_are_those_of_the_program(name, program, tmp_path):
    path = tmp_path / "phy.arrow"
    program("-q", "synth", *flags(TRACES[name]), "-o", path)
    made = tmt.synth(**TRACES[name])
    wanted = tmt.read(path)
    assert made.equals(wanted, check_metadata=True)
    assert made.num_rows > 1000 and b"end" in made.schema.metadata


@pytest.mark.parametrize("given", [{"bernoulli": 0.01}, {"channel": "fading:m=50ms,X=0.1", "seed": 9}])
@pytest.mark.filterwarnings("ignore")
def test_injected_traces_are_those_of_the_program(given, program, tmp_path):
    clean, path = tmp_path / "clean.arrow", tmp_path / "phy.arrow"
    program("-q", "synth", *flags(SYNTH), "-o", clean)
    program("-q", "inject", *flags(given), "-o", path, clean)
    wanted = tmt.read(path)
    assert tmt.inject(clean, **given).equals(wanted, check_metadata=True)
    table = tmt.synth(**SYNTH)
    assert tmt.inject(table, **given).equals(wanted, check_metadata=True)
    if "bernoulli" in given:
        # A frame has no head, and this process asks nothing of it.
        frame = tmt.inject(pl.from_arrow(table), **given)
        assert frame["decode_delay_ns"].combine_chunks().equals(wanted["decode_delay_ns"].combine_chunks())


# Calls over 10 million rows, 160 MB. Memory of the result does not count.
LARGE = {
    "stats": 'tmt.stats(table, rtt="500ms")',
    "lint": "tmt.lint(table)",
    "inject": "tmt.inject(table, bernoulli=0.01)",
    "apply": 'tmt.apply(table, "arq", rtt="500ms")',
    "tcp": 'tmt.tcp(trace=table, duration="1s", rtt="500ms", bytes="100kB")',
}


@pytest.mark.skipif(not pathlib.Path("/proc/self/clear_refs").exists(), reason="the peak of memory cannot be reset here")
@pytest.mark.parametrize("name", LARGE)
def test_an_input_is_read_where_it_is(name):
    """In a process of its own, whose peak is that of the call: what others have freed would hide a copy."""
    script = f"""
import pathlib
import numpy as np, pyarrow as pa
import tmt
def memory(key):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))
rows = 10_000_000
columns = np.arange(0, rows * 100_000, 100_000), np.full(rows, 36_000_000)
table = pa.table(columns, ["tx_time_ns", "decode_delay_ns"])
tmt.stats(table.slice(0, 1000), rtt="500ms")
pathlib.Path("/proc/self/clear_refs").write_text("5")
before = memory("VmRSS")
result = {LARGE[name]}
print(memory("VmHWM") - before - getattr(result, "nbytes", 0), table.nbytes)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    more, of_table = map(int, done.stdout.split())
    assert of_table == 160_000_000
    # Blocks in hand; 9 B a row of a timeline that TCP runs over; the bytes that the result of a command is decoded from.
    bound = {"tcp": 150_000_000, "inject": 80_000_000 + of_table}.get(name, 80_000_000)
    assert more < bound, f"{more} B beside the table and the result: a copy of the input"


def test_conversions_are_those_of_the_program(program, tmp_path):
    times = tmp_path / "link.down"
    times.write_text("".join(f"{ms}\n" for ms in range(1, 400, 3)))
    path = tmp_path / "phy.arrow"
    program("-q", "convert", "--from", "mahimahi", "--rtt", "60ms", "-o", path, times)
    trace = tmt.convert(times, from_="mahimahi", rtt="60ms")
    assert trace.equals(tmt.read(path), check_metadata=True)
    wanted = program("-q", "convert", "--to", "mahimahi", path)
    assert tmt.convert(trace, to="mahimahi") == wanted.encode()
    assert tmt.convert(path, to="mahimahi", output=tmp_path / "again.down") is None
    assert (tmp_path / "again.down").read_text() == wanted
    with pytest.raises(tmt.UsageError, match="`from_` is missing"):
        tmt.convert(times)
    with pytest.raises(tmt.UsageError, match="`output`: found no `to`"):
        tmt.convert(times, from_="mahimahi", rtt="60ms", output="phy.csv")


@pytest.mark.filterwarnings("ignore")
def test_audits_are_those_of_the_program(packets, program, tmp_path):
    log, slots = packets["packets"], packets["slots"]
    wanted = json.loads(program("-q", "audit", "--json", "--slots", slots, log))
    document = tmt.audit(log, slots=slots)
    assert document == wanted
    # Of tables, and of tables whose texts have another type.
    link = ["--link", "synthetic", "--rate", "1Mbps", "--rtt", "100ms", "--duration", "3s"]
    program("-q", "tcp", *link, "--packets", tmp_path / "packets.parquet")
    wanted = json.loads(program("-q", "audit", "--json", tmp_path / "packets.parquet"))
    table = pq.read_table(tmp_path / "packets.parquet")
    assert tmt.audit(table) == wanted
    large = [field.with_type(pa.large_string()) if pa.types.is_string(field.type) else field for field in table.schema]
    assert tmt.audit(table.cast(pa.schema(large, table.schema.metadata))) == wanted


def test_a_broken_rule_is_a_warning(packets, tmp_path):
    lines = packets["packets"].read_text().splitlines(keepends=True)
    broken = tmp_path / "broken.csv"
    # A packet that was delivered is missing.
    broken.write_text("".join(lines[:40] + lines[41:]))
    with pytest.warns(tmt.TmtWarning, match="rules are broken"):
        document = tmt.audit(broken)
    assert any(rule["violations_total"] for rule in document.results["rules"])


@pytest.mark.filterwarnings("ignore")
def test_pages_are_those_of_the_program(packets, phy, program, tmp_path):
    results = tmp_path / "results.parquet"
    table = tmt.tcp(link="synthetic", rate="2Mbps", rtt="100ms", duration="5s", seeds=3, loss="bernoulli:0.01")
    pq.write_table(table, results)
    page = tmt.report(results)
    assert page.html == program("-q", "report", results)
    held = tmt.report(table)
    assert held.html.count("the table") and len(held.html) > 10_000
    run = {key: packets[key] for key in ("packets", "series")}
    assert tmt.report(**run).html == program("-q", "report", *flags(run))
    studies, plan = [tmp_path / "before.parquet", tmp_path / "after.parquet"], {"link": "synthetic", "rtt": "100ms", "duration": "5s"}
    tables = [tmt.sweep(plan, rate=rate, cc=["reno", "cubic"], loss="bernoulli:0.01", seeds=3) for rate in ("2Mbps", "3Mbps")]
    for rate, path in zip(("2Mbps", "3Mbps"), studies, strict=True):
        program("-q", "sweep", *flags(plan), "--rate", rate, "--cc", "reno,cubic", "--loss", "bernoulli:0.01", "--seeds", 3, "-o", path)
    page = program("-q", "report", "--compare", *studies)
    assert tmt.report(*studies, compare=True).html == page
    held = tmt.report(*tables, compare=True).html
    assert held.replace("the second table", "B").replace("the table", "A").count("A") > 2
    assert len(held) > 10_000
    assert tmt.report(tables[0], title="T").html.count("<tr>") == program("-q", "report", "--title", "T", studies[0]).count("<tr>")
    page = tmt.report(results)
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    assert page._repr_html_().startswith("<iframe srcdoc=")


@pytest.mark.filterwarnings("ignore")
def test_figures_are_those_of_the_program(program):
    wanted = json.loads(program("-q", "reproduce", "--json", "celandroni-fig3"))
    assert tmt.reproduce("celandroni-fig3") == wanted


def test_every_flag_is_an_argument_with_help():
    for name, command in _commands.COMMANDS.items():
        function = getattr(tmt, name)
        keys = list(command.arguments)
        signature = list(inspect.signature(function).parameters)
        assert signature[-len(keys) - 1 :] == [*keys, "jobs"], name
        for key in keys:
            assert f"\n    {key}: " in function.__doc__, (name, key)
        assert function.__doc__.count("`") % 2 == 0, name
    assert len(_commands.COMMANDS["synth"].arguments) > 10
    for name in tmt.__all__:
        assert getattr(tmt, name) is not None


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tmt.stats("nowhere.csv"), FileNotFoundError, "nowhere.csv"),
        (lambda: tmt.stats(5), tmt.UsageError, "`trace`: found a value of type int"),
        (lambda: tmt.stats("nowhere.csv", rt="1s"), tmt.UnknownParameter, r"`rt`: found no such parameter \(did you mean rtt\?\)"),
        (lambda: tmt.synth(rate="1Mbps"), tmt.UsageError, "`lldu`.*`duration`"),
        (lambda: tmt.synth(**{**SYNTH, "rate": "fast"}), tmt.UsageError, "'fast' for '`rate`'"),
        (lambda: tmt.synth(**{**SYNTH, "rate": "0bps"}), tmt.UsageError, "above zero"),
        (lambda: tmt.stats("nowhere.csv", allow_cut="yes"), tmt.UsageError, "`allow_cut`: found 'yes', expected True or False"),
        (lambda: tmt.model("harqq"), tmt.UsageError, "harqq"),
        (lambda: tmt.model("harq", nd=-1), tmt.UsageError, "nd"),
        (lambda: tmt.reproduce("nothing"), tmt.UsageError, "nothing"),
        (lambda: tmt.lint("nowhere.csv", jobs=0), tmt.UsageError, "`jobs`: found 0"),
        (lambda: tmt.inject(tmt.synth(**SYNTH)), tmt.UsageError, "`channel`"),
    ],
)
def test_errors_name_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
