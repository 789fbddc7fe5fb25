//! Encryption of what goes between hosts.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::machine::MachinePlace;

/// Files in PEM format at the same paths on all hosts and here. Each machine has a certificate of its own, for the
/// address at which the others reach it.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate of the authority that signed those of all machines.
    pub authority: PathBuf,
    /// The machine's certificate.
    pub certificate: PathBuf,
    /// The key of that.
    pub key: PathBuf,
}

/// What a machine's daemon adds to the configuration of Zenoh: it can be reached by TLS, reaches the others so, and
/// both ends show certificates. Processes that the daemon starts have the same configuration, but not the port: that
/// they can't listen there is no failure.
pub(super) fn overlay(files: &TlsFiles, machine: &MachinePlace, others: &[&MachinePlace]) -> Value {
    let endpoint = |machine: &MachinePlace| format!("tls/{}:{}", machine.address, machine.port);
    let TlsFiles { authority, certificate, key } = files;
    json!({
        "listen": {"endpoints": [endpoint(machine)], "exit_on_failure": false},
        "connect": {
            "endpoints": others.iter().map(|other| endpoint(other)).collect::<Vec<_>>(),
            "exit_on_failure": false,
        },
        "transport": {"link": {"tls": {
            "root_ca_certificate": authority,
            "listen_certificate": certificate,
            "listen_private_key": key,
            "enable_mtls": true,
            "connect_certificate": certificate,
            "connect_private_key": key,
        }}},
    })
}
