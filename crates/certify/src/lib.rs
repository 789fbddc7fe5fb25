//! Certificates: what is proven of a schedule, in a form that a stranger can check.
//!
//! A [`Certificate`] has a bound on the period of *all* schedules on a board by given costs, with the dual solution
//! that proves it; the shortest period of pipelines of contiguous stages on single processors or replicas of them, with
//! what can be reached below it; and a bound on all pipelines that were searched for, whose stages may also run on
//! teams, with a dual solution for each team. Of a system of several hosts it has the shortest period of pipelines on
//! single processors whose stages on a host follow each other. [`check()`] works all of it out again. It shares with the searches
//! documents, the network's blocks and subgraphs, the rules of execution, and what `graph` and `cost` say of one
//! operator: whether and how it may be divided, its transfers, its time in memory.
//!
//! ```
//! use millstream_board::Board;
//! use millstream_certify::{PartsPerBillion, ThroughputProof, check_throughput};
//! use millstream_cost::{CostTable, Nanoseconds};
//! use millstream_graph::{DataType, GraphBuilder, NewOperator, OperatorId, OperatorKind, Shape};
//!
//! let mut builder = GraphBuilder::new("one operator");
//! let input = builder.value("input", Some(DataType::F32), Some(Shape::from([1])))?;
//! let output = builder.value("output", Some(DataType::F32), Some(Shape::from([1])))?;
//! builder.input(input);
//! builder.operator(NewOperator::new("operator", "Own", OperatorKind::Opaque).reads([input]).makes([output]))?;
//! builder.output(output);
//! let graph = builder.build()?;
//!
//! let board = Board::from_json(r#"{"format": "millstream-board", "version": 1, "name": "two cores",
//!     "clusters": [{"label": "B", "capacity": 1024, "cores": [{"id": 0}, {"id": 1}]}]}"#)?;
//! let mut table = CostTable::new(1, board.processor_classes());
//! // A microsecond, on one core or on two.
//! table.class_ids().for_each(|processor| table.set_time(processor, OperatorId::new(0), Nanoseconds(1000)));
//!
//! // All worth is in the only cluster. Its two cores pass a frame every half microsecond, and no more.
//! let shares = vec![PartsPerBillion { label: "B".into(), parts: 1_000_000_000 }];
//! let proof = |period_nanoseconds| ThroughputProof { period_nanoseconds, shares: shares.clone() };
//! assert!(check_throughput(&proof(500), &graph, &board, &table).is_ok());
//! assert!(check_throughput(&proof(501), &graph, &board, &table).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants: nothing here searches, and nothing here calls a search; whatever a certificate says is worked out again
//! from the network, the board and the costs.

mod certificate;
mod check;
mod comparing;
mod error;
mod hosts;
mod network;
mod part_shares;
mod promise;
mod reached;
mod searched;
mod single;
mod space;
mod stage_rates;
mod team_costs;
mod teams;
mod throughput;
mod windows;

pub use certificate::{
    CERTIFICATE_FORMAT, CERTIFICATE_VERSION, Certificate, HostsProof, PartsPerBillion, ReachedState, SearchedProof,
    SearchedTeams, SingleProcessorProof, TeamProof, ThroughputProof,
};
pub use check::check;
pub use error::CertifyError;
pub use hosts::{can_check_hosts, check_hosts};
pub use network::NetworkBlocks;
pub use promise::check_prediction;
pub use searched::check_searched;
pub use single::check_single_processors;
pub use throughput::check_throughput;
