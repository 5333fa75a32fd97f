//! The way to the engine for whoever reads files into it.

use crate::engine::Engine;
use crate::server::Shared;

/// Either the lock, taken for a moment each time so that clients can be answered between, or the engine itself, when
/// a command holds it already.
pub trait Reach {
    fn with<R>(&mut self, run: impl FnOnce(&mut Engine) -> R) -> R;
}

impl Reach for &Shared {
    fn with<R>(&mut self, run: impl FnOnce(&mut Engine) -> R) -> R {
        run(&mut self.write_patiently())
    }
}

impl Reach for &mut Engine {
    fn with<R>(&mut self, run: impl FnOnce(&mut Engine) -> R) -> R {
        run(self)
    }
}
