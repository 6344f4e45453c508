//! The flags of `tmt tcp`, as typed.

use std::str::FromStr;

use fluid_tcp::congestion::Algorithm;
use fluid_tcp::endpoint::{CutFrom, LossDetection, Profile, Recovery, RttSampling};
use fluid_tcp::link::gateway::{Discipline, Hold, InOrder, Tail};
use fluid_tcp::simulation::SplitWindow;
use tmt_core::channel::{ChannelSpec, SlotChannel, probability};
use tmt_core::scheme::SchemeSpec;
use tmt_core::types::{BitRate, Bytes, Span};

use super::explain::PacketFlag;
use super::flows::{FlowFlag, Start};
use super::offsets::Offsets;
use crate::input::TraceArgs;
use crate::quantity::Feedback;

/// Flags of `tmt tcp`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = format!(
    "Congestion controls:\n  {}\n\nExample:\n  tmt apply --scheme harq:10/12 < phy.csv | tmt tcp --cc cubic\n  \
     tmt tcp --link synthetic --rate 2.34Mbps --rtt 500ms --loss bernoulli:1e-3 --cc newreno --duration 400s --seeds 10 --json\n  \
     tmt tcp --link coupled --scheme harq:10/12,rounds=3 --in-order flow phy.csv\n  \
     tmt tcp --link coupled --scheme frame-arq:6/10,rounds=1 --channel bernoulli:0.01 --rate 1Mbps --lldu 25B --lldu-header 0B --duration 400s\n  \
     tmt tcp --compare-links --scheme harq:10/12 --buffer 100pkt phy.csv\n  \
     tmt tcp --packets packets.parquet --series series.csv.gz --series-interval 100ms timeline.csv\n  \
     tmt tcp --pcap run --qlog run.sqlog --explain 17 timeline.csv && tshark -r run-receiver.pcap",
    Algorithm::forms().join("\n  ")
))]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
    /// The link: the LLDUs of a timeline; a scheme that runs on the slots of a PHY trace and the packets that are
    /// really queued; or a constant rate
    #[arg(long, value_parser = ["timeline", "coupled", "synthetic"], default_value = "timeline")]
    pub(crate) link: String,
    /// Reliability scheme of the coupled link, as `tmt apply` takes it
    #[arg(long)]
    pub(crate) scheme: Option<SchemeSpec>,
    /// Extra delay of the coupled link's feedback (0ns when left out), or `interleaver` for the metadata's
    /// `interleaver_ns`
    #[arg(long, value_name = "DURATION|interleaver")]
    pub(crate) feedback_delay: Option<Feedback>,
    /// Probability that the feedback of an attempt is lost on the coupled link, which then repeats by a timer
    #[arg(long, value_name = "P", value_parser = probability)]
    pub(crate) feedback_loss: Option<f64>,
    /// Time from the last unit of an attempt to that repeat (2 x (RTT + feedback delay) when left out)
    #[arg(long, value_name = "DURATION", requires = "feedback_loss")]
    pub(crate) feedback_timer: Option<Span>,
    /// The last codeword of a packet on the coupled link: its data units and all repair units (short, when left out),
    /// or filled up to a whole one (pad)
    #[arg(long, value_name = "short|pad")]
    pub(crate) tail: Option<Tail>,
    /// On the coupled link a delivered packet waits until earlier ones of the link or of its flow are delivered or lost
    /// (off when left out; a scheme's own `,in-order` means link)
    #[arg(long, value_name = "link|flow|off")]
    pub(crate) in_order: Option<InOrder>,
    /// How long the queue of the coupled link holds a packet: until its last unit has been sent for the first time
    /// (sent, when left out), or until the link's feedback has told its fate (acknowledged)
    #[arg(long, value_name = "sent|acknowledged")]
    pub(crate) hold: Option<Hold>,
    /// Slots of --rate and --lldu for --duration in the place of the coupled link's PHY trace, each decoded after its
    /// own length, and what erases them: bernoulli:P, gilbert-elliott:alpha=A,beta=B[,…], or fading:m=M,X=SHARE for
    /// bad times of mean M (a duration or seconds) that make up such a share of all time; anew for every seed
    #[arg(long, value_name = "PROCESS")]
    pub(crate) channel: Option<SlotChannel>,
    /// Run the coupled link over the trace, and the timeline that `tmt apply` makes of it, with the same flags and
    /// seeds, and print what they differ by: coupled - timeline, and in percent of the timeline's
    #[arg(long)]
    pub(crate) compare_links: bool,
    /// Rate of the synthetic link, or of the slots of --channel
    #[arg(long)]
    pub(crate) rate: Option<BitRate>,
    /// Packet losses of the synthetic link, after the queue: bernoulli:P or gilbert-elliott:alpha=A,beta=B[,…]
    #[arg(long, value_name = "PROCESS")]
    pub(crate) loss: Option<ChannelSpec>,
    /// Packets whose LLDUs overlap on a timeline: each delivered with the last of its LLDUs (asap, when left out), or
    /// at least the span of its own LLDUs and one slot after the delivery before it (shift, papers/001 Figs 3-4)
    #[arg(long, value_name = "asap|shift")]
    pub(crate) overlap: Option<OverlapFlag>,
    /// Round-trip time of the link, propagation only; else the metadata's, else 500ms
    #[arg(long)]
    pub(crate) rtt: Option<Span>,
    /// Size of a packet
    #[arg(long, default_value = "1500B")]
    pub(crate) packet: Bytes,
    /// Size of an LLDU on the timeline, or of a slot's; else the metadata's, else 33B
    #[arg(long)]
    pub(crate) lldu: Option<Bytes>,
    /// Part of an LLDU that is no packet's (1B when left out)
    #[arg(long)]
    pub(crate) lldu_header: Option<Bytes>,
    /// Who answers the senders: the receiver behind the link (e2e), or a proxy at the gateway that acknowledges at once
    /// and keeps a packet until the link has delivered it (split)
    #[arg(long, value_parser = ["e2e", "split"], default_value = "e2e")]
    pub(crate) path: String,
    /// Round-trip time between the senders and the gateway (0s when left out), beside --rtt
    #[arg(long, value_name = "DURATION")]
    pub(crate) terrestrial_rtt: Option<Span>,
    /// Of the room in the proxy's buffer each flow is told all (whole) or its part (share, when left out); with
    /// --path split
    #[arg(long, value_name = "whole|share")]
    pub(crate) split_window: Option<SplitWindow>,
    /// What the queue, or the proxy's buffer, holds, the packet in service included: packets (100pkt), bytes (64kB) or bandwidth-delay
    /// products (1bdp, when left out: link rate x (RTT + typical decode delay or service time), 2 packets or more)
    #[arg(long, value_name = "SIZE")]
    pub(crate) buffer: Option<BufferFlag>,
    /// Which packets the queue drops: those that find it full (drop-tail), or also some of those that have waited for
    /// long (RFC 8289): codel[:target=5ms,interval=100ms]
    #[arg(long, value_name = "DISCIPLINE", default_value = "drop-tail")]
    pub(crate) queue: Discipline,
    /// Losses of acknowledgements on the return path, which is clean when left out; as --loss
    #[arg(long, value_name = "PROCESS")]
    pub(crate) return_loss: Option<ChannelSpec>,
    /// Rate of the return path, 40 B an acknowledgement; no limit when left out
    #[arg(long, value_name = "RATE")]
    pub(crate) return_rate: Option<BitRate>,
    /// PHY trace or timeline of the return path: an acknowledgement takes as many LLDUs as its 40 B need, and comes if
    /// all of them do; with --loop it repeats, too
    #[arg(long, value_name = "FILE", conflicts_with = "return_rate")]
    pub(crate) return_trace: Option<String>,
    /// Congestion control, with its parameters: cubic:beta=0.8,c=0.4
    #[arg(long, default_value = "cubic")]
    pub(crate) cc: Algorithm,
    /// Settings of both ends, each of which a flag below can change: ns2, rfc or linux
    #[arg(long, default_value = "rfc")]
    pub(crate) profile: Profile,
    /// Initial window, segments
    #[arg(long, value_name = "SEGMENTS", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) iw: Option<u32>,
    /// Selective acknowledgements
    #[arg(long, value_name = "on|off")]
    pub(crate) sack: Option<Switch>,
    /// In-order packets to an acknowledgement, or off for one each
    #[arg(long, value_name = "off|N")]
    pub(crate) delayed_ack: Option<DelayedAck>,
    /// Longest delay of an acknowledgement
    #[arg(long)]
    pub(crate) delayed_ack_timer: Option<Span>,
    /// Acknowledgements at the start of a connection that are not delayed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(crate) quick_acks: Option<u32>,
    /// Retransmission timeout before the first measurement
    #[arg(long)]
    pub(crate) first_rto: Option<Span>,
    /// Smallest retransmission timeout
    #[arg(long)]
    pub(crate) min_rto: Option<Span>,
    /// Largest retransmission timeout
    #[arg(long)]
    pub(crate) max_rto: Option<Span>,
    /// Clock granularity of round-trip times and timeouts; 0ns for none
    #[arg(long)]
    pub(crate) rto_tick: Option<Span>,
    /// Smallest distance of the timeout from the smoothed round-trip time, as in Linux; 0s for none
    #[arg(long)]
    pub(crate) rto_margin: Option<Span>,
    /// How a packet is found lost: by three duplicates or packets above it (RFC 5681, 6675), or by time (RFC 8985, with
    /// SACK)
    #[arg(long, value_name = "dupack|rack")]
    pub(crate) loss_detection: Option<DetectionFlag>,
    /// A probe before the timeout where the end of a flight is not acknowledged (RFC 8985 section 7, with RACK)
    #[arg(long, value_name = "on|off")]
    pub(crate) tail_loss_probe: Option<Switch>,
    /// Find out whether a timeout was spurious and take it back if it was (RFC 5682, with SACK)
    #[arg(long, value_name = "on|off")]
    pub(crate) f_rto: Option<Switch>,
    /// Packets may be marked instead of dropped (RFC 3168); needs --queue codel
    #[arg(long, value_name = "on|off")]
    pub(crate) ecn: Option<Switch>,
    /// Packets are spread over the round trip: 2 windows a smoothed one in slow start, 1.2 after; BBR always has a pace
    /// of its own
    #[arg(long, value_name = "on|off")]
    pub(crate) pacing: Option<Switch>,
    /// New data on the first two duplicate acknowledgements (RFC 3042)
    #[arg(long, value_name = "on|off")]
    pub(crate) limited_transmit: Option<Switch>,
    /// How a fast recovery goes: halving, or prr (RFC 6937, with SACK)
    #[arg(long, value_name = "halving|prr")]
    pub(crate) recovery: Option<RecoveryFlag>,
    /// Packets that measure the round-trip time: one at a time (window) or every acknowledged one (ack)
    #[arg(long, value_name = "window|ack")]
    pub(crate) rtt_sampling: Option<SamplingFlag>,
    /// What a window is cut from: what is in flight (RFC 5681) or the window itself (ns-2)
    #[arg(long, value_name = "flight|window")]
    pub(crate) cut_from: Option<CutFlag>,
    /// Receiver's window, such as 64pkt; no limit when left out
    #[arg(long, value_name = "Npkt")]
    pub(crate) rwnd: Option<Packets>,
    /// The window grows only while it is what holds the sender back (off when left out)
    #[arg(long, value_name = "on|off")]
    pub(crate) window_validation: Option<Switch>,
    /// One round trip before the first data
    #[arg(long, value_name = "on|off")]
    pub(crate) handshake: Option<Switch>,
    /// Number of flows, all alike
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) flows: u32,
    /// When the flows begin: a time, or a range 0s..5s to draw from
    #[arg(long, value_name = "TIME|FROM..TO", default_value = "0s")]
    pub(crate) start: Start,
    /// Each flow transfers so much, in whole packets; without end when left out
    #[arg(long)]
    pub(crate) bytes: Option<Bytes>,
    /// One flow of several that differ: cc=cubic,start=5s,bytes=1MB; may stand more than once
    #[arg(long = "flow", value_name = "KEY=VALUE,…", conflicts_with_all = ["flows", "start", "bytes"])]
    pub(crate) flow: Vec<FlowFlag>,
    /// Length of the run; else that of the timeline
    #[arg(long)]
    pub(crate) duration: Option<Span>,
    /// Begin the timeline, or the coupled link's trace, anew whenever it ends; needs --duration
    #[arg(long = "loop", requires = "duration")]
    pub(crate) looped: bool,
    /// Runs that each begin at a place of their own of the trace, evenly spaced or drawn (N:random), and last for
    /// --duration or until their --bytes have been delivered: mean and 95 % interval by block bootstrap
    #[arg(long, value_name = "N[:random]", conflicts_with = "seeds")]
    pub(crate) offsets: Option<Offsets>,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Runs, with seeds one after the other: mean and 95 % interval of every metric
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) seeds: u32,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the senders' state (cwnd, ssthresh, srtt, rto, in flight, queue, delivered) as CSV, or as what the
    /// name ends in: .csv.gz, .csv.zst, .parquet
    #[arg(long, value_name = "FILE")]
    pub(crate) series: Option<String>,
    /// Shortest time between two rows of the series; a row an event when left out
    #[arg(long, requires = "series")]
    pub(crate) series_interval: Option<Span>,
    /// Write the story of every packet and the parts of its delay, for `tmt audit`: as CSV, or as what the name
    /// ends in
    #[arg(long, value_name = "FILE")]
    pub(crate) packets: Option<String>,
    /// Write what every used slot of the coupled link carried, repeats included, for `tmt audit --slots`: as CSV, or as
    /// what the name ends in
    #[arg(long, value_name = "FILE")]
    pub(crate) slots: Option<String>,
    /// Write the packets as each end would capture them (pcap of nanoseconds, raw IPv4, TCP headers without the
    /// payload): FILE-sender.pcap and FILE-receiver.pcap, each with the times at its end
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<String>,
    /// Write the senders' recovery metrics and losses as qlog (JSON-SEQ), for tools made for QUIC
    #[arg(long, value_name = "FILE")]
    pub(crate) qlog: Option<String>,
    /// Tell one packet's story behind the report: N of the first flow, or FLOW:N, both counted from 0
    #[arg(long, value_name = "PACKET")]
    pub(crate) explain: Option<PacketFlag>,
    /// Output file; stdout when left out or `-`
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<String>,
}

/// `on` or `off`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Switch(pub(crate) bool);

impl FromStr for Switch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "on" => Ok(Self(true)),
            "off" => Ok(Self(false)),
            _ => Err(format!("found '{text}', expected on or off")),
        }
    }
}

/// What `--delayed-ack` takes: packets an acknowledgement may cover.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DelayedAck(pub(crate) u32);

impl FromStr for DelayedAck {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self(1)),
            _ => text
                .parse()
                .ok()
                .filter(|packets| (1..=1_000).contains(packets))
                .map(Self)
                .ok_or_else(|| {
                    format!("found '{text}', expected off or a number of packets from 1 to 1000")
                }),
        }
    }
}

/// A number of packets, `64pkt`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packets(pub(crate) u64);

impl FromStr for Packets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.strip_suffix("pkt")
            .and_then(|number| number.parse().ok())
            .filter(|packets| (1..=1 << 40).contains(packets))
            .map(Self)
            .ok_or_else(|| format!("found '{text}', expected a number of packets such as 64pkt"))
    }
}

/// What `--buffer` takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BufferFlag {
    Packets(u64),
    Bytes(Bytes),
    /// Bandwidth-delay products.
    Bdp(f64),
}

impl FromStr for BufferFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(number) = text.strip_suffix("bdp") {
            let products = number
                .parse::<f64>()
                .ok()
                .filter(|products| *products > 0.0 && *products <= 1e6);
            return products
                .map(Self::Bdp)
                .ok_or_else(|| format!("found '{text}', expected a number such as 1bdp"));
        }
        if text.ends_with("pkt") {
            return Packets::from_str(text).map(|packets| Self::Packets(packets.0));
        }
        text.parse().map(Self::Bytes).map_err(|_| format!("found '{text}', expected packets, bytes or bandwidth-delay products: 100pkt, 64kB, 1bdp"))
    }
}

/// A flag whose values have names.
macro_rules! named {
    ($(#[$doc:meta])* $flag:ident($value:ty): $($name:literal => $variant:expr),+) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $flag(pub(crate) $value);

        impl FromStr for $flag {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($name => Ok(Self($variant)),)+
                    _ => Err(format!("found '{text}', expected one of {}", [$($name),+].join(", "))),
                }
            }
        }
    };
}

named! {
    /// What `--recovery` takes.
    RecoveryFlag(Recovery): "halving" => Recovery::Halving, "prr" => Recovery::Prr
}
named! {
    /// What `--rtt-sampling` takes.
    SamplingFlag(RttSampling): "window" => RttSampling::PerWindow, "ack" => RttSampling::PerAck
}
named! {
    /// What `--loss-detection` takes.
    DetectionFlag(LossDetection): "dupack" => LossDetection::DupAcks, "rack" => LossDetection::Rack
}
named! {
    /// What `--overlap` takes: whether deliveries are moved apart.
    OverlapFlag(bool): "asap" => false, "shift" => true
}
named! {
    /// What `--cut-from` takes.
    CutFlag(CutFrom): "flight" => CutFrom::Flight, "window" => CutFrom::Window
}
