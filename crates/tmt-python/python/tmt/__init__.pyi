"""Link-layer schemes (FEC, ARQ, HARQ) over PHY traces, TCP over the result, and what `tmt` says about both, on Arrow tables.

    trace = tmt.synth(scenario="internet-interleaved", duration="60s")
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

class Page:
    html: str
    def save(self, path: str | os.PathLike[str]) -> None: ...
    def _repr_html_(self) -> str: ...

class Document(dict[str, Any]):
    @property
    def params(self) -> dict[str, Any]: ...
    @property
    def results(self) -> Any: ...
    def to_json(self) -> str: ...
    def _repr_html_(self) -> str: ...

class Interrupted(KeyboardInterrupt):
    results: pa.Table
    def resume(self) -> pa.Table: ...

Value = str | int | float | timedelta | os.PathLike[str]

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
    terrestrial_rate: str | None = None,
    terrestrial_trace: Trace | None = None,
    terrestrial_queue: str | int | None = None,
    terrestrial_buffer: str | int | None = None,
    terrestrial_loss: str | int | None = None,
    far_rate: str | None = None,
    far_trace: Trace | None = None,
    far_queue: str | int | None = None,
    far_buffer: str | int | None = None,
    far_loss: str | int | None = None,
    split_window: Literal["whole", "share"] | None = None,
    split_announce: Literal["acks", "every"] | None = None,
    buffer: str | int | None = None,
    queue: str | int | None = None,
    queue_loss: str | int | None = None,
    return_loss: str | int | None = None,
    return_rate: str | None = None,
    return_buffer: str | int | None = None,
    return_trace: Trace | None = None,
    return_capacity: str | int | None = None,
    ack_filter: str | int | None = None,
    profile: Literal["ns2", "rfc", "linux"] | None = None,
    sack: bool | str | None = None,
    iw: int | str | None = None,
    ecn: bool | str | None = None,
    pacing: bool | str | None = None,
    rwnd: str | int | None = None,
    first_rwnd: str | int | None = None,
    window_validation: bool | str | None = None,
    idle_restart: Literal["off", "rfc5681", "linux"] | None = None,
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
--results` has it: `run`, metrics, parameters.

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
    terrestrial_rate: Rate of the terrestrial path, between the senders and the gateway [default:
        unlimited]
        RATE
        Its packets wait in a queue of their own (`terrestrial_queue`, `terrestrial_buffer`); that
        path comes after the delay of `terrestrial_rtt`.
    terrestrial_trace: PHY trace or timeline of the terrestrial path; not with terrestrial_rate
        FILE
        As `return_trace`, for packets of data. Without propagation: only the decoding delays of its
        LLDUs count.
    terrestrial_queue: Queue discipline of the terrestrial path [default: drop-tail]
        DISCIPLINE
        As `queue`.
    terrestrial_buffer: Size of its queue, packet in service included [default: 1bdp]
        Npkt|SIZE|Nbdp|inf
        As `buffer`; the BDP is that of its own rate: rate x (RTT + median decoding delay of the
        link).
    terrestrial_loss: Packet losses on the terrestrial path [default: none]
        PROCESS
        Takes the processes of `channel`; a packet is on air while it is sent at `terrestrial_rate`,
        else for an instant.
    far_rate: Rate of the far path, behind the link [default: unlimited]
        RATE
        Its packets wait in a queue of their own (`far_queue`, `far_buffer`), and are then at their
        receivers.
    far_trace: PHY trace or timeline of the far path; not with far_rate
        FILE
        As `return_trace`, for packets of data. Without propagation: only the decoding delays of its
        LLDUs count.
    far_queue: Queue discipline of the far path [default: drop-tail]
        DISCIPLINE
        As `queue`.
    far_buffer: Size of its queue, packet in service included [default: 1bdp]
        Npkt|SIZE|Nbdp|inf
        As `buffer`; the BDP is that of its own rate: rate x (RTT + median decoding delay of the
        link).
    far_loss: Packet losses on the far path [default: none]
        PROCESS
        Takes the processes of `channel`; a packet is on air while it is sent at `far_rate`, else
        for an instant.
    split_window: Free buffer space that the proxy advertises to each flow [default: share]
        whole|share
        whole: all of it. share: an equal share.
    split_announce: When the proxy announces free buffer space: acks or every [default: acks]
        acks|every
        acks: with its ACKs, and to a flow that has used all of its window. every: whenever a packet
        leaves the buffer, to each flow whose window grows.
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
    return_capacity: Capacity of the return path that a hub assigns [default: none]; not with
        return_rate, return_trace
        METHOD
        cra:rate=128kbps is a constant rate. rbdc:max=512kbps,frame=50ms[,cra=16kbps,rtt=700ms]
        requests a rate by what waits at the start of each frame; the assignment begins one RTT
        later. Names as in DVB-RCS2 (ETSI EN 301 545-2); the requests are a model of their own.
    ack_filter: Filter of ACKs in the queue before the return path [default: off]
        FILTER
        filter: a pure ACK takes the place of the one before it of its flow that waits (RFC 3449,
        Sec. 5.2.1). thin[:n=4,hold=100ms]: and waits until it is one for n. Duplicate ACKs, SACK
        blocks, D-SACKs, ECN echoes and window updates all pass. Needs a return path with a rate,
        trace or capacity.

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
    idle_restart: Window after an idle time above the RTO: off, rfc5681 or linux [default: from
        `profile`]
        off|rfc5681|linux
        For applications with pauses. rfc5681: at most the initial window (RFC 5681, Sec. 4.1).
        linux: halved for each RTO after the first (tcp_slow_start_after_idle). off: kept. BBR and
        fixed windows keep theirs.
    growth: What grows a window in Reno's way: acks or segments [default: from `profile`]
        acks|segments
        acks: each ACK, regardless of what it covers (RFC 5681). segments: each segment delivered,
        in whole segments (Linux: tcp_slow_start, tcp_cong_avoid_ai). For all but Hybla, BBR and
        fixed windows.
    cubic: Form of CUBIC: rfc9438 or linux [default: from `profile`]
        rfc9438|linux
        linux: whole segments, look-ahead by the smallest RTT, growth by at least 5 % a round before
        the first loss (bictcp_update of tcp_cubic.c).
    hystart: What ends CUBIC's slow start before a loss: off, rfc9406 or classic [default: from
        `profile`]
        off|rfc9406|classic
        rfc9406: HyStart++. classic: Linux's HyStart, by delay or ACK train (hystart_update of
        tcp_cubic.c). `cc="cubic:hystart=…"` has precedence.
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
        (tcp_comp_sack_delay_ns of Linux), and not beyond a change of a third range.

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
        0s: none. Above, the variance part of the RTO is that of tcp_rtt_estimator of Linux.
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
    force_retransmit: First retransmission of a recovery ignores the window [default: from
        `profile`]
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
        For example `cc=cubic,start=5s,bytes=1MB,terrestrial-rtt=20ms,class=7`, or
        `app=cbr(codec=g729)`. Packets of class 7 go before those of class 0, the default, in a
        queue with priorities. `tmt tcp --help` lists the applications.

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

Returns a pyarrow.Table with one row per run (`scope` is total) and one per run and flow (`scope` is flow): what varies, run, seed,
metrics, resolved parameters. The rows of flows are those of `tmt sweep`.

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

A cell that refuses its parameters is a row with the reason in `error`; the others run. Ctrl-C raises tmt.Interrupted, a
KeyboardInterrupt whose `results` has the rows of the cells that are finished; its `resume()` runs the others. The rows are in
memory: studies of more than some 100 000 runs are for `tmt sweep`, which keeps finished cells in a file.
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

def stats(
    trace: Trace,
    /,
    *,
    unit: Literal["s", "ms", "us", "ns"] | None = None,
    allow_cut: bool | None = None,
    columns: str | dict[str, str] | None = None,
    interval: Value | None = None,
    rate: Value | None = None,
    lldu: Value | None = None,
    rtt: Value | None = None,
    segments: bool | None = None,
    outage: Value | None = None,
    step_window: Value | None = None,
    grid: Value | None = None,
    rate_window: Value | None = None,
    rates: Value | None = None,
    resample: Value | None = None,
    block: Value | None = None,
    seed: Value | None = None,
    summary: Value | None = None,
    jobs: int | None = None,
) -> Document:
    """Statistics of a trace or timeline: erasures, bursts, delays, rate; as `tmt stats --json` prints them.

Returns a Document. `summary` and `rates` name files that are written as well.

    trace: Trace to read: text, Arrow or Parquet, the first two also as gzip or zstd; the format is
        detected from the content [default: stdin, as for `-`]

    unit: Unit of the numbers in columns whose names do not end in _s, _ms, _us or _ns; required for
        doubles in Arrow and Parquet [default: s in text; ns in integers of Arrow and Parquet]
    allow_cut: Accept a trace that was cut: a head without an end line, for example from `head
        -100000 trace`, or a cut stream
    columns: Which columns of a foreign table are read, e.g. tx=time,erased=lost: the keys tx,
        delay, erased (0 or 1) and attempts select columns by name, or by number in a text without a
        header; delay=36ms is one delay for all received slots [default: tx_time, decode_delay,
        attempts]
        KEY=COLUMN,…
    interval: Time between the rows of a table without times
        DURATION
    rate: Rate of the slots of a table without times; needs `lldu`
        RATE
    lldu: Size of an LLDU: for `rate`, and for the rate that stats prints [default: from the trace]
        LLDU
    rtt: RTT of the link, half of which is part of the one-way delay [default: from the trace]
        RTT
    segments: Search for outages and for handover candidates (steps of the delay), and compare both
        with a grid in time
    outage: An outage is a stretch between two deliveries that is longer than this [default: the
        larger of 100ms and 10 times the median slot period]
        DURATION
    step_window: A step is the difference of the medians of the delay in windows of this length
        before and after it [default: the larger of 1s and 20 times the median slot period]
        DURATION
    grid: Period of the grid [default: 15s, at which Starlink assigns satellites]
        DURATION
    rate_window: Length of the windows over which rates are taken, for traces of any kind [default:
        1s for capacity traces]
        DURATION
    rates: Write the rate of each window to a file: CSV, or the format of the extension: .csv.gz,
        .csv.zst, .parquet
        FILE
    resample: Print 95 % intervals, by drawing blocks of the trace N times (block bootstrap), e.g.
        200
        N
    block: Length of the blocks [default: of each figure by its correlation, Politis and White 2004]
        DURATION
    seed: Seed of what is drawn: the blocks of `resample`, and what chance gives on the grid of
        `segments` [default: 1]
        N
    summary: Write the results to a file too: JSON, or a row in the format of the extension (.csv,
        .csv.gz, .csv.zst, .parquet)
        FILE

Values are texts with their unit, as in rtt="500ms", numbers, True for a flag, or datetime.timedelta for a duration; a list
for what may be given more than once. None is not given. jobs: threads [default: all cores]; the result does not depend on it.
"""

def lint(
    trace: Trace | None = None,
    /,
    *,
    from_: Value | None = None,
    unit: Literal["s", "ms", "us", "ns"] | None = None,
    allow_cut: bool | None = None,
    columns: str | dict[str, str] | None = None,
    interval: Value | None = None,
    rate: Value | None = None,
    lldu: Value | None = None,
    delay: Value | None = None,
    loss: Value | None = None,
    delay_unit: Literal["s", "ms", "us", "ns"] | None = None,
    propagation: Value | None = None,
    decode_delay: Value | None = None,
    lost: Literal["0", "1"] | None = None,
    round_trip: bool | None = None,
    rtt: Value | None = None,
    packets: Value | None = None,
    direction: Literal["up", "down", "round-trip"] | None = None,
    spread: Literal["even", "random", "together"] | None = None,
    seed: Value | None = None,
    bandwidth: Value | None = None,
    bin: Value | None = None,
    sender: Value | None = None,
    receiver: Value | None = None,
    flow: Value | None = None,
    light: Value | None = None,
    heavy: Value | None = None,
    values: Literal["delay", "attenuation"] | None = None,
    step: Value | None = None,
    hold: bool | None = None,
    link: Value | None = None,
    jobs: int | None = None,
) -> Document:
    """Look for what is odd in a trace, or in a file of another tool before its conversion, as `tmt lint --json` does.

Returns a Document; `results["findings"]` lists what was found. A file that cannot be read to its end is a
warning.

    trace: File to look at: a trace or timeline in any form, or a file of another tool, compressed
        or not [default: stdin, also `-`]

    from_: Format of another tool; `tmt lint --from FORMAT --help` shows its options [default: by
        the content]
        FORMAT
    unit: Unit of the numbers in columns whose names do not end in _s, _ms, _us or _ns; required for
        doubles in Arrow and Parquet [default: s in text; ns in integers of Arrow and Parquet]
    allow_cut: Accept a trace that was cut: a head without an end line, for example from `head
        -100000 trace`, or a cut stream
    columns: Which columns of a foreign table are read, e.g. tx=time,erased=lost: the keys tx,
        delay, erased (0 or 1) and attempts select columns by name, or by number in a text without a
        header; delay=36ms is one delay for all received slots [default: tx_time, decode_delay,
        attempts]
        KEY=COLUMN,…
    interval: Time between the rows of a table without times
        DURATION
    rate: Rate of the slots of a table without times; needs `lldu`
        RATE
    lldu: Size of an LLDU: for `rate`, and for the rate that stats prints [default: from the trace]
        LLDU
    delay: delay-loss, leocc, leoreplayer, linkem: file of delays, `-` for stdin
        FILE
    loss: delay-loss, linkem: file of losses, `-` for stdin
        FILE
    delay_unit: delay-loss: unit of the delays [default: ns, as written by ebpf-trace-emu]
    propagation: delay-loss, ping, irtt, leocc, lens, pcap, cellreplay, leoreplayer, linkem,
        opensand, ns2: propagation P, removed from every delay: a duration, or `min` for the
        smallest delay of a received packet [default: min; a pipe needs a duration]
        DURATION
    decode_delay: delay-loss, mahimahi, crawdad, iperf3, sigfox, linkem, ns3: delay of received
        slots if the input contains no delays [default: 1ns]
        DURATION
    lost: delay-loss: digit that means lost: 1, or 0 as in Link'Em [default: 1]
    round_trip: delay-loss, ping: the delays are round trips; half of each is the one-way delay
    rtt: delay-loss, mahimahi, ping, crawdad, irtt, iperf3, leocc, lens, pcap, sigfox, cellreplay,
        leoreplayer, linkem, opensand, ns2, ns3: round-trip time of the link, written as `rtt_ns`
        [default: 2 P if P is known]
        DURATION
    packets: crawdad, ns3: number of packets sent, the first of which has number 0: those before the
        first and after the last one in the file are lost [default: unknown]
        N
    direction: irtt, lens: which packets are probes: those to the server (up), its answers (down),
        with one-way delays, which need synchronised clocks; or both (round-trip), with half of the
        round trip as the delay [default: round-trip]
    spread: iperf3: where the lost datagrams of an interval are put: at equal distances, at random,
        or in one burst at its start
    seed: iperf3: seed of `spread` random [default: 1]
        N
    bandwidth: leocc, leoreplayer: file of delivery opportunities, in ms, as of mahimahi; `-` for
        stdin
        FILE
    bin: leocc: time that a line of the delay file covers [default: 10ms, as in the traces of LeoCC]
        DURATION
    sender: pcap: capture at the sender
        FILE
    receiver: pcap: capture at the receiver, `-` for stdin
        FILE
    flow: pcap: which flow, by the bytes that the sender's capture has of it: 1 is the largest
        [default: 1]
        N
    light: cellreplay: file of trains (light), `-` for stdin
        FILE
    heavy: cellreplay: file of delivery opportunities (heavy), which then are the slots, `-` for
        stdin
        FILE
    values: opensand: what the file has: delay in ms, or attenuation in dB, which is no trace
    step: opensand: refresh period, which the first column counts
        DURATION
    hold: opensand: hold each delay until the next line instead of interpolating as OpenSAND does
    link: ns2: the link whose packets are taken, as the numbers of its nodes
        A-B

Values are texts with their unit, as in rtt="500ms", numbers, True for a flag, or datetime.timedelta for a duration; a list
for what may be given more than once. None is not given. jobs: threads [default: all cores]; the result does not depend on it.
"""

def fit(
    trace: Trace,
    /,
    *,
    unit: Literal["s", "ms", "us", "ns"] | None = None,
    allow_cut: bool | None = None,
    columns: str | dict[str, str] | None = None,
    interval: Value | None = None,
    rate: Value | None = None,
    lldu: Value | None = None,
    model: Literal["bernoulli", "simple-gilbert", "gilbert", "gilbert-elliott", "netem-state", "semi-markov", "all"] | None = None,
    period: Value | None = None,
    at_interval: Value | None = None,
    at_rate: Value | None = None,
    packet: Value | None = None,
    jobs: int | None = None,
) -> Document:
    """Fit models of losses to a trace, as `tmt fit --json` does.

Returns a Document; the first of `results["fits"]` is the best, and its process is the `channel` of
tmt.inject.

    trace: Trace to read: text, Arrow or Parquet, the first two also as gzip or zstd; the format is
        detected from the content [default: stdin, as for `-`]

    unit: Unit of the numbers in columns whose names do not end in _s, _ms, _us or _ns; required for
        doubles in Arrow and Parquet [default: s in text; ns in integers of Arrow and Parquet]
    allow_cut: Accept a trace that was cut: a head without an end line, for example from `head
        -100000 trace`, or a cut stream
    columns: Which columns of a foreign table are read, e.g. tx=time,erased=lost: the keys tx,
        delay, erased (0 or 1) and attempts select columns by name, or by number in a text without a
        header; delay=36ms is one delay for all received slots [default: tx_time, decode_delay,
        attempts]
        KEY=COLUMN,…
    interval: Time between the rows of a table without times
        DURATION
    rate: Rate of the slots of a table without times; needs `lldu`
        RATE
    lldu: Size of an LLDU: for `rate`, and for the rate that stats prints [default: from the trace]
        LLDU
    model: Model to fit, or all of them, the one of smallest BIC first [default: all]
    period: Period of reconfigurations whose losses are set apart, in whole seconds; `search` tries
        1s to 60s, `off` none [default: search]
        DURATION
    at_interval: Also give the parameters for slots at this interval, instead of the mean interval
        of the trace
        DURATION
    at_rate: Also give the parameters for a link of this rate, whose slots carry `packet` each
        RATE
    packet: Size of what a slot carries, for `at_rate`
        SIZE

Values are texts with their unit, as in rtt="500ms", numbers, True for a flag, or datetime.timedelta for a duration; a list
for what may be given more than once. None is not given. jobs: threads [default: all cores]; the result does not depend on it.
"""

def synth(
    *,
    rate: Value | None = None,
    lldu: Value | None = None,
    duration: Value | None = None,
    decode_delay: Value | None = None,
    rtt: Value | None = None,
    interleaver: Value | None = None,
    channel: Value | None = None,
    seed: Value | None = None,
    cn0: Value | None = None,
    channel_rate: Value | None = None,
    scenario: Value | None = None,
    es_n0: Value | None = None,
    set: Value | Sequence[Value] | dict[str, Value] | None = None,
    parameter_set: Value | None = None,
    all_users: bool | None = None,
    acm: Value | None = None,
    code: Value | None = None,
    error_curve: Value | None = None,
    clamp_curve: bool | None = None,
    fading_out: Value | None = None,
    fading_in: Value | None = None,
    fading_format: Value | None = None,
    fading_step: Value | None = None,
    fading_gap: Value | None = None,
    jobs: int | None = None,
) -> pa.Table:
    """Make a PHY trace of constant rate, or that of a named scenario, as `tmt synth` does.

Returns a pyarrow.Table: one row per slot, with the head and the end line in the metadata of its schema.

    rate: Rate of the slots, LLDU headers included
        RATE
    lldu: Size of an LLDU; a slot carries one
        SIZE
    duration: Length of the trace, which has every slot that starts before its end
        D
    decode_delay: Delay from the transmission of a slot to its decoding, without propagation
        D
    rtt: RTT of the link, stored for later stages as `rtt_ns`
        RTT
    interleaver: Depth of the physical-layer interleaver, stored for later stages as
        `interleaver_ns`
        INTERLEAVER
    channel: Erase slots by this process, NAME:KEY=VALUE,…, as `tmt inject --channel` does; `tmt
        inject --help` lists them
        PROCESS
    seed: Seed of `channel`, `cn0` and `scenario`, stored in the metadata [default: 1]
        SEED
    cn0: Carrier power over noise density, such as 72dBHz: lose the slots that a real decoder of
        `code` fails on, such as conv:3/4+rs:239/223. A slot is a codeword of the outer code, or an
        LLDU of the inner code alone; the rate is that of the information
        DBHZ
    channel_rate: Rate of the channel bits: symbols per second, times 1 for BPSK, 2 for QPSK
        RATE
    scenario: Write the slots of a named scenario; --list shows all
        NAME
    es_n0: Es/N0 of the unfaded signal, such as 6dB; as `set` es-n0=6dB
        DB
    set: Value of a parameter of the scenario; repeat for more. --show-parameters lists them
        KEY=VALUE
    parameter_set: Named values of some parameters, such as those of a fit
        NAME
    all_users: Write the slots of all users of a shared link; as `set` every=1, at the rate of the
        link
    acm: Adapt modulation and code to the Es/N0, one delay ago, less a margin: each slot carries the
        same LLDU, and takes the time that its MODCOD needs. TABLE is dvb-s2, one code such as
        dvb-s2:qpsk-1/2, or a CSV file, also compressed or - for stdin (docs/acm.md); further keys:
        average, period, hysteresis, symbol-rate
        TABLE[,margin=1dB,delay=RTT,…]
    code: Error curve of the code words by name, such as dvb-s2:qpsk-1/2; as `set` code=NAME.
        --list-codes shows all. With `cn0` a code that is really decoded
        NAME
    error_curve: Error curve of the code words from a file: lines of Es/N0 in dB and error rate, for
        QPSK
        FILE
    clamp_curve: Outside the error curve take the rate of its nearer end, instead of refusing
    fading_out: Write Es/N0 over time, as CSV or Parquet by the name of the file
        FILE
    fading_in: Take Es/N0 over time from a file instead of the model: what `fading_out` writes, or
        attenuation in dB, which is subtracted from Es/N0; also files of OpenSAND and SNS3
        FILE
    fading_format: Format of `fading_in` [default: by its content]
        csv|opensand|sns3
    fading_step: Time between the steps that an OpenSAND file counts; other files have times
        D
    fading_gap: Longest time between two rows of `fading_in` [default: ten times the median]
        D

Values are texts with their unit, as in rtt="500ms", numbers, True for a flag, or datetime.timedelta for a duration; a list
for what may be given more than once. None is not given. jobs: threads [default: all cores]; the result does not depend on it.
"""

def inject(
    trace: Trace,
    /,
    *,
    unit: Literal["s", "ms", "us", "ns"] | None = None,
    allow_cut: bool | None = None,
    columns: str | dict[str, str] | None = None,
    interval: Value | None = None,
    rate: Value | None = None,
    lldu: Value | None = None,
    channel: Value | None = None,
    bernoulli: Value | None = None,
    gilbert_elliott: Value | None = None,
    seed: Value | None = None,
    jobs: int | None = None,
) -> pa.Table:
    """Add erasures to a PHY trace, as `tmt inject` does.

Returns a pyarrow.Table: one row per slot, with the head and the end line in the metadata of its schema.

    trace: Trace to read: text, Arrow or Parquet, the first two also as gzip or zstd; the format is
        detected from the content [default: stdin, as for `-`]

    unit: Unit of the numbers in columns whose names do not end in _s, _ms, _us or _ns; required for
        doubles in Arrow and Parquet [default: s in text; ns in integers of Arrow and Parquet]
    allow_cut: Accept a trace that was cut: a head without an end line, for example from `head
        -100000 trace`, or a cut stream
    columns: Which columns of a foreign table are read, e.g. tx=time,erased=lost: the keys tx,
        delay, erased (0 or 1) and attempts select columns by name, or by number in a text without a
        header; delay=36ms is one delay for all received slots [default: tx_time, decode_delay,
        attempts]
        KEY=COLUMN,…
    interval: Time between the rows of a table without times
        DURATION
    rate: Rate of the slots of a table without times; needs `lldu`
        RATE
    lldu: Size of an LLDU: for `rate`, and for the rate that stats prints [default: from the trace]
        LLDU
    channel: Erasure process, NAME:KEY=VALUE,…; see the list below
        PROCESS
    bernoulli: Erase each slot with this probability, independently; short for `channel` bernoulli:P
        P
    gilbert_elliott: Short for `channel` gilbert-elliott:SPEC: two-state channel,
        `alpha=A,beta=B[,pg=PG,pb=PB][,start=S]`: persistence probabilities alpha=P(stay in good)
        and beta=P(stay in bad), erasure probabilities pg [default: 0] and pb [default: 1],
        start=stationary, good or bad [default: stationary]
        alpha=A,beta=B
    seed: Seed of the random numbers, stored in the metadata of the output [default: 1]
        SEED

Values are texts with their unit, as in rtt="500ms", numbers, True for a flag, or datetime.timedelta for a duration; a list
for what may be given more than once. None is not given. jobs: threads [default: all cores]; the result does not depend on it.
"""

@overload
def convert(
    trace: Trace | None = None,
    /,
    *,
    from_: Value | None = None,
    to: None = None,
    kind: Literal["capacity", "probe"] | None = None,
    strict: bool | None = None,
    delay: Value | None = None,
    loss: Value | None = None,
    interval: Value | None = None,
    delay_unit: Literal["s", "ms", "us", "ns"] | None = None,
    propagation: Value | None = None,
    decode_delay: Value | None = None,
    lost: Literal["0", "1"] | None = None,
    round_trip: bool | None = None,
    rtt: Value | None = None,
    lldu: Value | None = None,
    packets: Value | None = None,
    direction: Literal["up", "down", "round-trip"] | None = None,
    spread: Literal["even", "random", "together"] | None = None,
    seed: Value | None = None,
    bandwidth: Value | None = None,
    bin: Value | None = None,
    sender: Value | None = None,
    receiver: Value | None = None,
    flow: Value | None = None,
    light: Value | None = None,
    heavy: Value | None = None,
    values: Literal["delay", "attenuation"] | None = None,
    step: Value | None = None,
    hold: bool | None = None,
    link: Value | None = None,
    erased: Literal["leave-out", "keep"] | None = None,
    rescale: bool | None = None,
    to_heavy: Value | None = None,
    to_light: Value | None = None,
    train_every: Value | None = None,
    train: Value | None = None,
    add_propagation: Value | None = None,
    to_delay: Value | None = None,
    to_loss: Value | None = None,
    table: Literal["delay", "slot"] | None = None,
    loss_model: Literal["gemodel", "state", "random", "none"] | None = None,
    as_: Literal["list", "cpp"] | None = None,
    lines: Literal["window", "slot"] | None = None,
    window: Value | None = None,
    limit: Value | None = None,
    ingest: Literal["simple", "extended"] | None = None,
    output: Value | None = None,
    jobs: int | None = None,
) -> pa.Table:
    """Convert a trace of another tool to a PHY trace, or a PHY trace to a file of another tool, as `tmt convert` does.

Returns a pyarrow.Table: one row per slot. With `to` it returns the bytes of the file, or writes them to
`output`. tmt.formats() lists the formats.

    trace: mahimahi, ping, crawdad, irtt, iperf3, lens, sigfox, opensand, sns3, ns2, ns3: the trace
        [default: stdin, also `-`]

    from_: Format of the input; `tmt convert --from FORMAT --help` shows its options [default with
        `to`: a trace of tmt]
        FORMAT
    to: Format of the output; `tmt convert --to FORMAT --help` shows its options [default: a trace
        of tmt]
        FORMAT
    kind: Meaning of a row: a delivery opportunity of the link (capacity), or a sample of its delay
        and loss (probe) [default: by the format]
    strict: Refuse to convert if anything has to be assumed, or cannot be carried; reads the input
        twice
    delay: delay-loss, leocc, leoreplayer, linkem: file of delays, `-` for stdin
        FILE
    loss: delay-loss, linkem: file of losses, `-` for stdin
        FILE
    interval: delay-loss, ping, crawdad, irtt, sigfox, leoreplayer, linkem, ns3: time between two
        packets
        DURATION
    delay_unit: delay-loss: unit of the delays [default: ns, as written by ebpf-trace-emu]
    propagation: delay-loss, ping, irtt, leocc, lens, pcap, cellreplay, leoreplayer, linkem,
        opensand, ns2: propagation P, removed from every delay: a duration, or `min` for the
        smallest delay of a received packet [default: min; a pipe needs a duration]
        DURATION
    decode_delay: delay-loss, mahimahi, crawdad, iperf3, sigfox, linkem, ns3: delay of received
        slots if the input contains no delays [default: 1ns]
        DURATION
    lost: delay-loss: digit that means lost: 1, or 0 as in Link'Em [default: 1]
    round_trip: delay-loss, ping: the delays are round trips; half of each is the one-way delay
    rtt: delay-loss, mahimahi, ping, crawdad, irtt, iperf3, leocc, lens, pcap, sigfox, cellreplay,
        leoreplayer, linkem, opensand, ns2, ns3: round-trip time of the link, written as `rtt_ns`
        [default: 2 P if P is known]
        DURATION
    lldu: delay-loss, ping, crawdad, irtt, iperf3, lens, pcap, sigfox, cellreplay, leoreplayer,
        linkem, opensand, ns2, ns3, `to` mahimahi, `to` cellreplay, `to` netem, `to` theaterq: size
        of a packet, written as `lldu_bytes` and, with an interval, used for `rate_bps`
        SIZE
    packets: crawdad, ns3: number of packets sent, the first of which has number 0: those before the
        first and after the last one in the file are lost [default: unknown]
        N
    direction: irtt, lens: which packets are probes: those to the server (up), its answers (down),
        with one-way delays, which need synchronised clocks; or both (round-trip), with half of the
        round trip as the delay [default: round-trip]
    spread: iperf3: where the lost datagrams of an interval are put: at equal distances, at random,
        or in one burst at its start
    seed: iperf3: seed of `spread` random [default: 1]
        N
    bandwidth: leocc, leoreplayer: file of delivery opportunities, in ms, as of mahimahi; `-` for
        stdin
        FILE
    bin: leocc: time that a line of the delay file covers [default: 10ms, as in the traces of LeoCC]
        DURATION
    sender: pcap: capture at the sender
        FILE
    receiver: pcap: capture at the receiver, `-` for stdin
        FILE
    flow: pcap: which flow, by the bytes that the sender's capture has of it: 1 is the largest
        [default: 1]
        N
    light: cellreplay: file of trains (light), `-` for stdin
        FILE
    heavy: cellreplay: file of delivery opportunities (heavy), which then are the slots, `-` for
        stdin
        FILE
    values: opensand: what the file has: delay in ms, or attenuation in dB, which is no trace
    step: opensand: refresh period, which the first column counts
        DURATION
    hold: opensand: hold each delay until the next line instead of interpolating as OpenSAND does
    link: ns2: the link whose packets are taken, as the numbers of its nodes
        A-B
    erased: `to` mahimahi, `to` cellreplay: erased slots: leave-out, so that their packets wait, or
        keep, so that nothing is lost on them [default: leave-out]
    rescale: `to` mahimahi, `to` cellreplay: give one opportunity whenever the slots add up to its
        size, if slots have another size
    to_heavy: `to` cellreplay: file for the delivery opportunities, ms
        FILE
    to_light: `to` cellreplay: file for the trains: time, delay and opportunities, ms
        FILE
    train_every: `to` cellreplay: time between two trains of the light file [default: 200ms]
        DURATION
    train: `to` cellreplay: packets of a train: as many slots that are received from its time on,
        but before the next train [default: 10]
        N
    add_propagation: `to` cellreplay, `to` delay-loss, `to` netem, `to` theaterq: propagation that
        is added to every delay [default: `propagation_removed_ns` of the head, else half of
        `rtt_ns`]
        DURATION
    to_delay: `to` delay-loss: file for the delays, ns; 0 for a lost packet
        FILE
    to_loss: `to` delay-loss: file for the losses, 1 for a lost packet
        FILE
    table: `to` netem: what the table has: delay, one-way delays for `distribution`, or slot, times
        between slots for `slot distribution` [default: delay]
    loss_model: `to` netem: losses of the tc line: gemodel (two states), state (four states), random
        (independent) or none [default: gemodel]
    as_: `to` ns3: form of the list: list, numbers that a C++ initialiser list can include, or cpp,
        a snippet that makes the model [default: list]
    lines: `to` theaterq: a line per window, whose loss is drawn, or per slot, which is lost or not
        [default: window]
    window: `to` theaterq: length of the windows, whole microseconds [default: 100ms]
        DURATION
    limit: `to` theaterq: packets that the queue holds; 0: no limit [default: 1000]
        N
    ingest: `to` theaterq: form of the lines; extended has a ROUTE_ID, so that packets never
        overtake each other [default: simple]
    output: Output file [default: stdout, as for `-`]
        FILE

Values are texts with their unit, as in rtt="500ms", numbers, True for a flag, or datetime.timedelta for a duration; a list
for what may be given more than once. None is not given. jobs: threads [default: all cores]; the result does not depend on it.
"""

@overload
def convert(
    trace: Trace | None = None,
    /,
    *,
    from_: Value | None = None,
    to: Value,
    kind: Literal["capacity", "probe"] | None = None,
    strict: bool | None = None,
    delay: Value | None = None,
    loss: Value | None = None,
    interval: Value | None = None,
    delay_unit: Literal["s", "ms", "us", "ns"] | None = None,
    propagation: Value | None = None,
    decode_delay: Value | None = None,
    lost: Literal["0", "1"] | None = None,
    round_trip: bool | None = None,
    rtt: Value | None = None,
    lldu: Value | None = None,
    packets: Value | None = None,
    direction: Literal["up", "down", "round-trip"] | None = None,
    spread: Literal["even", "random", "together"] | None = None,
    seed: Value | None = None,
    bandwidth: Value | None = None,
    bin: Value | None = None,
    sender: Value | None = None,
    receiver: Value | None = None,
    flow: Value | None = None,
    light: Value | None = None,
    heavy: Value | None = None,
    values: Literal["delay", "attenuation"] | None = None,
    step: Value | None = None,
    hold: bool | None = None,
    link: Value | None = None,
    erased: Literal["leave-out", "keep"] | None = None,
    rescale: bool | None = None,
    to_heavy: Value | None = None,
    to_light: Value | None = None,
    train_every: Value | None = None,
    train: Value | None = None,
    add_propagation: Value | None = None,
    to_delay: Value | None = None,
    to_loss: Value | None = None,
    table: Literal["delay", "slot"] | None = None,
    loss_model: Literal["gemodel", "state", "random", "none"] | None = None,
    as_: Literal["list", "cpp"] | None = None,
    lines: Literal["window", "slot"] | None = None,
    window: Value | None = None,
    limit: Value | None = None,
    ingest: Literal["simple", "extended"] | None = None,
    output: Value | None = None,
    jobs: int | None = None,
) -> bytes | None:
    """Convert a trace of another tool to a PHY trace, or a PHY trace to a file of another tool, as `tmt convert` does.

Returns a pyarrow.Table: one row per slot. With `to` it returns the bytes of the file, or writes them to
`output`. tmt.formats() lists the formats.

    trace: mahimahi, ping, crawdad, irtt, iperf3, lens, sigfox, opensand, sns3, ns2, ns3: the trace
        [default: stdin, also `-`]

    from_: Format of the input; `tmt convert --from FORMAT --help` shows its options [default with
        `to`: a trace of tmt]
        FORMAT
    to: Format of the output; `tmt convert --to FORMAT --help` shows its options [default: a trace
        of tmt]
        FORMAT
    kind: Meaning of a row: a delivery opportunity of the link (capacity), or a sample of its delay
        and loss (probe) [default: by the format]
    strict: Refuse to convert if anything has to be assumed, or cannot be carried; reads the input
        twice
    delay: delay-loss, leocc, leoreplayer, linkem: file of delays, `-` for stdin
        FILE
    loss: delay-loss, linkem: file of losses, `-` for stdin
        FILE
    interval: delay-loss, ping, crawdad, irtt, sigfox, leoreplayer, linkem, ns3: time between two
        packets
        DURATION
    delay_unit: delay-loss: unit of the delays [default: ns, as written by ebpf-trace-emu]
    propagation: delay-loss, ping, irtt, leocc, lens, pcap, cellreplay, leoreplayer, linkem,
        opensand, ns2: propagation P, removed from every delay: a duration, or `min` for the
        smallest delay of a received packet [default: min; a pipe needs a duration]
        DURATION
    decode_delay: delay-loss, mahimahi, crawdad, iperf3, sigfox, linkem, ns3: delay of received
        slots if the input contains no delays [default: 1ns]
        DURATION
    lost: delay-loss: digit that means lost: 1, or 0 as in Link'Em [default: 1]
    round_trip: delay-loss, ping: the delays are round trips; half of each is the one-way delay
    rtt: delay-loss, mahimahi, ping, crawdad, irtt, iperf3, leocc, lens, pcap, sigfox, cellreplay,
        leoreplayer, linkem, opensand, ns2, ns3: round-trip time of the link, written as `rtt_ns`
        [default: 2 P if P is known]
        DURATION
    lldu: delay-loss, ping, crawdad, irtt, iperf3, lens, pcap, sigfox, cellreplay, leoreplayer,
        linkem, opensand, ns2, ns3, `to` mahimahi, `to` cellreplay, `to` netem, `to` theaterq: size
        of a packet, written as `lldu_bytes` and, with an interval, used for `rate_bps`
        SIZE
    packets: crawdad, ns3: number of packets sent, the first of which has number 0: those before the
        first and after the last one in the file are lost [default: unknown]
        N
    direction: irtt, lens: which packets are probes: those to the server (up), its answers (down),
        with one-way delays, which need synchronised clocks; or both (round-trip), with half of the
        round trip as the delay [default: round-trip]
    spread: iperf3: where the lost datagrams of an interval are put: at equal distances, at random,
        or in one burst at its start
    seed: iperf3: seed of `spread` random [default: 1]
        N
    bandwidth: leocc, leoreplayer: file of delivery opportunities, in ms, as of mahimahi; `-` for
        stdin
        FILE
    bin: leocc: time that a line of the delay file covers [default: 10ms, as in the traces of LeoCC]
        DURATION
    sender: pcap: capture at the sender
        FILE
    receiver: pcap: capture at the receiver, `-` for stdin
        FILE
    flow: pcap: which flow, by the bytes that the sender's capture has of it: 1 is the largest
        [default: 1]
        N
    light: cellreplay: file of trains (light), `-` for stdin
        FILE
    heavy: cellreplay: file of delivery opportunities (heavy), which then are the slots, `-` for
        stdin
        FILE
    values: opensand: what the file has: delay in ms, or attenuation in dB, which is no trace
    step: opensand: refresh period, which the first column counts
        DURATION
    hold: opensand: hold each delay until the next line instead of interpolating as OpenSAND does
    link: ns2: the link whose packets are taken, as the numbers of its nodes
        A-B
    erased: `to` mahimahi, `to` cellreplay: erased slots: leave-out, so that their packets wait, or
        keep, so that nothing is lost on them [default: leave-out]
    rescale: `to` mahimahi, `to` cellreplay: give one opportunity whenever the slots add up to its
        size, if slots have another size
    to_heavy: `to` cellreplay: file for the delivery opportunities, ms
        FILE
    to_light: `to` cellreplay: file for the trains: time, delay and opportunities, ms
        FILE
    train_every: `to` cellreplay: time between two trains of the light file [default: 200ms]
        DURATION
    train: `to` cellreplay: packets of a train: as many slots that are received from its time on,
        but before the next train [default: 10]
        N
    add_propagation: `to` cellreplay, `to` delay-loss, `to` netem, `to` theaterq: propagation that
        is added to every delay [default: `propagation_removed_ns` of the head, else half of
        `rtt_ns`]
        DURATION
    to_delay: `to` delay-loss: file for the delays, ns; 0 for a lost packet
        FILE
    to_loss: `to` delay-loss: file for the losses, 1 for a lost packet
        FILE
    table: `to` netem: what the table has: delay, one-way delays for `distribution`, or slot, times
        between slots for `slot distribution` [default: delay]
    loss_model: `to` netem: losses of the tc line: gemodel (two states), state (four states), random
        (independent) or none [default: gemodel]
    as_: `to` ns3: form of the list: list, numbers that a C++ initialiser list can include, or cpp,
        a snippet that makes the model [default: list]
    lines: `to` theaterq: a line per window, whose loss is drawn, or per slot, which is lost or not
        [default: window]
    window: `to` theaterq: length of the windows, whole microseconds [default: 100ms]
        DURATION
    limit: `to` theaterq: packets that the queue holds; 0: no limit [default: 1000]
        N
    ingest: `to` theaterq: form of the lines; extended has a ROUTE_ID, so that packets never
        overtake each other [default: simple]
    output: Output file [default: stdout, as for `-`]
        FILE

Values are texts with their unit, as in rtt="500ms", numbers, True for a flag, or datetime.timedelta for a duration; a list
for what may be given more than once. None is not given. jobs: threads [default: all cores]; the result does not depend on it.
"""

def audit(
    packets: Trace | dict[str, Any] | None = None,
    /,
    *,
    timeline: Trace | None = None,
    slots: Trace | None = None,
    terrestrial_trace: Trace | None = None,
    far_trace: Trace | None = None,
    jobs: int | None = None,
) -> Document:
    """Check the packet log of a TCP run independently of the simulator, as `tmt audit --json` does.

Returns a Document; a rule that is broken is also a warning.

    packets: Packet log of `tmt tcp --packets`: text, also as gzip or zstd, or Parquet; the format
        is detected from the content [default: stdin, as for `-`]

    timeline: Timeline of the run
        TIMELINE
    slots: Slot log of the same run, from `tmt tcp --slots`, in the same formats
        SLOTS
    terrestrial_trace: PHY trace or timeline that the hop before the gateway followed
        FILE
    far_trace: PHY trace or timeline that the hop behind the link followed
        FILE

Values are texts with their unit, as in rtt="500ms", numbers, True for a flag, or datetime.timedelta for a duration; a list
for what may be given more than once. None is not given. jobs: threads [default: all cores]; the result does not depend on it.
"""

def report(
    *results: Trace | dict[str, Any],
    packets: Trace | None = None,
    series: Trace | None = None,
    compare: bool | None = None,
    title: Value | None = None,
    jobs: int | None = None,
) -> Page:
    """Make an HTML page of results, of one run, or of two studies, as `tmt report` does.

Returns a Page, which a notebook shows; its text is in `html`, and `save(path)` writes it.

    results: Table or JSON document that tmt has written, or the timeline of the run of `packets`;
        the format is detected from the content [default: stdin, as for `-`]

    packets: Make the page of one run: its packet log, as `tmt tcp --packets` writes it
        FILE
    series: Series of the run over time, as `tmt tcp --series` writes them
        FILE
    compare: Compare two tables of results: the second with the first, regressions first
    title: Title of the page [default: from the name of the file]
        TEXT

Values are texts with their unit, as in rtt="500ms", numbers, True for a flag, or datetime.timedelta for a duration; a list
for what may be given more than once. None is not given. jobs: threads [default: all cores]; the result does not depend on it.
"""

def advise(
    trace: Trace | None = None,
    /,
    *,
    link: Value | None = None,
    rtt: Value | None = None,
    packet: Value | None = None,
    headers: Value | None = None,
    rate: Value | None = None,
    loss: Value | None = None,
    overlap: Value | None = None,
    lldu: Value | None = None,
    lldu_header: Value | None = None,
    packing: Value | None = None,
    channel: Value | None = None,
    feedback_delay: Value | None = None,
    feedback_loss: Value | None = None,
    feedback_timer: Value | None = None,
    tail: Value | None = None,
    in_order: Value | None = None,
    hold: Value | None = None,
    path: Value | None = None,
    terrestrial_rtt: Value | None = None,
    terrestrial_rate: Value | None = None,
    terrestrial_trace: Trace | None = None,
    terrestrial_queue: Value | None = None,
    terrestrial_buffer: Value | None = None,
    terrestrial_loss: Value | None = None,
    far_rate: Value | None = None,
    far_trace: Trace | None = None,
    far_queue: Value | None = None,
    far_buffer: Value | None = None,
    far_loss: Value | None = None,
    split_window: Value | None = None,
    split_announce: Value | None = None,
    buffer: Value | None = None,
    queue: Value | None = None,
    queue_loss: Value | None = None,
    return_loss: Value | None = None,
    return_rate: Value | None = None,
    return_buffer: Value | None = None,
    return_trace: Trace | None = None,
    return_capacity: Value | None = None,
    ack_filter: Value | None = None,
    profile: Value | None = None,
    sack: Value | None = None,
    iw: Value | None = None,
    ecn: Value | None = None,
    pacing: Value | None = None,
    rwnd: Value | None = None,
    first_rwnd: Value | None = None,
    window_validation: Value | None = None,
    idle_restart: Value | None = None,
    growth: Value | None = None,
    cubic: Value | None = None,
    hystart: Value | None = None,
    bbr_min_rtt: Value | None = None,
    bbr_quantum: Value | None = None,
    handshake: Value | None = None,
    cc: Value | None = None,
    delayed_ack: Value | None = None,
    delayed_ack_timer: Value | None = None,
    quick_acks: Value | None = None,
    quick_while_growing: Value | None = None,
    sack_compression: Value | None = None,
    first_rto: Value | None = None,
    min_rto: Value | None = None,
    max_rto: Value | None = None,
    rto_tick: Value | None = None,
    rto_margin: Value | None = None,
    rtt_sampling: Value | None = None,
    timestamps: Value | None = None,
    timer_restart: Value | None = None,
    loss_detection: Value | None = None,
    tail_loss_probe: Value | None = None,
    f_rto: Value | None = None,
    undo_recovery: Value | None = None,
    limited_transmit: Value | None = None,
    recovery: Value | None = None,
    force_retransmit: Value | None = None,
    cut_from: Value | None = None,
    flows: Value | None = None,
    start: Value | None = None,
    bytes: Value | None = None,
    duration: Value | None = None,
    seed: Value | None = None,
    flow: Value | Sequence[Value] | dict[str, Value] | None = None,
    unit: Value | None = None,
    columns: str | dict[str, str] | None = None,
    allow_cut: bool | None = None,
    replace_head: bool | None = None,
    scenario: Value | None = None,
    interval: Value | None = None,
    objective: Value | None = None,
    candidates: Value | Sequence[Value] | dict[str, Value] | None = None,
    starts: Value | None = None,
    seeds: Value | None = None,
    fresh: Value | None = None,
    exhaustive: bool | None = None,
    jobs: int | None = None,
) -> Document:
    """Find the best scheme for a link, as `tmt advise --json` does.

Returns a Document; `results["winner"]` is the winner.

    trace: PHY trace: text, Arrow or Parquet [default: stdin, also `-`]

    link: Link model: timeline or coupled [default: timeline]
        MODEL
    rtt: Link RTT, propagation only [default: from the trace, else 500ms]
        DURATION
    packet: Size of a packet [default: 1500B]
        SIZE
    headers: Headers of a packet, IP and TCP, part of its size [default: ns2 40B, rfc 40B, linux
        52B]
        SIZE
    rate: Rate of a synthetic link, or of the slots of `channel`
        RATE
    loss: Packet losses of a synthetic link [default: none]
        PROCESS
    overlap: Delivery of packets whose LLDUs overlap: asap or shift [default: asap]
        asap|shift
    lldu: Size of an LLDU [default: from the trace, else 33B]
        SIZE
    lldu_header: Header of an LLDU, part of its size [default: from the trace, else 1B]
        SIZE
    packing: Packing of packets and ACKs into LLDUs: packet or bytes [default: bytes for traces from
        mahimahi, else packet]
        packet|bytes
    channel: Channel that generates slots instead of a PHY trace
        PROCESS
    feedback_delay: Extra delay of a coupled link's feedback [default: decode]
        DURATION|decode|interleaver
    feedback_loss: Probability that the feedback of an attempt is lost [default: 0]
        P
    feedback_timer: Time from the last unit of an attempt to a repeat without feedback [default: 2 x
        (RTT + feedback delay)]
        DURATION
    tail: Last codeword of a packet: short or pad [default: short]
        short|pad
    in_order: Order of delivery on a coupled link [default: off]
        link|flow|off
    hold: Time at which a packet leaves the queue of a coupled link: sent or acknowledged [default:
        sent, or acknowledged on a split path]
        sent|acknowledged
    path: Path of the ACKs: e2e or split [default: e2e]
        e2e|split
    terrestrial_rtt: RTT between the senders and the gateway [default: 0s]
        DURATION
    terrestrial_rate: Rate of the terrestrial path, between the senders and the gateway [default:
        unlimited]
        RATE
    terrestrial_trace: PHY trace or timeline of the terrestrial path
        FILE
    terrestrial_queue: Queue discipline of the terrestrial path [default: drop-tail]
        DISCIPLINE
    terrestrial_buffer: Size of its queue, packet in service included [default: 1bdp]
        Npkt|SIZE|Nbdp|inf
    terrestrial_loss: Packet losses on the terrestrial path [default: none]
        PROCESS
    far_rate: Rate of the far path, behind the link [default: unlimited]
        RATE
    far_trace: PHY trace or timeline of the far path
        FILE
    far_queue: Queue discipline of the far path [default: drop-tail]
        DISCIPLINE
    far_buffer: Size of its queue, packet in service included [default: 1bdp]
        Npkt|SIZE|Nbdp|inf
    far_loss: Packet losses on the far path [default: none]
        PROCESS
    split_window: Free buffer space that the proxy advertises to each flow [default: share]
        whole|share
    split_announce: When the proxy announces free buffer space: acks or every [default: acks]
        acks|every
    buffer: Size of the queue, packet in service included [default: 1bdp]
        Npkt|SIZE|Nbdp|inf
    queue: Queue discipline [default: drop-tail]
        DISCIPLINE
    queue_loss: Packets that are dropped on arrival at the queue [default: none]
        PROCESS
    return_loss: Losses of ACKs on the return path [default: none]
        PROCESS
    return_rate: Rate of the return path of the ACKs [default: unlimited]
        RATE
    return_buffer: Size of the queue before it, ACK in service included [default: 1bdp]
        Npkt|SIZE|Nbdp|inf
    return_trace: PHY trace or timeline of the return path
        FILE
    return_capacity: Capacity of the return path that a hub assigns [default: none]
        METHOD
    ack_filter: Filter of ACKs in the queue before the return path [default: off]
        FILTER
    profile: Settings of both hosts [default: linux]
        ns2|rfc|linux
    sack: Selective ACKs [default: on]
        on|off
    iw: Initial window, segments [default: ns2 2, rfc 10, linux 10]
        N
    ecn: Explicit congestion notification [default: off]
        on|off
    pacing: Pacing: spread packets over the RTT [default: off]
        on|off
    rwnd: Largest window advertised by the receiver [default: ns2 unlimited, rfc 6291456B, linux
        20000000B]
        SIZE|Npkt|unlimited
    first_rwnd: Window for which the receive buffer has room at first [default: ns2 unlimited, rfc
        unlimited, linux 80000B]
        SIZE|Npkt|unlimited
    window_validation: Grow the window only while it limits the sender [default: ns2 off, rfc off,
        linux on]
        on|off
    idle_restart: Window after an idle time above the RTO: off, rfc5681 or linux [default: ns2 off,
        rfc rfc5681, linux linux]
        off|rfc5681|linux
    growth: What grows a window in Reno's way: acks or segments [default: ns2 acks, rfc acks, linux
        segments]
        acks|segments
    cubic: Form of CUBIC: rfc9438 or linux [default: ns2 rfc9438, rfc rfc9438, linux linux]
        rfc9438|linux
    hystart: What ends CUBIC's slow start before a loss: off, rfc9406 or classic [default: ns2 off,
        rfc off, linux classic]
        off|rfc9406|classic
    bbr_min_rtt: RTT that renews bbr1's smallest: equal or smaller [default: ns2 equal, rfc equal,
        linux smaller]
        equal|smaller
    bbr_quantum: Quantum of bbr1: segment or tso [default: ns2 segment, rfc segment, linux tso]
        segment|tso
    handshake: Handshake: one RTT before the first data [default: off]
        on|off
    cc: Congestion control, e.g. cubic:beta=0.8 [default: cubic]
        CC
    delayed_ack: In-order packets per ACK; off: one [default: ns2 off, rfc 2, linux 2]
        off|N
    delayed_ack_timer: Longest delay of an ACK [default: ns2 100ms, rfc 100ms, linux 40ms]
        DURATION
    quick_acks: ACKs at the start of a connection that are not delayed [default: ns2 0, rfc 0, linux
        16]
        N
    quick_while_growing: No delayed ACKs while the receive window opens [default: ns2 off, rfc off,
        linux on]
        on|off
    sack_compression: Longest delay of ACKs that only add to SACK blocks; 0s: none [default: ns2 0s,
        rfc 0s, linux 1ms]
        DURATION
    first_rto: RTO before the first RTT sample [default: ns2 3s, rfc 1s, linux 1s]
        DURATION
    min_rto: Smallest RTO [default: ns2 200ms, rfc 1s, linux 200ms]
        DURATION
    max_rto: Largest RTO [default: ns2 60s, rfc 60s, linux 120s]
        DURATION
    rto_tick: Clock granularity of RTT samples and RTO; 0ns: none [default: ns2 10ms, rfc 0s, linux
        0s]
        DURATION
    rto_margin: Least difference between RTO and smoothed RTT [default: ns2 0s, rfc 0s, linux 200ms]
        DURATION
    rtt_sampling: RTT samples: window, ack or sack [default: ns2 window, rfc ack, linux sack]
        window|ack|sack
    timestamps: Timestamps: retransmissions give RTT samples, too [default: ns2 off, rfc off, linux
        on]
        on|off
    timer_restart: ACKs that restart the retransmission timer: acked or sacked [default: ns2 acked,
        rfc acked, linux sacked]
        acked|sacked
    loss_detection: Loss detection: dupack or rack [default: ns2 dupack, rfc dupack, linux rack]
        dupack|rack
    tail_loss_probe: Tail loss probe (TLP) [default: ns2 off, rfc off, linux on]
        on|off
    f_rto: Undo spurious timeouts (F-RTO) [default: ns2 off, rfc off, linux on]
        on|off
    undo_recovery: Undo recoveries from packets that were late, not lost [default: ns2 off, rfc off,
        linux on]
        on|off
    limited_transmit: New data on the first two duplicate ACKs (RFC 3042) [default: on]
        on|off
    recovery: Transmission during fast recovery: halving, prr or prr-9937 [default: ns2 halving, rfc
        prr, linux prr-9937]
        halving|prr|prr-9937
    force_retransmit: First retransmission of a recovery ignores the window [default: ns2 on, rfc
        on, linux off]
        on|off
    cut_from: Base of a window reduction: flight, window or cwnd [default: ns2 window, rfc flight,
        linux cwnd]
        flight|window|cwnd
    flows: Number of identical flows [default: 1]
        N
    start: Start of the flows: a time, or a range for random times [default: 0s]
        TIME|FROM..TO
    bytes: Payload that each flow transfers [default: endless; 100kB for `objective` page-time]
        SIZE
    duration: Length of a run, and of a transfer at most; of the slots with `channel` [default: a
        quarter of the trace]
        DURATION
    seed: Seed of all random numbers [default: 1]
        N
    flow: A flow with settings of its own; repeat for more flows
        KEY=VALUE,…
    unit: Unit of the numbers in the trace [default: s in text; ns in integers of Arrow and Parquet]
        s|ms|us|ns
    columns: Which columns of a foreign table are read [default: tx_time, decode_delay, attempts]
        KEY=COLUMN,…
    allow_cut: Accept a trace that was cut
    replace_head: Let parameters replace other values in the head of the trace
    scenario: Named link with its channel, as `channel` scenario:NAME; `tmt synth --list` has all
        NAME
    interval: Time between the rows of a table without times, as interval in `columns`
        DURATION
    objective: Objective: goodput, page-time, p99-delay or efficiency [default: goodput]
        OBJECTIVE
    candidates: Schemes to choose from, e.g. arq,in-order,harq:10/11..20:10; repeat for more
        LIST
    starts: Runs in the trace for each scheme, from evenly spaced starts [default: 16, or 64 with
        `bytes`]
        N
    seeds: Runs over the channel for each scheme, with successive seeds [default: 8, or 16 with
        `bytes`]
        N
    fresh: Runs of the best schemes on seeds or starts that the search has not seen, at least
        [default: 64]
        N
    exhaustive: Run every candidate completely: nothing is pruned or dropped by the race

Values are texts with their unit, as in rtt="500ms", numbers, True for a flag, or datetime.timedelta for a duration; a list
for what may be given more than once. None is not given. jobs: threads [default: all cores]; the result does not depend on it.
"""

def reproduce(
    *figures: str | os.PathLike[str],
    all: bool | None = None,
    set: Value | Sequence[Value] | dict[str, Value] | None = None,
    seeds: Value | None = None,
    duration: Value | None = None,
    resume: bool | None = None,
    jobs: int | None = None,
) -> Document:
    """Run tables or figures of papers, published beside ours, as `tmt reproduce --json` does.

Returns a Document. tmt.figures() lists the names; rows that are off are a warning.

    figures: Names of --list, or files in TOML (docs/figures.md)

    all: All of --list but those that are open or too long; a warning names the latter
    set: Change a setting: a name of the plan, as for tmt sweep, with its values; repeat for more
        NAME=VALUES
    seeds: Runs per point, or traces where a run has starts in one [default: by figure]
        N
    duration: Length of each run [default: by figure]
        DURATION
    resume: Go on with an interrupted command: take the runs that are finished

Values are texts with their unit, as in rtt="500ms", numbers, True for a flag, or datetime.timedelta for a duration; a list
for what may be given more than once. None is not given. jobs: threads [default: all cores]; the result does not depend on it.
"""

def model(
    name: str,
    /,
    *,
    jobs: int | None = None,
    **keys: Value | Sequence[Value],
) -> Document:
    """Evaluate a closed form at a point, or at several, as `tmt model --json` does.

Returns a Document: `results` is one point, or a list of them. A key takes a value, a list of values, or a range such as
"0.1..0.9:5"; with several keys of several values, every combination is a point. tmt.models() has the keys of each.

    name: name of the form, see below

Closed forms:
    ge: Gilbert–Elliott channel: state and erasure probabilities, run lengths, also after an interleaver
    ge-dist: Distribution P(m, n) of the number of erasures in n consecutive LLDUs
    fec: FEC and interleaved FEC: efficiency, residual loss, recovery delay
    arq: ARQ with unlimited rounds: efficiency and delay
    harq: HARQ-II for any R and NS: efficiency, LLDUs sent, residual loss, delay
    frame-arq: Frame ARQ: efficiency, residual loss and delay of codewords that are repeated as a whole
    conv: Bit error rate after a Viterbi decoder of the K=7 convolutional code, by the union bound
    rs-block: How often a Reed-Solomon block cannot be corrected
    ser: Segment error rate in white noise under a code
    ser-required: Signal strength needed for a segment error rate under a code
    linkbudget: Bit rates of a carrier and energies of its bits
    ser-measured: Error rates of a code that is really encoded and decoded, over white noise
    ser-required-measured: Signal strength needed for a segment error rate by a code that is really decoded
    pftk: Rate of a long-lived TCP connection from packet loss and round-trip time
    barakat: Long-lived TCP over a link with FEC and selective-repeat ARQ: throughput and round trip
    barakat-nopt: The frame length N that uses a full link best if frames are repeated until they arrive
    congestion: Goodput of long-lived connections that lose segments at the full buffer only
    relation15: Goodput of long-lived connections under random loss on a link that never fills
    tgep: Goodput of long-lived connections under congestion and random loss, by fluid Monte-Carlo
    envelope: The code and modulation with the highest TCP goodput at a C/N0
    code-goodput: TCP goodput with one code and modulation at a C/N0
    code-best: The best code and modulation at a C/N0 and its margin, by closed forms or decoded
    code-order: Which of two groups of codes is better at a C/N0, by closed forms or decoded
    sr-arq-delay: Mean time until the slowest of k packets arrives, with unlimited selective repeat
    window-time: Mean time until a TCP window is acknowledged over selective-repeat ARQ with in-order delivery
    zhu: Throughput of TCP end to end over selective-repeat ARQ with in-order delivery
    split: Throughput of TCP split by a proxy before a satellite link with selective-repeat ARQ
    fading: Upper bounds for TCP end to end and split over a satellite link that fades
    e-model: Quality of a call from its delay and its losses
"""

def models(
) -> Document:
    """List the closed forms with their keys and results, as `tmt model --list --json` does. Returns a Document."""

def figures(
) -> Document:
    """List the tables and figures of papers, as `tmt reproduce --list --json` does. Returns a Document."""

def formats(
) -> Document:
    """List the formats of other tools, as `tmt convert --list --json` does. Returns a Document."""

def codes(
) -> Document:
    """List the error curves of codes, as `tmt synth --list-codes --json` does. Returns a Document."""

def scenarios(
    name: str | None = None,
    /,
    *,
    set: dict[str, Value] | None = None,
    parameter_set: str | None = None,
) -> Document:
    """List the named links with their channels, as `tmt synth --list --json` does, or the parameters of one. Returns a Document.

    name: name of a scenario, whose parameters are listed with their values and defaults
    set: values of parameters, a dictionary
    parameter_set: named values of some parameters, such as those of a fit
"""

def show_progress(
    how: bool = True,
) -> None:
    """Show the progress of calls that take longer than a second, or not.

It is a line on stderr, if that is a terminal, and a bar below the cell in a notebook, and goes when the call ends.

    how: False shows none
"""
