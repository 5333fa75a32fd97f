//! What compiled Lua 5.1 code tells about a script: what it may do with globals.

/// Bytes of the header that precedes the main function.
const HEADER_LEN: usize = 12;

/// Instructions carry their operation in the low six bits.
const OPERATION_MASK: u32 = 0x3F;
const SET_GLOBAL: u32 = 7;

const CONSTANT_NIL: u8 = 0;
const CONSTANT_BOOLEAN: u8 = 1;
const CONSTANT_NUMBER: u8 = 3;
const CONSTANT_STRING: u8 = 4;

/// Names through which a script reaches its keys and arguments. The table of globals has
/// no other way in; source that is compiled at run time may name anything.
const WAYS_TO_ARGUMENTS: [&[u8]; 5] = [b"KEYS", b"ARGV", b"_G", b"load", b"loadstring"];

/// What the functions in a dump, however deep, do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Uses {
    /// A global is assigned.
    pub assigns_globals: bool,
    /// KEYS or ARGV can be reached.
    pub arguments: bool,
}

impl Uses {
    /// What can't be read may do anything, so that the caller takes the safe way.
    const ALL: Self = Self {
        assigns_globals: true,
        arguments: true,
    };
}

pub fn uses(dump: &[u8]) -> Uses {
    let Some(body) = dump.get(HEADER_LEN..) else {
        return Uses::ALL;
    };
    // Functions lie one in another; only their number matters, not whose they are.
    let mut reader = Reader { rest: body };
    let mut uses = Uses {
        assigns_globals: false,
        arguments: false,
    };
    match scan_function(&mut reader, &mut uses) {
        Some(()) => uses,
        None => Uses::ALL,
    }
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

    /// Without the NUL that ends it in the dump; no string at all is like an empty one.
    fn string(&mut self) -> Option<&'a [u8]> {
        let bytes = self.take(size_of::<usize>())?;
        let len = usize::from_ne_bytes(bytes.try_into().ok()?);
        let text = self.take(len)?;
        Some(text.split_last().map_or(text, |(_, text)| text))
    }
}

/// Reads one function with those inside it. The compiler bounds how deep they lie
/// (200 levels), and so the recursion.
fn scan_function(reader: &mut Reader<'_>, uses: &mut Uses) -> Option<()> {
    const LINES: usize = 2;
    const COUNTS: usize = 4;
    reader.string()?;
    reader.take(LINES * size_of::<i32>() + COUNTS)?;
    let code_len = reader.int()?;
    let code = reader.take(code_len.checked_mul(size_of::<u32>())?)?;
    uses.assigns_globals |= code
        .chunks_exact(size_of::<u32>())
        .filter_map(|bytes| bytes.try_into().ok().map(u32::from_ne_bytes))
        .any(|instruction| instruction & OPERATION_MASK == SET_GLOBAL);
    for _ in 0..reader.int()? {
        match reader.byte()? {
            CONSTANT_NIL => {}
            CONSTANT_BOOLEAN => drop(reader.take(1)?),
            CONSTANT_NUMBER => drop(reader.take(size_of::<f64>())?),
            CONSTANT_STRING => uses.arguments |= WAYS_TO_ARGUMENTS.contains(&reader.string()?),
            _ => return None,
        }
    }
    for _ in 0..reader.int()? {
        scan_function(reader, uses)?;
    }
    let lines_len = reader.int()?;
    reader.take(lines_len.checked_mul(size_of::<i32>())?)?;
    for _ in 0..reader.int()? {
        reader.string()?;
        reader.take(LINES * size_of::<i32>())?;
    }
    for _ in 0..reader.int()? {
        reader.string()?;
    }
    Some(())
}
