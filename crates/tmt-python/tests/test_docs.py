"""The commands of docs/python.md run, and print what the page shows."""

import contextlib
import io
import os
import pathlib
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tmt.__main__ import program

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python.md"


@pytest.mark.filterwarnings("ignore")
def test_the_commands_of_the_page_print_what_it_shows(trace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scripts = pathlib.Path(program()).parent
    monkeypatch.setenv("PATH", f"{scripts}{os.pathsep}{os.environ['PATH']}")
    pq.write_table(trace.replace_schema_metadata(None), "phy.parquet")
    pathlib.Path("link.down").write_text("".join(f"{ms}\n" for ms in range(1, 400, 3)))
    blocks = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) > 15
    names = {}
    for code, shown in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)
        assert printed.getvalue() == shown, code
    assert pathlib.Path("report.html").stat().st_size > 10_000
    assert isinstance(names["again"], pa.Table)
