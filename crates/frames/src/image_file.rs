//! Images as tensors.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::str::FromStr;

use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, ImageResult};
use millstream_backend::Tensor;
use millstream_graph::{DataType, Shape, Value};

use crate::error::FramesError;
use crate::fit::expected;
use crate::jpeg::is_whole;
use crate::made_up::check_memory;

/// How images become tensors: each pixel is multiplied by the scale, less the mean, divided by the standard deviation.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ImageOptions {
    /// Factor of the pixels, which are 0 to 255; `None` is 1/255 for floats and 1 for integers.
    pub scale: Option<f64>,
    /// Mean of each channel, or of all, after scaling; empty is 0.
    pub mean: Vec<f64>,
    /// Standard deviation of each channel, or of all, after scaling; empty is 1.
    pub std: Vec<f64>,
    /// How an image of another size is brought to the network's.
    pub resizing: Resizing,
    /// The order of the channels.
    pub order: ChannelOrder,
}

/// How an image of another size is brought to the network's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resizing {
    /// To the size, whatever that does to its proportions.
    #[default]
    Stretch,
    /// Until it fills the size; what is beyond is cut off on both sides.
    Crop,
    /// Until it fits into the size, in the middle of black.
    Pad,
}

/// The order in which an image's colours are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChannelOrder {
    /// Red, green, blue.
    #[default]
    Rgb,
    /// Blue, green, red.
    Bgr,
}

impl FromStr for Resizing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "stretch" => Ok(Self::Stretch),
            "crop" => Ok(Self::Crop),
            "pad" => Ok(Self::Pad),
            _ => Err(format!("'{text}' is not stretch, crop or pad")),
        }
    }
}

impl FromStr for ChannelOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "rgb" => Ok(Self::Rgb),
            "bgr" => Ok(Self::Bgr),
            _ => Err(format!("'{text}' is not rgb or bgr")),
        }
    }
}

/// How the shape of an input says that an image lies in it.
struct Layout {
    channels: usize,
    height: usize,
    width: usize,
    channels_first: bool,
}

impl Layout {
    /// `[1, channels, height, width]`, `[1, height, width, channels]`, or either without the 1.
    fn of(shape: &Shape) -> Option<Self> {
        let sizes = match shape.dimensions() {
            [1, rest @ ..] if rest.len() == 3 => rest,
            sizes if sizes.len() == 3 => sizes,
            _ => return None,
        };
        let [first, middle, last] = *sizes else { return None };
        let channels_first = Self { channels: first, height: middle, width: last, channels_first: true };
        let channels_last = Self { channels: last, height: first, width: middle, channels_first: false };
        // A 1 may also be a height or a width.
        match (first, last) {
            (3 | 4, _) => Some(channels_first),
            (_, 3 | 4) => Some(channels_last),
            (1, _) => Some(channels_first),
            (_, 1) => Some(channels_last),
            _ => None,
        }
    }
}

/// Reads an image and brings it into the form of an input.
pub(crate) fn read_image(path: &Path, value: &Value, options: &ImageOptions) -> Result<Tensor, FramesError> {
    let format = |detail: String| FramesError::format(path, detail);
    let reader = ImageReader::open(path).map_err(FramesError::reading(path))?;
    let reader = reader.with_guessed_format().map_err(FramesError::reading(path))?;
    let is_jpeg = reader.format() == Some(ImageFormat::Jpeg);
    let image = upright(reader).map_err(|error| format(format!("it can't be read as an image: {error}")))?;
    // Only of what was an image, since other files may have no end.
    if is_jpeg && !is_whole(&fs::read(path).map_err(FramesError::reading(path))?) {
        return Err(format("it is cut off: the end of the image is missing".to_owned()));
    }
    let shape = value.shape.clone().unwrap_or_default();
    let layout = Layout::of(&shape).filter(|layout| layout.height > 0 && layout.width > 0).ok_or_else(|| {
        format(format!(
            "an image does not fit the input '{}', which is {}: images need [1, channels, height, width] or \
             [1, height, width, channels] with 1, 3 or 4 channels",
            value.name,
            expected(value)
        ))
    })?;
    check_memory(&format!("the pixels of {}", path.display()), value.bytes().unwrap_or(0))?;
    let image = resized(&image, &layout, options.resizing);
    let pixels = pixels(&image, &layout, options.order);
    elements(&pixels, value, &layout, options)
        .map_err(format)
        .map(|(data_type, bytes)| Tensor::from_bytes(data_type, shape, bytes))
}

/// The pixels, turned as the camera was held, if the file says so.
fn upright(reader: ImageReader<BufReader<File>>) -> ImageResult<DynamicImage> {
    let mut decoder = reader.into_decoder()?;
    let orientation = decoder.orientation()?;
    let mut image = DynamicImage::from_decoder(decoder)?;
    image.apply_orientation(orientation);
    Ok(image)
}

fn resized(image: &DynamicImage, layout: &Layout, resizing: Resizing) -> DynamicImage {
    let (width, height) = (layout.width as u32, layout.height as u32);
    if (image.width(), image.height()) == (width, height) {
        return image.clone();
    }
    match resizing {
        Resizing::Stretch => image.resize_exact(width, height, FilterType::Triangle),
        Resizing::Crop => image.resize_to_fill(width, height, FilterType::Triangle),
        Resizing::Pad => {
            let inner = image.resize(width, height, FilterType::Triangle).to_rgba8();
            let mut canvas = image::RgbaImage::from_pixel(width, height, image::Rgba([0, 0, 0, 255]));
            let (left, top) = ((width - inner.width()) / 2, (height - inner.height()) / 2);
            image::imageops::overlay(&mut canvas, &inner, i64::from(left), i64::from(top));
            DynamicImage::ImageRgba8(canvas)
        }
    }
}

/// The pixels with their channels side by side.
fn pixels(image: &DynamicImage, layout: &Layout, order: ChannelOrder) -> Vec<u8> {
    let mut pixels = match layout.channels {
        1 => image.to_luma8().into_raw(),
        3 => image.to_rgb8().into_raw(),
        _ => image.to_rgba8().into_raw(),
    };
    if order == ChannelOrder::Bgr && layout.channels >= 3 {
        pixels.chunks_exact_mut(layout.channels).for_each(|pixel| pixel.swap(0, 2));
    }
    pixels
}

/// The elements in the order and type of the input.
fn elements(
    pixels: &[u8],
    value: &Value,
    layout: &Layout,
    options: &ImageOptions,
) -> Result<(DataType, Vec<u8>), String> {
    let per_channel = |list: &[f64], name: &str, default: f64| match list {
        [] => Ok(vec![default; layout.channels]),
        [all] => Ok(vec![*all; layout.channels]),
        list if list.len() == layout.channels => Ok(list.to_vec()),
        list => {
            Err(format!("{name} has {} numbers, the input '{}' {} channels", list.len(), value.name, layout.channels))
        }
    };

    let mean = per_channel(&options.mean, "mean", 0.0)?;
    let std = per_channel(&options.std, "std", 1.0)?;
    let data_type = value.data_type.unwrap_or(DataType::F32);
    let scale = options.scale.unwrap_or(if data_type.is_float() { 1.0 / 255.0 } else { 1.0 });
    let area = layout.height * layout.width;
    let place = |index: usize| {
        if layout.channels_first {
            (index % area * layout.channels + index / area, index / area)
        } else {
            (index, index % layout.channels)
        }
    };
    let number = |index: usize| {
        let (place, channel) = place(index);
        (f64::from(pixels[place]) * scale - mean[channel]) / std[channel]
    };

    let numbers = (0..area * layout.channels).map(number);
    let bytes = match data_type {
        DataType::F32 => numbers.flat_map(|number| (number as f32).to_ne_bytes()).collect(),
        DataType::F64 => numbers.flat_map(f64::to_ne_bytes).collect(),
        DataType::F16 => numbers.flat_map(|number| half::f16::from_f64(number).to_ne_bytes()).collect(),
        DataType::Bf16 => numbers.flat_map(|number| half::bf16::from_f64(number).to_ne_bytes()).collect(),
        DataType::U8 => numbers.map(|number| number.round() as u8).collect(),
        DataType::I8 => numbers.map(|number| number.round() as i8 as u8).collect(),
        DataType::I32 => numbers.flat_map(|number| (number.round() as i32).to_ne_bytes()).collect(),
        DataType::U16 => numbers.flat_map(|number| (number.round() as u16).to_ne_bytes()).collect(),
        other => return Err(format!("an image can't fill the input '{}', whose elements are {other}", value.name)),
    };
    Ok((data_type, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(data_type: DataType, shape: impl Into<Shape>) -> Value {
        Value { name: "image".to_owned(), data_type: Some(data_type), shape: Some(shape.into()) }
    }

    /// Two pixels: red 10, 20, 30 and 40, 50, 60.
    fn two_pixels(folder: &Path) -> std::path::PathBuf {
        let path = folder.join("two.png");
        image::RgbImage::from_raw(2, 1, vec![10, 20, 30, 40, 50, 60]).unwrap().save(&path).unwrap();
        path
    }

    /// A photo of a camera that was held upright has its rows from left to right, and says so.
    #[test]
    fn photos_are_turned_as_the_camera_was_held() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = std::io::Cursor::new(Vec::new());
        let dark_on_the_left = |x: u32, _| image::Luma([if x < 8 { 0 } else { 255 }]);
        image::GrayImage::from_fn(16, 16, dark_on_the_left).write_to(&mut file, ImageFormat::Jpeg).unwrap();
        let file = file.into_inner();
        // Exif with one entry: orientation (0x0112), a short, once: 6, a quarter turn clockwise.
        let exif = b"Exif\0\0MM\0\x2A\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        let length = u16::try_from(exif.len() + 2).unwrap().to_be_bytes();
        let path = folder.path().join("photo.jpg");
        let top_left_and_right = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let tensor = read_image(&path, &value(DataType::U8, [1, 1, 16, 16]), &ImageOptions::default()).unwrap();
            let pixels = tensor.bytes().unwrap().to_vec();
            (pixels[0] > 128, pixels[15] > 128, pixels[15 * 16] > 128)
        };
        assert_eq!(top_left_and_right(&file), (false, true, false));
        let turned = [&file[..2], &[0xFF, 0xE1], &length, exif, &file[2..]].concat();
        assert_eq!(top_left_and_right(&turned), (false, false, true));

        fs::write(&path, &file[..file.len() - 9]).unwrap();
        let error = read_image(&path, &value(DataType::U8, [1, 1, 16, 16]), &ImageOptions::default()).unwrap_err();
        assert!(error.to_string().contains("photo.jpg") && error.to_string().contains("cut off"), "{error}");
    }

    #[test]
    fn pixels_go_where_the_shape_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = two_pixels(folder.path());
        let read = |value: &Value, options: &ImageOptions| read_image(&path, value, options).unwrap();
        let options = ImageOptions::default();
        let first = read(&value(DataType::U8, [1, 3, 1, 2]), &options);
        assert_eq!(first.bytes().unwrap(), [10, 40, 20, 50, 30, 60]);
        let last = read(&value(DataType::U8, [1, 2, 3]), &options);
        assert_eq!(last.bytes().unwrap(), [10, 20, 30, 40, 50, 60]);
        let turned = ImageOptions { order: ChannelOrder::Bgr, ..ImageOptions::default() };
        assert_eq!(read(&value(DataType::U8, [1, 1, 2, 3]), &turned).bytes().unwrap(), [30, 20, 10, 60, 50, 40]);
        let normal = ImageOptions { mean: vec![0.1, 0.2, 0.3], std: vec![0.5], ..ImageOptions::default() };
        let floats = read(&value(DataType::F32, [1, 3, 1, 2]), &normal);
        assert!((floats.as_f32().unwrap()[3] - (50.0 / 255.0 - 0.2) / 0.5).abs() < 1e-6);
    }

    #[test]
    fn images_of_other_sizes_are_brought_to_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wide.png");
        image::GrayImage::from_fn(4, 2, |x, _| image::Luma([if x < 2 { 0 } else { 200 }])).save(&path).unwrap();
        let read = |resizing| {
            let options = ImageOptions { resizing, ..ImageOptions::default() };
            read_image(&path, &value(DataType::U8, [1, 2, 2, 1]), &options).unwrap().bytes().unwrap().to_vec()
        };
        assert!(read(Resizing::Stretch)[0] < 60 && read(Resizing::Stretch)[1] > 140);
        assert_eq!(read(Resizing::Crop), [0, 200, 0, 200]);
        assert_eq!(read(Resizing::Pad)[2..], [0, 0], "one row of image, one of black");
    }

    #[test]
    fn what_is_no_image_or_wants_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = two_pixels(folder.path());
        let refused =
            |value: &Value, options: &ImageOptions| read_image(&path, value, options).unwrap_err().to_string();
        let options = ImageOptions::default();
        assert!(refused(&value(DataType::I64, [1, 128]), &options).contains("i64 [1, 128]"));
        assert!(refused(&value(DataType::Bool, [1, 3, 4, 4]), &options).contains("bool"));
        let two = ImageOptions { mean: vec![0.0, 1.0], ..ImageOptions::default() };
        assert!(refused(&value(DataType::F32, [1, 3, 4, 4]), &two).contains("mean has 2 numbers, the input"));
        std::fs::write(&path, "no image").unwrap();
        assert!(refused(&value(DataType::F32, [1, 3, 4, 4]), &options).contains("two.png"));
    }
}
