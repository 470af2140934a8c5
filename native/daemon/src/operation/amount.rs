//! Bytes, or a part of something.

use serde::Deserialize;

/// How much of something that has a size.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Amount {
    /// So many bytes.
    Bytes(u64),
    /// So many hundredths.
    Percent(Percent),
}

/// More than 0, at most 100.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct Percent(f64);

impl TryFrom<f64> for Percent {
    type Error = String;

    fn try_from(percent: f64) -> Result<Self, String> {
        if percent > 0.0 && percent <= 100.0 {
            return Ok(Self(percent));
        }
        Err(format!(
            "percent = {percent}: more than 0, up to 100, are allowed"
        ))
    }
}

impl Amount {
    /// The bytes of it, where the whole has `whole` bytes.
    pub(super) fn of(self, whole: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(Percent(percent)) => (whole as f64 * percent / 100.0).ceil() as u64,
        }
    }
}

#[cfg(test)]
mod tests;
