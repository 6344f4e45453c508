//! A list that keeps removed items for reuse of their memory.

/// A list whose removed items are kept for reuse.
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

    /// The items in use, mutably.
    pub(crate) fn used_mut(&mut self) -> &mut [T] {
        &mut self.items[..self.used]
    }

    /// Puts the first `count` items in use. They keep their old content.
    pub(crate) fn resize(&mut self, count: usize) -> &mut [T] {
        if self.items.len() < count {
            self.items.resize_with(count, T::default);
        }
        self.used = count;
        self.used_mut()
    }

    /// Puts one more item in use. It keeps its old content.
    pub(crate) fn grow(&mut self) -> &mut T {
        let next = self.used;
        &mut self.resize(next + 1)[next]
    }
}
