//! `migbsp cert show`: certificates, and their state at a point in time.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use experiments::{Failure, Provenance, Published};
use protocol::identity::{Holder, ListedCertificate, Serial, Validity, date};
use serde::Serialize;
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use crate::document::{Answer, Document, Part, Table, csv_of_fields};

/// Certificates at a point in time.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Report {
    /// When they were looked at.
    #[cfg_attr(
        feature = "schemas",
        schemars(pattern("^[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$"))
    )]
    #[serde(rename = "now")]
    date: String,
    #[serde(skip)]
    now: SystemTime,
    /// All of each file, its own first.
    certificates: Vec<Row>,
}

/// One certificate.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Row {
    /// Its file.
    file: String,
    /// Authorities have none but their cluster's.
    name: Option<String>,
    /// What its holder is.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["authority", "node", "set-manager", "client"])))]
    role: String,
    /// The name of the cluster.
    cluster: String,
    /// When it begins to be valid.
    #[cfg_attr(
        feature = "schemas",
        schemars(pattern("^[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$"))
    )]
    not_before: String,
    /// When it ends.
    #[cfg_attr(
        feature = "schemas",
        schemars(pattern("^[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$"))
    )]
    not_after: String,
    /// Rounded down.
    days_left: i64,
    /// Whether it is valid now.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["valid", "not yet valid", "expired", REVOKED])))]
    state: &'static str,
    /// The number that `cert revoke` takes.
    serial: String,
    /// SHA-256 of the certificate.
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
    sha256: String,
    #[serde(skip)]
    validity: Validity,
}

impl Report {
    /// No certificates yet, looked at `now`.
    pub fn new(now: SystemTime) -> Self {
        Self {
            date: date(now),
            now,
            certificates: Vec::new(),
        }
    }

    /// Adds the `certificates` of `file`; the list beside it names those that are `revoked`.
    pub fn add(
        &mut self,
        file: &str,
        certificates: &[ListedCertificate],
        revoked: Option<&BTreeSet<Serial>>,
    ) {
        let rows = certificates.iter().map(|certificate| {
            let is_revoked = revoked.is_some_and(|serials| serials.contains(&certificate.serial));
            Row::new(file, certificate, is_revoked, self.now)
        });
        self.certificates.extend(rows);
    }

    /// What is said of each certificate that has ended, or does so within `length`, and is not revoked.
    pub fn ending_within(&self, length: Duration) -> Vec<String> {
        let rows = self
            .certificates
            .iter()
            .filter(|row| row.state != REVOKED && row.validity.ends_within(length, self.now));
        let said: BTreeSet<String> = rows
            .map(|row| {
                format!(
                    "{} of {} ends at {}",
                    row.label(),
                    row.cluster,
                    row.not_after
                )
            })
            .collect();
        said.into_iter().collect()
    }
}

impl Answer for Report {
    /// The certificates as a table, each once, however many files have it.
    fn document(&self) -> Document {
        let mut seen = BTreeSet::new();
        let rows: Vec<&Row> = self
            .certificates
            .iter()
            .filter(|row| seen.insert(&row.sha256))
            .collect();
        let table = Table::of(
            &rows,
            &[
                ("file", &|row| row.file.clone()),
                ("name", &|row| row.name.clone().unwrap_or_default()),
                ("role", &|row| row.role.clone()),
                ("cluster", &|row| row.cluster.clone()),
                ("not before", &|row| row.not_before.clone()),
                ("not after", &|row| row.not_after.clone()),
                ("days", &|row| row.days_left.to_string()),
                ("", &|row| row.state.to_owned()),
            ],
        );
        let width = rows.iter().map(|row| row.label().len()).max().unwrap_or(0);
        let digest = |row: &&Row| format!("{:width$}  {}", row.label(), row.sha256);
        let digests = rows.iter().map(digest).collect();
        Document::of([
            Part::Table(table.dispensing(&[4, 3, 6, 0])),
            Part::List("SHA-256".to_owned(), digests),
        ])
    }

    /// One row per certificate and file.
    fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        csv_of_fields::<Self, _>(provenance, &self.certificates)
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.cert/1";
}

impl Row {
    fn new(file: &str, certificate: &ListedCertificate, is_revoked: bool, now: SystemTime) -> Self {
        let ListedCertificate {
            holder,
            validity,
            serial,
            der,
        } = certificate;
        let (name, role, cluster) = match holder {
            Holder::Authority(cluster) => (None, "authority".to_owned(), cluster),
            Holder::Member(subject) => (
                Some(subject.name.to_string()),
                subject.role.to_string(),
                &subject.cluster,
            ),
        };
        Self {
            file: file.to_owned(),
            name,
            role,
            cluster: cluster.to_string(),
            not_before: date(validity.from()),
            not_after: date(validity.until()),
            days_left: days(now, validity.until()),
            state: if is_revoked {
                REVOKED
            } else {
                state(*validity, now)
            },
            serial: serial.to_string(),
            sha256: hex::encode(Sha256::digest(der)),
            validity: *validity,
        }
    }

    fn label(&self) -> &str {
        self.name.as_ref().unwrap_or(&self.role)
    }
}

const REVOKED: &str = "revoked";

fn state(validity: Validity, now: SystemTime) -> &'static str {
    if validity.includes(now) {
        "valid"
    } else if now < validity.from() {
        "not yet valid"
    } else {
        "expired"
    }
}

/// Whole days from `now` until `until`, rounded down.
fn days(now: SystemTime, until: SystemTime) -> i64 {
    let left = OffsetDateTime::from(until) - OffsetDateTime::from(now);
    let days = left.whole_days();
    if left.is_negative() && !(left - time::Duration::days(days)).is_zero() {
        days - 1
    } else {
        days
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn days_are_rounded_down() {
        let now = 1_800_000_000;
        for (until, expect) in [
            (now, 0),
            (now + 86_399, 0),
            (now + 86_400, 1),
            (now - 1, -1),
            (now - 86_400, -1),
            (now - 86_401, -2),
        ] {
            assert_eq!(days(at(now), at(until)), expect, "{until}");
        }
    }
}
