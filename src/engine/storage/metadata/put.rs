//! Metadata → bytes.

use super::{
    CheckpointMetadata, Distribution, FINISHED, HAS_KEYED, HEADER_BYTES, KINDS, ListState, MAGIC,
    OperatorState, SubtaskState, VERSION, VERSION_WITHOUT_TIME, checksum,
};
use crate::engine::event::ChannelSide;
use crate::engine::plan::EdgePlan;
use crate::engine::storage::bytes::{put_bytes, put_count, put_u32, put_u64};
use crate::engine::storage::{GroupOffsets, KeyedStateHandle, StreamHandle};
use crate::model::{BackendKind, Partitioning, SnapshotKind};

impl CheckpointMetadata {
    /// The whole file, header and all.
    pub(in crate::engine::storage) fn encode(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        put_u64(&mut payload, self.checkpoint.0);
        payload.push(kind_number(self.kind));
        payload.push(match self.backend {
            BackendKind::Heap => 0,
            BackendKind::RocksDb => 1,
        });
        put_count(&mut payload, self.operators.len());
        for operator in &self.operators {
            put_operator(&mut payload, operator);
        }
        put_count(&mut payload, self.edges.len());
        for edge in &self.edges {
            put_edge(&mut payload, edge);
        }
        let version = self.version();
        if version > VERSION_WITHOUT_TIME {
            payload.push(u8::from(self.processing_time_ms.is_some()));
            if let Some(time_ms) = self.processing_time_ms {
                put_u64(&mut payload, time_ms);
            }
        }

        let mut file = Vec::with_capacity(HEADER_BYTES + payload.len());
        file.extend_from_slice(&MAGIC);
        put_u32(&mut file, version);
        put_u64(&mut file, payload.len() as u64);
        put_u32(&mut file, checksum(version, &payload));
        file.extend_from_slice(&payload);
        file
    }

    /// The oldest that can say all of it.
    fn version(&self) -> u32 {
        let subtasks = self
            .operators
            .iter()
            .flat_map(|operator| &operator.subtasks);
        let mut keyed = subtasks.filter_map(|subtask| subtask.keyed.as_ref());
        if self.processing_time_ms.is_some() || keyed.any(|handle| handle.timers().is_some()) {
            VERSION
        } else {
            VERSION_WITHOUT_TIME
        }
    }
}

fn put_operator(out: &mut Vec<u8>, operator: &OperatorState) {
    let OperatorState {
        id,
        uid,
        has_explicit_uid,
        name,
        parallelism,
        max_parallelism,
        subtasks,
    } = operator;
    out.extend_from_slice(&id.0);
    put_bytes(out, uid.as_str().as_bytes());
    out.push(u8::from(*has_explicit_uid));
    put_bytes(out, name.as_bytes());
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
    if let Some(keyed) = keyed {
        put_keyed(out, keyed);
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

fn put_keyed(out: &mut Vec<u8>, keyed: &KeyedStateHandle) {
    match keyed {
        KeyedStateHandle::KeyGroups { stream, offsets } => {
            out.push(0);
            put_offsets(out, stream, offsets);
        }
        KeyedStateHandle::RocksDb {
            first_group,
            group_count,
            shared,
            private,
            timers,
        } => {
            out.push(if timers.is_some() { 4 } else { 3 });
            put_u32(out, *first_group);
            put_u32(out, *group_count);
            put_count(out, shared.len());
            for (name, file) in shared {
                put_bytes(out, name.as_bytes());
                put_u64(out, file.created_by.0);
                put_u64(out, file.entry_bytes);
                put_stream(out, &file.stream);
            }
            put_count(out, private.len());
            for (name, stream) in private {
                put_bytes(out, name.as_bytes());
                put_stream(out, stream);
            }
            if let Some(GroupOffsets { stream, offsets }) = timers {
                put_offsets(out, stream, offsets);
            }
        }
        KeyedStateHandle::Savepoint { stream, offsets } => {
            out.push(2);
            put_offsets(out, stream, offsets);
        }
    }
}

fn put_offsets(out: &mut Vec<u8>, stream: &StreamHandle, offsets: &[(u32, u64)]) {
    put_stream(out, stream);
    put_count(out, offsets.len());
    for (group, offset) in offsets {
        put_u32(out, *group);
        put_u64(out, *offset);
    }
}

fn put_edge(out: &mut Vec<u8>, edge: &EdgePlan) {
    let EdgePlan {
        from,
        to,
        partitioning,
    } = edge;
    out.extend_from_slice(&from.0);
    out.extend_from_slice(&to.0);
    out.push(match partitioning {
        Partitioning::Hash => 0,
        Partitioning::Forward => 1,
        Partitioning::Rebalance => 2,
        Partitioning::Broadcast => 3,
    });
}

pub(super) fn kind_number(kind: SnapshotKind) -> u8 {
    KINDS
        .iter()
        .position(|known| *known == kind)
        .and_then(|place| u8::try_from(place).ok())
        .unwrap_or(u8::MAX)
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
        StreamHandle::Shared {
            name,
            size_bytes,
            crc32,
        } => {
            out.push(2);
            put_bytes(out, name.as_bytes());
            put_u64(out, *size_bytes);
            put_u32(out, *crc32);
        }
    }
}
