//! Naming a namespace: by its 64 hexadecimal digits, or by the first of them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use pegaflow_core::error::{Error, ErrorKind, Result};
use serde::Deserialize;

use crate::daemon::Daemon;

/// Hexadecimal digits of a whole name.
const DIGITS: usize = 64;
/// Names that a refusal lists.
const LISTED: usize = 5;

/// The first hexadecimal digits of a namespace, or all.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct NamespacePrefix(String);

impl TryFrom<String> for NamespacePrefix {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        let is_hexadecimal = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hexadecimal && (1..=DIGITS).contains(&text.len()) {
            return Ok(Self(text.to_ascii_lowercase()));
        }
        Err(format!(
            "namespace {text:?}: 1 to {DIGITS} hexadecimal digits are allowed, as `pegaflow namespace list` has them"
        ))
    }
}

impl NamespacePrefix {
    /// The one namespace that the daemon knows by these digits.
    ///
    /// # Errors
    /// `NotFound` when there is none, `Invalid` when there are several.
    pub(super) fn known(&self, daemon: &Daemon) -> Result<[u8; 32]> {
        self.one_of(&known(daemon))
    }

    /// As [`NamespacePrefix::known`], or whatever all 64 digits say.
    ///
    /// # Errors
    /// As [`NamespacePrefix::known`].
    pub(super) fn known_or_whole(&self, daemon: &Daemon) -> Result<[u8; 32]> {
        self.whole().map_or_else(|| self.known(daemon), Ok)
    }

    fn one_of(&self, known: &BTreeSet<[u8; 32]>) -> Result<[u8; 32]> {
        let digits = &self.0;
        let found: Vec<_> = known
            .iter()
            .filter(|namespace| name_of(namespace).starts_with(digits))
            .collect();
        match *found.as_slice() {
            [&one] => Ok(one),
            [] => Err(Error::new(
                ErrorKind::NotFound,
                format!(
                    "no namespace begins with {digits}: `pegaflow namespace list` has those that there are"
                ),
            )),
            [..] => {
                let names: Vec<_> = found
                    .iter()
                    .take(LISTED)
                    .map(|namespace| name_of(namespace))
                    .collect();
                Err(Error::new(
                    ErrorKind::Invalid,
                    format!(
                        "{} namespaces begin with {digits}, give more digits of one: {}",
                        found.len(),
                        names.join(", ")
                    ),
                ))
            }
        }
    }

    fn whole(&self) -> Option<[u8; 32]> {
        let mut namespace = [0; 32];
        if self.0.len() != DIGITS {
            return None;
        }
        for (index, byte) in namespace.iter_mut().enumerate() {
            *byte = u8::from_str_radix(self.0.get(2 * index..2 * index + 2)?, 16).ok()?;
        }
        Some(namespace)
    }
}

/// The 64 digits of a namespace.
pub(crate) fn name_of(namespace: &[u8; 32]) -> String {
    namespace
        .iter()
        .fold(String::with_capacity(DIGITS), |mut name, byte| {
            // Writing to a string does not fail.
            let _ = write!(name, "{byte:02x}");
            name
        })
}

fn known(daemon: &Daemon) -> BTreeSet<[u8; 32]> {
    let in_memory = daemon.store.namespaces();
    let on_ssd = daemon.store.ssd().map(|ssd| ssd.spaces()).unwrap_or_default();
    let on_ssd = on_ssd.iter().map(|space| space.key.namespace);
    let in_memory = in_memory.iter().map(|namespace| namespace.namespace);
    in_memory.chain(on_ssd).collect()
}

#[cfg(test)]
mod tests;
