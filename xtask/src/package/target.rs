//! Architectures that packages are made for.

use crate::command::Failure;

/// An architecture, with Linux and the GNU C library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    X86_64,
    Aarch64,
}

impl Target {
    /// That of this computer.
    pub(super) fn own() -> Result<Self, Failure> {
        if !cfg!(target_os = "linux") {
            return Err(Failure("packages are made on Linux only".to_owned()));
        }
        Self::parse(std::env::consts::ARCH)
    }

    pub(super) fn parse(name: &str) -> Result<Self, Failure> {
        match name {
            "x86_64" => Ok(Self::X86_64),
            "aarch64" => Ok(Self::Aarch64),
            other => Err(Failure(format!("there is no package for '{other}'; --target is x86_64 or aarch64"))),
        }
    }

    /// Whether its programs run here.
    pub(super) fn is_own(self) -> bool {
        self.name() == std::env::consts::ARCH
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// As Rust calls it.
    pub(super) fn triple(self) -> String {
        format!("{}-unknown-linux-gnu", self.name())
    }

    /// As Debian calls it.
    pub(super) fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// As `readelf` calls it.
    pub(super) fn elf(self) -> &'static str {
        match self {
            Self::X86_64 => "X86-64",
            Self::Aarch64 => "AArch64",
        }
    }

    /// As Zig's headers of the C library call it.
    pub(super) fn headers(self) -> &'static str {
        match self {
            Self::X86_64 => "x86",
            Self::Aarch64 => "aarch64",
        }
    }
}
