//! Flags for frames from files: arrays, and images with their scaling, normalisation and size.

use anyhow::{Result, bail};
use clap::Args;
use millstream::Inputs;
use millstream_frames::{ChannelOrder, ImageOptions, Resizing};

use super::values::{parse_divisor, parse_number};

/// Frames of the user's.
#[derive(Debug, Clone, Args)]
pub(crate) struct InputArguments {
    /// Frames for an input: a .npy, .npz, PNG or JPEG file, or a folder of them; may be repeated. The name may be left
    /// out where there is one input, or a .npz file names its arrays. Other inputs are made up, unless results are
    /// written or expected [default: made-up frames]
    #[arg(long = "input", value_name = "[NAME=]PATH", help_heading = "Frames")]
    pub(crate) inputs: Vec<String>,
    /// For images: the factor for pixels, which are 0 to 255 [default: 1/255, or 1 for integers]
    #[arg(long, value_name = "NUMBER", value_parser = parse_number, requires = "inputs", help_heading = "Frames")]
    scale: Option<f64>,
    /// For images: the mean to subtract after that, one number or one for each channel
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = parse_number, requires = "inputs", allow_negative_numbers = true, help_heading = "Frames")]
    mean: Vec<f64>,
    /// For images: the standard deviation to divide by after that, one number or one for each channel
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = parse_divisor, requires = "inputs", help_heading = "Frames")]
    std: Vec<f64>,
    /// For images: how they are brought to the network's size: stretch, crop or pad
    #[arg(long, value_name = "HOW", default_value = "stretch", requires = "inputs", help_heading = "Frames")]
    resize: Resizing,
    /// For images: the order of colour channels, rgb or bgr
    #[arg(long, value_name = "ORDER", default_value = "rgb", requires = "inputs", help_heading = "Frames")]
    channel_order: ChannelOrder,
}

impl InputArguments {
    /// Frames are for one network.
    pub(crate) fn check_only_network(&self, networks: usize) -> Result<()> {
        if networks != 1 && !self.inputs.is_empty() {
            bail!("--input goes with one network; there are {networks}");
        }
        Ok(())
    }

    /// Whether images are made tensors in another way than without options.
    #[cfg(unix)]
    pub(crate) fn brings_into_form(&self) -> bool {
        let usual = ImageOptions::default();
        let is_usual = (self.resize, self.channel_order) == (usual.resizing, usual.order);
        !is_usual || self.scale.is_some() || !self.mean.is_empty() || !self.std.is_empty()
    }

    /// The same as flags, for another computer where the files have these names.
    #[cfg(unix)]
    pub(crate) fn flags(&self, inputs: &[String]) -> Vec<String> {
        let list = |numbers: &[f64]| numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        let resize = match self.resize {
            Resizing::Stretch => "stretch",
            Resizing::Crop => "crop",
            Resizing::Pad => "pad",
        };
        let order = match self.channel_order {
            ChannelOrder::Rgb => "rgb",
            ChannelOrder::Bgr => "bgr",
        };
        let named = inputs.iter().map(|input| format!("--input={input}"));
        let scale = self.scale.map(|scale| format!("--scale={scale}"));
        let lists = [("--mean", &self.mean), ("--std", &self.std)];
        let lists = lists.into_iter().filter(|(_, numbers)| !numbers.is_empty());
        let lists = lists.map(|(flag, numbers)| format!("{flag}={}", list(numbers)));
        // Without files, none of the others may be there.
        let others =
            scale.into_iter().chain(lists).chain([format!("--resize={resize}"), format!("--channel-order={order}")]);
        named.chain(others.filter(|_| !inputs.is_empty())).collect()
    }

    /// The files, and how images become tensors.
    pub(crate) fn inputs(&self) -> Inputs {
        let mut images = ImageOptions::default();
        images.scale = self.scale;
        images.mean = self.mean.clone();
        images.std = self.std.clone();
        images.resizing = self.resize;
        images.order = self.channel_order;
        Inputs { files: self.inputs.clone(), images, must_be_complete: false }
    }
}
