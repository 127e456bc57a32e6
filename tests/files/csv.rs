//! CSV files: every row is read exactly, or the file is refused at the line that is wrong.

use std::path::Path;

use lockgate::model::CsvSpec;
use lockgate::project::csv_source::{self, CsvRow};
use lockgate::project::{self};

fn spec() -> CsvSpec {
    CsvSpec {
        path: "data.csv".into(),
        key_column: "kind".into(),
        value_column: "mm".into(),
    }
}

/// What comes of reading `content`; the folder's name is cut out of errors.
fn read(content: impl AsRef<[u8]>) -> Result<Vec<CsvRow>, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data.csv"), content).unwrap();
    read_in(folder.path())
}

fn read_in(folder: &Path) -> Result<Vec<CsvRow>, String> {
    let prefix = format!("{}/", folder.display());
    csv_source::read(&spec(), folder).map_err(|error| error.to_string().replace(&prefix, ""))
}

fn shown(rows: &[CsvRow]) -> Vec<String> {
    rows.iter()
        .map(|row| format!("{} {}", row.key, row.value))
        .collect()
}

#[test]
fn rows_are_read_in_order_and_exactly() {
    let rows = read("day,mm,kind\n1,0.10,rain\n2,-3,snow\r\n3, 999999999999.123456789 ,\"rain, heavy\"\n\n4,+.5,rain").unwrap();
    assert_eq!(
        shown(&rows),
        [
            "rain 0.10",
            "snow -3",
            "rain, heavy 999999999999.123456789",
            "rain 0.5"
        ]
    );
    assert_eq!(read("mm,kind\n").unwrap(), []);
}

#[test]
fn a_column_named_twice_is_refused() {
    assert_eq!(
        read("mm,kind,mm\n1,rain,2\n").unwrap_err(),
        "The CSV file data.csv has more than one column “mm”: give each a name of its own."
    );
}

#[test]
fn a_wrong_row_is_refused_at_its_line() {
    let cases = [
        (
            "1,rain\nx,rain\n",
            "data.csv:3: column “mm” holds “x”, which is no number: write it like 12.5.",
        ),
        (
            "1e3,rain\n",
            "data.csv:2: column “mm” holds “1e3”, which is no number: write it like 12.5.",
        ),
        (
            "1_0,rain\n",
            "data.csv:2: column “mm” holds “1_0”, which is no number: write it like 12.5.",
        ),
        (
            "1-2,rain\n",
            "data.csv:2: column “mm” holds “1-2”, which is no number: write it like 12.5.",
        ),
        (
            "NaN,rain\n",
            "data.csv:2: column “mm” holds “NaN”, which is no number: write it like 12.5.",
        ),
        (
            "1,rain\n\n ,rain\n",
            "data.csv:4: column “mm” is empty: every row needs a value.",
        ),
        (
            "1,\"rain\nheavy\"\n2,\n",
            "data.csv:4: column “kind” is empty: every row needs a key.",
        ),
        (
            "1,rain\n2\n",
            "data.csv:3: this row does not have as many fields (1) as the header (2): add or remove some.",
        ),
        (
            "1000000000000,rain\n",
            "data.csv:2: column “mm” holds “1000000000000”, which has too many digits for exact sums: at most 12 before the point and 9 after it.",
        ),
        (
            "0.1234567891,rain\n",
            "data.csv:2: column “mm” holds “0.1234567891”, which has too many digits for exact sums: at most 12 before the point and 9 after it.",
        ),
    ];
    for (rows, expected) in cases {
        assert_eq!(
            read(format!("mm,kind\n{rows}")).unwrap_err(),
            expected,
            "{rows:?}"
        );
    }
}

#[test]
fn text_in_another_encoding_is_refused_at_its_line() {
    let error = read(b"mm,kind\n1,rain\n2,gr\xe9sil\n").unwrap_err();
    assert_eq!(
        error,
        "data.csv:3: this is not text (UTF-8): save the file in that encoding."
    );
}

#[test]
fn a_missing_column_is_told_with_those_that_exist() {
    assert_eq!(
        read("day,mm\n1,2\n").unwrap_err(),
        "The CSV file data.csv has no column “kind”: choose one of “day”, “mm”."
    );
    assert_eq!(
        read("").unwrap_err(),
        "The CSV file data.csv is empty: its first line must name the columns."
    );
}

#[test]
fn a_missing_file_and_a_folder_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(
        read_in(folder.path()).unwrap_err(),
        "There is no CSV file data.csv: check the path, which is relative to the folder of the job file."
    );
    std::fs::create_dir(folder.path().join("data.csv")).unwrap();
    assert_eq!(
        read_in(folder.path()).unwrap_err(),
        "data.csv is a folder or a device: name a CSV file."
    );
}

/// `check` finds the source's place in the job file.
#[test]
fn checking_a_job_reads_its_data_too() {
    let folder = tempfile::tempdir().unwrap();
    let job = folder.path().join("job.ron");
    let text = std::fs::read_to_string("samples/weather.ron").unwrap();
    std::fs::write(&job, text).unwrap();
    assert!(project::load(&job).is_ok(), "the job itself is good");
    let error = project::check(&job).unwrap_err().to_string();
    let error = error.replace(&format!("{}/", folder.path().display()), "");
    assert_eq!(
        error,
        "job.ron:12:23: There is no CSV file data/seattle-weather.csv: check the path, which is relative to the folder of the job file."
    );
}

proptest::proptest! {
    #![proptest_config(super::round_trip::with_regressions())]

    #[test]
    fn no_bytes_are_too_odd(content in proptest::collection::vec(proptest::num::u8::ANY, 0..80)) {
        let _ = read([b"mm,kind\n".as_slice(), &content].concat());
        let _ = read(content);
    }
}
