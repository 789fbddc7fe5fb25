//! A track for every core and accelerator that schedules use.

use millstream_board::{CoreId, Processor};
use millstream_schedule::Schedule;

use crate::trace::TraceTrack;

/// The tracks of some schedules on one board. Schedules that take turns on a core share its track.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoreTracks {
    /// The cluster or accelerator, and the core; in the order of the tracks.
    places: Vec<(String, Option<CoreId>)>,
}

impl CoreTracks {
    /// Tracks for all that these schedules use: cores by their numbers, then accelerators.
    pub fn of<'a>(schedules: impl IntoIterator<Item = &'a Schedule>) -> Self {
        let processors = schedules.into_iter().flat_map(Schedule::processors);
        let mut places: Vec<_> = processors.flat_map(places_of).collect();
        places.sort_by_key(|(label, core)| (core.is_none(), *core, label.clone()));
        places.dedup();
        Self { places }
    }

    /// What the tracks are called.
    pub fn tracks(&self) -> Vec<TraceTrack> {
        let track = |(label, core): &(String, Option<CoreId>)| match core {
            Some(core) => TraceTrack { group: format!("cluster {label}"), name: format!("core {core}") },
            None => TraceTrack { group: "accelerators".to_owned(), name: label.clone() },
        };
        self.places.iter().map(track).collect()
    }

    /// The tracks of a processor: one for each of its cores.
    pub fn of_processor(&self, processor: &Processor) -> Vec<usize> {
        let track = |place| self.places.iter().position(|known| *known == place);
        places_of(processor).into_iter().filter_map(track).collect()
    }
}

fn places_of(processor: &Processor) -> Vec<(String, Option<CoreId>)> {
    if processor.is_accelerator() {
        vec![(processor.cluster.clone(), None)]
    } else {
        processor.cores.iter().map(|&core| (processor.cluster.clone(), Some(core))).collect()
    }
}
