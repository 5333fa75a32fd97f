//! Lines of redis.conf to words and back, with Redis's quoting rules.
//!
//! Words are parted by blanks. In double quotes `\n \r \t \a \b \xHH` and `\` before
//! any other byte are escapes; in single quotes only `\'` is. A closing quote must
//! be followed by a blank or the end.

/// Splits a line into words; `None` when quotes are unbalanced.
pub fn split(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    // The text ends at a NUL byte, as it does for Redis, which reads C strings.
    let line = line.split(|&byte| byte == 0).next().unwrap_or_default();
    let mut words = Vec::new();
    let mut rest = line;
    loop {
        rest = skip_blanks(rest);
        if rest.is_empty() {
            return Some(words);
        }
        let (word, behind) = one_word(rest)?;
        words.push(word);
        rest = behind;
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn skip_blanks(text: &[u8]) -> &[u8] {
    let start = text
        .iter()
        .position(|&b| !is_blank(b))
        .unwrap_or(text.len());
    &text[start..]
}

fn one_word(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut word = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => break,
            b'"' => {
                let behind = double_quoted(&text[at + 1..], &mut word)?;
                return closed(behind).then_some((word, behind));
            }
            b'\'' => {
                let behind = single_quoted(&text[at + 1..], &mut word)?;
                return closed(behind).then_some((word, behind));
            }
            _ => word.push(byte),
        }
        at += 1;
    }
    Some((word, &text[at..]))
}

fn closed(behind: &[u8]) -> bool {
    behind.first().is_none_or(|&byte| is_blank(byte))
}

fn double_quoted<'a>(text: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    let mut rest = text;
    loop {
        match rest {
            [] => return None,
            [b'"', behind @ ..] => return Some(behind),
            [b'\\', b'x', high, low, behind @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                word.push(hex_digit(*high) * 16 + hex_digit(*low));
                rest = behind;
            }
            [b'\\', escaped, behind @ ..] => {
                word.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 0x08,
                    b'a' => 0x07,
                    other => *other,
                });
                rest = behind;
            }
            [byte, behind @ ..] => {
                word.push(*byte);
                rest = behind;
            }
        }
    }
}

fn single_quoted<'a>(text: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    let mut rest = text;
    loop {
        match rest {
            [] => return None,
            [b'\'', behind @ ..] => return Some(behind),
            [b'\\', b'\'', behind @ ..] => {
                word.push(b'\'');
                rest = behind;
            }
            [byte, behind @ ..] => {
                word.push(*byte);
                rest = behind;
            }
        }
    }
}

fn hex_digit(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit - b'A' + 10,
    }
}

/// Writes a word in double quotes so that [`split`] reads the same bytes back.
pub fn quote(word: &[u8]) -> String {
    let mut text = String::with_capacity(word.len() + 2);
    text.push('"');
    for &byte in word {
        match byte {
            b'\\' | b'"' => {
                text.push('\\');
                text.push(char::from(byte));
            }
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            0x07 => text.push_str("\\a"),
            0x08 => text.push_str("\\b"),
            0x20..=0x7e => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(line: &str) -> Option<Vec<String>> {
        let text = |word: Vec<u8>| String::from_utf8(word).unwrap();
        split(line.as_bytes()).map(|words| words.into_iter().map(text).collect())
    }

    #[test]
    fn blanks_part_words() {
        assert_eq!(
            words("  save\t900  1 "),
            Some(vec!["save".into(), "900".into(), "1".into()])
        );
        assert_eq!(words(" \t "), Some(vec![]));
    }

    #[test]
    fn quotes() {
        assert_eq!(
            words("a \"b c\" 'd e'"),
            Some(vec!["a".into(), "b c".into(), "d e".into()])
        );
        assert_eq!(words(r#""\x41\n\q""#), Some(vec!["A\nq".into()]));
        assert_eq!(words(r"'a\'b\n'"), Some(vec![r"a'b\n".into()]));
        assert_eq!(words("\"\" ''"), Some(vec!["".into(), "".into()]));
        assert_eq!(words("a\"b\""), Some(vec!["ab".into()]));
    }

    #[test]
    fn unbalanced_quotes_are_refused() {
        for line in ["\"a", "'a", "\"a\"b", "'a'b", "\"a\\\""] {
            assert_eq!(words(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn quoted_words_come_back(word in proptest::collection::vec(any::<u8>(), 0..30)) {
            prop_assert_eq!(split(quote(&word).as_bytes()), Some(vec![word]));
        }

        #[test]
        fn any_line_is_harmless(line in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = split(&line);
        }
    }
}
