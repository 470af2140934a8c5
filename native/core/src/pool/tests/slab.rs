//! Slabs against a model: no page twice, none lost, none that the class does not have.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::pool::geometry::Geometry;
use crate::pool::slab::{ClassId, Slabs};
use crate::pool::slot::Slot;

const SLABS: u64 = 4;
const SLAB_BYTES: u64 = 1 << 20;
const STRIDES: [u64; 3] = [64 << 10, 260 << 10, 1 << 20];

#[derive(Debug, Clone)]
enum Step {
    Allocate(usize),
    Free(prop::sample::Index),
    Drain(prop::sample::Index),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..STRIDES.len()).prop_map(Step::Allocate),
        4 => any::<prop::sample::Index>().prop_map(Step::Free),
        1 => any::<prop::sample::Index>().prop_map(Step::Drain),
    ];
    prop::collection::vec(step, 1..300)
}

fn allocate(slabs: &mut Slabs, class: ClassId) -> Option<Slot> {
    slabs.allocate(class).or_else(|| {
        let (slab, _) = slabs.next_free(class)?;
        slabs.give(slab, class);
        slabs.allocate(class)
    })
}

fn ready() -> (Geometry, Slabs, Vec<ClassId>) {
    let geometry = Geometry {
        pool_bytes: SLABS * SLAB_BYTES,
        slab_bytes: SLAB_BYTES,
        slots: (SLABS * SLAB_BYTES / 4096) as u32,
    };
    let mut slabs = Slabs::new(geometry);
    let classes = STRIDES.iter().map(|stride| slabs.class(*stride)).collect();
    slabs.set_ready(SLABS as u32);
    slabs.end_growth();
    (geometry, slabs, classes)
}

proptest! {
    #[test]
    fn taken_pages_never_overlap_and_room_is_what_is_left(steps in steps()) {
        let (geometry, mut slabs, classes) = ready();
        let mut taken: BTreeMap<Slot, usize> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Allocate(class) => match allocate(&mut slabs, classes[class]) {
                    Some(slot) => prop_assert_eq!(taken.insert(slot, class), None),
                    None => prop_assert_eq!(slabs.room(classes[class]).free_pages, 0),
                },
                Step::Free(which) if !taken.is_empty() => {
                    let slot = *taken.keys().nth(which.index(taken.len())).unwrap();
                    taken.remove(&slot);
                    slabs.free(slot);
                }
                Step::Drain(which) if !taken.is_empty() => {
                    let slot = *taken.keys().nth(which.index(taken.len())).unwrap();
                    let slab = geometry.place(slot).0;
                    let drained: BTreeSet<_> = slabs.begin_drain(slot).into_iter().collect();
                    let expected: BTreeSet<_> =
                        taken.keys().copied().filter(|slot| geometry.place(*slot).0 == slab).collect();
                    prop_assert_eq!(&drained, &expected);
                    for slot in drained {
                        taken.remove(&slot);
                        slabs.free(slot);
                    }
                    slabs.end_drain(slot);
                }
                Step::Free(_) | Step::Drain(_) => {}
            }
            let mut end = 0;
            for (slot, class) in &taken {
                let offset = geometry.offset(*slot, STRIDES[*class]);
                prop_assert!(offset >= end, "pages overlap");
                end = offset + STRIDES[*class];
            }
            prop_assert!(end <= geometry.pool_bytes);
            prop_assert_eq!(slabs.used_bytes(), taken.values().map(|class| STRIDES[*class]).sum::<u64>());
        }
        for slot in taken.into_keys() {
            slabs.free(slot);
        }
        for (class, stride) in classes.iter().zip(STRIDES) {
            let room = slabs.room(*class);
            let pages = SLABS * (SLAB_BYTES / stride);
            prop_assert_eq!((room.free_pages, room.total_pages), (pages, pages));
        }
    }
}

proptest! {
    #[test]
    fn slabs_made_anew_from_their_pages_are_as_they_were(steps in steps()) {
        let (_, mut slabs, classes) = ready();
        let mut taken: BTreeMap<Slot, usize> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Allocate(class) => {
                    taken.extend(allocate(&mut slabs, classes[class]).map(|slot| (slot, class)));
                }
                Step::Free(which) | Step::Drain(which) if !taken.is_empty() => {
                    let slot = *taken.keys().nth(which.index(taken.len())).unwrap();
                    taken.remove(&slot);
                    slabs.free(slot);
                }
                Step::Free(_) | Step::Drain(_) => {}
            }
        }
        let (_, mut anew, classes) = ready();
        for (slot, class) in &taken {
            prop_assert!(anew.retake(*slot, classes[*class]));
            prop_assert!(!anew.retake(*slot, classes[*class]), "only once");
            let other = classes[(*class + 1) % classes.len()];
            prop_assert!(!anew.retake(*slot, other), "a slab has one page size");
        }
        prop_assert_eq!(anew.used_bytes(), slabs.used_bytes());
        prop_assert_eq!((anew.used_pages(), slabs.used_pages()), (taken.len() as u64, taken.len() as u64));
        for class in &classes {
            prop_assert_eq!(anew.room(*class), slabs.room(*class));
        }
        let mut next = Slot(0);
        for slot in taken.keys() {
            prop_assert_eq!(anew.next_taken(next), Some(*slot));
            next = Slot(slot.0 + 1);
        }
        prop_assert_eq!(anew.next_taken(next), None);
        for class in &classes {
            prop_assert_eq!(allocate(&mut anew, *class).is_some(), allocate(&mut slabs, *class).is_some());
        }
    }
}

#[test]
fn nothing_is_allocated_from_a_slab_that_is_drained() {
    let (geometry, mut slabs, classes) = ready();
    let slot = allocate(&mut slabs, classes[0]).unwrap();
    let kept = allocate(&mut slabs, classes[0]).unwrap();
    assert_eq!(slabs.begin_drain(slot), [slot, kept]);
    slabs.free(slot);
    let other = allocate(&mut slabs, classes[0]).unwrap();
    assert_ne!(geometry.place(other).0, geometry.place(slot).0);
    slabs.end_drain(slot);
    assert_eq!(allocate(&mut slabs, classes[0]), Some(slot));
}

#[test]
fn a_slab_that_goes_to_another_class_is_counted_as_moved() {
    let (_, mut slabs, classes) = ready();
    for (class, moved) in [(0, 0), (0, 0), (2, 1), (2, 1), (1, 2)] {
        let slot = allocate(&mut slabs, classes[class]).unwrap();
        assert_eq!(slabs.moved(), moved);
        slabs.free(slot);
    }
}

#[test]
fn slabs_without_memory_are_not_given() {
    let geometry = Geometry {
        pool_bytes: SLABS * SLAB_BYTES,
        slab_bytes: SLAB_BYTES,
        slots: (SLABS * SLAB_BYTES / 4096) as u32,
    };
    let mut slabs = Slabs::new(geometry);
    let class = slabs.class(SLAB_BYTES);
    assert_eq!(allocate(&mut slabs, class), None);
    assert_eq!(slabs.room(class).pages_to_come, SLABS);
    slabs.set_ready(1);
    assert!(allocate(&mut slabs, class).is_some());
    assert_eq!(allocate(&mut slabs, class), None);
    assert_eq!(slabs.room(class).pages_to_come, SLABS - 1);
    slabs.end_growth();
    assert_eq!(slabs.room(class).pages_to_come, 0);
}

#[test]
fn freeing_a_page_twice_changes_nothing() {
    let (_, mut slabs, classes) = ready();
    let slot = allocate(&mut slabs, classes[0]).unwrap();
    let kept = allocate(&mut slabs, classes[0]).unwrap();
    slabs.free(slot);
    let room = slabs.room(classes[0]);
    slabs.free(slot);
    assert_eq!((slabs.room(classes[0]), slabs.used_bytes()), (room, STRIDES[0]));
    slabs.free(kept);
}
