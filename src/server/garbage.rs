//! A thread that drops big values, so that freeing a board stalls nobody.

use super::allocated;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};

/// The way to the thread.
pub struct Garbage {
    sender: Sender<Box<dyn Any + Send>>,
    pending: Arc<AtomicUsize>,
}

impl Garbage {
    /// Starts the thread; it ends when the last handle is gone.
    pub fn start() -> std::io::Result<Self> {
        let (sender, receiver) = channel::<Box<dyn Any + Send>>();
        let pending = Arc::new(AtomicUsize::new(0));
        let count = pending.clone();
        std::thread::Builder::new()
            .name("lazy-free".to_string())
            .spawn(move || {
                for garbage in receiver {
                    allocated::estimate();
                    drop(garbage);
                    // What was freed here counts at once.
                    allocated::estimate();
                    count.fetch_sub(1, Relaxed);
                }
            })?;
        Ok(Self { sender, pending })
    }

    /// Hands something over to be dropped.
    pub fn hand_over(&self, garbage: Box<dyn Any + Send>) {
        self.pending.fetch_add(1, Relaxed);
        if self.sender.send(garbage).is_err() {
            self.pending.fetch_sub(1, Relaxed);
        }
    }

    /// What was handed over and not dropped yet.
    pub fn pending(&self) -> usize {
        self.pending.load(Relaxed)
    }
}
