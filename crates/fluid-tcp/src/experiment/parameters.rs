//! The parameters of an experiment, each described once. Flags, help, parameter files and the `params` of JSON derive
//! from this list, whose order is that of `params`.

mod descriptor;

use tmt_core::channel::{ChannelSpec, SlotChannel};
use tmt_core::format::Unit;
use tmt_core::scheme::SchemeSpec;
use tmt_core::types::{BitRate, Bytes, Span};

use super::setting::Setting;
use super::values::{
    BufferSize, Count, Count32, DelayedAck, FeedbackDelay, FlowSpec, LinkKind, Offsets, PathKind,
    Probability, ReceiverWindow, Start,
};
use crate::congestion::Algorithm;
use crate::endpoint::{CutFrom, Endpoint, LossDetection, Profile, Recovery, RttSampling};
use crate::link::Overlap;
use crate::link::gateway::{Discipline, Hold, InOrder, Tail};
use crate::simulation::SplitWindow;

use descriptor::Access;
pub use descriptor::{Fallback, Group, Parameter};

/// Most runs of one experiment.
pub const MOST_RUNS: u64 = 100_000;

/// Seeds lie below 2^63.
const LAST_SEED: u64 = (1 << 63) - 2;

/// Field, key, type and help of every parameter; `= value` where it has a default of its own, `in field` where it
/// is a setting of an [`Endpoint`], whose profiles give the default.
macro_rules! parameters {
    ($($field:ident: $type:ty $(= $default:expr)? $(, in $($endpoint:ident).+)?; $help:literal => $parameter:expr;)+) => {
        /// Everything that describes a run, or several: what is `None` is not given.
        ///
        /// [`Experiment::resolve`] fills in what follows from defaults, profile and trace.
        #[derive(Debug, Clone, Default)]
        pub struct Experiment {
            $(#[doc = $help] pub $field: Option<$type>,)+
        }

        /// All parameters.
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
            /// The defaults that depend on nothing.
            #[must_use]
            pub fn defaults() -> Self {
                Self {
                    $($($field: Some($default),)?)+
                    ..Self::default()
                }
            }

            $($(
                #[doc = concat!($help, ": what is given, else the default")]
                #[must_use]
                pub fn $field(&self) -> $type {
                    self.$field.clone().unwrap_or_else(|| $default)
                }
            )?)+

            /// The settings of both ends that `profile` has.
            #[must_use]
            pub fn of_profile(profile: Profile) -> Self {
                let mut experiment = Self::default();
                experiment.read_endpoint(&profile.endpoint());
                experiment
            }

            /// Sets what an endpoint has settings for.
            pub(super) fn read_endpoint(&mut self, endpoint: &Endpoint) {
                $($(self.$field = Some(endpoint.$($endpoint).+.into());)?)+
            }

            /// Changes the settings that are given.
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
        .detail("timeline replays the LLDUs that `tmt apply` wrote; coupled runs a scheme on the slots of a PHY \
                 trace and on the packets that are really queued; synthetic has a constant rate.");
    rtt: Span; "Link RTT, propagation only" =>
        new(Group::Link).basic().otherwise("the trace's, else 500ms", "a GEO link, as in the papers");
    path: PathKind = PathKind::default(); "Who answers the senders" =>
        new(Group::QueueAndPath).value("")
        .detail("e2e: the receiver behind the link. split: a proxy at the gateway, which acknowledges at once and keeps a \
                 packet until the link has delivered it.");
    terrestrial_rtt: Span = Span::ZERO; "Round-trip time between the senders and the gateway" =>
        new(Group::QueueAndPath).value("").detail("It comes on top of the link's own.");
    split_window: SplitWindow = SplitWindow::default(); "What a proxy offers each flow of its free buffer" =>
        new(Group::QueueAndPath).value("").detail("All of it (whole), or an equal share.");
    packet: Bytes = Bytes(1500); "Size of a packet" =>
        new(Group::Link).basic().value("the MTU of Ethernet");
    channel: SlotChannel; "Channel that makes slots in place of a PHY trace" =>
        new(Group::CoupledLink).basic().needs(&["scheme", "rate", "duration"])
        .detail("Slots of the given rate and LLDU for the duration, each decoded after its own length, and what erases \
                 them: bernoulli:P, gilbert-elliott:alpha=A,beta=B[,…], or fading:m=M,X=SHARE for bad times of mean M (a \
                 duration or seconds) that make up such a share of all time; different for every seed.");
    rate: BitRate; "Rate of a synthetic link, or of a channel's slots" =>
        new(Group::Link).basic();
    loss: ChannelSpec; "Packet losses of a synthetic link" =>
        new(Group::Link).basic().otherwise("none", "")
        .detail("They fall after the queue: bernoulli:P or gilbert-elliott:alpha=A,beta=B[,…].");
    scheme: SchemeSpec; "Reliability scheme of a coupled link, e.g. harq:10/12" =>
        new(Group::CoupledLink).basic().detail("As `tmt apply` takes it.");
    feedback_delay: FeedbackDelay = FeedbackDelay::Of(Span::ZERO); "Extra delay of a coupled link's feedback" =>
        new(Group::CoupledLink).shown_as("feedback_delay_ns").value("as in the papers' equations")
        .detail("`interleaver` stands for the metadata's `interleaver_ns`.");
    feedback_loss: Probability; "Probability that the feedback of an attempt is lost" =>
        new(Group::CoupledLink).otherwise("none is lost", "").detail("The coupled link then repeats by a timer.");
    feedback_timer: Span; "Time from an attempt's last unit to the repeat without feedback" =>
        new(Group::CoupledLink).needs(&["feedback_loss"]).otherwise("2 x (RTT + feedback delay)", "");
    tail: Tail = Tail::default(); "The last codeword of a packet" =>
        new(Group::CoupledLink).value("")
        .detail("short: its data units and all repair units. pad: filled up to a whole codeword.");
    in_order: InOrder = InOrder::default(); "Order of delivery on a coupled link" =>
        new(Group::CoupledLink).basic().otherwise("off", "")
        .detail("A delivered packet waits until earlier packets of the link, or of its flow, are delivered or lost; or for \
                 nothing (off). A scheme's own `,in-order` means link.");
    overlap: Overlap = Overlap::default(); "When packets are delivered whose LLDUs overlap" =>
        new(Group::Link).value("")
        .detail("asap: with the last LLDU. shift: at least the span of its own LLDUs and one slot after the delivery before \
                 it, as a replay in ns-2 has it.");
    hold: Hold = Hold::default(); "How long a coupled link's queue holds a packet" =>
        new(Group::CoupledLink).otherwise("sent, or acknowledged on a split path", "")
        .detail("sent: until its last unit has been sent for the first time. acknowledged: until the link's feedback has \
                 reported its fate.");
    lldu: Bytes = Bytes(33); "Size of an LLDU" =>
        new(Group::Link).otherwise("the trace's, else 33B", "the papers' LLDU");
    lldu_header: Bytes = Bytes(1); "Part of an LLDU that carries no packet" =>
        new(Group::Link).value("the papers' LLDU");
    buffer: BufferSize = BufferSize::Bdp(1.0); "Size of the queue, packet in service included" =>
        new(Group::QueueAndPath).basic().not_shown().value("")
        .detail("In packets (100pkt), bytes (64kB) or bandwidth-delay products (1bdp): link rate x (RTT + typical decode \
                 delay or service time), 2 packets or more. On a split path it is the proxy's buffer.");
    queue: Discipline = Discipline::default(); "Queue discipline" =>
        new(Group::QueueAndPath).value("")
        .detail("drop-tail drops what finds the queue full; codel[:target=5ms,interval=100ms] (RFC 8289) also some of what \
                 has waited for long.");
    return_loss: ChannelSpec; "Losses of ACKs on the return path" =>
        new(Group::QueueAndPath).otherwise("none", "").detail("As for the loss of packets.");
    return_rate: BitRate; "Rate of the return path, 40 B an ACK" =>
        new(Group::QueueAndPath).otherwise("no limit", "");
    return_trace: String; "PHY trace or timeline of the return path" =>
        new(Group::QueueAndPath).excludes(&["return_rate"]).not_shown()
        .detail("An ACK takes as many LLDUs as its 40 B need, and arrives if all of them do; with loop it repeats, too.");
    looped: bool = false; "Repeat the trace whenever it ends" =>
        new(Group::Traffic).flag().named("loop").shown_as("looped").needs(&["duration"]);
    offsets: Offsets; "Runs from this many places of the trace" =>
        new(Group::Traffic).excludes(&["seeds"])
        .detail("Evenly spaced, or drawn (N:random). Each lasts for the duration, or until its bytes have been delivered: \
                 mean and 95 % interval by block bootstrap.");
    profile: Profile = Profile::Rfc; "Settings of both ends" =>
        new(Group::Hosts).basic().value("");
    sack: bool, in sack; "Selective ACKs" =>
        new(Group::Hosts).profile();
    delayed_ack: DelayedAck, in delayed_ack; "In-order packets per ACK, or off for one each" =>
        new(Group::Acks).profile();
    delayed_ack_timer: Span, in delayed_ack_timer; "Longest delay of an ACK" =>
        new(Group::Acks).profile();
    iw: Count32<1>, in initial_window; "Initial window, segments" =>
        new(Group::Hosts).profile();
    first_rto: Span, in rto.first; "Retransmission timeout before the first measurement" =>
        new(Group::Timeouts).profile();
    min_rto: Span, in rto.min; "Smallest retransmission timeout" =>
        new(Group::Timeouts).profile();
    max_rto: Span, in rto.max; "Largest retransmission timeout" =>
        new(Group::Timeouts).profile();
    rto_tick: Span, in rto.tick; "Clock granularity of RTTs and timeouts; 0ns for none" =>
        new(Group::Timeouts).profile();
    rto_margin: Span, in rto.margin; "Smallest distance of the timeout from the smoothed RTT" =>
        new(Group::Timeouts).profile().detail("As in Linux; 0s for none.");
    quick_acks: Count32<0>, in quick_acks; "ACKs at the start of a connection that are not delayed" =>
        new(Group::Acks).profile();
    loss_detection: LossDetection, in loss_detection; "How a packet is found lost" =>
        new(Group::LossRecovery).profile()
        .detail("dupack: by three duplicates or packets above it (RFC 5681, 6675). rack: by time (RFC 8985); needs SACK.");
    tail_loss_probe: bool, in tail_loss_probe; "Probe before the timeout at the end of a flight" =>
        new(Group::LossRecovery).profile().detail("RFC 8985 section 7; needs RACK.");
    f_rto: bool, in f_rto; "Undo a timeout that proves spurious" =>
        new(Group::LossRecovery).profile().detail("RFC 5682; needs SACK.");
    ecn: bool, in ecn; "Explicit congestion notification" =>
        new(Group::Hosts).profile().detail("Packets may be marked instead of dropped (RFC 3168); needs a CoDel queue.");
    pacing: bool, in pacing; "Spread packets over the round trip" =>
        new(Group::Hosts).profile()
        .detail("2 windows per smoothed RTT in slow start, 1.2 after; BBR always has a pace of its own.");
    limited_transmit: bool, in limited_transmit; "New data on the first two duplicates (RFC 3042)" =>
        new(Group::LossRecovery).profile();
    recovery: Recovery, in recovery; "How a fast recovery sends" =>
        new(Group::LossRecovery).profile()
        .detail("halving: once what is in flight fits the new window. prr: proportional rate reduction (RFC 6937); needs \
                 SACK.");
    rtt_sampling: RttSampling, in rtt_sampling; "What measures the RTT" =>
        new(Group::Timeouts).profile().detail("One packet at a time (window), or every ACK of new data.");
    cut_from: CutFrom, in cut_from; "What a window is cut from" =>
        new(Group::LossRecovery).profile().detail("What is in flight (RFC 5681), or the window itself (ns-2).");
    rwnd: ReceiverWindow, in rwnd; "Receiver's window" =>
        new(Group::Hosts).profile().shown_as("rwnd_packets");
    window_validation: bool, in window_validation; "Grow the window only while it limits the sender" =>
        new(Group::Hosts).profile().detail("RFC 7661.");
    handshake: bool, in handshake; "One round trip before the first data" =>
        new(Group::Hosts).profile();
    cc: Algorithm = Algorithm::default(); "Congestion control, e.g. cubic:beta=0.8" =>
        new(Group::Hosts).basic().not_shown().otherwise("cubic", "");
    flows: Count<1, 100_000> = Count(1); "Number of flows, all alike" =>
        new(Group::Traffic).basic().not_shown().value("");
    start: Start = Start::At(Span::ZERO); "When flows begin: a time, or a range to draw from" =>
        new(Group::Traffic).not_shown().value("");
    bytes: Bytes; "What each flow transfers, in whole packets" =>
        new(Group::Traffic).basic().not_shown().otherwise("without end", "");
    duration: Span; "Length of a run" =>
        new(Group::Traffic).basic().not_shown().otherwise("that of the trace", "");
    seed: Count<0, LAST_SEED> = Count(1); "Seed of all random numbers" =>
        new(Group::Traffic).not_shown().value("");
    seeds: Count<1, MOST_RUNS> = Count(1); "Number of runs, with successive seeds" =>
        new(Group::Traffic).basic().not_shown().value("").detail("Mean and 95 % interval of every metric.");
    compare_links: bool = false; "Run the coupled link and the timeline link, and compare" =>
        new(Group::CoupledLink).flag().not_shown().needs(&["scheme"])
        .detail("Over the same trace, the timeline as `tmt apply` makes it, with the same parameters and seeds; prints \
                 coupled - timeline, and the same in percent of the timeline's.");
    unit: Unit; "Unit of the trace's numbers" =>
        new(Group::Input).not_shown().otherwise("s in text; ns in whole numbers of Arrow and Parquet", "")
        .detail("Doubles in Arrow and Parquet need one.");
    allow_cut: bool = false; "Accept a trace that was cut" =>
        new(Group::Input).flag().not_shown()
        .detail("A head without its end line, as `head -100000 trace` leaves it, or a cut stream.");
    flow: Vec<FlowSpec>; "One flow of several that differ; may be given more than once" =>
        new(Group::Traffic).excludes(&["flows", "start", "bytes"]).not_shown()
        .detail("Such as `cc=cubic,start=5s,bytes=1MB`.");
}
