//! Which operators of a network are drawn as one box.

use std::collections::BTreeMap;
use std::ops::Range;

use millstream_graph::{Graph, OperatorId};
use millstream_schedule::{Assignment, Replica, Schedule, StageId};

use super::layers::layers_of;

/// The most boxes that a drawing has; a schedule of more stages has one for each.
const MOST_BOXES: usize = 120;

/// The most boxes of a stage that stand side by side.
const MOST_ABREAST: usize = 6;

/// Operators that are drawn as one box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// The operators, in the order of the network.
    pub(super) operators: Vec<OperatorId>,
    pub(super) place: Place,
}

/// Where operators run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) stage: StageId,
    /// Which of its processors, if several work on one frame.
    pub(super) processor: Option<String>,
}

/// Operators in groups, in an order in which none depends on a later one, and the groups that read what each makes.
pub(super) fn groups(graph: &Graph, schedule: &Schedule) -> (Vec<Group>, Vec<Vec<usize>>) {
    let mut groups = runs(graph, &places(graph, schedule));
    while let Some(crowd) = crowd(&groups, &readers(graph, &groups)) {
        let after = groups.split_off(crowd.end);
        let inside = groups.split_off(crowd.start);
        groups.extend(one_of(inside));
        groups.extend(after);
    }
    let groups = folded(groups);
    let readers = readers(graph, &groups);
    (groups, readers)
}

fn readers(graph: &Graph, groups: &[Group]) -> Vec<Vec<usize>> {
    let mut group_of = vec![0; graph.operators().len()];
    for (index, group) in groups.iter().enumerate() {
        group.operators.iter().for_each(|operator| group_of[operator.index()] = index);
    }
    let mut readers = vec![Vec::new(); groups.len()];
    for &operator in graph.order() {
        let reader = group_of[operator.index()];
        for producer in graph.producers(operator) {
            let group = group_of[producer.index()];
            if group != reader && !readers[group].contains(&reader) {
                readers[group].push(reader);
            }
        }
    }
    readers
}

/// Where more boxes of a stage would stand side by side than a page has room for: from the first to the last of them.
fn crowd(groups: &[Group], readers: &[Vec<usize>]) -> Option<Range<usize>> {
    let mut crowds: BTreeMap<(usize, StageId), Vec<usize>> = BTreeMap::new();
    for (index, (group, layer)) in groups.iter().zip(layers_of(readers)).enumerate() {
        crowds.entry((layer, group.place.stage)).or_default().push(index);
    }
    let widest = crowds.into_values().max_by_key(Vec::len).filter(|crowd| crowd.len() > MOST_ABREAST)?;
    Some(*widest.first()?..widest.last()? + 1)
}

/// Where each operator runs, by the first replica of its stage.
fn places(graph: &Graph, schedule: &Schedule) -> Vec<Place> {
    let mut places = vec![Place { stage: StageId::FIRST, processor: None }; graph.operators().len()];
    for (stage, replica) in schedule.numbered_stages().filter_map(|(id, stage)| Some((id, stage.replicas.first()?))) {
        for assignment in &replica.assignments {
            for operator in &assignment.operators {
                let processor = processor_of(replica, *operator, assignment);
                places[operator.index()] = Place { stage, processor };
            }
        }
    }
    places
}

/// How a processor of a team is named, with its cores, since others may be equal; nothing where a stage has only one.
fn processor_of(replica: &Replica, operator: OperatorId, assignment: &Assignment) -> Option<String> {
    let is_shared = replica.split_of(operator).is_some();
    (replica.assignments.len() > 1).then(|| if is_shared { "shared".to_owned() } else { assignment.with_cores() })
}

/// Operators after each other, of one place and without branches between them, as one group.
fn runs(graph: &Graph, places: &[Place]) -> Vec<Group> {
    let mut order = graph.order().to_vec();
    order.sort_by_key(|operator| places[operator.index()].stage);
    let mut readers = vec![0_usize; places.len()];
    for &operator in &order {
        graph.producers(operator).for_each(|producer| readers[producer.index()] += 1);
    }
    let mut groups: Vec<Group> = Vec::new();
    let mut group_of = vec![usize::MAX; places.len()];
    for operator in order {
        let mut producers = graph.producers(operator);
        let only = producers.next().filter(|_| producers.next().is_none());
        let before = only
            .filter(|previous| readers[previous.index()] == 1 && places[previous.index()] == places[operator.index()]);
        let group = before.and_then(|previous| {
            groups.get_mut(group_of[previous.index()]).map(|group| (group_of[previous.index()], group))
        });
        group_of[operator.index()] = match group {
            Some((index, group)) => {
                group.operators.push(operator);
                index
            }
            None => {
                groups.push(Group { operators: vec![operator], place: places[operator.index()].clone() });
                groups.len() - 1
            }
        };
    }
    groups
}

/// The same, where there are too many with all but the first and the last ones of each stage as one.
fn folded(groups: Vec<Group>) -> Vec<Group> {
    let mut by_stage: Vec<Vec<Group>> = Vec::new();
    for group in groups {
        match by_stage.last_mut().filter(|stage| stage.last().is_some_and(|last| last.place.stage == group.place.stage))
        {
            Some(stage) => stage.push(group),
            None => by_stage.push(vec![group]),
        }
    }
    let boxes = |kept: usize| -> usize { by_stage.iter().map(|stage| stage.len().min(2 * kept + 1)).sum() };
    let most = by_stage.iter().map(Vec::len).max().unwrap_or_default();
    let kept = (0..=most).rev().find(|&kept| boxes(kept) <= MOST_BOXES).unwrap_or_default();
    by_stage.into_iter().flat_map(|stage| folded_stage(stage, kept)).collect()
}

fn folded_stage(mut stage: Vec<Group>, kept: usize) -> Vec<Group> {
    if stage.len() <= 2 * kept + 1 {
        return stage;
    }
    let last = stage.split_off(stage.len() - kept);
    let middle = stage.split_off(kept);
    stage.extend(one_of(middle));
    stage.extend(last);
    stage
}

/// Groups of one stage as one. They stand side by side in an order in which nothing depends on what is later, so
/// nothing can come to depend on itself.
fn one_of(groups: Vec<Group>) -> Option<Group> {
    let first = groups.first()?.place.clone();
    let is_one_place = groups.iter().all(|group| group.place == first);
    let processor = if is_one_place { first.processor } else { Some("several".to_owned()) };
    let operators = groups.into_iter().flat_map(|group| group.operators).collect();
    Some(Group { operators, place: Place { stage: first.stage, processor } })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use millstream_board::Processor;
    use millstream_schedule::{Replica, Stage};

    use super::*;

    fn halves(graph: &Graph, cut: usize) -> Schedule {
        let stage = |core, operators: &[OperatorId]| Stage {
            replicas: vec![Replica::single(Processor::new("B", [core]), operators.to_vec())],
        };
        let (front, back) = graph.order().split_at(cut);
        Schedule { stages: vec![stage(0, front), stage(1, back)] }
    }

    /// Every operator once, no edge backwards, stages in order.
    fn check(graph: &Graph, schedule: &Schedule) -> (Vec<Group>, Vec<Vec<usize>>) {
        let (groups, readers) = groups(graph, schedule);
        let mut all: Vec<usize> =
            groups.iter().flat_map(|group| group.operators.iter().map(|operator| operator.index())).collect();
        all.sort_unstable();
        assert_eq!(all, (0..graph.operators().len()).collect::<Vec<_>>());
        assert!(readers.iter().enumerate().all(|(group, readers)| readers.iter().all(|reader| *reader > group)));
        assert!(groups.is_sorted_by_key(|group| group.place.stage));
        (groups, readers)
    }

    #[test]
    fn operators_without_branches_between_them_are_one_box() {
        // AlexNet is one line, cut once.
        let alexnet = millstream_zoo::build("alexnet").unwrap();
        let (groups, readers) = check(alexnet.graph(), &halves(alexnet.graph(), 7));
        assert_eq!((groups.len(), readers), (2, vec![vec![1], vec![]]));
        // A fire module of SqueezeNet has its squeeze, two expansions and what joins them, which goes on with the next
        // squeeze.
        let squeezenet = millstream_zoo::build("squeezenet").unwrap();
        let whole = halves(squeezenet.graph(), squeezenet.graph().operators().len());
        assert_eq!(check(squeezenet.graph(), &whole).0.len(), 1 + 8 * 3);
    }

    #[test]
    fn equal_cores_of_a_team_are_different_places() {
        let alexnet = millstream_zoo::build("alexnet").unwrap();
        let graph = alexnet.graph();
        let (front, back) = graph.order().split_at(7);
        let on = |core, operators: &[OperatorId]| Assignment {
            processor: Processor::new("B", [core]),
            operators: operators.to_vec(),
        };
        let team = Replica { assignments: vec![on(0, front), on(1, back)], splits: Vec::new() };
        let (groups, _) = check(graph, &Schedule { stages: vec![Stage { replicas: vec![team] }] });
        let places: Vec<_> = groups.iter().map(|group| group.place.processor.as_deref()).collect();
        assert_eq!(places, [Some("B1 (core 0)"), Some("B1 (core 1)")]);
    }

    #[test]
    fn large_networks_are_folded_in_the_middle_of_their_stages() {
        for name in ["inception-resnet-v2", "bevformer-like", "inception-v4", "petr-like"] {
            let model = millstream_zoo::build(name).unwrap();
            let graph = model.graph();
            for cut in [1, graph.operators().len() / 3, graph.operators().len() - 1] {
                let (groups, readers) = check(graph, &halves(graph, cut));
                assert_eq!(crowd(&groups, &readers), None, "{name}");
                assert!((3..=MOST_BOXES).contains(&groups.len()), "{name}: {}", groups.len());
            }
        }
    }
}
