//! Value types of parameters, such as `64pkt`, `1bdp`, `0s..5s` and `cc=cubic,start=5s`.

use derive_more::{From, Into};
use serde_json::Value;
use tmt_core::channel::{FAMILIES, SlotChannel, probability};
use tmt_core::format::{Columns, Unit};
use tmt_core::scheme::SchemeSpec;
use tmt_core::types::{BitRate, Bytes, QuantityError, Span};

use super::setting::{Kind, Setting};
use crate::congestion::{Algorithm, CubicForm, Growth, HystartForm, MinRttRenewal, Quantum};
use crate::endpoint::{
    CutFrom, IdleRestart, LossDetection, Profile, Recovery, RttSampling, TimerRestart,
};
use crate::simulation::{AckFilter, SplitAnnounce, SplitWindow};
use tmt_link::apply::FeedbackDelay;
use tmt_link::hop::Access;
use tmt_link::queue::Discipline;
use tmt_link::{Hold, InOrder, Overlap, Packing, Tail};

pub use crate::experiment::flows::{FlowSpec, Start};
pub use crate::experiment::offsets::Offsets;

/// Link model of a run (`--link`); docs/simulator.md, Sec. 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkKind {
    /// Replays the LLDUs of a timeline.
    #[default]
    Timeline,
    /// Runs a scheme on the slots of a PHY trace or channel, with the actual queue.
    Coupled,
    /// Serves packets at a constant rate.
    Synthetic,
}

tmt_core::keywords!(LinkKind { Timeline => "timeline", Coupled => "coupled", Synthetic => "synthetic" });

/// Who acknowledges to the senders (`--path`): the receiver, or a proxy at the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PathKind {
    /// The receiver acknowledges.
    #[default]
    EndToEnd,
    /// A proxy at the gateway acknowledges.
    Split,
}

tmt_core::keywords!(PathKind { EndToEnd => "e2e", Split => "split" });

/// A whole number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count<const MIN: u64, const MAX: u64>(pub u64);

impl<const MIN: u64, const MAX: u64> Setting for Count<MIN, MAX> {
    const KIND: Kind = Kind::Count(MIN, MAX);

    fn read(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(number) if (MIN..=MAX).contains(&number) => Ok(Self(number)),
            _ => Err(format!("found '{text}', expected {}", Self::KIND)),
        }
    }

    fn text(&self) -> String {
        self.0.to_string()
    }

    fn json(&self) -> Value {
        Value::from(self.0)
    }
}

/// A count from `MIN` to 1 000 000.
pub type Count32<const MIN: u64> = Count<MIN, 1_000_000>;

impl<const MIN: u64> From<Count32<MIN>> for u32 {
    fn from(count: Count32<MIN>) -> Self {
        Self::try_from(count.0).unwrap_or(Self::MAX)
    }
}

impl<const MIN: u64> From<u32> for Count32<MIN> {
    fn from(count: u32) -> Self {
        Self(count.into())
    }
}

/// A probability, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probability(pub f64);

impl Setting for Probability {
    const KIND: Kind = Kind::Probability;

    fn read(text: &str) -> Result<Self, String> {
        let probability = probability(text).map_err(|error| error.to_string());
        probability.map(Self)
    }

    fn text(&self) -> String {
        self.0.to_string()
    }

    fn json(&self) -> Value {
        Value::from(self.0)
    }
}

impl Setting for bool {
    const KIND: Kind = Kind::Switch;

    fn read(text: &str) -> Result<Self, String> {
        match text {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(format!("found '{text}', expected on or off")),
        }
    }

    fn text(&self) -> String {
        if *self { "on" } else { "off" }.to_owned()
    }

    fn json(&self) -> Value {
        Value::from(*self)
    }
}

/// In-order packets per ACK, 1 to 1000; 1 disables delayed ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, From, Into)]
pub struct DelayedAck(pub u32);

impl Setting for DelayedAck {
    const KIND: Kind = Kind::Text("off|N", || vec!["off"]);

    fn read(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self(1)),
            _ => match text.parse() {
                Ok(packets @ 1..=1_000) => Ok(Self(packets)),
                _ => Err(format!(
                    "found '{text}', expected off or a number of packets from 1 to 1000"
                )),
            },
        }
    }

    fn text(&self) -> String {
        match self.0 {
            1 => "off".to_owned(),
            packets => packets.to_string(),
        }
    }

    fn json(&self) -> Value {
        Value::from(self.0)
    }
}

/// Largest number of packets of a queue or a window.
pub(super) const MAX_PACKETS: u64 = 1 << 40;

/// Reads a number of packets, such as `64pkt`.
fn packets(text: &str) -> Result<u64, String> {
    text.strip_suffix("pkt")
        .and_then(|number| number.parse().ok())
        .filter(|packets| (1..=MAX_PACKETS).contains(packets))
        .ok_or_else(|| format!("found '{text}', expected 1pkt to 2^40 pkt, such as 64pkt"))
}

/// Window that the receiver advertises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiverWindow {
    /// In packets; 2^40 or more are unlimited.
    Packets(u64),
    /// In bytes: as many whole packets as fit, at least one.
    Bytes(Bytes),
    /// It never limits the sender.
    Unlimited,
}

impl ReceiverWindow {
    /// The window in packets of this size, at least one.
    #[must_use]
    pub fn packets(self, packet: Bytes) -> u64 {
        let packets = match self {
            Self::Packets(packets) => packets,
            Self::Bytes(bytes) => bytes.0.checked_div(packet.0).unwrap_or(MAX_PACKETS),
            Self::Unlimited => MAX_PACKETS,
        };
        packets.clamp(1, MAX_PACKETS)
    }
}

/// The window of the hosts of this profile.
impl ReceiverWindow {
    /// The window for which the receive buffers of a profile have room at first.
    #[must_use]
    pub fn first_of(profile: Profile) -> Self {
        profile
            .first_receiver_window()
            .map_or(Self::Unlimited, Self::Bytes)
    }
}

impl From<Profile> for ReceiverWindow {
    fn from(profile: Profile) -> Self {
        profile
            .receiver_window()
            .map_or(Self::Unlimited, Self::Bytes)
    }
}

impl Setting for ReceiverWindow {
    const KIND: Kind = Kind::Text("SIZE|Npkt|unlimited", || vec!["unlimited"]);

    fn read(text: &str) -> Result<Self, String> {
        if text == "unlimited" {
            return Ok(Self::Unlimited);
        }
        if text.ends_with("pkt") {
            return packets(text).map(Self::Packets);
        }
        text.parse().map(Self::Bytes).map_err(|_| {
            format!("found '{text}', expected bytes, packets or unlimited: 6MiB, 64pkt")
        })
    }

    fn text(&self) -> String {
        match self {
            Self::Packets(MAX_PACKETS..) | Self::Unlimited => "unlimited".to_owned(),
            Self::Packets(packets) => format!("{packets}pkt"),
            Self::Bytes(bytes) => bytes.to_string(),
        }
    }
}

/// Size of the gateway's queue (`--buffer`), in packets, bytes or bandwidth-delay products, or unlimited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BufferSize {
    /// In packets.
    Packets(u64),
    /// In bytes.
    Bytes(Bytes),
    /// In bandwidth-delay products.
    Bdp(f64),
    /// Without a limit.
    Unlimited,
}

impl Setting for BufferSize {
    const KIND: Kind = Kind::Text("Npkt|SIZE|Nbdp|inf", || vec!["inf"]);

    fn read(text: &str) -> Result<Self, String> {
        if text == "inf" {
            return Ok(Self::Unlimited);
        }
        if let Some(number) = text.strip_suffix("bdp") {
            return match number.parse() {
                Ok(products) if products > 0.0 && products <= 1e6 => Ok(Self::Bdp(products)),
                _ => Err(format!(
                    "found '{text}', expected more than 0bdp and at most 1000000bdp, such as 1bdp"
                )),
            };
        }
        if text.ends_with("pkt") {
            return packets(text).map(Self::Packets);
        }
        text.parse().map(Self::Bytes).map_err(|error: QuantityError| {
            let meant = error.did_you_mean();
            format!(
                "found '{text}'{meant}, expected packets, bytes, bandwidth-delay products or no limit: 100pkt, 64kB, 1bdp, inf"
            )
        })
    }

    fn text(&self) -> String {
        match self {
            Self::Packets(packets) => format!("{packets}pkt"),
            Self::Bytes(bytes) => bytes.to_string(),
            Self::Bdp(products) => format!("{products}bdp"),
            Self::Unlimited => "inf".to_owned(),
        }
    }
}

impl Setting for FeedbackDelay {
    const KIND: Kind = Kind::Text("DURATION|decode|interleaver", || {
        vec!["decode", "interleaver"]
    });

    fn read(text: &str) -> Result<Self, String> {
        text.parse::<Self>().map_err(|error| error.to_string())
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn json(&self) -> Value {
        match self {
            Self::Of(span) => span.json(),
            word => Value::from(word.text()),
        }
    }
}

/// File name; `-` is stdin.
impl Setting for String {
    const KIND: Kind = Kind::Text("FILE", Vec::new);

    fn read(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn text(&self) -> String {
        self.clone()
    }
}

/// Implements [`Setting`] by `FromStr` and `Display`.
macro_rules! settings {
    ($($type:ty: $kind:expr $(, $number:expr)?;)+) => {$(
        impl Setting for $type {
            const KIND: Kind = $kind;

            fn read(text: &str) -> Result<Self, String> {
                text.parse::<Self>().map_err(|error| error.to_string())
            }

            fn text(&self) -> String {
                self.to_string()
            }

            $(fn json(&self) -> Value {
                let number: fn(&Self) -> u64 = $number;
                Value::from(number(self))
            })?
        }
    )+};
}

settings! {
    Span: Kind::Duration, |span| span.as_nanos();
    Bytes: Kind::Bytes, |bytes| bytes.0;
    BitRate: Kind::Rate, |rate| rate.0;
    LinkKind: Kind::Keyword(|| Self::VARIANTS.to_vec());
    PathKind: Kind::Keyword(|| Self::VARIANTS.to_vec());
    Overlap: Kind::Keyword(|| Self::VARIANTS.to_vec());
    Packing: Kind::Keyword(|| Self::VARIANTS.to_vec());
    Tail: Kind::Keyword(|| Self::VARIANTS.to_vec());
    InOrder: Kind::Keyword(|| Self::VARIANTS.to_vec());
    Hold: Kind::Keyword(|| Self::VARIANTS.to_vec());
    SplitWindow: Kind::Keyword(|| Self::VARIANTS.to_vec());
    SplitAnnounce: Kind::Keyword(|| Self::VARIANTS.to_vec());
    Profile: Kind::Keyword(|| Self::VARIANTS.to_vec());
    Recovery: Kind::Keyword(|| Self::VARIANTS.to_vec());
    RttSampling: Kind::Keyword(|| Self::VARIANTS.to_vec());
    TimerRestart: Kind::Keyword(|| Self::VARIANTS.to_vec());
    CutFrom: Kind::Keyword(|| Self::VARIANTS.to_vec());
    IdleRestart: Kind::Keyword(|| Self::VARIANTS.to_vec());
    LossDetection: Kind::Keyword(|| Self::VARIANTS.to_vec());
    Growth: Kind::Keyword(|| Self::VARIANTS.to_vec());
    CubicForm: Kind::Keyword(|| Self::VARIANTS.to_vec());
    HystartForm: Kind::Keyword(|| Self::VARIANTS.to_vec());
    MinRttRenewal: Kind::Keyword(|| Self::VARIANTS.to_vec());
    Quantum: Kind::Keyword(|| Self::VARIANTS.to_vec());
    SchemeSpec: Kind::Text("SCHEME", || tmt_core::scheme::families().iter().map(|family| family.name).collect());
    SlotChannel: Kind::Text("PROCESS", || FAMILIES.iter().map(|family| family.name).collect());
    Columns: Kind::Text("KEY=COLUMN,…", || vec!["tx=", "delay=", "erased=", "attempts=", "interval="]);
    Algorithm: Kind::Text("CC", Algorithm::names);
    Discipline: Kind::Text("DISCIPLINE", Discipline::names);
    Access: Kind::Text("METHOD", Access::names);
    AckFilter: Kind::Text("FILTER", AckFilter::names);
}

impl Setting for Unit {
    const KIND: Kind = Kind::Keyword(|| vec!["s", "ms", "us", "ns"]);

    fn read(text: &str) -> Result<Self, String> {
        text.parse::<Self>().map_err(|error| error.to_string())
    }

    fn text(&self) -> String {
        self.name().to_owned()
    }
}
