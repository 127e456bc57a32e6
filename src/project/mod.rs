//! Jobs on disk: versioned RON ⇄ model, and the CSV files that sources read.
//!
//! May know: files, text, [`crate::model`]. Must not know: the engine, a run, egui.
//!
//! * **A file that loads is a job that runs**; a file that does not load says where and why, and changes nothing.
//! * The one exception says so itself: a *draft* (`draft: true`) is a job that a person has not finished. It opens, its
//!   problems are marked, and it does not run. Saving writes that header by itself.
//! * A format version, once released, is frozen: [`v1`] never changes, and never borrows a type or a default from the
//!   model. It is only read; what is written is [`v2`]. A later version gets a module of its own.
//! * A save replaces the file in one step, or leaves the old one as it was.

pub mod csv_source;
mod error;
mod load;
mod locate;
mod outline;
mod save;
pub mod v1;
pub mod v2;

pub use csv_source::{CsvError, CsvRow};
pub use error::{FileProblem, ProjectError, TextPosition};
pub use load::{JobSource, LoadedJob, MAX_FILE_BYTES, base_dir, check, load, parse};
pub use save::{save, to_text};

/// The newest format that this program reads, and the one it writes.
pub const FORMAT_VERSION: u32 = 2;

/// How job files use RON: an optional value is written bare, without `Some(…)`.
fn ron_options() -> ron::Options {
    ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME)
}
