//! What goes between hosts by TLS.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use millstream_node::launch::{LaunchOptions, TlsFiles, launch};
use millstream_node::report::Report;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use support::{deployment, plan, system};

/// A certificate for this computer's address, and that of the authority that signed it.
fn certificates(folder: &Path, name: &str) -> TlsFiles {
    let written = |what: &str, text: String| -> PathBuf {
        let path = folder.join(format!("{name}-{what}.pem"));
        fs::write(&path, text).unwrap();
        path
    };
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let signed = authority.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    TlsFiles {
        authority: written("authority", signed.pem()),
        certificate: written("certificate", own.pem()),
        key: written("key", key.serialize_pem()),
    }
}

/// Runs frames through two hosts; `None` if nothing comes of it within so many seconds.
fn run(folder: &Path, tls: TlsFiles, seconds: u64) -> Option<Report> {
    let mut options = LaunchOptions::new(env!("CARGO_BIN_EXE_millstream-node").into());
    options.dora = std::env::var_os("MILLSTREAM_DORA").map_or(options.dora, PathBuf::from);
    options.limit = Some(Duration::from_secs(seconds));
    options.tls = Some(tls);
    let own = tempfile::tempdir().unwrap();
    let deployed = millstream_node::deployment::Deployment {
        report: own.path().join("report.json"),
        ..deployment(folder, &["schedule.json"], 10)
    };
    launch(&deployed, own.path(), &options, &mut |_| {}).ok()
}

#[test]
fn hosts_reach_each_other_by_tls_and_only_those_that_an_authority_vouches_for() {
    let folder = tempfile::tempdir().unwrap();
    system(folder.path(), &["a", "b"]);
    plan(folder.path(), &[], "schedule.json");
    let own = certificates(folder.path(), "own");
    let report = run(folder.path(), own.clone(), 120).unwrap();
    assert!(report.is_right() && report.checked == 10, "{report:?}");

    // The same, but nobody knows who signed the certificates.
    let strange = TlsFiles { authority: certificates(folder.path(), "other").authority, ..own };
    assert!(run(folder.path(), strange, 25).is_none());
}
