//! The end of a path that fails: nobody is told before nothing is at the disk any more.

use super::super::inbox::Event;
use super::batch::Batch;
use super::writer::{Ended, Writer};
use crate::error::Error;

impl Writer {
    /// Ends a path that fails: everybody who waits is told, once nothing is at the disk any more.
    pub(super) fn fail(mut self, error: Error) -> Ended {
        self.path.go_offline(error.message());
        let failed = || Error::new(error.kind(), error.message());
        let mut removals = std::mem::take(&mut self.removals);
        removals.extend(self.journaling.iter().flat_map(|journaling| &journaling.removals));
        while !self.is_idle() || !self.events.is_empty() {
            if self.events.is_empty() {
                self.events.extend(self.path.inbox.take(None));
            }
            for event in std::mem::take(&mut self.events) {
                match event {
                    Event::DataWritten(number, _) => {
                        let batch = self.batches.iter_mut().find(|batch| batch.number == number);
                        batch.into_iter().for_each(Batch::written);
                    }
                    Event::JournalWritten(_) => {
                        if let Some(journaling) = self.journaling.take() {
                            self.batches.extend(journaling.batches);
                        }
                    }
                    Event::Synced(_) => self.safety.end(),
                    Event::KeptRead(..) => {
                        if let Some(keeping) = &mut self.keeping {
                            keeping.reads -= 1;
                        }
                    }
                    Event::Removed(removal) => removals.push_back(removal),
                    Event::Failed(_) => {}
                    Event::Flush(reply) | Event::Resize(reply) | Event::Evict(_, reply) => {
                        drop(reply.send(Err(failed())));
                    }
                    Event::End(files, reply) => self.wishes.end = Some((files, reply)),
                }
            }
        }
        let batches = self.batches.drain(..).flat_map(|batch| batch.blocks);
        let blocks = batches.map(|placed| placed.block).chain(self.held.take());
        for block in blocks.collect::<Vec<_>>() {
            block.end(&self.path, Err(failed()));
        }
        for reply in self.wishes.take_replies() {
            drop(reply.send(Err(failed())));
        }
        if let Some((files, reply)) = self.wishes.end.take() {
            self.path.inbox.tell(Event::End(files, reply));
        }
        Ended::Failed(error, removals, self.written)
    }
}
