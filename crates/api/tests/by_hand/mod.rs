//! Pipelines of single processors that compete for memory, worked out with plain numbers: a check on the simulator that
//! shares none of its code.

use millstream_cost::CostTable;
use millstream_graph::Graph;
use millstream_schedule::{Schedule, StageId};

/// Frames that pass, and those among them that the period is taken from: the pipeline is full, and no worker idles yet
/// because frames run out.
const FRAMES: usize = 1500;
const FULL: std::ops::Range<usize> = 500..1300;

/// A processor that does all of its stage's work on a frame: tasks one after the other, each in nanoseconds and bytes.
struct Worker {
    stage: usize,
    tasks: Vec<(f64, f64)>,
    /// The task that it is at, and what is left of it at full speed; `None` while it waits for a frame.
    at: Option<(usize, f64)>,
    /// When it takes its first frame at the earliest, in nanoseconds.
    begins: f64,
}

impl Worker {
    /// Bytes a nanosecond that it moves at full speed.
    fn wanted(&self) -> f64 {
        self.at.map_or(0.0, |(task, _)| self.tasks[task].1 / self.tasks[task].0)
    }

    /// Works for some time; whether it is done with its frame.
    fn work(&mut self, nanoseconds: f64) -> bool {
        let Some((mut task, mut left)) = self.at else { return false };
        left -= nanoseconds;
        while left < 1e-6 {
            task += 1;
            let Some((next, _)) = self.tasks.get(task) else {
                self.at = None;
                return true;
            };
            left = *next;
        }
        self.at = Some((task, left));
        false
    }
}

/// Seconds between two frames of a schedule whose replicas have one processor each, if all of them move at most so many
/// bytes a second, equally much each that wants more than that.
pub(crate) fn period_seconds(schedule: &Schedule, graph: &Graph, table: &CostTable, bytes_per_second: f64) -> f64 {
    let mut workers = workers(schedule, graph, table);
    let last = schedule.stages.len();
    // Frames before each stage; a new one comes whenever one has left.
    let mut waiting = vec![0; last + 1];
    waiting[0] = schedule.frames_in_flight();
    let (mut now, mut ends) = (0.0, Vec::new());
    while ends.len() < FRAMES {
        for worker in workers.iter_mut().rev().filter(|worker| worker.at.is_none() && worker.begins < now + 1e-6) {
            if waiting[worker.stage] > 0 {
                waiting[worker.stage] -= 1;
                worker.at = Some((0, worker.tasks[0].0));
            }
        }

        let wanted: Vec<f64> = workers.iter().map(Worker::wanted).collect();
        let most = most_each(&wanted, bytes_per_second * 1e-9);
        let speed = |worker: &Worker| (most / worker.wanted()).min(1.0);
        let until_next = |worker: &Worker| worker.at.map_or(f64::INFINITY, |(_, left)| left / speed(worker));
        let begins = workers.iter().map(|worker| worker.begins - now).filter(|left| *left > 1e-6);
        let step = workers.iter().map(until_next).chain(begins).fold(f64::INFINITY, f64::min);
        now += step;
        for worker in &mut workers {
            if worker.work(step * speed(worker)) {
                waiting[worker.stage + 1] += 1;
                if worker.stage + 1 == last {
                    waiting[0] += 1;
                    ends.push(now);
                }
            }
        }
    }
    (ends[FULL.end] - ends[FULL.start]) / FULL.len() as f64 * 1e-9
}

/// The workers of all stages. Taking a frame over is a task that moves nothing.
fn workers(schedule: &Schedule, graph: &Graph, table: &CostTable) -> Vec<Worker> {
    let mut workers = Vec::new();
    for (stage, own) in schedule.stages.iter().enumerate() {
        for replica in &own.replicas {
            let [assignment] = &replica.assignments[..] else { panic!("{schedule} has teams") };
            let processor = table.find(&assignment.processor.class()).unwrap();
            let mut tasks = vec![(replica.hand_over(&schedule.entry(StageId::new(stage)), graph, table).0 as f64, 0.0)];
            for &id in &assignment.operators {
                let time = table.time(processor, id).unwrap();
                tasks.push((time.0 as f64, graph.operator(id).work.bytes() as f64));
            }
            tasks.retain(|(time, _)| *time > 0.0);
            workers.push(Worker { stage, tasks, at: None, begins: 0.0 });
        }
    }
    // Those of the first stage begin as far apart as its frames are where nobody waits for memory.
    let first = schedule.stages[0].replicas.len();
    let rate = |worker: &Worker| 1.0 / worker.tasks.iter().map(|(time, _)| time).sum::<f64>();
    let period = 1.0 / workers[..first].iter().map(rate).sum::<f64>();
    for (place, worker) in workers[..first].iter_mut().enumerate() {
        worker.begins = place as f64 * period;
    }
    workers
}

/// What each may move at most, so that all together move no more than `total`: what is left over by those that want
/// less than their part goes to the others.
fn most_each(wanted: &[f64], total: f64) -> f64 {
    let mut most = total / wanted.len() as f64;
    loop {
        let (modest, greedy): (Vec<f64>, Vec<f64>) = wanted.iter().copied().partition(|wanted| *wanted <= most);
        if greedy.is_empty() {
            return f64::INFINITY;
        }
        let part = (total - modest.iter().sum::<f64>()) / greedy.len() as f64;
        if part <= most {
            return most;
        }
        most = part;
    }
}
