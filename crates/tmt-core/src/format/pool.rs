//! Things of which some are in use and the others are kept for their memory.

/// A list that forgets its items without giving their memory back.
#[derive(Debug, Default)]
pub(crate) struct Pool<T> {
    items: Vec<T>,
    used: usize,
}

impl<T: Default> Pool<T> {
    /// The items in use.
    pub(crate) fn used(&self) -> &[T] {
        &self.items[..self.used]
    }

    /// The items in use, to be changed.
    pub(crate) fn used_mut(&mut self) -> &mut [T] {
        &mut self.items[..self.used]
    }

    /// Uses the first `count` items, whatever is in them.
    pub(crate) fn resize(&mut self, count: usize) -> &mut [T] {
        if self.items.len() < count {
            self.items.resize_with(count, T::default);
        }
        self.used = count;
        self.used_mut()
    }

    /// Uses one item more, whatever is in it.
    pub(crate) fn grow(&mut self) -> &mut T {
        let next = self.used;
        &mut self.resize(next + 1)[next]
    }
}
