//! What handing data from one cluster to another costs.

use std::hint::black_box;
use std::sync::mpsc::sync_channel;
use std::thread::Builder;
use std::time::Instant;

use millstream_board::{Board, CoreId};
use millstream_predict::Statistics;
use millstream_predict::samples::TransferSample;

use crate::error::ProfileError;
use crate::side_by_side::pin;

/// Sizes of the buffers that change hands: within a core's cache, within a cluster's, and beyond.
const SIZES: [usize; 4] = [4 << 10, 64 << 10, 512 << 10, 4 << 20];
/// Hand-overs of each size, after a few that settle caches.
const REPETITIONS: usize = 25;
const WARM_UP: usize = 3;

/// Measures what it takes until a core has read what another one made, for every ordered pair of clusters, beyond what
/// it would take to read something of its own making. A cluster with one core has no pair with itself.
///
/// # Errors
/// [`ProfileError::Panicked`] if a measuring thread did, [`ProfileError::Thread`] if there was none.
pub fn measure_transfers(board: &Board) -> Result<Vec<TransferSample>, ProfileError> {
    let mut samples = Vec::new();
    for from in board.clusters() {
        for to in board.clusters() {
            let Some(maker) = from.cores.first().map(|core| core.id) else { continue };
            let Some(reader) = to.cores.iter().map(|core| core.id).find(|&core| core != maker) else { continue };
            for bytes in SIZES {
                let processor = || to.processor([reader]);
                let seconds = hand_over(maker, reader, bytes)
                    .map_err(|source| ProfileError::Thread { processor: processor(), source })?
                    .ok_or_else(|| ProfileError::Panicked { processor: processor() })?;
                if let Some(time) = Statistics::of(&seconds) {
                    samples.push(TransferSample {
                        from: from.label.clone(),
                        to: to.label.clone(),
                        bytes: bytes as u64,
                        time,
                    });
                }
            }
        }
    }
    Ok(samples)
}

/// Times of single hand-overs; `None` if a thread panicked.
fn hand_over(maker: CoreId, reader: CoreId, bytes: usize) -> std::io::Result<Option<Vec<f64>>> {
    std::thread::scope(|scope| {
        let (to_reader, from_maker) = sync_channel::<(Vec<u64>, Instant)>(1);
        let (to_maker, from_reader) = sync_channel::<Vec<u64>>(1);
        let reading = Builder::new().spawn_scoped(scope, move || {
            pin(reader);
            let mut times = Vec::new();
            let mut local_buffer = vec![1_u64; bytes / 8];
            while let Ok((buffer, made)) = from_maker.recv() {
                read(&buffer);
                let arrived = made.elapsed();
                fill(&mut local_buffer, times.len() as u64);
                let start = Instant::now();
                read(&local_buffer);
                times.push((arrived.as_secs_f64() - start.elapsed().as_secs_f64()).max(0.0));
                if to_maker.send(buffer).is_err() {
                    break;
                }
            }
            times
        })?;

        // If there is no thread for this, the reader finds nobody at the other end.
        let making = Builder::new().spawn_scoped(scope, move || {
            pin(maker);
            let mut buffer = vec![0_u64; bytes / 8];
            for round in 0..WARM_UP + REPETITIONS {
                fill(&mut buffer, round as u64);
                if to_reader.send((buffer, Instant::now())).is_err() {
                    return;
                }
                match from_reader.recv() {
                    Ok(returned) => buffer = returned,
                    Err(_) => return,
                }
            }
        })?;

        let (made, times) = (making.join(), reading.join());
        Ok(made.and(times).ok().map(|times| times.into_iter().skip(WARM_UP).collect()))
    })
}

fn fill(buffer: &mut [u64], value: u64) {
    for (index, element) in buffer.iter_mut().enumerate() {
        *element = value ^ index as u64;
    }
    black_box(buffer);
}

fn read(buffer: &[u64]) {
    black_box(buffer.iter().fold(0_u64, |sum, element| sum.wrapping_add(*element)));
}
