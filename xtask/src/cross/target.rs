//! Architectures that packages and wheels are made for.

use crate::command::Failure;

/// The newest GNU C library that may be needed: that of Debian 10 and Ubuntu 18.10, and what ONNX Runtime needs itself.
pub(crate) const GLIBC: (u32, u32) = (2, 28);

/// An architecture, with Linux and the GNU C library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    X86_64,
    Aarch64,
}

impl Target {
    /// That of this computer.
    pub(crate) fn own() -> Result<Self, Failure> {
        if !cfg!(target_os = "linux") {
            return Err(Failure("packages are made on Linux only".to_owned()));
        }
        Self::parse(std::env::consts::ARCH)
    }

    pub(crate) fn parse(name: &str) -> Result<Self, Failure> {
        match name {
            "x86_64" => Ok(Self::X86_64),
            "aarch64" => Ok(Self::Aarch64),
            other => Err(Failure(format!("there is no package for '{other}'; --target is x86_64 or aarch64"))),
        }
    }

    /// Whether its programs run here.
    pub(crate) fn is_own(self) -> bool {
        self.name() == std::env::consts::ARCH
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// As Rust calls it.
    pub(crate) fn triple(self) -> String {
        format!("{}-unknown-linux-gnu", self.name())
    }

    /// As Debian calls it.
    pub(crate) fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// As `readelf` calls it.
    pub(crate) fn elf(self) -> &'static str {
        match self {
            Self::X86_64 => "X86-64",
            Self::Aarch64 => "AArch64",
        }
    }

    /// As Zig's headers of the C library call it.
    pub(crate) fn headers(self) -> &'static str {
        match self {
            Self::X86_64 => "x86",
            Self::Aarch64 => "aarch64",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::GLIBC;

    /// `deploy` knows nothing of this crate.
    #[test]
    fn boards_are_asked_for_what_packages_need() {
        let source = include_str!("../../../crates/cli/src/commands/deploy/board.rs");
        assert!(source.contains(&format!("const GLIBC: (u32, u32) = {GLIBC:?};")));
    }
}
