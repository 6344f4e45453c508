"""Turns arguments into texts as a parameter file has them, and tables into streams of Arrow batches."""

import difflib
import json
import logging
import os
import pathlib
import warnings
from datetime import timedelta

import pyarrow as pa
from pyarrow import csv

from tmt._tmt import UsageError

_LOG = logging.getLogger("tmt")


class TmtWarning(UserWarning):
    """The result would mislead somebody who does not know this."""


class TmtNotice(UserWarning):
    """How a trace was read, where that is not obvious."""


class UnknownParameter(UsageError, TypeError):
    """A keyword argument that no parameter has."""


def notify(severity, text):
    """Shows a note at the line that called the package."""
    if severity == "info":
        _LOG.info(text)
    else:
        # Above this are the function of the package and its caller.
        category = TmtWarning if severity == "warning" else TmtNotice
        warnings.warn(text, category, stacklevel=3)


def text(key, value):
    """The text of a value."""
    if hasattr(value, "dtype") and hasattr(value, "item"):
        value = value.item()  # a scalar of numpy
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, timedelta):
        whole = value // timedelta(microseconds=1) * 1000
        return f"{whole + getattr(value, 'nanoseconds', 0)}ns"
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    kind = type(value).__name__
    raise UsageError(f"`{key}`: found a value of type {kind}, expected str, int, float, bool or timedelta")


def given(key, value):
    """The text of an argument; None if it is not given."""
    return None if value is None else text(key, value)


def texts(key, value):
    """The texts of a parameter, of which a list has several."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return [text(key, each) for each in values]


def is_table(value):
    """Whether a value is a table, not the text of a parameter."""
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


def trace(value):
    """A trace: the name of its file, or a stream of its batches with the metadata of the schema, in their order."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if hasattr(value, "__arrow_c_stream__"):
        stream = pa.RecordBatchReader.from_stream(value)
    elif hasattr(value, "__arrow_c_array__"):
        batch = pa.record_batch(value)
        stream = pa.RecordBatchReader.from_batches(batch.schema, [batch])
    else:
        kind = type(value).__name__
        raise UsageError(
            f"found a trace of type {kind}, expected a table (an object with __arrow_c_stream__ or __arrow_c_array__, "
            "as of pyarrow, Polars, DuckDB and pandas 2.2 or later) or the name of a file"
        )
    pairs = (stream.schema.metadata or {}).items()
    return stream, [(key.decode(errors="replace"), value.decode(errors="replace")) for key, value in pairs]


def document(value):
    """The bytes of a table, a file or a document, and its name in messages."""
    if isinstance(value, dict):
        return json.dumps(value).encode(), "the document"
    value = trace(value)
    if isinstance(value, str):
        return pathlib.Path(value).read_bytes(), value
    sink = pa.BufferOutputStream()
    csv.write_csv(value[0].read_all(), sink)
    return sink.getvalue().to_pybytes(), "the table"


def table(reader, pairs):
    """The table of a reader, with metadata in this order. The columns are not copied."""
    return reader.read_all().replace_schema_metadata(dict(pairs) or None)


def reading(unit, columns, interval, rate, lldu, allow_cut):
    """How a trace is read."""
    if isinstance(columns, dict):
        columns = ",".join(f"{key}={text('columns', value)}" for key, value in columns.items())
    return {
        "unit": unit,
        "columns": columns,
        "interval": given("interval", interval),
        "rate": given("rate", rate),
        "lldu": given("lldu", lldu),
        "allow_cut": bool(allow_cut),
    }


def known(key, parameters):
    """Refuses an unknown parameter, with the nearest known one."""
    if key not in parameters:
        near = difflib.get_close_matches(key, parameters, 1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        raise UnknownParameter(f"`{key}`: found no such parameter{meant}, expected one that help(tmt.tcp) lists")


def plan(axes):
    """A plan in TOML of names and their values, and the tables among them by their names in the plan."""
    lines, tables = [], {}
    for key, value in axes.items():
        if value is not None:
            lines.append(f"{json.dumps(key, ensure_ascii=False)} = {_toml(key, value, tables)}\n")
    return "".join(lines), list(tables.items())


def _toml(key, value, tables):
    """A value of a plan, with a name in place of each table."""
    for values in ("tolist", "to_list"):
        if hasattr(value, values):
            value = getattr(value, values)()  # an array, or a column of pandas or Polars
    if isinstance(value, pa.ChunkedArray):
        value = value.to_pylist()
    if is_table(value):
        return _toml(key, {"table": value}, tables)
    if isinstance(value, dict):
        for name, each in value.items():
            if name in tables:
                raise UsageError(f"`{key}`: found two tables with the name {name!r}, expected names that differ")
            tables[name] = trace(each)
        # Arrays of their own, in which no text is a range.
        return json.dumps([[name] for name in value], ensure_ascii=False)
    if isinstance(value, range):
        value = list(value)
    if isinstance(value, (list, tuple)):
        if any(is_table(each) for each in value):
            raise UsageError(f'`{key}`: found a list of tables, expected a dictionary that names them, such as {{"suburb": table}}')
        return f"[{', '.join(_toml(key, each, tables) for each in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    return json.dumps(text(key, value), ensure_ascii=False)
