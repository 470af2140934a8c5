//! Slabs and the size classes that they are given to.
//!
//! A class has one page size, so there is no fragmentation within it. A slab that becomes empty belongs to no class.

use std::collections::BTreeSet;

use super::bitmap::Bitmap;
use super::geometry::Geometry;
use super::slot::Slot;

/// Names a size class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ClassId(u32);

/// The pages of one size.
#[derive(Debug)]
struct Class {
    stride: u64,
    /// Free pages of its slabs, those that are drained excepted.
    free_pages: u64,
    slabs: u32,
    /// Its slabs that have free pages; the lowest is filled first, so that high ones become empty.
    partial: BTreeSet<u32>,
}

#[derive(Debug)]
enum Slab {
    /// Has no memory yet.
    Unready,
    /// Belongs to no class; was of this one.
    Free(Option<ClassId>),
    /// Its pages are of this class. While it is drained nothing is allocated from it.
    Owned {
        class: ClassId,
        pages: Bitmap,
        is_drained: bool,
    },
}

/// Room in a class, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Room {
    /// Pages that can be allocated, those of free slabs included.
    pub(crate) free_pages: u64,
    /// Pages of slabs that have no memory yet.
    pub(crate) pages_to_come: u64,
    /// All pages that the class has or could have: of its own slabs, of free ones, and of those to come.
    pub(crate) total_pages: u64,
}

/// All slabs of a pool.
#[derive(Debug)]
pub(super) struct Slabs {
    geometry: Geometry,
    slabs: Vec<Slab>,
    classes: Vec<Class>,
    free: BTreeSet<u32>,
    ready: u32,
    to_come: u32,
    /// The first slab that is to go: from here on nothing is given or allocated.
    end: u32,
    used_bytes: u64,
    used_pages: u64,
    moved: u64,
}

impl Slabs {
    pub(super) fn new(geometry: Geometry) -> Self {
        let count = geometry.slabs();
        Self {
            geometry,
            slabs: (0..count).map(|_| Slab::Unready).collect(),
            classes: Vec::new(),
            free: BTreeSet::new(),
            ready: 0,
            to_come: count,
            end: count,
            used_bytes: 0,
            used_pages: 0,
            moved: 0,
        }
    }

    /// The first `count` slabs have memory.
    pub(super) fn set_ready(&mut self, count: u32) {
        for number in self.ready..count.min(self.end) {
            if let Some(slab) = self.slabs.get_mut(number as usize) {
                *slab = Slab::Free(None);
                self.free.insert(number);
                self.ready += 1;
                self.to_come -= 1;
            }
        }
    }

    /// Bytes of pages that are taken.
    pub(super) fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// Pages that are taken.
    pub(super) fn used_pages(&self) -> u64 {
        self.used_pages
    }

    /// Bytes of the longest run of slabs that belong to no class.
    pub(super) fn largest_free_bytes(&self) -> u64 {
        let (mut longest, mut run, mut next) = (0, 0, 0);
        for number in &self.free {
            run = if *number == next { run + 1 } else { 1 };
            next = number + 1;
            longest = longest.max(run);
        }
        longest * self.geometry.slab_bytes
    }

    /// Slabs that went from one class to another.
    pub(super) fn moved(&self) -> u64 {
        self.moved
    }

    /// The class of pages of `stride` bytes.
    pub(super) fn class(&mut self, stride: u64) -> ClassId {
        let known = self.classes.iter().position(|class| class.stride == stride);
        let index = known.unwrap_or_else(|| {
            self.classes.push(Class {
                stride,
                free_pages: 0,
                slabs: 0,
                partial: BTreeSet::new(),
            });
            self.classes.len() - 1
        });
        ClassId(index as u32)
    }

    /// No more slabs will become ready.
    pub(super) fn end_growth(&mut self) {
        self.to_come = 0;
    }

    /// Room in a class.
    pub(super) fn room(&self, class: ClassId) -> Room {
        let Some(class) = self.classes.get(class.0 as usize) else {
            return Room::default();
        };
        let pages_of = |slabs: u64| slabs * (self.geometry.slab_bytes / class.stride);
        let pages_to_come = pages_of(self.to_come.into());
        let pages_of_free_slabs = pages_of(self.free.len() as u64);
        Room {
            free_pages: class.free_pages + pages_of_free_slabs,
            pages_to_come,
            total_pages: pages_of(class.slabs.into()) + pages_of_free_slabs + pages_to_come,
        }
    }

    /// A page from the class's own slabs.
    pub(super) fn allocate(&mut self, id: ClassId) -> Option<Slot> {
        let class = self.classes.get_mut(id.0 as usize)?;
        let number = *class.partial.first()?;
        let Slab::Owned { pages, .. } = self.slabs.get_mut(number as usize)? else {
            return None;
        };
        let index = pages.take()?;
        if pages.free() == 0 {
            class.partial.remove(&number);
        }
        class.free_pages -= 1;
        self.used_bytes += class.stride;
        self.used_pages += 1;
        Some(Slot(self.geometry.first_slot(number).0 + index))
    }

    /// Takes this page, whose slab is the class's or free; false when it is taken already.
    pub(super) fn retake(&mut self, slot: Slot, id: ClassId) -> bool {
        let (number, index) = self.geometry.place(slot);
        self.give(number, id);
        let (
            Some(Slab::Owned {
                class: owner, pages, ..
            }),
            Some(class),
        ) = (
            self.slabs.get_mut(number as usize),
            self.classes.get_mut(id.0 as usize),
        )
        else {
            return false;
        };
        if *owner != id || !pages.take_bit(index) {
            return false;
        }
        if pages.free() == 0 {
            class.partial.remove(&number);
        }
        class.free_pages -= 1;
        self.used_bytes += class.stride;
        self.used_pages += 1;
        true
    }

    /// The first page from `slot` on that is taken.
    pub(super) fn next_taken(&self, slot: Slot) -> Option<Slot> {
        let (first, index) = self.geometry.place(slot);
        let mut slabs = (first..).zip(self.slabs.iter().skip(first as usize));
        slabs.find_map(|(number, slab)| {
            let Slab::Owned { pages, .. } = slab else {
                return None;
            };
            let taken = pages.next_taken(if number == first { index } else { 0 })?;
            Some(Slot(self.geometry.first_slot(number).0 + taken))
        })
    }

    /// The slab that `give` would give to a class, and how many pages it would have.
    pub(super) fn next_free(&self, id: ClassId) -> Option<(u32, u32)> {
        let class = self.classes.get(id.0 as usize)?;
        Some((
            *self.free.first()?,
            (self.geometry.slab_bytes / class.stride) as u32,
        ))
    }

    /// Gives a free slab to a class.
    pub(super) fn give(&mut self, number: u32, id: ClassId) {
        let Some(class) = self.classes.get_mut(id.0 as usize) else {
            return;
        };
        if self.free.remove(&number)
            && let Some(slab) = self.slabs.get_mut(number as usize)
        {
            let pages = Bitmap::new((self.geometry.slab_bytes / class.stride) as u32);
            class.free_pages += u64::from(pages.len());
            class.slabs += 1;
            class.partial.insert(number);
            self.moved += u64::from(matches!(slab, Slab::Free(Some(before)) if *before != id));
            *slab = Slab::Owned {
                class: id,
                pages,
                is_drained: false,
            };
        }
    }

    /// Frees a page; the slab becomes free with its last one. The bytes that it took; 0 for a page that is not taken.
    pub(super) fn free(&mut self, slot: Slot) -> u64 {
        let (number, index) = self.geometry.place(slot);
        let Some(slab) = self.slabs.get_mut(number as usize) else {
            return 0;
        };
        let Slab::Owned {
            class: id,
            pages,
            is_drained,
        } = slab
        else {
            return 0;
        };
        let Some(class) = self.classes.get_mut(id.0 as usize) else {
            return 0;
        };
        if !pages.free_bit(index) {
            return 0;
        }
        let stride = class.stride;
        self.used_bytes -= stride;
        self.used_pages -= 1;
        if !*is_drained {
            class.free_pages += 1;
            class.partial.insert(number);
        }
        if pages.taken() == 0 {
            if number >= self.end {
                // Its class gave it up when the shrinking began.
                *slab = Slab::Unready;
                return stride;
            }
            if !*is_drained {
                class.free_pages -= u64::from(pages.len());
                class.partial.remove(&number);
            }
            class.slabs -= 1;
            *slab = Slab::Free(Some(*id));
            self.free.insert(number);
        }
        stride
    }

    /// Stops allocation from the slab of `slot`; the slots of its pages that are taken.
    pub(super) fn begin_drain(&mut self, slot: Slot) -> Vec<Slot> {
        let (number, _) = self.geometry.place(slot);
        let Some(Slab::Owned {
            class,
            pages,
            is_drained,
        }) = self.slabs.get_mut(number as usize)
        else {
            return Vec::new();
        };
        if let Some(class) = self.classes.get_mut(class.0 as usize)
            && !*is_drained
        {
            class.free_pages -= u64::from(pages.free());
            class.partial.remove(&number);
        }
        *is_drained = true;
        let first = self.geometry.first_slot(number).0;
        pages.iter().map(|index| Slot(first + index)).collect()
    }

    /// Allows allocation again, unless the slab became free.
    pub(super) fn end_drain(&mut self, slot: Slot) {
        let (number, _) = self.geometry.place(slot);
        if number >= self.end {
            return;
        }
        let Some(Slab::Owned {
            class,
            pages,
            is_drained,
        }) = self.slabs.get_mut(number as usize)
        else {
            return;
        };
        if let Some(class) = self.classes.get_mut(class.0 as usize)
            && *is_drained
            && pages.free() > 0
        {
            class.free_pages += u64::from(pages.free());
            class.partial.insert(number);
        }
        *is_drained = false;
    }

    /// There will be `count` slabs, of which more have memory to come.
    pub(super) fn begin_growth(&mut self, count: u32) {
        self.slabs.resize_with(count as usize, || Slab::Unready);
        self.end = count;
        self.to_come = count - self.ready.min(count);
    }

    /// Stops allocation from slab `count` on, and takes from its class what is free there.
    pub(super) fn begin_shrinking(&mut self, count: u32) {
        self.end = count;
        self.free.split_off(&count);
        for (number, slab) in (0..).zip(&mut self.slabs).skip(count as usize) {
            match slab {
                Slab::Unready => {}
                Slab::Free(_) => *slab = Slab::Unready,
                Slab::Owned {
                    class,
                    pages,
                    is_drained,
                } => {
                    if let Some(class) = self.classes.get_mut(class.0 as usize) {
                        class.slabs -= 1;
                        class.free_pages -= u64::from(pages.free());
                        class.partial.remove(&number);
                    }
                    *is_drained = true;
                }
            }
        }
    }

    /// Forgets the slabs that went, which have no page any more.
    pub(super) fn end_shrinking(&mut self) {
        self.slabs.truncate(self.end as usize);
        self.ready = self.ready.min(self.end);
    }

    /// Gives the slabs that were to go back to their classes.
    pub(super) fn cancel_shrinking(&mut self) {
        let first = std::mem::replace(&mut self.end, self.slabs.len() as u32);
        for (number, slab) in (0..self.ready).zip(&mut self.slabs).skip(first as usize) {
            match slab {
                Slab::Unready => {
                    *slab = Slab::Free(None);
                    self.free.insert(number);
                }
                Slab::Free(_) => {}
                Slab::Owned {
                    class,
                    pages,
                    is_drained,
                } => {
                    if let Some(class) = self.classes.get_mut(class.0 as usize) {
                        class.slabs += 1;
                        class.free_pages += u64::from(pages.free());
                        if pages.free() > 0 {
                            class.partial.insert(number);
                        }
                    }
                    *is_drained = false;
                }
            }
        }
    }
}
