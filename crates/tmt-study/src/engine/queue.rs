//! Which task a thread takes next. While one thread makes slots or a timeline, the others take tasks that need neither.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::shared::{Made, SlotsKey, TimelineKey};
use super::task::Task;

/// Groups from the first with open tasks on that are looked at.
const AHEAD: usize = 256;

/// Tasks with one timeline, or with none.
#[derive(Debug)]
struct Group {
    timeline: Option<TimelineKey>,
    /// Those not taken yet.
    open: Range<usize>,
    /// Whether one has been taken.
    is_begun: bool,
}

#[derive(Debug)]
struct State {
    /// Groups with open tasks.
    groups: VecDeque<Group>,
    /// Slots that somebody makes or has made.
    begun: BTreeSet<SlotsKey>,
}

/// The tasks of a sweep; one thread takes each.
pub(super) struct Queue<'a> {
    tasks: &'a [Task],
    state: Mutex<State>,
}

impl<'a> Queue<'a> {
    /// All `tasks`, which are in order.
    pub(super) fn new(tasks: &'a [Task]) -> Self {
        let mut groups: VecDeque<Group> = VecDeque::new();
        for (number, task) in tasks.iter().enumerate() {
            match groups.back_mut() {
                Some(group) if group.timeline == task.timeline => group.open.end = number + 1,
                _ => groups.push_back(Group {
                    timeline: task.timeline,
                    open: number..number + 1,
                    is_begun: false,
                }),
            }
        }
        Self {
            tasks,
            state: Mutex::new(State {
                groups,
                begun: BTreeSet::new(),
            }),
        }
    }

    /// The next task: the first that needs to wait for no other thread, or the first of all. `None` if all are taken.
    pub(super) fn take(&self, made: &impl Made) -> Option<&'a Task> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { groups, begun } = &mut *state;
        let waits = |group: &Group| {
            group.timeline.is_some_and(|key| {
                let is_made = if group.is_begun {
                    made.has_timeline(key)
                } else {
                    !begun.contains(&key.slots) || made.has_slots(key.slots)
                };
                !is_made
            })
        };
        let ready = groups.iter().take(AHEAD).position(|group| !waits(group));
        let place = ready.unwrap_or(0);
        let group = groups.get_mut(place)?;
        let number = group.open.next()?;
        group.is_begun = true;
        begun.extend(group.timeline.map(|key| key.slots));
        if group.open.is_empty() {
            groups.remove(place);
        }
        self.tasks.get(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Nothing {
        slots: BTreeSet<SlotsKey>,
        timelines: BTreeSet<TimelineKey>,
    }

    impl Made for Nothing {
        fn has_slots(&self, key: SlotsKey) -> bool {
            self.slots.contains(&key)
        }

        fn has_timeline(&self, key: TimelineKey) -> bool {
            self.timelines.contains(&key)
        }
    }

    fn key(slots: u32, parameters: u32) -> TimelineKey {
        TimelineKey {
            slots: SlotsKey {
                parameters: slots,
                seed: None,
            },
            parameters,
        }
    }

    /// Cells 0 and 1 with one timeline, 2 with another of the same slots, 3 with others.
    fn tasks() -> Vec<Task> {
        let keys = [key(0, 0), key(0, 0), key(0, 1), key(1, 0)];
        let task = |(cell, key)| Task::of(Some(key), cell, &(0..1));
        keys.into_iter().enumerate().map(task).collect()
    }

    #[test]
    fn tasks_that_wait_for_another_thread_come_last() {
        let tasks = tasks();
        let queue = Queue::new(&tasks);
        let mut made = Nothing::default();
        let take = |made: &Nothing| queue.take(made).map(|task| task.cell);
        // Slots 0 are begun: the next thread begins slots 1.
        assert_eq!(take(&made), Some(0));
        assert_eq!(take(&made), Some(3));
        // Slots 0 are there, their first timeline is not.
        made.slots.insert(key(0, 0).slots);
        assert_eq!(take(&made), Some(2));
        // The rest waits.
        assert_eq!(take(&made), Some(1));
        assert_eq!(take(&made), None);
    }

    #[test]
    fn a_timeline_that_is_there_is_used_first() {
        let tasks = tasks();
        let queue = Queue::new(&tasks);
        let made = Nothing {
            slots: [key(0, 0).slots].into(),
            timelines: [key(0, 0)].into(),
        };
        let cells = (0..4)
            .map_while(|_| queue.take(&made))
            .map(|task| task.cell);
        assert_eq!(cells.collect::<Vec<_>>(), [0, 1, 2, 3]);
    }

    #[test]
    fn tasks_without_a_timeline_are_taken_in_order() {
        let tasks: Vec<Task> = (0..5).map(|cell| Task::of(None, cell, &(0..1))).collect();
        let queue = Queue::new(&tasks);
        let made = Nothing::default();
        let cells = (0..9)
            .map_while(|_| queue.take(&made))
            .map(|task| task.cell);
        assert_eq!(cells.collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    }
}
