"""Link-layer schemes (FEC, ARQ, HARQ) over PHY traces, TCP over the result, and what `tmt` says about both, on Arrow tables.

    trace = tmt.synth(scenario="internet-interleaved", duration="60s")
    timeline = tmt.apply(trace, "harq:10/12", rtt="500ms")
    results = tmt.tcp(timeline, cc="cubic")
    results = tmt.sweep(trace=trace, scheme=["arq", "harq:10/12"], cc=["cubic", "bbr"])
    tmt.plot(results, x="scheme", y="total_goodput_bps", by="cc")
"""

from tmt import _arguments, _commands, _help, _results, _tmt
from tmt._arguments import UnknownParameter, public
from tmt._results import Document, Interrupted, Page, Picture
from tmt._tmt import Error, UsageError, __version__
from tmt._watch import TmtNotice, TmtWarning, Watcher, show_progress

__all__ = [
    "Document",
    "Error",
    "Interrupted",
    "Page",
    "Picture",
    "TmtNotice",
    "TmtWarning",
    "UnknownParameter",
    "UsageError",
    "__version__",
    "advise",
    "apply",
    "audit",
    "codes",
    "convert",
    "figures",
    "fit",
    "formats",
    "inject",
    "lint",
    "model",
    "models",
    "plot",
    "read",
    "report",
    "reproduce",
    "scenarios",
    "show_progress",
    "stats",
    "sweep",
    "synth",
    "tcp",
]


def __dir__():
    return list(__all__)


_READING = """
    unit: unit of numbers in columns whose names do not end in _s, _ms, _us or _ns: "s", "ms", "us" or "ns"
    columns: which columns are read, as in "tx=time,erased=lost" or {"tx": "time", "erased": "lost"}; the keys are tx, delay,
        erased and attempts; delay=36ms is one delay for all received slots
    interval: time between the rows of a table without times
    rate, lldu: rate of the slots of a table without times, and the size of one
    allow_cut: accept a trace that was cut
    jobs: threads [default: all cores]; the result does not depend on it
"""


@public
def apply(
    trace,
    scheme,
    *,
    rtt=None,
    feedback_delay=None,
    replace_head=False,
    unit=None,
    columns=None,
    interval=None,
    rate=None,
    lldu=None,
    allow_cut=False,
    jobs=None,
):
    schemes = [scheme] if isinstance(scheme, str) else list(scheme)
    if not schemes or len(set(schemes)) < len(schemes) or not all(isinstance(each, str) for each in schemes):
        raise UsageError(f"`scheme`: found {scheme!r}, expected the text of a scheme, or several that differ")
    link = {
        "rtt": _arguments.given("rtt", rtt),
        "feedback_delay": _arguments.given("feedback_delay", feedback_delay),
        "replace_head": bool(replace_head),
    }
    how = _arguments.reading(unit, columns, interval, rate, lldu, allow_cut)
    with Watcher() as watcher:
        tables = _tmt.apply(_arguments.trace(trace), schemes, link, how, _arguments.jobs(jobs), watcher)
    tables = [_arguments.table(*each) for each in tables]
    return tables[0] if isinstance(scheme, str) else dict(zip(schemes, tables, strict=True))


@public
def tcp(timeline=None, /, *, jobs=None, **parameters):
    tables, values = [], []
    if timeline is not None:
        if parameters.get("trace") is not None:
            raise UsageError("`trace`: found two traces, expected one: the first argument is the trace")
        parameters["trace"] = timeline
    for key, value in parameters.items():
        _arguments.known(key, _help.PARAMETERS, "tcp")
        if value is None:
            continue
        if key == "columns":
            value = _arguments.columns(value)
        _help.refuse_number(key, value)
        if _help.PARAMETERS[key]["kind"] == "trace" and _arguments.is_table(value):
            tables.append((key, _arguments.trace(value)))
        else:
            values.append((key, _arguments.texts(key, value)))
    with Watcher() as watcher:
        return _arguments.table(*_tmt.tcp(tables, values, _arguments.jobs(jobs), watcher))


@public
def sweep(plan=None, /, *, jobs=None, **axes):
    if isinstance(plan, dict):
        axes = {**plan, **axes}
    # A stream of batches can be read once, and an interrupted sweep may go on.
    axes = {name: _arguments.kept(value) for name, value in axes.items()}
    return _swept(_arguments.file_of(plan), axes, None, _arguments.jobs(jobs))


def _swept(file, axes, done, jobs):
    """The rows of a sweep; some of its cells may be done."""
    text, tables = _arguments.plan(axes)
    with Watcher() as watcher:
        swept, interrupted = _tmt.sweep(file, text, tables, done, jobs, watcher)
    rows = _arguments.table(*swept)
    if interrupted is None:
        return rows
    finished, raised = interrupted
    if not isinstance(raised, KeyboardInterrupt):
        raise raised
    raise Interrupted(rows, lambda: _swept(file, axes, finished, jobs)) from None


@public
def read(trace, *, unit=None, columns=None, interval=None, rate=None, lldu=None, allow_cut=False, jobs=None):
    how = _arguments.reading(unit, columns, interval, rate, lldu, allow_cut)
    with Watcher() as watcher:
        return _arguments.table(*_tmt.read(_arguments.trace(trace), how, _arguments.jobs(jobs), watcher))


@public
def plot(source, *, x=None, y=None, by=None, log_x=False, log_y=False, title="", width=None, height=None):
    columns = {"y": y, "by": by}
    columns = {key: [names] if isinstance(names, str) else list(names or []) for key, names in columns.items()}
    drawing = {"x": x, **columns, "log_x": log_x, "log_y": log_y, "title": title, "width": width, "height": height}
    with Watcher() as watcher:
        return Picture(_tmt.plot(*_arguments.document(source), drawing, watcher))


@public
def stats(trace, /, *, jobs=None, **given):
    return _commands.call("stats", [trace], given, jobs)


@public
def lint(trace=None, /, *, jobs=None, **given):
    return _commands.call("lint", [] if trace is None else [trace], given, jobs)


@public
def fit(trace, /, *, jobs=None, **given):
    return _commands.call("fit", [trace], given, jobs)


@public
def synth(*, jobs=None, **given):
    return _commands.call("synth", [], given, jobs)


@public
def inject(trace, /, *, jobs=None, **given):
    return _commands.call("inject", [trace], given, jobs)


@public
def convert(trace=None, /, *, jobs=None, **given):
    return _commands.call("convert", [] if trace is None else [trace], given, jobs)


@public
def audit(packets, /, *, jobs=None, **given):
    return _commands.call("audit", [packets], given, jobs)


@public
def report(*results, jobs=None, **given):
    return _commands.call("report", results, given, jobs)


@public
def advise(trace=None, /, *, jobs=None, **given):
    return _commands.call("advise", [] if trace is None else [trace], given, jobs)


@public
def reproduce(*figures, jobs=None, **given):
    return _commands.call("reproduce", figures, given, jobs)


@public
def model(name, /, *, jobs=None, **keys):
    return _commands.model(name, keys, jobs)


@public
def models():
    return _commands.listed("model", "--list")


@public
def figures():
    return _commands.listed("reproduce", "--list")


@public
def formats():
    return _commands.listed("convert", "--list")


@public
def codes():
    return _commands.listed("synth", "--list-codes")


@public
def scenarios(name=None, /, *, set=None, parameter_set=None):
    return _commands.scenarios(name, set, parameter_set)


apply.__doc__ = f"""Run reliability schemes over a PHY trace, as `tmt apply` does.

Returns the timeline as a pyarrow.Table: one row per LLDU, with tx_time_ns, decode_delay_ns (null if it was lost or is censored) and
attempts; the metadata of its schema are the head and the end line. Several schemes read the trace once and return a
dictionary of tables.

    trace: a table (pyarrow, Polars, pandas, DuckDB: any object with __arrow_c_stream__ or __arrow_c_array__) or the name of a
        file; one row per slot, with tx_time_ns and decode_delay_ns (null if it was erased). The columns are not copied.
    scheme: text of a scheme, or a list of several
    rtt: RTT of the link [default: that of the metadata, else 500ms]
    feedback_delay: delay of the feedback beyond the RTT; "decode" uses the median decoding delay, "interleaver" interleaver_ns
        of the metadata [default: "decode", or 0s if all slots are erased]
    replace_head: let rtt replace another RTT in the metadata, which is otherwise refused{_READING}
Schemes:
{_help.schemes()}
"""

tcp.__doc__ = f"""Run TCP flows over a timeline, a coupled link or a synthetic link, as `tmt tcp` does.

Returns a pyarrow.Table with one row per run (`scope` is total) and one per run and flow (`scope` is flow), as `tmt tcp
--results` has it: `run`, metrics, parameters.

    timeline: a table or the name of a file: the timeline, or the PHY trace of a coupled link
    jobs: threads that share the runs [default: all cores]; the result does not depend on it

Values are texts with their unit, as in rtt="500ms", numbers, True or False for on or off, or datetime.timedelta for a
duration. None is not given. A list takes a list of texts, and a trace is a table or the name of a file.

{_help.parameters()}
"""

sweep.__doc__ = """Run a plan: every combination of the values of its names, as `tmt sweep` does (docs/sweeps.md).

Returns a pyarrow.Table with one row per run (`scope` is total) and one per run and flow (`scope` is flow): what varies, run, seed,
metrics, resolved parameters. The rows of flows are those of `tmt sweep`.

    plan: name of a file in TOML, or a dictionary with what such a file has
    jobs: threads [default: all cores]; the result does not depend on it

Every other argument gives a name its values, in place of those in the plan: a value as `tmt.tcp` takes it, a text that is a range
("1e-4..1e-2:log:5"), or a list of these. Names are the parameters of `tmt.tcp`, `model` and its parameters, and variables that
other values have as "{name}". With `scheme`, cells run as `tmt.apply` and then `tmt.tcp`. `zip` takes a list of names that vary
together, or a list of such lists; `stop` a rule such as "goodput_bps:2%,min=5".

`trace` takes names of files, a table, or a dictionary of tables by the names that the results have for them.

    tmt.sweep(trace={"suburb": suburb, "city": city}, scheme=["arq", "harq:10/12"], cc=["cubic", "bbr"], offsets=20)
    tmt.sweep("plan.toml", seeds=3)
    tmt.sweep(model="harq", nd=10, nr=range(1, 6), beta="0.5..0.9:5")

A cell that refuses its parameters is a row with the reason in `error`; the others run. Ctrl-C raises tmt.Interrupted, a
KeyboardInterrupt whose `results` has the rows of the cells that are finished; its `resume()` runs the others. The rows are in
memory: studies of more than some 100 000 runs are for `tmt sweep`, which keeps finished cells in a file.
"""

read.__doc__ = f"""Read a trace or timeline of any format that `tmt` reads into a pyarrow.Table, with its head and end line.

pyarrow reads Parquet and Arrow files, too, but loses the end line of an Arrow file, which distinguishes LLDUs that the end of the trace
left open from lost ones.

    trace: the name of a file, or a table
{_READING[1:]}"""

plot.__doc__ = """Draw a table, a trace or a document as SVG, as `tmt plot` does (docs/plot.md).

Returns a Picture, which a notebook shows; its text is in `svg`. Without `x`, `y` and `by` the picture is that of the kind of the
table: results of `tmt.sweep` or `tmt.tcp`, a trace, a timeline, logs of `tmt tcp`.

    source: a table (any object with __arrow_c_stream__ or __arrow_c_array__), the name of a file, or a dictionary: a document
        of `tmt ... --json`
    x: column along the horizontal axis
    y: column along the vertical axis, or a list: a panel each
    by: column whose values make the series, or a list
    log_x, log_y: make the axes logarithmic
    title: title above the picture
    width, height: lengths with their unit, as in "85mm" or "640px"
"""

tcp.__signature__ = _help.signature()

_help.of_commands(globals())
_results.register()
for _name in __all__:
    if hasattr(globals()[_name], "__module__"):
        globals()[_name].__module__ = "tmt"
