//! Whether the channel splits of a replica can be executed.

use millstream_graph::{Graph, OperatorId};

use crate::{ChannelSplit, Replica, ScheduleError};

impl Replica {
    /// Whether every split divides operators that can be divided, at places where they can, among processors that list them
    /// one after the other.
    pub(crate) fn check_splits(&self, graph: &Graph, stage: usize) -> Result<(), ScheduleError> {
        for (index, split) in self.splits.iter().enumerate() {
            let name = |id: OperatorId| graph.operator(id).name.clone();
            let Some((&head, followers)) = split.operators.split_first() else {
                return Err(ScheduleError::Empty { what: format!("a channel split of stage {stage}") });
            };
            let wrong = |detail: String| Err(ScheduleError::Split { operator: name(head), stage, detail });
            if let Some(&id) =
                split.operators.iter().find(|id| self.splits[..index].iter().any(|other| other.operators.contains(id)))
            {
                return Err(ScheduleError::Repeated { operator: name(id), stage });
            }
            let Some(units) = graph.channel_units(head) else {
                return wrong("its output channels can't be made apart; give it to one processor".to_owned());
            };
            let known = graph.channel_followers(head);
            if let Some(position) = (0..followers.len()).find(|&place| known.get(place) != Some(&followers[place])) {
                return wrong(format!(
                    "'{}' does not follow it channel by channel; leave it out of the split",
                    name(followers[position])
                ));
            }
            if !graph.can_divide_together(head, followers) {
                return wrong("what follows it quantises its result; divide the two together".to_owned());
            }
            check_channels(split, units.channels, units.unit, self.assignments.len()).or_else(wrong)?;
            for (position, assignment) in self.assignments.iter().enumerate() {
                let first = assignment.operators.iter().position(|id| split.operators.contains(id));
                let takes_part = split.range(position).is_some();
                let lists = first.is_some_and(|first| assignment.operators[first..].starts_with(&split.operators));
                let processor = &assignment.processor;
                if takes_part && !lists {
                    return wrong(format!("{processor} takes part but does not list the split's operators in a row"));
                }
                if !takes_part && first.is_some() {
                    return wrong(format!("{processor} makes 0 channels but lists it"));
                }
            }
        }
        Ok(())
    }
}

fn check_channels(split: &ChannelSplit, channels: usize, unit: usize, processors: usize) -> Result<(), String> {
    if split.channels.len() != processors {
        return Err(format!("it names shares of {} processors, the replica has {processors}", split.channels.len()));
    }
    let total = split.channels.iter().try_fold(0_usize, |sum, &own| sum.checked_add(own));
    if total != Some(channels) {
        let shares = &split.channels;
        return Err(format!("the shares {shares:?} must add up to its {channels} output channels"));
    }
    if split.channels.iter().filter(|&&own| own > 0).count() < 2 {
        return Err("fewer than two processors make channels; give it to one processor without a split".to_owned());
    }
    if let Some(own) = split.channels.iter().find(|&&own| own % unit != 0) {
        return Err(format!("a share of {own} channels cuts through a group; groups have {unit} output channels"));
    }
    Ok(())
}
