//! Whether a JPEG file is whole. Decoders fill what is missing with grey, as suits viewers, and not those who count on
//! the pixels.

/// What begins every marker.
const MARKER: u8 = 0xFF;
const END_OF_IMAGE: u8 = 0xD9;

/// Whether the end of the image is there. What is in segments, such as a small image with an end of its own, is passed
/// over.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    // The start of the image is a marker without a segment.
    let mut at = 2;
    while let Some(marker) = next_marker(bytes, at) {
        if bytes.get(marker + 1) == Some(&END_OF_IMAGE) {
            return true;
        }
        let Some(&[high, low]) = bytes.get(marker + 2..).and_then(<[u8]>::first_chunk) else { return false };
        at = marker + 2 + usize::from(u16::from_be_bytes([high, low]));
    }
    false
}

/// Where the next marker begins that has a segment or is the end: coded pixels have stuffed zeros after what looks like
/// one, and restarts.
fn next_marker(bytes: &[u8], from: usize) -> Option<usize> {
    let is_plain = |kind: u8| matches!(kind, 0 | 1 | MARKER | 0xD0..=0xD7);
    let mut pairs = bytes.get(from..)?.windows(2);
    pairs.position(|pair| pair[0] == MARKER && !is_plain(pair[1])).map(|place| from + place)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::io::Cursor;

    use super::*;

    fn noisy() -> Vec<u8> {
        let pixel =
            |x: u32, y: u32| image::Rgb([(x * 37 + y * 101) as u8, (x * x + y) as u8, ((x ^ y) % 16) as u8 * 15]);
        let mut file = Cursor::new(Vec::new());
        image::RgbImage::from_fn(48, 40, pixel).write_to(&mut file, image::ImageFormat::Jpeg).unwrap();
        file.into_inner()
    }

    #[test]
    fn only_all_of_a_file_is_whole() {
        let file = noisy();
        assert!(is_whole(&file));
        for kept in 0..file.len() {
            assert!(!is_whole(&file[..kept]), "{kept} of {}", file.len());
        }
        // Cameras put more behind the end.
        assert!(is_whole(&[&file[..], b"more"].concat()));
    }

    #[test]
    fn an_image_within_a_segment_has_an_end_of_its_own() {
        let (file, inner) = (noisy(), noisy());
        let length = u16::try_from(inner.len() + 2).unwrap().to_be_bytes();
        let with_inner = [&file[..2], &[MARKER, 0xE1], &length, &inner, &file[2..]].concat();
        assert!(is_whole(&with_inner));
        assert!(!is_whole(&with_inner[..with_inner.len() - 2]));
    }
}
