//! Parts by channels join to the whole.

use std::ops::Range;

use millstream_backend::{BackendError, Segment, Tensor};
use millstream_graph::{ChannelUnits, OperatorId};

use crate::part_models;
use crate::rig::{Rig, description, failed, zoo};
use crate::subject::Subject;
use crate::tensors::{agree, inputs_of, joined};

/// Networks of which some operators are divided as well, and of which operator only every so many-th.
const NETWORKS: [&str; 2] = ["squeezenet", "mobilenet-v2"];
const STEP: usize = 7;

/// The least number of operators that are divided, of a backend that runs the networks of this suite at all.
const FEWEST: usize = 3;

pub(crate) fn check(subject: &Subject) -> Result<(), String> {
    let mut count = 0;
    let models = [part_models::groups, part_models::maps, part_models::weights_first, part_models::quantised];
    for model in models {
        let rig = Rig::of(subject, &model()?)?;
        for id in rig.graph().operator_ids() {
            count += usize::from(divide(&rig, id, subject.tolerance, cuts)?);
        }
    }
    for name in NETWORKS.into_iter().filter(|name| subject.networks.contains(name)) {
        let rig = Rig::of(subject, &zoo(name)?)?;
        let most_macs = subject.slow.as_ref().map_or(u64::MAX, |slow| slow.most_macs);
        let heads = rig.graph().operator_ids().filter(|&id| rig.graph().channel_units(id).is_some());
        let heads = heads.filter(|&id| rig.graph().operator(id).work.macs <= most_macs).step_by(STEP);
        for head in heads {
            divide(&rig, head, subject.tolerance, |units| vec![uneven(units)])?;
        }
    }
    if count < FEWEST {
        return Err(format!("only {count} operators could be divided"));
    }
    misplaced(subject)
}

/// An operator with all that follows it channel by channel, in different parts. Returns whether it can be divided.
fn divide(
    rig: &Rig,
    head: OperatorId,
    tolerance: f32,
    cuts: impl Fn(ChannelUnits) -> Vec<Vec<usize>>,
) -> Result<bool, String> {
    let graph = rig.graph();
    let Some(units) = graph.channel_units(head).filter(|_| rig.supports(head)) else { return Ok(false) };
    let followers = graph.channel_followers(head);
    let supported = followers.iter().take_while(|&&id| rig.supports(id)).count();

    // By itself, and with everything after it. What is one quantised operator stays together.
    for count in [0, supported] {
        if !graph.can_divide_together(head, &followers[..count]) {
            continue;
        }
        let operators: Vec<OperatorId> = [head].into_iter().chain(followers[..count].iter().copied()).collect();
        let whole = Segment::new(graph, operators.clone());
        let inputs = inputs_of(graph, &whole, 3)?;
        let expected = rig.run(&whole, &inputs)?;
        for cuts in cuts(units) {
            let ranges = cuts.windows(2).map(|pair| pair[0]..pair[1]);
            let parts: Result<Vec<Tensor>, String> =
                ranges.map(|range| part(rig, &operators, range, &inputs)).collect();
            let together = joined(&parts?, units.axis).map(|together| [together]);
            let compared = together.and_then(|together| agree(&together, &expected, tolerance));
            compared.map_err(failed(&format!("{} in parts {cuts:?}", description(graph, &whole))))?;
        }
    }
    Ok(true)
}

fn part(rig: &Rig, operators: &[OperatorId], range: Range<usize>, inputs: &[Tensor]) -> Result<Tensor, String> {
    let segment = Segment::part(rig.graph(), operators.to_vec(), range);
    let mut made = rig.run(&segment, inputs)?;
    match made.len() {
        1 => Ok(made.remove(0)),
        count => Err(format!("{} made {count} values", description(rig.graph(), &segment))),
    }
}

/// Where to cut: into single units, unevenly into three, and the first and the last unit apart.
fn cuts(units: ChannelUnits) -> Vec<Vec<usize>> {
    let ChannelUnits { channels, unit, .. } = units;
    let pieces = channels / unit;
    let at = |piece: usize| piece * unit;
    let mut cuts = vec![(0..=pieces).map(at).collect(), vec![0, unit, channels - unit, channels]];
    cuts.push(uneven(units));
    cuts.iter_mut().for_each(Vec::dedup);
    cuts
}

/// A third, most of the rest, and the rest.
fn uneven(units: ChannelUnits) -> Vec<usize> {
    let pieces = units.channels / units.unit;
    let mut cuts = [0, pieces / 3, pieces - pieces / 4, pieces].map(|piece| piece * units.unit).to_vec();
    cuts.dedup();
    cuts
}

/// A cut through a group, no channels, too many, an operator that can't be divided, and one that does not follow.
fn misplaced(subject: &Subject) -> Result<(), String> {
    let rig = Rig::of(subject, &part_models::groups()?)?;
    let order = rig.graph().order();
    let misplaced =
        [(&order[..1], 0..5), (&order[..1], 4..4), (&order[..1], 8..16), (&order[3..4], 0..54), (&order[..4], 0..4)];
    for (operators, range) in misplaced {
        let segment = Segment::part(rig.graph(), operators.to_vec(), range);
        let what = description(rig.graph(), &segment);
        match rig.backend.prepare(&segment, &rig.processor) {
            Err(BackendError::Prepare { .. }) => {}
            Err(error) => return Err(format!("{what}: not refused as a segment that can't be prepared, but: {error}")),
            Ok(_) => return Err(format!("{what}: prepared, although operators can't be divided there")),
        }
    }
    Ok(())
}
