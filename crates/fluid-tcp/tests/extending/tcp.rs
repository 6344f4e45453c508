//! TCP as two hosts, made of the public sender and receiver: what a transport of one's own looks like that acknowledges,
//! repeats and paces.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fluid_tcp::congestion;
use fluid_tcp::endpoint::receiver::{Ack, Receiver, Segment};
use fluid_tcp::endpoint::sender::Sender;
use fluid_tcp::endpoint::{Context, Host, Outgoing, Socket, Supply};
use fluid_tcp::simulation::Flow;
use tmt_core::types::{Bytes, Span, Time};
use tmt_link::{Ecn, Packet, Tag};

/// State that both ends share: the ACKs under way, by the number in their tags, and the RTT that the receiver would measure.
#[derive(Debug, Default)]
struct Shared {
    acks: RefCell<Vec<Ack>>,
    srtt: Cell<Option<Span>>,
}

#[derive(Debug)]
struct Near {
    sender: Sender,
    packet: Bytes,
    payload: u64,
    shared: Rc<Shared>,
}

#[derive(Debug)]
struct Far {
    receiver: Receiver,
    payload: u64,
    /// An ACK to send at once.
    ack: Option<Ack>,
    shared: Rc<Shared>,
}

/// A flow like `flow` without its source, between these hosts.
pub(crate) fn between(flow: &Flow) -> Flow {
    let (algorithm, endpoint) = (flow.algorithm.clone(), flow.endpoint);
    Flow::between(move |context: &Context| {
        let control = congestion::start(&algorithm, &endpoint.connection(context.packet));
        let receiver = Receiver::new(endpoint);
        let mut sender = Sender::new(endpoint, control, Some(0));
        if let Some(window) = receiver.first_window() {
            sender.set_send_limit(window);
        }
        let payload = context.packet.0 - endpoint.headers.0;
        let shared = Rc::<Shared>::default();
        let near = Near {
            sender,
            packet: context.packet,
            payload,
            shared: Rc::clone(&shared),
        };
        let far = Far {
            receiver,
            payload,
            ack: None,
            shared,
        };
        (near, far)
    })
}

impl Host for Near {
    fn on_packet(&mut self, now: Time, packet: &Packet, _socket: &mut Socket) {
        let ack = self.shared.acks.borrow()[usize::try_from(packet.tag.0[0]).unwrap()];
        self.sender.on_ack(now, &ack);
        self.shared.srtt.set(self.sender.srtt());
    }

    fn poll(&mut self, now: Time, socket: &mut Socket) -> Option<Outgoing> {
        if self.sender.deadline().is_some_and(|due| due <= now) {
            self.sender.on_timer(now);
        }
        if self.sender.unsent() == 0
            && let Supply::Data(bytes) = socket.supply(now)
        {
            let before = self.sender.snd_nxt();
            self.sender.supply(before + bytes.0.div_ceil(self.payload));
        }
        let packet = self.sender.next_packet(now)?;
        let may_be_marked = self.sender.is_ecn_capable() && packet.copy == 1;
        Some(Outgoing {
            size: self.packet,
            ecn: if may_be_marked {
                Ecn::Capable
            } else {
                Ecn::NotCapable
            },
            tag: Tag([packet.packet, u64::from(packet.cwr)]),
            copy: packet.copy,
        })
    }

    fn due(&self) -> Option<Time> {
        let timers = [self.sender.deadline(), self.sender.pacing_release()];
        timers.into_iter().flatten().min()
    }
}

impl Host for Far {
    fn on_packet(&mut self, now: Time, packet: &Packet, socket: &mut Socket) {
        let before = self.receiver.rcv_nxt();
        let segment = Segment {
            number: packet.tag.0[0],
            sent: packet.sent,
            marked: packet.ecn == Ecn::Marked,
            cwr: packet.tag.0[1] == 1,
        };
        self.ack = self.receiver.on_packet(now, segment).ack;
        self.receiver.on_read(now, || self.shared.srtt.get());
        let packets = self.receiver.rcv_nxt() - before;
        if packets > 0 {
            socket.deliver(now, packets, Bytes(packets * self.payload));
        }
    }

    fn poll(&mut self, now: Time, _socket: &mut Socket) -> Option<Outgoing> {
        let ack = self.ack.take().or_else(|| self.receiver.on_timer(now))?;
        let mut acks = self.shared.acks.borrow_mut();
        acks.push(ack);
        Some(Outgoing {
            size: Bytes(40),
            tag: Tag([acks.len() as u64 - 1, 0]),
            copy: 1,
            ..Outgoing::default()
        })
    }

    fn due(&self) -> Option<Time> {
        self.receiver.deadline()
    }
}
