//! Counts in sentences for people.

/// So many of something whose plural has an s more: `1 block`, `2 blocks`.
#[must_use]
pub fn counted(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}
