//! What a file of a crate declares, hands on and names of other files.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{bare, without_tests, words};

/// A path's parts, as they are written.
pub(super) type Path = Vec<String>;

/// One file, which is one module.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct File {
    /// Names that it declares itself.
    pub(super) declared: BTreeSet<String>,
    /// Names that it hands on, and where it has them from.
    pub(super) handed_on: BTreeMap<String, Path>,
    /// What it imports for itself.
    pub(super) imported: Vec<Path>,
    /// Paths in its code.
    pub(super) named: BTreeSet<Path>,
}

impl File {
    /// Reads a file's source.
    pub(super) fn of(source: &str) -> Self {
        let source = without_tests(&bare(source));
        let words = words(&source);
        let mut file = Self::default();
        let mut place = 0;
        while let Some(&word) = words.get(place) {
            if word == "use" && place.checked_sub(1).is_none_or(|before| words[before] != "::" && words[before] != "+")
            {
                let tree: Vec<&str> = words[place + 1..].iter().copied().take_while(|&word| word != ";").collect();
                let is_public = words[..place]
                    .iter()
                    .rev()
                    .take(4)
                    .take_while(|&&word| word != ";" && word != "}")
                    .any(|&word| word == "pub");
                file.add_use(&tree, is_public);
                place += tree.len() + 2;
                continue;
            }
            if DECLARING.contains(&word) {
                file.declared.extend(words.get(place + 1).map(|&name| name.to_owned()));
            }
            place += file.add_path(&words[place..]);
        }
        file
    }

    fn add_use(&mut self, tree: &[&str], is_public: bool) {
        for (path, name) in leaves(tree) {
            if is_public {
                self.handed_on.insert(name, path);
            } else {
                self.imported.push(path);
            }
        }
    }

    /// Notes the path that begins here, if one does; tells how many words are done.
    fn add_path(&mut self, words: &[&str]) -> usize {
        let mut path = Path::new();
        for pair in words.chunks(2) {
            let [name, rest @ ..] = pair else { break };
            if !name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_') {
                break;
            }
            path.push((*name).to_owned());
            if rest != ["::"] {
                break;
            }
        }
        let length = (2 * path.len()).saturating_sub(1).max(1);
        if path.len() > 1 {
            self.named.insert(path);
        }
        length
    }
}

/// What a name follows that is declared.
const DECLARING: [&str; 8] = ["struct", "enum", "trait", "type", "union", "fn", "const", "static"];

/// The paths of a tree of imports, each with the name that it has here.
fn leaves(tree: &[&str]) -> Vec<(Path, String)> {
    let mut found = Vec::new();
    let mut prefix = Path::new();
    let mut open: Vec<usize> = Vec::new();
    let mut renamed = None;
    let mut words = tree.iter().copied().chain([","]);

    while let Some(word) = words.next() {
        match word {
            "::" => {}
            "as" => renamed = words.next().map(str::to_owned),
            "{" => open.push(prefix.len()),
            "," | "}" => {
                let depth = open.last().copied().unwrap_or_default();
                if prefix.len() > depth {
                    let mut path = prefix.clone();
                    if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
                        path.pop();
                    }
                    let name = renamed.take().or_else(|| path.last().cloned()).unwrap_or_default();
                    found.push((path, name));
                }
                prefix.truncate(depth);
                if word == "}" {
                    open.pop();
                    // What follows is the next of the tree around it, or its end.
                    prefix.truncate(open.last().copied().unwrap_or_default());
                }
            }
            name => prefix.push(name.to_owned()),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{File, leaves};
    use crate::circles::code::words;

    fn told(text: &str) -> Vec<String> {
        leaves(&words(text)).into_iter().map(|(path, name)| format!("{} {name}", path.join("::"))).collect()
    }

    #[test]
    fn trees_of_imports_have_leaves() {
        assert_eq!(told("a::b"), ["a::b b"]);
        assert_eq!(told("a::{b, c::{self, d as e}, f}"), ["a::b b", "a::c c", "a::c::d e", "a::f f"]);
        assert_eq!(told("self::{a, b}"), ["self::a a", "self::b b"]);
    }

    #[test]
    fn a_file_says_what_it_has_and_wants() {
        let file = File::of(
            "pub use a::B;\nuse crate::c::D;\npub struct E;\nimpl E { fn f(&self) -> g::H { crate::i::J } }\n",
        );
        assert_eq!(file.declared.iter().map(String::as_str).collect::<Vec<_>>(), ["E", "f"]);
        assert_eq!(file.handed_on["B"], ["a", "B"]);
        assert_eq!(file.imported, [["crate", "c", "D"]]);
        let named: Vec<String> = file.named.iter().map(|path| path.join("::")).collect();
        assert_eq!(named, ["crate::i::J", "g::H"]);
    }
}
