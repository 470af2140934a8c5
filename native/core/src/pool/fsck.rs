//! What of a slot table that was taken over can be believed.
//!
//! A record is believed only as a whole: all that it says has to be possible, and to agree with the space table and with
//! the other records of its slab. What is not believed is freed.

use super::Pool;
use super::slot::{Slot, SlotState};
use super::space_table::{KnownSpace, MAX_SPACES};
use crate::error::Result;
use crate::space::SpaceGeometry;

/// What is believed.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) spaces: Vec<KnownSpace>,
    /// Sealed pages with checksums, oldest first: sequence and slot.
    pub(crate) pages: Vec<(u64, Slot)>,
    pub(crate) dropped: Dropped,
}

/// Records that were not free and were freed, by reason.
#[derive(Debug, Default)]
pub(crate) struct Dropped {
    pub(crate) unsealed: u64,
    pub(crate) no_checksum: u64,
    pub(crate) bad_records: u64,
}

/// Why a record is not believed.
enum Doubt {
    Unsealed,
    NoChecksum,
    Bad,
}

/// What the believable records of a slab say of its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stride {
    Unknown,
    Of(u64),
    /// They contradict each other, or no page may be there.
    None,
}

impl Pool {
    /// Reads space and slot table of a pool that was taken over, and frees what is not believed; None for a new pool.
    ///
    /// # Errors
    /// `Io` when the slot table cannot be read.
    pub(crate) fn survey(&self) -> Result<Option<Survey>> {
        let Some(bytes_with_memory) = self.taken_over_bytes else {
            return Ok(None);
        };
        self.rules.read()?;
        let mut survey = Survey {
            spaces: self.spaces.read()?,
            ..Survey::default()
        };
        self.spaces.allocate_ahead();
        let mut geometries = vec![None; MAX_SPACES];
        for space in &survey.spaces {
            if let Some(geometry) = geometries.get_mut(space.number.0 as usize) {
                *geometry = Some(&space.geometry);
            }
        }
        let mut strides = vec![Stride::Unknown; self.geometry.slabs() as usize];
        for slot in self.slots.runs()?.into_iter().flatten().map(Slot) {
            if self.slots.is_free(slot) {
                continue;
            }
            match self.judge(slot, &geometries) {
                Ok((sequence, stride)) => {
                    let (slab, _) = self.geometry.place(slot);
                    if let Some(known) = strides.get_mut(slab as usize) {
                        *known = match *known {
                            Stride::Unknown => Stride::Of(stride),
                            known if known == Stride::Of(stride) => known,
                            _ => Stride::None,
                        };
                    }
                    survey.pages.push((sequence, slot));
                }
                Err(doubt) => survey.dropped.drop(self, slot, &doubt),
            }
        }
        self.check_slabs(bytes_with_memory, &mut strides);
        let Survey { pages, dropped, .. } = &mut survey;
        pages.retain(|(_, slot)| {
            let (slab, _) = self.geometry.place(*slot);
            let is_clear = matches!(strides.get(slab as usize), Some(Stride::Of(_)));
            if !is_clear {
                dropped.drop(self, *slot, &Doubt::Bad);
            }
            is_clear
        });
        pages.sort_unstable();
        Ok(Some(survey))
    }

    /// The sequence and stride of a sealed page, if its record can be believed.
    fn judge(
        &self,
        slot: Slot,
        geometries: &[Option<&SpaceGeometry>],
    ) -> std::result::Result<(u64, u64), Doubt> {
        let record = self.slots.read(slot).ok_or(Doubt::Bad)?;
        if record.state != SlotState::Sealed {
            return Err(Doubt::Unsealed);
        }
        if record.checksum.is_none() {
            return Err(Doubt::NoChecksum);
        }
        let geometry = geometries.get(record.space as usize).copied().flatten();
        let geometry = geometry.ok_or(Doubt::Bad)?;
        let shard = geometry.shards.get(record.shard as usize).ok_or(Doubt::Bad)?;
        let stride = self.geometry.stride(shard.page_bytes).map_err(|_| Doubt::Bad)?;
        let (_, index) = self.geometry.place(slot);
        let mut behind_hash = record.hash.iter().skip(geometry.hash_bytes as usize);
        let is_possible = u64::from(record.page_bytes) == shard.page_bytes
            && u64::from(index) < self.geometry.slab_bytes / stride
            && behind_hash.all(|byte| *byte == 0);
        if is_possible {
            Ok((record.sequence, stride))
        } else {
            Err(Doubt::Bad)
        }
    }

    /// Rules out slabs that had no memory for their pages, or have none for all of their records.
    fn check_slabs(&self, bytes_with_memory: u64, strides: &mut [Stride]) {
        let ready_slabs = bytes_with_memory / self.geometry.slab_bytes;
        for (slab, known) in (0..).zip(strides) {
            let Stride::Of(stride) = *known else { continue };
            let pages = (self.geometry.slab_bytes / stride) as u32;
            let is_ready = u64::from(slab) < ready_slabs;
            if !is_ready
                || self
                    .slots
                    .allocate(self.geometry.first_slot(slab), pages)
                    .is_err()
            {
                *known = Stride::None;
            }
        }
    }
}

impl Dropped {
    fn drop(&mut self, pool: &Pool, slot: Slot, doubt: &Doubt) {
        pool.slots.clear(slot);
        let count = match doubt {
            Doubt::Unsealed => &mut self.unsealed,
            Doubt::NoChecksum => &mut self.no_checksum,
            Doubt::Bad => &mut self.bad_records,
        };
        *count += 1;
    }
}
