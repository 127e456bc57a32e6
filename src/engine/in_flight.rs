//! Records that were under way when an unaligned checkpoint was taken, and their bytes.
//!
//! ```text
//! stream   records, one after the other, to the end
//! record   key · value · split u32 · offset u64 · event time i64
//! key      0                            none
//!          1 · i32 · label              an integer; a label's count is 0 or 1
//!          2 · text
//! value    16 bytes of a decimal
//! ```
//!
//! Numbers are big-endian, texts come after their length (u64).

use super::event::ChannelSide;
use super::storage::bytes::{Malformed, Reader, put_bytes, put_u32, put_u64};
use crate::model::{ChannelId, Decimal, EventTime, Key, Origin, Record, SplitId};

/// Records of one channel that are part of a checkpoint, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFlight {
    pub channel: ChannelId,
    pub side: ChannelSide,
    /// The channel's place among the subtask's inputs, or among its outputs.
    pub place: u32,
    pub records: Vec<Record>,
}

impl InFlight {
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.records.iter().map(size_bytes).sum()
    }
}

/// What `record` takes in a stream, and what it counts as in flight.
#[must_use]
pub fn size_bytes(record: &Record) -> u64 {
    let key = match &record.key {
        None => 0,
        Some(Key::Int { label: None, .. }) => 8,
        Some(Key::Int {
            label: Some(label), ..
        }) => 16 + label.len(),
        Some(Key::Text(text)) => 8 + text.len(),
    };
    37 + key as u64
}

/// All of `records` as one stream.
#[must_use]
pub fn encode(records: &[Record]) -> Vec<u8> {
    let mut out = Vec::new();
    for record in records {
        put_record(&mut out, record);
    }
    out
}

/// The records of a stream.
///
/// # Errors
/// Half a sentence: it is no such stream.
pub fn decode(bytes: &[u8]) -> Result<Vec<Record>, &'static str> {
    let mut reader = Reader::new(bytes);
    let mut records = Vec::new();
    while !reader.is_at_end() {
        records.push(read_record(&mut reader).map_err(|Malformed(what)| what)?);
    }
    Ok(records)
}

fn put_record(out: &mut Vec<u8>, record: &Record) {
    match &record.key {
        None => out.push(0),
        Some(Key::Int { value, label }) => {
            out.push(1);
            out.extend_from_slice(&value.to_be_bytes());
            put_u32(out, u32::from(label.is_some()));
            if let Some(label) = label {
                put_bytes(out, label.as_bytes());
            }
        }
        Some(Key::Text(text)) => {
            out.push(2);
            put_bytes(out, text.as_bytes());
        }
    }
    out.extend_from_slice(&record.value.serialize());
    put_u32(out, record.origin.split.0);
    put_u64(out, record.origin.offset);
    out.extend_from_slice(&record.event_time.0.to_be_bytes());
}

fn read_record(reader: &mut Reader<'_>) -> Result<Record, Malformed> {
    let key = match reader.u8()? {
        0 => None,
        1 => Some(Key::Int {
            value: i32::from_be_bytes(read_array(reader)?),
            label: match reader.u32()? {
                0 => None,
                1 => Some(reader.text()?.into()),
                _ => return Err(Malformed("a record has too many labels")),
            },
        }),
        2 => Some(Key::Text(reader.text()?.into())),
        _ => return Err(Malformed("a record's key is of no known kind")),
    };
    Ok(Record {
        key,
        value: Decimal::deserialize(read_array(reader)?),
        origin: Origin {
            split: SplitId(reader.u32()?),
            offset: reader.u64()?,
        },
        event_time: EventTime(i64::from_be_bytes(read_array(reader)?)),
    })
}

fn read_array<const N: usize>(reader: &mut Reader<'_>) -> Result<[u8; N], Malformed> {
    let bytes = reader.take(N)?;
    bytes.try_into().map_err(|_| Malformed("it ends too early"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> impl Strategy<Value = Option<Key>> {
        prop_oneof![
            Just(None),
            any::<i32>().prop_map(|value| Some(Key::int(value))),
            (any::<i32>(), ".{0,8}").prop_map(|(value, label)| Some(Key::Int {
                value,
                label: Some(label.as_str().into()),
            })),
            ".{0,8}".prop_map(|text| Some(Key::text(&text))),
        ]
    }

    prop_compose! {
        fn record()(
            key in key(),
            (units, scale) in (any::<i64>(), 0_u32..20),
            (split, offset, time) in (any::<u32>(), any::<u64>(), any::<i64>()),
        ) -> Record {
            Record {
                key,
                value: Decimal::new(units, scale),
                origin: Origin { split: SplitId(split), offset },
                event_time: EventTime(time),
            }
        }
    }

    proptest! {
        /// Breaks if a field is left out, or read in another order than it is written.
        #[test]
        fn records_come_back_as_they_were(records in prop::collection::vec(record(), 0..6)) {
            let bytes = encode(&records);
            let size: u64 = records.iter().map(size_bytes).sum();
            prop_assert_eq!(bytes.len() as u64, size);
            prop_assert_eq!(decode(&bytes), Ok(records));
        }

        /// Breaks if bytes from a file are believed.
        #[test]
        fn a_cut_stream_is_refused(record in record(), cut in 1_usize..30) {
            let bytes = encode(&[record]);
            prop_assert!(decode(&bytes[..bytes.len() - cut]).is_err());
        }
    }
}
