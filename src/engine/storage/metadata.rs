//! What a completed checkpoint says about itself: the `_metadata` file.
//!
//! ```text
//! header   magic "LgCp" · version u32 · length of the payload u64 · CRC-32 of the payload u32     (20 bytes)
//! payload  checkpoint u64 · backend u8 · operators
//! operator uid · parallelism u32 · max parallelism u32 · subtasks
//! subtask  flags u8 (1 finished, 4 has keyed state) · lists · [keyed] · channels
//! list     name · distribution u8 · elements (bytes each)
//! channel  side u8 (0 output, 1 input) · place u32 · stream
//! keyed    0 · stream · [key group u32, offset u64]          one stream of key groups
//!          1 · [file name, stream]                           the files of a RocksDB checkpoint
//! stream   0 · bytes                                         in here
//!          1 · checkpoint u64 · name · size u64 · CRC-32 u32 in a file
//! ```
//!
//! Numbers are big-endian. A list comes after its count (u32), a text or bytes after its length (u64). Any change
//! of this layout needs a new version and a reader for the old one: [`tests`] hold a version 2 file, byte by byte.

use std::path::Path;
use std::sync::Arc;

use super::bytes::{Malformed, Reader, put_bytes, put_count, put_u32, put_u64};
use super::{KeyedStateHandle, StorageError, StreamHandle};
use crate::engine::event::ChannelSide;
use crate::model::{BackendKind, CheckpointId, Uid};

const MAGIC: [u8; 4] = *b"LgCp";
const VERSION: u32 = 2;
const HEADER_BYTES: usize = 20;

const FINISHED: u8 = 1;
const HAS_KEYED: u8 = 4;

/// All that a job needs to go on from checkpoint `checkpoint` (Flink: `CheckpointMetadata`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointMetadata {
    pub checkpoint: CheckpointId,
    pub backend: BackendKind,
    pub operators: Vec<OperatorState>,
}

/// One operator's part, found again by its uid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorState {
    pub uid: Uid,
    pub parallelism: u32,
    pub max_parallelism: u32,
    /// By index within the operator.
    pub subtasks: Vec<SubtaskState>,
}

/// One subtask's part (Flink: `OperatorSubtaskState`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubtaskState {
    /// It had finished before the checkpoint and has nothing left to do.
    pub finished: bool,
    /// Operator list state, by name.
    pub lists: Vec<ListState>,
    pub keyed: Option<KeyedStateHandle>,
    /// Records in flight, of an unaligned checkpoint.
    pub channels: Vec<ChannelState>,
}

/// One list of operator state: what a subtask holds beside keyed state (Flink: `OperatorStateHandle`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListState {
    pub name: String,
    pub distribution: Distribution,
    pub elements: Vec<Arc<[u8]>>,
}

/// Who gets which elements when the parallelism changes (Flink: `OperatorStateHandle.Mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Each element goes to one subtask.
    Split,
    /// Every subtask gets all elements.
    Union,
    /// Every subtask has the same list.
    Broadcast,
}

/// The records of one channel that are part of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelState {
    pub side: ChannelSide,
    /// The channel's place among the subtask's inputs, or among its outputs.
    pub place: u32,
    pub stream: StreamHandle,
}

impl CheckpointMetadata {
    /// Every stream that a restore would read.
    pub fn streams(&self) -> impl Iterator<Item = &StreamHandle> {
        let subtasks = self
            .operators
            .iter()
            .flat_map(|operator| &operator.subtasks);
        subtasks.flat_map(|subtask| {
            let keyed = subtask.keyed.iter().flat_map(KeyedStateHandle::streams);
            keyed.chain(subtask.channels.iter().map(|channel| &channel.stream))
        })
    }

    /// The whole file, header and all.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        put_u64(&mut payload, self.checkpoint.0);
        payload.push(match self.backend {
            BackendKind::Heap => 0,
            BackendKind::RocksDb => 1,
        });
        put_count(&mut payload, self.operators.len());
        for operator in &self.operators {
            put_operator(&mut payload, operator);
        }

        let mut file = Vec::with_capacity(HEADER_BYTES + payload.len());
        file.extend_from_slice(&MAGIC);
        put_u32(&mut file, VERSION);
        put_u64(&mut file, payload.len() as u64);
        put_u32(&mut file, crc32fast::hash(&payload));
        file.extend_from_slice(&payload);
        file
    }

    /// Read `bytes`, which are the whole of `file` and should be the metadata of `checkpoint`.
    pub(super) fn decode(
        file: &Path,
        bytes: &[u8],
        checkpoint: CheckpointId,
    ) -> Result<Self, StorageError> {
        let payload = checked_payload(file, bytes)?;
        let foreign = |reason: String| StorageError::Foreign {
            file: file.to_owned(),
            reason,
        };
        let metadata = read_payload(payload).map_err(|Malformed(what)| foreign(what.to_owned()))?;
        if metadata.checkpoint != checkpoint {
            return Err(foreign(format!(
                "it describes checkpoint {}, not {checkpoint}",
                metadata.checkpoint
            )));
        }
        Ok(metadata)
    }
}

/// What follows the header, if the header holds true.
fn checked_payload<'a>(file: &Path, bytes: &'a [u8]) -> Result<&'a [u8], StorageError> {
    let torn = |expected_bytes: u64| StorageError::Torn {
        file: file.to_owned(),
        expected_bytes,
        found_bytes: bytes.len() as u64,
    };
    let Some((header, payload)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return Err(torn(HEADER_BYTES as u64));
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
        return Err(StorageError::Foreign {
            file: file.to_owned(),
            reason: "it does not begin as the metadata of a checkpoint does".to_owned(),
        });
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
    let found_crc32 = crc32fast::hash(payload);
    if found_crc32 != expected_crc32 {
        return Err(StorageError::Altered {
            file: file.to_owned(),
            expected_crc32,
            found_crc32,
        });
    }
    Ok(payload)
}

fn put_operator(out: &mut Vec<u8>, operator: &OperatorState) {
    let OperatorState {
        uid,
        parallelism,
        max_parallelism,
        subtasks,
    } = operator;
    put_bytes(out, uid.as_str().as_bytes());
    put_u32(out, *parallelism);
    put_u32(out, *max_parallelism);
    put_count(out, subtasks.len());
    for subtask in subtasks {
        put_subtask(out, subtask);
    }
}

fn put_subtask(out: &mut Vec<u8>, subtask: &SubtaskState) {
    let SubtaskState {
        finished,
        lists,
        keyed,
        channels,
    } = subtask;
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    out.push(flag(*finished, FINISHED) | flag(keyed.is_some(), HAS_KEYED));
    put_count(out, lists.len());
    for list in lists {
        put_list(out, list);
    }
    match keyed {
        None => {}
        Some(KeyedStateHandle::KeyGroups { stream, offsets }) => {
            out.push(0);
            put_stream(out, stream);
            put_count(out, offsets.len());
            for (group, offset) in offsets {
                put_u32(out, *group);
                put_u64(out, *offset);
            }
        }
        Some(KeyedStateHandle::RocksDb { files }) => {
            out.push(1);
            put_count(out, files.len());
            for (name, stream) in files {
                put_bytes(out, name.as_bytes());
                put_stream(out, stream);
            }
        }
    }
    put_count(out, channels.len());
    for channel in channels {
        out.push(match channel.side {
            ChannelSide::Output => 0,
            ChannelSide::Input => 1,
        });
        put_u32(out, channel.place);
        put_stream(out, &channel.stream);
    }
}

fn put_list(out: &mut Vec<u8>, list: &ListState) {
    put_bytes(out, list.name.as_bytes());
    out.push(match list.distribution {
        Distribution::Split => 0,
        Distribution::Union => 1,
        Distribution::Broadcast => 2,
    });
    put_count(out, list.elements.len());
    for element in &list.elements {
        put_bytes(out, element);
    }
}

fn put_stream(out: &mut Vec<u8>, stream: &StreamHandle) {
    match stream {
        StreamHandle::Inline(bytes) => {
            out.push(0);
            put_bytes(out, bytes);
        }
        StreamHandle::File {
            checkpoint,
            name,
            size_bytes,
            crc32,
        } => {
            out.push(1);
            put_u64(out, checkpoint.0);
            put_bytes(out, name.as_bytes());
            put_u64(out, *size_bytes);
            put_u32(out, *crc32);
        }
    }
}

fn read_payload(payload: &[u8]) -> Result<CheckpointMetadata, Malformed> {
    let mut reader = Reader::new(payload);
    let checkpoint = CheckpointId(reader.u64()?);
    let backend = match reader.u8()? {
        0 => BackendKind::Heap,
        1 => BackendKind::RocksDb,
        _ => return Err(Malformed("its backend is unknown")),
    };
    let operators = reader.list(read_operator)?;
    reader.end()?;
    Ok(CheckpointMetadata {
        checkpoint,
        backend,
        operators,
    })
}

fn read_operator(reader: &mut Reader<'_>) -> Result<OperatorState, Malformed> {
    Ok(OperatorState {
        uid: Uid::new(reader.text()?),
        parallelism: reader.u32()?,
        max_parallelism: reader.u32()?,
        subtasks: reader.list(read_subtask)?,
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
        0 => Ok(KeyedStateHandle::KeyGroups {
            stream: read_stream(reader)?,
            offsets: reader.list(|reader| Ok((reader.u32()?, reader.u64()?)))?,
        }),
        1 => Ok(KeyedStateHandle::RocksDb {
            files: reader.list(|reader| Ok((reader.text()?.to_owned(), read_stream(reader)?)))?,
        }),
        _ => Err(Malformed("a kind of keyed state is unknown")),
    }
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
        _ => Err(Malformed("a kind of stream is unknown")),
    }
}

#[cfg(test)]
mod tests;
