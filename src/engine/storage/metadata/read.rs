//! Bytes → metadata, of which nothing is believed.

use std::path::Path;

use super::{
    ChannelState, CheckpointMetadata, Distribution, FINISHED, HAS_KEYED, HEADER_BYTES, KINDS,
    ListState, MAGIC, OLDEST_VERSION, OperatorState, SubtaskState, VERSION, VERSION_WITHOUT_TIME,
    checksum,
};
use crate::engine::event::ChannelSide;
use crate::engine::plan::EdgePlan;
use crate::engine::storage::bytes::{Malformed, Reader};
use crate::engine::storage::{
    GroupOffsets, KeyedStateHandle, SharedFile, StorageError, StreamHandle,
};
use crate::model::{BackendKind, CheckpointId, OperatorId, Partitioning, Uid};

/// `MetadataV2Serializer.HEADER_MAGIC_NUMBER`
const FLINK_MAGIC: [u8; 4] = 0x4960_672d_u32.to_be_bytes();

impl CheckpointMetadata {
    /// Read `bytes`, which are the whole of `file` and should be the metadata of `checkpoint`; none: of any.
    pub(in crate::engine::storage) fn decode(
        file: &Path,
        bytes: &[u8],
        checkpoint: Option<CheckpointId>,
    ) -> Result<Self, StorageError> {
        let (version, payload) = checked_payload(file, bytes)?;
        let foreign = |reason: String| StorageError::Foreign {
            file: file.to_owned(),
            reason,
        };
        let metadata =
            read_payload(version, payload).map_err(|Malformed(what)| foreign(what.to_owned()))?;
        match checkpoint {
            Some(checkpoint) if metadata.checkpoint != checkpoint => Err(foreign(format!(
                "it describes checkpoint {}, not {checkpoint}",
                metadata.checkpoint
            ))),
            _ => Ok(metadata),
        }
    }
}

/// The version, and what follows the header, if the header holds true.
fn checked_payload<'a>(file: &Path, bytes: &'a [u8]) -> Result<(u32, &'a [u8]), StorageError> {
    let torn = |expected_bytes: u64| StorageError::Torn {
        file: file.to_owned(),
        expected_bytes,
        found_bytes: bytes.len() as u64,
    };
    let foreign = |reason: &str| StorageError::Foreign {
        file: file.to_owned(),
        reason: reason.to_owned(),
    };
    if bytes.starts_with(&FLINK_MAGIC) {
        return Err(foreign(
            "it is a checkpoint or savepoint of Apache Flink itself, which Lockgate does not read",
        ));
    }
    if !MAGIC.starts_with(&bytes[..bytes.len().min(MAGIC.len())]) {
        return Err(foreign(
            "it does not begin as the metadata of a checkpoint does",
        ));
    }
    let Some((header, payload)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return Err(StorageError::Cut {
            file: file.to_owned(),
            found_bytes: bytes.len() as u64,
        });
    };
    let mut header = Reader::new(header);
    let mut fields = || {
        Ok::<_, Malformed>((
            header.take(MAGIC.len())?,
            header.u32()?,
            header.u64()?,
            header.u32()?,
        ))
    };
    let (magic, version, length, expected_crc32) =
        fields().map_err(|_| torn(HEADER_BYTES as u64))?;

    if magic != MAGIC || version == 0 {
        return Err(foreign(
            "it does not begin as the metadata of a checkpoint does",
        ));
    }
    if version < OLDEST_VERSION {
        return Err(foreign(
            "an early Lockgate wrote it, whose checkpoints are no longer read",
        ));
    }
    if version > VERSION {
        return Err(StorageError::NewerVersion {
            file: file.to_owned(),
            version,
            known: VERSION,
        });
    }
    if payload.len() as u64 != length {
        return Err(torn(length.saturating_add(HEADER_BYTES as u64)));
    }
    let found_crc32 = checksum(version, payload);
    if found_crc32 != expected_crc32 {
        return Err(StorageError::Altered {
            file: file.to_owned(),
            expected_crc32,
            found_crc32,
        });
    }
    Ok((version, payload))
}

pub(super) fn read_payload(version: u32, payload: &[u8]) -> Result<CheckpointMetadata, Malformed> {
    let mut reader = Reader::new(payload);
    let checkpoint = CheckpointId(reader.u64()?);
    let kind = KINDS
        .get(usize::from(reader.u8()?))
        .ok_or(Malformed("it is of no known kind"))?;
    let backend = match reader.u8()? {
        0 => BackendKind::Heap,
        1 => BackendKind::RocksDb,
        _ => return Err(Malformed("its backend is unknown")),
    };
    let operators = reader.list(read_operator)?;
    let edges = reader.list(read_edge)?;
    let has_time = version > VERSION_WITHOUT_TIME
        && match reader.u8()? {
            0 => false,
            1 => true,
            _ => return Err(Malformed("its time is neither known nor unknown")),
        };
    let processing_time_ms = has_time.then(|| reader.u64()).transpose()?;
    reader.end()?;
    Ok(CheckpointMetadata {
        checkpoint,
        kind: *kind,
        backend,
        operators,
        edges,
        processing_time_ms,
    })
}

fn read_operator(reader: &mut Reader<'_>) -> Result<OperatorState, Malformed> {
    Ok(OperatorState {
        id: read_operator_id(reader)?,
        uid: Uid::new(reader.text()?),
        has_explicit_uid: match reader.u8()? {
            0 => false,
            1 => true,
            _ => {
                return Err(Malformed(
                    "an operator's uid is neither given nor generated",
                ));
            }
        },
        name: reader.text()?.to_owned(),
        parallelism: reader.u32()?,
        max_parallelism: reader.u32()?,
        subtasks: reader.list(read_subtask)?,
    })
}

fn read_operator_id(reader: &mut Reader<'_>) -> Result<OperatorId, Malformed> {
    let mut id = [0; 16];
    id.copy_from_slice(reader.take(16)?);
    Ok(OperatorId(id))
}

fn read_edge(reader: &mut Reader<'_>) -> Result<EdgePlan, Malformed> {
    Ok(EdgePlan {
        from: read_operator_id(reader)?,
        to: read_operator_id(reader)?,
        partitioning: match reader.u8()? {
            0 => Partitioning::Hash,
            1 => Partitioning::Forward,
            2 => Partitioning::Rebalance,
            3 => Partitioning::Broadcast,
            _ => return Err(Malformed("a partitioning is unknown")),
        },
    })
}

fn read_subtask(reader: &mut Reader<'_>) -> Result<SubtaskState, Malformed> {
    let flags = reader.u8()?;
    if flags & !(FINISHED | HAS_KEYED) != 0 {
        return Err(Malformed("a subtask's flags are unknown"));
    }
    let has = |flag: u8| flags & flag != 0;
    Ok(SubtaskState {
        finished: has(FINISHED),
        lists: reader.list(read_list)?,
        keyed: has(HAS_KEYED).then(|| read_keyed(reader)).transpose()?,
        channels: reader.list(read_channel)?,
    })
}

fn read_list(reader: &mut Reader<'_>) -> Result<ListState, Malformed> {
    Ok(ListState {
        name: reader.text()?.to_owned(),
        distribution: match reader.u8()? {
            0 => Distribution::Split,
            1 => Distribution::Union,
            2 => Distribution::Broadcast,
            _ => return Err(Malformed("a list's distribution is unknown")),
        },
        elements: reader.list(|reader| Ok(reader.bytes()?.into()))?,
    })
}

fn read_channel(reader: &mut Reader<'_>) -> Result<ChannelState, Malformed> {
    Ok(ChannelState {
        side: match reader.u8()? {
            0 => ChannelSide::Output,
            1 => ChannelSide::Input,
            _ => return Err(Malformed("a channel's side is unknown")),
        },
        place: reader.u32()?,
        stream: read_stream(reader)?,
    })
}

fn read_keyed(reader: &mut Reader<'_>) -> Result<KeyedStateHandle, Malformed> {
    match reader.u8()? {
        0 => {
            let (stream, offsets) = read_offsets(reader)?;
            Ok(KeyedStateHandle::KeyGroups { stream, offsets })
        }
        1 => Ok(KeyedStateHandle::RocksDb {
            first_group: reader.u32()?,
            group_count: reader.u32()?,
            shared: Vec::new(),
            private: reader.list(read_file)?,
            timers: None,
        }),
        2 => {
            let (stream, offsets) = read_offsets(reader)?;
            Ok(KeyedStateHandle::Savepoint { stream, offsets })
        }
        kind @ (3 | 4) => Ok(KeyedStateHandle::RocksDb {
            first_group: reader.u32()?,
            group_count: reader.u32()?,
            shared: reader.list(read_shared)?,
            private: reader.list(read_file)?,
            timers: (kind == 4)
                .then(|| {
                    let (stream, offsets) = read_offsets(reader)?;
                    Ok(GroupOffsets { stream, offsets })
                })
                .transpose()?,
        }),
        _ => Err(Malformed("a kind of keyed state is unknown")),
    }
}

fn read_file(reader: &mut Reader<'_>) -> Result<(String, StreamHandle), Malformed> {
    Ok((reader.text()?.to_owned(), read_stream(reader)?))
}

fn read_shared(reader: &mut Reader<'_>) -> Result<(String, SharedFile), Malformed> {
    let name = reader.text()?.to_owned();
    let file = SharedFile {
        created_by: CheckpointId(reader.u64()?),
        entry_bytes: reader.u64()?,
        stream: read_stream(reader)?,
    };
    Ok((name, file))
}

type Offsets = Vec<(u32, u64)>;

fn read_offsets(reader: &mut Reader<'_>) -> Result<(StreamHandle, Offsets), Malformed> {
    let stream = read_stream(reader)?;
    let offsets = reader.list(|reader| Ok((reader.u32()?, reader.u64()?)))?;
    Ok((stream, offsets))
}

fn read_stream(reader: &mut Reader<'_>) -> Result<StreamHandle, Malformed> {
    match reader.u8()? {
        0 => Ok(StreamHandle::Inline(reader.bytes()?.into())),
        1 => Ok(StreamHandle::File {
            checkpoint: CheckpointId(reader.u64()?),
            name: reader.text()?.to_owned(),
            size_bytes: reader.u64()?,
            crc32: reader.u32()?,
        }),
        2 => Ok(StreamHandle::Shared {
            name: reader.text()?.to_owned(),
            size_bytes: reader.u64()?,
            crc32: reader.u32()?,
        }),
        _ => Err(Malformed("a kind of stream is unknown")),
    }
}
