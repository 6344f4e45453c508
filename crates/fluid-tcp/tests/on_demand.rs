//! Flows on demand: they exist while they are open, and nothing of them is lost when they are let go.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use fluid_tcp::congestion::Algorithm;
use fluid_tcp::endpoint::{Application, Outcome, Profile, Source, Supply, Wake};
use fluid_tcp::log::PacketLog;
use fluid_tcp::simulation::{Flow, Later, Setup};
use proptest::prelude::*;
use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::format::table::TableForm;
use tmt_core::types::{BitRate, Bytes, Span, Time};
use tmt_link::hop::{ReturnPath, SidePath};
use tmt_link::queue::Buffer;

use super::audited::{agree, audited, head};
use crate::run;

/// Payload of a transfer: two full packets and a rest.
const SIZE: u64 = 3000;

/// What the transfers know of each other.
#[derive(Debug, Default)]
struct Shared {
    /// Number of the next flow, and of those that there are.
    next: Cell<usize>,
    flows: usize,
    /// Transfers that are in memory, and the most at one time.
    live: Cell<usize>,
    most: Cell<usize>,
    complete: Cell<usize>,
    woken: RefCell<Vec<Wake>>,
}

/// A transfer whose last byte opens the next one.
#[derive(Debug)]
struct Transfer {
    shared: Rc<Shared>,
    left: u64,
    supplied: bool,
}

impl Transfer {
    fn new(shared: &Rc<Shared>) -> Self {
        shared.live.set(shared.live.get() + 1);
        shared.most.set(shared.most.get().max(shared.live.get()));
        Self {
            shared: Rc::clone(shared),
            left: SIZE,
            supplied: false,
        }
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.shared.live.set(self.shared.live.get() - 1);
    }
}

impl Application for Transfer {
    fn supply(&mut self, _now: Time) -> Supply {
        if std::mem::replace(&mut self.supplied, true) {
            return Supply::Ended;
        }
        Supply::Data(Bytes(SIZE))
    }

    fn on_delivered(&mut self, now: Time, payload: Bytes) {
        let shared = &self.shared;
        self.left -= payload.0;
        if self.left > 0 {
            return;
        }
        shared.complete.set(shared.complete.get() + 1);
        let next = shared.next.get();
        if next < shared.flows {
            shared.next.set(next + 1);
            let transfer = Box::new(Self::new(shared));
            shared
                .woken
                .borrow_mut()
                .push(Wake::Open(next, now, transfer));
        }
    }

    fn woken(&mut self) -> Option<Wake> {
        self.shared.woken.borrow_mut().pop()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// One transfer after the other, beside a long one, with losses in both directions and beside the link: the auditor counts the
    /// same packets, and few transfers are in memory at one time.
    #[test]
    fn few_of_many_are_in_memory_and_all_are_counted(
        flows in 300usize..600,
        (loss, back) in (0.0..0.05f64, prop::option::of(0.0..0.05f64)),
        (profile, handshake) in (prop::sample::select(&[Profile::Ns2, Profile::Rfc, Profile::Linux][..]), any::<bool>()),
        (far, buffer) in (prop::option::of(0.0..0.02f64), 3u64..30),
        queue in prop::sample::select(vec!["drop-tail", "codel", "fq-codel", "priority"]),
        seed in 1u64..1000,
    ) {
        let mut endpoint = profile.endpoint();
        endpoint.handshake = handshake;
        let counted = Arc::new(Mutex::new((0, 0)));
        let made = Arc::clone(&counted);
        let first = Flow::new(Algorithm::default(), endpoint).with(move |context| {
            let shared = Rc::new(Shared {
                next: Cell::new(context.flow + 1),
                flows: context.flow + flows,
                ..Shared::default()
            });
            Watched { transfer: Transfer::new(&shared), shared, seen: Arc::clone(&made) }
        });
        let first = Flow { on_demand: flows - 1, class: 3, ..first };
        let bulk = Flow::new("newreno".parse().unwrap(), endpoint).of_packets(3000);
        let setup = Setup {
            buffer: Buffer::Packets(buffer),
            discipline: queue.parse().unwrap(),
            seed,
            return_path: ReturnPath {
                loss: back.map(|p| Channel::of_return_path(ChannelSpec::Bernoulli { p }, seed).into()),
                ..ReturnPath::default()
            },
            side_paths: [None, far.map(|p| SidePath {
                loss: Some(Channel::new(ChannelSpec::Bernoulli { p }, seed).into()),
                ..SidePath::default()
            })],
            ..Setup::new(vec![first, bulk], Span::from_millis(10), Span::from_secs(5000))
        };
        let channel = Channel::new(ChannelSpec::Bernoulli { p: loss }, seed);
        let link = setup.synthetic_link(BitRate(2_000_000), Some(channel.into())).unwrap();
        let mut head = head(&setup, "synthetic", "rate_bps", 2_000_000);
        if far.is_some() {
            head.set("far_hop", "on");
            head.set("far_loss", "on");
        }
        let (report, audit) = audited(&setup, link, &head, None);
        agree(&setup, &report, &audit)?;
        prop_assert_eq!(report.flows.len(), 2);
        let (complete, most) = *counted.lock().unwrap();
        prop_assert_eq!(complete, flows);
        prop_assert_eq!(report.flows[0].packets_delivered, 3 * flows as u64);
        prop_assert!(most < 150, "{} of {} at one time", most, flows);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Transfers that are made when their time comes are those that were made before the run, to the byte of the log: many start at one
    /// time, also with a flow that follows.
    #[test]
    fn transfers_that_are_made_at_their_start_are_those_made_before(
        starts in prop::collection::vec((0u32..40, 0u64..40_000), 1..400),
        (loss, back) in (0.0..0.05f64, prop::option::of(0.0..0.05f64)),
        (profile, handshake) in (prop::sample::select(&[Profile::Ns2, Profile::Rfc, Profile::Linux][..]), any::<bool>()),
        (after, buffer) in (0u32..2000, 3u64..30),
        queue in prop::sample::select(vec!["drop-tail", "codel", "fq-codel", "priority"]),
        seed in 1u64..1000,
    ) {
        let mut endpoint = profile.endpoint();
        endpoint.handshake = handshake;
        let one = Flow::new(Algorithm::default(), endpoint);
        let mut millis = 0;
        let flows = starts.iter().map(|(gap, bytes)| {
            // A third starts with the one before it.
            millis += gap.saturating_sub(13);
            let flow = one.clone().starting(Span::from_millis(millis));
            Flow { part_of: Some(0), ..flow.of_bytes(Bytes(*bytes), Bytes(1500)).unwrap() }
        });
        let before: Vec<Flow> = flows.collect();
        let all: Vec<(Span, Source)> = before.iter().map(|flow| (flow.start, flow.source.clone())).collect();
        let at_start = Flow {
            on_demand: all.len() - 1,
            later: Some(Later::new(move || all.clone().into_iter().skip(1))),
            ..before[0].clone()
        };
        let bulk = Flow::new("newreno".parse().unwrap(), endpoint).of_packets(500);
        let bulk = bulk.starting(Span::from_millis(after));
        let logged = |mut flows: Vec<Flow>| {
            flows.push(bulk.clone());
            let setup = Setup {
                buffer: Buffer::Packets(buffer),
                discipline: queue.parse().unwrap(),
                seed,
                return_path: ReturnPath {
                    loss: back.map(|p| Channel::of_return_path(ChannelSpec::Bernoulli { p }, seed).into()),
                    ..ReturnPath::default()
                },
                ..Setup::new(flows, Span::from_millis(10), Span::from_secs(15))
            };
            let channel = Channel::new(ChannelSpec::Bernoulli { p: loss }, seed);
            let link = setup.synthetic_link(BitRate(8_000_000), Some(channel.into())).unwrap();
            let head = head(&setup, "synthetic", "rate_bps", 8_000_000);
            let mut log = PacketLog::new(Vec::new(), TableForm::Text(None), &head, &setup).unwrap();
            let report = run(&setup, link, &mut log).unwrap();
            (String::from_utf8(log.finish().unwrap()).unwrap(), format!("{report:?}"))
        };
        let (log, report) = logged(vec![at_start]);
        let (expected, all) = logged(before);
        prop_assert!(log == expected);
        prop_assert_eq!(report, all);
    }
}

/// The first transfer, which says at its end what happened.
#[derive(Debug)]
struct Watched {
    transfer: Transfer,
    shared: Rc<Shared>,
    seen: Arc<Mutex<(usize, usize)>>,
}

impl Application for Watched {
    fn supply(&mut self, now: Time) -> Supply {
        self.transfer.supply(now)
    }

    fn on_delivered(&mut self, now: Time, payload: Bytes) {
        self.transfer.on_delivered(now, payload);
    }

    fn woken(&mut self) -> Option<Wake> {
        self.transfer.woken()
    }

    fn outcome(&mut self, _end: Time) -> Outcome {
        *self.seen.lock().unwrap() = (self.shared.complete.get(), self.shared.most.get());
        Outcome::default()
    }
}
