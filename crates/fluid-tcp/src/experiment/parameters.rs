//! The parameters of an experiment, each described once.
//!
//! Flags, help, parameter files and the `params` of JSON derive from this list. Its order is that of `params`.

mod descriptor;

use tmt_core::channel::SlotChannel;
use tmt_core::format::{Columns, Unit};
use tmt_core::scheme::SchemeSpec;
use tmt_core::types::{BitRate, Bytes, Span};

use super::setting::Setting;
use super::values::{
    BufferSize, Count, Count32, DelayedAck, FlowSpec, LinkKind, Offsets, PathKind, Probability,
    ReceiverWindow, Start,
};
use crate::congestion::{Algorithm, CubicForm, Growth, HystartForm, MinRttRenewal, Quantum};
use crate::endpoint::{
    CutFrom, Endpoint, IdleRestart, LossDetection, Profile, Recovery, RttSampling, TimerRestart,
};
use crate::simulation::{AckFilter, SplitAnnounce, SplitWindow};
use tmt_link::apply::FeedbackDelay;
use tmt_link::hop::Access as ReturnCapacity;
use tmt_link::queue::Discipline;
use tmt_link::{Hold, InOrder, Overlap, Packing, Tail};

use descriptor::Access;
pub use descriptor::{Fallback, Group, Parameter};

/// Largest number of runs of one experiment.
pub const MAX_RUNS: u64 = 100_000;

/// Largest seed. Seeds are below 2^63.
const LAST_SEED: u64 = (1 << 63) - 2;

/// Defines the fields of [`Experiment`] and [`PARAMETERS`]: field, type and help of each parameter.
///
/// `= value` gives a default. `in field` marks a setting of an [`Endpoint`], whose default the profile gives.
macro_rules! parameters {
    ($($field:ident: $type:ty $(= $default:expr)? $(, in $($endpoint:ident).+)?; $help:literal => $parameter:expr;)+) => {
        /// Parameters of one or several runs. A parameter that is not given is `None`.
        ///
        /// [`Experiment::resolve`] fills in defaults, the profile's values and those of the trace.
        #[derive(Debug, Clone, Default)]
        pub struct Experiment {
            $(#[doc = $help] pub $field: Option<$type>,)+
        }

        /// All parameters, in the order of `params` in JSON.
        pub static PARAMETERS: &[Parameter] = &[
            $(Parameter {
                help: $help,
                access: Access {
                    set: |experiment, texts| {
                        experiment.$field = Setting::read_all(texts)?;
                        Ok(())
                    },
                    texts: |experiment| experiment.$field.as_ref().map(Setting::texts),
                    json: |experiment| experiment.$field.as_ref().map(Setting::json),
                    take: |experiment, other| experiment.$field = other.$field.take(),
                },
                ..$parameter.keyed(stringify!($field), <$type as Setting>::KIND)
            },)+
        ];

        impl Experiment {
            /// An experiment with the defaults that do not depend on profile or trace.
            #[must_use]
            pub fn defaults() -> Self {
                Self {
                    $($($field: Some($default),)?)+
                    ..Self::default()
                }
            }

            $($(
                #[doc = concat!($help, ": the value given, or the default.")]
                #[must_use]
                pub fn $field(&self) -> $type {
                    self.$field.clone().unwrap_or_else(|| $default)
                }
            )?)+

            /// An experiment with the host settings of `profile`.
            #[must_use]
            pub fn of_profile(profile: Profile) -> Self {
                let mut experiment = Self::default();
                experiment.read_endpoint(&profile.endpoint());
                experiment.rwnd = Some(profile.into());
                experiment.first_rwnd = Some(ReceiverWindow::first_of(profile));
                experiment
            }

            /// Copies all settings from `endpoint`.
            pub(super) fn read_endpoint(&mut self, endpoint: &Endpoint) {
                $($(self.$field = Some(endpoint.$($endpoint).+.into());)?)+
            }

            /// Overwrites the settings of `endpoint` that are given here.
            pub(super) fn write_endpoint(&self, endpoint: &mut Endpoint) {
                $($(if let Some(value) = self.$field {
                    endpoint.$($endpoint).+ = value.into();
                })?)+
            }
        }
    };
}

const fn new(group: Group) -> Parameter {
    Parameter::new(group)
}

parameters! {
    trace: String; "Trace to read: text, Arrow or Parquet" =>
        new(Group::Link).basic().not_shown().otherwise("stdin", "").placeholder("TRACE")
        .detail("Text and Arrow also as gzip or zstd. The format is detected from the content. `-` is stdin.");
    link: LinkKind = LinkKind::default(); "Link model: timeline, coupled or synthetic" =>
        new(Group::Link).basic().value("").placeholder("MODEL")
        .detail("timeline replays the output of `tmt apply`; coupled runs --scheme on a PHY trace with the actual \
                 queue; synthetic has a constant rate.");
    rtt: Span; "Link RTT, propagation only" =>
        new(Group::Link).basic().otherwise("from the trace, else 500ms", "a GEO link");
    path: PathKind = PathKind::default(); "Path of the ACKs: e2e or split" =>
        new(Group::QueueAndPath).value("")
        .detail("e2e: the receiver acknowledges. split: a proxy at the gateway acknowledges at once and keeps a packet until \
                 the link has delivered it.");
    terrestrial_rtt: Span = Span::ZERO; "RTT between the senders and the gateway" =>
        new(Group::QueueAndPath).value("").detail("Added to the RTT of the link.");
    terrestrial_rate: BitRate; "Rate of the terrestrial path, between the senders and the gateway" =>
        new(Group::QueueAndPath).otherwise("unlimited", "")
        .detail("Its packets wait in a queue of their own (--terrestrial-queue, --terrestrial-buffer); that path comes after the delay of --terrestrial-rtt.");
    terrestrial_trace: String; "PHY trace or timeline of the terrestrial path" =>
        new(Group::QueueAndPath).excludes(&["terrestrial_rate"]).not_shown()
        .detail("As --return-trace, for packets of data. Without propagation: only the decoding delays of its LLDUs count.");
    terrestrial_queue: Discipline = Discipline::default(); "Queue discipline of the terrestrial path" =>
        new(Group::QueueAndPath).value("").detail("As --queue.");
    terrestrial_buffer: BufferSize = BufferSize::Bdp(1.0); "Size of its queue, packet in service included" =>
        new(Group::QueueAndPath).value("")
        .detail("As --buffer; the BDP is that of its own rate: rate x (RTT + median decoding delay of the link).");
    terrestrial_loss: SlotChannel; "Packet losses on the terrestrial path" =>
        new(Group::QueueAndPath).otherwise("none", "")
        .detail("Takes the processes of --channel; a packet is on air while it is sent at --terrestrial-rate, else for an instant.");
    far_rate: BitRate; "Rate of the far path, behind the link" =>
        new(Group::QueueAndPath).otherwise("unlimited", "")
        .detail("Its packets wait in a queue of their own (--far-queue, --far-buffer), and are then at their receivers.");
    far_trace: String; "PHY trace or timeline of the far path" =>
        new(Group::QueueAndPath).excludes(&["far_rate"]).not_shown()
        .detail("As --return-trace, for packets of data. Without propagation: only the decoding delays of its LLDUs count.");
    far_queue: Discipline = Discipline::default(); "Queue discipline of the far path" =>
        new(Group::QueueAndPath).value("").detail("As --queue.");
    far_buffer: BufferSize = BufferSize::Bdp(1.0); "Size of its queue, packet in service included" =>
        new(Group::QueueAndPath).value("")
        .detail("As --buffer; the BDP is that of its own rate: rate x (RTT + median decoding delay of the link).");
    far_loss: SlotChannel; "Packet losses on the far path" =>
        new(Group::QueueAndPath).otherwise("none", "")
        .detail("Takes the processes of --channel; a packet is on air while it is sent at --far-rate, else for an instant.");
    split_window: SplitWindow = SplitWindow::default(); "Free buffer space that the proxy advertises to each flow" =>
        new(Group::QueueAndPath).value("").detail("whole: all of it. share: an equal share.");
    split_announce: SplitAnnounce; "When the proxy announces free buffer space: acks or every" =>
        new(Group::QueueAndPath).otherwise("acks", "")
        .detail("acks: with its ACKs, and to a flow that has used all of its window. every: whenever a packet leaves the buffer, to each flow \
                 whose window grows.");
    packet: Bytes = Bytes(1500); "Size of a packet" =>
        new(Group::Link).basic().value("the Ethernet MTU");
    headers: Bytes, in headers; "Headers of a packet, IP and TCP, part of its size" =>
        new(Group::Link).profile()
        .detail("The rest of a packet is payload: goodput and --bytes count it.");
    channel: SlotChannel; "Channel that generates slots instead of a PHY trace" =>
        new(Group::CoupledLink).basic().needs(&["scheme", "rate", "duration"])
        .detail("Generates slots of the given rate and LLDU for the duration, each decoded after one slot time and the \
                 interleaver of the channel. scenario:NAME has rate, LLDU, RTT and duration of its own. \
                 `tmt inject --help` lists the processes that erase slots. Every seed gives another channel.");
    rate: BitRate; "Rate of a synthetic link, or of the slots of --channel" =>
        new(Group::Link).basic();
    loss: SlotChannel; "Packet losses of a synthetic link" =>
        new(Group::Link).basic().otherwise("none", "")
        .detail("Losses occur after the queue. Takes the processes of --channel; a packet is on air during its service. \
                 list:FILE counts the packets that are served, from 0.");
    scheme: SchemeSpec; "Reliability scheme of a coupled link, e.g. harq:10/12" =>
        new(Group::CoupledLink).basic().detail("`tmt apply --help` lists the schemes.");
    feedback_delay: FeedbackDelay = FeedbackDelay::Decode; "Extra delay of a coupled link's feedback" =>
        new(Group::CoupledLink).shown_as("feedback_delay_ns").value("the receiver cannot ask earlier")
        .detail("`decode` uses the median decoding delay of the slots, `interleaver` uses `interleaver_ns` of the metadata. With \
                 less than the decoding delay a repeat leaves before the receiver can have asked for it.");
    feedback_loss: Probability; "Probability that the feedback of an attempt is lost" =>
        new(Group::CoupledLink).otherwise("0", "").detail("After --feedback-timer the coupled link repeats without feedback.");
    feedback_timer: Span; "Time from the last unit of an attempt to a repeat without feedback" =>
        new(Group::CoupledLink).needs(&["feedback_loss"]).otherwise("2 x (RTT + feedback delay)", "");
    tail: Tail = Tail::default(); "Last codeword of a packet: short or pad" =>
        new(Group::CoupledLink).value("")
        .detail("short: the remaining data units and all repair units. pad: filled up to a whole codeword.");
    in_order: InOrder = InOrder::default(); "Order of delivery on a coupled link" =>
        new(Group::CoupledLink).basic().otherwise("off", "")
        .detail("link, flow: a packet waits until all earlier packets of the link, or of its flow, are delivered or lost. off: it \
                 does not wait. `,in-order` in --scheme means link.");
    overlap: Overlap = Overlap::default(); "Delivery of packets whose LLDUs overlap: asap or shift" =>
        new(Group::Link).value("")
        .detail("asap: with the last LLDU. shift: also at least the time span of its LLDUs and one slot after the previous \
                 delivery, as in a replay with ns-2.");
    hold: Hold = Hold::default(); "Time at which a packet leaves the queue of a coupled link: sent or acknowledged" =>
        new(Group::CoupledLink).otherwise("sent, or acknowledged on a split path", "")
        .detail("sent: when its last unit has been sent for the first time. acknowledged: when the feedback of the link has \
                 reported its fate.");
    lldu: Bytes = Bytes(33); "Size of an LLDU" =>
        new(Group::Link).otherwise("from the trace, else 33B", "");
    lldu_header: Bytes = Bytes(1); "Header of an LLDU, part of its size" =>
        new(Group::Link).otherwise("from the trace, else 1B", "");
    packing: Packing; "Packing of packets and ACKs into LLDUs: packet or bytes" =>
        new(Group::Link).otherwise("bytes for traces from mahimahi, else packet", "")
        .detail("packet: each begins an LLDU of its own. bytes: segmentation and concatenation, as in RLC, GSE and mahimahi: \
                 an LLDU carries the tail of one packet and the head of the next. Forward link and return trace; without \
                 the flag each trace decides.");
    buffer: BufferSize = BufferSize::Bdp(1.0); "Size of the queue, packet in service included" =>
        new(Group::QueueAndPath).basic().not_shown().value("")
        .detail("In packets (100pkt), bytes (64kB), bandwidth-delay products (1bdp), or inf for no limit. The BDP is capacity of \
                 all slots x (RTT + median decoding delay), at least 2 packets, the same for all schemes. On a split path this is the buffer of \
                 the proxy.");
    queue: Discipline = Discipline::default(); "Queue discipline" =>
        new(Group::QueueAndPath).value("")
        .detail("drop-tail drops packets that arrive at a full queue. codel[:target=5ms,interval=100ms] (RFC 8289) also drops \
                 or marks packets that have waited too long. red and pie (RFC 8033) drop or mark arriving packets at random. \
                 fq-codel (RFC 8290) has a queue with CoDel for each flow. priority serves the highest class first (--flow \
                 class=7).");
    queue_loss: SlotChannel; "Packets that are dropped on arrival at the queue" =>
        new(Group::QueueAndPath).otherwise("none", "")
        .detail("Also where there is room. Takes the processes of --channel. list:FILE counts the packets that are offered, from 0; \
                 the dropped ones count, too.");
    return_loss: SlotChannel; "Losses of ACKs on the return path" =>
        new(Group::QueueAndPath).otherwise("none", "").detail("Takes the processes of --channel; an ACK is on air while it is sent at --return-rate, else for an instant.");
    return_rate: BitRate; "Rate of the return path of the ACKs" =>
        new(Group::QueueAndPath).otherwise("unlimited", "")
        .detail("An ACK has the headers of its flow, at least 40 B, and with SACK blocks 12 B, 20 B or 28 B more.");
    return_buffer: BufferSize = BufferSize::Bdp(1.0); "Size of the queue before it, ACK in service included" =>
        new(Group::QueueAndPath).value("")
        .detail("As --buffer; here packets are ACKs. The BDP is mean rate of the return path x RTT, at least two packets of data. \
                 What finds the queue full is dropped.");
    return_trace: String; "PHY trace or timeline of the return path" =>
        new(Group::QueueAndPath).excludes(&["return_rate"]).not_shown()
        .detail("An ACK takes as many LLDUs as it needs (see --packing) and arrives if all of them do. --loop repeats this trace too.");
    return_capacity: ReturnCapacity; "Capacity of the return path that a hub assigns" =>
        new(Group::QueueAndPath).excludes(&["return_rate", "return_trace"]).otherwise("none", "")
        .detail("cra:rate=128kbps is a constant rate. rbdc:max=512kbps,frame=50ms[,cra=16kbps,rtt=700ms] requests a rate by what waits at \
                 the start of each frame; the assignment begins one RTT later. Names as in DVB-RCS2 (ETSI EN 301 545-2); the requests \
                 are a model of their own.");
    ack_filter: AckFilter; "Filter of ACKs in the queue before the return path" =>
        new(Group::QueueAndPath).otherwise("off", "")
        .detail("filter: a pure ACK takes the place of the one before it of its flow that waits (RFC 3449, Sec. 5.2.1). \
                 thin[:n=4,hold=100ms]: and waits until it is one for n. Duplicate ACKs, SACK blocks, D-SACKs, ECN echoes and window updates \
                 all pass. Needs a return path with a rate, trace or capacity.");
    looped: bool = false; "Repeat the trace whenever it ends" =>
        new(Group::Traffic).flag().named("loop").shown_as("looped").needs(&["duration"]);
    offsets: Offsets; "Number of runs, each from its own start in the trace" =>
        new(Group::Traffic).excludes(&["seeds"])
        .detail("The starts are evenly spaced, or random (N:random), over all of the trace that leaves room for a run, or its first D \
                 (N:over=D). A run lasts for the duration, or until its bytes are \
                 delivered. Prints mean and 95 % interval by block bootstrap.");
    profile: Profile = Profile::default(); "Settings of both hosts" =>
        new(Group::Hosts).basic().value("what most hosts run")
        .detail("rfc: what the RFCs recommend. ns2: ns-2 2.35 as distributed. What repeats a paper needs one of these.");
    sack: bool, in sack; "Selective ACKs" =>
        new(Group::Hosts).profile();
    delayed_ack: DelayedAck, in delayed_ack; "In-order packets per ACK; off: one" =>
        new(Group::Acks).profile();
    delayed_ack_timer: Span, in delayed_ack_timer; "Longest delay of an ACK" =>
        new(Group::Acks).profile();
    iw: Count32<1>, in initial_window; "Initial window, segments" =>
        new(Group::Hosts).profile();
    first_rto: Span, in rto.first; "RTO before the first RTT sample" =>
        new(Group::Timeouts).profile();
    min_rto: Span, in rto.min; "Smallest RTO" =>
        new(Group::Timeouts).profile();
    max_rto: Span, in rto.max; "Largest RTO" =>
        new(Group::Timeouts).profile();
    rto_tick: Span, in rto.tick; "Clock granularity of RTT samples and RTO; 0ns: none" =>
        new(Group::Timeouts).profile();
    rto_margin: Span, in rto.margin; "Least difference between RTO and smoothed RTT" =>
        new(Group::Timeouts).profile().detail("0s: none. Above, the variance part of the RTO is that of tcp_rtt_estimator of Linux.");
    quick_acks: Count32<0>, in quick_acks; "ACKs at the start of a connection that are not delayed" =>
        new(Group::Acks).profile();
    quick_while_growing: bool, in quick_while_growing; "No delayed ACKs while the receive window opens" =>
        new(Group::Acks).profile().detail("As tcp_grow_window of Linux; needs a limited --rwnd.");
    sack_compression: Span, in sack_compression; "Longest delay of ACKs that only add to SACK blocks; 0s: none" =>
        new(Group::Acks).profile()
        .detail("From the fourth such ACK after the left edge moved on; at most 5 % of the RTT (tcp_comp_sack_delay_ns of Linux), and not \
                 beyond a change of a third range.");
    loss_detection: LossDetection, in loss_detection; "Loss detection: dupack or rack" =>
        new(Group::LossRecovery).profile()
        .detail("dupack: by three duplicate ACKs, or three packets SACKed above (RFC 5681, 6675). rack: by time (RFC 8985); \
                 needs SACK.");
    tail_loss_probe: bool, in tail_loss_probe; "Tail loss probe (TLP)" =>
        new(Group::LossRecovery).profile().detail("RFC 8985, Sec. 7; needs RACK.");
    f_rto: bool, in f_rto; "Undo spurious timeouts (F-RTO)" =>
        new(Group::LossRecovery).profile().detail("RFC 5682; needs SACK.");
    undo_recovery: bool, in undo_recovery; "Undo recoveries from packets that were late, not lost" =>
        new(Group::LossRecovery).profile()
        .detail("By the time that an ACK echoes (RFC 3522; tcp_packet_delayed of Linux); needs SACK and --timestamps.");
    ecn: bool, in ecn; "Explicit congestion notification" =>
        new(Group::Hosts).profile().detail("Packets may be marked instead of dropped (RFC 3168); needs a CoDel queue.");
    pacing: bool, in pacing; "Pacing: spread packets over the RTT" =>
        new(Group::Hosts).profile()
        .detail("2 windows per smoothed RTT in slow start, 1.2 after. BBR always paces at its own rate.");
    limited_transmit: bool, in limited_transmit; "New data on the first two duplicate ACKs (RFC 3042)" =>
        new(Group::LossRecovery).profile();
    recovery: Recovery, in recovery; "Transmission during fast recovery: halving, prr or prr-9937" =>
        new(Group::LossRecovery).profile()
        .detail("halving: resumes when the data in flight fit the new window. prr: proportional rate reduction (RFC 6937). \
                 prr-9937: the same, with the extra segment only while recovery makes progress (RFC 9937; tcp_cwnd_reduction of \
                 Linux). Both need SACK.");
    force_retransmit: bool, in force_retransmit; "First retransmission of a recovery ignores the window" =>
        new(Group::LossRecovery).profile()
        .detail("For controls with a window of their own in recovery (BBR); with PRR it always leaves.");
    rtt_sampling: RttSampling, in rtt_sampling; "RTT samples: window, ack or sack" =>
        new(Group::Timeouts).profile()
        .detail("window: one packet at a time. ack: every ACK of new data. sack: also packets newly reported in SACK blocks \
                 (tcp_sacktag_one of Linux); needs SACK.");
    timestamps: bool, in timestamps; "Timestamps: retransmissions give RTT samples, too" =>
        new(Group::Timeouts).profile().detail("RFC 7323. Their 12 B are part of --headers.");
    timer_restart: TimerRestart, in timer_restart; "ACKs that restart the retransmission timer: acked or sacked" =>
        new(Group::Timeouts).profile()
        .detail("acked: those of new data (RFC 6298). sacked: also those that report a packet in SACK blocks which left before \
                 the last transmission of the first outstanding packet (tcp_clean_rtx_queue of Linux); needs SACK.");
    cut_from: CutFrom, in cut_from; "Base of a window reduction: flight, window or cwnd" =>
        new(Group::LossRecovery).profile()
        .detail("flight: data in flight (RFC 5681). window: the smaller of cwnd and --rwnd (ns-2). cwnd: cwnd; a timeout in a \
                 recovery does not cut again (tcp_reno_ssthresh, tcp_enter_loss of Linux).");
    rwnd: ReceiverWindow; "Largest window advertised by the receiver" =>
        new(Group::Hosts).profile().not_shown()
        .detail("In bytes (6MiB: as many whole packets as fit), packets (64pkt), or unlimited. Linux: the payload that \
                 32 MiB, the largest of tcp_rmem, have room for.");
    first_rwnd: ReceiverWindow; "Window for which the receive buffer has room at first" =>
        new(Group::Hosts).profile().not_shown()
        .detail("In bytes of payload. The receiver enlarges it while the flow needs more, up to --rwnd (tcp_rcv_space_adjust of Linux). unlimited: \
                 --rwnd from the start. Linux: the payload that 128 KiB, the middle value of tcp_rmem, have room for.");
    window_validation: bool, in window_validation; "Grow the window only while it limits the sender" =>
        new(Group::Hosts).profile().detail("RFC 7661.");
    idle_restart: IdleRestart, in idle_restart; "Window after an idle time above the RTO: off, rfc5681 or linux" =>
        new(Group::Hosts).profile()
        .detail("For applications with pauses. rfc5681: at most the initial window (RFC 5681, Sec. 4.1). linux: halved for each RTO \
                 after the first (tcp_slow_start_after_idle). off: kept. BBR and fixed windows keep theirs.");
    growth: Growth, in congestion.growth; "What grows a window in Reno's way: acks or segments" =>
        new(Group::Hosts).profile()
        .detail("acks: each ACK, regardless of what it covers (RFC 5681). segments: each segment delivered, in whole segments \
                 (Linux: tcp_slow_start, tcp_cong_avoid_ai). For all but Hybla, BBR and fixed windows.");
    cubic: CubicForm, in congestion.cubic; "Form of CUBIC: rfc9438 or linux" =>
        new(Group::Hosts).profile()
        .detail("linux: whole segments, look-ahead by the smallest RTT, growth by at least 5 % a round before the first loss \
                 (bictcp_update of tcp_cubic.c).");
    hystart: HystartForm, in congestion.hystart; "What ends CUBIC's slow start before a loss: off, rfc9406 or classic" =>
        new(Group::Hosts).profile()
        .detail("rfc9406: HyStart++. classic: Linux's HyStart, by delay or ACK train (hystart_update of tcp_cubic.c). \
                 `--cc cubic:hystart=…` has precedence.");
    bbr_min_rtt: MinRttRenewal, in congestion.bbr_min_rtt; "RTT that renews bbr1's smallest: equal or smaller" =>
        new(Group::Hosts).profile()
        .detail("equal: an equal or smaller one (the draft, Linux before 5.10). smaller: only a smaller one \
                 (bbr_update_min_rtt).");
    bbr_quantum: Quantum, in congestion.bbr_quantum; "Quantum of bbr1: segment or tso" =>
        new(Group::Hosts).profile()
        .detail("Three quanta may be in flight beyond the model. segment: one segment. tso: 1 ms at the pacing rate, at \
                 least 2 segments from 1.2 Mbps on (bbr_tso_segs_goal).");
    handshake: bool, in handshake; "Handshake: one RTT before the first data" =>
        new(Group::Hosts).profile();
    cc: Algorithm = Algorithm::default(); "Congestion control, e.g. cubic:beta=0.8" =>
        new(Group::Hosts).basic().not_shown().otherwise("cubic", "");
    flows: Count<1, 100_000> = Count(1); "Number of identical flows" =>
        new(Group::Traffic).basic().not_shown().value("");
    start: Start = Start::At(Span::ZERO); "Start of the flows: a time, or a range for random times" =>
        new(Group::Traffic).not_shown().value("");
    bytes: Bytes; "Payload that each flow transfers" =>
        new(Group::Traffic).basic().not_shown().otherwise("endless", "");
    duration: Span; "Length of a run" =>
        new(Group::Traffic).basic().not_shown().otherwise("length of the trace", "");
    seed: Count<0, LAST_SEED> = Count(1); "Seed of all random numbers" =>
        new(Group::Traffic).not_shown().value("");
    seeds: Count<1, MAX_RUNS> = Count(1); "Number of runs, with successive seeds" =>
        new(Group::Traffic).basic().not_shown().value("").detail("Prints mean and 95 % interval of every metric.");
    compare_links: bool = false; "Compare the coupled link with the timeline link" =>
        new(Group::CoupledLink).flag().not_shown().needs(&["scheme"])
        .detail("Runs both on the same trace with the same parameters and seeds, the timeline as from `tmt apply`. Prints \
                 both, and coupled - timeline in percent of the timeline's value.");
    unit: Unit; "Unit of the numbers in the trace" =>
        new(Group::Input).not_shown().otherwise("s in text; ns in integers of Arrow and Parquet", "")
        .detail("Required for doubles in Arrow and Parquet whose names do not end in _s, _ms, _us or _ns.");
    columns: Columns; "Which columns of a foreign table are read" =>
        new(Group::Input).not_shown().otherwise("tx_time, decode_delay, attempts", "")
        .detail("For example `tx=time,erased=lost`: the keys tx, delay, erased (0 or 1) and attempts select columns by name, or by \
                 number in a text without a header. delay=36ms is one delay for all received slots, interval=10ms the time \
                 between rows without times.");
    allow_cut: bool = false; "Accept a trace that was cut" =>
        new(Group::Input).flag().not_shown()
        .detail("A head without an end line, for example from `head -100000 trace`, or a cut stream.");
    replace_head: bool = false; "Let parameters replace other values in the head of the trace" =>
        new(Group::Input).flag().not_shown()
        .detail("Those of `rtt`, `lldu` and `lldu_header`, which are otherwise refused where they differ.");
    flow: Vec<FlowSpec>; "A flow with settings of its own; repeat for more flows" =>
        new(Group::Traffic).excludes(&["flows", "start", "bytes"]).not_shown()
        .detail("For example `cc=cubic,start=5s,bytes=1MB,terrestrial-rtt=20ms,class=7`, or `app=cbr(codec=g729)`. Packets of class 7 go before those of \
                 class 0, the default, in a queue with priorities. `tmt tcp --help` lists the applications.");
}
