//! Profiles that the file names, each read once.

use std::collections::BTreeMap;

use crate::platform::error::{At, ErrorAt, PlatformErrorKind};
use crate::platform::profile_quantity::ProfileQuantity;
use crate::platform::simgrid::element::Attribute;
use crate::platform::simgrid::profile_file;
use crate::profile::Profile;

/// Profiles by the name of their file; `load` returns the text of a file.
pub(super) struct Profiles<'load> {
    load: &'load mut dyn FnMut(&str) -> Result<String, String>,
    known: BTreeMap<String, Profile>,
}

impl<'load> Profiles<'load> {
    pub(super) fn new(load: &'load mut dyn FnMut(&str) -> Result<String, String>) -> Self {
        Self {
            load,
            known: BTreeMap::new(),
        }
    }

    /// The profile in a file, checked to be one of `quantity`.
    pub(super) fn of(
        &mut self,
        file: Attribute<'_>,
        quantity: ProfileQuantity,
    ) -> Result<Profile, ErrorAt> {
        if !self.known.contains_key(file.text) {
            let text = (self.load)(file.text).map_err(|reason| {
                file.error(PlatformErrorKind::ProfileFile {
                    file: file.text.to_owned(),
                    reason,
                })
            })?;
            let profile = profile_file::read(file.text, &text, None).at(file.at)?;
            self.known.insert(file.text.to_owned(), profile);
        }
        let profile = self.known[file.text].clone();
        quantity.check(file.text, &profile).at(file.at)?;
        Ok(profile)
    }
}
