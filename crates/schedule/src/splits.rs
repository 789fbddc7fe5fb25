//! Whether the operators that a replica's processors share can be divided like that.

use millstream_graph::{Along, Graph, OperatorId, TileRegion};

use crate::error::ScheduleError;
use crate::schedule::{OperatorSplit, Replica};
use crate::stage_id::StageId;

impl Replica {
    /// Whether every split divides operators that can be divided, at places where they can, among processors that list
    /// them one after the other. The replica is of `stage`.
    pub(crate) fn check_splits(&self, graph: &Graph, stage: StageId) -> Result<(), ScheduleError> {
        for (index, split) in self.splits.iter().enumerate() {
            let name = |id: OperatorId| graph.operator(id).name.clone();
            let Some(&head) = split.operators.first() else {
                return Err(ScheduleError::Empty { what: format!("a split of stage {stage}") });
            };
            let is_in_other = |id: &&OperatorId| self.splits[..index].iter().any(|other| other.operators.contains(id));
            if let Some(&id) = split.operators.iter().find(is_in_other) {
                return Err(ScheduleError::Repeated { operator: name(id), stage });
            }

            match split.along {
                Along::Channels => check_channels(split, graph, self.assignments.len()),
                _ => check_tiles(split, graph, self.assignments.len()),
            }
            .and_then(|()| self.check_listing(split))
            .map_err(|detail| ScheduleError::Split { operator: name(head), stage, detail })?;
        }
        Ok(())
    }

    /// Whether those processors that take part in a split list its operators in a row, and no other lists any of them.
    fn check_listing(&self, split: &OperatorSplit) -> Result<(), String> {
        for (position, assignment) in self.assignments.iter().enumerate() {
            let first = assignment.operators.iter().position(|id| split.operators.contains(id));
            let takes_part = split.range(position).is_some();
            let lists = first.is_some_and(|first| assignment.operators[first..].starts_with(&split.operators));
            let processor = &assignment.processor;
            if takes_part && !lists {
                return Err(format!("{processor} takes part but does not list the split's operators in a row"));
            }
            if !takes_part && first.is_some() {
                return Err(format!("{processor} makes nothing of it but lists it"));
            }
        }
        Ok(())
    }
}

/// Whether an operator and what follows it can be divided by channels like that.
fn check_channels(split: &OperatorSplit, graph: &Graph, processors: usize) -> Result<(), String> {
    let Some((&head, followers)) = split.operators.split_first() else { return Ok(()) };
    let Some(units) = graph.channel_units(head) else {
        return Err("its output channels can't be made apart; give it to one processor".to_owned());
    };
    let known = graph.channel_followers(head);
    if let Some(position) = (0..followers.len()).find(|&place| known.get(place) != Some(&followers[place])) {
        let name = &graph.operator(followers[position]).name;
        return Err(format!("'{name}' does not follow it channel by channel; leave it out of the split"));
    }
    if !graph.can_divide_together(head, followers) {
        return Err("what follows it quantises its result; divide the two together".to_owned());
    }
    check_shares(split, units.channels, "output channels", processors)?;
    if let Some(share) = split.shares.iter().find(|&&share| share % units.unit != 0) {
        let unit = units.unit;
        return Err(format!("a share of {share} channels cuts through a group; groups have {unit} output channels"));
    }
    Ok(())
}

/// Whether operators can be divided into tiles like that.
fn check_tiles(split: &OperatorSplit, graph: &Graph, processors: usize) -> Result<(), String> {
    let what = split.along.name();
    let Some(region) = TileRegion::new(graph, &split.operators, split.along) else {
        let detail = why_no_tiles(split, graph);
        return Err(format!("{detail}, so there are no {what} that can be made apart; give it to one processor"));
    };
    check_shares(split, region.rows(), what, processors)
}

/// Why operators can't be divided into tiles.
fn why_no_tiles(split: &OperatorSplit, graph: &Graph) -> String {
    let operators = &split.operators;
    let name = |id: OperatorId| &graph.operator(id).name;
    let is_again = |place: &usize| operators[..*place].contains(&operators[*place]);
    if let Some(place) = (0..operators.len()).find(is_again) {
        return format!("'{}' is named twice", name(operators[place]));
    }
    let comes_too_late = |place: &usize| {
        let mut makers = graph.producers(operators[*place]);
        makers.any(|maker| operators[*place..].contains(&maker))
    };
    if let Some(place) = (0..operators.len()).find(comes_too_late) {
        return format!("'{}' is named before what it reads", name(operators[place]));
    }

    let outputs = graph.boundary(operators).outputs;
    let makes = |id: &&OperatorId| graph.operator(**id).outputs.iter().any(|value| outputs.contains(value));
    let before_last = operators.split_last().map_or(&[][..], |(_, before)| before);
    if let Some(&id) = before_last.iter().find(makes) {
        return format!("what '{}' makes is needed elsewhere as well", name(id));
    }
    let last = operators.last().map_or("", |&id| name(id).as_str());
    match split.along {
        Along::Heads => format!("'{last}' does not put the heads of attention side by side, or something mixes them"),
        _ => format!("'{last}' needs more than some positions around each of its own, or is no map or sequence"),
    }
}

/// Whether all of something is shared out among several processors.
fn check_shares(split: &OperatorSplit, all: usize, what: &str, processors: usize) -> Result<(), String> {
    let shares = &split.shares;
    if shares.len() != processors {
        return Err(format!("it names shares of {} processors, the replica has {processors}", shares.len()));
    }
    let makers = shares.iter().filter(|&&share| share > 0).count();
    if makers > all {
        return Err(format!("{makers} processors make {what}, of which it has {all}; give some of them no share"));
    }
    if shares.iter().try_fold(0_usize, |sum, &share| sum.checked_add(share)) != Some(all) {
        return Err(format!("the shares {shares:?} must add up to its {all} {what}"));
    }
    if makers < 2 {
        let remedy = "give it to one processor without a split";
        return Err(format!("fewer than two processors make {what}; {remedy}"));
    }
    Ok(())
}
