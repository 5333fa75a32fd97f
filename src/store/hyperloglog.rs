//! HyperLogLog inside of a string, in the representation of Redis 7.2.
//!
//! 16 bytes of header (`HYLL`, the encoding, three zeros, the cached cardinality in little
//! endian whose highest bit says that it is out of date), then 16384 registers of 6 bits:
//! dense, packed from the low bits of each byte upward, or sparse, as runs:
//!
//! | bytes | run |
//! |---|---|
//! | `00nnnnnn` | n+1 registers of zero |
//! | `01nnnnnn nnnnnnnn` | n+1 registers of zero |
//! | `1vvvvvnn` | n+1 registers of v+1 |
//!
//! Strings come from clients, so every run is checked against the number of registers; what is
//! not a valid representation is [`Corrupt`] and stays as it is.

use crate::store::block::Block;
use std::fmt::Write;

const HEADER_LEN: usize = 16;
const INDEX_BITS: u32 = 14;
pub const REGISTERS: usize = 1 << INDEX_BITS;
/// Bits of a hash that are counted for leading zeros.
const COUNTED_BITS: u32 = 64 - INDEX_BITS;
const DENSE_LEN: usize = HEADER_LEN + REGISTERS * 6 / 8;
const DENSE: u8 = 0;
const SPARSE: u8 = 1;
/// The byte of the header that holds the mark for an outdated cardinality.
const CACHE_MARK: usize = 15;
const HASH_SEED: u64 = 0xadc8_3b19;

/// Greatest value and longest runs of the sparse representation.
const SPARSE_VALUE_MAX: u8 = 32;
const VALUE_RUN_MAX: usize = 4;
const ZERO_RUN_MAX: usize = 64;

/// Runs that are looked at for merging after a change, from the one before it.
const MERGE_SCAN_RUNS: usize = 5;

/// The bytes do not hold a valid representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt;

/// An empty one: sparse, with a single run.
pub fn empty() -> [u8; HEADER_LEN + 2] {
    let mut bytes = [0; HEADER_LEN + 2];
    bytes[..4].copy_from_slice(b"HYLL");
    bytes[4] = SPARSE;
    bytes[HEADER_LEN..].copy_from_slice(&[0x7f, 0xff]);
    bytes
}

/// Whether the header is one; the runs of a sparse one may still be corrupt.
pub fn is_valid(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER_LEN
        && bytes.starts_with(b"HYLL")
        && match bytes[4] {
            DENSE => bytes.len() == DENSE_LEN,
            SPARSE => true,
            _ => false,
        }
}

/// Whether registers are stored one by one. Here and below, `bytes` are valid by [`is_valid`].
pub fn is_dense(bytes: &[u8]) -> bool {
    bytes[4] == DENSE
}

/// The cardinality that was counted before, unless registers changed since.
pub fn cached_count(bytes: &[u8]) -> Option<u64> {
    let cached = u64::from_le_bytes(bytes[8..HEADER_LEN].try_into().expect("eight bytes"));
    (cached >> 63 == 0).then_some(cached)
}

/// Keeps the cardinality for later.
pub fn cache_count(bytes: &mut [u8], count: u64) {
    bytes[8..HEADER_LEN].copy_from_slice(&count.to_le_bytes());
}

/// Marks the cached cardinality as out of date.
pub fn forget_count(bytes: &mut [u8]) {
    bytes[CACHE_MARK] |= 0x80;
}

/// MurmurHash64A, with words in little endian on every machine.
fn hash(element: &[u8]) -> u64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    let mut hash = HASH_SEED ^ (element.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, rest) = element.as_chunks::<8>();
    for word in words {
        let mut key = u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        key ^= key >> SHIFT;
        hash = (hash ^ key.wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(MULTIPLIER);
    }
    hash = (hash ^ hash >> SHIFT).wrapping_mul(MULTIPLIER);
    hash ^ hash >> SHIFT
}

/// The register of an element and the value that it asks for.
fn place(element: &[u8]) -> (usize, u8) {
    let hash = hash(element);
    let index = hash as usize & (REGISTERS - 1);
    let counted = hash >> INDEX_BITS | 1 << COUNTED_BITS;
    (index, counted.trailing_zeros() as u8 + 1)
}

/// Adds an element; whether a register changed. Gets dense when sparse would be longer than
/// `sparse_max` bytes.
pub fn add(block: &mut Block, element: &[u8], sparse_max: usize) -> Result<bool, Corrupt> {
    let (index, value) = place(element);
    raise(block, index, value, sparse_max)
}

/// Raises one register to `value` if it is lower; whether it was.
pub fn raise(
    block: &mut Block,
    index: usize,
    value: u8,
    sparse_max: usize,
) -> Result<bool, Corrupt> {
    if !is_dense(block.as_slice()) {
        match raise_sparse(block, index, value, sparse_max)? {
            Raised::Yes => {
                forget_count(block.as_mut_slice());
                return Ok(true);
            }
            Raised::No => return Ok(false),
            Raised::NeedsDense => make_dense(block)?,
        }
    }
    let registers = &mut block.as_mut_slice()[HEADER_LEN..];
    let raised = dense_get(registers, index) < value;
    if raised {
        dense_set(registers, index, value);
    }
    Ok(raised)
}

fn dense_get(registers: &[u8], index: usize) -> u8 {
    let (byte, shift) = (index * 6 / 8, index * 6 % 8);
    let high = registers.get(byte + 1).copied().unwrap_or(0);
    (u16::from_le_bytes([registers[byte], high]) >> shift) as u8 & 0x3f
}

fn dense_set(registers: &mut [u8], index: usize, value: u8) {
    let (byte, shift) = (index * 6 / 8, index * 6 % 8);
    let mask = 0x3fu16 << shift;
    let bits = u16::from(value) << shift;
    registers[byte] = registers[byte] & !(mask as u8) | bits as u8;
    if let Some(high) = registers.get_mut(byte + 1) {
        *high = *high & !((mask >> 8) as u8) | (bits >> 8) as u8;
    }
}

/// One run of the sparse representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// 0 for a run of zeros.
    value: u8,
    len: usize,
    /// Bytes that it takes.
    size: usize,
}

impl Run {
    /// The run at `at`, which lies inside of `bytes`. A cut off last byte reads as zero.
    fn read(bytes: &[u8], at: usize) -> Self {
        let byte = bytes[at];
        let low = usize::from(byte & 0x3f);
        if byte & 0x80 != 0 {
            Self {
                value: (byte >> 2 & 0x1f) + 1,
                len: usize::from(byte & 0x03) + 1,
                size: 1,
            }
        } else if byte & 0x40 != 0 {
            let next = bytes.get(at + 1).copied().unwrap_or(0);
            Self {
                value: 0,
                len: (low << 8 | usize::from(next)) + 1,
                size: 2,
            }
        } else {
            Self {
                value: 0,
                len: low + 1,
                size: 1,
            }
        }
    }
}

/// Runs that replace another one: at most five bytes.
#[derive(Default)]
struct Sequence {
    bytes: [u8; 5],
    len: usize,
}

impl Sequence {
    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// Adds a run of `len` registers, if there are any; a run of values is short enough.
    fn run(&mut self, value: u8, len: usize) {
        match (value, len) {
            (_, 0) => {}
            (0, 1..=ZERO_RUN_MAX) => self.push(len as u8 - 1),
            (0, _) => {
                self.push(0x40 | ((len - 1) >> 8) as u8);
                self.push((len - 1) as u8);
            }
            _ => self.push(value_run(value, len)),
        }
    }
}

fn value_run(value: u8, len: usize) -> u8 {
    0x80 | (value - 1) << 2 | (len - 1) as u8
}

enum Raised {
    Yes,
    No,
    /// The value or the length does not fit.
    NeedsDense,
}

fn raise_sparse(
    block: &mut Block,
    index: usize,
    value: u8,
    sparse_max: usize,
) -> Result<Raised, Corrupt> {
    if value > SPARSE_VALUE_MAX {
        return Ok(Raised::NeedsDense);
    }
    let bytes = block.as_slice();
    let (mut at, mut first, mut before) = (HEADER_LEN, 0, HEADER_LEN);
    let run = loop {
        if at >= bytes.len() {
            return Err(Corrupt);
        }
        let run = Run::read(bytes, at);
        if index < first + run.len {
            break run;
        }
        before = at;
        at += run.size;
        first += run.len;
    };
    if at + run.size > bytes.len() {
        return Err(Corrupt);
    }
    if run.value >= value {
        return Ok(Raised::No);
    }
    let mut sequence = Sequence::default();
    sequence.run(run.value, index - first);
    sequence.run(value, 1);
    sequence.run(run.value, first + run.len - 1 - index);
    if sequence.len > run.size && bytes.len() + sequence.len - run.size > sparse_max {
        return Ok(Raised::NeedsDense);
    }
    block
        .resize_range(at, run.size, sequence.len)
        .copy_from_slice(&sequence.bytes[..sequence.len]);
    merge_runs(block, before);
    Ok(Raised::Yes)
}

/// Makes one run of neighbours with the same value, from the run at `at` on.
fn merge_runs(block: &mut Block, mut at: usize) {
    for _ in 0..MERGE_SCAN_RUNS {
        let bytes = block.as_slice();
        if at >= bytes.len() {
            return;
        }
        let run = Run::read(bytes, at);
        if run.value > 0 && at + 1 < bytes.len() {
            let next = Run::read(bytes, at + 1);
            if next.value == run.value && run.len + next.len <= VALUE_RUN_MAX {
                block.close(at, 1);
                block.as_mut_slice()[at] = value_run(run.value, run.len + next.len);
                continue;
            }
        }
        at += run.size;
    }
}

/// Shows every run of a sparse representation with its first register. The runs are exactly
/// as many registers as there are.
fn for_each_run(bytes: &[u8], mut show: impl FnMut(usize, Run)) -> Result<(), Corrupt> {
    let (mut at, mut first) = (HEADER_LEN, 0);
    while at < bytes.len() {
        let run = Run::read(bytes, at);
        if first + run.len > REGISTERS {
            return Err(Corrupt);
        }
        show(first, run);
        at += run.size;
        first += run.len;
    }
    if first == REGISTERS {
        Ok(())
    } else {
        Err(Corrupt)
    }
}

/// Stores the registers one by one from now on.
pub fn make_dense(block: &mut Block) -> Result<(), Corrupt> {
    if is_dense(block.as_slice()) {
        return Ok(());
    }
    let mut dense = vec![0; DENSE_LEN];
    dense[..HEADER_LEN].copy_from_slice(&block.as_slice()[..HEADER_LEN]);
    dense[4] = DENSE;
    let registers = &mut dense[HEADER_LEN..];
    for_each_run(block.as_slice(), |first, run| {
        if run.value > 0 {
            (first..first + run.len).for_each(|index| dense_set(registers, index, run.value));
        }
    })?;
    let len = block.len();
    block
        .resize_range(0, len, DENSE_LEN)
        .copy_from_slice(&dense);
    Ok(())
}

/// Raises each of `registers` to what `bytes` hold.
pub fn merge(registers: &mut [u8; REGISTERS], bytes: &[u8]) -> Result<(), Corrupt> {
    if is_dense(bytes) {
        let merge_one = |(index, register): (usize, &mut u8)| {
            *register = (*register).max(dense_get(&bytes[HEADER_LEN..], index));
        };
        registers.iter_mut().enumerate().for_each(merge_one);
        return Ok(());
    }
    for_each_run(bytes, |first, run| {
        for register in &mut registers[first..first + run.len] {
            *register = (*register).max(run.value);
        }
    })
}

/// How many registers have each value.
type Histogram = [u32; 64];

/// The estimated number of different elements.
pub fn count(bytes: &[u8]) -> Result<u64, Corrupt> {
    let mut histogram: Histogram = [0; 64];
    if is_dense(bytes) {
        let (groups, _) = bytes[HEADER_LEN..].as_chunks::<3>();
        for &[low, middle, high] in groups {
            let group = u32::from_le_bytes([low, middle, high, 0]);
            for shift in [0, 6, 12, 18] {
                histogram[(group >> shift & 0x3f) as usize] += 1;
            }
        }
    } else {
        for_each_run(bytes, |_, run| {
            histogram[usize::from(run.value)] += run.len as u32;
        })?;
    }
    Ok(estimate(&histogram))
}

/// The estimate for merged registers.
pub fn count_registers(registers: &[u8; REGISTERS]) -> u64 {
    let mut histogram: Histogram = [0; 64];
    for register in registers {
        histogram[usize::from(register & 0x3f)] += 1;
    }
    estimate(&histogram)
}

/// The estimator of O. Ertl, "New cardinality estimation algorithms for HyperLogLog
/// sketches" (arXiv:1702.01284), algorithm 6.
fn estimate(histogram: &Histogram) -> u64 {
    const ALPHA_INFINITY: f64 = 0.721_347_520_444_481_7;
    let m = REGISTERS as f64;
    let saturated = f64::from(histogram[COUNTED_BITS as usize + 1]);
    let mut z = m * tau((m - saturated) / m);
    for value in (1..=COUNTED_BITS as usize).rev() {
        z = (z + f64::from(histogram[value])) * 0.5;
    }
    z += m * sigma(f64::from(histogram[0]) / m);
    (ALPHA_INFINITY * m * m / z).round() as u64
}

fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if before == z {
            return z;
        }
    }
}

fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if before == z {
            return z / 3.0;
        }
    }
}

/// All registers of a dense one.
pub fn registers(bytes: &[u8]) -> impl Iterator<Item = u8> + '_ {
    (0..REGISTERS).map(|index| dense_get(&bytes[HEADER_LEN..], index))
}

/// The runs of a sparse one as text, for PFDEBUG DECODE.
pub fn describe_runs(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut at = HEADER_LEN;
    while at < bytes.len() {
        let run = Run::read(bytes, at);
        let written = match (run.value, run.size) {
            (0, 1) => write!(text, "z:{} ", run.len),
            (0, _) => write!(text, "Z:{} ", run.len),
            (value, _) => write!(text, "v:{value},{} ", run.len),
        };
        written.expect("a string takes all text");
        at += run.size;
    }
    text.truncate(text.trim_end().len());
    text
}

/// Adds `random` elements to a dense and a sparse one and compares what they say with each
/// other and with the truth; the text of the first contradiction.
pub fn self_test(seed: u64, sparse_max: usize) -> Result<(), String> {
    /// Elements that are added; the estimate is looked at for each power of ten.
    const ELEMENTS: u64 = 100_000;
    let corrupt = |_: Corrupt| "corrupt representation".to_string();
    let mut dense = Block::from(&empty()[..]);
    make_dense(&mut dense).map_err(corrupt)?;
    let mut sparse = Block::from(&empty()[..]);
    let mut next_look = 1;
    for number in 1..=ELEMENTS {
        let element = (number ^ seed).to_le_bytes();
        add(&mut dense, &element, sparse_max).map_err(corrupt)?;
        add(&mut sparse, &element, sparse_max).map_err(corrupt)?;
        if number < next_look {
            continue;
        }
        next_look *= 10;
        let told = count(dense.as_slice()).map_err(corrupt)?;
        if told != count(sparse.as_slice()).map_err(corrupt)? {
            return Err("dense/sparse disagree".to_string());
        }
        if number < sparse_max as u64 / 2 && is_dense(sparse.as_slice()) {
            return Err("sparse encoding not used".to_string());
        }
        // Six times the standard error of 1.04/sqrt(registers).
        let error_max = (6.0 * 1.04 / (REGISTERS as f64).sqrt() * number as f64).ceil() as u64;
        let error = told.abs_diff(number);
        if error > error_max {
            return Err(format!("Too big error. card:{number} abserr:{error}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_and_dense_hold_the_same_registers() {
        for seed in 0..4 {
            assert_eq!(self_test(seed << 40, 3000), Ok(()));
        }
    }

    #[test]
    fn a_sparse_one_says_what_its_registers_are_after_every_change() {
        let mut state = 3u64;
        let mut below = move |bound: usize| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as usize % bound
        };
        let mut model = vec![0u8; REGISTERS];
        let mut block = Block::from(&empty()[..]);
        for _ in 0..3000 {
            let index = if below(2) == 0 {
                below(40)
            } else {
                below(REGISTERS)
            };
            let value = 1 + below(32) as u8;
            let raised = raise(&mut block, index, value, 1 << 20);
            assert_eq!(raised, Ok(model[index] < value));
            model[index] = model[index].max(value);
        }
        assert!(!is_dense(block.as_slice()));
        let mut merged = [0; REGISTERS];
        merge(&mut merged, block.as_slice()).expect("it is valid");
        assert_eq!(merged[..], model[..]);
        make_dense(&mut block).expect("it is valid");
        assert_eq!(registers(block.as_slice()).collect::<Vec<_>>(), model);
        assert_eq!(count(block.as_slice()), Ok(count_registers(&merged)));
    }

    #[test]
    fn any_bytes_behind_a_header_are_told_apart() {
        let mut state = 9u64;
        let mut byte = move || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as u8
        };
        for len in 0..200 {
            let mut bytes = empty()[..HEADER_LEN].to_vec();
            bytes.extend((0..len).map(|_| byte()));
            assert!(is_valid(&bytes));
            let mut block = Block::from(&bytes[..]);
            let valid = count(&bytes).is_ok();
            assert_eq!(merge(&mut [0; REGISTERS], &bytes).is_ok(), valid);
            for element in 0..50u8 {
                let _ = add(&mut block, &[element], 3000);
            }
            assert!(is_valid(block.as_slice()));
            let _ = describe_runs(&bytes);
        }
        assert!(!is_valid(b"HYLL"));
        assert!(!is_valid(b"HYLL\0\0\0\0\0\0\0\0\0\0\0\0"));
        assert!(!is_valid(b"HYLL\x02\0\0\0\0\0\0\0\0\0\0\0"));
    }
}
