"""Builds the wheel with maturin: the program `tmt` first, which comes along as a script, then the module.

There is no hook for the metadata alone: maturin wants the program for them, too.
"""

import json
import pathlib
import shutil
import subprocess

import maturin
from maturin import get_requires_for_build_wheel  # noqa: F401

HERE = pathlib.Path(__file__).resolve().parent


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517."""
    # Cargo tells crates apart by their path from the workspace: built from here, program and module share them.
    build = ["cargo", "build", "--release", "--locked", "-p", "tmt-cli", "--message-format", "json-render-diagnostics"]
    done = subprocess.run(build, cwd=HERE, stdout=subprocess.PIPE, text=True, check=True)
    built = [json.loads(line) for line in done.stdout.splitlines()]
    program = next(part["executable"] for part in built if part.get("executable"))
    scripts = HERE / "program" / "scripts"
    shutil.rmtree(scripts, ignore_errors=True)
    scripts.mkdir(parents=True)
    shutil.copy2(program, scripts)
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
