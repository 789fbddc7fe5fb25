//! Which operators the runtime fuses, learned from traces.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use millstream_board::EngineName;

use crate::profile::{NetworkProfile, Profile};
use crate::samples::OperatorRecord;

/// Whether an operator of one type runs as a part of an operator of another type before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FusionRule {
    /// Type of the operator that starts the group.
    pub first: String,
    /// Type of the operator after it.
    pub second: String,
    /// Times that they ran as one.
    pub fused: usize,
    /// Times that they did not.
    pub separate: usize,
    /// The engine that ran them.
    #[serde(default, skip_serializing_if = "EngineName::is_default")]
    pub engine: EngineName,
}

/// All that is known about how an engine fuses operators.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Fusion {
    is_fused: HashMap<String, HashMap<String, bool>>,
}

impl Fusion {
    /// Counts what the traces of a profile show.
    pub(crate) fn rules(profile: &Profile) -> Vec<FusionRule> {
        let samples = profile.networks.iter().flat_map(|network| &network.operator_samples);
        let engines: BTreeSet<EngineName> = samples.map(|sample| sample.processor.engine).collect();
        engines.into_iter().flat_map(|engine| Self::rules_of(profile, engine)).collect()
    }

    fn rules_of(profile: &Profile, engine: EngineName) -> Vec<FusionRule> {
        let mut counts: BTreeMap<(&str, &str), (usize, usize)> = BTreeMap::new();
        for network in &profile.networks {
            count(network, engine, &mut counts);
        }
        let rule = |((first, second), (fused, separate)): ((&str, &str), (usize, usize))| FusionRule {
            first: first.to_owned(),
            second: second.to_owned(),
            fused,
            separate,
            engine,
        };
        counts.into_iter().map(rule).collect()
    }

    pub(crate) fn new(rules: &[FusionRule], engine: EngineName) -> Self {
        let mut is_fused: HashMap<String, HashMap<String, bool>> = HashMap::new();
        for rule in rules.iter().filter(|rule| rule.engine == engine) {
            is_fused.entry(rule.first.clone()).or_default().insert(rule.second.clone(), rule.fused > rule.separate);
        }
        Self { is_fused }
    }

    /// Divides the operators of a block into those that will run as one.
    pub(crate) fn groups<'a>(&self, block: &'a [OperatorRecord]) -> Vec<&'a [OperatorRecord]> {
        let mut starts = vec![0];
        for (index, operator) in block.iter().enumerate().skip(1) {
            let start = starts.last().copied().unwrap_or(0);
            let first = &block[start].op_type;
            let is_fused = self.is_fused.get(first).and_then(|seconds| seconds.get(&operator.op_type)).copied();
            if !is_fused.unwrap_or(false) {
                starts.push(index);
            }
        }
        let ends = starts.iter().skip(1).copied().chain([block.len()]);
        starts.iter().zip(ends).map(|(&start, end)| &block[start..end]).filter(|group| !group.is_empty()).collect()
    }
}

fn count<'a>(
    network: &'a NetworkProfile,
    engine: EngineName,
    counts: &mut BTreeMap<(&'a str, &'a str), (usize, usize)>,
) {
    // Fusion does not depend on the cores; one class's traces are enough.
    let classes = network.operator_samples.iter().map(|sample| &sample.processor);
    let Some(class) = classes.clone().find(|class| class.engine == engine) else { return };
    let mut group_of: HashMap<usize, usize> = HashMap::new();
    let class_samples = network.operator_samples.iter().filter(|sample| sample.processor == *class);
    for (group, sample) in class_samples.enumerate() {
        group_of.extend(sample.operators.iter().map(|&operator| (operator, group)));
    }
    let mut offset = 0;
    for block in &network.blocks {
        let mut start = 0;
        for index in 1..block.len() {
            let counted = counts.entry((&block[start].op_type, &block[index].op_type)).or_default();
            match (group_of.get(&(offset + start)), group_of.get(&(offset + index))) {
                (Some(first), Some(second)) if first == second => counted.0 += 1,
                _ => {
                    counted.1 += 1;
                    start = index;
                }
            }
        }
        offset += block.len();
    }
}

#[cfg(test)]
mod tests {
    use millstream_graph::{OperatorKind, Work};

    use super::*;

    #[test]
    fn operators_are_fused_where_most_traces_show_it() {
        let record = |op_type: &str| OperatorRecord {
            name: op_type.to_owned(),
            op_type: op_type.to_owned(),
            kind: OperatorKind::Opaque,
            work: Work::default(),
            input_channels: None,
        };
        let block = [record("Conv"), record("Relu"), record("Relu")];
        let groups = |fused, separate| {
            let engine = EngineName::default();
            let (first, second) = ("Conv".to_owned(), "Relu".to_owned());
            let fusion = Fusion::new(&[FusionRule { first, second, fused, separate, engine }], engine);
            fusion.groups(&block).iter().map(|group| group.len()).collect::<Vec<_>>()
        };
        assert_eq!(groups(3, 2), [3]);
        assert_eq!(groups(2, 2), [1, 1, 1], "as often as not is not most of the time");
    }
}
