"""`tmt.apply` gives what `tmt apply` writes, whichever object holds the trace."""

import datetime
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from conftest import ROOT, arrow

import tmt
from tmt import _tmt

SCHEMES = [*_tmt.scheme_examples(), "fec:3/5,interleave=7,in-order", "harq:2/3,extra=1,rounds=2"]


def pairs(table):
    """Metadata in their order, without the end line."""
    return [pair for pair in (table.schema.metadata or {}).items() if pair[0] != b"end"]


def same_rows(one, other):
    one.validate(full=True)
    assert one.schema.remove_metadata() == other.schema.remove_metadata()
    assert one.equals(other)


def rows(table):
    """The rows of a PHY trace as lists."""
    return table["tx_time_ns"].to_pylist(), table["decode_delay_ns"].to_pylist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("delay", [None, "decode"])
def test_every_scheme_gives_what_the_program_writes(trace, phy, program, tmp_path, delay):
    flags = [] if delay is None else ["--feedback-delay", delay]
    schemes = [flag for scheme in SCHEMES for flag in ("--scheme", scheme)]
    program("-q", "apply", *schemes, *flags, "-o", tmp_path / "{scheme}.arrow", phy)
    tables = tmt.apply(trace, SCHEMES, feedback_delay=delay)
    assert list(tables) == SCHEMES
    for scheme, table in tables.items():
        name = "".join(c if c.isalnum() or c in "._-" else "-" for c in scheme)
        written = tmp_path / f"{name}.arrow"
        same_rows(table, arrow(written))
        assert pairs(table) == pairs(arrow(written))
        assert table.schema.metadata[b"end"] == tmt.read(written).schema.metadata[b"end"]
        assert tmt.apply(trace, scheme, feedback_delay=delay).equals(table, check_metadata=True)


def test_a_timeline_goes_to_files_and_back(trace, program, tmp_path):
    table = tmt.apply(trace, "harq:10/12", feedback_delay="decode", rtt="400ms", replace_head=True)
    pq.write_table(table, tmp_path / "t.parquet")
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    for name in ("t.parquet", "t.arrow"):
        back = tmt.read(tmp_path / name)
        assert back.equals(table) and pairs(back) == pairs(table)
        assert back.schema.metadata[b"end"] == table.schema.metadata[b"end"]
    program("diff", tmp_path / "t.parquet", tmp_path / "t.arrow")
    assert table.schema.metadata[b"overridden"] == b"rtt_ns 500000000 by --rtt 400000000"


@pytest.mark.filterwarnings("ignore")
def test_the_published_vectors_are_reproduced():
    folder = ROOT / "fixtures/link-layer"
    cases = [line.split("\t") for line in (folder / "cases.tsv").read_text().splitlines() if line[0] != "#"]
    assert len(cases) > 20
    for trace, scheme, rtt, feedback, expected in cases:
        table = tmt.apply(tmt.read(folder / trace), scheme, rtt=f"{rtt}ns", feedback_delay=f"{feedback}ns")
        wanted = tmt.read(folder / expected)
        same_rows(table, wanted)
        # Those without a head have no end line.
        end = (wanted.schema.metadata or {}).get(b"end")
        assert end in (None, table.schema.metadata[b"end"])


BINARY = sorted(each for each in (ROOT / "fixtures/formats").iterdir() if each.suffix in {".arrow", ".parquet", ".feather"})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", BINARY, ids=lambda path: path.name)
def test_tables_of_other_programs_are_read_as_the_program_reads_their_files(path, program, tmp_path):
    flags = {"--columns": "tx=time_ns,delay=d_ns,erased=lost"} if path.name.startswith("foreign") else {}
    arguments = {flag[2:]: value for flag, value in flags.items()}
    given = [part for flag in flags.items() for part in flag]
    program("-q", "apply", "--scheme", "arq", "--rtt", "5us", *given, "-o", tmp_path / "t.arrow", path)
    held = pq.read_table(path) if path.suffix == ".parquet" else feather.read_table(path)
    for table in (held, path):
        same_rows(tmt.apply(table, "arq", rtt="5us", **arguments), arrow(tmp_path / "t.arrow"))


def holders(trace):
    """The trace as other libraries hold it."""
    polars = pl.from_arrow(trace)
    return {
        "pyarrow": trace,
        "reader": trace.to_reader(max_chunksize=1000),
        "batch": trace.combine_chunks().to_batches()[0],
        "chunks": pa.concat_tables([trace.slice(0, 1), trace.slice(1, 77), trace.slice(78)]),
        "one chunk": trace.combine_chunks(),
        "with empty batches": pa.Table.from_batches(
            [batch for each in trace.to_batches() for batch in (each.slice(0, 0), each)], trace.schema
        ),
        "polars": polars,
        "pandas": pd.DataFrame({name: polars[name].to_numpy() for name in polars.columns[:1]}).assign(
            decode_delay_ns=polars["decode_delay_ns"].to_pandas(use_pyarrow_extension_array=True)
        ),
        "duckdb": duckdb.sql("SELECT tx_time_ns, decode_delay_ns FROM trace"),
        "array": OnlyArray(trace.combine_chunks().to_batches()[0]),
    }


class OnlyArray:
    """An object that exports an array and no stream."""

    def __init__(self, batch):
        self.batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


@pytest.mark.filterwarnings("ignore")
def test_every_library_is_taken(trace):
    wanted = tmt.apply(trace, "arq", rtt="500ms")
    for name, held in holders(trace).items():
        table = tmt.apply(held, "arq", rtt="500ms")
        assert table.equals(wanted), name


@pytest.mark.filterwarnings("ignore")
def test_slices_with_offsets_in_their_bits_are_read(trace):
    head = trace.replace_schema_metadata(None).combine_chunks()
    for offset in (1, 7, 8, 63, 64, 65, 40_000):
        piece = head.slice(offset, 70_000)
        copy = pa.Table.from_pydict(piece.to_pydict(), schema=piece.schema)
        assert tmt.apply(piece, "harq:10/12").equals(tmt.apply(copy, "harq:10/12")), offset
        batch = piece.to_batches()[0]
        assert tmt.apply(batch, "harq:10/12").equals(tmt.apply(copy, "harq:10/12")), offset


@pytest.mark.filterwarnings("ignore")
def test_the_units_and_types_of_the_format_are_read(trace):
    trace = trace.replace_schema_metadata(None).slice(0, 20_000)
    wanted = tmt.apply(trace, "arq")
    times, delays = rows(trace)
    ms = [None if delay is None else delay // 1_000_000 for delay in delays]
    seconds = [delay and delay / 1e9 for delay in delays]
    zero = 1_700_000_000_000_000_000
    forms = {
        "int32 ms": {"tx_time_ns": times, "decode_delay_ms": pa.array(ms, pa.int32())},
        "uint64": {"tx_time_ns": pa.array(times, pa.uint64()), "decode_delay_ns": pa.array(delays, pa.uint64())},
        "seconds as doubles": {"tx_time_s": [time / 1e9 for time in times], "decode_delay_s": seconds},
        "NaN": {"tx_time_ns": times, "decode_delay_s": [np.nan if each is None else each for each in seconds]},
        "0 for erased": {"tx_time_ns": times, "decode_delay_ns": [delay or 0 for delay in delays]},
        "durations": {
            "tx_time": pa.array(times, pa.duration("ns")),
            "decode_delay": pa.array(delays, pa.duration("ns")),
        },
        "timestamps": {
            "tx_time": pa.array([zero + time for time in times], pa.timestamp("ns", "UTC")),
            "decode_delay_ns": delays,
        },
    }
    for name, columns in forms.items():
        table = tmt.apply(pa.table(columns), "arq")
        assert table.equals(wanted), name


def test_other_names_and_tables_without_times(trace):
    trace = trace.replace_schema_metadata(None).slice(0, 20_000)
    lost = pc.is_null(trace["decode_delay_ns"])
    foreign = pa.table({"when": trace["tx_time_ns"], "lost": lost, "snr": pa.array([1.0] * 20_000)})
    with pytest.warns(tmt.TmtWarning, match="no RTT"), pytest.warns(tmt.TmtNotice, match="snr ignored"):
        table = tmt.apply(foreign, "none", columns={"tx": "when", "erased": "lost", "delay": "36ms"}, unit="ns")
    plain = tmt.apply(trace, "none", rtt="500ms")
    assert table.equals(plain)
    with pytest.warns(tmt.TmtWarning, match="1ns"):
        table = tmt.apply(foreign.select(["lost"]), "none", columns="erased=lost", interval="10ms", rtt="1s")
    assert table["tx_time_ns"][-1].as_py() == 19_999 * 10_000_000
    by_rate = tmt.apply(foreign.select(["lost"]), "none", columns="erased=lost,delay=1ms", rate="1Mbps", lldu="125B", rtt="1s")
    assert by_rate["tx_time_ns"][-1].as_py() == 19_999 * 1_000_000
    with pytest.raises(tmt.UsageError, match="`rate` needs `lldu`"):
        tmt.apply(foreign, "none", rate="1Mbps")


def test_durations_are_texts_or_timedeltas(trace):
    wanted = tmt.apply(trace, "none", rtt="250ms", replace_head=True)
    for rtt in (datetime.timedelta(milliseconds=250), pd.Timedelta("250ms"), np.timedelta64(250, "ms")):
        assert tmt.apply(trace, "none", rtt=rtt, replace_head=True).equals(wanted, check_metadata=True)
    assert tmt.apply(trace, "none", rtt=pd.Timedelta("3ns"), replace_head=True).schema.metadata[b"rtt_ns"] == b"3"


def test_the_number_of_threads_changes_nothing(trace):
    tables = [tmt.apply(trace, "arq", feedback_delay="decode", jobs=jobs) for jobs in (1, 2, 5)]
    assert all(table.equals(tables[0], check_metadata=True) for table in tables)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"tx_time_ns": [], "decode_delay_ns": []}, "no row"),
        ({"tx_time_ns": [2, 1], "decode_delay_ns": [1, 1]}, "row 2: tx_time: found .* sort the table"),
        ({"tx_time_ns": [0, None], "decode_delay_ns": [1, 1]}, "row 2: tx_time: found null"),
        ({"tx_time_ns": [0, 1], "decode_delay_ns": [1, -5]}, "row 2: decode_delay: found '-5', expected zero or more"),
        ({"tx_time_ns": [0], "decode_delay_s": [1e-10]}, "row 1: .*rounds to 0"),
        ({"tx_time": [0.0], "decode_delay": [1.0]}, "without a unit.*`unit=\"s\"`"),
        ({"tx_time_ns": [0], "delay": [1]}, "expected a column decode_delay.*`columns="),
        ({"tx_time_ns": [0], "decode_delay_s": pa.array([0.5], pa.float32())}, "found a column of float32.*cast"),
        ({"tx_time_ns": [0], "decode_delay_ns": pa.array([5]).dictionary_encode()}, "found a column of dictionary.*cast"),
        ({"tx_time_ns": [0], "decode_delay_ns": ["x"]}, "found a column of utf8.*cast"),
    ],
)
def test_what_is_wrong_is_refused_with_its_row_and_remedy(columns, message):
    types = {name: pa.array(values, pa.int64()) for name, values in columns.items() if values == []}
    with pytest.raises(tmt.Error, match=message) as refused:
        tmt.apply(pa.table(columns | types), "arq", rtt="1s")
    assert isinstance(refused.value, RuntimeError)
    assert str(refused.value).startswith("the table")


def test_arguments_are_refused(trace):
    for arguments, message in [
        ({"scheme": "harq:12/10"}, "`scheme`: "),
        ({"scheme": ["arq", "arq"]}, "several that differ"),
        ({"scheme": []}, "several that differ"),
        ({"scheme": "arq", "rtt": 500}, "`rtt`: found '500', expected a duration"),
        ({"scheme": "arq", "rtt": object()}, "`rtt`: found a value of type object"),
        ({"scheme": "arq", "feedback_delay": "soon"}, "`feedback_delay`: .*'decode'"),
        ({"scheme": "arq", "unit": "h"}, "`unit`: "),
        ({"scheme": "arq", "columns": "txx=1"}, "`columns`: "),
    ]:
        with pytest.raises(ValueError, match=message) as refused:
            tmt.apply(trace, **arguments)
        assert isinstance(refused.value, tmt.UsageError)
    with pytest.raises(ValueError, match="trace of type list, expected a table"):
        tmt.apply([1, 2], "arq")
    with pytest.raises(FileNotFoundError, match="no-such-file"):
        tmt.apply("no-such-file.csv", "arq")
    with pytest.raises(tmt.Error, match="interleaver_ns"):
        tmt.apply(trace, "arq", feedback_delay="interleaver")


def test_a_cut_table_is_refused_unless_it_is_allowed(phy):
    whole = tmt.read(phy)
    cut = whole.slice(0, 1000)
    with pytest.raises(tmt.Error, match="found 1000 rows, expected [0-9]+ as stated.*allow_cut=True"):
        tmt.apply(cut, "none")
    with pytest.warns(tmt.TmtWarning, match="cut"):
        assert len(tmt.apply(cut, "none", allow_cut=True)) == 1000
    with pytest.raises(tmt.Error, match="allow_cut=True"):
        tmt.apply(pa.concat_tables([whole, whole.slice(whole.num_rows - 1)]), "none")


def test_warnings_are_those_of_the_program(trace):
    with pytest.warns(tmt.TmtWarning, match="exceeds the feedback delay of 0s.*use `feedback_delay` decode") as told:
        tmt.apply(trace, "arq", feedback_delay="0s")
    assert told[0].filename == __file__
    timeline = tmt.apply(trace, "arq", feedback_delay="decode")
    with pytest.warns(tmt.TmtWarning, match="is a timeline of scheme arq"):
        tmt.apply(timeline, "none")


def test_a_failing_producer_is_named():
    schema = pa.schema({"tx_time_ns": pa.int64(), "decode_delay_ns": pa.int64()})

    def batches():
        yield pa.record_batch([[0], [1]], schema=schema)
        raise ValueError("the disk is on fire")

    with pytest.raises(tmt.Error, match="the disk is on fire"):
        tmt.apply(pa.RecordBatchReader.from_batches(schema, batches()), "arq", rtt="1s")


def test_a_reader_that_never_ends_is_interrupted():
    code = """
import _thread, itertools, threading
import pyarrow as pa, tmt
schema = pa.schema({"tx_time_ns": pa.int64(), "decode_delay_ns": pa.int64()})
batches = (pa.record_batch([[n], [1]], schema=schema) for n in itertools.count())
threading.Timer(0.5, _thread.interrupt_main).start()
try:
    tmt.apply(pa.RecordBatchReader.from_batches(schema, batches), "none", rtt="1s")
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "interrupted\n"
