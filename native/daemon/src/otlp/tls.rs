//! Whom an https endpoint's certificate has to be of, and who this daemon is to it.

use std::path::PathBuf;
use std::sync::Arc;

use pegaflow_core::error::Result;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::settings::refused;

const TRUSTED: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";
const CHAIN: &str = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE";
const KEY: &str = "OTEL_EXPORTER_OTLP_CLIENT_KEY";

/// Reads the certificates that variables name; without them the system's are trusted, and this daemon shows none.
///
/// An endpoint that is not encrypted needs none.
///
/// # Errors
/// `Config`, naming the variable, its value and what is allowed.
pub(super) fn read(is_encrypted: bool, variable: impl Fn(&str) -> Option<String>) -> Result<ClientConfig> {
    let given = |name: &str| {
        variable(name)
            .filter(|path| is_encrypted && !path.is_empty())
            .map(PathBuf::from)
    };
    let identity = match (given(CHAIN), given(KEY)) {
        (Some(chain), Some(key)) => Some((chain, key)),
        (None, None) => None,
        (Some(chain), None) => {
            return Err(refused(CHAIN, chain.display(), format_args!("both it and {KEY}")));
        }
        (None, Some(key)) => return Err(refused(KEY, key.display(), format_args!("both it and {CHAIN}"))),
    };
    let roots = match given(TRUSTED) {
        Some(path) => named_roots(&path)?,
        None if is_encrypted => system_roots()?,
        None => RootCertStore::empty(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = versions
        .map_err(|error| refused(TRUSTED, "", error))?
        .with_root_certificates(roots);
    let Some((chain, key)) = identity else {
        return Ok(config.with_no_client_auth());
    };
    let private = PrivateKeyDer::from_pem_file(&key)
        .map_err(|error| refused(KEY, key.display(), format_args!("a private key in PEM ({error})")))?;
    let shown = config.with_client_auth_cert(certificates(CHAIN, &chain)?, private);
    shown.map_err(|error| {
        refused(
            CHAIN,
            chain.display(),
            format_args!("the certificate of {KEY} ({error})"),
        )
    })
}

fn named_roots(path: &PathBuf) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(TRUSTED, path)? {
        roots.add(certificate).map_err(|error| {
            refused(
                TRUSTED,
                path.display(),
                format_args!("certificates of authorities ({error})"),
            )
        })?;
    }
    Ok(roots)
}

fn system_roots() -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        let allowed = "a file of the authorities to trust, since this system has none";
        return Err(refused(TRUSTED, "nothing", allowed));
    }
    Ok(roots)
}

fn certificates(name: &str, path: &PathBuf) -> Result<Vec<CertificateDer<'static>>> {
    let why = |error: &dyn std::fmt::Display| {
        refused(
            name,
            path.display(),
            format_args!("certificates in PEM ({error})"),
        )
    };
    let found = CertificateDer::pem_file_iter(path).map_err(|error| why(&error))?;
    let found = found.collect::<std::result::Result<Vec<_>, _>>();
    match found {
        Ok(found) if found.is_empty() => Err(why(&"it has none")),
        Ok(found) => Ok(found),
        Err(error) => Err(why(&error)),
    }
}
