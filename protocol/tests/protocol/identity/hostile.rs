use std::sync::LazyLock;

use proptest::prelude::*;
use protocol::identity::{Certificate, Identity, Name, Pem, Subject};

use crate::identity::{der, issued};

static DER: LazyLock<Vec<u8>> = LazyLock::new(|| der(&issued()));

proptest! {
    #[test]
    fn random_bytes_are_no_certificate(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        prop_assert!(Certificate::parse(&bytes).is_err());
    }

    #[test]
    fn mutated_certificates_are_read_or_refused(
        mutations in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        end in any::<prop::sample::Index>(),
    ) {
        let mut der = DER.clone();
        for (at, byte) in mutations {
            let at = at.index(der.len());
            der[at] = byte;
        }
        drop(Certificate::parse(&der));
        der.truncate(end.index(der.len()));
        prop_assert!(Certificate::parse(&der).is_err());
    }

    #[test]
    fn any_text_is_a_name_or_refused(text in any::<String>()) {
        let name = text.parse::<Name>();
        prop_assert!(name.is_err() || name.unwrap().as_str() == text);
        let subject = format!("migbsp://{text}").parse::<Subject>();
        prop_assert!(subject.is_err() || subject.unwrap().to_string().ends_with(&text));
        let pem = Pem { certificates: text.clone(), key: text };
        prop_assert!(Identity::from_pem(&pem).is_err());
    }
}

#[test]
fn bytes_behind_a_certificate_are_refused() {
    let mut der = DER.clone();
    der.push(0);
    assert!(Certificate::parse(&der).is_err());
}
