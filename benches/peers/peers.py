"""How the drivers of ns-2 and ns-3 are run, where these are installed."""

import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
NS3_LIBRARIES = "applications internet point-to-point network traffic-control core".split()


def command(simulator, scratch):
    """How the driver of `simulator` is run; why not, where it is not there."""
    if simulator == "ns-2":
        ns = shutil.which("ns")
        return ([ns, str(HERE / "ns2.tcl")], None) if ns else (None, "no `ns` (Debian's package ns2)")
    compiler = shutil.which("g++")
    if compiler is None:
        return None, "no g++ to build its driver"
    driver = str(pathlib.Path(scratch) / "ns3")
    libraries = [f"-lns3-{name}" for name in NS3_LIBRARIES]
    built = subprocess.run(
        [compiler, "-std=c++17", "-O2", "-o", driver, str(HERE / "ns3.cc"), *libraries],
        capture_output=True, text=True, check=False,
    )
    if built.returncode == 0:
        return [driver], None
    if "ns3/" in built.stderr and "No such file" in built.stderr:
        return None, "no headers of ns-3 (Debian's package libns3-dev)"
    sys.exit(f"compare: the driver of ns-3 does not build:\n{built.stderr}")
