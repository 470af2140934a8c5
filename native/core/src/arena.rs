//! Values under 32-bit numbers, without a pointer for each.

/// Where a new value may not fit, an eighth of room is added: no half of a large table is ever idle.
const GROWTH_DIVISOR: usize = 8;
const LEAST_GROWTH: usize = 16;

/// A growing table whose freed places are used again, the last freed first.
#[derive(Debug)]
pub(crate) struct Arena<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Arena<T> {
    /// Keeps a value; its number.
    pub(crate) fn insert(&mut self, item: T) -> u32 {
        if let Some(number) = self.free.pop()
            && let Some(place) = self.items.get_mut(number as usize)
        {
            *place = item;
            return number;
        }
        push_exact(&mut self.items, item);
        (self.items.len() - 1) as u32
    }

    /// Frees a number that is in use.
    pub(crate) fn remove(&mut self, number: u32) {
        push_exact(&mut self.free, number);
    }

    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.items.get(number as usize)
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.items.get_mut(number as usize)
    }

    /// Numbers that are in use.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// Bytes allocated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.items.capacity() * size_of::<T>() + self.free.capacity() * size_of::<u32>()
    }
}

/// Pushes with little room to spare.
pub(crate) fn push_exact<T>(items: &mut Vec<T>, item: T) {
    if items.len() == items.capacity() {
        items.reserve_exact((items.len() / GROWTH_DIVISOR).max(LEAST_GROWTH));
    }
    items.push(item);
}
