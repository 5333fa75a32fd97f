//! A look at a request that is still to be decoded, so that the memory it will need can be asked for.
//!
//! Takes the short plain form that client libraries send and nothing else: whoever glimpses loses no more than the
//! help when there is nothing to see. Only [`super::request::RequestDecoder`] says what a request means.

/// What a request seems to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Glimpse<'a> {
    pub first: &'a [u8],
    pub last: &'a [u8],
    /// Bytes up to the next request.
    pub len: usize,
}

/// The first argument behind the name and the last one, if `bytes` start with a whole request of 2 to 9 words with
/// fewer than 1,000 bytes each.
#[inline]
pub fn glimpse(bytes: &[u8]) -> Option<Glimpse<'_>> {
    let [b'*', words @ b'2'..=b'9', b'\r', b'\n', ..] = bytes else {
        return None;
    };
    let words = words - b'0';
    let mut at = 4;
    let mut first: &[u8] = &[];
    let mut last: &[u8] = &[];
    for number in 0..words {
        if *bytes.get(at)? != b'$' {
            return None;
        }
        let mut len = 0;
        let mut digits = 0;
        loop {
            at += 1;
            match *bytes.get(at)? {
                digit @ b'0'..=b'9' if digits < 3 => {
                    len = len * 10 + usize::from(digit - b'0');
                    digits += 1;
                }
                b'\r' => break,
                _ => return None,
            }
        }
        let start = at + 2;
        last = bytes.get(start..start + len)?;
        if number == 1 {
            first = last;
        }
        at = start + len + 2;
    }
    (at <= bytes.len()).then_some(Glimpse {
        first,
        last,
        len: at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_the_first_and_the_last_argument_of_a_whole_request() {
        let bytes = b"*3\r\n$6\r\nZSCORE\r\n$1\r\nb\r\n$10\r\n0123456789\r\n*1\r\n$4\r\nPING\r\n";
        let seen = glimpse(bytes).unwrap();
        assert_eq!(seen.first, b"b");
        assert_eq!(seen.last, b"0123456789");
        assert_eq!(&bytes[seen.len..], b"*1\r\n$4\r\nPING\r\n");
        assert_eq!(glimpse(&bytes[seen.len..]), None);
    }

    #[test]
    fn sees_nothing_in_a_part_of_a_request() {
        let bytes = b"*2\r\n$3\r\nGET\r\n$5\r\na\r\nb\0\r\n";
        for end in 0..bytes.len() {
            assert_eq!(glimpse(&bytes[..end]), None, "{end}");
        }
        assert_eq!(glimpse(bytes).unwrap().last, b"a\r\nb\0");
    }

    #[test]
    fn sees_nothing_in_other_forms() {
        for bytes in [
            b"GET a\r\n".as_slice(),
            b"*0\r\n",
            b"*10\r\n$1\r\na\r\n",
            b"*2\r\n$-1\r\n$1\r\na\r\n",
            b"*2\r\n$3\r\nGET\r\n:1\r\n",
            b"*2\r\n$3\r\nGET\r\n$9999\r\n",
            b"*2\r\n$99999999999999999999999\r\n",
        ] {
            assert_eq!(glimpse(bytes), None, "{}", bytes.escape_ascii());
        }
    }
}
