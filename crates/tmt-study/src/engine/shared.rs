//! Shared by cells: traces, slots, and timelines. Each is made once, by the first that needs it, and dropped after the last.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fluid_tcp::experiment::{Collect, Error, Experiment, Loaded, Storage};
use tmt_core::format::Options;

/// Slots of a chain: number of their parameters, and the seed if they are random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SlotsKey {
    pub(super) parameters: u32,
    pub(super) seed: Option<u64>,
}

/// Timeline of a chain: slots, and number of the parameters of the transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct TimelineKey {
    pub(super) slots: SlotsKey,
    pub(super) parameters: u32,
}

/// Why there is nothing to share.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    /// Whether a trace cannot be read or stored, which ends the sweep.
    pub(super) is_storage: bool,
    pub(super) message: String,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self {
            is_storage: matches!(error, Error::Storage(_) | Error::Stopped),
            message: error.to_string(),
        }
    }
}

/// Something that is made once.
type Once = OnceLock<Result<Loaded, Refusal>>;

/// Something shared, and the number of its uses to come.
#[derive(Debug, Default)]
struct Entry {
    made: Arc<Once>,
    uses: AtomicUsize,
}

/// Shared by all tasks of a sweep.
pub(crate) struct Shared<'a> {
    storage: &'a dyn Storage,
    /// Traces, by path and options.
    traces: Mutex<HashMap<String, Arc<Once>>>,
    slots: Mutex<HashMap<SlotsKey, Entry>>,
    timelines: Mutex<HashMap<TimelineKey, Entry>>,
}

impl<'a> Shared<'a> {
    /// Nothing made yet; `uses` names the timeline of every use to come.
    pub(super) fn new(
        storage: &'a dyn Storage,
        uses: impl IntoIterator<Item = TimelineKey>,
    ) -> Self {
        let (mut slots, mut timelines) = (HashMap::new(), HashMap::new());
        for key in uses {
            used(&mut slots, key.slots);
            used(&mut timelines, key);
        }
        Self {
            storage,
            traces: Mutex::default(),
            slots: Mutex::new(slots),
            timelines: Mutex::new(timelines),
        }
    }

    /// Traces alone, each read once.
    pub(crate) fn of_traces(storage: &'a dyn Storage) -> Self {
        Self::new(storage, [])
    }

    /// The timeline of the chain `experiment`, whose seed is `seed`.
    pub(super) fn timeline(
        &self,
        key: TimelineKey,
        experiment: &Experiment,
        seed: u64,
    ) -> Result<Loaded, Refusal> {
        let made = entry(&self.timelines, key);
        let timeline = made.get_or_init(|| {
            let slots = entry(&self.slots, key.slots);
            let slots =
                slots.get_or_init(|| experiment.chain_slots(self, seed).map_err(Refusal::from));
            let slots = slots.as_ref().map_err(Clone::clone)?;
            Ok(experiment.chain_timeline(slots, self)?)
        });
        timeline.clone()
    }

    /// Notes the end of a use of the timeline of `key`.
    pub(super) fn release(&self, key: TimelineKey) {
        released(&self.slots, &key.slots);
        released(&self.timelines, &key);
    }
}

/// Parts made so far.
pub(super) trait Made {
    /// Whether the slots are there.
    fn has_slots(&self, key: SlotsKey) -> bool;
    /// Whether the timeline is there.
    fn has_timeline(&self, key: TimelineKey) -> bool;
}

impl Made for Shared<'_> {
    fn has_slots(&self, key: SlotsKey) -> bool {
        is_made(&self.slots, &key)
    }

    fn has_timeline(&self, key: TimelineKey) -> bool {
        is_made(&self.timelines, &key)
    }
}

fn is_made<K: std::hash::Hash + Eq>(entries: &Mutex<HashMap<K, Entry>>, key: &K) -> bool {
    let entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
    let entry = entries.get(key);
    entry.is_some_and(|entry| entry.made.get().is_some())
}

/// Counts a use of `key`.
fn used<K: std::hash::Hash + Eq>(entries: &mut HashMap<K, Entry>, key: K) {
    let entry = entries.entry(key).or_default();
    entry.uses.fetch_add(1, Ordering::Relaxed);
}

fn entry<K: std::hash::Hash + Eq>(entries: &Mutex<HashMap<K, Entry>>, key: K) -> Arc<Once> {
    let mut entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(&entries.entry(key).or_default().made)
}

fn released<K: std::hash::Hash + Eq>(entries: &Mutex<HashMap<K, Entry>>, key: &K) {
    let mut entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
    let is_last = |entry: &Entry| entry.uses.fetch_sub(1, Ordering::Relaxed) == 1;
    if entries.get(key).is_some_and(is_last) {
        entries.remove(key);
    }
}

/// Reads every trace once.
impl Storage for Shared<'_> {
    fn read(&self, path: Option<&str>, options: Options) -> Result<Loaded, Error> {
        let key = format!("{path:?} {options:?}");
        let made = {
            let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(traces.entry(key).or_default())
        };
        let read = made.get_or_init(|| Ok(self.storage.read(path, options)?));
        read.clone().map_err(|refusal| {
            if refusal.is_storage {
                Error::Storage(refusal.message.into())
            } else {
                Error::Data(refusal.message)
            }
        })
    }

    fn collect(&self) -> Box<dyn Collect> {
        self.storage.collect()
    }

    fn stopped(&self) -> bool {
        self.storage.stopped()
    }
}

/// Storage that returns one timeline for the trace `-`.
pub(crate) struct Over<'a> {
    pub(crate) storage: &'a dyn Storage,
    pub(crate) timeline: Loaded,
}

impl Storage for Over<'_> {
    fn read(&self, path: Option<&str>, options: Options) -> Result<Loaded, Error> {
        match path {
            None | Some("-") => Ok(self.timeline.clone()),
            path => self.storage.read(path, options),
        }
    }

    fn collect(&self) -> Box<dyn Collect> {
        self.storage.collect()
    }

    fn stopped(&self) -> bool {
        self.storage.stopped()
    }
}
