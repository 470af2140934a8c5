//! Sizes: what is handed out is never more than what there is.

use proptest::prelude::*;

use crate::error::ErrorKind;
use crate::pool::Slot;
use crate::pool::geometry::Geometry;

const MIB: u64 = 1 << 20;

proptest! {
    #[test]
    fn unaligned_sizes_round_down_to_whole_slabs_and_huge_pages(
        pool_bytes in MIB..1 << 42,
        huge_page_bytes in prop::sample::select(vec![0, 2 * MIB, 1 << 30]),
    ) {
        prop_assume!(pool_bytes >= huge_page_bytes);
        let geometry = Geometry::of(pool_bytes, huge_page_bytes).unwrap();
        let unit = geometry.slab_bytes.max(huge_page_bytes);
        prop_assert!(geometry.pool_bytes <= pool_bytes);
        prop_assert!(pool_bytes - geometry.pool_bytes < unit);
        prop_assert_eq!(geometry.pool_bytes % unit, 0);
        prop_assert!(geometry.slab_bytes.is_power_of_two());
        prop_assert!((MIB..=256 * MIB).contains(&geometry.slab_bytes));
        prop_assert_eq!(u64::from(geometry.slabs()) * geometry.slab_bytes, geometry.pool_bytes);
    }

    #[test]
    fn every_page_of_every_slab_lies_inside_of_its_slab(
        pool_bytes in MIB..1 << 42,
        page_bytes in 1..256 * MIB,
        slab in any::<prop::sample::Index>(),
        page in any::<prop::sample::Index>(),
    ) {
        let geometry = Geometry::of(pool_bytes, 0).unwrap();
        let Ok(stride) = geometry.stride(page_bytes) else { return Ok(()) };
        let slab = slab.index(geometry.slabs() as usize) as u32;
        let page = page.index((geometry.slab_bytes / stride) as usize) as u32;
        let slot = Slot(geometry.first_slot(slab).0 + page);
        prop_assert!(slot.0 < geometry.slots);
        prop_assert_eq!(geometry.place(slot), (slab, page));
        let offset = geometry.offset(slot, stride);
        prop_assert!(stride >= page_bytes && stride % 4096 == 0);
        prop_assert_eq!(offset % 4096, 0);
        prop_assert!(offset >= u64::from(slab) * geometry.slab_bytes);
        prop_assert!(offset + stride <= u64::from(slab + 1) * geometry.slab_bytes);
    }
}

#[test]
fn a_page_larger_than_a_slab_is_refused_with_both_sizes_and_a_pool_that_is_enough() {
    let geometry = Geometry::of(64 * MIB, 0).unwrap();
    let error = geometry.stride(3 * MIB).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    for part in [
        (3 * MIB).to_string(),
        MIB.to_string(),
        "--pool-size".to_owned(),
        (256 * MIB).to_string(),
    ] {
        assert!(error.message().contains(&part), "{error} lacks {part}");
    }
    assert!(Geometry::of(256 * MIB, 0).unwrap().stride(3 * MIB).is_ok());
}

#[test]
fn a_page_larger_than_any_slab_is_refused_with_another_remedy() {
    let error = Geometry::of(1 << 40, 0).unwrap().stride(300 * MIB).unwrap_err();
    assert!(error.message().contains("--block-size"), "{error}");
}

#[test]
fn pools_too_small_or_too_large_are_refused() {
    for bytes in [0, MIB - 1, 16 << 40] {
        assert_eq!(Geometry::of(bytes, 0).unwrap_err().kind(), ErrorKind::Config);
    }
}
