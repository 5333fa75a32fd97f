//! The notation of [`CommandSpec::syntax`](crate::engine::spec::CommandSpec), and the tree that it stands for.
//!
//! | text | argument |
//! |---|---|
//! | `count:integer` | a value and its type; without one it is a string |
//! | `key#0` | a key of the key spec with that index |
//! | `addr/ip:port` | a value that manuals show under another name |
//! | `COUNT=count:integer` | a value behind a word |
//! | `NX`, `change='CH'` | a word alone; the second is named otherwise |
//! | `unit<M \| KM>` | one of several |
//! | `data(score member)` | several, one after the other |
//! | `[x]` | may be left out |
//! | `x...`, `x&...` | may be repeated, without or with its word |
//! | `x@6.2.0`, `x!6.2.0` | there since, deprecated since |

/// How deep brackets nest in a declared syntax; the declarations are ours, so this is only a stop.
const DEPTH_MAX: usize = 16;

/// The type of a value that names none.
const TYPE_DEFAULT: &str = "string";

#[derive(Debug, PartialEq, Clone, Copy, Default)]
pub enum Repeats {
    #[default]
    Never,
    Freely,
    /// Its word comes again each time.
    WithToken,
}

#[derive(Debug, PartialEq, Clone, Copy)]
pub enum Shape {
    Token,
    Value,
    OneOf,
    Block,
}

/// One argument of a command.
#[derive(Debug, PartialEq)]
pub struct Argument<'s> {
    pub name: String,
    pub shape: Shape,
    /// What a value is, as COMMAND DOCS names it.
    pub kind: &'s str,
    /// What manuals show for a value or a word.
    pub display: String,
    pub token: Option<&'s str>,
    pub key_spec: Option<i64>,
    pub since: Option<&'s str>,
    pub deprecated_since: Option<&'s str>,
    pub optional: bool,
    pub repeats: Repeats,
    pub inner: Vec<Argument<'s>>,
}

/// The arguments of a syntax text.
pub fn parse(syntax: &str) -> Vec<Argument<'_>> {
    Parser {
        rest: syntax,
        depth: 0,
    }
    .sequence()
}

struct Parser<'s> {
    rest: &'s str,
    depth: usize,
}

impl<'s> Parser<'s> {
    fn next_is(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'s str {
        let end = self.rest.find(|letter| !belongs(letter));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn name(&mut self) -> &'s str {
        self.word(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
    }

    fn version(&mut self) -> &'s str {
        self.word(|letter| letter.is_ascii_digit() || letter == '.')
    }

    /// Arguments up to a bracket that closes, which is taken; alternatives stand side by side.
    fn sequence(&mut self) -> Vec<Argument<'s>> {
        let mut arguments = Vec::new();
        self.depth += 1;
        while self.depth <= DEPTH_MAX {
            self.word(|letter| letter == ' ' || letter == '|');
            if self.rest.is_empty() || [")", ">", "]"].iter().any(|close| self.next_is(close)) {
                break;
            }
            let before = self.rest.len();
            if self.next_is("[") {
                let inner = self.sequence();
                arguments.extend(inner.into_iter().map(|argument| Argument {
                    optional: true,
                    ..argument
                }));
            } else {
                arguments.push(self.argument());
            }
            if self.rest.len() == before {
                break;
            }
        }
        self.depth -= 1;
        arguments
    }

    fn argument(&mut self) -> Argument<'s> {
        let mut name = self.name();
        let mut token = None;
        if self.next_is("=") {
            if self.next_is("'") {
                token = Some(self.word(|letter| letter != '\''));
                self.next_is("'");
                return self.rest_of(name.to_string(), Shape::Token, token);
            }
            token = Some(name);
            name = self.name();
        } else if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
            return self.rest_of(name.to_ascii_lowercase(), Shape::Token, Some(name));
        }
        let shape = match self.rest.as_bytes().first() {
            Some(b'<') => Shape::OneOf,
            Some(b'(') => Shape::Block,
            _ => Shape::Value,
        };
        self.rest_of(name.to_string(), shape, token)
    }

    /// What stands behind the name.
    fn rest_of(&mut self, name: String, shape: Shape, token: Option<&'s str>) -> Argument<'s> {
        let inner = match shape {
            Shape::OneOf | Shape::Block => {
                self.rest = &self.rest[1..];
                self.sequence()
            }
            Shape::Token | Shape::Value => Vec::new(),
        };
        let mut kind = match shape {
            Shape::Token => "pure-token",
            Shape::Value => TYPE_DEFAULT,
            Shape::OneOf => "oneof",
            Shape::Block => "block",
        };
        let typed = self.next_is(":");
        if typed {
            kind = self.name();
        }
        let key_spec = if self.next_is("#") {
            kind = if typed { kind } else { "key" };
            self.name().parse().ok()
        } else {
            None
        };
        let display = if self.next_is("/") {
            self.word(|letter| letter.is_ascii_alphanumeric() || "-:".contains(letter))
        } else {
            &name
        };
        let display = display.to_string();
        let repeats = match (self.next_is("&..."), self.next_is("...")) {
            (true, _) => Repeats::WithToken,
            (_, true) => Repeats::Freely,
            _ => Repeats::Never,
        };
        let since = self.next_is("@").then(|| self.version());
        let deprecated_since = self.next_is("!").then(|| self.version());
        Argument {
            name,
            shape,
            kind,
            display,
            token,
            key_spec,
            since,
            deprecated_since,
            optional: false,
            repeats,
            inner,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_becomes_a_tree() {
        let arguments = parse(
            "key#0 [condition<NX | XX>@3.0.2] [change='CH'] [COUNT=count:integer] data(score:double member)...",
        );
        let names: Vec<&str> = arguments.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["key", "condition", "change", "count", "data"]);
        assert_eq!((arguments[0].kind, arguments[0].key_spec), ("key", Some(0)));
        assert!(arguments[1].optional && arguments[1].shape == Shape::OneOf);
        assert_eq!(arguments[1].since, Some("3.0.2"));
        assert_eq!(arguments[1].inner[1].token, Some("XX"));
        assert_eq!(arguments[2].token, Some("CH"));
        assert_eq!(
            (arguments[3].token, arguments[3].kind),
            (Some("COUNT"), "integer")
        );
        assert_eq!(arguments[4].repeats, Repeats::Freely);
        assert_eq!(arguments[4].inner.len(), 2);
    }

    #[test]
    fn values_have_names_for_manuals_and_repeat_with_their_word() {
        let arguments = parse("old-format/ip:port!2.8.12 [GET=get-pattern:pattern#1/pattern&...]");
        assert_eq!(arguments[0].display, "ip:port");
        assert_eq!(arguments[0].deprecated_since, Some("2.8.12"));
        assert_eq!(
            (arguments[1].kind, arguments[1].key_spec),
            ("pattern", Some(1))
        );
        assert_eq!(arguments[1].repeats, Repeats::WithToken);
    }

    #[test]
    fn texts_that_are_not_in_the_notation_end() {
        for text in [
            "key [a",
            "] key",
            "<<<<",
            "a(b",
            "é",
            "a='",
            &"a(".repeat(40),
        ] {
            assert!(parse(text).len() <= 2, "{text}");
        }
    }
}
