//! A value of any type: owned, borrowed and borrowed for change.
//!
//! Each of the six types is a handle of eight bytes, so that the keyspace can
//! store any of them in one field and keep the type beside the key. Nothing here
//! knows what is inside a type.

use crate::store::hash::Hash;
use crate::store::list::List;
use crate::store::set::Set;
use crate::store::sorted_set::SortedSet;
use crate::store::stream::Stream;
use crate::store::string::StringValue;

/// The type of a value, as `TYPE` tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Type {
    String,
    List,
    Set,
    SortedSet,
    Hash,
    Stream,
}

impl Type {
    /// Every type once.
    pub const ALL: [Type; 6] = [
        Type::String,
        Type::List,
        Type::Set,
        Type::SortedSet,
        Type::Hash,
        Type::Stream,
    ];

    /// The name that `TYPE` answers and `SCAN ... TYPE` takes.
    pub fn name(self) -> &'static str {
        match self {
            Type::String => "string",
            Type::List => "list",
            Type::Set => "set",
            Type::SortedSet => "zset",
            Type::Hash => "hash",
            Type::Stream => "stream",
        }
    }
}

/// An owned value.
#[derive(Clone)]
pub enum Value {
    String(StringValue),
    List(List),
    Set(Set),
    SortedSet(SortedSet),
    Hash(Hash),
    Stream(Stream),
}

/// A value that is only read.
#[derive(Clone, Copy)]
pub enum ValueRef<'a> {
    String(&'a StringValue),
    List(&'a List),
    Set(&'a Set),
    SortedSet(&'a SortedSet),
    Hash(&'a Hash),
    Stream(&'a Stream),
}

/// A value that may be changed in place; its type stays.
pub enum ValueMut<'a> {
    String(&'a mut StringValue),
    List(&'a mut List),
    Set(&'a mut Set),
    SortedSet(&'a mut SortedSet),
    Hash(&'a mut Hash),
    Stream(&'a mut Stream),
}

/// One of the six types, for code that is generic over them.
pub trait ValueType: Sized {
    const TYPE: Type;

    /// The value, when it is of this type.
    fn from_ref(value: ValueRef<'_>) -> Option<&Self>;
    /// The value, when it is of this type.
    fn from_mut(value: ValueMut<'_>) -> Option<&mut Self>;
    fn into_value(self) -> Value;
    /// What a command starts from when the key is absent.
    fn empty() -> Self;
    /// Whether the key goes away with this content. A string or a stream without
    /// content stays; that is for the caller to know.
    fn is_empty(&self) -> bool;
}

/// Matches over the three enums alike, so that a type cannot be forgotten in one.
macro_rules! each_type {
    ($enum:ident, $value:expr, $inner:ident => $body:expr) => {
        match $value {
            $enum::String($inner) => $body,
            $enum::List($inner) => $body,
            $enum::Set($inner) => $body,
            $enum::SortedSet($inner) => $body,
            $enum::Hash($inner) => $body,
            $enum::Stream($inner) => $body,
        }
    };
}

macro_rules! kind {
    ($enum:ident, $value:expr) => {
        match $value {
            $enum::String(_) => Type::String,
            $enum::List(_) => Type::List,
            $enum::Set(_) => Type::Set,
            $enum::SortedSet(_) => Type::SortedSet,
            $enum::Hash(_) => Type::Hash,
            $enum::Stream(_) => Type::Stream,
        }
    };
}

impl Value {
    pub fn kind(&self) -> Type {
        kind!(Value, self)
    }

    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::String(value) => ValueRef::String(value),
            Value::List(value) => ValueRef::List(value),
            Value::Set(value) => ValueRef::Set(value),
            Value::SortedSet(value) => ValueRef::SortedSet(value),
            Value::Hash(value) => ValueRef::Hash(value),
            Value::Stream(value) => ValueRef::Stream(value),
        }
    }

    pub fn as_mut(&mut self) -> ValueMut<'_> {
        match self {
            Value::String(value) => ValueMut::String(value),
            Value::List(value) => ValueMut::List(value),
            Value::Set(value) => ValueMut::Set(value),
            Value::SortedSet(value) => ValueMut::SortedSet(value),
            Value::Hash(value) => ValueMut::Hash(value),
            Value::Stream(value) => ValueMut::Stream(value),
        }
    }

    /// Whether the value has no elements (for a string: no bytes).
    pub fn is_empty(&self) -> bool {
        self.as_ref().is_empty()
    }

    /// Bytes on the heap, without the eight of the handle.
    pub fn memory_usage(&self) -> usize {
        self.as_ref().memory_usage()
    }

    /// What `OBJECT ENCODING` answers.
    pub fn encoding(&self) -> &'static str {
        self.as_ref().encoding()
    }
}

impl ValueRef<'_> {
    pub fn kind(&self) -> Type {
        kind!(ValueRef, self)
    }

    /// A copy of the content.
    pub fn to_value(&self) -> Value {
        each_type!(ValueRef, *self, inner => inner.clone().into_value())
    }

    /// Whether the value has no elements (for a string: no bytes).
    pub fn is_empty(&self) -> bool {
        each_type!(ValueRef, self, inner => inner.is_empty())
    }

    /// Bytes on the heap, without the eight of the handle.
    pub fn memory_usage(&self) -> usize {
        each_type!(ValueRef, self, inner => inner.memory_usage())
    }

    /// What `OBJECT ENCODING` answers.
    pub fn encoding(&self) -> &'static str {
        match self {
            ValueRef::String(value) => value.encoding(),
            ValueRef::List(value) => value.encoding(),
            ValueRef::Set(value) => value.encoding(),
            ValueRef::SortedSet(value) => value.encoding().name(),
            ValueRef::Hash(value) => value.encoding(),
            ValueRef::Stream(value) => value.encoding(),
        }
    }
}

impl<'a> ValueMut<'a> {
    pub fn kind(&self) -> Type {
        kind!(ValueMut, self)
    }

    /// The same value, only to read, for as long as it is not changed.
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            ValueMut::String(value) => ValueRef::String(value),
            ValueMut::List(value) => ValueRef::List(value),
            ValueMut::Set(value) => ValueRef::Set(value),
            ValueMut::SortedSet(value) => ValueRef::SortedSet(value),
            ValueMut::Hash(value) => ValueRef::Hash(value),
            ValueMut::Stream(value) => ValueRef::Stream(value),
        }
    }

    /// The same value for a shorter time.
    pub fn reborrow(&mut self) -> ValueMut<'_> {
        match self {
            ValueMut::String(value) => ValueMut::String(value),
            ValueMut::List(value) => ValueMut::List(value),
            ValueMut::Set(value) => ValueMut::Set(value),
            ValueMut::SortedSet(value) => ValueMut::SortedSet(value),
            ValueMut::Hash(value) => ValueMut::Hash(value),
            ValueMut::Stream(value) => ValueMut::Stream(value),
        }
    }

    /// Gives up the right to change the value.
    pub fn into_ref(self) -> ValueRef<'a> {
        match self {
            ValueMut::String(value) => ValueRef::String(value),
            ValueMut::List(value) => ValueRef::List(value),
            ValueMut::Set(value) => ValueRef::Set(value),
            ValueMut::SortedSet(value) => ValueRef::SortedSet(value),
            ValueMut::Hash(value) => ValueRef::Hash(value),
            ValueMut::Stream(value) => ValueRef::Stream(value),
        }
    }
}

macro_rules! value_type {
    ($type:ident, $variant:ident) => {
        impl ValueType for $type {
            const TYPE: Type = Type::$variant;

            fn from_ref(value: ValueRef<'_>) -> Option<&Self> {
                match value {
                    ValueRef::$variant(value) => Some(value),
                    _ => None,
                }
            }

            fn from_mut(value: ValueMut<'_>) -> Option<&mut Self> {
                match value {
                    ValueMut::$variant(value) => Some(value),
                    _ => None,
                }
            }

            fn into_value(self) -> Value {
                Value::$variant(self)
            }

            fn empty() -> Self {
                $type::default()
            }

            fn is_empty(&self) -> bool {
                $type::is_empty(self)
            }
        }

        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                value.into_value()
            }
        }
    };
}

value_type!(StringValue, String);
value_type!(List, List);
value_type!(Set, Set);
value_type!(SortedSet, SortedSet);
value_type!(Hash, Hash);
value_type!(Stream, Stream);

#[cfg(test)]
mod tests {
    use super::*;

    fn empty_of(kind: Type) -> Value {
        match kind {
            Type::String => StringValue::empty().into_value(),
            Type::List => List::empty().into_value(),
            Type::Set => Set::empty().into_value(),
            Type::SortedSet => SortedSet::empty().into_value(),
            Type::Hash => Hash::empty().into_value(),
            Type::Stream => Stream::empty().into_value(),
        }
    }

    #[test]
    fn every_type_is_told_apart() {
        for kind in Type::ALL {
            let mut value = empty_of(kind);
            assert_eq!(value.kind(), kind);
            assert_eq!(value.as_ref().kind(), kind);
            assert_eq!(value.as_mut().kind(), kind);
            assert!(value.is_empty());
            assert_eq!(value.as_ref().to_value().kind(), kind);
            let boards = Type::SortedSet == kind;
            assert_eq!(SortedSet::from_ref(value.as_ref()).is_some(), boards);
            assert_eq!(SortedSet::from_mut(value.as_mut()).is_some(), boards);
        }
    }

    #[test]
    fn names_are_those_of_redis() {
        let names: Vec<_> = Type::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names, ["string", "list", "set", "zset", "hash", "stream"]);
    }
}
