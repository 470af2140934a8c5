//! Values under 32-bit numbers, without a pointer for each.

/// Where a new value may not fit, an eighth of room is added: no half of a large table is ever idle.
const GROWTH_DIVISOR: usize = 8;
const LEAST_GROWTH: usize = 16;

/// Values in one piece of memory: a table that grows leaves no hole behind, as one that moves does.
const CHUNK: usize = 64;

/// A growing table whose freed places are used again, the last freed first.
#[derive(Debug)]
pub(crate) struct Arena<T> {
    /// All full but the last.
    chunks: Vec<Vec<T>>,
    free: Vec<u32>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Arena<T> {
    /// Keeps a value; its number.
    pub(crate) fn insert(&mut self, item: T) -> u32 {
        if let Some(number) = self.free.pop()
            && let Some(place) = self.get_mut(number)
        {
            *place = item;
            return number;
        }
        let number = self.places() as u32;
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(item),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(item);
                self.chunks.push(chunk);
            }
        }
        number
    }

    /// Frees a number that is in use.
    pub(crate) fn remove(&mut self, number: u32) {
        push_exact(&mut self.free, number);
    }

    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        let number = number as usize;
        self.chunks.get(number / CHUNK)?.get(number % CHUNK)
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let number = number as usize;
        self.chunks.get_mut(number / CHUNK)?.get_mut(number % CHUNK)
    }

    /// Numbers in use, and freed ones.
    pub(crate) fn places(&self) -> usize {
        let full = self.chunks.len().saturating_sub(1) * CHUNK;
        full + self.chunks.last().map_or(0, Vec::len)
    }

    /// Numbers that are in use.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.places() - self.free.len()
    }

    /// Bytes allocated.
    pub(crate) fn memory_bytes(&self) -> usize {
        let chunks = self.chunks.len() * CHUNK * size_of::<T>();
        let tables = self.chunks.capacity() * size_of::<Vec<T>>() + self.free.capacity() * size_of::<u32>();
        chunks + tables
    }
}

/// Pushes with little room to spare.
pub(crate) fn push_exact<T>(items: &mut Vec<T>, item: T) {
    if items.len() == items.capacity() {
        items.reserve_exact((items.len() / GROWTH_DIVISOR).max(LEAST_GROWTH));
    }
    items.push(item);
}
