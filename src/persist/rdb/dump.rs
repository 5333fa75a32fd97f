//! The payload of DUMP and RESTORE: layout, value, version, checksum.

use super::encode::{Encoder, kind_of};
use super::error::RdbError;
use super::input::Input;
use super::{Limits, VALKEY_VERSION, VERSION, VERSION_MAX, decode_value, opcode};
use crate::store::value::{Value, ValueRef};
use crc_fast::CrcAlgorithm;

/// Two bytes of version and eight of checksum end a payload.
const FOOTER_LEN: usize = 10;

/// The payload of a value.
pub fn encode(value: ValueRef<'_>, compress: bool) -> Vec<u8> {
    let mut encoder = Encoder::new(compress);
    encoder.byte(kind_of(value.kind()));
    encoder.value(value);
    close(&mut encoder);
    encoder.take()
}

/// Version and checksum.
fn close(encoder: &mut Encoder) {
    encoder.raw(&(VERSION as u16).to_le_bytes());
    let checksum = crc_fast::checksum(CrcAlgorithm::Crc64Redis, encoder.bytes());
    encoder.raw(&checksum.to_le_bytes());
}

/// The payload of FUNCTION DUMP: the source of each library.
pub fn encode_functions<'s>(sources: impl Iterator<Item = &'s [u8]>, compress: bool) -> Vec<u8> {
    let mut encoder = Encoder::new(compress);
    for source in sources {
        encoder.byte(opcode::FUNCTION2);
        encoder.string(source);
    }
    close(&mut encoder);
    encoder.take()
}

/// The sources in a payload that [`is_whole`]; None when it holds anything else.
pub fn decode_functions(payload: &[u8]) -> Option<Vec<Vec<u8>>> {
    let body = &payload[..payload.len().checked_sub(FOOTER_LEN)?];
    let mut input = Input::new(body);
    let mut sources = Vec::new();
    while input.offset() < body.len() as u64 {
        if input.byte().ok()? != opcode::FUNCTION2 {
            return None;
        }
        sources.push(input.string().ok()?.to_vec());
    }
    Some(sources)
}

/// Whether the payload is of a version that we read.
pub fn is_readable(payload: &[u8]) -> bool {
    let Some(version_at) = payload.len().checked_sub(FOOTER_LEN) else {
        return false;
    };
    let version = u32::from(payload[version_at]) | u32::from(payload[version_at + 1]) << 8;
    version <= VERSION_MAX || version == VALKEY_VERSION
}

/// Whether the payload is of a version that we read, and its checksum is right.
pub fn is_whole(payload: &[u8]) -> bool {
    let summed_len = payload.len().saturating_sub(FOOTER_LEN - 2);
    let (summed, checksum) = payload.split_at(summed_len);
    is_readable(payload)
        && checksum == crc_fast::checksum(CrcAlgorithm::Crc64Redis, summed).to_le_bytes()
}

/// The value of a payload that [`is_whole`].
pub fn decode(payload: &[u8], limits: &Limits) -> Result<Value, RdbError> {
    let body_len = payload.len().checked_sub(FOOTER_LEN);
    let Some((&kind, body)) = body_len.and_then(|len| payload[..len].split_first()) else {
        return Err(RdbError::Short);
    };
    let mut input = Input::new(body);
    let value = decode_value(kind, &mut input, limits)?;
    if input.offset() != body.len() as u64 {
        return Err(RdbError::Corrupt("bytes behind the value"));
    }
    Ok(value)
}
