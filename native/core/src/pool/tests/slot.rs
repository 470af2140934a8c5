//! Slot records: what a reader finds after a kill at any point.

use std::fs::File;
use std::os::unix::fs::FileExt;

use proptest::prelude::*;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::pool::region::Region;
use crate::pool::slot::{RECORD_BYTES, Slot, SlotRecord, SlotState, SlotTable};
use crate::sync::Arc;

const SLOTS: u32 = 64;

fn table() -> (SlotTable, Arc<File>) {
    let file = Arc::new(File::from(memfd_create("slots", MemfdFlags::CLOEXEC).unwrap()));
    let region = Arc::new(Region::map(&*file, u64::from(SLOTS) * RECORD_BYTES, "a slot table").unwrap());
    let table = SlotTable::new(region, Arc::clone(&file), 0, SLOTS);
    table.allocate(Slot(0), SLOTS).unwrap();
    (table, file)
}

fn states() -> impl Strategy<Value = SlotState> {
    prop::sample::select(vec![
        SlotState::Free,
        SlotState::Reserved,
        SlotState::Filled,
        SlotState::Sealed,
        SlotState::Evicting,
    ])
}

fn records() -> impl Strategy<Value = SlotRecord> {
    (
        states(),
        0..1_u64 << 48,
        any::<u32>(),
        any::<[u16; 2]>(),
        any::<[u8; 32]>(),
        any::<Option<u128>>(),
        any::<bool>(),
    )
        .prop_map(
            |(state, sequence, page_bytes, [space, shard], hash, checksum, is_unverified)| SlotRecord {
                state,
                sequence,
                page_bytes,
                space,
                shard,
                hash,
                checksum,
                is_unverified,
            },
        )
}

/// A record's bytes as another process finds them in the file.
fn bytes_of(file: &File, slot: Slot) -> [u8; 64] {
    let mut bytes = [0; 64];
    file.read_exact_at(&mut bytes, u64::from(slot.0) * RECORD_BYTES)
        .unwrap();
    bytes
}

proptest! {
    #[test]
    fn a_record_comes_back_as_it_was_written(record in records(), slot in 0..SLOTS) {
        let (table, _) = table();
        table.write(Slot(slot), &record).unwrap();
        prop_assert_eq!(table.read(Slot(slot)), Some(record));
    }

    #[test]
    fn a_record_lies_in_the_file_as_format_md_says(record in records(), slot in 0..SLOTS) {
        let (table, file) = table();
        table.write(Slot(slot), &record).unwrap();
        let bytes = bytes_of(&file, Slot(slot));
        prop_assert_eq!(bytes[0], record.state as u8);
        let flags = u8::from(record.checksum.is_some()) | u8::from(record.is_unverified) << 1;
        prop_assert_eq!(bytes[1], flags);
        prop_assert_eq!(&bytes[2..8], &record.sequence.to_le_bytes()[..6]);
        prop_assert_eq!(&bytes[8..12], &record.page_bytes.to_le_bytes());
        prop_assert_eq!(&bytes[12..14], &record.space.to_le_bytes());
        prop_assert_eq!(&bytes[14..16], &record.shard.to_le_bytes());
        prop_assert_eq!(&bytes[16..32], &record.checksum.unwrap_or(0).to_le_bytes());
        prop_assert_eq!(&bytes[32..64], &record.hash);
    }

    #[test]
    fn a_new_state_changes_nothing_but_the_state(record in records(), state in states()) {
        let (table, _) = table();
        table.write(Slot(5), &record).unwrap();
        table.set_state(Slot(5), state);
        prop_assert_eq!(table.read(Slot(5)), Some(SlotRecord { state, ..record }));
        prop_assert_eq!(table.read(Slot(4)).unwrap().state, SlotState::Free);
        prop_assert_eq!(table.read(Slot(6)).unwrap().state, SlotState::Free);
    }

    #[test]
    fn a_checksum_changes_nothing_but_itself(record in records(), checksum in any::<u128>()) {
        let (table, _) = table();
        table.write(Slot(5), &record).unwrap();
        table.set_checksum(Slot(5), checksum);
        prop_assert_eq!(table.read(Slot(5)), Some(SlotRecord { checksum: Some(checksum), ..record }));
    }

    #[test]
    fn whether_a_page_is_verified_changes_nothing_else(record in records(), is_unverified in any::<bool>()) {
        let (table, _) = table();
        table.write(Slot(5), &record).unwrap();
        table.set_unverified(Slot(5), is_unverified);
        prop_assert_eq!(table.read(Slot(5)), Some(SlotRecord { is_unverified, ..record }));
    }

    #[test]
    fn a_state_word_that_nobody_writes_is_no_record(word in any::<u64>()) {
        let (table, file) = table();
        file.write_all_at(&word.to_le_bytes(), 0).unwrap();
        prop_assert_eq!(table.read(Slot(0)).is_some(), word & 0xff < 5 && word & 0xfc00 == 0);
    }
}

#[test]
fn slots_outside_of_the_table_are_refused() {
    let (table, _) = table();
    let record = table.read(Slot(0)).unwrap();
    assert!(table.read(Slot(SLOTS)).is_none());
    assert!(table.write(Slot(SLOTS), &record).is_err());
    table.set_state(Slot(SLOTS), SlotState::Sealed);
}

#[test]
fn runs_are_where_records_were_written() {
    let file = Arc::new(File::from(memfd_create("slots", MemfdFlags::CLOEXEC).unwrap()));
    let slots = 1 << 20;
    file.set_len(4096 + u64::from(slots) * RECORD_BYTES).unwrap();
    let region = Arc::new(Region::map(&*file, file.metadata().unwrap().len(), "a slot table").unwrap());
    let table = SlotTable::new(region, file, 4096, slots);
    assert!(table.runs().unwrap().is_empty());
    let record = SlotRecord {
        state: SlotState::Reserved,
        sequence: 7,
        page_bytes: 1,
        space: 2,
        shard: 3,
        hash: [4; 32],
        checksum: None,
        is_unverified: false,
    };
    for slot in [Slot(100), Slot(500_000), Slot(slots - 1)] {
        table.allocate(slot, 1).unwrap();
        table.write(slot, &record).unwrap();
    }
    // In units of 4 KiB, which are 64 records.
    assert_eq!(
        table.runs().unwrap(),
        [64..128, 499_968..500_032, slots - 64..slots]
    );
}
