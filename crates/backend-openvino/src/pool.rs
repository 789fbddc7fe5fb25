//! The threads that OpenVINO computes with beside those that call it.
//!
//! The library has one set of them for the whole process. They are made by a thread that may run on all cores, and take
//! part wherever a segment wants several. Here they are confined to the cores of the processors that do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use millstream_board::CoreId;
use millstream_machine::Threads;
use millstream_onnx::{ModelBuilder, WeightStorage};

use crate::device_ids::CPU;
use crate::library::OpenVino;
use crate::lock::lock;
use crate::native::{CompiledModel, Output, Owned, Place, Request, Source};
use crate::settings::{self, Precision};

/// The name of these threads: they get it from the thread that makes them.
const NAME: &str = "openvino";
/// Elements of the tensor that is computed to have the threads made: enough for all of them.
const ELEMENTS: usize = 1 << 20;
/// How often it is computed, until there are as many threads as cores.
const MOST_FRAMES: usize = 100;

static POOL: Mutex<Pool> = Mutex::new(Pool { threads: None, held: BTreeMap::new() });

struct Pool {
    /// The threads, once they were made.
    threads: Option<Threads>,
    /// The cores of the processors that compute with them, by how many do.
    held: BTreeMap<CoreId, usize>,
}

/// A processor of several cores whose segment computes with the threads.
pub(crate) struct Hold(BTreeSet<CoreId>);

impl Hold {
    /// Has the threads take part in what is computed on these cores.
    pub(crate) fn new(library: &OpenVino, cores: impl IntoIterator<Item = CoreId>) -> Self {
        let hold = Self(cores.into_iter().collect());
        let mut pool = lock(&POOL);
        if pool.threads.is_none() {
            pool.threads = Some(make_threads(library));
        }
        for &core in &hold.0 {
            *pool.held.entry(core).or_default() += 1;
        }
        pool.confine();
        hold
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut pool = lock(&POOL);
        for core in &self.0 {
            if let Some(count) = pool.held.get_mut(core) {
                *count -= 1;
            }
        }
        pool.held.retain(|_, count| *count > 0);
        pool.confine();
    }
}

impl Pool {
    fn confine(&self) {
        let cores: BTreeSet<CoreId> = self.held.keys().copied().collect();
        let Some(threads) = self.threads.as_ref().filter(|_| !cores.is_empty()) else { return };
        if !threads.confine(&cores) {
            tracing::warn!("the system does not let OpenVINO's threads be confined to the processors that use them");
        }
    }
}

/// Has OpenVINO make its threads, by a thread from which they get name and cores.
fn make_threads(library: &OpenVino) -> Threads {
    let make = || {
        millstream_machine::spread_current_thread();
        let cores = millstream_machine::cores_of_current_thread().map_or(1, |cores| cores.len());
        if let Err(detail) = compute(library, cores) {
            tracing::debug!("OpenVINO's threads are not made beforehand: {detail}");
        }
        Threads::named(NAME)
    };
    let made = thread::scope(|scope| {
        let maker = thread::Builder::new().name(NAME.to_owned()).spawn_scoped(scope, make);
        maker.map(|maker| maker.join())
    });
    match made {
        Ok(Ok(threads)) => threads,
        _ => Threads::named(NAME),
    }
}

/// Computes something with so many threads, until all of them were made.
fn compute(library: &OpenVino, threads: usize) -> Result<(), String> {
    let mut builder = ModelBuilder::new("threads");
    let input = builder.input("x", [ELEMENTS]);
    let output = builder.node("Relu", &[&input]);
    builder.output(&output);
    let model = builder.build().map_err(|error| error.to_string())?;
    let model = model.segment(model.graph().order(), WeightStorage::Inline).map_err(|error| error.to_string())?;
    let properties = settings::of_cores(Precision::F32, threads, false, false);
    let text = |error: openvino::InferenceError| error.to_string();
    let compiled = CompiledModel::new(library, &model.bytes, CPU, &properties).map_err(text)?;
    let mut request = Request::new(Arc::new(compiled), 1, vec![Place::Given]).map_err(text)?;
    let tensor = || Owned::new(openvino::ElementType::F32, &[ELEMENTS as i64]).map_err(text);
    let (input, mut output) = (tensor()?, tensor()?);
    for _ in 0..MOST_FRAMES {
        request.infer(&[Source::Owned(&input)], &mut [Output::Owned(&mut output)]).map_err(text)?;
        // The one that computes here bears the name as well.
        if Threads::named(NAME).count() >= threads {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn the_threads_are_where_processors_want_them() {
        let library = match OpenVino::load() {
            Ok(library) => library,
            // There is no package of it for this machine.
            Err(_)
                if std::env::var_os(crate::VARIABLE).is_none_or(|folder| !std::path::Path::new(&folder).exists()) =>
            {
                return;
            }
            Err(error) => unreachable!("{error}"),
        };
        let all = millstream_machine::cores_of_current_thread().unwrap();
        let (first, last) = (*all.first().unwrap(), *all.last().unwrap());
        let hold = Hold::new(&library, [last]);
        let threads = || lock(&POOL).threads.clone().unwrap();
        let are_on = |cores: &BTreeSet<CoreId>| threads().cores().iter().all(|allowed| allowed == cores);
        assert_eq!(threads().count() + 1, std::thread::available_parallelism().unwrap().get(), "all were made");
        assert!(are_on(&BTreeSet::from([last])));
        let other = Hold::new(&library, [first]);
        assert!(are_on(&BTreeSet::from([first, last])));
        drop(hold);
        assert!(are_on(&BTreeSet::from([first])), "{:?}", threads().cores());
        drop(other);
    }
}
