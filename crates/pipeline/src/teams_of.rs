use millstream_board::{Board, ProcessorClass};

/// More processors than this on one frame spend their time waiting for each other.
const MOST_PROCESSORS: usize = 4;

/// Sets of processors of a board that may own a stage together: of every cluster, some cores as one processor or as single cores,
/// and accelerators; two to four processors in all.
pub fn teams_of(board: &Board) -> Vec<Vec<ProcessorClass>> {
    let mut found: Vec<Vec<ProcessorClass>> = vec![Vec::new()];
    for cluster in board.clusters() {
        let class = |count| ProcessorClass { cluster: cluster.label.clone(), count };
        let mut ways: Vec<Vec<ProcessorClass>> = vec![Vec::new()];
        for count in 1..=cluster.cores.len() {
            ways.push(vec![class(count)]);
            if count > 1 {
                ways.push(vec![class(1); count]);
            }
        }
        found = combined(&found, &ways);
    }
    for accelerator in board.accelerators() {
        let class = ProcessorClass { cluster: accelerator.label.clone(), count: 1 };
        found = combined(&found, &[Vec::new(), vec![class]]);
    }
    found.retain(|team| team.len() > 1);
    found
}

fn combined(found: &[Vec<ProcessorClass>], ways: &[Vec<ProcessorClass>]) -> Vec<Vec<ProcessorClass>> {
    let pairs = found.iter().flat_map(|team| ways.iter().map(move |way| [team.as_slice(), way].concat()));
    pairs.filter(|team| team.len() <= MOST_PROCESSORS).collect()
}
