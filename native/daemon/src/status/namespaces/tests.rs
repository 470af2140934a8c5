use pegaflow_core::space::SpaceKey;
use pegaflow_core::store::{NamespaceSnapshot, SpaceSnapshot};

use super::Namespace;

fn space(byte: u8, group: u32) -> SpaceSnapshot {
    SpaceSnapshot {
        key: SpaceKey {
            namespace: [byte; 32],
            group,
        },
        blocks: 3,
        bytes: 3_000,
        hits: 4,
        misses: 5,
        admissions: 6,
        evictions: 7,
    }
}

fn limits(byte: u8, is_pinned: bool, quota_bytes: Option<u64>) -> NamespaceSnapshot {
    NamespaceSnapshot {
        namespace: [byte; 32],
        is_pinned,
        quota_bytes,
        ..NamespaceSnapshot::default()
    }
}

#[test]
fn a_pin_and_a_limit_are_those_of_all_groups() {
    let memory = [space(2, 0), space(2, 1), space(1, 0)];
    let rows = Namespace::all(&memory, &[], &[limits(2, true, Some(9))]);
    let seen: Vec<_> = rows
        .iter()
        .map(|row| (&row.namespace[..2], row.group, row.pinned, row.quota_bytes))
        .collect();
    let expected = [
        ("01", 0, false, None),
        ("02", 0, true, Some(9)),
        ("02", 1, true, Some(9)),
    ];
    assert_eq!(seen, expected);
    assert!(rows.iter().all(|row| (row.blocks, row.bytes) == (3, 3_000)));
}

#[test]
fn one_that_is_only_pinned_or_limited_is_there_too() {
    let rows = Namespace::all(&[], &[], &[limits(1, true, None), limits(2, false, Some(9))]);
    let seen: Vec<_> = rows
        .iter()
        .map(|row| (row.blocks, row.pinned, row.quota_bytes))
        .collect();
    assert_eq!(seen, [(0, true, None), (0, false, Some(9))]);
}
