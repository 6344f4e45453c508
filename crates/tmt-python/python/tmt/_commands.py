"""Functions that call a command of the program. Their arguments, help and types derive from those of the command."""

import io
import textwrap
from dataclasses import dataclass, field
from inspect import Parameter, Signature

import pyarrow.parquet as pq

from tmt import _arguments, _tmt
from tmt._results import Document, Page
from tmt._tmt import UsageError
from tmt._watch import Watcher

# Flags of output and form, which the functions give themselves.
_FORM = frozenset({"json", "csv", "output", "format", "no_head"})


@dataclass
class Command:
    """A command, and how its function differs from it."""

    name: str
    # Kind of the result: a document, a trace or a page.
    gives: str
    # Name of what is positional, if anything is.
    first: str | None = None
    # Whether the first argument is a trace, a file or table, or a text; and whether there may be several.
    kind: str = "trace"
    several: bool = False
    # Arguments that may be tables, with the kind of each.
    tables: dict[str, str] = field(default_factory=dict)
    # Flags that no function needs.
    without: frozenset[str] = _FORM

    @property
    def arguments(self):
        """Its keyword arguments."""
        all_of = _tmt.arguments(self.name)
        return {one["key"]: one for one in all_of if not one["is_positional"] and one["key"] not in self.without}

    @property
    def about(self):
        """Help of what is positional."""
        return next((one["help"] for one in _tmt.arguments(self.name) if one["is_positional"]), "")


COMMANDS = {
    command.name: command
    for command in (
        Command("stats", "document", "trace"),
        Command("lint", "document", "trace"),
        Command("fit", "document", "trace", without=_FORM | {"process"}),
        Command("synth", "trace", without=_FORM | {"list", "list_codes", "show_parameters"}),
        Command("inject", "trace", "trace"),
        Command("convert", "trace", "trace", without=(_FORM | {"list"}) - {"output"}),
        Command(
            "audit",
            "document",
            "packets",
            "file",
            tables={"timeline": "trace", "slots": "file", "terrestrial_trace": "trace", "far_trace": "trace"},
        ),
        Command("report", "page", "results", "file", several=True, tables={"packets": "file", "series": "file"}),
        Command(
            "advise",
            "document",
            "trace",
            tables={"return_trace": "trace", "terrestrial_trace": "trace", "far_trace": "trace"},
        ),
        Command("reproduce", "document", "figures", "text", several=True, without=_FORM | {"list"}),
    )
}


class Call:
    """Arguments of a command, and what is in memory."""

    def __init__(self, name):
        self.arguments = [name]
        self.traces, self.files = [], []

    def value(self, key, value, kind, name):
        """The text of an argument, for which a table or a document is held under `name`."""
        if kind == "text":
            return _arguments.text(key, value)
        if _arguments.is_table(value):
            if kind == "trace":
                self.traces.append((name, _arguments.trace(value)))
            else:
                self.files.append((name, _parquet(value)))
            return name
        if isinstance(value, dict) and kind == "file":
            name = name.replace("table", "document")
            self.files.append((name, Document(value).to_json().encode()))
            return name
        return _arguments.path(key, value)

    def flag(self, argument, key, value, kind="text"):
        """Adds a flag; None is not given."""
        flag = argument["flag"]
        if value is None:
            return
        if not argument["takes_value"]:
            if not isinstance(value, bool):
                raise UsageError(f"`{key}`: found {value!r}, expected True or False")
            if value:
                self.arguments.append(flag)
            return
        if key == "columns":
            value = _arguments.columns(value)
        if isinstance(value, dict):
            value = [f"{name}={_arguments.text(key, each)}" for name, each in value.items()]
        values = _arguments.several(value) if argument["repeats"] else [value]
        self.arguments += [f"{flag}={self.value(key, each, kind, f'the table of {key}')}" for each in values]

    def run(self, function, jobs):
        """Calls a native function with this."""
        call = {"arguments": self.arguments, "traces": self.traces, "files": self.files, "jobs": _arguments.jobs(jobs)}
        with Watcher() as watcher:
            return function(call, watcher)

    def document(self, jobs):
        """The document that the command prints; what it complains of is a warning."""
        printed, complaint = self.run(_tmt.printed, jobs)
        if complaint is not None:
            Watcher().tell("warning", complaint)
        return Document.read(printed)


def _parquet(value):
    """The bytes of a table in Parquet, with its metadata."""
    sink = io.BytesIO()
    pq.write_table(_arguments.written(value), sink)
    return sink.getvalue()


_ORDINALS = ["the table", "the second table"]


def call(name, first, given, jobs):
    """Runs the command `name` with positional and keyword arguments."""
    command = COMMANDS[name]
    asked = Call(name)
    known = command.arguments
    for key, value in given.items():
        _arguments.known(key, known, name)
        asked.flag(known[key], key, value, command.tables.get(key, "text"))
    gives_file = command.gives == "trace" and given.get("to") is not None
    asked.arguments += {"document": ["--json"], "trace": [] if gives_file else ["--format=arrow"], "page": []}[command.gives]
    values = [
        asked.value(command.first, value, command.kind, _ORDINALS[min(number, 1)]) for number, value in enumerate(first)
    ]
    asked.arguments += ["--", *values] if values else []
    if command.gives == "document":
        return asked.document(jobs)
    if command.gives == "page":
        printed, _ = asked.run(_tmt.printed, jobs)
        return Page(printed.decode())
    if gives_file:
        printed, _ = asked.run(_tmt.printed, jobs)
        return printed if given.get("output") is None else None
    if given.get("output") is not None:
        raise UsageError("`output`: found no `to`, expected the format of a file; a trace is returned")
    return _arguments.table(*asked.run(_tmt.written, jobs))


def model(name, keys, jobs):
    """Evaluates a closed form."""
    if not isinstance(name, str) or name.startswith("-"):
        raise UsageError(f"`name`: found {name!r}, expected the name of a closed form; tmt.models() lists them")
    asked = Call("model")
    asked.arguments += [name, "--json"]
    pairs = []
    for key, value in keys.items():
        if value is None:
            continue
        values = _arguments.several(value)
        is_range = isinstance(value, str) and (".." in value or "," in value)
        # A list of one value is a list, too, so that a loop over its results works for any length.
        is_list = not isinstance(value, str) and hasattr(value, "__iter__")
        if is_range or is_list:
            asked.arguments.append(f"--sweep={key}={','.join(_arguments.text(key, each) for each in values)}")
        else:
            pairs.append(f"{key}={_arguments.text(key, values[0])}")
    asked.arguments += ["--", *pairs]
    return asked.document(jobs)


def listed(*arguments):
    """A list of what there is."""
    asked = Call(arguments[0])
    asked.arguments += [*arguments[1:], "--json"]
    return asked.document(None)


def scenarios(name, values, parameter_set):
    """All scenarios, or one with all of its parameters."""
    if name is None:
        return listed("synth", "--list")
    asked = Call("synth")
    known = {one["key"]: one for one in _tmt.arguments("synth")}
    asked.arguments.append("--show-parameters")
    for key, value in {"scenario": name, "set": values, "parameter_set": parameter_set}.items():
        asked.flag(known[key], key, value)
    asked.arguments.append("--json")
    return asked.document(None)


def signature(name):
    """The signature of the function of a command."""
    command = COMMANDS[name]
    first = []
    if command.first is not None:
        kind = Parameter.VAR_POSITIONAL if command.several else Parameter.POSITIONAL_ONLY
        # The file of a conversion, and what a look reads, may be given by keywords alone.
        default = Parameter.empty if command.several or name in ("stats", "fit", "inject") else None
        first = [Parameter(command.first, kind, default=default)]
    keywords = [Parameter(key, Parameter.KEYWORD_ONLY, default=None) for key in command.arguments]
    return Signature([*first, *keywords, Parameter("jobs", Parameter.KEYWORD_ONLY, default=None)])


def entry(argument, in_python):
    """An argument in a docstring."""
    head = f"{argument['key']}: {in_python(argument['help'])}"
    lines = textwrap.wrap(head, 100, initial_indent="    ", subsequent_indent="        ")
    if argument["takes_value"] and not argument["words"]:
        lines += textwrap.wrap(argument["form"], 100, initial_indent="        ", subsequent_indent="        ")
    return "\n".join(lines)
