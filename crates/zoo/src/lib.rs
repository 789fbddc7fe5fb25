//! The networks that the papers evaluate, built from code, with a small transformer, quantised networks, and the
//! networks of the sweep.
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
mod uniform;
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
    #[error("there is no network '{name}' in the zoo; {}", instead_of(name))]
    Unknown {
        /// The name asked for.
        name: String,
    },
    /// The model did not pass the checks of the reader; a defect of the zoo.
    #[error(transparent)]
    Model(#[from] OnnxError),
}

/// What may have been meant: the networks whose name begins so, or all there are.
fn instead_of(name: &str) -> String {
    let wanted = name.to_lowercase();
    let near: Vec<&str> = names().filter(|known| !wanted.is_empty() && known.starts_with(&wanted)).collect();
    match near.as_slice() {
        [] => format!("it has {}", names().collect::<Vec<_>>().join(", ")),
        near => format!("did you mean {}?", near.join(" or ")),
    }
}

/// One network of the zoo.
#[derive(Debug, Clone, Copy)]
pub struct ZooNetwork {
    /// Its name, as in `zoo:NAME`.
    pub name: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// Sizes of its open dimensions where the caller names none.
    pub dimensions: &'static [(&'static str, usize)],
    build: fn(&mut Layers),
}

/// A network without open dimensions.
const fn fixed(name: &'static str, source: &'static str, build: fn(&mut Layers)) -> ZooNetwork {
    ZooNetwork { name, source, dimensions: &[], build }
}

const NETWORKS: &[ZooNetwork] = &[
    fixed("alexnet", "Krizhevsky et al., NIPS 2012", alexnet::build),
    fixed("vgg16", "Simonyan and Zisserman, ICLR 2015", vgg::vgg16),
    fixed("vgg19", "Simonyan and Zisserman, ICLR 2015", vgg::vgg19),
    fixed("googlenet", "Szegedy et al., CVPR 2015", googlenet::build),
    fixed("squeezenet", "Iandola et al., 2016 (version 1.0)", squeezenet::build),
    fixed("mobilenet-v1", "Howard et al., 2017", mobilenet::v1),
    fixed("mobilenet-v2", "Sandler et al., CVPR 2018", mobilenet::v2),
    fixed("resnet50", "He et al., CVPR 2016", resnet::resnet50),
    fixed("inception-v3", "Szegedy et al., CVPR 2016", inception_v3::build),
    fixed("inception-v4", "Szegedy et al., AAAI 2017", inception_v4::build),
    fixed("inception-resnet-v2", "Szegedy et al., AAAI 2017", inception_resnet_v2::build),
    fixed("yolov3", "Redmon and Farhadi, 2018 (416 x 416)", yolo::v3),
    fixed("petr-like", "after Liu et al., ECCV 2022", petr::build),
    fixed("bevformer-like", "after Li et al., ECCV 2022", bevformer::build),
    fixed("tiny-darknet", "Redmon, pjreddie.com/darknet/tiny-darknet", tiny_darknet::build),
    fixed("resnet50-int8", "He et al., CVPR 2016, quantised to 8 bits", resnet::resnet50_int8),
    fixed("mobilenet-v2-int8", "Sandler et al., CVPR 2018, quantised to 8 bits", mobilenet::v2_int8),
    ZooNetwork {
        dimensions: &[("sequence", 64)],
        ..fixed("minilm-like-int8", "after Wang et al., NeurIPS 2020, matrices of 8 bits", minilm::build_int8)
    },
    fixed("synthnet", "after Soomro et al., Shisha, 2022", synthnet::build),
];

/// All networks.
pub fn networks() -> impl ExactSizeIterator<Item = &'static ZooNetwork> {
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
