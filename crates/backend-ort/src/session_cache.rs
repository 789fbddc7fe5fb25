//! Optimised sessions kept in a folder from one start to the next.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::session_key::{SessionKey, is_name};

/// What the format of the entries is called. Another format gets another name.
const FORMAT: &str = "millstream-session-1";
/// The optimised graph, the weights beside it, and what they have to be.
const MODEL: &str = "model.onnx";
pub(crate) const WEIGHTS: &str = "weights.bin";
const ENTRY: &str = "entry.json";
/// How the names of entries begin that are still being written.
const UNFINISHED: &str = ".new-";
/// An entry that is still unfinished after this was left behind.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 3600);
/// Bytes that are checked at a time.
const CHECKED_BYTES: usize = 1 << 18;

/// Where optimised sessions are kept between starts.
///
/// Each session is a folder with the graph as ONNX Runtime optimised it and the weights in the layouts it chose for
/// this machine. The weights of a session from the cache are the file's pages: several sessions and processes share
/// them, and none are copied. A session is found again by the model's digest, its operators and channels, the build of
/// ONNX Runtime, the kind of processors and the number of threads; all else leaves the optimised graph as it is.
///
/// Writing made the first start of the zoo's large networks up to a half longer, and twice as long where most weights
/// are matrices (VGG-19). It is done before the first frame: later it would take cores and memory from the frames, and
/// a program that ends early would never get to it. What a network multiplies as whole matrices (`Gemm`, `MatMul`) is
/// packed again at each start: ONNX Runtime can write packed matrices too, which doubles the file and was measured to
/// save no time.
///
/// Whatever is wrong with the folder costs time and is no error: what is damaged, or was made by something else, is
/// made again, and what can't be written isn't kept. Checksums stand for flushing every file to disk. As with any file
/// of weights, whoever may write to the folder decides about the results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCache {
    folder: PathBuf,
    most_bytes: u64,
}

/// What an entry consists of.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    format: String,
    key: SessionKey,
    model: Content,
    weights: Content,
}

/// What a file contains; a missing file contains nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    bytes: u64,
    crc32: u32,
}

/// What looking for a session gave.
pub(crate) enum Lookup<T> {
    Found(T),
    /// The entry is as it was written, and the engine refuses it all the same: there is no use in writing it again.
    Refused,
    Absent,
}

impl SessionCache {
    /// What a cache takes unless told otherwise: 2 GiB, which is VGG-19 three times.
    pub const MOST_BYTES: u64 = 2 << 30;

    /// Keeps sessions in a folder, which is made when it is first needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), most_bytes: Self::MOST_BYTES }
    }

    /// Sets how many bytes all sessions in the folder may take. Beyond that, those that were not used for the longest
    /// time are removed; a session that is larger by itself isn't kept.
    #[must_use]
    pub fn with_most_bytes(self, most_bytes: u64) -> Self {
        Self { most_bytes, ..self }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether a session with so many bytes of weights may be kept.
    pub(crate) fn has_room_for(&self, bytes: u64) -> bool {
        bytes <= self.most_bytes
    }

    /// What `open` makes of the model file that is kept under a key.
    pub(crate) fn load<T>(&self, key: &SessionKey, open: impl FnOnce(&Path) -> Result<T, String>) -> Lookup<T> {
        let folder = self.folder.join(key.name());
        let Some(entry) = read_entry(&folder, key) else {
            remove(&folder);
            return Lookup::Absent;
        };
        let weights = folder.join(WEIGHTS);
        // Opening maps the weights, and does not depend on what they are.
        let (opened, is_intact) = thread::scope(|scope| {
            let check = || content(&weights).is_ok_and(|found| found == entry.weights);
            let beside = thread::Builder::new().spawn_scoped(scope, check);
            let opened = open(&folder.join(MODEL));
            // Where no thread can be started, one after the other.
            let is_intact = beside.map_or_else(|_| check(), |thread| thread.join().unwrap_or(false));
            (opened, is_intact)
        });
        if !is_intact {
            drop(opened);
            remove(&folder);
            return Lookup::Absent;
        }
        let Ok(opened) = opened else { return Lookup::Refused };
        let used = File::options().append(true).open(folder.join(ENTRY));
        // Only which entries are removed first depends on it.
        let _ = used.and_then(|file| file.set_modified(SystemTime::now()));
        Lookup::Found(opened)
    }

    /// What `make` returns once it has written a model file where it is told to, and whether that is kept now. `None`
    /// if it fails, or if there is no place to write to.
    pub(crate) fn store<T>(
        &self,
        key: &SessionKey,
        make: impl FnOnce(&Path) -> Result<T, String>,
    ) -> Option<(T, bool)> {
        fs::create_dir_all(&self.folder).ok()?;
        let unfinished = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&self.folder).ok()?;
        let made = make(&unfinished.path().join(MODEL)).ok()?;
        let is_kept = self.keep(key, unfinished.path()).is_ok();
        if is_kept {
            // It has moved, there is nothing left to remove.
            let _ = unfinished.keep();
        }
        Some((made, is_kept))
    }

    /// Moves a written folder to where its key is looked for. Another process may have been faster, then that one's
    /// stays.
    fn keep(&self, key: &SessionKey, written: &Path) -> io::Result<()> {
        let [model, weights] = [content(&written.join(MODEL))?, content(&written.join(WEIGHTS))?];
        let bytes = model.bytes.saturating_add(weights.bytes);
        if model.bytes == 0 || !self.has_room_for(bytes) {
            return Err(ErrorKind::FileTooLarge.into());
        }
        let entry = Entry { format: FORMAT.to_owned(), key: key.clone(), model, weights };
        fs::write(written.join(ENTRY), serde_json::to_vec_pretty(&entry)?)?;
        let name = key.name();
        fs::rename(written, self.folder.join(&name))?;
        self.make_room(&name);
        Ok(())
    }

    /// Removes what was used least recently until the rest is small enough, and what was left behind.
    fn make_room(&self, newest: &str) {
        let Ok(folders) = fs::read_dir(&self.folder) else { return };
        let mut entries = Vec::new();
        let mut bytes = 0_u64;
        for folder in folders.flatten() {
            let name = folder.file_name().to_string_lossy().into_owned();
            let path = folder.path();
            if name.starts_with(UNFINISHED) && age(&path) > LEFT_BEHIND {
                remove(&path);
            } else if is_name(&name) {
                let size: u64 = [MODEL, WEIGHTS].iter().map(|file| size(&path.join(file))).sum();
                bytes = bytes.saturating_add(size);
                if name != newest {
                    entries.push((age(&path.join(ENTRY)), size, path));
                }
            }
        }
        entries.sort_unstable_by(|left, right| right.cmp(left));
        for (_, size, path) in entries {
            if bytes <= self.most_bytes {
                break;
            }
            remove(&path);
            bytes = bytes.saturating_sub(size);
        }
    }
}

/// The description in a folder, if it is of this key, the graph is intact and the weights have the right size: those
/// who map a file that is too short are killed when they read it.
fn read_entry(folder: &Path, key: &SessionKey) -> Option<Entry> {
    let entry: Entry = serde_json::from_slice(&fs::read(folder.join(ENTRY)).ok()?).ok()?;
    let is_sound = entry.format == FORMAT
        && entry.key == *key
        && content(&folder.join(MODEL)).is_ok_and(|model| model == entry.model)
        && size(&folder.join(WEIGHTS)) == entry.weights.bytes;
    is_sound.then_some(entry)
}

fn content(path: &Path) -> io::Result<Content> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Content { bytes: 0, crc32: 0 }),
        file => file?,
    };
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; CHECKED_BYTES];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Content { bytes, crc32: hasher.finalize() }),
            count => {
                hasher.update(buffer.get(..count).unwrap_or_default());
                bytes += count as u64;
            }
        }
    }
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |data| data.len())
}

/// The time since a file was last written; of a file that is not there, as long as can be.
fn age(path: &Path) -> Duration {
    let modified = fs::metadata(path).and_then(|data| data.modified());
    modified.map_or(Duration::MAX, |time| time.elapsed().unwrap_or_default())
}

/// Removes a folder, or whatever stands in its place. What can't be removed is tried again another time.
fn remove(path: &Path) {
    let _ = fs::remove_dir_all(path).or_else(|_| fs::remove_file(path));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> SessionKey {
        let text = r#"{"engine": "e", "machine": "m", "model": "d", "segment": "s", "threads": 1}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_the_engine_refuses_although_it_is_intact_is_not_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = SessionCache::new(folder.path().join("made when needed"));
        assert!(matches!(cache.load(&key(), |_| Ok(())), Lookup::Absent));
        let write = |path: &Path| fs::write(path, "graph").map_err(|error| error.to_string());
        assert!(matches!(cache.store(&key(), write), Some(((), true))));
        assert!(matches!(cache.load(&key(), |_| Err::<(), _>(String::new())), Lookup::Refused));
        let Lookup::Found(text) = cache.load(&key(), |path| fs::read_to_string(path).map_err(|_| String::new())) else {
            panic!("it is not there");
        };
        assert_eq!(text, "graph");
    }

    #[test]
    fn what_was_not_written_is_not_kept_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let cache = SessionCache::new(folder.path());
        assert!(cache.store(&key(), |_| Err::<(), _>(String::new())).is_none());
        assert!(matches!(cache.store(&key(), |_| Ok(())), Some(((), false))));
        let write = |path: &Path| fs::write(path, "too much").map_err(|error| error.to_string());
        assert!(matches!(cache.with_most_bytes(7).store(&key(), write), Some(((), false))));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_dead_process_left_is_removed_after_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let cache = SessionCache::new(folder.path());
        let unfinished = ["old", "young"].map(|name| folder.path().join(format!("{UNFINISHED}{name}")));
        unfinished.iter().for_each(|path| fs::create_dir(path).unwrap());
        let yesterday = SystemTime::now() - LEFT_BEHIND - Duration::from_secs(60);
        File::open(&unfinished[0]).unwrap().set_modified(yesterday).unwrap();
        let write = |path: &Path| fs::write(path, "graph").map_err(|error| error.to_string());
        assert!(matches!(cache.store(&key(), write), Some(((), true))));
        assert_eq!(unfinished.map(|path| path.exists()), [false, true]);
    }
}
