"""Settings on which ns-2, ns-3 and `tmt tcp` are compared, in sets, and which variant of ours stands beside which."""

import dataclasses

# Sets of the table in README.md: what the drivers take, and our flags for the same.
PEERS = {
    "A": {"rate": "0.8", "delay": "245ms", "size": "1000", "buffer": "40", "iw": "1", "duration": "50000"},
    "B": {"rate": "2.34", "delay": "250ms", "size": "1500", "buffer": "100", "iw": "2", "duration": "400"},
    "C": {"rate": "0.263", "delay": "250ms", "size": "1500", "buffer": "100", "iw": "2", "duration": "400"},
    "D": {"rate": "2", "delay": "200ms", "size": "1500", "buffer": "500", "iw": "2", "duration": "2000"},
}
# Only what ns-2 has a word for.
NS2 = {
    "A": {"delayed_ack": "100ms", "min_rto": "1", "tick": "0.1", "limited_transmit": "0"},
    "D": {"access": "10Mb", "access_delay": "20ms", "delayed_ack": "100ms", "window": "2000", "start": "5"},
}
SET_B = "--rate 2.34Mbps --packet 1500B --rtt 500ms --buffer 100pkt --iw 2 --delayed-ack off --duration 400s"
OURS = {
    "A": "--rate 0.8Mbps --packet 1000B --rtt 490ms --buffer 40pkt --profile ns2 --sack off --delayed-ack 2"
    " --delayed-ack-timer 100ms --min-rto 1s --rto-tick 100ms --limited-transmit off --iw 1 --duration 50000s",
    "B": SET_B,
    "C": SET_B.replace("2.34Mbps", "0.263Mbps"),
    "D": "--rate 2Mbps --packet 1500B --rtt 480ms --buffer 500pkt --profile ns2 --delayed-ack 2 --rwnd 2000pkt"
    " --start 0s..5s --duration 2000s",
}
LOSSES = {"A": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1], "B": [0.0, 1e-3, 1e-2], "C": [1e-2], "D": [0.0]}
# Loss rates that goodput.csv does not have.
OTHER_LOSSES = {"A": [3e-4, 3e-3], "B": [3e-4, 3e-3, 3e-2], "C": [1e-3, 3e-3, 3e-2], "D": []}

# Without a limit Hybla's slow start floods the queue: the peers had a window of 400 packets. RTT0 is 25 ms in the
# paper and Linux, 50 ms in ns-3.
HYBLA = "--cc hybla --rwnd 400pkt"
HYBLA_NS3 = "--cc hybla:rtt0=50 --rwnd 400pkt"
# Agent/TCP/Linux reduces the window over a round trip (rate halving), not at once, and finds lost repeats.
LINUX = "--loss-detection rack --recovery prr"


@dataclasses.dataclass(frozen=True)
class Row:
    """A peer's variant and ours beside it."""

    set: str
    simulator: str
    variant: str
    # Variants that are compared with one another over the simulators; the firm ones begin with "Reno".
    family: str
    flags: str
    options: tuple = ()


NS2_VARIANTS = [
    ("Reno", "Reno", "--sack off --cc reno", ()),
    ("Newreno", "Reno: NewReno", "--sack off --cc newreno", ()),
    ("Sack1", "Reno: SACK", "--cc newreno", ()),
    ("Linux-reno", "Reno: SACK", f"--cc reno {LINUX}", ()),
    ("Linux-cubic", "CUBIC", f"--cc cubic:beta=0.8 {LINUX}", ()),
    ("Linux-westwood", "Westwood+", f"--cc westwood {LINUX}", ()),
    ("Linux-compound", "Compound", f"--cc compound {LINUX}", ("timestamps", "1")),
    ("Linux-hybla", "Hybla", f"{HYBLA} {LINUX}", ("window", "400")),
    ("Linux-vegas", "Vegas", f"--cc vegas {LINUX}", ("timestamps", "1")),
]
NS3_VARIANTS = [
    ("TcpNewReno", "Reno: SACK", "--cc newreno", ()),
    ("TcpLinuxReno", "Reno: SACK", "--cc reno", ()),
    ("TcpCubic", "CUBIC", "--cc cubic:beta=0.7", ()),
    ("TcpWestwood-WestwoodPlus-None", "Westwood+", "--cc westwood:filter=0", ()),
    ("TcpWestwood-WestwoodPlus-Tustin", "Westwood+", "--cc westwood:filter=0.9", ()),
    ("TcpHybla/slowsyn", "Hybla", HYBLA_NS3, ("window", "400")),
    ("TcpVegas", "Vegas", "--cc vegas", ()),
]


def rows():
    """Every comparison, in the order of the tables."""
    for name, simulator, profile, variants in (
        ("A", "ns-2", "ns2", NS2_VARIANTS[:2]),
        ("B", "ns-2", "ns2", NS2_VARIANTS),
        ("B", "ns-3", "rfc", NS3_VARIANTS),
        ("C", "ns-2", "ns2", NS2_VARIANTS),
        ("C", "ns-3", "rfc", NS3_VARIANTS),
    ):
        for variant, family, own, options in variants:
            own = own.removeprefix("--sack off ") if name == "A" else f"--profile {profile} {own}"
            yield Row(name, simulator, variant, family, f"{OURS[name]} {own}", options)
    for flows in (1, 10):
        flags = f"{OURS['D']} --cc newreno --flows {flows}"
        yield Row("D", "ns-2", f"Newreno x{flows}", "Reno: NewReno", flags, ("flows", str(flows)))


def options(row, loss, seed):
    """The words that the simulator's driver takes for `row`."""
    unit = "Mb" if row.simulator == "ns-2" else "Mbps"
    words = {**PEERS[row.set], **(NS2.get(row.set, {}) if row.simulator == "ns-2" else {})}
    words["rate"] += unit
    words |= {"variant": row.variant.split(" ")[0], "loss": f"{loss:g}", "seed": str(seed)}
    words |= dict(zip(row.options[::2], row.options[1::2]))
    return [word for pair in words.items() for word in pair]


def packet_rate(row):
    """Packets a second that the link could carry."""
    return float(PEERS[row.set]["rate"]) * 1e6 / (8 * float(PEERS[row.set]["size"]))
