//! Where a test may look at what would be left if the process ended: before each store to memory that outlives it.

use std::cell::Cell;

type Look = Box<dyn Fn()>;

thread_local! {
    static LOOK: Cell<Option<Look>> = const { Cell::new(None) };
}

/// The process could end here.
pub(crate) fn reached() {
    // Taken out meanwhile: what a look itself stores belongs to another pool.
    if let Some(look) = LOOK.take() {
        look();
        LOOK.set(Some(look));
    }
}

/// Calls `look` wherever the process could end while this thread is in `run`.
pub(crate) fn at_each<T>(look: impl Fn() + 'static, run: impl FnOnce() -> T) -> T {
    LOOK.set(Some(Box::new(look)));
    let _end = End;
    run()
}

struct End;

impl Drop for End {
    fn drop(&mut self) {
        drop(LOOK.take());
    }
}
