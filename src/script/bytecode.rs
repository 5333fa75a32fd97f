//! What compiled Lua 5.1 code tells about a script: whether it assigns globals.

/// Bytes of the header that precedes the main function.
const HEADER_LEN: usize = 12;

/// Instructions carry their operation in the low six bits.
const OPERATION_MASK: u32 = 0x3F;
const SET_GLOBAL: u32 = 7;

const CONSTANT_NIL: u8 = 0;
const CONSTANT_BOOLEAN: u8 = 1;
const CONSTANT_NUMBER: u8 = 3;
const CONSTANT_STRING: u8 = 4;

/// Whether a function in the dump, however deep, assigns a global. True also for what
/// can't be read, so that the caller takes the safe way.
pub fn assigns_globals(dump: &[u8]) -> bool {
    let Some(body) = dump.get(HEADER_LEN..) else {
        return true;
    };
    // Functions lie one in another; only their number matters, not whose they are.
    let mut reader = Reader { rest: body };
    scan_function(&mut reader).unwrap_or(true)
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn int(&mut self) -> Option<usize> {
        let bytes = self.take(size_of::<i32>())?;
        usize::try_from(i32::from_ne_bytes(bytes.try_into().ok()?)).ok()
    }

    fn skip_string(&mut self) -> Option<()> {
        let bytes = self.take(size_of::<usize>())?;
        let len = usize::from_ne_bytes(bytes.try_into().ok()?);
        self.take(len).map(drop)
    }
}

/// Reads one function with those inside it. The compiler bounds how deep they lie
/// (200 levels), and so the recursion.
fn scan_function(reader: &mut Reader<'_>) -> Option<bool> {
    const LINES: usize = 2;
    const COUNTS: usize = 4;
    reader.skip_string()?;
    reader.take(LINES * size_of::<i32>() + COUNTS)?;
    let code_len = reader.int()?;
    let code = reader.take(code_len.checked_mul(size_of::<u32>())?)?;
    let mut assigns = code
        .chunks_exact(size_of::<u32>())
        .filter_map(|bytes| bytes.try_into().ok().map(u32::from_ne_bytes))
        .any(|instruction| instruction & OPERATION_MASK == SET_GLOBAL);
    for _ in 0..reader.int()? {
        match reader.byte()? {
            CONSTANT_NIL => {}
            CONSTANT_BOOLEAN => drop(reader.take(1)?),
            CONSTANT_NUMBER => drop(reader.take(size_of::<f64>())?),
            CONSTANT_STRING => reader.skip_string()?,
            _ => return None,
        }
    }
    for _ in 0..reader.int()? {
        assigns |= scan_function(reader)?;
    }
    let lines_len = reader.int()?;
    reader.take(lines_len.checked_mul(size_of::<i32>())?)?;
    for _ in 0..reader.int()? {
        reader.skip_string()?;
        reader.take(LINES * size_of::<i32>())?;
    }
    for _ in 0..reader.int()? {
        reader.skip_string()?;
    }
    Some(assigns)
}
