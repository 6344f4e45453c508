"""Fixtures that the tests share: the program that came along, and a trace that it made."""

import pathlib
import subprocess
import sys
import warnings

import pyarrow as pa
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def run_tmt(*arguments, **options):
    """Runs the program; returns what it did."""
    command = [sys.executable, "-m", "tmt", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="session")
def program():
    """The program: `program(arguments)` fails unless the exit code is 0, and returns stdout."""

    def run(*arguments):
        done = run_tmt(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def phy(program, tmp_path_factory):
    """An Arrow file of a PHY trace: 1 % erased in bursts, some 200 000 slots."""
    folder = tmp_path_factory.mktemp("phy")
    clean, path = folder / "clean.arrow", folder / "phy.arrow"
    link = ["--rate", "2.34Mbps", "--lldu", "33B", "--duration", "20s", "--decode-delay", "36ms", "--rtt", "500ms"]
    program("-q", "synth", *link, "-o", clean)
    program("-q", "inject", "--gilbert-elliott", "alpha=0.999,beta=0.9", "--seed", 7, "-o", path, clean)
    return path


@pytest.fixture(scope="session")
def trace(phy):
    """The trace as pyarrow reads it."""
    return arrow(phy)


@pytest.fixture
def quiet():
    """No warnings of the package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def arrow(path):
    """An Arrow file as pyarrow reads it: without the end line, which is not metadata of the schema."""
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_file(file).read_all()
