//! Reading large files.

use std::io::{self, Read};

/// What is read at once. The system handles signals only between two reads.
const PIECE_BYTES: u64 = 16 << 20;

/// Appends what is there, up to so many bytes.
pub(crate) fn read_in_pieces(reader: &mut impl Read, limit: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut left = limit;
    while left > 0 {
        let piece = left.min(PIECE_BYTES);
        let read = reader.by_ref().take(piece).read_to_end(bytes)? as u64;
        left -= read;
        if read < piece {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn files_of_any_length_are_read_up_to_the_limit() {
        let content: Vec<u8> = (0..2 * PIECE_BYTES + 7).map(|index| (index % 251) as u8).collect();
        for limit in [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES + 7, u64::MAX] {
            let mut bytes = vec![9];
            read_in_pieces(&mut content.as_slice(), limit, &mut bytes).unwrap();
            let expected = content.len().min(usize::try_from(limit).unwrap_or(usize::MAX));
            assert!(bytes[0] == 9 && bytes[1..] == content[..expected], "{limit}");
        }
    }
}
