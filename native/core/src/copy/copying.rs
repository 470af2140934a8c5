//! Copies that go on by themselves.

use std::any::Any;
use std::sync::Arc;

use crate::error::Result;

/// What keeps the pages of copies in place.
pub type Pins = Arc<dyn Any + Send + Sync>;

/// Copies under way. **Dropping it waits for their end**, so that they never outlive their pages and blocks.
pub trait Copying: Send + Sync {
    /// Whether every copy has ended, well or not.
    fn has_ended(&self) -> bool;

    /// Waits for the end.
    ///
    /// # Errors
    /// What the copies say; the blocks then hold nothing of value.
    fn finish(self: Box<Self>) -> Result<()>;
}
