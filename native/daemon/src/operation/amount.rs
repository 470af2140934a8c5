//! Bytes, or a part of something.

use serde::Deserialize;
use serde_json::Number;

/// The largest size of a file.
const BYTES_MAX: u64 = i64::MAX as u64;

/// How much of something that has a size.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Amount {
    /// So many bytes.
    Bytes(Bytes),
    /// So many hundredths.
    Percent(Percent),
}

/// Some bytes: at least one, and no more than the system's files can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Number")]
pub(super) struct Bytes(u64);

impl TryFrom<Number> for Bytes {
    type Error = String;

    fn try_from(number: Number) -> Result<Self, String> {
        match number.as_u64() {
            Some(bytes @ 1..=BYTES_MAX) => Ok(Self(bytes)),
            _ => Err(format!(
                "{number} bytes cannot be used: a whole number from 1 to {BYTES_MAX} is allowed"
            )),
        }
    }
}

impl Bytes {
    /// Their number.
    pub(super) fn get(self) -> u64 {
        self.0
    }
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
            Self::Bytes(Bytes(bytes)) => bytes,
            Self::Percent(Percent(percent)) => (whole as f64 * percent / 100.0).ceil() as u64,
        }
    }
}

#[cfg(test)]
mod tests;
