"""The type stub of the package, from the registries of the native half."""

import tmt
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
    functions = "\n".join([*apply, tcp, sweep, read, plot])
    return STUB.format(doc=tmt.__doc__, functions=functions)


if __name__ == "__main__":
    print(stub(), end="")
