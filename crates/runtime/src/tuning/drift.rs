//! Telling changed conditions from noise.

use millstream_machine::CoreLoad;
use millstream_schedule::StageId;

use crate::tuning::Observation;

/// What changed between two observations by more than `limit`: a stage's time or a core's clock, relatively, or the
/// part of a core that is left to us. `None` if nothing did.
pub(crate) fn drift(before: &Observation, now: &Observation, limit: f64) -> Option<String> {
    let percent = |ratio: f64| format!("{:+.0} %", 100.0 * (ratio - 1.0));
    let is_changed = |ratio: f64| ratio > 1.0 + limit || ratio < 1.0 / (1.0 + limit);
    let stages = StageId::all(now.replica_times.len()).zip(&now.replica_times);
    for ((stage, later), earlier) in stages.zip(&before.replica_times) {
        let replicas = later.len();
        for (replica, pair) in earlier.iter().zip(later).enumerate() {
            let (Some(earlier), Some(later)) = pair else { continue };
            let ratio = later.as_secs_f64() / earlier.as_secs_f64().max(1e-9);
            if is_changed(ratio) {
                let what = match replicas {
                    1 => format!("stage {stage}"),
                    _ => format!("replica {} of stage {stage}", replica + 1),
                };
                return Some(format!("the time of {what} changed by {}", percent(ratio)));
            }
        }
    }

    now.cores.iter().find_map(|core| {
        let earlier = before.cores.iter().find(|other| other.core == core.core)?;
        let clock = |load: &CoreLoad| load.hertz.filter(|&hertz| hertz > 0).map(|hertz| hertz as f64);
        if let (Some(was), Some(is)) = (clock(earlier), clock(core))
            && is_changed(is / was)
        {
            return Some(format!("the clock of core {} changed by {}", core.core, percent(is / was)));
        }
        let change = core.available() - earlier.available();
        let direction = if change > 0.0 { "fell" } else { "rose" };
        (change.abs() > limit).then(|| format!("other load on core {} {direction}", core.core))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use millstream_board::CoreId;
    use millstream_schedule::Schedule;

    use super::*;

    fn seen(times: &[&[u64]], others: f64, hertz: Option<u64>) -> Observation {
        let stage = |times: &&[u64]| times.iter().map(|&time| Some(Duration::from_millis(time))).collect();
        Observation {
            schedule: Schedule { stages: Vec::new() },
            replica_times: times.iter().map(stage).collect(),
            period: Duration::from_millis(1),
            latency: Duration::from_millis(1),
            cores: vec![CoreLoad { core: CoreId(3), own: 0.3, others, hertz }],
        }
    }

    #[test]
    fn only_large_changes_count() {
        let before = seen(&[&[100], &[50, 60]], 0.1, Some(1_000_000));
        assert_eq!(drift(&before, &seen(&[&[110], &[45, 60]], 0.2, Some(900_000)), 0.2), None);
        let slower = drift(&before, &seen(&[&[100], &[50, 90]], 0.1, Some(1_000_000)), 0.2);
        assert_eq!(slower.as_deref(), Some("the time of replica 2 of stage 2 changed by +50 %"));
        let faster = drift(&before, &seen(&[&[60], &[50, 60]], 0.1, None), 0.2);
        assert_eq!(faster.as_deref(), Some("the time of stage 1 changed by -40 %"));
        let clock = drift(&before, &seen(&[&[100], &[50, 60]], 0.1, Some(600_000)), 0.2);
        assert_eq!(clock.as_deref(), Some("the clock of core 3 changed by -40 %"));
        let busy = drift(&before, &seen(&[&[100], &[50, 60]], 0.6, Some(1_000_000)), 0.2);
        assert_eq!(busy.as_deref(), Some("other load on core 3 rose"));
    }

    #[test]
    fn replicas_without_frames_say_nothing() {
        let before = seen(&[&[100]], 0.0, None);
        let mut now = seen(&[&[900]], 0.0, None);
        now.replica_times[0][0] = None;
        assert_eq!(drift(&before, &now, 0.2), None);
    }
}
