//! The paths beside the link: rate or trace, queue and losses.

use tmt_core::channel::SlotChannel;
use tmt_core::types::{BitRate, Note, Time, to_f64};
use tmt_link::queue::{Buffer, Discipline};

use super::link::Link;
use super::path::{bdp, origin};
use super::return_trace::Cargo;
use crate::experiment::counted::counted;
use crate::experiment::error::{Result, data, refused};
use crate::experiment::parameters::Experiment;
use crate::experiment::plan::SidePlan;
use crate::experiment::setting::Setting as _;
use crate::experiment::storage::Storage;
use crate::experiment::values::BufferSize;
use crate::simulation::Side;

/// Given values of a side, with the keys of its parameters.
struct Given<'a> {
    words: &'static str,
    rate: Option<BitRate>,
    trace: Option<&'a String>,
    queue: Option<&'a Discipline>,
    buffer: Option<BufferSize>,
    loss: Option<&'a SlotChannel>,
    keys: [&'static str; 4],
}

impl Experiment {
    fn given_on(&self, side: Side) -> Given<'_> {
        match side {
            Side::Terrestrial => Given {
                words: "terrestrial path",
                rate: self.terrestrial_rate,
                trace: self.terrestrial_trace.as_ref(),
                queue: self.terrestrial_queue.as_ref(),
                buffer: self.terrestrial_buffer,
                loss: self.terrestrial_loss.as_ref(),
                keys: [
                    "terrestrial_queue",
                    "terrestrial_buffer",
                    "terrestrial_rate",
                    "terrestrial_trace",
                ],
            },
            Side::Far => Given {
                words: "far path",
                rate: self.far_rate,
                trace: self.far_trace.as_ref(),
                queue: self.far_queue.as_ref(),
                buffer: self.far_buffer,
                loss: self.far_loss.as_ref(),
                keys: ["far_queue", "far_buffer", "far_rate", "far_trace"],
            },
        }
    }

    /// The paths beside the link, in the order of [`Side::ALL`]; `None` for one that is only a delay. Adds notes on them.
    pub(super) fn side_paths(
        &self,
        storage: &dyn Storage,
        link: &Link,
        end: Time,
        notes: &mut Vec<Note>,
    ) -> Result<[Option<SidePlan>; 2]> {
        let [near, far] = Side::ALL;
        Ok([
            self.side_path(storage, link, end, near, notes)?,
            self.side_path(storage, link, end, far, notes)?,
        ])
    }

    fn side_path(
        &self,
        storage: &dyn Storage,
        link: &Link,
        end: Time,
        side: Side,
        notes: &mut Vec<Note>,
    ) -> Result<Option<SidePlan>> {
        let given = self.given_on(side);
        let [queue_key, buffer_key, rate_key, trace_key] = given.keys;
        let words = given.words;
        let loss = given.loss.cloned();
        if let Some(loss) = &loss {
            notes.push(format!("{words}: loss {}", loss.brief()).into());
        }
        if given.rate.is_none() && given.trace.is_none() {
            let needless = [
                (queue_key, given.queue.is_some()),
                (buffer_key, given.buffer.is_some()),
            ];
            if let Some((key, _)) = needless.into_iter().find(|(_, is_given)| *is_given) {
                return refused(
                    key,
                    format!(
                        "`{key}`: found a {words} on which packets never wait, expected `{rate_key}` or `{trace_key}`"
                    ),
                );
            }
            return Ok(loss.map(|loss| SidePlan {
                loss: Some(loss),
                ..SidePlan::default()
            }));
        }
        let packet = self.packet();
        if let Some(rate) = given.rate
            && rate.time_of_bit(u128::from(packet.0) * 8).is_none()
        {
            return refused(
                rate_key,
                format!(
                    "`{rate_key}` {rate}: expected a rate that serves a packet in less than 2^63 ns"
                ),
            );
        }
        let cargo = Cargo {
            path: words,
            one: "a packet",
            bare: "packet",
            many: "packets",
            size: packet,
        };
        let trace = given
            .trace
            .map(|file| self.trace_beside(storage, file, &cargo, end, notes));
        let trace = trace.transpose()?;
        let mean = match (given.rate, &trace) {
            (Some(rate), _) => Some(to_f64(rate.0)),
            (None, trace) => trace.as_ref().and_then(|trace| trace.rate_bps),
        };
        let discipline = given.queue.cloned().unwrap_or_default();
        let size = given.buffer.unwrap_or(BufferSize::Bdp(1.0));
        let origin = origin(given.buffer.is_some(), "given");
        let (buffer, size, of) = match size {
            BufferSize::Unlimited => (Buffer::UNLIMITED, size, String::new()),
            BufferSize::Packets(packets) => (Buffer::Packets(packets), size, String::new()),
            BufferSize::Bytes(bytes) if bytes.0 < packet.0 => {
                return refused(
                    buffer_key,
                    format!("`{buffer_key}` {bytes}: expected at least one packet of {packet}"),
                );
            }
            BufferSize::Bytes(bytes) => (Buffer::Bytes(bytes.0), size, String::new()),
            BufferSize::Bdp(products) => {
                let rate = mean.ok_or_else(|| {
                    data(format!("found a {words} of unknown rate, expected a size of `{buffer_key}` in packets or bytes"))
                })?;
                let delay = link.rtt.saturating_add(link.decode_delay);
                let packets = bdp(products, rate, delay, packet);
                let of = format!(": {products} BDP of {:.6} Mbps x {delay}", rate / 1e6);
                (Buffer::Packets(packets), BufferSize::Packets(packets), of)
            }
        };
        let rate = given
            .rate
            .map_or_else(|| "trace".to_owned(), |rate| rate.to_string());
        let held = match size {
            BufferSize::Packets(packets) => counted(packets, "packet"),
            size => size.text(),
        };
        notes.push(format!("{words}: {rate}, queue {discipline} of {held} ({origin}{of})").into());
        Ok(Some(SidePlan {
            loss,
            rate: given.rate,
            trace,
            discipline,
            buffer,
            size: Some(size),
        }))
    }
}
