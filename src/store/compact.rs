//! One word that holds a value in its small or its big form.
//!
//! Hashes, sets and lists are a flat [`Block`] while they are small and some
//! structure `Big` afterwards. An enum of the two would take two words.
//!
//! This module is one of the few with `unsafe`. It keeps this invariant: the
//! pointer is either that of an owned `Block`, or that of an owned `Box<Big>` with
//! its lowest bit set; both are aligned to at least two bytes.

use std::marker::PhantomData;
use std::ptr::NonNull;

use super::block::Block;

/// An owned [`Block`] or an owned boxed `Big`, in one word.
#[repr(transparent)]
pub struct Compact<Big> {
    tagged: NonNull<u8>,
    owned: PhantomData<(Block, Box<Big>)>,
}

// SAFETY: this owns a Block (which is Send) or a Box<Big>.
unsafe impl<Big: Send> Send for Compact<Big> {}
// SAFETY: a shared reference lends only shared references to what is owned.
unsafe impl<Big: Sync> Sync for Compact<Big> {}

/// A shared look at either form.
pub enum View<'a, Big> {
    Small(&'a Block),
    Big(&'a Big),
}

/// A look at either form to change it.
pub enum ViewMut<'a, Big> {
    Small(&'a mut Block),
    Big(&'a mut Big),
}

const BIG: usize = 1;

impl<Big> Compact<Big> {
    pub fn small(block: Block) -> Self {
        Compact {
            tagged: block.into_raw(),
            owned: PhantomData,
        }
    }

    pub fn big(big: Big) -> Self {
        const { assert!(align_of::<Big>() > 1) };
        let raw = Box::into_raw(Box::new(big))
            .cast::<u8>()
            .map_addr(|addr| addr | BIG);
        let tagged = NonNull::new(raw).expect("a tagged pointer is not null");
        Compact {
            tagged,
            owned: PhantomData,
        }
    }

    pub fn is_big(&self) -> bool {
        self.tagged.addr().get() & BIG != 0
    }

    fn big_pointer(&self) -> *mut Big {
        self.tagged.as_ptr().map_addr(|addr| addr & !BIG).cast()
    }

    pub fn view(&self) -> View<'_, Big> {
        if self.is_big() {
            // SAFETY: the tag says that this is a live Box<Big> that we own.
            View::Big(unsafe { &*self.big_pointer() })
        } else {
            // SAFETY: untagged, the word is that of a Block, which is one pointer too.
            View::Small(unsafe { &*(&raw const *self).cast::<Block>() })
        }
    }

    pub fn view_mut(&mut self) -> ViewMut<'_, Big> {
        if self.is_big() {
            // SAFETY: the tag says that this is a live Box<Big> that we own.
            ViewMut::Big(unsafe { &mut *self.big_pointer() })
        } else {
            // SAFETY: untagged, the word is that of a Block, which is one pointer too;
            // whatever the Block does, its pointer stays aligned and so untagged.
            ViewMut::Small(unsafe { &mut *(&raw mut *self).cast::<Block>() })
        }
    }
}

impl<Big: Clone> Clone for Compact<Big> {
    fn clone(&self) -> Self {
        match self.view() {
            View::Small(block) => Compact::small(block.clone()),
            View::Big(big) => Compact::big(big.clone()),
        }
    }
}

impl<Big> Drop for Compact<Big> {
    fn drop(&mut self) {
        if self.is_big() {
            // SAFETY: the tag says that this came from Box::into_raw; we own it.
            drop(unsafe { Box::from_raw(self.big_pointer()) });
        } else {
            // SAFETY: untagged, the pointer came from Block::into_raw; we own it.
            drop(unsafe { Block::from_raw(self.tagged) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_live_in_one_word() {
        type Word = Compact<Vec<String>>;
        assert_eq!(size_of::<Word>(), 8);
        let mut word = Word::small(Block::from(&b"ab"[..]));
        match word.view_mut() {
            ViewMut::Small(block) => block.append(&[b'c'; 1000]),
            ViewMut::Big(_) => unreachable!("it was made small"),
        }
        let copy = word.clone();
        word = Word::big(vec!["x".to_owned()]);
        match word.view_mut() {
            ViewMut::Big(big) => big.push("y".to_owned()),
            ViewMut::Small(_) => unreachable!("it was made big"),
        }
        assert!(matches!(word.clone().view(), View::Big(big) if big.len() == 2));
        assert!(matches!(copy.view(), View::Small(block) if block.len() == 1002));
    }
}
