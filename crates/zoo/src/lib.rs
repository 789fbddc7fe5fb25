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
mod mobilenet;
mod petr;
mod resnet;
mod squeezenet;
mod sweep;
mod synthnet;
mod tiny_darknet;
mod tokens;
mod vgg;
mod yolo;

use millstream_onnx::{Model, OnnxError};
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
    build: fn(&mut Layers),
}

const NETWORKS: &[Network] = &[
    Network { name: "alexnet", source: "Krizhevsky et al., NIPS 2012", build: alexnet::build },
    Network { name: "vgg16", source: "Simonyan and Zisserman, ICLR 2015", build: vgg::vgg16 },
    Network { name: "vgg19", source: "Simonyan and Zisserman, ICLR 2015", build: vgg::vgg19 },
    Network { name: "googlenet", source: "Szegedy et al., CVPR 2015", build: googlenet::build },
    Network { name: "squeezenet", source: "Iandola et al., 2016 (version 1.0)", build: squeezenet::build },
    Network { name: "mobilenet-v1", source: "Howard et al., 2017", build: mobilenet::v1 },
    Network { name: "mobilenet-v2", source: "Sandler et al., CVPR 2018", build: mobilenet::v2 },
    Network { name: "resnet50", source: "He et al., CVPR 2016", build: resnet::resnet50 },
    Network { name: "inception-v3", source: "Szegedy et al., CVPR 2016", build: inception_v3::build },
    Network { name: "inception-v4", source: "Szegedy et al., AAAI 2017", build: inception_v4::build },
    Network { name: "inception-resnet-v2", source: "Szegedy et al., AAAI 2017", build: inception_resnet_v2::build },
    Network { name: "yolov3", source: "Redmon and Farhadi, 2018 (416 x 416)", build: yolo::v3 },
    Network { name: "petr-like", source: "after Liu et al., ECCV 2022", build: petr::build },
    Network { name: "bevformer-like", source: "after Li et al., ECCV 2022", build: bevformer::build },
    Network { name: "tiny-darknet", source: "Redmon, pjreddie.com/darknet/tiny-darknet", build: tiny_darknet::build },
    Network { name: "synthnet", source: "after Soomro et al., Shisha, 2022", build: synthnet::build },
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
    let network = NETWORKS
        .iter()
        .find(|network| network.name == name)
        .ok_or_else(|| ZooError::Unknown { name: name.to_owned() })?;
    let mut layers = Layers::new(network.name);
    (network.build)(&mut layers);
    Ok(layers.finish()?)
}
