"""Contents of the package: the program, help, types."""

import inspect
import pathlib
import subprocess
import sys
import sysconfig

import pytest
from conftest import run_tmt

import tmt
from tmt import _help, _stub, _tmt

PACKAGE = pathlib.Path(tmt.__file__).parent


def test_the_program_comes_along():
    done = run_tmt("--version")
    assert done.stdout == f"tmt {tmt.__version__}\n"
    script = pathlib.Path(sysconfig.get_path("scripts"), "tmt")
    script = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert script.stdout == done.stdout
    assert run_tmt("no-such-command").returncode == 2


def test_the_stub_is_that_of_the_registries():
    stub = (PACKAGE / "__init__.pyi").read_text(encoding="utf-8")
    assert stub == _stub.stub(), "python -m tmt._stub > crates/tmt-python/python/tmt/__init__.pyi"
    assert (PACKAGE / "py.typed").is_file()


def test_every_parameter_is_an_argument_with_help():
    keys = [parameter["key"] for parameter in _tmt.parameters()]
    signature = inspect.signature(tmt.tcp)
    assert list(signature.parameters) == ["timeline", *keys, "jobs"]
    assert len(keys) > 50 and {"cc", "rtt", "loop", "return_trace"} <= set(keys)
    for key in keys:
        assert f"\n    {key}: " in tmt.tcp.__doc__, key
    for scheme in _tmt.schemes():
        assert scheme in tmt.apply.__doc__


def test_help_names_arguments_not_flags():
    for parameter in _help.PARAMETERS.values():
        for text in (parameter["help"], parameter["detail"]):
            for key in _help.PARAMETERS:
                assert f"--{key.replace('_', '-')}" not in _help.in_python(text).split(), parameter["key"]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ('tmt.tcp("t.csv", cc="cubic", rtt="500ms", seeds=3, sack=False).num_rows', None),
        ('tmt.apply("t.csv", "arq").num_rows', None),
        ('tmt.apply("t.csv", ["arq", "none"])["arq"].num_rows', None),
        ('tmt.tcp("t.csv", link="wifi")', "arg-type"),
        ('tmt.tcp("t.csv", fedback_delay="0s")', "call-arg"),
        ('tmt.apply("t.csv", 5)', "call-overload"),
        ("tmt.apply(5, 'arq')", "call-overload"),
    ],
)
def test_types_are_checked(tmp_path, tmp_path_factory, code, error):
    pytest.importorskip("mypy")
    (tmp_path / "use.py").write_text(f"import tmt\n{code}\n")
    cache = tmp_path_factory.getbasetemp() / "mypy"
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, "use.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if error is None:
        assert done.returncode == 0, done.stdout
    else:
        assert f"[{error}]" in done.stdout, done.stdout
