//! What is left of plans when those that others beat are dropped.

use millstream_cost::Nanoseconds;

use crate::plan::Plan;

impl Plan {
    /// Only the plans that no other plan beats in period without losing in latency, from the lowest latency to the
    /// shortest period.
    pub fn undominated(mut plans: Vec<Self>) -> Vec<Self> {
        keep_undominated(&mut plans, |plan| (plan.latency, plan.period));
        plans
    }

    /// Only the plans that no other plan beats in one of energy, period and latency without losing in another, from the
    /// lowest energy on. Plans whose energy is not known come last.
    pub fn undominated_with_energy(mut plans: Vec<Self>) -> Vec<Self> {
        keep_undominated_with_energy(&mut plans, |plan| plan);
        plans
    }
}

/// Keeps only what nothing else beats in the second number without losing in the first, by rising first and falling
/// second number; of equals, the first.
pub(crate) fn keep_undominated<T, N: Ord + Copy>(items: &mut Vec<T>, numbers: impl Fn(&T) -> (N, N)) {
    items.sort_by_key(&numbers);
    let mut least: Option<N> = None;
    items.retain(|item| {
        let second = numbers(item).1;
        let keep = least.is_none_or(|least| second < least);
        if keep {
            least = Some(second);
        }
        keep
    });
}

/// Keeps only what nothing else beats in energy, period or latency without losing in another; from the lowest energy
/// on.
pub(crate) fn keep_undominated_with_energy<T>(items: &mut Vec<T>, plan: impl Fn(&T) -> &Plan) {
    items.sort_by_key(|item| {
        let plan = plan(item);
        (plan.energy.is_none(), plan.energy, plan.period, plan.latency)
    });
    let mut kept: Vec<(Nanoseconds, Nanoseconds)> = Vec::new();
    items.retain(|item| {
        let Plan { period, latency, .. } = *plan(item);
        let is_beaten = kept.iter().any(|other| other.0 <= period && other.1 <= latency);
        if !is_beaten {
            kept.push((period, latency));
        }
        !is_beaten
    });
}
