//! Hosts in network namespaces of their own, with cables to this computer that are as bad as wanted.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{fs, net::TcpStream, thread};

use millstream_test_support::not_tested;

use crate::cable::Cable;

/// Cables from hosts to this computer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cables {
    /// As quick as the kernel is.
    Free,
    /// Of so much bandwidth, as `tc` has it.
    Shaped(&'static str),
    /// Whose packets this process carries.
    Carried(Cable),
}

/// A namespace for each host, until this is dropped.
pub(crate) struct Namespaces {
    hosts: Vec<String>,
    /// What its names have that those of other tests and processes have not.
    mark: String,
    /// The second byte of all addresses.
    network: u32,
    servers: Vec<Child>,
}

impl Namespaces {
    /// `None` with a word about it where that is not possible, unless it is needed.
    pub(crate) fn new(hosts: &[&str], cables: Cables) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        let (own, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let network = 64 + (own * 8 + count) % 128;
        let namespaces = Self { hosts, mark: format!("ms{own}{count}"), network, servers: Vec::new() };
        match namespaces.make(cables) {
            Ok(()) => Some(namespaces),
            Err(reason) => {
                not_tested("NAMESPACES", reason);
                None
            }
        }
    }

    fn make(&self, cables: Cables) -> Result<(), String> {
        for (place, host) in self.hosts.iter().enumerate() {
            let (name, cable) = (self.name(host), self.cable(place));
            let (here, there) = (format!("{}/24", self.gateway(place)), format!("{}/24", self.address(place)));
            tell(&format!("ip netns add {name}"))?;
            match cables {
                Cables::Free | Cables::Shaped(_) => {
                    tell(&format!("ip link add {cable} type veth peer name eth0 netns {name}"))?;
                }
                Cables::Carried(carried) => {
                    let failed = |error: std::io::Error| format!("no cable to {name}: {error}");
                    carried.lay(&cable, &name, "eth0").map_err(failed)?;
                }
            }
            tell(&format!("ip addr add {here} dev {cable}"))?;
            tell(&format!("ip link set {cable} up"))?;

            for more in [
                format!("ip addr add {there} dev eth0"),
                "ip link set eth0 up".to_owned(),
                "ip link set lo up".to_owned(),
                format!("ip route add default via {}", self.gateway(place)),
            ] {
                tell(&format!("ip netns exec {name} {more}"))?;
            }
            if let Cables::Shaped(rate) = cables {
                let shape =
                    |device: &str| format!("tc qdisc add dev {device} root tbf rate {rate} burst 64kb latency 500ms");
                tell(&shape(&cable))?;
                tell(&format!("ip netns exec {name} {}", shape("eth0")))?;
            }
        }
        fs::write("/proc/sys/net/ipv4/ip_forward", "1").map_err(|error| format!("nothing can be forwarded: {error}"))
    }

    fn name(&self, host: &str) -> String {
        format!("{}-{host}", self.mark)
    }

    fn cable(&self, place: usize) -> String {
        format!("{}v{place}", self.mark)
    }

    /// This computer's end of a host's cable.
    pub(crate) fn gateway(&self, place: usize) -> String {
        format!("10.{}.{place}.1", self.network)
    }

    /// A host's end.
    pub(crate) fn address(&self, place: usize) -> String {
        format!("10.{}.{place}.2", self.network)
    }

    /// What a command in each host's namespace begins with, as arguments of `millstream-node`. Each has memory of its
    /// own to share: what is in the same is not sent over any cable.
    pub(crate) fn via(&self, folder: &Path) -> Vec<String> {
        let of = |host: &String| ["--via".to_owned(), format!("{host}=sh {}", self.entrance(folder, host).display())];
        self.hosts.iter().flat_map(of).collect()
    }

    /// A script that runs a command in a host's namespace.
    fn entrance(&self, folder: &Path, host: &str) -> PathBuf {
        let path = folder.join(format!("enter-{host}.sh"));
        let own = "mount -t tmpfs tmpfs /dev/shm && exec \"$@\"";
        let script = format!("exec ip netns exec {} unshare -m sh -c '{own}' sh \"$@\"\n", self.name(host));
        fs::write(&path, script).unwrap();
        path
    }

    /// Lets everybody with a new key in by ssh; what a command on each host begins with then. `None` where there is no
    /// server.
    pub(crate) fn via_ssh(&mut self, folder: &Path) -> Option<Vec<String>> {
        if !Path::new("/usr/sbin/sshd").is_file() {
            not_tested("SSHD", "openssh-server is not installed");
            return None;
        }
        let path = |name: &str| -> PathBuf { folder.join(name) };
        for key in ["host_key", "key"] {
            let mut make = Command::new("ssh-keygen");
            assert!(make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path(key)).status().unwrap().success());
        }
        fs::create_dir_all("/run/sshd").unwrap();
        for (place, host) in self.hosts.iter().enumerate() {
            let mut server = Command::new("sh");
            server.arg(self.entrance(folder, host)).args(["/usr/sbin/sshd", "-D", "-e", "-p", "22", "-f", "/dev/null"]);
            server.arg("-h").arg(path("host_key")).args(["-o", "PidFile=none", "-o", "StrictModes=no"]);
            server
                .args(["-o", "PermitRootLogin=yes", "-o"])
                .arg(format!("AuthorizedKeysFile={}", path("key.pub").display()));
            self.servers.push(server.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
            let begin = Instant::now();
            while TcpStream::connect((self.address(place), 22)).is_err() {
                assert!(begin.elapsed() < Duration::from_secs(30), "the server of {host} does not answer");
                thread::sleep(Duration::from_millis(20));
            }
        }

        let key = path("key").display().to_string();
        let usual = "-F none -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR";
        let variables =
            ["PYTHONPATH", "ORT_DYLIB_PATH"].map(|name| format!("{name}={}", std::env::var(name).unwrap_or_default()));
        let of = |(place, host): (usize, &String)| {
            let command = format!("ssh {usual} -i {key} root@{} env {}", self.address(place), variables.join(" "));
            ["--via".to_owned(), format!("{host}={command}")]
        };
        Some(self.hosts.iter().enumerate().flat_map(of).collect())
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        for (place, host) in self.hosts.iter().enumerate() {
            // The cable goes with its other end.
            let _ = tell(&format!("ip netns del {}", self.name(host)));
            let _ = tell(&format!("ip link del {}", self.cable(place)));
        }
    }
}

/// Runs a command whose words have no spaces.
fn tell(command: &str) -> Result<(), String> {
    let mut words = command.split(' ');
    let output = Command::new(words.next().unwrap_or_default()).args(words).output();
    let output = output.map_err(|error| format!("'{command}': {error}"))?;
    let said = || format!("'{command}': {}", String::from_utf8_lossy(&output.stderr).trim());
    if output.status.success() { Ok(()) } else { Err(said()) }
}
