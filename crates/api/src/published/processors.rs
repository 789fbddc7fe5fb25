//! The processors that published algorithms share a network out to.

use millstream_board::{Board, Processor};

use crate::error::Error;
use crate::tuning::parse_places;

/// The processors that a text such as `B4-s2-G1` names; without one, every cluster with all its cores and every
/// accelerator, as in the papers, or each core where there is only one cluster and nothing else.
pub(super) fn processors(board: &Board, text: Option<&str>) -> Result<Vec<Processor>, Error> {
    if let Some(text) = text {
        return parse(text, board);
    }
    let clusters = board.clusters().iter().map(|cluster| cluster.processor(cluster.cores.iter().map(|core| core.id)));
    let accelerators = board.accelerators().iter().map(|accelerator| Processor::accelerator(accelerator.label.clone()));
    let all: Vec<Processor> = clusters.chain(accelerators).collect();
    Ok(match all.as_slice() {
        [only] => only.cores.iter().map(|&core| Processor { cores: vec![core], ..only.clone() }).collect(),
        _ => all,
    })
}

/// Processors in the order of the text: accelerators as `G1`, the others a cluster and a number of cores, lowest
/// numbers first.
fn parse(text: &str, board: &Board) -> Result<Vec<Processor>, Error> {
    let accelerator =
        |part: &str| board.accelerators().iter().find(|accelerator| part == format!("{}1", accelerator.label));
    let (fast, cores): (Vec<&str>, Vec<&str>) = text.split('-').partition(|part| accelerator(part).is_some());
    let mut clusters = match cores.as_slice() {
        [] => Vec::new(),
        parts => parse_places(&parts.join("-"), board)?,
    }
    .into_iter();
    for (place, part) in fast.iter().enumerate() {
        if fast.iter().take(place).any(|other| other == part) {
            return Err(Error::Unfit(format!("'{text}' names '{part}' twice, and there is only one")));
        }
    }
    let processor = |part: &str| match accelerator(part) {
        Some(accelerator) => Some(Processor::accelerator(accelerator.label.clone())),
        None => clusters.next(),
    };
    Ok(text.split('-').filter_map(processor).collect())
}

/// Processors in short, such as `B4, s2`.
pub(super) fn names(processors: &[Processor]) -> String {
    processors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn clusters_and_accelerators_are_processors() {
        let board = millstream_test_support::board("B2#4+s3:400#0+G");
        let shown = |text| names(&processors(&board, text).unwrap());
        assert_eq!(shown(None), "B2, s3, G1");
        assert_eq!(shown(Some("s1-G1-B2-s2")), "s1, G1, B2, s2");
        assert_eq!(processors(&board, Some("s1-G1-s2")).unwrap()[2], Processor::new("s", [1, 2]));
        for (wrong, said) in
            [("G1-B1-G1", "'G1' twice"), ("G2", "no cluster 'G'"), ("B3", "more cores"), ("", "not a cluster")]
        {
            let message = format!("{}", processors(&board, Some(wrong)).unwrap_err());
            assert!(message.contains(said), "{wrong}: {message}");
        }
        let one = Board::from_clusters("one", board.clusters()[..1].to_vec()).unwrap();
        assert_eq!(names(&processors(&one, None).unwrap()), "B1, B1");
    }
}
