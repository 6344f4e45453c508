"""How the drivers of ns-2 and ns-3 are run, where these are installed; intervals of what they give."""

import math
import pathlib
import shutil
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
NS3_LIBRARIES = "applications internet point-to-point network traffic-control core".split()


def student(freedom):
    """The 97.5 % point of Student's t: a table, then the expansion in 1/freedom (off by less than 1e-3)."""
    table = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571}
    z = statistics.NormalDist().inv_cdf(0.975)
    expansion = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return table.get(freedom, expansion)


def interval(values):
    """Mean and half-width of the 95 % interval; none of one value."""
    if len(values) < 2:
        return values[0], None
    return statistics.fmean(values), student(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


def command(simulator, scratch, source="ns3"):
    """How the driver of `simulator` is run, of ns-3 that of `source`; why not, where it is not there."""
    if simulator == "ns-2":
        ns = shutil.which("ns")
        return ([ns, str(HERE / "ns2.tcl")], None) if ns else (None, "no `ns` (Debian's package ns2)")
    compiler = shutil.which("g++")
    if compiler is None:
        return None, "no g++ to build its driver"
    driver = str(pathlib.Path(scratch) / source)
    libraries = [f"-lns3-{name}" for name in NS3_LIBRARIES]
    built = subprocess.run(
        [compiler, "-std=c++17", "-O2", "-o", driver, str(HERE / f"{source}.cc"), *libraries],
        capture_output=True, text=True, check=False,
    )
    if built.returncode == 0:
        return [driver], None
    if "ns3/" in built.stderr and "No such file" in built.stderr:
        return None, "no headers of ns-3 (Debian's package libns3-dev)"
    sys.exit(f"compare: the driver of ns-3 does not build:\n{built.stderr}")
