//! The engine's lock over one batch of requests: taken when the first request needs it, and for no more than it needs.

use super::Shared;
use super::fiber::OwnedGuard;
use crate::engine::Engine;
use crate::engine::dispatch::Access;
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};

/// The engine's lock as far as a batch has needed it.
pub struct Guard<'s> {
    shared: &'s Shared,
    held: Held<'s>,
}

enum Held<'s> {
    None,
    Shared(RwLockReadGuard<'s, Engine>),
    Exclusive(RwLockWriteGuard<'s, Engine>),
    /// Held alone, and ready to move into a fiber.
    Owned(OwnedGuard),
}

/// The engine as it is lent for one request.
pub enum Hold<'g> {
    Shared(&'g Engine),
    Exclusive(&'g mut Engine),
    /// A long script keeps the engine.
    Busy,
}

impl<'s> Guard<'s> {
    /// Holds nothing yet.
    pub fn new(shared: &'s Shared) -> Self {
        Self {
            shared,
            held: Held::None,
        }
    }

    /// The engine with at least the given access; what is held already is kept.
    #[inline]
    pub fn hold(&mut self, access: Access) -> Hold<'_> {
        let enough = match self.held {
            Held::Exclusive(_) | Held::Owned(_) => true,
            Held::Shared(_) => access == Access::Shared,
            Held::None => false,
        };
        if !enough {
            self.held = Held::None;
            let taken = match access {
                Access::Exclusive => self.shared.write().map(Held::Exclusive),
                Access::Shared => self.shared.read().map(Held::Shared),
            };
            match taken {
                Some(held) => self.held = held,
                None => return Hold::Busy,
            }
        }
        match &mut self.held {
            Held::Exclusive(engine) => Hold::Exclusive(engine),
            Held::Owned(engine) => Hold::Exclusive(engine),
            Held::Shared(engine) => Hold::Shared(engine),
            Held::None => Hold::Busy,
        }
    }

    /// The engine, if it is held.
    pub fn held(&self) -> Option<&Engine> {
        match &self.held {
            Held::Exclusive(engine) => Some(engine),
            Held::Owned(engine) => Some(engine),
            Held::Shared(engine) => Some(engine),
            Held::None => None,
        }
    }

    /// Gives the engine away, held alone; None while a long script keeps it.
    pub fn take_owned(&mut self) -> Option<OwnedGuard> {
        match std::mem::replace(&mut self.held, Held::None) {
            Held::Owned(engine) => Some(engine),
            other => {
                // The batch goes on, so that broadcasts wait.
                drop(other);
                self.shared.write_owned()
            }
        }
    }

    /// Takes the engine back that was given away.
    pub fn give_back(&mut self, engine: OwnedGuard) {
        self.held = Held::Owned(engine);
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        match &mut self.held {
            Held::Exclusive(engine) => engine.broadcast_invalidations(),
            Held::Owned(engine) => engine.broadcast_invalidations(),
            Held::Shared(_) | Held::None => {}
        }
    }
}
