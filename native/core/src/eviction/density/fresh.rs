//! What came last, which goes last.

use super::Density;
use super::age::YOUNG_MOMENTS;
use super::node::NONE;
use crate::eviction::Token;

/// What came last is fresh, and goes last whatever its class: this part of all blocks,
const FRESH_DIVISOR: usize = 32;
/// and what is young, up to this part of all, as long as others stay that were used last.
const MOST_FRESH_DIVISOR: usize = 4;
/// So many at most, which the processor's caches still hold when they are fresh no more.
const MOST_FRESH: usize = 1 << 12;

impl Density {
    /// Leaves fresh only what came last.
    pub(super) fn limit_fresh(&mut self) {
        let fitting = if self.fitting > 0 { self.fitting } else { self.kept };
        while let Some(node) = self.fresh.oldest().and_then(|token| self.nodes.get(token)) {
            let is_new = self.now.wrapping_sub(node.used) < YOUNG_MOMENTS;
            let is_known = self.recency.blocks(fitting) == 0;
            let divisor = if is_new && !is_known {
                MOST_FRESH_DIVISOR
            } else {
                FRESH_DIVISOR
            };
            if self.fresh.len() <= fitting.div_ceil(divisor).min(MOST_FRESH) {
                return;
            }
            let end = self
                .fresh
                .youngest()
                .filter(|token| self.is_end_since(*token, node.used));
            self.settle_fresh(end.or(self.fresh.oldest()));
        }
    }

    /// Whether a block that came last ends a chain that came at this moment: its beginning is of use without it.
    fn is_end_since(&self, token: Token, moment: u32) -> bool {
        let node = self.nodes.get(token);
        node.is_some_and(|node| node.parent != NONE && node.used == moment)
    }

    /// One of the fresh blocks is fresh no more; whether there was one.
    pub(super) fn settle_fresh(&mut self, token: Option<Token>) -> bool {
        if let Some(token) = token {
            self.unsettle(token);
            self.settle(token);
        }
        token.is_some()
    }
}
