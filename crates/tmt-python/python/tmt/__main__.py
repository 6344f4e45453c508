"""Runs the program `tmt`, which the wheel installs as a script."""

import os
import sys
import sysconfig


def program():
    """Path of the program."""
    name = "tmt" + sysconfig.get_config_var("EXE")
    schemes = [sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")]
    paths = [os.path.join(sysconfig.get_path("scripts", scheme), name) for scheme in schemes]
    for path in paths:
        if os.path.isfile(path):
            return path
    sys.exit(f"tmt: found no program at {' or '.join(paths)}, expected it to be installed with the package")


if __name__ == "__main__":
    path = program()
    os.execv(path, [path, *sys.argv[1:]])
