//! The convolutional networks that the papers evaluate, built from code.
//!
//! Weights are random with a fixed seed and scaled so that activations keep their size from layer to layer (He
//! initialisation), so outputs are well-behaved numbers that any two runtimes can be compared on. Nothing is downloaded
//! and nothing is stored: building takes from milliseconds to about a second.
//!
//! ```
//! let model = millstream_zoo::build("squeezenet")?;
//! assert_eq!(model.graph().name(), "squeezenet");
//! assert!(model.graph().macs() > 300_000_000);
//! # Ok::<(), millstream_zoo::ZooError>(())
//! ```
//!
//! Invariants: the same name gives the same bytes on every machine; this crate never touches a file.

mod alexnet;
mod bevformer;
mod googlenet;
mod inception;
mod inception_resnet_v2;
mod inception_v3;
mod inception_v4;
mod layers;
mod minilm;
mod mobilenet;
mod petr;
mod quantised;
mod resnet;
mod squeezenet;
mod sweep;
mod synthnet;
mod tiny_darknet;
mod tokens;
mod vgg;
mod yolo;

use millstream_onnx::{Model, OnnxError, ReadOptions};
use thiserror::Error;

use crate::layers::Layers;

pub use sweep::Sweep;

/// Why a network could not be built.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ZooError {
    /// No network has this name.
    #[error("there is no network '{name}' in the zoo; it has {}", names().collect::<Vec<_>>().join(", "))]
    Unknown {
        /// The name asked for.
        name: String,
    },
    /// The model did not pass the checks of the reader; a defect of the zoo.
    #[error(transparent)]
    Model(#[from] OnnxError),
}

/// One network of the zoo.
#[derive(Debug, Clone, Copy)]
pub struct Network {
    /// Its name, as in `zoo:NAME`.
    pub name: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// Sizes of its open dimensions where the caller names none.
    pub dimensions: &'static [(&'static str, usize)],
    build: fn(&mut Layers),
}

const NETWORKS: &[Network] = &[
    Network { name: "alexnet", source: "Krizhevsky et al., NIPS 2012", dimensions: &[], build: alexnet::build },
    Network { name: "vgg16", source: "Simonyan and Zisserman, ICLR 2015", dimensions: &[], build: vgg::vgg16 },
    Network { name: "vgg19", source: "Simonyan and Zisserman, ICLR 2015", dimensions: &[], build: vgg::vgg19 },
    Network { name: "googlenet", source: "Szegedy et al., CVPR 2015", dimensions: &[], build: googlenet::build },
    Network {
        name: "squeezenet",
        source: "Iandola et al., 2016 (version 1.0)",
        dimensions: &[],
        build: squeezenet::build,
    },
    Network { name: "mobilenet-v1", source: "Howard et al., 2017", dimensions: &[], build: mobilenet::v1 },
    Network { name: "mobilenet-v2", source: "Sandler et al., CVPR 2018", dimensions: &[], build: mobilenet::v2 },
    Network { name: "resnet50", source: "He et al., CVPR 2016", dimensions: &[], build: resnet::resnet50 },
    Network { name: "inception-v3", source: "Szegedy et al., CVPR 2016", dimensions: &[], build: inception_v3::build },
    Network { name: "inception-v4", source: "Szegedy et al., AAAI 2017", dimensions: &[], build: inception_v4::build },
    Network {
        name: "inception-resnet-v2",
        source: "Szegedy et al., AAAI 2017",
        dimensions: &[],
        build: inception_resnet_v2::build,
    },
    Network { name: "yolov3", source: "Redmon and Farhadi, 2018 (416 x 416)", dimensions: &[], build: yolo::v3 },
    Network { name: "petr-like", source: "after Liu et al., ECCV 2022", dimensions: &[], build: petr::build },
    Network { name: "bevformer-like", source: "after Li et al., ECCV 2022", dimensions: &[], build: bevformer::build },
    Network {
        name: "tiny-darknet",
        source: "Redmon, pjreddie.com/darknet/tiny-darknet",
        dimensions: &[],
        build: tiny_darknet::build,
    },
    Network {
        name: "resnet50-int8",
        source: "He et al., CVPR 2016, quantised to 8 bits",
        dimensions: &[],
        build: resnet::resnet50_int8,
    },
    Network {
        name: "mobilenet-v2-int8",
        source: "Sandler et al., CVPR 2018, quantised to 8 bits",
        dimensions: &[],
        build: mobilenet::v2_int8,
    },
    Network {
        name: "minilm-like-int8",
        source: "after Wang et al., NeurIPS 2020, matrices of 8 bits",
        dimensions: &[("sequence", 64)],
        build: minilm::build_int8,
    },
    Network { name: "synthnet", source: "after Soomro et al., Shisha, 2022", dimensions: &[], build: synthnet::build },
];

/// All networks.
pub fn networks() -> impl ExactSizeIterator<Item = &'static Network> {
    NETWORKS.iter()
}

/// The names of all networks.
pub fn names() -> impl Iterator<Item = &'static str> {
    NETWORKS.iter().map(|network| network.name)
}

/// Builds the network of this name.
///
/// # Errors
/// [`ZooError::Unknown`] if there is none.
pub fn build(name: &str) -> Result<Model, ZooError> {
    build_with(name, &ReadOptions::default())
}

/// The same with sizes for its open dimensions, if it has any.
///
/// # Errors
/// [`ZooError::Unknown`] if there is none, [`ZooError::Model`] if an open dimension has no size.
pub fn build_with(name: &str, options: &ReadOptions) -> Result<Model, ZooError> {
    let network = NETWORKS
        .iter()
        .find(|network| network.name == name)
        .ok_or_else(|| ZooError::Unknown { name: name.to_owned() })?;
    let mut layers = Layers::new(network.name);
    (network.build)(&mut layers);
    let mut options = options.clone();
    for &(name, size) in network.dimensions {
        options.dimensions.entry(name.to_owned()).or_insert(size);
    }
    Ok(layers.finish_with(&options)?)
}
