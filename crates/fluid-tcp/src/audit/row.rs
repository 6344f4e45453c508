//! One row of the log: text to a copy whose fate and fields agree, so that no rule asks again.

use csv::ByteRecord;
use tmt_core::types::{NANOS_PER_SECOND, Span, Time};

use super::refusal::{Refusal, shown};

/// The columns, in the one order accepted; the last may be left out, and the four in front of it together.
const COLUMNS: [&str; 17] = [
    "flow",
    "packet",
    "copy",
    "sent",
    "enqueued",
    "service_start",
    "service_end",
    "first_lldu",
    "last_lldu",
    "delivered",
    "fate",
    "acked",
    "delay_propagation",
    "delay_queue",
    "delay_serialisation",
    "delay_wait",
    "left",
];

/// Columns of a log that does not tell what delays are made of.
const WITHOUT_PARTS: usize = 12;

/// Columns of a log that does not tell when packets left the gateway's buffer: they do with their last unit.
const WITHOUT_LEFT: usize = 16;

/// One transmitted copy of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    /// Line of the log, which also numbers the copies in their order of sending.
    pub(super) line: u64,
    pub(super) flow: u64,
    pub(super) packet: u64,
    /// 1 for the first transmission.
    pub(super) copy: u64,
    pub(super) sent: Time,
    /// When it reached the gateway; none where the run ended first.
    pub(super) enqueued: Option<Time>,
    pub(super) fate: Fate,
    /// When the gateway's buffer let it go.
    pub(super) left: Option<Time>,
    /// When the sender first had an ACK that covers the packet.
    pub(super) acked: Option<Time>,
    /// What the delay of a delivered copy is made of, in the order of the columns; none where the log does not tell.
    pub(super) parts: Option<[Span; 4]>,
}

/// What became of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Delivered {
        service: Service,
        at: Time,
    },
    DroppedAtQueue,
    /// A proxy had it already.
    Duplicate,
    LostOnLink {
        service: Service,
    },
    /// The run ended first.
    Open {
        service: Option<Service>,
    },
}

/// The link's work on one copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Service {
    pub(super) start: Time,
    pub(super) end: Time,
    /// LLDUs of the timeline from 0, or twice the ordinal of the service.
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Fate {
    pub(super) const fn service(&self) -> Option<Service> {
        match *self {
            Self::Delivered { service, .. } | Self::LostOnLink { service } => Some(service),
            Self::DroppedAtQueue | Self::Duplicate => None,
            Self::Open { service } => service,
        }
    }

    pub(super) const fn delivered(&self) -> Option<Time> {
        match *self {
            Self::Delivered { at, .. } => Some(at),
            _ => None,
        }
    }

    /// Whether the gateway took it in, given that it came there.
    pub(super) const fn is_taken(&self) -> bool {
        !matches!(self, Self::DroppedAtQueue | Self::Duplicate)
    }
}

/// How many columns the header names, or what is wrong with it.
pub(super) fn columns(fields: &ByteRecord) -> Result<usize, Refusal> {
    let is = |names: &[&str]| fields.iter().eq(names.iter().map(|name| name.as_bytes()));
    [COLUMNS.len(), WITHOUT_LEFT, WITHOUT_PARTS]
        .into_iter()
        .find(|&count| is(&COLUMNS[..count]))
        .ok_or_else(|| {
            Refusal::new(
                shown(&joined(fields)),
                format!("the header '{}'", COLUMNS.join(",")),
            )
        })
}

impl Row {
    /// Reads a row of so many columns; flows are below `flows`.
    pub(super) fn parse(
        fields: &ByteRecord,
        columns: usize,
        line: u64,
        flows: u64,
    ) -> Result<Self, Refusal> {
        if fields.len() != columns {
            let found = format!("{} fields in {}", fields.len(), shown(&joined(fields)));
            return Err(Refusal::new(found, format!("{columns} fields")));
        }
        let fields = Fields(fields);
        let flow = fields.whole(0)?;
        if flow >= flows {
            return Err(Refusal::new(
                format!("flow {flow}"),
                format!("one of the {flows} flows, counted from 0"),
            ));
        }
        let copy = fields.whole(2)?;
        if copy == 0 {
            return Err(Refusal::new("copy 0", "copies counted from 1"));
        }
        let (enqueued, fate) = (fields.optional(4, Fields::time)?, fields.fate()?);
        let on_its_way = matches!(fate, Fate::Open { service: None });
        if enqueued.is_none() && !on_its_way {
            return Err(fields.unfit(4, "a time, as the copy was at the gateway"));
        }
        let service = fate.service();
        let left = if columns > WITHOUT_LEFT {
            fields.optional(16, Fields::time)?
        } else {
            service.map(|service| service.end)
        };
        if left.is_some() && service.is_none() {
            return Err(fields.unfit(16, "nothing without a service"));
        }
        Ok(Self {
            line,
            flow,
            packet: fields.whole(1)?,
            copy,
            sent: fields.time(3)?,
            enqueued,
            fate,
            left,
            acked: fields.optional(11, Fields::time)?,
            parts: fields.parts(columns)?,
        })
    }
}

/// The fields of a row of full length.
#[derive(Clone, Copy)]
struct Fields<'a>(&'a ByteRecord);

impl<'a> Fields<'a> {
    fn text(self, column: usize) -> &'a [u8] {
        self.0.get(column).unwrap_or_default()
    }

    fn whole(self, column: usize) -> Result<u64, Refusal> {
        whole(self.text(column))
            .ok_or_else(|| self.unfit(column, "a whole number from 0 to 2^63 - 1"))
    }

    fn time(self, column: usize) -> Result<Time, Refusal> {
        seconds(self.text(column))
            .ok_or_else(|| self.unfit(column, "seconds with nine decimals, up to 2^63 - 1 ns"))
    }

    fn optional<V>(
        self,
        column: usize,
        read: fn(Self, usize) -> Result<V, Refusal>,
    ) -> Result<Option<V>, Refusal> {
        if self.text(column).is_empty() {
            Ok(None)
        } else {
            read(self, column).map(Some)
        }
    }

    fn service(self) -> Result<Option<Service>, Refusal> {
        if (5..=8).all(|column| self.text(column).is_empty()) {
            return Ok(None);
        }
        let service = Service {
            start: self.time(5)?,
            end: self.time(6)?,
            first: self.whole(7)?,
            last: self.whole(8)?,
        };
        Ok(Some(service))
    }

    /// The parts of the delay, which stand where there was a delivery and nowhere else.
    fn parts(self, columns: usize) -> Result<Option<[Span; 4]>, Refusal> {
        if columns == WITHOUT_PARTS {
            return Ok(None);
        }
        let columns = columns.min(WITHOUT_LEFT);
        if self.text(9).is_empty() {
            return match (WITHOUT_PARTS..columns).find(|&column| !self.text(column).is_empty()) {
                Some(column) => Err(self.unfit(column, "nothing without a delivery")),
                None => Ok(None),
            };
        }
        let mut parts = [Span::ZERO; 4];
        for (part, column) in parts.iter_mut().zip(WITHOUT_PARTS..) {
            *part = self.time(column)?.since(Time::ZERO);
        }
        Ok(Some(parts))
    }

    fn fate(self) -> Result<Fate, Refusal> {
        let service = self.service()?;
        let delivered = self.optional(9, Self::time)?;
        match (self.text(10), service, delivered) {
            (b"delivered", Some(service), Some(at)) => Ok(Fate::Delivered { service, at }),
            (b"queue", None, None) => Ok(Fate::DroppedAtQueue),
            (b"duplicate", None, None) => Ok(Fate::Duplicate),
            (b"link", Some(service), None) => Ok(Fate::LostOnLink { service }),
            (b"open", service, None) => Ok(Fate::Open { service }),
            (b"delivered" | b"queue" | b"duplicate" | b"link" | b"open", ..) => {
                let words = |present| if present { "with" } else { "without" };
                let found = format!(
                    "fate {} {} service and {} delivery",
                    shown(self.text(10)),
                    words(service.is_some()),
                    words(delivered.is_some())
                );
                Err(Refusal::new(
                    found,
                    "delivered with both, queue and duplicate with none, link with service, open without delivery",
                ))
            }
            _ => Err(self.unfit(10, "delivered, queue, duplicate, link or open")),
        }
    }

    fn unfit(self, column: usize, expected: &str) -> Refusal {
        Refusal::new(
            format!("{} {}", COLUMNS[column], shown(self.text(column))),
            expected,
        )
    }
}

pub(super) fn joined(fields: &ByteRecord) -> Vec<u8> {
    fields.iter().collect::<Vec<_>>().join(&b',')
}

/// A whole number in its one canonical form, up to 2^63 − 1.
pub(super) fn whole(text: &[u8]) -> Option<u64> {
    let canonical =
        matches!(text, [b'0'] | [b'1'..=b'9', ..]) && text.iter().all(u8::is_ascii_digit);
    let number: u64 = canonical.then(|| std::str::from_utf8(text).ok()?.parse().ok())??;
    (number <= Time::MAX.as_nanos()).then_some(number)
}

/// Seconds with exactly nine decimals.
pub(super) fn seconds(text: &[u8]) -> Option<Time> {
    let (seconds, fraction) = text.split_at_checked(text.len().checked_sub(10)?)?;
    let digits = fraction
        .strip_prefix(b".")
        .filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    let nanos = digits
        .iter()
        .fold(0, |nanos, digit| nanos * 10 + u64::from(digit - b'0'));
    whole(seconds)?
        .checked_mul(NANOS_PER_SECOND)?
        .checked_add(nanos)
        .and_then(Time::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_form_of_a_time_is_taken() {
        assert_eq!(seconds(b"12.000112820"), Time::from_nanos(12_000_112_820));
        assert_eq!(seconds(b"9223372036.854775807"), Some(Time::MAX));
        for text in [
            "",
            "1",
            "1.5",
            ".000000000",
            "01.000000000",
            "+1.000000000",
            "-1.000000000",
            "1.0000000000",
            "1.00000000e",
            "9223372036.854775808",
            "99999999999999999999.000000000",
            " 1.000000000",
        ] {
            assert_eq!(seconds(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn only_the_canonical_form_of_a_whole_number_is_taken() {
        assert_eq!(whole(b"0"), Some(0));
        assert_eq!(whole(b"9223372036854775807"), Some(i64::MAX.unsigned_abs()));
        for text in [
            "",
            "00",
            "01",
            "-0",
            "+1",
            "1 ",
            "9223372036854775808",
            "99999999999999999999",
        ] {
            assert_eq!(whole(text.as_bytes()), None, "{text}");
        }
    }
}
