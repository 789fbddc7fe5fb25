//! A front in pieces, each of the points whose periods are in one range.

use std::num::NonZero;
use std::thread;

use millstream_cost::Nanoseconds;
use millstream_mapping::on_threads;

use crate::front::front_search::FrontSearch;
use crate::plan::Plan;
use crate::problem::Problem;

/// The lower ends of pieces are above the shortest period by this part of it times squares of whole numbers: points are
/// the closer together the shorter their periods are.
const SHORTEST_PIECE: f64 = 0.005;
/// How many pieces have a lower end above the shortest period; the longest of these ends is 18 times as long.
const MOST_PIECES: u64 = 60;
/// Stages to choose from, from which on several threads are worth what each of them has to set up.
const STAGES_FOR_THREADS: usize = 400_000;

/// Ranges of periods of a front, from the longest to the shortest.
pub(crate) struct FrontPieces {
    pieces: Vec<Piece>,
    threads: usize,
}

/// Points of a front with periods in a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    shortest: Nanoseconds,
    longest: Nanoseconds,
}

/// Walks along pieces in their order, of which it may leave out some.
struct PieceWalker<'a> {
    search: FrontSearch<'a>,
    /// The period of the last point that was found. Pieces of longer periods that come next have no points.
    last_period: Option<Nanoseconds>,
}

impl FrontPieces {
    /// Of a front of which no period is shorter than some. Where there is little to do, and where points are left out
    /// that are close to others, it is one piece.
    pub(crate) fn of(problem: &Problem, shortest: Nanoseconds) -> Self {
        let stages = problem.blocks() * problem.blocks() / 2 * problem.counts().len();
        if problem.settings.has_wide_steps || stages < STAGES_FOR_THREADS {
            return Self::new(shortest, 0, 1);
        }
        Self::new(shortest, MOST_PIECES, thread::available_parallelism().map_or(1, NonZero::get))
    }

    fn new(shortest: Nanoseconds, most_pieces: u64, threads: usize) -> Self {
        let end = |place: u64| {
            let above = SHORTEST_PIECE * (place * place) as f64 * shortest.0 as f64;
            Nanoseconds(shortest.0.saturating_add(above as u64))
        };
        let mut longest = Nanoseconds(u64::MAX - 1);
        let mut pieces = Vec::new();
        for end in (1..=most_pieces).rev().map(end).filter(|&end| end > shortest) {
            if end < longest {
                pieces.push(Piece { shortest: Nanoseconds(end.0 + 1), longest });
                longest = end;
            }
        }
        pieces.push(Piece { shortest, longest });
        Self { pieces, threads }
    }

    /// The plans of all pieces, from the lowest latency to the shortest period.
    pub(crate) fn walk<'a>(&self, problem: &'a Problem, search: impl Fn() -> FrontSearch<'a> + Sync) -> Vec<Plan> {
        let worker = || PieceWalker { search: search(), last_period: None };
        let work = |walker: &mut PieceWalker<'_>, piece: usize| walker.walk(problem, self.pieces[piece]);
        let mut front: Vec<Plan> = Vec::new();
        for plan in on_threads(self.threads, self.pieces.len(), worker, work).into_iter().flatten() {
            // A later point with the same latency and a shorter period replaces the earlier one.
            if front.last().is_some_and(|last| last.latency == plan.latency) {
                front.pop();
            }
            front.push(plan);
        }
        front
    }
}

impl PieceWalker<'_> {
    /// The points of a piece: asks for the lowest latency with a shorter period than the last point's again and again.
    fn walk(&mut self, problem: &Problem, piece: Piece) -> Vec<Plan> {
        let mut points = Vec::new();
        if self.last_period.is_some_and(|period| period < piece.shortest) {
            return points;
        }
        if piece.longest < self.search.bound() {
            self.search.tighten(piece.longest);
        }
        while let Some(plan) = self.search.lowest_latency() {
            self.last_period = Some(plan.period);
            if plan.period < piece.shortest {
                break;
            }
            // No period is shorter than nothing, which networks of operators without any known work take.
            let shorter = problem.settings.shorter(plan.period);
            points.push(plan);
            // Without a shorter bound the same plan would come again and again.
            match shorter.filter(|period| *period < self.search.bound() && *period >= piece.shortest) {
                Some(period) => self.search.tighten(period),
                None => break,
            }
        }
        points
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::front::pareto_front::tests::problem;
    use crate::options::stage_options::StageOptions;
    use crate::options::useful_ways::UsefulWays;
    use crate::period::period_search::ShortestStages;

    #[test]
    fn pieces_have_every_period_once() {
        for (shortest, most_pieces) in
            [(0, 60), (1, 60), (7, 60), (1_000, 60), (1_000, 3), (1_000, 0), (u64::MAX / 2, 9)]
        {
            let FrontPieces { pieces, .. } = FrontPieces::new(Nanoseconds(shortest), most_pieces, 1);
            assert_eq!(pieces[0].longest, Nanoseconds(u64::MAX - 1));
            assert_eq!(pieces.last().unwrap().shortest, Nanoseconds(shortest));
            assert!(pieces.iter().all(|piece| piece.shortest <= piece.longest), "{pieces:?}");
            assert!(pieces.windows(2).all(|pair| pair[0].shortest.0 == pair[1].longest.0 + 1), "{pieces:?}");
            assert!(pieces.len() as u64 <= most_pieces + 1);
        }
        let FrontPieces { pieces, .. } = FrontPieces::new(Nanoseconds(1_000), 3, 1);
        let shortest: Vec<u64> = pieces.iter().map(|piece| piece.shortest.0).collect();
        assert_eq!(shortest, [1_046, 1_021, 1_006, 1_000], "4.5, 2, and half a percent above");
    }

    /// Whichever thread walks along which piece.
    #[test]
    fn pieces_have_the_points_of_the_whole_front() {
        let mut points = 0;
        for seed in 0..4 {
            let problem = problem(seed);
            let ways = UsefulWays::of(&problem);
            let shortest = ShortestStages::of(&problem, &ways).unwrap().period;
            let options = StageOptions::by_time_above(&problem, &ways, shortest);
            let walk = |most_pieces, threads| {
                let pieces = FrontPieces::new(shortest, most_pieces, threads);
                pieces.walk(&problem, || FrontSearch::new(&problem, &options, &ways))
            };
            let whole = walk(0, 1);
            for (most_pieces, threads) in [(1, 1), (2, 2), (5, 3), (60, 1), (60, 2), (60, 5)] {
                assert_eq!(walk(most_pieces, threads), whole, "{seed}, {most_pieces} pieces, {threads} threads");
            }
            points += whole.len();
        }
        assert!(points > 40, "{points}");
    }
}
