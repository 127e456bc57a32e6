//! The rows of a CSV file, as a source reads them: a key and an exact decimal each.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};
use rust_decimal::Decimal;

use super::error::excerpt;
use crate::model::CsvSpec;

/// With these three bounds, the sum of all rows is below 5 · 10¹⁸ and has 9 decimals, 28 digits: what a [`Decimal`]
/// holds exactly.
pub const MAX_ROWS: usize = 5_000_000;
const MAX_WHOLE_DIGITS: u32 = 12;
const MAX_DECIMALS: u32 = 9;
const MAX_FILE_BYTES: u64 = 512 << 20;

/// One row: what becomes a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvRow {
    pub key: Arc<str>,
    pub value: Decimal,
}

/// Why a CSV file does not give the rows that a source wants: a sentence, with the line (from 1; the header is 1).
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    #[error("There is no CSV file {}: check the path, which is relative to the folder of the job file.", file.display())]
    Missing { file: PathBuf },
    #[error("{} is a folder or a device: name a CSV file.", file.display())]
    NotAFile { file: PathBuf },
    #[error("The CSV file {} cannot be read: {source}. Check that you may read it.", file.display())]
    Read { file: PathBuf, source: io::Error },
    #[error("The CSV file {} has {size_bytes} bytes; at most {MAX_FILE_BYTES} are possible: use a part of it.", file.display())]
    TooLarge { file: PathBuf, size_bytes: u64 },
    #[error("The CSV file {} has more than {MAX_ROWS} rows: use a part of it.", file.display())]
    TooManyRows { file: PathBuf },
    #[error("The CSV file {} is empty: its first line must name the columns.", file.display())]
    Empty { file: PathBuf },
    #[error("The CSV file {} has no column “{column}”: choose one of {}.", file.display(), list_of(columns))]
    NoColumn {
        file: PathBuf,
        /// The field of [`CsvSpec`] that names it.
        field: &'static str,
        column: String,
        columns: Vec<String>,
    },
    #[error("The CSV file {} has more than one column “{column}”: give each a name of its own.", file.display())]
    TwoColumns {
        file: PathBuf,
        field: &'static str,
        column: String,
    },
    #[error("{}:{line}: this row does not have as many fields ({found}) as the header ({expected}): add or remove some.", file.display())]
    Ragged {
        file: PathBuf,
        line: u64,
        found: u64,
        expected: u64,
    },
    #[error("{}:{line}: this is not text (UTF-8): save the file in that encoding.", file.display())]
    NotText { file: PathBuf, line: u64 },
    #[error("{}:{line}: column “{column}” {what}.", file.display())]
    BadField {
        file: PathBuf,
        line: u64,
        column: String,
        what: String,
    },
}

impl CsvError {
    /// The field of [`CsvSpec`] that it concerns most.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::NoColumn { field, .. } | Self::TwoColumns { field, .. } => field,
            _ => "path",
        }
    }
}

/// All rows of the file that `spec` names, relative to `base_dir`, the folder of the job file.
///
/// # Errors
/// The file or a column is missing, or a row is not as it should be. No row is ever left out.
pub fn read(spec: &CsvSpec, base_dir: &Path) -> Result<Vec<CsvRow>, CsvError> {
    let file = base_dir.join(&spec.path);
    let mut table = Table::open(spec, file)?;
    let mut rows = Vec::new();
    while let Some(row) = table.next_row()? {
        if rows.len() == MAX_ROWS {
            return Err(CsvError::TooManyRows { file: table.file });
        }
        rows.push(row);
    }
    Ok(rows)
}

/// A CSV file open at its next row.
struct Table {
    file: PathBuf,
    reader: Reader<File>,
    record: ByteRecord,
    key: Column,
    value: Column,
    /// Each key once: a file of a million rows has a handful.
    keys: BTreeSet<Arc<str>>,
}

struct Column {
    name: String,
    index: usize,
}

impl Table {
    fn open(spec: &CsvSpec, file: PathBuf) -> Result<Self, CsvError> {
        let content = open_file(&file)?;
        let mut reader = ReaderBuilder::new().from_reader(content);
        let header = match reader.byte_headers() {
            Ok(header) => names_in(header),
            Err(error) => return Err(row_error(error, &file)),
        };
        if header.is_empty() {
            return Err(CsvError::Empty { file });
        }
        let column = |name: &str, field| find_column(&header, name, field, &file);
        let key = column(&spec.key_column, "key_column")?;
        let value = column(&spec.value_column, "value_column")?;
        Ok(Self {
            key,
            value,
            file,
            reader,
            record: ByteRecord::new(),
            keys: BTreeSet::new(),
        })
    }

    fn next_row(&mut self) -> Result<Option<CsvRow>, CsvError> {
        match self.reader.read_byte_record(&mut self.record) {
            Ok(false) => return Ok(None),
            Ok(true) => {}
            Err(error) => return Err(row_error(error, &self.file)),
        }
        let key = self.field(&self.key)?;
        if key.is_empty() {
            return Err(self.bad_field(&self.key, "is empty: every row needs a key".into()));
        }
        let key = self.keys.get(key).cloned().unwrap_or_else(|| key.into());
        let value =
            decimal(self.field(&self.value)?).map_err(|what| self.bad_field(&self.value, what))?;
        self.keys.insert(Arc::clone(&key));
        Ok(Some(CsvRow { key, value }))
    }

    fn field(&self, column: &Column) -> Result<&str, CsvError> {
        let bytes = self.record.get(column.index).unwrap_or_default();
        let text = std::str::from_utf8(bytes).map_err(|_| CsvError::NotText {
            file: self.file.clone(),
            line: self.line(),
        })?;
        Ok(text.trim())
    }

    fn bad_field(&self, column: &Column, what: String) -> CsvError {
        CsvError::BadField {
            file: self.file.clone(),
            line: self.line(),
            column: column.name.clone(),
            what,
        }
    }

    /// Of the current row.
    fn line(&self) -> u64 {
        self.record
            .position()
            .map_or(0, |position| line_of(position, &self.file))
    }
}

/// The line in which the row at `position` begins. The position itself is before any blank lines, which are no rows.
fn line_of(position: &csv::Position, file: &Path) -> u64 {
    let Ok(content) = File::open(file) else {
        return position.line();
    };
    let mut line = 1;
    for (offset, byte) in (0..).zip(BufReader::new(content).bytes().map_while(Result::ok)) {
        if offset >= position.byte() && !b"\r\n".contains(&byte) {
            break;
        }
        line += u64::from(byte == b'\n');
    }
    line
}

fn open_file(file: &Path) -> Result<File, CsvError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => CsvError::Missing { file: file.into() },
        _ => CsvError::Read {
            file: file.into(),
            source,
        },
    };
    let metadata = std::fs::metadata(file).map_err(failed)?;
    if !metadata.is_file() {
        return Err(CsvError::NotAFile { file: file.into() });
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(CsvError::TooLarge {
            file: file.into(),
            size_bytes: metadata.len(),
        });
    }
    File::open(file).map_err(failed)
}

fn names_in(header: &ByteRecord) -> Vec<String> {
    let name = |bytes| String::from_utf8_lossy(bytes).trim().to_owned();
    header.iter().map(name).collect()
}

fn find_column(
    header: &[String],
    name: &str,
    field: &'static str,
    file: &Path,
) -> Result<Column, CsvError> {
    let wanted = name.trim();
    let mut places = (0..header.len()).filter(|index| header[*index] == wanted);
    match (places.next(), places.next()) {
        (Some(index), None) => Ok(Column {
            name: wanted.into(),
            index,
        }),
        (Some(_), Some(_)) => Err(CsvError::TwoColumns {
            file: file.into(),
            field,
            column: wanted.into(),
        }),
        (None, _) => Err(CsvError::NoColumn {
            file: file.into(),
            field,
            column: name.into(),
            columns: header.to_vec(),
        }),
    }
}

fn row_error(error: csv::Error, file: &Path) -> CsvError {
    let file = file.to_owned();
    let line = error
        .position()
        .map_or(0, |position| line_of(position, &file));
    match error.into_kind() {
        ErrorKind::UnequalLengths {
            expected_len,
            len: found,
            ..
        } => CsvError::Ragged {
            file,
            line,
            found,
            expected: expected_len,
        },
        ErrorKind::Utf8 { .. } => CsvError::NotText { file, line },
        ErrorKind::Io(source) => CsvError::Read { file, source },
        other => CsvError::Read {
            file,
            source: io::Error::other(format!("{other:?}")),
        },
    }
}

/// The exact value of `text`, or what is wrong with it.
fn decimal(text: &str) -> Result<Decimal, String> {
    if text.is_empty() {
        return Err("is empty: every row needs a value".into());
    }
    let shown = excerpt(text);
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"+-.".contains(&byte));
    let is_number = is_plain && text.bytes().any(|byte| byte.is_ascii_digit());
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if !is_number {
        return Err(format!(
            "holds “{shown}”, which is no number: write it like 12.5"
        ));
    }
    let whole = whole.trim_start_matches(['+', '-', '0']);
    if digits(whole) > MAX_WHOLE_DIGITS as usize || digits(decimals) > MAX_DECIMALS as usize {
        return Err(format!(
            "holds “{shown}”, which has too many digits for exact sums: at most {MAX_WHOLE_DIGITS} before the point and {MAX_DECIMALS} after it"
        ));
    }
    Decimal::from_str_exact(text)
        .map_err(|_| format!("holds “{shown}”, which is no number: write it like 12.5"))
}

/// `“a”, “b” …`
fn list_of(columns: &[String]) -> String {
    const MAX_LISTED: usize = 20;
    let listed = columns.iter().take(MAX_LISTED);
    let names: Vec<String> = listed
        .map(|column| format!("“{}”", excerpt(column)))
        .collect();
    let more = if columns.len() > MAX_LISTED {
        " …"
    } else {
        ""
    };
    format!("{}{more}", names.join(", "))
}
