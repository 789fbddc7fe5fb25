//! Whether an engine wrote a result where it was told to. Some leave the memory alone, as where a result is an input
//! handed on, and say nothing of it.

/// What stands at both ends of the memory before a run.
const UNWRITTEN: [u8; 16] = *b"\xbe\x5f\xa1\xe7\x4d\xc3\x92\x68\xf3\x17\x8a\xd5\x2c\xb9\x76\x4e";

/// Makes it visible whether something is written.
pub fn mark(memory: &mut [u8]) {
    let ends = memory.len().min(UNWRITTEN.len());
    let last = memory.len() - ends;
    memory[..ends].copy_from_slice(&UNWRITTEN[..ends]);
    memory[last..].copy_from_slice(&UNWRITTEN[..ends]);
}

/// Whether the marks are gone.
/// A result may be the same as the marks, above all one of few bytes; it counts as not written.
pub fn is_written(memory: &[u8]) -> bool {
    let ends = memory.len().min(UNWRITTEN.len());
    let last = memory.len() - ends;
    // The marks of a small memory overlap.
    let first = ends.min(last);
    memory[last..] != UNWRITTEN[..ends] || memory[..first] != UNWRITTEN[..first]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_left_alone_is_not_taken_for_a_result() {
        for bytes in [0, 1, 15, 16, 17, 31, 32, 33, 1000] {
            let mut memory = vec![7; bytes];
            mark(&mut memory);
            assert!(!is_written(&memory), "{bytes}");
            let marked = memory.clone();
            for changed in [0, bytes / 2, bytes.saturating_sub(1)] {
                let Some(byte) = memory.get_mut(changed) else { continue };
                *byte ^= 1;
                let is_marked = changed < 16.min(bytes) || changed >= bytes.saturating_sub(16);
                assert_eq!(is_written(&memory), is_marked, "byte {changed} of {bytes}");
                memory.clone_from(&marked);
            }
        }
    }
}
