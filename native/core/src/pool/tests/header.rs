//! The header of a slot table.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use proptest::prelude::*;

use crate::error::ErrorKind;
use crate::pool::PoolKind;
use crate::pool::geometry::Geometry;
use crate::pool::header::{HEADER_BYTES, Header};
use crate::process::ProcessIdentity;

fn headers() -> impl Strategy<Value = Header> {
    let kinds = prop::sample::select(vec![PoolKind::Hugetlbfs, PoolKind::Tmpfs, PoolKind::Memfd]);
    let owners = (any::<u32>(), any::<u64>());
    let paths = || prop::collection::vec(1_u8.., 0..2500);
    (
        any::<[u32; 3]>(),
        kinds,
        any::<u64>(),
        owners,
        any::<[u64; 2]>(),
        [paths(), paths()],
    )
        .prop_map(
            |(
                [format_version, uid, slots],
                kind,
                boot_id,
                (pid, start_time_ticks),
                [pool_bytes, slab_bytes],
                [path, socket],
            )| Header {
                format_version,
                kind,
                boot_id,
                owner: ProcessIdentity {
                    pid,
                    start_time_ticks,
                },
                uid,
                geometry: Geometry {
                    pool_bytes,
                    slab_bytes,
                    slots,
                },
                pool_path: PathBuf::from(OsString::from_vec(path)),
                socket: PathBuf::from(OsString::from_vec(socket)),
            },
        )
}

/// Room for the paths of pool and socket.
const MAX_PATHS_BYTES: usize = 3984;

fn paths_bytes(header: &Header) -> usize {
    header.pool_path.as_os_str().len() + header.socket.as_os_str().len()
}

proptest! {
    #[test]
    fn a_header_comes_back_as_it_was_written(header in headers()) {
        match header.encode() {
            Ok(bytes) => {
                prop_assert_eq!(bytes.len() as u64, HEADER_BYTES);
                prop_assert_eq!(Header::decode(&bytes), Some(header));
            }
            Err(error) => {
                prop_assert_eq!(error.kind(), ErrorKind::Config);
                prop_assert!(paths_bytes(&header) > MAX_PATHS_BYTES);
            }
        }
    }

    #[test]
    fn a_header_with_any_bit_changed_is_none(header in headers(), at in 0..4096_usize, bit in 0..8) {
        prop_assume!(paths_bytes(&header) <= MAX_PATHS_BYTES);
        let mut bytes = header.encode().unwrap();
        bytes[at] ^= 1_u8 << bit;
        prop_assert_eq!(Header::decode(&bytes), None);
    }

    #[test]
    fn other_bytes_are_no_header(bytes in prop::collection::vec(any::<u8>(), 0..5000)) {
        prop_assert_eq!(Header::decode(&bytes), None);
    }
}
