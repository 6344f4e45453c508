"""Docstrings and signatures, from the registries of the native half."""

import inspect
import re
import textwrap

from tmt import _tmt

PARAMETERS = {parameter["key"]: parameter for parameter in _tmt.parameters()}

def in_python(text):
    """A text of the command line's help with the names of arguments in place of flags."""

    def name(flag):
        key = flag[1].replace("-", "_")
        return f"`{key}`" if key in PARAMETERS else flag[0]

    return re.sub(r"--([a-z][a-z0-9-]*)", name, text)


def signature():
    """The signature of `tmt.tcp`."""
    keyword, trace = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_ONLY
    names = [("timeline", trace), *((key, keyword) for key in PARAMETERS), ("jobs", keyword)]
    return inspect.Signature([inspect.Parameter(name, kind, default=None) for name, kind in names])


def _entry(parameter):
    """A parameter in the docstring."""
    form = "on|off" if parameter["kind"] == "flag" else parameter["form"]
    head = f"{parameter['key']}: {in_python(parameter['help'])}"
    default = parameter["default"]
    if parameter["kind"] != "flag" and default is not None:
        reason = f", {parameter['reason']}" if parameter["reason"] else ""
        head += f" [default: {in_python(default)}{reason}]"
    for relation in ("needs", "excludes"):
        if parameter[relation]:
            words = {"needs": "needs", "excludes": "not with"}[relation]
            head += f"; {words} {', '.join(parameter[relation])}"
    lines = textwrap.wrap(head, 100, initial_indent="    ", subsequent_indent="        ")
    for text in (form, in_python(parameter["detail"])):
        lines += textwrap.wrap(text, 100, initial_indent="        ", subsequent_indent="        ")
    return "\n".join(lines)


def parameters():
    """The list of parameters in the docstring of `tmt.tcp`."""
    groups = {}
    for parameter in PARAMETERS.values():
        groups.setdefault(parameter["group"], []).append(_entry(parameter))
    return "\n\n".join(f"{group}:\n" + "\n".join(entries) for group, entries in groups.items())


def schemes():
    """The list of schemes in the docstring of `tmt.apply`."""
    return "\n".join(f"    {form}" for form in _tmt.schemes())
