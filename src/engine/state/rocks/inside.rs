//! Looking into one table file (SST) by itself.

use std::fs;
use std::path::Path;

use super::database::Database;
use crate::engine::state::StateError;
use crate::engine::state::codec::{Slot, Stored};
use crate::engine::state::folder::OwnedFolder;

/// The entries of the table file that `bytes` are, called `name` by RocksDB, in the order of their bytes: those that say that
/// a key was deleted are not among them. `work` is a folder that must not exist; it is gone afterwards.
///
/// RocksDB only reads whole databases. So it is made to believe that this is one of which everything else was lost, and
/// to repair it.
pub(in crate::engine::state) fn table_entries(
    (name, bytes): (&str, &[u8]),
    work: &Path,
    mut visit: impl FnMut(u32, Slot, Stored) -> Result<(), StateError>,
) -> Result<(), StateError> {
    let folder = OwnedFolder::create(work)?;
    let file = folder.path().join(name);
    fs::write(&file, bytes).map_err(StateError::io("write", &file))?;
    Database::repaired(folder)?.for_each(&mut visit)
}
