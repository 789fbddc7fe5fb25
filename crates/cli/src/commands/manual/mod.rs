//! Manual pages, completions of shells, and the book's pages about commands and files, made from their definitions.

mod command_page;
mod file_page;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;
use millstream::files;

use crate::arguments::{Arguments, ManualCommand};
use crate::program;

/// The shells, with the folder below `share` where each looks for completions.
const SHELLS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions"),
    (Shell::Zsh, "zsh/site-functions"),
    (Shell::Fish, "fish/vendor_completions.d"),
];

pub(crate) fn run(command: &ManualCommand) -> Result<()> {
    let folder = |below: &str| {
        let folder = command.folder.join(below);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok::<_, anyhow::Error>(folder)
    };
    let definition = || program::with_own_name(Arguments::command());
    clap_mangen::generate_to(definition(), folder("man/man1")?).context("cannot write manual pages")?;
    for (shell, below) in SHELLS {
        let written = clap_complete::generate_to(shell, &mut definition(), "millstream", folder(below)?);
        written.with_context(|| format!("cannot write completions of {shell}"))?;
    }
    let reference = folder("doc/millstream/reference")?;
    let pages = [("commands.md", command_page::page(&definition())), ("files.md", file_page::page()?)];
    pages.iter().try_for_each(|(name, page)| Ok(files::write(&reference.join(name), page)?))
}
