use std::sync::LazyLock;

use protocol::identity::{Authority, Certificate, Identity, Pem, Revocations, Subject};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::drawn::Drawn;

/// A certificate, that of its authority, and the list of what this has revoked.
static TEXTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let lab = [CERTIFICATES, AUTHORITY, REVOCATIONS, KEY];
    lab.map(|text| text.as_bytes().to_vec()).into()
});

static CERTIFICATES_DER: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let certificates = CertificateDer::pem_slice_iter(CERTIFICATES.as_bytes());
    certificates
        .map(|certificate| certificate.unwrap().to_vec())
        .collect()
});

/// Reads what `drawn` makes of certificates, keys and lists.
pub(crate) fn check(drawn: &[u8]) {
    let mut drawn = Drawn::new(drawn);
    match drawn.byte() % 8 {
        0 => parse(&drawn.rest()),
        1 => read(&drawn.rest()),
        2 | 3 => read(&drawn.mutated(&TEXTS)),
        _ => {
            let der = drawn.mutated(&CERTIFICATES_DER);
            parse(&der);
            let text = |label: &str| pem::encode(&pem::Pem::new(label, der.as_slice()));
            read(text(["CERTIFICATE", "X509 CRL"][drawn.below(2)]).as_bytes());
        }
    }
}

/// Reads `der`, in bounded memory.
pub(crate) fn parse(der: &[u8]) {
    let mut parsed = None;
    let taken = allocation_counter::measure(|| parsed = Some(Certificate::parse(der)));
    let limit = MEMORY_FACTOR * der.len() + MEMORY;
    let taken = usize::try_from(taken.bytes_max).unwrap();
    assert!(
        taken <= limit,
        "{taken} bytes reserved for {} that came",
        der.len()
    );
    match parsed.unwrap() {
        Ok(Certificate {
            subject,
            validity,
            serial,
        }) => {
            assert_eq!(subject.to_string().parse::<Subject>(), Ok(subject));
            assert!(validity.from() < validity.until());
            assert_eq!(serial.to_string().parse(), Ok(serial));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Reads `text` as everything that there is.
fn read(text: &[u8]) {
    let text = String::from_utf8_lossy(text).into_owned();
    let own = |certificates: &str| Pem {
        certificates: certificates.to_owned(),
        key: KEY.to_owned(),
    };
    for pem in [
        own(&text),
        own(&format!("{text}{AUTHORITY}")),
        Pem {
            certificates: CERTIFICATES.to_owned(),
            key: text.clone(),
        },
    ] {
        if let Ok(identity) = Identity::from_pem(&pem) {
            let again = Identity::from_pem(&identity.to_pem()).unwrap();
            assert_eq!(again.certificate(), identity.certificate());
        }
    }
    drop(Authority::from_pem(&own(&text)));
    if let Ok(revocations) = Revocations::from_pem(&text) {
        assert_eq!(
            Revocations::from_pem(&revocations.to_pem()),
            Ok(revocations)
        );
    }
}

/// Made once for this, so that what a fuzzer has found can be repeated: they open nothing.
const CERTIFICATES: &str = include_str!("lab/n3.pem");
const KEY: &str = include_str!("lab/n3.key");
const AUTHORITY: &str = include_str!("lab/authority.pem");
const REVOCATIONS: &str = include_str!("lab/authority.crl");

/// Bytes that reading a certificate may take for each that came, and beside; only what the authority
/// has signed, in 16 KiB at most, is read at all.
const MEMORY_FACTOR: usize = 128;
const MEMORY: usize = 64 << 10;
