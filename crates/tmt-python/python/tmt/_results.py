"""Results of functions besides tables: documents, pictures, pages; and how a notebook shows results."""

import html
import json
import os
import pathlib
import sys

import pyarrow as pa

# Most rows and columns of a table that a notebook shows.
MOST_ROWS, MOST_COLUMNS = 30, 40


class Picture:
    """A picture, which a notebook shows."""

    def __init__(self, svg):
        self.svg = svg

    def _repr_svg_(self):
        return self.svg


class Page:
    """A page of HTML that works without a network, which a notebook shows."""

    def __init__(self, text):
        self.html = text

    def save(self, path):
        """Write the page to a file."""
        pathlib.Path(os.fspath(path)).write_bytes(self.html.encode())

    def _repr_html_(self):
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" title="report of tmt" sandbox="allow-scripts" style="width: 100%; height: 40em"></iframe>'


class Document(dict):
    """Results of a command as JSON (docs/results.md): `tool`, `schema`, `params` and `results`. A notebook shows it as tables."""

    @classmethod
    def read(cls, text):
        """The document of a text of JSON."""
        return cls(json.loads(text))

    @property
    def params(self):
        """The settings that decide the results."""
        return self["params"]

    @property
    def results(self):
        """The results: a dictionary, or a list of them."""
        return self["results"]

    def to_json(self):
        """The text of JSON."""
        return json.dumps(self, ensure_ascii=False, indent=2) + "\n"

    def _repr_html_(self):
        head = f"<p><b>{html.escape(self['schema'])}</b> by {html.escape(self['tool'])}</p>"
        params = _section("params", self.params) if self.params else ""
        return head + params + _value(self.results)


def _text(value):
    """A single value."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return html.escape(f"{value:.6g}")
    return html.escape(str(value))


def _section(name, value):
    """A part that opens on a click."""
    return f"<details><summary>{html.escape(name)}</summary>{_value(value)}</details>"


def _rows(names, rows, total):
    """A table with a heading; `total` is the number of rows that there are."""
    heading = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in names)
    body = "".join("<tr>" + "".join(f"<td>{_value(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    more = f"<caption>{len(rows)} of {total} rows</caption>" if total > len(rows) else ""
    return f"<table>{more}<thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>"


def _value(value):
    """A value of a document."""
    if isinstance(value, dict):
        single = {name: each for name, each in value.items() if not isinstance(each, (dict, list))}
        pairs = "".join(f'<tr><th scope="row">{html.escape(name)}</th><td>{_text(each)}</td></tr>' for name, each in single.items())
        parts = [f"<table><tbody>{pairs}</tbody></table>"] if pairs else []
        parts += [_section(name, each) for name, each in value.items() if name not in single]
        return "".join(parts)
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        names = list(dict.fromkeys(name for each in value for name in each))
        shown = value[:MOST_ROWS]
        return _rows(names, [[each.get(name) for name in names] for each in shown], len(value))
    if isinstance(value, list):
        more = f" … ({len(value)})" if len(value) > MOST_ROWS else ""
        return ", ".join(_value(each) for each in value[:MOST_ROWS]) + more
    return _text(value)


def table_html(table):
    """The HTML of a table of results; None for one that this package did not make, which the notebook shows as it does."""
    kind = (table.schema.metadata or {}).get(b"schema", b"").decode(errors="replace")
    if not kind.startswith("tmt."):
        return None
    rows = table.slice(0, MOST_ROWS).to_pylist()
    # Columns that differ come first: what was compared, not the settings that all runs share.
    same = [name for name in table.column_names if len(table) > 1 and len(table[name].unique()) == 1]
    names = [name for name in table.column_names if name not in same]
    hidden = same + names[MOST_COLUMNS:]
    shown = [[row[name] for name in names[:MOST_COLUMNS]] for row in rows]
    text = f"<p><b>{html.escape(kind)}</b>, {len(table)} rows</p>" + _rows(names[:MOST_COLUMNS], shown, len(table))
    if hidden:
        first = table.slice(0, 1).to_pylist()[0]
        text += _section(f"{len(hidden)} further columns, in the first row", {name: first[name] for name in hidden})
    return text


def register():
    """Lets a notebook show tables of results as tables."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive else None
    if shell is not None:
        shell.display_formatter.formatters["text/html"].for_type(pa.Table, table_html)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a sweep. `results` has the rows of the cells that are finished, and `resume()` runs the others."""

    def __init__(self, results, resume):
        super().__init__(f"interrupted: {len(results)} rows are in `results`; `resume()` goes on")
        self.results = results
        self.resume = resume
