//! Finding out what the machine has, from sysfs.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use millstream_board::{Board, Cache, Cluster, Core, CoreId, EngineSet, OperatingPoint};

use crate::affinity::usable_cores;
use crate::cpu_list::parse_cpu_list;
use crate::error::MachineError;
use crate::quota::CpuQuota;
use crate::system_file::{number, text};

/// The machine at hand, restricted to the cores that this process may use (cpuset and affinity mask), and to as many of
/// them as a quota of processor time ([`CpuQuota`]) lets work: the fastest, beginning at another one in each container.
/// The board then knows the quota.
///
/// # Errors
/// [`MachineError::NoAffinity`], [`MachineError::NoCores`] or [`MachineError::NoProcessorTime`].
pub fn detect() -> Result<Board, MachineError> {
    let allowed = usable_cores().ok_or(MachineError::NoAffinity)?;
    let board = detect_allowed(&allowed)?;
    match CpuQuota::detect()? {
        Some(quota) => limited(&board, &quota, place_of_container(), detect_allowed),
        None => Ok(board),
    }
}

/// The board of as many of the fastest cores as a quota is worth, from some place on; it knows the quota.
fn limited(
    board: &Board,
    quota: &CpuQuota,
    place: usize,
    detect: impl Fn(&[CoreId]) -> Result<Board, MachineError>,
) -> Result<Board, MachineError> {
    Ok(detect(&fastest(board, quota.worthwhile_cores(), place))?.with_quota(quota.cores)?)
}

fn detect_allowed(allowed: &[CoreId]) -> Result<Board, MachineError> {
    match detect_at(Path::new("/sys"), Some(allowed)) {
        Err(MachineError::NoCores { .. }) if !allowed.is_empty() => plain(allowed),
        result => result,
    }
}

/// So many cores, those of the fastest clusters first, of each cluster from some place on.
fn fastest(board: &Board, count: usize, place: usize) -> Vec<CoreId> {
    let of_cluster = |cluster: &Cluster| {
        let mut cores: Vec<CoreId> = cluster.cores.iter().map(|core| core.id).collect();
        let first = place % cores.len().max(1);
        cores.rotate_left(first);
        cores
    };
    board.clusters().iter().flat_map(of_cluster).take(count).collect()
}

/// A number for the container, so that several of them do not all work on the same cores.
fn place_of_container() -> usize {
    let mut hasher = DefaultHasher::new();
    text(Path::new("/proc/sys/kernel/hostname")).hash(&mut hasher);
    text(Path::new("/proc/self/cgroup")).hash(&mut hasher);
    hasher.finish() as usize
}

/// A board without sysfs (another operating system, a locked-down container): one cluster of equal cores.
fn plain(allowed: &[CoreId]) -> Result<Board, MachineError> {
    let cores = allowed.iter().map(|&id| Core { id, siblings: Vec::new(), emulated_slowdown: None }).collect();
    let cluster = Cluster {
        label: String::new(),
        core_type: None,
        capacity: 1024,
        cores,
        engines: EngineSet::default(),
        operating_points: Vec::new(),
        caches: Vec::new(),
        power: None,
        thermal: None,
    };
    Ok(Board::from_clusters("this machine", vec![cluster])?)
}

/// What sysfs says about one logical CPU.
struct Cpu {
    id: CoreId,
    siblings: Vec<CoreId>,
    capacity: Option<u32>,
    hertz: Option<u64>,
    key: ClusterKey,
}

/// CPUs with equal keys form a cluster.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone)]
struct ClusterKey {
    package: i64,
    hybrid_type: Option<&'static str>,
    capacity: Option<u32>,
    /// Members of the frequency domain where it spans several cores, else the highest frequency.
    domain: Vec<u64>,
}

/// Reads the sysfs tree at `root` (which has `devices/system/cpu` in it), restricted to `allowed` CPUs.
///
/// Cores belong to one cluster if they have the same type (hybrid x86) or capacity, package and frequency domain. Of
/// several hardware threads of one core, the first that may be used stands for it.
///
/// # Errors
/// [`MachineError::NoCores`] if there is no core that is online and allowed.
pub fn detect_at(root: &Path, allowed: Option<&[CoreId]>) -> Result<Board, MachineError> {
    let folder = root.join("devices/system/cpu");
    let online = text(&folder.join("online")).and_then(|list| parse_cpu_list(&list)).unwrap_or_default();
    let usable: Vec<CoreId> =
        online.into_iter().filter(|id| allowed.is_none_or(|allowed| allowed.contains(id))).collect();
    let mut taken = BTreeSet::new();
    let mut groups: BTreeMap<ClusterKey, Vec<Cpu>> = BTreeMap::new();
    for &id in &usable {
        if taken.contains(&id) {
            continue;
        }
        let cpu = read_cpu(root, id);
        taken.extend(cpu.siblings.iter().copied());
        groups.entry(cpu.key.clone()).or_default().push(cpu);
    }
    if groups.is_empty() {
        let allowed = allowed.unwrap_or_default().to_vec();
        return Err(MachineError::NoCores { root: root.to_owned(), allowed });
    }
    let highest = groups.values().flatten().filter_map(|cpu| cpu.hertz).max();
    let clusters = groups.into_values().map(|cpus| cluster(root, cpus, highest)).collect();
    Ok(Board::from_clusters(board_name(root), clusters)?)
}

fn cpu_folder(root: &Path, id: CoreId) -> PathBuf {
    root.join(format!("devices/system/cpu/cpu{id}"))
}

fn read_cpu(root: &Path, id: CoreId) -> Cpu {
    let folder = cpu_folder(root, id);
    let list = |path: &str| text(&folder.join(path)).and_then(|list| parse_cpu_list(&list));
    let hertz = number(&folder.join("cpufreq/cpuinfo_max_freq")).and_then(|kilohertz: u64| kilohertz.checked_mul(1000));
    let capacity = number(&folder.join("cpu_capacity")).filter(|&capacity| capacity > 0);
    let domain = list("cpufreq/related_cpus").filter(|cpus| cpus.len() > 1);
    let mut siblings = list("topology/thread_siblings_list").unwrap_or_default();
    siblings.retain(|&sibling| sibling != id);
    let hybrid_type = ["cpu_core", "cpu_atom"].into_iter().find(|kind| {
        let cpus = text(&root.join(format!("devices/{kind}/cpus"))).and_then(|list| parse_cpu_list(&list));
        cpus.is_some_and(|cpus| cpus.contains(&id))
    });
    // On hybrid x86 every core has its own frequency domain and the best cores clock a little higher.
    let domain = match (hybrid_type, domain) {
        (Some(_), _) => Vec::new(),
        (None, Some(cpus)) => cpus.into_iter().map(|cpu| u64::from(cpu.0)).collect(),
        (None, None) => hertz.into_iter().collect(),
    };
    let package = number(&folder.join("topology/physical_package_id")).unwrap_or(0);
    let key =
        ClusterKey { package, hybrid_type, capacity: if hybrid_type.is_some() { None } else { capacity }, domain };
    Cpu { id, siblings, capacity, hertz, key }
}

fn cluster(root: &Path, cpus: Vec<Cpu>, highest_hertz: Option<u64>) -> Cluster {
    let hertz = cpus.iter().filter_map(|cpu| cpu.hertz).max();
    let estimated = match (hertz, highest_hertz) {
        (Some(hertz), Some(highest)) if highest > 0 => hertz as f64 / highest as f64,
        _ => 1.0,
    };
    let stated = cpus.iter().filter_map(|cpu| cpu.capacity).max();
    let first = cpus.first().map_or(CoreId(0), |cpu| cpu.id);
    let folder = cpu_folder(root, first);
    let core_type = match cpus.first().and_then(|cpu| cpu.key.hybrid_type) {
        Some("cpu_core") => Some("performance core".to_owned()),
        Some(_) => Some("efficiency core".to_owned()),
        None => arm_core_type(&folder),
    };
    let estimated = estimated * core_type.as_deref().map_or(1.0, relative_speed);

    let mut frequencies: Vec<u64> = text(&folder.join("cpufreq/scaling_available_frequencies"))
        .map(|list| list.split_whitespace().filter_map(|kilohertz| kilohertz.parse::<u64>().ok()).collect())
        .unwrap_or_default();
    frequencies.iter_mut().for_each(|frequency| *frequency *= 1000);
    frequencies.extend(hertz);
    frequencies.retain(|&frequency| frequency > 0);
    frequencies.sort_unstable();
    frequencies.dedup();

    Cluster {
        label: String::new(),
        core_type,
        capacity: stated.unwrap_or((estimated * 1024.0) as u32).max(1),
        cores: cpus
            .into_iter()
            .map(|cpu| Core { id: cpu.id, siblings: cpu.siblings, emulated_slowdown: None })
            .collect(),
        engines: EngineSet::default(),
        operating_points: frequencies.into_iter().map(|hertz| OperatingPoint { hertz, volts: None }).collect(),
        caches: caches(&folder),
        power: None,
        thermal: None,
    }
}

fn caches(cpu: &Path) -> Vec<Cache> {
    let mut caches: Vec<Cache> = (0..10)
        .map_while(|index| {
            let folder = cpu.join(format!("cache/index{index}"));
            folder.is_dir().then_some(folder)
        })
        .filter(|folder| text(&folder.join("type")).as_deref() != Some("Instruction"))
        .filter_map(|folder| {
            let sharing = text(&folder.join("shared_cpu_list")).and_then(|list| parse_cpu_list(&list));
            Some(Cache {
                level: number(&folder.join("level"))?,
                bytes: size(&text(&folder.join("size"))?)?,
                shared_by: sharing.map_or(1, |cpus| cpus.len() as u32),
            })
        })
        .collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

/// A size such as `512K` or `32M`.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|character: char| !character.is_ascii_digit());
    let factor = match &text[digits.len()..] {
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => 1,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// The core's name from the ARM identification register, for the cores that boards of interest have.
fn arm_core_type(cpu: &Path) -> Option<String> {
    let register = text(&cpu.join("regs/identification/midr_el1"))?;
    let register = u64::from_str_radix(register.trim_start_matches("0x"), 16).ok()?;
    let name = match ((register >> 24) & 0xff, (register >> 4) & 0xfff) {
        (0x41, 0xd03) => "Cortex-A53",
        (0x41, 0xd05) => "Cortex-A55",
        (0x41, 0xd07) => "Cortex-A57",
        (0x41, 0xd08) => "Cortex-A72",
        (0x41, 0xd09) => "Cortex-A73",
        (0x41, 0xd0a) => "Cortex-A75",
        (0x41, 0xd0b) => "Cortex-A76",
        (0x41, 0xd0d) => "Cortex-A77",
        (0x41, 0xd41) => "Cortex-A78",
        (0x41, 0xd44) => "Cortex-X1",
        (0x41, 0xd46) => "Cortex-A510",
        (0x41, 0xd47) => "Cortex-A710",
        (0x41, 0xd48) => "Cortex-X2",
        (0x4e, 0x003) => "Denver 2",
        _ => return None,
    };
    Some(name.to_owned())
}

/// How fast a core is beside the fastest kind at the same frequency, for kernels that state no capacities. Rough
/// values, which only order the clusters and seed searches; times are measured.
fn relative_speed(core_type: &str) -> f64 {
    match core_type {
        "efficiency core" => 0.6,
        "Cortex-A53" | "Cortex-A55" | "Cortex-A510" => 0.45,
        "Cortex-A57" | "Cortex-A72" => 0.8,
        _ => 1.0,
    }
}

fn board_name(root: &Path) -> String {
    let device_tree = text(&root.join("firmware/devicetree/base/model"));
    let product = || text(&root.join("devices/virtual/dmi/id/product_name"));
    let name = device_tree.or_else(product).map(|name| name.trim_matches(['\0', ' ', '\n']).to_owned());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "this machine".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::fs;

    use super::*;

    #[test]
    fn a_quota_leaves_the_fastest_cores() {
        let board = millstream_test_support::board("s2:500#0+B3:1024#4");
        let cores = |count, place| fastest(&board, count, place).into_iter().map(|core| core.0).collect::<Vec<_>>();
        let fast = board.clusters()[0].cores.len() as u32;
        assert_eq!(fast, 3, "boards have their fastest cluster first");
        assert_eq!(cores(2, 0), [4, 5]);
        assert_eq!(cores(2, 2), [6, 4], "another container");
        assert_eq!(cores(4, 1), [5, 6, 4, 1]);
        assert_eq!(cores(9, 7).len(), 5);
    }

    #[test]
    fn the_board_of_a_container_knows_the_quota() {
        let board = millstream_test_support::board("B4");
        let of = |cores: f64| {
            let root = tempfile::tempdir().unwrap();
            fs::create_dir_all(root.path().join("proc/self")).unwrap();
            fs::create_dir_all(root.path().join("sys/fs/cgroup")).unwrap();
            fs::write(root.path().join("proc/self/cgroup"), "0::/\n").unwrap();
            let limit = format!("{} 100000\n", cores * 1e5);
            fs::write(root.path().join("sys/fs/cgroup/cpu.max"), limit).unwrap();
            let quota = CpuQuota::at(root.path()).unwrap().unwrap();
            let detect = |cores: &[CoreId]| Ok(millstream_test_support::board(&format!("B{}", cores.len())));
            let limited = limited(&board, &quota, 0, detect).unwrap();
            (limited.cores().count(), limited.quota_cores())
        };
        assert_eq!([of(0.5), of(1.5), of(2.0)], [(1, Some(0.5)), (2, Some(1.5)), (2, None)]);
    }
}
