//! `migbsp cert show`: certificates, and their state at a point in time.

mod date;

use std::collections::BTreeSet;
use std::time::SystemTime;

use protocol::identity::{Holder, ListedCertificate, Serial, Validity};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::certificates::date::days;
use crate::text::Layout;
use experiments::{CsvTable, Failure, Provenance, Published};

pub use crate::certificates::date::date;

/// Certificates at a point in time.
#[derive(Debug, Serialize)]
pub struct Report {
    /// When they were looked at.
    #[serde(rename = "now")]
    date: String,
    #[serde(skip)]
    now: SystemTime,
    /// All of each file, its own first.
    certificates: Vec<Row>,
}

/// One certificate.
#[derive(Debug, Serialize)]
struct Row {
    file: String,
    /// Authorities have none but their cluster's.
    name: Option<String>,
    role: String,
    cluster: String,
    not_before: String,
    not_after: String,
    /// Rounded down.
    days_left: i64,
    state: &'static str,
    /// The number that `cert revoke` takes.
    serial: String,
    sha256: String,
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

    /// The certificates as a table, each once, however many files have it.
    pub fn text(&self, layout: Layout) -> String {
        let mut seen = BTreeSet::new();
        let rows: Vec<&Row> = self
            .certificates
            .iter()
            .filter(|row| seen.insert(&row.sha256))
            .collect();
        let headers = [
            "file",
            "name",
            "role",
            "cluster",
            "not before",
            "not after",
            "days",
            "",
        ];
        let cells = rows.iter().map(|row| row.cells());
        let mut text = layout.reduced_table(&headers, cells, &[4, 3, 6, 0]);
        text.push_str("\nSHA-256:\n");
        let width = rows.iter().map(|row| row.label().len()).max().unwrap_or(0);
        for row in rows {
            text.push_str(&format!("  {:width$}  {}\n", row.label(), row.sha256));
        }
        text
    }

    /// One row per certificate and file.
    ///
    /// # Errors
    ///
    /// If a row cannot be written.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut table = CsvTable::new(Self::SCHEMA, provenance);
        for row in &self.certificates {
            table.push(row)?;
        }
        table.text()
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
                "revoked"
            } else {
                state(*validity, now)
            },
            serial: serial.to_string(),
            sha256: hex::encode(Sha256::digest(der)),
        }
    }

    fn label(&self) -> &str {
        self.name.as_ref().unwrap_or(&self.role)
    }

    fn cells(&self) -> Vec<String> {
        vec![
            self.file.clone(),
            self.name.clone().unwrap_or_default(),
            self.role.clone(),
            self.cluster.clone(),
            self.not_before.clone(),
            self.not_after.clone(),
            self.days_left.to_string(),
            self.state.to_owned(),
        ]
    }
}

fn state(validity: Validity, now: SystemTime) -> &'static str {
    if validity.includes(now) {
        "valid"
    } else if now < validity.from() {
        "not yet valid"
    } else {
        "expired"
    }
}
