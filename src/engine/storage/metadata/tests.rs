//! Versions 2 to 4, frozen; and every way in which a header can lie.

use std::path::Path;

use super::put::kind_number;
use super::read::read_payload;
use super::*;
use crate::engine::storage::{GroupOffsets, StorageError};
use crate::model::Partitioning;

fn sample() -> CheckpointMetadata {
    CheckpointMetadata {
        checkpoint: CheckpointId(3),
        kind: SnapshotKind::Savepoint(SavepointFormat::Native),
        backend: BackendKind::Heap,
        edges: vec![EdgePlan {
            from: OperatorId([1; 16]),
            to: OperatorId([2; 16]),
            partitioning: Partitioning::Rebalance,
        }],
        processing_time_ms: None,
        operators: vec![
            OperatorState {
                id: OperatorId([1; 16]),
                uid: Uid::new("src"),
                has_explicit_uid: true,
                name: "Source".to_owned(),
                parallelism: 1,
                max_parallelism: 128,
                subtasks: vec![SubtaskState {
                    finished: true,
                    lists: vec![ListState {
                        name: "x".to_owned(),
                        distribution: Distribution::Split,
                        elements: vec![[5].into()],
                    }],
                    channels: vec![ChannelState {
                        side: ChannelSide::Input,
                        place: 4,
                        stream: StreamHandle::Inline([6].into()),
                    }],
                    ..SubtaskState::default()
                }],
            },
            OperatorState {
                id: OperatorId([2; 16]),
                uid: Uid::new("Σ"),
                has_explicit_uid: false,
                name: "sum".to_owned(),
                parallelism: 3,
                max_parallelism: 6,
                subtasks: vec![
                    SubtaskState {
                        keyed: Some(KeyedStateHandle::KeyGroups {
                            stream: StreamHandle::Inline([7, 8].into()),
                            offsets: vec![(2, 9)],
                        }),
                        ..SubtaskState::default()
                    },
                    SubtaskState {
                        keyed: Some(KeyedStateHandle::Savepoint {
                            stream: StreamHandle::Inline([9].into()),
                            offsets: vec![(3, 1)],
                        }),
                        ..SubtaskState::default()
                    },
                    SubtaskState {
                        keyed: Some(KeyedStateHandle::RocksDb {
                            first_group: 4,
                            group_count: 2,
                            shared: vec![(
                                "7.sst".to_owned(),
                                SharedFile {
                                    created_by: CheckpointId(2),
                                    entry_bytes: 9,
                                    stream: StreamHandle::Shared {
                                        name: "y".to_owned(),
                                        size_bytes: 17,
                                        crc32: 0xfeed_beef,
                                    },
                                },
                            )],
                            private: vec![(
                                "CURRENT".to_owned(),
                                StreamHandle::File {
                                    checkpoint: CheckpointId(3),
                                    name: "x".to_owned(),
                                    size_bytes: 16,
                                    crc32: 0xdead_beef,
                                },
                            )],
                            timers: None,
                        }),
                        ..SubtaskState::default()
                    },
                ],
            },
        ],
    }
}

fn decode(bytes: &[u8]) -> Result<CheckpointMetadata, StorageError> {
    CheckpointMetadata::decode(Path::new("chk-3/_metadata"), bytes, Some(CheckpointId(3)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What [`sample`] is as bytes, with `rocksdb` for the files of its last subtask.
fn payload(rocksdb: &[&str]) -> String {
    let before = [
        // checkpoint, native savepoint, backend, two operators
        "0000000000000003",
        "02",
        "00",
        "00000002",
        // its id, "src", explicit, "Source", p = 1, max = 128, one subtask: finished, a list, a channel
        "01010101010101010101010101010101",
        "0000000000000003737263",
        "01",
        "0000000000000006536f75726365",
        "00000001",
        "00000080",
        "00000001",
        "01",
        "00000001",
        "000000000000000178",
        "00",
        "00000001",
        "000000000000000105",
        "00000001",
        "01",
        "00000004",
        "00",
        "000000000000000106",
        // its id, "Σ", generated, "sum", p = 3, max = 6, three subtasks
        "02020202020202020202020202020202",
        "0000000000000002cea3",
        "00",
        "000000000000000373756d",
        "00000003",
        "00000006",
        "00000003",
        // key groups, inline
        "04",
        "00000000",
        "00",
        "00",
        "00000000000000020708",
        "00000001",
        "00000002",
        "0000000000000009",
        "00000000",
        // canonical key groups, inline
        "04",
        "00000000",
        "02",
        "00",
        "000000000000000109",
        "00000001",
        "00000003",
        "0000000000000001",
        "00000000",
        // RocksDB's
        "04",
        "00000000",
    ];
    let after = [
        "00000000",
        // an edge, rebalance
        "00000001",
        "01010101010101010101010101010101",
        "02020202020202020202020202020202",
        "02",
    ];
    [before.concat(), rocksdb.concat(), after.concat()].concat()
}

/// Two key groups from 4, a shared file, a file of its own.
const ROCKSDB: [&str; 16] = [
    "03",
    "00000004",
    "00000002",
    "00000001",
    "0000000000000005372e737374",
    "0000000000000002",
    "0000000000000009",
    "02",
    "000000000000000179",
    "0000000000000011feedbeef",
    "00000001",
    "000000000000000743555252454e54",
    "01",
    "0000000000000003",
    "000000000000000178",
    "0000000000000010deadbeef",
];

/// Catches any change of layout that is not a new version.
#[test]
fn version_3_is_frozen() {
    let payload = payload(&ROCKSDB);
    let file = sample().encode();
    assert_eq!(hex(&file[HEADER_BYTES..]), payload);
    assert_eq!(hex(&file[..8]), "4c67437000000003");
    assert_eq!(hex(&file[8..16]), format!("{:016x}", payload.len() / 2));
    assert_eq!(decode(&file).unwrap(), sample());
}

/// Catches timers or a time that are left out, or a version that does not tell of them.
#[test]
fn version_4_is_frozen() {
    let mut with_timers = CheckpointMetadata {
        processing_time_ms: Some(60_000),
        ..sample()
    };
    let keyed = &mut with_timers.operators[1].subtasks[2].keyed;
    if let Some(KeyedStateHandle::RocksDb { timers, .. }) = keyed {
        *timers = Some(GroupOffsets {
            stream: StreamHandle::Inline([8, 7].into()),
            offsets: vec![(4, 0), (5, 1)],
        });
    }
    let timers = [
        "00",
        "00000000000000020807",
        "00000002",
        "00000004",
        "0000000000000000",
        "00000005",
        "0000000000000001",
    ];
    let rocksdb = ["04"].into_iter().chain(ROCKSDB[1..].iter().copied());
    let rocksdb: Vec<&str> = rocksdb.chain(timers).collect();
    let file = with_timers.encode();
    let expected = payload(&rocksdb) + "01000000000000ea60";
    assert_eq!(hex(&file[HEADER_BYTES..]), expected);
    assert_eq!(hex(&file[..8]), "4c67437000000004");
    assert_eq!(decode(&file).unwrap(), with_timers);
    with_timers.processing_time_ms = None;
    let file = with_timers.encode();
    assert_eq!(hex(&file[HEADER_BYTES..]), payload(&rocksdb) + "00");
    assert_eq!(hex(&file[..8]), "4c67437000000004");
    assert_eq!(decode(&file).unwrap(), with_timers);
}

/// Catches a reader that no longer knows what was written before files were shared.
#[test]
fn version_2_is_still_read() {
    let rocksdb = ["01", ROCKSDB[1], ROCKSDB[2]].into_iter();
    let rocksdb: Vec<&str> = rocksdb.chain(ROCKSDB[10..].iter().copied()).collect();
    let payload = bytes_of(&payload(&rocksdb));
    let file = file_of(2, &payload);
    let mut expected = sample();
    let keyed = &mut expected.operators[1].subtasks[2].keyed;
    if let Some(KeyedStateHandle::RocksDb { shared, .. }) = keyed {
        shared.clear();
    }
    assert_eq!(decode(&file).unwrap(), expected);
    let error = decode(&file_of(1, &payload)).unwrap_err();
    assert!(error.to_string().contains("an early Lockgate"), "{error}");
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let pairs = (0..hex.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

/// A file of that version with this payload.
fn file_of(version: u32, payload: &[u8]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    file.extend(version.to_be_bytes());
    file.extend((payload.len() as u64).to_be_bytes());
    file.extend(checksum(version, payload).to_be_bytes());
    file.extend(payload);
    file
}

/// Catches a kind that is read as another one.
#[test]
fn every_kind_of_snapshot_is_kept() {
    let mut numbers = std::collections::BTreeSet::new();
    let kinds = SavepointFormat::ALL.into_iter().flat_map(|format| {
        let stop = |drain| SnapshotKind::StopWithSavepoint { format, drain };
        [SnapshotKind::Savepoint(format), stop(false), stop(true)]
    });
    for kind in kinds.chain([SnapshotKind::Checkpoint]) {
        let metadata = CheckpointMetadata { kind, ..sample() };
        assert_eq!(decode(&metadata.encode()).unwrap(), metadata);
        assert!(numbers.insert(kind_number(kind)));
    }
    assert_eq!(numbers.len(), KINDS.len());
}

#[test]
fn a_newer_version_says_so() {
    let mut file = sample().encode();
    file[7] = 5;
    let error = decode(&file).unwrap_err();
    assert!(matches!(
        error,
        StorageError::NewerVersion {
            version: 5,
            known: 4,
            ..
        }
    ));
    assert!(error.to_string().contains("newer Lockgate"), "{error}");
}

#[test]
fn another_file_is_foreign() {
    let error = decode(b"{ \"some\": \"json file, longer than a header\" }").unwrap_err();
    assert!(matches!(error, StorageError::Foreign { .. }), "{error}");
}

#[test]
fn another_checkpoints_metadata_is_foreign() {
    let file = sample().encode();
    let path = Path::new("chk-4/_metadata");
    let error = CheckpointMetadata::decode(path, &file, Some(CheckpointId(4))).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("describes checkpoint 3, not 4. Take another checkpoint"),
        "{error}"
    );
}

/// Catches a header check that is left out: the checksum covers the payload only.
#[test]
fn every_flipped_bit_and_every_cut_is_refused() {
    let file = sample().encode();
    for position in 0..file.len() {
        for bit in 0..8 {
            let mut flipped = file.clone();
            flipped[position] ^= 1 << bit;
            assert!(decode(&flipped).is_err(), "byte {position}, bit {bit}");
        }
        let error = decode(&file[..position]).unwrap_err();
        assert!(
            matches!(error, StorageError::Torn { .. } | StorageError::Cut { .. }),
            "{position}: {error}"
        );
    }
    let longer = [file.as_slice(), b"x"].concat();
    assert!(matches!(decode(&longer), Err(StorageError::Torn { .. })));
}

proptest::proptest! {
    /// A payload with a right checksum but any content neither panics nor eats memory.
    #[test]
    fn any_payload_is_read_or_refused(version in 2_u32..=4, payload in proptest::collection::vec(0_u8..10, 0..200)) {
        let _ = read_payload(version, &payload);
    }
}
