"""Link-layer schemes (FEC, ARQ, HARQ) over PHY traces, TCP over the result, and sweeps of both, on Arrow tables.

    timeline = tmt.apply(trace, "harq:10/12", rtt="500ms")
    results = tmt.tcp(timeline, cc="cubic")
    results = tmt.sweep(trace=trace, scheme=["arq", "harq:10/12"], cc=["cubic", "bbr"])
    tmt.plot(results, x="scheme", y="total_goodput_bps", by="cc")
"""

# Written by `python -m tmt._stub`; a test compares.

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal, Protocol, overload

import pyarrow as pa

__version__: str

Duration = str | timedelta

class ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

class ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

Trace = ArrowStream | ArrowArray | str | os.PathLike[str]

class Error(RuntimeError): ...
class UsageError(ValueError): ...
class UnknownParameter(UsageError, TypeError): ...
class TmtWarning(UserWarning): ...
class TmtNotice(UserWarning): ...

class Picture:
    svg: str
    def _repr_svg_(self) -> str: ...

@overload
def apply(
    trace: Trace,
    scheme: str,
    *,
    rtt: Duration | None = None,
    feedback_delay: Duration | None = None,
    replace_head: bool = False,
    unit: Literal["s", "ms", "us", "ns"] | None = None,
    columns: str | dict[str, str] | None = None,
    interval: Duration | None = None,
    rate: str | None = None,
    lldu: str | None = None,
    allow_cut: bool = False,
    jobs: int | None = None,
) -> pa.Table:
    """Run reliability schemes over a PHY trace, as `tmt apply` does.

Returns the timeline as a pyarrow.Table: one row per LLDU, with tx_time_ns, decode_delay_ns (null if it was lost or is censored) and
attempts; the metadata of its schema are the head and the end line. Several schemes read the trace once and return a
dictionary of tables.

    trace: a table (pyarrow, Polars, pandas, DuckDB: any object with __arrow_c_stream__ or __arrow_c_array__) or the name of a
        file; one row per slot, with tx_time_ns and decode_delay_ns (null if it was erased). The columns are not copied.
    scheme: text of a scheme, or a list of several
    rtt: RTT of the link [default: that of the metadata, else 500ms]
    feedback_delay: delay of the feedback beyond the RTT; "decode" uses the median decoding delay, "interleaver" interleaver_ns
        of the metadata [default: "decode", or 0s if all slots are erased]
    replace_head: let rtt replace another RTT in the metadata, which is otherwise refused
    unit: unit of numbers in columns whose names do not end in _s, _ms, _us or _ns: "s", "ms", "us" or "ns"
    columns: which columns are read, as in "tx=time,erased=lost" or {"tx": "time", "erased": "lost"}; the keys are tx, delay,
        erased and attempts; delay=36ms is one delay for all received slots
    interval: time between the rows of a table without times
    rate, lldu: rate of the slots of a table without times, and the size of one
    allow_cut: accept a trace that was cut
    jobs: threads [default: all cores]; the result does not depend on it

Schemes:
    none[,in-order]
    fec:ND/N[,interleave=I][,in-order]
    arq[:rounds=R][,in-order]
    harq:ND/N[,extra=NS][,rounds=R][,interleave=I][,in-order]
    frame-arq:ND/N[,rounds=R][,in-order]
"""

@overload
def apply(
    trace: Trace,
    scheme: Sequence[str],
    *,
    rtt: Duration | None = None,
    feedback_delay: Duration | None = None,
    replace_head: bool = False,
    unit: Literal["s", "ms", "us", "ns"] | None = None,
    columns: str | dict[str, str] | None = None,
    interval: Duration | None = None,
    rate: str | None = None,
    lldu: str | None = None,
    allow_cut: bool = False,
    jobs: int | None = None,
) -> dict[str, pa.Table]:
    """Run reliability schemes over a PHY trace, as `tmt apply` does.

Returns the timeline as a pyarrow.Table: one row per LLDU, with tx_time_ns, decode_delay_ns (null if it was lost or is censored) and
attempts; the metadata of its schema are the head and the end line. Several schemes read the trace once and return a
dictionary of tables.

    trace: a table (pyarrow, Polars, pandas, DuckDB: any object with __arrow_c_stream__ or __arrow_c_array__) or the name of a
        file; one row per slot, with tx_time_ns and decode_delay_ns (null if it was erased). The columns are not copied.
    scheme: text of a scheme, or a list of several
    rtt: RTT of the link [default: that of the metadata, else 500ms]
    feedback_delay: delay of the feedback beyond the RTT; "decode" uses the median decoding delay, "interleaver" interleaver_ns
        of the metadata [default: "decode", or 0s if all slots are erased]
    replace_head: let rtt replace another RTT in the metadata, which is otherwise refused
    unit: unit of numbers in columns whose names do not end in _s, _ms, _us or _ns: "s", "ms", "us" or "ns"
    columns: which columns are read, as in "tx=time,erased=lost" or {"tx": "time", "erased": "lost"}; the keys are tx, delay,
        erased and attempts; delay=36ms is one delay for all received slots
    interval: time between the rows of a table without times
    rate, lldu: rate of the slots of a table without times, and the size of one
    allow_cut: accept a trace that was cut
    jobs: threads [default: all cores]; the result does not depend on it

Schemes:
    none[,in-order]
    fec:ND/N[,interleave=I][,in-order]
    arq[:rounds=R][,in-order]
    harq:ND/N[,extra=NS][,rounds=R][,interleave=I][,in-order]
    frame-arq:ND/N[,rounds=R][,in-order]
"""

def tcp(
    timeline: Trace | None = None,
    /,
    *,
    trace: Trace | None = None,
    link: Literal["timeline", "coupled", "synthetic"] | None = None,
    rtt: Duration | None = None,
    packet: str | None = None,
    headers: str | None = None,
    rate: str | None = None,
    loss: str | int | None = None,
    overlap: Literal["asap", "shift"] | None = None,
    lldu: str | None = None,
    lldu_header: str | None = None,
    packing: Literal["packet", "bytes"] | None = None,
    channel: str | int | None = None,
    scheme: str | int | None = None,
    feedback_delay: Duration | None = None,
    feedback_loss: float | str | None = None,
    feedback_timer: Duration | None = None,
    tail: Literal["short", "pad"] | None = None,
    in_order: Literal["link", "flow", "off"] | None = None,
    hold: Literal["sent", "acknowledged"] | None = None,
    compare_links: bool | None = None,
    path: Literal["e2e", "split"] | None = None,
    terrestrial_rtt: Duration | None = None,
    split_window: Literal["whole", "share"] | None = None,
    buffer: str | int | None = None,
    queue: str | int | None = None,
    queue_loss: str | int | None = None,
    return_loss: str | int | None = None,
    return_rate: str | None = None,
    return_buffer: str | int | None = None,
    return_trace: Trace | None = None,
    profile: Literal["ns2", "rfc", "linux"] | None = None,
    sack: bool | str | None = None,
    iw: int | str | None = None,
    ecn: bool | str | None = None,
    pacing: bool | str | None = None,
    rwnd: str | int | None = None,
    first_rwnd: str | int | None = None,
    window_validation: bool | str | None = None,
    growth: Literal["acks", "segments"] | None = None,
    cubic: Literal["rfc9438", "linux"] | None = None,
    hystart: Literal["off", "rfc9406", "classic"] | None = None,
    bbr_min_rtt: Literal["equal", "smaller"] | None = None,
    bbr_quantum: Literal["segment", "tso"] | None = None,
    handshake: bool | str | None = None,
    cc: str | int | None = None,
    delayed_ack: str | int | None = None,
    delayed_ack_timer: Duration | None = None,
    quick_acks: int | str | None = None,
    quick_while_growing: bool | str | None = None,
    sack_compression: Duration | None = None,
    first_rto: Duration | None = None,
    min_rto: Duration | None = None,
    max_rto: Duration | None = None,
    rto_tick: Duration | None = None,
    rto_margin: Duration | None = None,
    rtt_sampling: Literal["window", "ack", "sack"] | None = None,
    timestamps: bool | str | None = None,
    timer_restart: Literal["acked", "sacked"] | None = None,
    loss_detection: Literal["dupack", "rack"] | None = None,
    tail_loss_probe: bool | str | None = None,
    f_rto: bool | str | None = None,
    undo_recovery: bool | str | None = None,
    limited_transmit: bool | str | None = None,
    recovery: Literal["halving", "prr", "prr-9937"] | None = None,
    force_retransmit: bool | str | None = None,
    cut_from: Literal["flight", "window", "cwnd"] | None = None,
    loop: bool | None = None,
    offsets: str | int | None = None,
    flows: int | str | None = None,
    start: str | int | None = None,
    bytes: str | None = None,
    duration: Duration | None = None,
    seed: int | str | None = None,
    seeds: int | str | None = None,
    flow: Sequence[str] | None = None,
    unit: Literal["s", "ms", "us", "ns"] | None = None,
    columns: str | int | None = None,
    allow_cut: bool | None = None,
    replace_head: bool | None = None,
    jobs: int | None = None,
) -> pa.Table:
    """Run TCP flows over a timeline, a coupled link or a synthetic link, as `tmt tcp` does.

Returns a pyarrow.Table with one row per run (`scope` is total) and one per run and flow (`scope` is flow), as `tmt tcp
--results` has it: metrics, then parameters.

    timeline: a table or the name of a file: the timeline, or the PHY trace of a coupled link
    jobs: threads that share the runs [default: all cores]; the result does not depend on it

Values are texts with their unit, as in rtt="500ms", numbers, True or False for on or off, or datetime.timedelta for a
duration. None is not given. A list takes a list of texts, and a trace is a table or the name of a file.

Link:
    trace: Trace to read: text, Arrow or Parquet [default: stdin]
        TRACE
        Text and Arrow also as gzip or zstd. The format is detected from the content. `-` is stdin.
    link: Link model: timeline, coupled or synthetic [default: timeline]
        MODEL
        timeline replays the output of `tmt apply`; coupled runs `scheme` on a PHY trace with the
        actual queue; synthetic has a constant rate.
    rtt: Link RTT, propagation only [default: from the trace, else 500ms, a GEO link]
        DURATION
    packet: Size of a packet [default: 1500B, the Ethernet MTU]
        SIZE
    headers: Headers of a packet, IP and TCP, part of its size [default: from `profile`]
        SIZE
        The rest of a packet is payload: goodput and `bytes` count it.
    rate: Rate of a synthetic link, or of the slots of `channel`
        RATE
    loss: Packet losses of a synthetic link [default: none]
        PROCESS
        Losses occur after the queue. Takes the processes of `channel`; a packet is on air during
        its service. list:FILE counts the packets that are served, from 0.
    overlap: Delivery of packets whose LLDUs overlap: asap or shift [default: asap]
        asap|shift
        asap: with the last LLDU. shift: also at least the time span of its LLDUs and one slot after
        the previous delivery, as in a replay with ns-2.
    lldu: Size of an LLDU [default: from the trace, else 33B]
        SIZE
    lldu_header: Header of an LLDU, part of its size [default: from the trace, else 1B]
        SIZE
    packing: Packing of packets and ACKs into LLDUs: packet or bytes [default: bytes for traces from
        mahimahi, else packet]
        packet|bytes
        packet: each begins an LLDU of its own. bytes: segmentation and concatenation, as in RLC,
        GSE and mahimahi: an LLDU carries the tail of one packet and the head of the next. Forward
        link and return trace; without the flag each trace decides.

Coupled link:
    channel: Channel that generates slots instead of a PHY trace; needs scheme, rate, duration
        PROCESS
        Generates slots of the given rate and LLDU for the duration, each decoded after one slot
        time and the interleaver of the channel. scenario:NAME has rate, LLDU, RTT and duration of
        its own. `tmt inject --help` lists the processes that erase slots. Every seed gives another
        channel.
    scheme: Reliability scheme of a coupled link, e.g. harq:10/12
        SCHEME
        `tmt apply --help` lists the schemes.
    feedback_delay: Extra delay of a coupled link's feedback [default: decode, the receiver cannot
        ask earlier]
        DURATION|decode|interleaver
        `decode` uses the median decoding delay of the slots, `interleaver` uses `interleaver_ns` of
        the metadata. With less than the decoding delay a repeat leaves before the receiver can have
        asked for it.
    feedback_loss: Probability that the feedback of an attempt is lost [default: 0]
        P
        After `feedback_timer` the coupled link repeats without feedback.
    feedback_timer: Time from the last unit of an attempt to a repeat without feedback [default: 2 x
        (RTT + feedback delay)]; needs feedback_loss
        DURATION
    tail: Last codeword of a packet: short or pad [default: short]
        short|pad
        short: the remaining data units and all repair units. pad: filled up to a whole codeword.
    in_order: Order of delivery on a coupled link [default: off]
        link|flow|off
        link, flow: a packet waits until all earlier packets of the link, or of its flow, are
        delivered or lost. off: it does not wait. `,in-order` in `scheme` means link.
    hold: Time at which a packet leaves the queue of a coupled link: sent or acknowledged [default:
        sent, or acknowledged on a split path]
        sent|acknowledged
        sent: when its last unit has been sent for the first time. acknowledged: when the feedback
        of the link has reported its fate.
    compare_links: Compare the coupled link with the timeline link; needs scheme
        on|off
        Runs both on the same trace with the same parameters and seeds, the timeline as from `tmt
        apply`. Prints both, and coupled - timeline in percent of the timeline's value.

Queue and path:
    path: Path of the ACKs: e2e or split [default: e2e]
        e2e|split
        e2e: the receiver acknowledges. split: a proxy at the gateway acknowledges at once and keeps
        a packet until the link has delivered it.
    terrestrial_rtt: RTT between the senders and the gateway [default: 0s]
        DURATION
        Added to the RTT of the link.
    split_window: Free buffer space that the proxy advertises to each flow [default: share]
        whole|share
        whole: all of it. share: an equal share.
    buffer: Size of the queue, packet in service included [default: 1bdp]
        Npkt|SIZE|Nbdp|inf
        In packets (100pkt), bytes (64kB), bandwidth-delay products (1bdp), or inf for no limit. The
        BDP is capacity of all slots x (RTT + median decoding delay), at least 2 packets, the same
        for all schemes. On a split path this is the buffer of the proxy.
    queue: Queue discipline [default: drop-tail]
        DISCIPLINE
        drop-tail drops packets that arrive at a full queue. codel[:target=5ms,interval=100ms] (RFC
        8289) also drops or marks packets that have waited too long. red and pie (RFC 8033) drop or
        mark arriving packets at random. fq-codel (RFC 8290) has a queue with CoDel for each flow.
        priority serves the highest class first (`flow` class=7).
    queue_loss: Packets that are dropped on arrival at the queue [default: none]
        PROCESS
        Also where there is room. Takes the processes of `channel`. list:FILE counts the packets
        that are offered, from 0; the dropped ones count, too.
    return_loss: Losses of ACKs on the return path [default: none]
        PROCESS
        Takes the processes of `channel`; an ACK is on air while it is sent at `return_rate`, else
        for an instant.
    return_rate: Rate of the return path of the ACKs [default: unlimited]
        RATE
        An ACK has the headers of its flow, at least 40 B, and with SACK blocks 12 B, 20 B or 28 B
        more.
    return_buffer: Size of the queue before it, ACK in service included [default: 1bdp]
        Npkt|SIZE|Nbdp|inf
        As `buffer`; here packets are ACKs. The BDP is mean rate of the return path x RTT, at least
        two packets of data. What finds the queue full is dropped.
    return_trace: PHY trace or timeline of the return path; not with return_rate
        FILE
        An ACK takes as many LLDUs as it needs (see `packing`) and arrives if all of them do. `loop`
        repeats this trace too.

Congestion control and hosts:
    profile: Settings of both hosts [default: linux, what most hosts run]
        ns2|rfc|linux
        rfc: what the RFCs recommend. ns2: ns-2 2.35 as distributed. What repeats a paper needs one
        of these.
    sack: Selective ACKs [default: from `profile`]
        on|off
    iw: Initial window, segments [default: from `profile`]
        N
    ecn: Explicit congestion notification [default: from `profile`]
        on|off
        Packets may be marked instead of dropped (RFC 3168); needs a CoDel queue.
    pacing: Pacing: spread packets over the RTT [default: from `profile`]
        on|off
        2 windows per smoothed RTT in slow start, 1.2 after. BBR always paces at its own rate.
    rwnd: Largest window advertised by the receiver [default: from `profile`]
        SIZE|Npkt|unlimited
        In bytes (6MiB: as many whole packets as fit), packets (64pkt), or unlimited. Linux: the
        payload that 32 MiB, the largest of tcp_rmem, have room for.
    first_rwnd: Window for which the receive buffer has room at first [default: from `profile`]
        SIZE|Npkt|unlimited
        In bytes of payload. The receiver enlarges it while the flow needs more, up to `rwnd`
        (tcp_rcv_space_adjust of Linux). unlimited: `rwnd` from the start. Linux: the payload that
        128 KiB, the middle value of tcp_rmem, have room for.
    window_validation: Grow the window only while it limits the sender [default: from `profile`]
        on|off
        RFC 7661.
    growth: What grows a window in Reno's way: acks or segments [default: from `profile`]
        acks|segments
        acks: each ACK, regardless of what it covers (RFC 5681). segments: each segment delivered, in whole
        segments (Linux: tcp_slow_start, tcp_cong_avoid_ai). For all but Hybla, BBR and fixed
        windows.
    cubic: Form of CUBIC: rfc9438 or linux [default: from `profile`]
        rfc9438|linux
        linux: whole segments, look-ahead by the smallest RTT, growth by at least 5 % a round before
        the first loss (bictcp_update of tcp_cubic.c).
    hystart: What ends CUBIC's slow start before a loss: off, rfc9406 or classic [default: from
        `profile`]
        off|rfc9406|classic
        rfc9406: HyStart++. classic: Linux's HyStart, by delay or ACK train (hystart_update of
        tcp_cubic.c). ``cc` cubic:hystart=…` has precedence.
    bbr_min_rtt: RTT that renews bbr1's smallest: equal or smaller [default: from `profile`]
        equal|smaller
        equal: an equal or smaller one (the draft, Linux before 5.10). smaller: only a smaller one
        (bbr_update_min_rtt).
    bbr_quantum: Quantum of bbr1: segment or tso [default: from `profile`]
        segment|tso
        Three quanta may be in flight beyond the model. segment: one segment. tso: 1 ms at the
        pacing rate, at least 2 segments from 1.2 Mbps on (bbr_tso_segs_goal).
    handshake: Handshake: one RTT before the first data [default: from `profile`]
        on|off
    cc: Congestion control, e.g. cubic:beta=0.8 [default: cubic]
        CC

Advanced: ACKs:
    delayed_ack: In-order packets per ACK; off: one [default: from `profile`]
        off|N
    delayed_ack_timer: Longest delay of an ACK [default: from `profile`]
        DURATION
    quick_acks: ACKs at the start of a connection that are not delayed [default: from `profile`]
        N
    quick_while_growing: No delayed ACKs while the receive window opens [default: from `profile`]
        on|off
        As tcp_grow_window of Linux; needs a limited `rwnd`.
    sack_compression: Longest delay of ACKs that only add to SACK blocks; 0s: none [default: from
        `profile`]
        DURATION
        From the fourth such ACK after the left edge moved on; at most 5 % of the RTT
        (tcp_comp_sack_delay_ns of Linux).

Advanced: RTO and RTT:
    first_rto: RTO before the first RTT sample [default: from `profile`]
        DURATION
    min_rto: Smallest RTO [default: from `profile`]
        DURATION
    max_rto: Largest RTO [default: from `profile`]
        DURATION
    rto_tick: Clock granularity of RTT samples and RTO; 0ns: none [default: from `profile`]
        DURATION
    rto_margin: Least difference between RTO and smoothed RTT [default: from `profile`]
        DURATION
        As in Linux; 0s: none.
    rtt_sampling: RTT samples: window, ack or sack [default: from `profile`]
        window|ack|sack
        window: one packet at a time. ack: every ACK of new data. sack: also packets newly reported
        in SACK blocks (tcp_sacktag_one of Linux); needs SACK.
    timestamps: Timestamps: retransmissions give RTT samples, too [default: from `profile`]
        on|off
        RFC 7323. Their 12 B are part of `headers`.
    timer_restart: ACKs that restart the retransmission timer: acked or sacked [default: from
        `profile`]
        acked|sacked
        acked: those of new data (RFC 6298). sacked: also those that report a packet in SACK blocks
        which left before the last transmission of the first outstanding packet (tcp_clean_rtx_queue
        of Linux); needs SACK.

Advanced: loss recovery:
    loss_detection: Loss detection: dupack or rack [default: from `profile`]
        dupack|rack
        dupack: by three duplicate ACKs, or three packets SACKed above (RFC 5681, 6675). rack: by
        time (RFC 8985); needs SACK.
    tail_loss_probe: Tail loss probe (TLP) [default: from `profile`]
        on|off
        RFC 8985, Sec. 7; needs RACK.
    f_rto: Undo spurious timeouts (F-RTO) [default: from `profile`]
        on|off
        RFC 5682; needs SACK.
    undo_recovery: Undo recoveries from packets that were late, not lost [default: from `profile`]
        on|off
        By the time that an ACK echoes (RFC 3522; tcp_packet_delayed of Linux); needs SACK and
        `timestamps`.
    limited_transmit: New data on the first two duplicate ACKs (RFC 3042) [default: from `profile`]
        on|off
    recovery: Transmission during fast recovery: halving, prr or prr-9937 [default: from `profile`]
        halving|prr|prr-9937
        halving: resumes when the data in flight fit the new window. prr: proportional rate
        reduction (RFC 6937). prr-9937: the same, with the extra segment only while recovery makes
        progress (RFC 9937; tcp_cwnd_reduction of Linux). Both need SACK.
    force_retransmit: First retransmission of a recovery ignores the window [default:
        from `profile`]
        on|off
        For controls with a window of their own in recovery (BBR); with PRR it always leaves.
    cut_from: Base of a window reduction: flight, window or cwnd [default: from `profile`]
        flight|window|cwnd
        flight: data in flight (RFC 5681). window: the smaller of cwnd and `rwnd` (ns-2). cwnd:
        cwnd; a timeout in a recovery does not cut again (tcp_reno_ssthresh, tcp_enter_loss of
        Linux).

Traffic and runs:
    loop: Repeat the trace whenever it ends; needs duration
        on|off
    offsets: Number of runs, each from its own start in the trace; not with seeds
        N[:random][:over=D]
        The starts are evenly spaced, or random (N:random), over all of the trace that leaves room
        for a run, or its first D (N:over=D). A run lasts for the duration, or until its bytes are
        delivered. Prints mean and 95 % interval by block bootstrap.
    flows: Number of identical flows [default: 1]
        N
    start: Start of the flows: a time, or a range for random times [default: 0s]
        TIME|FROM..TO
    bytes: Payload that each flow transfers [default: endless]
        SIZE
    duration: Length of a run [default: length of the trace]
        DURATION
    seed: Seed of all random numbers [default: 1]
        N
    seeds: Number of runs, with successive seeds [default: 1]
        N
        Prints mean and 95 % interval of every metric.
    flow: A flow with settings of its own; repeat for more flows; not with flows, start, bytes
        KEY=VALUE,…
        For example `cc=cubic,start=5s,bytes=1MB,terrestrial-rtt=20ms,class=7`. Packets of class 7
        go before those of class 0, the default, in a queue with priorities.

Input format:
    unit: Unit of the numbers in the trace [default: s in text; ns in integers of Arrow and Parquet]
        s|ms|us|ns
        Required for doubles in Arrow and Parquet whose names do not end in _s, _ms, _us or _ns.
    columns: Which columns of a foreign table are read [default: tx_time, decode_delay, attempts]
        KEY=COLUMN,…
        For example `tx=time,erased=lost`: the keys tx, delay, erased (0 or 1) and attempts select
        columns by name, or by number in a text without a header. delay=36ms is one delay for all
        received slots, interval=10ms the time between rows without times.
    allow_cut: Accept a trace that was cut
        on|off
        A head without an end line, for example from `head -100000 trace`, or a cut stream.
    replace_head: Let parameters replace other values in the head of the trace
        on|off
        Those of `rtt`, `lldu` and `lldu_header`, which are otherwise refused where they differ.
"""

def sweep(
    plan: str | os.PathLike[str] | dict[str, Any] | None = None,
    /,
    *,
    jobs: int | None = None,
    **axes: Any,
) -> pa.Table:
    """Run a plan: every combination of the values of its names, as `tmt sweep` does (docs/sweeps.md).

Returns a pyarrow.Table with one row per run and flow: what varies, run, seed, metrics, resolved parameters.

    plan: name of a file in TOML, or a dictionary with what such a file has
    jobs: threads [default: all cores]; the result does not depend on it

Every other argument gives a name its values, in place of those in the plan: a value as `tmt.tcp` takes it, a text that is a range
("1e-4..1e-2:log:5"), or a list of these. Names are the parameters of `tmt.tcp`, `model` and its parameters, and variables that
other values have as "{name}". With `scheme`, cells run as `tmt.apply` and then `tmt.tcp`. `zip` takes a list of names that vary
together, or a list of such lists; `stop` a rule such as "goodput_bps:2%,min=5".

`trace` takes names of files, a table, or a dictionary of tables by the names that the results have for them.

    tmt.sweep(trace={"suburb": suburb, "city": city}, scheme=["arq", "harq:10/12"], cc=["cubic", "bbr"], offsets=20)
    tmt.sweep("plan.toml", seeds=3)
    tmt.sweep(model="harq", nd=10, nr=range(1, 6), beta="0.5..0.9:5")

A cell that refuses its parameters is a row with the reason in `error`; the others run. The rows are in memory: studies of more
than some 100 000 runs, or of hours, are for `tmt sweep`, which keeps finished cells in a file and resumes.
"""

def read(
    trace: Trace,
    *,
    unit: Literal["s", "ms", "us", "ns"] | None = None,
    columns: str | dict[str, str] | None = None,
    interval: Duration | None = None,
    rate: str | None = None,
    lldu: str | None = None,
    allow_cut: bool = False,
    jobs: int | None = None,
) -> pa.Table:
    """Read a trace or timeline of any format that `tmt` reads into a pyarrow.Table, with its head and end line.

pyarrow reads Parquet and Arrow files, too, but loses the end line of an Arrow file, which distinguishes LLDUs that the end of the trace
left open from lost ones.

    trace: the name of a file, or a table
    unit: unit of numbers in columns whose names do not end in _s, _ms, _us or _ns: "s", "ms", "us" or "ns"
    columns: which columns are read, as in "tx=time,erased=lost" or {"tx": "time", "erased": "lost"}; the keys are tx, delay,
        erased and attempts; delay=36ms is one delay for all received slots
    interval: time between the rows of a table without times
    rate, lldu: rate of the slots of a table without times, and the size of one
    allow_cut: accept a trace that was cut
    jobs: threads [default: all cores]; the result does not depend on it
"""

def plot(
    source: Trace | dict[str, Any],
    *,
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    log_x: bool = False,
    log_y: bool = False,
    title: str = "",
    width: str | None = None,
    height: str | None = None,
) -> Picture:
    """Draw a table, a trace or a document as SVG, as `tmt plot` does (docs/plot.md).

Returns a Picture, which a notebook shows; its text is in `svg`. Without `x`, `y` and `by` the picture is that of the kind of the
table: results of `tmt.sweep` or `tmt.tcp`, a trace, a timeline, logs of `tmt tcp`.

    source: a table (any object with __arrow_c_stream__ or __arrow_c_array__), the name of a file, or a dictionary: a document
        of `tmt ... --json`
    x: column along the horizontal axis
    y: column along the vertical axis, or a list: a panel each
    by: column whose values make the series, or a list
    log_x, log_y: make the axes logarithmic
    title: title above the picture
    width, height: lengths with their unit, as in "85mm" or "640px"
"""
