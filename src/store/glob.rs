//! Patterns of KEYS, SCAN MATCH, PSUBSCRIBE and CONFIG GET.
//!
//! `*` stands for any bytes, `?` for one byte, `[abc]`, `[^a-c]` for one byte of
//! a class, `\x` for the byte x. The corner cases are Redis's, because clients can
//! see them: a class without `]` ends with the pattern, `[a-]` is a range up to
//! `]`, reversed ranges are turned round, bytes compare as signed numbers in a
//! range, and no pattern but the empty one matches the empty text.
//!
//! Every element but `*` consumes exactly one byte, so only the last `*` seen has
//! to be tried again: the cost is O(pattern * text) for any pattern.

/// Says whether `text` matches `pattern`; `nocase` ignores the case of ASCII letters.
pub fn matches(pattern: &[u8], text: &[u8], nocase: bool) -> bool {
    if text.is_empty() {
        return pattern.is_empty();
    }
    let mut at = 0;
    let mut seen = 0;
    let mut retry: Option<(usize, usize)> = None;
    while seen < text.len() {
        if pattern.get(at) == Some(&b'*') {
            at += 1;
            if at == pattern.len() {
                return true;
            }
            retry = Some((at, seen));
            continue;
        }
        if let Some(next) = element(pattern, at, text[seen], nocase) {
            at = next;
            seen += 1;
            continue;
        }
        let Some((after_star, from)) = retry else {
            return false;
        };
        retry = Some((after_star, from + 1));
        at = after_star;
        seen = from + 1;
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

/// Matches the element at `at` (not a `*`) against one byte; gives the position
/// behind the element.
fn element(pattern: &[u8], at: usize, byte: u8, nocase: bool) -> Option<usize> {
    match *pattern.get(at)? {
        b'?' => Some(at + 1),
        b'[' => {
            let (matched, next) = class(pattern, at + 1, byte, nocase);
            matched.then_some(next)
        }
        b'\\' if at + 1 < pattern.len() => same(pattern[at + 1], byte, nocase).then_some(at + 2),
        literal => same(literal, byte, nocase).then_some(at + 1),
    }
}

/// Reads the class whose `[` stands before `at`; gives the answer and the
/// position behind the class.
fn class(pattern: &[u8], mut at: usize, byte: u8, nocase: bool) -> (bool, usize) {
    let negated = pattern.get(at) == Some(&b'^');
    if negated {
        at += 1;
    }
    let mut matched = false;
    loop {
        let rest = &pattern[at.min(pattern.len())..];
        match rest {
            [] => break,
            // An escaped byte compares exactly even when case is ignored: as in Redis.
            [b'\\', escaped, ..] => {
                matched |= *escaped == byte;
                at += 2;
            }
            [b']', ..] => {
                at += 1;
                break;
            }
            [from, b'-', to, ..] => {
                matched |= in_range(*from, *to, byte, nocase);
                at += 3;
            }
            [one, ..] => {
                matched |= same(*one, byte, nocase);
                at += 1;
            }
        }
    }
    (matched != negated, at)
}

fn in_range(from: u8, to: u8, byte: u8, nocase: bool) -> bool {
    let (low, high) = if from as i8 > to as i8 {
        (to, from)
    } else {
        (from, to)
    };
    let fold = |b: u8| {
        if nocase {
            b.to_ascii_lowercase() as i8
        } else {
            b as i8
        }
    };
    (fold(low)..=fold(high)).contains(&fold(byte))
}

fn same(left: u8, right: u8, nocase: bool) -> bool {
    left == right || (nocase && left.eq_ignore_ascii_case(&right))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    fn yes(pattern: &str, text: &str) {
        assert!(
            matches(pattern.as_bytes(), text.as_bytes(), false),
            "{pattern:?} {text:?}"
        );
    }

    fn no(pattern: &str, text: &str) {
        assert!(
            !matches(pattern.as_bytes(), text.as_bytes(), false),
            "{pattern:?} {text:?}"
        );
    }

    #[test]
    fn stars_and_question_marks() {
        yes("", "");
        no("", "a");
        no("*", "");
        yes("*", "a");
        yes("a*", "a");
        yes("a***", "a");
        yes("board:*:2026", "board:eu:2026");
        no("board:*:2026", "board:eu:2026:x");
        yes("*a*b*c", "xxaxxbxxbc");
        no("*a*b*c", "xxaxxbxxb");
        yes("h?llo", "hello");
        no("h?llo", "hllo");
        no("?", "");
        yes("*?", "a");
    }

    #[test]
    fn classes() {
        yes("h[ae]llo", "hallo");
        no("h[ae]llo", "hillo");
        yes("h[^e]llo", "hallo");
        no("h[^e]llo", "hello");
        yes("h[a-c]llo", "hbllo");
        yes("h[c-a]llo", "hbllo");
        no("h[a-c]llo", "hdllo");
        yes("[a\\]]", "]");
        yes("[\\a-c]", "-");
    }

    #[test]
    fn unfinished_classes_end_with_the_pattern() {
        yes("h[ae", "ha");
        no("h[", "ha");
        yes("h[^", "ha");
        yes("[a-]", "_");
        yes("[a-", "-");
        yes("[\\", "\\");
    }

    #[test]
    fn escapes() {
        yes("h\\?llo", "h?llo");
        no("h\\?llo", "hello");
        yes("a\\", "a\\");
        yes("\\*", "*");
        no("\\*", "a");
    }

    #[test]
    fn case_is_ignored_on_request() {
        assert!(matches(b"MAX*", b"maxmemory", true));
        assert!(matches(b"[A-C]x", b"bX", true));
        assert!(!matches(b"[\\A]", b"a", true));
        assert!(!matches(b"MAX*", b"maxmemory", false));
    }

    #[test]
    fn ranges_compare_signed_bytes() {
        assert!(matches(b"[\x80-\xff]", b"\x90", false));
        assert!(matches(b"[a-\xff]", b"A", false));
        assert!(!matches(b"[a-\xff]", b"b", false));
    }

    #[test]
    fn many_stars_do_not_blow_up() {
        let pattern = "a*".repeat(1000) + "b";
        let text = "a".repeat(10_000);
        let started = Instant::now();
        assert!(!matches(pattern.as_bytes(), text.as_bytes(), false));
        assert!(started.elapsed() < Duration::from_secs(5));
    }

    proptest! {
        #[test]
        fn any_bytes_are_harmless(
            pattern in proptest::collection::vec(any::<u8>(), 0..40),
            text in proptest::collection::vec(any::<u8>(), 0..40),
            nocase: bool,
        ) {
            let _ = matches(&pattern, &text, nocase);
        }

        #[test]
        fn an_escaped_text_matches_itself(text in proptest::collection::vec(any::<u8>(), 0..40)) {
            let pattern: Vec<u8> = text.iter().flat_map(|&b| [b'\\', b]).collect();
            prop_assert!(matches(&pattern, &text, false));
        }

        #[test]
        fn stars_may_stand_anywhere(text in "[a-c]{1,12}", cut in 0usize..12) {
            let cut = cut.min(text.len());
            let pattern = format!("{}*{}", &text[..cut], &text[cut..]);
            prop_assert!(matches(pattern.as_bytes(), text.as_bytes(), false));
        }
    }
}
