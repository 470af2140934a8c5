//! An engine of which it is known whether the disk answers.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{IoEngine, Op};
use crate::ssd::config::IoEngineKind;
use crate::ssd::counts::Answers;

/// An engine whose calls are counted while they are under way.
#[derive(Debug)]
pub(in crate::ssd) struct Watched {
    engine: Arc<dyn IoEngine>,
    answers: Arc<Answers>,
}

impl Watched {
    pub(in crate::ssd) fn new(engine: Arc<dyn IoEngine>, answers: &Arc<Answers>) -> Arc<Self> {
        let answers = Arc::clone(answers);
        Arc::new(Self { engine, answers })
    }

    /// What is waited for now is not the disk.
    pub(in crate::ssd) fn count_answer(&self) {
        self.answers.change(|| ());
    }
}

impl IoEngine for Watched {
    fn kind(&self) -> IoEngineKind {
        self.engine.kind()
    }

    fn submit(&self, op: Op) {
        let (action, answers, done) = (op.action, Arc::clone(&self.answers), op.done);
        answers.begin(action);
        self.engine.submit(Op {
            done: Box::new(move |result| {
                answers.end(action);
                done(result);
            }),
            ..op
        });
    }

    fn allocate(&self, file: &File, bytes: u64) -> io::Result<()> {
        self.answers.change(|| self.engine.allocate(file, bytes))
    }

    fn available(&self, dir: &Path) -> io::Result<u64> {
        self.answers.change(|| self.engine.available(dir))
    }

    fn delete(&self, file: &Path) -> io::Result<()> {
        self.answers.change(|| self.engine.delete(file))
    }
}
