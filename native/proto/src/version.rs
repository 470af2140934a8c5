//! Which versions of the protocol understand each other.

use crate::v1::ProtocolVersion;

/// The version of the protocol that this build speaks.
pub const PROTOCOL_VERSION: ProtocolVersion = ProtocolVersion { major: 1, minor: 1 };

/// Whether a peer of this version is understood: any minor version of the same major one.
pub fn is_compatible(peer: &ProtocolVersion) -> bool {
    peer.major == PROTOCOL_VERSION.major
}
