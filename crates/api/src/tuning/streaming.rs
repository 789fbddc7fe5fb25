//! Frames that flow while schedules are tried.

use std::sync::atomic::{AtomicBool, Ordering};

use millstream_runtime::Engine;

use crate::control::Control;
use crate::error::Error;
use crate::run::reference::Reference;
use crate::threads::{SetOnDrop, thread};

/// Streams frames through the engine while `work` goes on, and checks every result.
pub(super) fn while_frames_flow<T: Send, Work>(
    engine: &Engine,
    reference: &Reference,
    control: &Control,
    work: Work,
) -> Result<T, Error>
where
    Work: FnOnce(&dyn Fn() -> bool) -> Result<T, Error> + Send,
{
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let is_over = &is_over;
        let search = move || {
            // However it ends, or frames would flow for ever.
            let _over = SetOnDrop(is_over);
            work(&|| control.is_cancelled() || is_over.load(Ordering::Relaxed))
        };

        let working = thread("search").spawn_scoped(scope, search).map_err(Error::no_thread("the search"))?;
        // However this ends, or the search would be waited for in vain.
        let over = SetOnDrop(is_over);
        let mut number = 0;
        let frames = std::iter::from_fn(|| {
            number += 1;
            (!is_over.load(Ordering::Relaxed)).then(|| reference.frame(number - 1))
        });

        let mut checked = Ok(());
        for result in engine.run(frames) {
            if checked.is_ok() {
                let label = || reference.label(result.sequence);
                let outcome = result.outcome.map_err(|source| Error::Frame { label: label(), source });
                checked = outcome.and_then(|results| reference.check(result.sequence, &results)).map(drop);
                is_over.fetch_or(checked.is_err(), Ordering::Relaxed);
            }
        }

        drop(over);
        let done = working.join().map_err(|_| Error::Defect("the search panicked".to_owned()))?;
        checked?;
        done
    })
}
