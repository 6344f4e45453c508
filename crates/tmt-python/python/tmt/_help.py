"""Docstrings and signatures, from the registries of the native half."""

import inspect
import keyword
import re
import textwrap

from tmt import _commands, _tmt
from tmt._tmt import UsageError

PARAMETERS = {parameter["key"]: parameter for parameter in _tmt.parameters()}

_FLAG = re.compile(r"--([a-z][a-z0-9-]*)")


def in_python(text, keys=PARAMETERS):
    """A text of the command line's help with the names of arguments in place of flags. A command of the shell stays as it is."""

    def key_of(flag):
        key = flag.replace("-", "_") + "_" * keyword.iskeyword(flag)
        return key if key in keys else None

    def name(flag):
        key = key_of(flag[1])
        return flag[0] if key is None else f"`{key}`"

    def quoted(part):
        given = re.fullmatch(r"--([a-z][a-z0-9-]*)(?: (.+))?", part)
        key = given and key_of(given[1])
        if not key:
            return part
        return key if given[2] is None else f'{key}="{given[2]}"'

    parts = text.split("`")
    return "`".join(quoted(part) if number % 2 else _FLAG.sub(name, part) for number, part in enumerate(parts))


def refuse_number(key, value):
    """Refuses a number for a process, which may be meant as its probability."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and PARAMETERS[key]["form"].startswith("PROCESS"):
        raise UsageError(f'`{key}`: found the number {value}, expected the text of a process, such as "bernoulli:{value}"')


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


_TABLES = """Values are texts with their unit, as in rtt="500ms", numbers, True for a flag, or datetime.timedelta for a duration; a list
for what may be given more than once. None is not given. jobs: threads [default: all cores]; the result does not depend on it."""

# By function of a command: its first line, then what it returns.
_ABOUT = {
    "stats": (
        "Statistics of a trace or timeline: erasures, bursts, delays, rate; as `tmt stats --json` prints them.",
        "Returns a Document. `summary` and `rates` name files that are written as well.",
    ),
    "lint": (
        "Look for what is odd in a trace, or in a file of another tool before its conversion, as `tmt lint --json` does.",
        "Returns a Document; `results[\"findings\"]` lists what was found. A file that cannot be read to its end is a warning.",
    ),
    "fit": (
        "Fit models of losses to a trace, as `tmt fit --json` does.",
        "Returns a Document; the first of `results[\"fits\"]` is the best, and its process is the `channel` of tmt.inject.",
    ),
    "synth": (
        "Make a PHY trace of constant rate, or that of a named scenario, as `tmt synth` does.",
        "Returns a pyarrow.Table: one row per slot, with the head and the end line in the metadata of its schema.",
    ),
    "inject": (
        "Add erasures to a PHY trace, as `tmt inject` does.",
        "Returns a pyarrow.Table: one row per slot, with the head and the end line in the metadata of its schema.",
    ),
    "convert": (
        "Convert a trace of another tool to a PHY trace, or a PHY trace to a file of another tool, as `tmt convert` does.",
        "Returns a pyarrow.Table: one row per slot. With `to` it returns the bytes of the file, or writes them to `output`. "
        "tmt.formats() lists the formats.",
    ),
    "audit": (
        "Check the packet log of a TCP run independently of the simulator, as `tmt audit --json` does.",
        "Returns a Document; a rule that is broken is also a warning.",
    ),
    "report": (
        "Make an HTML page of results, of one run, or of two studies, as `tmt report` does.",
        "Returns a Page, which a notebook shows; its text is in `html`, and `save(path)` writes it.",
    ),
    "advise": (
        "Find the best scheme for a link, as `tmt advise --json` does.",
        "Returns a Document; `results[\"winner\"]` is the winner.",
    ),
    "reproduce": (
        "Run tables or figures of papers, published beside ours, as `tmt reproduce --json` does.",
        "Returns a Document. tmt.figures() lists the names; rows that are off are a warning.",
    ),
}

_LISTS = {
    "model": (
        "Evaluate a closed form at a point, or at several, as `tmt model --json` does.\n\n"
        "Returns a Document: `results` is one point, or a list of them. A key takes a value, a list of values, or a range such as\n"
        '"0.1..0.9:5"; with several keys of several values, every combination is a point. tmt.models() has the keys of each.\n\n'
        "    name: name of the form, see below\n\nClosed forms:\n"
    ),
    "models": "List the closed forms with their keys and results, as `tmt model --list --json` does. Returns a Document.",
    "figures": "List the tables and figures of papers, as `tmt reproduce --list --json` does. Returns a Document.",
    "formats": "List the formats of other tools, as `tmt convert --list --json` does. Returns a Document.",
    "codes": "List the error curves of codes, as `tmt synth --list-codes --json` does. Returns a Document.",
    "scenarios": (
        "List the named links with their channels, as `tmt synth --list --json` does, or the parameters of one. Returns a Document.\n\n"
        "    name: name of a scenario, whose parameters are listed with their values and defaults\n"
        "    set: values of parameters, a dictionary\n"
        "    parameter_set: named values of some parameters, such as those of a fit\n"
    ),
}


def of_commands(functions):
    """Gives the functions of commands their docstrings and signatures."""
    for name, (line, returns) in _ABOUT.items():
        command, function = _commands.COMMANDS[name], functions[name]
        keys = command.arguments

        def rendered(text, keys=keys):
            return in_python(text, keys)

        paragraphs = [line, "\n".join(textwrap.wrap(returns, 110))]
        if command.first is not None:
            first = f"{command.first}: {rendered(command.about)}"
            paragraphs.append("\n".join(textwrap.wrap(first, 100, initial_indent="    ", subsequent_indent="        ")))
        paragraphs.append("\n".join(_commands.entry(argument, rendered) for argument in keys.values()))
        paragraphs.append(_TABLES)
        function.__doc__ = "\n\n".join(paragraphs) + "\n"
        function.__signature__ = _commands.signature(name)
    for name, text in _LISTS.items():
        functions[name].__doc__ = text
    functions["model"].__doc__ += "".join(f"    {name}: {about}\n" for name, about in _tmt.models())
