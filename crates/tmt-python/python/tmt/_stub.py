"""The type stub of the package, from the registries of the native half."""

import tmt
from tmt._commands import COMMANDS, signature
from tmt._help import PARAMETERS

# Types of arguments, by the kind of a parameter. The names on the right are defined in the stub.
_TYPES = {
    "duration": "Duration",
    "size": "str",
    "rate": "str",
    "count": "int | str",
    "probability": "float | str",
    "switch": "bool | str",
    "flag": "bool",
    "trace": "Trace",
    "text": "str | int",
    "list": "Sequence[str]",
}


def type_of(parameter):
    """The type of a parameter's argument."""
    if parameter["kind"] == "keyword":
        words = ", ".join(f'"{word}"' for word in parameter["words"])
        return f"Literal[{words}]"
    if parameter["kind"] == "text" and parameter["form"].startswith("DURATION"):
        return "Duration"
    return _TYPES[parameter["kind"]]


STUB = '''\
"""{doc}"""

# Written by `python -m tmt._stub`; a test compares.

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal, Protocol, overload

import pyarrow as pa

__version__: str

Duration = str | timedelta

class ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

class ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

Trace = ArrowStream | ArrowArray | str | os.PathLike[str]

class Error(RuntimeError): ...
class UsageError(ValueError): ...
class UnknownParameter(UsageError, TypeError): ...
class TmtWarning(UserWarning): ...
class TmtNotice(UserWarning): ...

class Picture:
    svg: str
    def _repr_svg_(self) -> str: ...

class Page:
    html: str
    def save(self, path: str | os.PathLike[str]) -> None: ...
    def _repr_html_(self) -> str: ...

class Document(dict[str, Any]):
    @property
    def params(self) -> dict[str, Any]: ...
    @property
    def results(self) -> Any: ...
    def to_json(self) -> str: ...
    def _repr_html_(self) -> str: ...

class Interrupted(KeyboardInterrupt):
    results: pa.Table
    def resume(self) -> pa.Table: ...

Value = str | int | float | timedelta | os.PathLike[str]

{functions}'''

_READING = """\
    unit: Literal["s", "ms", "us", "ns"] | None = None,
    columns: str | dict[str, str] | None = None,
    interval: Duration | None = None,
    rate: str | None = None,
    lldu: str | None = None,
    allow_cut: bool = False,
    jobs: int | None = None,
"""

_APPLY = """\
    rtt: Duration | None = None,
    feedback_delay: Duration | None = None,
    replace_head: bool = False,
"""


# Types of what functions of commands return, and of what is positional.
_GIVES = {"document": "Document", "trace": "pa.Table", "page": "Page"}
_FIRST = {"trace": "Trace", "file": "Trace | dict[str, Any]", "text": "str | os.PathLike[str]"}


def _argument_type(argument, kind):
    """The type of a keyword of a command."""
    if not argument["takes_value"]:
        return "bool"
    if kind is not None:
        return "Trace"
    words = ", ".join(f'"{word}"' for word in argument["words"])
    one = f"Literal[{words}]" if words else "Value"
    if argument["key"] == "columns":
        one = "str | dict[str, str]"
    return f"{one} | Sequence[{one}] | dict[str, Value]" if argument["repeats"] else one


def _of_command(name, of):
    """The function of a command; that of a conversion to a file returns its bytes."""
    command = COMMANDS[name]
    lines = []
    for parameter in signature(name).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            lines.append(f"*{parameter.name}: {_FIRST[command.kind]}")
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            optional = "" if parameter.default is parameter.empty else " | None = None"
            lines += [f"{parameter.name}: {_FIRST[command.kind]}{optional}", "/", "*"]
    if not lines:
        lines.append("*")
    for key, argument in command.arguments.items():
        lines.append(f"{key}: {_argument_type(argument, command.tables.get(key))} | None = None")
    lines.append("jobs: int | None = None")
    text = "".join(f"    {line},\n" for line in lines)
    if name != "convert":
        return [of(name, text, _GIVES[command.gives])]
    to = next(line for line in lines if line.startswith("to: "))
    kept = f"    {to},\n"
    trace, file = text.replace(kept, "    to: None = None,\n"), text.replace(kept, f"    {to.removesuffix(' | None = None')},\n")
    return [of(name, trace, "pa.Table", True), of(name, file, "bytes | None", True)]


def stub():
    """The type stub of the package."""

    def of(name, arguments, result, is_overload=False):
        decorator = "@overload\n" if is_overload else ""
        body = '    """' + getattr(tmt, name).__doc__.replace("\\", "\\\\") + '"""\n'
        return f"{decorator}def {name}(\n{arguments}) -> {result}:\n{body}"

    apply = [
        of("apply", f"    trace: Trace,\n    scheme: {scheme},\n    *,\n{_APPLY}{_READING}", result, True)
        for scheme, result in (("str", "pa.Table"), ("Sequence[str]", "dict[str, pa.Table]"))
    ]
    keywords = "".join(
        f"    {key}: {type_of(parameter)} | None = None,\n" for key, parameter in PARAMETERS.items()
    )
    tcp = of("tcp", f"    timeline: Trace | None = None,\n    /,\n    *,\n{keywords}    jobs: int | None = None,\n", "pa.Table")
    read = of("read", f"    trace: Trace,\n    *,\n{_READING}", "pa.Table")
    plan = "    plan: str | os.PathLike[str] | dict[str, Any] | None = None,\n    /,\n    *,\n"
    sweep = of("sweep", f"{plan}    jobs: int | None = None,\n    **axes: Any,\n", "pa.Table")
    columns = "str | Sequence[str] | None = None"
    drawn = f"    source: Trace | dict[str, Any],\n    *,\n    x: str | None = None,\n    y: {columns},\n    by: {columns},\n"
    drawn += '    log_x: bool = False,\n    log_y: bool = False,\n    title: str = "",\n'
    plot = of("plot", f"{drawn}    width: str | None = None,\n    height: str | None = None,\n", "Picture")
    commands = [each for name in COMMANDS for each in _of_command(name, of)]
    keys = "    name: str,\n    /,\n    *,\n    jobs: int | None = None,\n    **keys: Value | Sequence[Value],\n"
    lists = [of("model", keys, "Document"), *(of(name, "", "Document") for name in ("models", "figures", "formats", "codes"))]
    scenario = "    name: str | None = None,\n    /,\n    *,\n    set: dict[str, Value] | None = None,\n    parameter_set: str | None = None,\n"
    lists += [of("scenarios", scenario, "Document"), of("show_progress", "    how: bool = True,\n", "None")]
    functions = "\n".join([*apply, tcp, sweep, read, plot, *commands, *lists])
    return STUB.format(doc=tmt.__doc__, functions=functions)


if __name__ == "__main__":
    print(stub(), end="")
