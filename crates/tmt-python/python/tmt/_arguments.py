"""Turns arguments into texts as a parameter file has them, and tables into streams of Arrow batches."""

import difflib
import functools
import inspect
import json
import operator
import os
import pathlib
import threading
from datetime import timedelta

import pyarrow as pa
from pyarrow import compute, csv

from tmt._tmt import Error, UsageError


class UnknownParameter(UsageError, TypeError):
    """A keyword argument that no parameter has."""


# Exceptions of the user's generators of batches, by thread that has called the package.
_calls = threading.local()


def public(function):
    """A function of the package: it refuses unknown keywords, and an exception of the user's generator is the cause of its error."""
    parameters = inspect.signature(function).parameters.values()
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    names = [parameter.name for parameter in parameters]

    @functools.wraps(function)
    def called(*arguments, **keywords):
        if not takes_any:
            for key in keywords:
                known(key, names, function.__name__)
        before, _calls.caught = getattr(_calls, "caught", None), []
        try:
            return function(*arguments, **keywords)
        except Error as error:
            if _calls.caught:
                # Beyond the name of the table, the text is the traceback of the cause.
                raise _caused(str(error).partition(": C Data interface error")[0]) from _calls.caught[0]
            raise
        finally:
            _calls.caught = before

    called.__module__ = "tmt"
    return called


def _caused(table):
    """The error of a call whose table could not be read to its end."""
    cause = _calls.caught[0]
    return Error(f"{table}: {type(cause).__name__}: {cause}")


def text(key, value):
    """The text of a value."""
    if hasattr(value, "dtype") and hasattr(value, "item"):
        if getattr(value, "ndim", 0) > 0 or getattr(value, "size", 1) != 1:
            raise UsageError(f"`{key}`: found an array of {len(value)} values, expected one value")
        if getattr(value.dtype, "kind", "") == "m":
            return f"{value.astype('timedelta64[ns]').astype('int64')}ns"
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
    """The texts of a parameter, several of a list."""
    return [text(key, each) for each in several(value)]


def several(value):
    """The values of a list, an array, a column or a range; a single value alone."""
    for values in ("tolist", "to_list", "to_pylist"):
        if hasattr(value, values) and getattr(value, "ndim", 1) > 0:
            return getattr(value, values)()
    return list(value) if isinstance(value, (list, tuple, range)) else [value]


def jobs(value):
    """The number of threads; None for all cores."""
    if value is None:
        return None
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if isinstance(value, bool) or not 1 <= number <= 65535:
        raise UsageError(f"`jobs`: found {value!r}, expected a whole number from 1 to 65535, or None for all cores")
    return number


def path(key, value):
    """The text of the name of a file."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    kind = type(value).__name__
    raise UsageError(f"`{key}`: found a value of type {kind}, expected a table or the name of a file")


def is_table(value):
    """Whether a value is a table, not the text of a parameter."""
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


def trace(value):
    """A trace: the name of its file, or a stream of its batches with the metadata of the schema, in their order."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, pa.RecordBatchReader):
        stream = _caught(value)
    elif hasattr(value, "__arrow_c_stream__"):
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


def _caught(stream):
    """The batches of a stream, whose exception is kept for the error that it causes."""
    kept = getattr(_calls, "caught", None)

    def batches():
        try:
            yield from stream
        except Exception as error:
            if kept is not None:
                kept.append(error)
            raise

    return pa.RecordBatchReader.from_batches(stream.schema, batches())


def written(value):
    """A table as a file of the program has it: results of tmt.sweep without the rows of all flows together."""
    stream, _ = trace(value)
    rows = stream.read_all()
    kind = (rows.schema.metadata or {}).get(b"schema", b"")
    if kind.startswith(b"tmt.sweep/") and {"scope", "flow", "run"} <= set(rows.column_names):
        has_flows = compute.any(compute.is_valid(rows["flow"])).as_py()
        is_kept = compute.fill_null(compute.not_equal(rows["scope"], "total"), True)
        rows = rows.filter(is_kept) if has_flows else rows
        # After the version are metrics that flows do not have.
        names = rows.column_names
        last = names.index("version") + 1 if "version" in names and has_flows else len(names)
        rows = rows.select([name for name in names[:last] if name != "scope"])
        # A column without any value is one of doubles.
        plain = [each.with_type(pa.float64()) if rows[each.name].null_count == len(rows) else each for each in rows.schema]
        rows = rows.cast(pa.schema(plain, rows.schema.metadata))
    return rows.cast(pa.schema([_plain(each) for each in rows.schema], rows.schema.metadata))


def _plain(column):
    """A column of texts as the program writes it; any other as it is."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_large_string(kind) or pa.types.is_string(kind) or str(kind) == "string_view"
    return column.with_type(pa.string()) if is_text else column


def document(value):
    """The bytes of a table, a file or a document, and its name in messages."""
    if isinstance(value, dict):
        return json.dumps(value).encode(), "the document"
    if not is_table(value):
        value = trace(value)
        return pathlib.Path(value).read_bytes(), value
    sink = pa.BufferOutputStream()
    csv.write_csv(written(value), sink)
    return sink.getvalue().to_pybytes(), "the table"


def table(reader, pairs):
    """The table of a reader, with metadata in this order. The columns are not copied."""
    return reader.read_all().replace_schema_metadata(dict(pairs) or None)


def columns(value):
    """The text of a choice of columns, in which names with commas are quoted."""
    if not isinstance(value, dict):
        return value

    def quoted(name):
        return f'"{name}"' if "," in name or "=" in name else name

    return ",".join(f"{key}={quoted(text('columns', each))}" for key, each in value.items())


def reading(unit, chosen, interval, rate, lldu, allow_cut):
    """How a trace is read."""
    return {
        "unit": unit,
        "columns": columns(chosen),
        "interval": given("interval", interval),
        "rate": given("rate", rate),
        "lldu": given("lldu", lldu),
        "allow_cut": bool(allow_cut),
    }


def known(key, parameters, function):
    """Refuses an unknown parameter, with the nearest known one."""
    if key not in parameters:
        near = difflib.get_close_matches(key, parameters, 1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        raise UnknownParameter(f"`{key}`: found no such parameter{meant}, expected one that help(tmt.{function}) lists")


def file_of(plan):
    """The name and the text of a plan that is a file; None for one that is not."""
    if isinstance(plan, (str, os.PathLike)):
        return os.fspath(plan), pathlib.Path(plan).read_text(encoding="utf-8")
    if plan is None or isinstance(plan, dict):
        return None
    kind = type(plan).__name__
    raise UsageError(f"found a plan of type {kind}, expected the name of a file or a dictionary")


def kept(value):
    """The value of an axis, with streams of batches as tables."""
    if isinstance(value, (list, tuple)):
        return [kept(each) for each in value]
    return value.read_all() if isinstance(value, pa.RecordBatchReader) else value


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
