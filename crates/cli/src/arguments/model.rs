//! Flags for a network and its open dimensions, and the options to read it with.

use anyhow::{Result, bail};
use clap::Args;
use millstream::ReadOptions;

use super::values::{parse_count, parse_dimension};

/// Which network, and what its open dimensions are.
#[derive(Debug, Clone, Args)]
pub(crate) struct ModelArguments {
    /// An ONNX file, or zoo:NAME for a built-in network [default: zoo:squeezenet]
    #[arg(long, value_name = "FILE|zoo:NAME")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) dimensions: DimensionArguments,
}

/// The network of a schedule, and what its open dimensions are.
#[derive(Debug, Clone, Args)]
pub(crate) struct ScheduledModelArguments {
    /// An ONNX file, or zoo:NAME for a built-in network [default: what the schedule names]
    #[arg(long, value_name = "FILE|zoo:NAME")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) dimensions: DimensionArguments,
}

/// What open dimensions are.
#[derive(Debug, Clone, Args)]
pub(crate) struct DimensionArguments {
    /// Size of an open batch dimension [default: 1]
    #[arg(long, value_name = "SIZE", value_parser = parse_count::<u32>)]
    pub(crate) batch: Option<u32>,
    /// Size of another open dimension, by its name or by input and position, such as image.2; may be repeated.
    /// `schedule` takes several sizes, as in sequence=32,64,128, and makes a plan for each
    #[arg(long = "dim", value_name = "NAME=SIZE", value_parser = parse_dimension)]
    pub(crate) dimensions: Vec<(String, Vec<usize>)>,
    /// Read weights also where files beside the model are links to outside its folder, as caches have them; only for
    /// models that you trust
    #[arg(long)]
    linked_weights: bool,
    /// The most weights that are read of files beside the model, in GiB [default: 16]
    #[arg(long, value_name = "GIB", value_parser = clap::value_parser!(u64).range(1..1 << 20))]
    max_weights: Option<u64>,
}

/// So many plans are made at the most.
const MOST_SIZES: usize = 64;

impl DimensionArguments {
    /// Every dimension with its only size.
    pub(crate) fn single(&self) -> Result<Vec<(String, usize)>> {
        let mut combinations = self.combinations()?;
        match combinations.pop().filter(|_| combinations.is_empty()) {
            Some(sizes) => Ok(sizes),
            None => bail!("only `schedule` takes several sizes of a dimension; give --dim one size each"),
        }
    }

    /// The same as flags, for a command that runs elsewhere. `--linked-weights` is not among them: what is copied there
    /// are the files that links lead to, so nothing leads out of the model's folder any more.
    #[cfg(unix)]
    pub(crate) fn flags(&self) -> Vec<String> {
        let sizes = |sizes: &[usize]| sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let dimensions = self.dimensions.iter().map(|(name, wanted)| format!("--dim={name}={}", sizes(wanted)));
        let batch = self.batch.map(|batch| format!("--batch={batch}"));
        let weights = self.max_weights.map(|gib| format!("--max-weights={gib}"));
        batch.into_iter().chain(dimensions).chain(weights).collect()
    }

    /// How a network is read whose dimensions have one size each.
    pub(crate) fn read_options(&self) -> Result<ReadOptions> {
        Ok(self.options_for(self.single()?))
    }

    /// How a network is read, for every combination of sizes.
    pub(crate) fn all_read_options(&self) -> Result<Vec<ReadOptions>> {
        Ok(self.combinations()?.into_iter().map(|sizes| self.options_for(sizes)).collect())
    }

    fn options_for(&self, sizes: Vec<(String, usize)>) -> ReadOptions {
        let batch = self.batch.unwrap_or(1) as usize;
        let options = ReadOptions::default().with_batch(batch).with_dimensions(sizes);
        let most_weight_bytes = self.max_weights.map_or(options.most_weight_bytes, |gib| gib << 30);
        options.with_most_weight_bytes(most_weight_bytes).with_linked_weights(self.linked_weights)
    }

    /// Every combination of sizes.
    fn combinations(&self) -> Result<Vec<Vec<(String, usize)>>> {
        let mut combinations = vec![Vec::new()];
        for (name, sizes) in &self.dimensions {
            let with_size = |known: &Vec<(String, usize)>| {
                let known = known.clone();
                sizes.iter().map(move |&size| [known.as_slice(), &[(name.clone(), size)]].concat()).collect::<Vec<_>>()
            };
            combinations = combinations.iter().flat_map(with_size).collect();
            if combinations.len() > MOST_SIZES {
                bail!("--dim asks for more than {MOST_SIZES} combinations of sizes");
            }
        }
        Ok(combinations)
    }
}
