//! cjson.decode: JSON text as Lua values, with the tolerance and error texts of
//! lua-cjson. Open containers lie on the Lua stack, not on the thread's.

use std::ffi::c_char;

use super::{Settings, settings};
use crate::limits::SCRIPT_NESTING_MAX;
use crate::script::vm::{Lua, Outcome, Raised};

#[derive(Clone, Copy, PartialEq)]
enum Token {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    /// Its text is in the scratch buffer.
    Text,
    Number(f64),
    Boolean(bool),
    Null,
    Colon,
    Comma,
    End,
    Invalid(&'static str),
}

impl Token {
    fn name(self) -> &'static str {
        match self {
            Token::ObjectBegin => "T_OBJ_BEGIN",
            Token::ObjectEnd => "T_OBJ_END",
            Token::ArrayBegin => "T_ARR_BEGIN",
            Token::ArrayEnd => "T_ARR_END",
            Token::Text => "T_STRING",
            Token::Number(_) => "T_NUMBER",
            Token::Boolean(_) => "T_BOOLEAN",
            Token::Null => "T_NULL",
            Token::Colon => "T_COLON",
            Token::Comma => "T_COMMA",
            Token::End => "T_END",
            Token::Invalid(text) => text,
        }
    }
}

/// The text ends with a NUL byte, as Lua's strings do, and so does what is read of it.
struct Parser<'a> {
    lua: Lua,
    /// The NUL included.
    text: &'a [u8],
    position: usize,
    /// Where the last token starts.
    token_start: usize,
    settings: Settings,
    depth: i32,
}

pub fn decode(lua: Lua) -> Outcome {
    if lua.top() != 1 {
        return Err(lua.argument_error(1, c"expected 1 argument"));
    }
    let text = lua.check_bytes(1);
    if text.len() >= 2 && (text[0] == 0 || text[1] == 0) {
        return Err(lua.error(b"JSON parser does not support UTF-16 or UTF-32"));
    }
    // SAFETY: Lua keeps a NUL byte behind every string.
    let text = unsafe { std::slice::from_raw_parts(text.as_ptr(), text.len() + 1) };
    let mut parser = Parser {
        lua,
        text,
        position: 0,
        token_start: 0,
        settings: settings(lua),
        depth: 0,
    };
    let first = parser.next_token();
    parser.value(first)?;
    match parser.next_token() {
        Token::End => Ok(1),
        other => Err(parser.unexpected("the end", other)),
    }
}

/// A container that waits on the Lua stack for its next part: a table, and for an
/// object the key above it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    Array,
    Object,
}

impl Parser<'_> {
    fn at(&self, offset: usize) -> u8 {
        self.text.get(self.position + offset).copied().unwrap_or(0)
    }

    fn unexpected(&self, expected: &str, found: Token) -> Raised {
        let (found, at) = (found.name(), self.token_start + 1);
        let text = format_args!("Expected {expected} but found {found} at character {at}");
        self.lua.error_text(text)
    }

    /// Pushes the value that starts with `token`.
    fn value(&mut self, token: Token) -> Result<(), Raised> {
        let base = self.lua.top();
        let mut token = token;
        loop {
            // One value is complete and on top after this, or a container was opened.
            let opened = match token {
                Token::Text => {
                    // SAFETY: the reference ends with the call.
                    self.lua.push_bytes(unsafe { self.lua.runtime().scratch() });
                    None
                }
                Token::Number(value) => {
                    self.lua.push_number(value);
                    None
                }
                Token::Boolean(value) => {
                    self.lua.push_bool(value);
                    None
                }
                Token::Null => {
                    self.lua.push_light(std::ptr::null_mut());
                    None
                }
                Token::ObjectBegin => Some(self.open(Container::Object)?),
                Token::ArrayBegin => Some(self.open(Container::Array)?),
                other => return Err(self.unexpected("value", other)),
            };
            if opened != Some(true) {
                // Store the value, and close what ends after it.
                loop {
                    if self.lua.top() == base + 1 {
                        return Ok(());
                    }
                    if !self.store()? {
                        break;
                    }
                }
            }
            token = self.next_token();
        }
    }

    /// Opens a container. True if a part of it follows, for an object behind the key
    /// that is now on the stack; false if it was empty and is complete.
    fn open(&mut self, container: Container) -> Result<bool, Raised> {
        self.depth += 1;
        let max = self.settings.decode_max_depth.min(SCRIPT_NESTING_MAX);
        if self.depth > max || !self.lua.reserve(8) {
            let (depth, at) = (self.depth, self.position);
            let text =
                format_args!("Found too many nested data structures ({depth}) at character {at}");
            return Err(self.lua.error_text(text));
        }
        self.lua.runtime().spend(self.lua, 10)?;
        self.lua.new_table(0, 0);
        let before = self.position;
        let token = self.next_token();
        match (container, token) {
            (Container::Object, Token::ObjectEnd) | (Container::Array, Token::ArrayEnd) => {
                self.depth -= 1;
                return Ok(false);
            }
            (Container::Object, _) => self.key(token)?,
            (Container::Array, _) => {
                // The token is read again as the first element's; its index is the key.
                self.position = before;
                self.lua.push_number(1.0);
            }
        }
        Ok(true)
    }

    /// Pushes the key that `token` is, and passes the colon.
    fn key(&mut self, token: Token) -> Result<(), Raised> {
        if token != Token::Text {
            return Err(self.unexpected("object key string", token));
        }
        // SAFETY: the reference ends with the call.
        self.lua.push_bytes(unsafe { self.lua.runtime().scratch() });
        match self.next_token() {
            Token::Colon => Ok(()),
            other => Err(self.unexpected("colon", other)),
        }
    }

    /// Stores the value on top in its container. True if the container is now complete
    /// and on top itself; else a part of it follows. An array's key is its number.
    fn store(&mut self) -> Result<bool, Raised> {
        let lua = self.lua;
        lua.runtime().spend(lua, 4)?;
        let index = (lua.kind(-2) == crate::script::vm::NUMBER).then(|| lua.to_number(-2));
        lua.raw_set(-3);
        let token = self.next_token();
        match (index, token) {
            (Some(_), Token::ArrayEnd) | (None, Token::ObjectEnd) => {
                self.depth -= 1;
                Ok(true)
            }
            (Some(index), Token::Comma) => {
                lua.push_number(index + 1.0);
                Ok(false)
            }
            (None, Token::Comma) => {
                let token = self.next_token();
                self.key(token)?;
                Ok(false)
            }
            (Some(_), other) => Err(self.unexpected("comma or array end", other)),
            (None, other) => Err(self.unexpected("comma or object end", other)),
        }
    }

    fn invalid(&mut self, text: &'static str) -> Token {
        self.token_start = self.position;
        Token::Invalid(text)
    }

    fn next_token(&mut self) -> Token {
        while matches!(self.at(0), b' ' | b'\t' | b'\n' | b'\r') {
            self.position += 1;
        }
        self.token_start = self.position;
        let single = match self.at(0) {
            0 => return Token::End,
            b'{' => Token::ObjectBegin,
            b'}' => Token::ObjectEnd,
            b'[' => Token::ArrayBegin,
            b']' => Token::ArrayEnd,
            b',' => Token::Comma,
            b':' => Token::Colon,
            _ => return self.long_token(),
        };
        self.position += 1;
        single
    }

    fn long_token(&mut self) -> Token {
        match self.at(0) {
            b'"' => return self.text_token(),
            b'-' | b'0'..=b'9' => {
                if !self.settings.decode_invalid && self.is_invalid_number() {
                    return self.invalid("invalid number");
                }
                return self.number_token();
            }
            b'+' | b'f' | b'i' | b'I' | b'n' | b'N' | b't' => {}
            _ => return self.invalid("invalid token"),
        }
        for (word, token) in [
            (&b"true"[..], Token::Boolean(true)),
            (b"false", Token::Boolean(false)),
            (b"null", Token::Null),
        ] {
            if self.text[self.position..].starts_with(word) {
                self.position += word.len();
                return token;
            }
        }
        if self.settings.decode_invalid && self.is_invalid_number() {
            return self.number_token();
        }
        self.invalid("invalid token")
    }

    /// Whether C would read a number here that JSON does not know.
    fn is_invalid_number(&self) -> bool {
        let sign = match self.at(0) {
            b'+' => return true,
            b'-' => 1,
            _ => 0,
        };
        if self.at(sign) == b'0' {
            return matches!(self.at(sign + 1), b'x' | b'X' | b'0'..=b'9');
        }
        if self.at(sign) <= b'9' {
            return false;
        }
        let word = [self.at(sign), self.at(sign + 1), self.at(sign + 2)];
        word.eq_ignore_ascii_case(b"inf") || word.eq_ignore_ascii_case(b"nan")
    }

    fn number_token(&mut self) -> Token {
        let start: *const c_char = self.text[self.position..].as_ptr().cast();
        let mut end: *mut c_char = std::ptr::null_mut();
        // SAFETY: the text ends with a NUL, where strtod stops at the latest.
        let (value, len) = unsafe {
            let value = libc::strtod(start, &mut end);
            (value, end.cast_const().offset_from(start))
        };
        if len <= 0 {
            return self.invalid("invalid number");
        }
        self.position += len.unsigned_abs();
        Token::Number(value)
    }

    fn text_token(&mut self) -> Token {
        // SAFETY: nothing of Lua is called while the reference lives.
        let out = unsafe { self.lua.runtime().scratch() };
        out.clear();
        self.position += 1;
        loop {
            let rest = &self.text[self.position..];
            let plain = rest
                .iter()
                .position(|byte| matches!(byte, b'"' | b'\\' | 0))
                .unwrap_or(rest.len());
            out.extend_from_slice(&rest[..plain]);
            self.position += plain;
            match self.at(0) {
                b'"' => {
                    self.position += 1;
                    return Token::Text;
                }
                b'\\' => {}
                _ => return self.invalid("unexpected end of string"),
            }
            let letter = match self.at(1) {
                letter @ (b'"' | b'\\' | b'/') => letter,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'f' => 12,
                b'r' => b'\r',
                b'u' => {
                    let Some((character, len)) = self.unicode_escape() else {
                        return self.invalid("invalid unicode escape code");
                    };
                    push_utf8(character, out);
                    self.position += len;
                    continue;
                }
                _ => return self.invalid("invalid escape code"),
            };
            out.push(letter);
            self.position += 2;
        }
    }

    /// The character of the escape here, of two escapes for a surrogate pair, and their
    /// length.
    fn unicode_escape(&self) -> Option<(u32, usize)> {
        let first = self.hex4(2)?;
        if first & 0xF800 != 0xD800 {
            return Some((first, 6));
        }
        if first & 0x400 != 0 || self.at(6) != b'\\' || self.at(7) != b'u' {
            return None;
        }
        let second = self.hex4(8)?;
        if second & 0xFC00 != 0xDC00 {
            return None;
        }
        Some((((first & 0x3FF) << 10 | second & 0x3FF) + 0x1_0000, 12))
    }

    fn hex4(&self, offset: usize) -> Option<u32> {
        (0..4).try_fold(0, |value, index| {
            let digit = char::from(self.at(offset + index)).to_digit(16)?;
            Some(value << 4 | digit)
        })
    }
}

fn push_utf8(character: u32, out: &mut Vec<u8>) {
    let character = char::from_u32(character).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}
