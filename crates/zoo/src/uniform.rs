//! Uniform random numbers, drawn by all cores at once.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Fewer numbers than this, a millisecond or two, are drawn sooner than a busy system wakes another core.
const LEAST_PER_THREAD: usize = 1 << 21;
/// Numbers that are made at a time.
const BLOCK: usize = 1024;

/// Draws `count` numbers from `-limit` to `limit`, the very ones that drawing one after the other gives: the generator
/// can be set to any place in its stream, and each number takes one word of it.
pub(crate) fn uniform(random: &mut ChaCha8Rng, count: usize, limit: f32) -> Vec<f32> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let per_thread = count.div_ceil(cores).max(LEAST_PER_THREAD);
    let mut numbers = vec![0.0; count];
    if count <= per_thread {
        fill(random, &mut numbers, limit);
        return numbers;
    }
    let start = random.get_word_pos();
    let parts = Mutex::new(numbers.chunks_mut(per_thread).enumerate());
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((index, part)) = next() {
            let mut random = random.clone();
            random.set_word_pos(start.wrapping_add((index * per_thread) as u128));
            fill(&mut random, part, limit);
        }
    };
    thread::scope(|scope| {
        for _ in 1..count.div_ceil(per_thread) {
            // What the system starts no thread for, the others do.
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    random.set_word_pos(start.wrapping_add(count as u128));
    numbers
}

/// A block of words at a time, which compilers turn into vector instructions; what `random` makes of one word: its
/// upper 24 bits as a fraction of one.
fn fill(random: &mut impl Rng, numbers: &mut [f32], limit: f32) {
    const FRACTION: f32 = 1.0 / (1 << 24) as f32;
    let mut bytes = [0; 4 * BLOCK];
    for block in numbers.chunks_mut(BLOCK) {
        let bytes = &mut bytes[..4 * block.len()];
        random.fill_bytes(bytes);
        for (number, &word) in block.iter_mut().zip(bytes.as_chunks().0) {
            let fraction = (u32::from_le_bytes(word) >> 8) as i32 as f32 * FRACTION;
            *number = (fraction * 2.0 - 1.0) * limit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn threads_draw_what_one_draws_and_leave_the_generator_where_it_would_be() {
        // Ends within a block of the generator, starts within one, and has an odd last part.
        for count in [0, 1, LEAST_PER_THREAD, LEAST_PER_THREAD + 1, 5 * LEAST_PER_THREAD + 7] {
            let mut random = ChaCha8Rng::seed_from_u64(3);
            let _: f32 = random.random();
            let mut one = random.clone();
            let expected: Vec<f32> = (0..count).map(|_| (one.random::<f32>() * 2.0 - 1.0) * 0.5).collect();
            assert_eq!(uniform(&mut random, count, 0.5), expected, "{count}");
            assert_eq!(random.random::<f32>(), one.random::<f32>(), "{count}");
        }
    }
}
