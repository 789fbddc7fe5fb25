//! An ssh server of a test's own: run by whoever runs the test, on a port and with keys of its own. Who logs in there
//! finds a home of its own, and may find other programs than this computer has.

pub(crate) mod place;

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use millstream_test_support::not_tested;
use tempfile::TempDir;

/// It refuses to be started by a name that is looked up.
const SERVER: &str = "/usr/sbin/sshd";

/// A server at work.
pub(crate) struct SshServer {
    folder: TempDir,
    server: Child,
    port: u16,
}

impl SshServer {
    /// Starts one; `None` with a word about it where there is no server, unless one is needed.
    pub(crate) fn start() -> Option<Self> {
        let is_there = Path::new(SERVER).is_file() && can_run("ssh") && can_run("ssh-keygen");
        if !is_there {
            not_tested("SSHD", "openssh-server is not installed");
            return None;
        }
        let folder = TempDir::new().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["home", "tools"] {
            fs::create_dir(path(name)).unwrap();
        }
        for key in ["host_key", "key", "other_key"] {
            let mut make = Command::new("ssh-keygen");
            make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path(key));
            assert!(make.status().unwrap().success());
        }

        fs::copy(path("key.pub"), path("authorized_keys")).unwrap();
        let port = free_port();
        fs::write(path("sshd_config"), server_configuration(folder.path(), port)).unwrap();
        if fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0) {
            // The system's own start makes it, where there was one.
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let mut server = Command::new(SERVER);
        server.args(["-D", "-e", "-f"]).arg(path("sshd_config")).stderr(fs::File::create(path("log")).unwrap());
        let server = Self { server: server.stdin(Stdio::null()).spawn().unwrap(), folder, port };
        server.await_port();
        server.configure("key");
        Some(server)
    }

    fn await_port(&self) {
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let log = || fs::read_to_string(self.path("log")).unwrap_or_default();
            assert!(begin.elapsed() < Duration::from_secs(30), "the server does not answer: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Has clients come with this key. The server is `board` to them; `nobody` is a port where none answers.
    pub(crate) fn configure(&self, key: &str) {
        let known = format!("[127.0.0.1]:{} {}", self.port, fs::read_to_string(self.path("host_key.pub")).unwrap());
        fs::write(self.path("known_hosts"), known).unwrap();
        let text = format!(
            "Host board\n  Port {}\nHost nobody\n  Port {}\nHost *\n  HostName 127.0.0.1\n  IdentityFile {}\n  IdentitiesOnly yes\n  \
             IdentityAgent none\n  UserKnownHostsFile {}\n  GlobalKnownHostsFile none\n  StrictHostKeyChecking yes\n",
            self.port,
            free_port(),
            self.path(key).display(),
            self.path("known_hosts").display()
        );
        fs::write(self.path("config"), text).unwrap();
    }

    /// Forgets the server's key, as whoever was never there.
    pub(crate) fn forget(&self) {
        fs::write(self.path("known_hosts"), "").unwrap();
    }

    /// Puts a program before the system's own ones of that name.
    pub(crate) fn stand_in(&self, name: &str, script: &str) {
        let path = self.path("tools").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What is in the home of who logs in.
    pub(crate) fn left_behind(&self) -> Vec<PathBuf> {
        fs::read_dir(self.path("home")).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    /// Ends all connections, as a cable does that is pulled out.
    pub(crate) fn cut_connections(&self) {
        let of_server = children(self.server.id());
        assert!(!of_server.is_empty());
        for child in of_server {
            let _ = Command::new("kill").args(["-KILL", &child.to_string()]).stderr(Stdio::null()).status();
        }
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn can_run(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("-?").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// A port that nobody listens at, for now.
fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

fn server_configuration(folder: &Path, port: u16) -> String {
    let path = |name: &str| folder.join(name).display().to_string();
    format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\n\
         PermitRootLogin prohibit-password\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
         SetEnv PATH={}:/usr/local/bin:/usr/bin:/bin HOME={}\n",
        path("host_key"),
        path("authorized_keys"),
        path("tools"),
        path("home")
    )
}

/// The processes that a process has started, from which the system tells who their parent is.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let processes =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let is_child = |process: &u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // The name, which may have spaces, is in parentheses; then come state and parent.
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        after.split_whitespace().nth(1).and_then(|text| text.parse().ok()) == Some(parent)
    };
    processes.filter(is_child).collect()
}
