//! Pipelines as searches change them: layers and places of stages, and the small steps between them.

use std::fmt;
use std::ops::Range;

use crate::space::{PlaceId, Space};

/// A pipeline: how many layers each stage has, and where it runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Configuration {
    layers: Vec<usize>,
    places: Vec<PlaceId>,
}

impl Configuration {
    /// Stages of so many layers on these places; `None` unless every stage has layers and a place of its own, and every
    /// layer a stage.
    pub fn new(space: &Space, layers: Vec<usize>, places: Vec<PlaceId>) -> Option<Self> {
        let mut sorted = places.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let is_valid = layers.len() == places.len()
            && sorted.len() == places.len()
            && sorted.last().is_some_and(|place| place.0 < space.places().len())
            && layers.iter().all(|&count| count > 0)
            && layers.iter().sum::<usize>() == space.layers();
        is_valid.then_some(Self { layers, places })
    }

    /// For callers that only make valid ones.
    pub(crate) fn assembled(layers: Vec<usize>, places: Vec<PlaceId>) -> Self {
        debug_assert_eq!(layers.len(), places.len());
        Self { layers, places }
    }

    /// Number of stages.
    pub fn stages(&self) -> usize {
        self.layers.len()
    }

    /// Number of layers of each stage.
    pub fn layers(&self) -> &[usize] {
        &self.layers
    }

    /// Place of each stage.
    pub fn places(&self) -> &[PlaceId] {
        &self.places
    }

    /// The layers of each stage.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = Range<usize>> {
        let mut start = 0;
        self.layers.iter().map(move |&count| {
            start += count;
            start - count..start
        })
    }

    /// With one layer moved from a stage to another one: each stage between them passes one on. `None` if the stage has
    /// only one.
    pub(crate) fn moved(&self, from: usize, to: usize) -> Option<Self> {
        let mut moved = self.clone();
        if from == to || moved.layers[from] <= 1 {
            return None;
        }
        moved.layers[from] -= 1;
        moved.layers[to] += 1;
        Some(moved)
    }

    /// As [`Configuration::moved`], but a stage that gives its only layer away is gone, and its place stays idle.
    pub(crate) fn drained(&self, from: usize, to: usize) -> Option<Self> {
        if from == to {
            return None;
        }
        let mut drained = self.clone();
        drained.layers[to] += 1;
        drained.layers[from] -= 1;
        if drained.layers[from] == 0 {
            drained.layers.remove(from);
            drained.places.remove(from);
        }
        Some(drained)
    }

    /// With the places of two stages exchanged.
    pub(crate) fn swapped(&self, one: usize, other: usize) -> Self {
        let mut swapped = self.clone();
        swapped.places.swap(one, other);
        swapped
    }

    /// With a stage on another place.
    pub(crate) fn replaced(&self, stage: usize, place: PlaceId) -> Self {
        let mut replaced = self.clone();
        replaced.places[stage] = place;
        replaced
    }

    /// With a stage joined to the one after it, on the place of either.
    pub(crate) fn joined(&self, stage: usize, keeps_first: bool) -> Self {
        let mut joined = self.clone();
        let layers = joined.layers.remove(stage + 1);
        joined.layers[stage] += layers;
        joined.places.remove(if keeps_first { stage + 1 } else { stage });
        joined
    }

    /// With the last layers of a stage on a place of their own.
    pub(crate) fn divided(&self, stage: usize, layers: usize, place: PlaceId) -> Self {
        let mut divided = self.clone();
        divided.layers[stage] -= layers;
        divided.layers.insert(stage + 1, layers);
        divided.places.insert(stage + 1, place);
        divided
    }

    /// The stages with the names of their places: `B4[1-35] s2[36-44]`, layers counted from 1 as in the literature.
    pub fn describe(&self, space: &Space) -> String {
        let stage = |(range, place): (Range<usize>, &PlaceId)| {
            format!("{}[{}-{}]", space.name(*place), range.start + 1, range.end)
        };
        self.ranges().zip(&self.places).map(stage).collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for Configuration {
    /// Layers per stage, as the papers print it: `[6,5,10]`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<String> = self.layers.iter().map(ToString::to_string).collect();
        formatter.pad(&format!("[{}]", counts.join(",")))
    }
}
