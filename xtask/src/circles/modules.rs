//! The files of a crate as modules, and which imports which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path as FilePath;

use super::file::{File, Path};
use crate::command::Failure;
use crate::files::{ending, read};

/// A crate's files by the paths of their modules; the crate's root has none.
#[derive(Debug, Default)]
pub(super) struct Modules {
    files: BTreeMap<Path, File>,
}

impl Modules {
    /// Reads the files below a folder.
    pub(super) fn read(folder: &FilePath) -> Result<Self, Failure> {
        let mut modules = Self::default();
        let is_program = !folder.join("lib.rs").is_file();
        for path in ending(folder, ".rs")? {
            let relative = path.strip_prefix(folder).unwrap_or(&path).with_extension("");
            let name = relative.to_string_lossy().into_owned();
            let is_root = is_program && name == "main";
            modules.add(if is_root { "lib" } else { &name }, &read(&path)?);
        }
        Ok(modules)
    }

    /// Adds the file with this path below the crate's folder, without its ending. A program beside a library imports
    /// that, and is none of it.
    pub(super) fn add(&mut self, name: &str, source: &str) {
        let mut path: Path = name.split('/').map(str::to_owned).collect();
        if path.last().is_some_and(|last| last == "mod" || last == "lib") {
            path.pop();
        }
        self.files.insert(path, File::of(source));
    }

    /// Files that import each other in a loop, each group once, with their modules' names.
    pub(super) fn circles(&self) -> Vec<Vec<String>> {
        let imports = self.files.keys().map(|module| (module.as_slice(), self.imports_of(module)));
        circles(&imports.map(|(module, all)| (module, all.into_iter().map(Vec::as_slice).collect())).collect())
    }

    /// Folders of which each imports files of the other, directly or over others, each group once. A file beside a
    /// folder counts as a folder of its own; the file that stands for a folder to what is in it does not.
    pub(super) fn folder_circles(&self) -> Vec<Vec<String>> {
        circles(&self.folder_imports())
    }

    /// The crate's folders, with what each imports of the others, by names. A file beside them counts as a folder.
    pub(super) fn outer_folders(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let imports = self.folder_imports();
        let of = |folder: &str| {
            let imported = imports.iter().filter(|(path, _)| **path == [folder.to_owned()]).flat_map(|(_, all)| all);
            imported.filter_map(|path| path.first()).map(String::as_str).collect()
        };
        let folders = self.files.keys().filter_map(|path| path.first());
        folders.map(|folder| (folder.as_str(), of(folder))).collect()
    }

    /// What folders import of others beside them.
    fn folder_imports(&self) -> Imports<'_> {
        let mut imports = Imports::new();
        for module in self.files.keys() {
            for other in self.imports_of(module) {
                let shared = module.iter().zip(other).take_while(|(one, other)| one == other).count();
                if let (Some(folder), Some(imported)) = (module.get(..=shared), other.get(..=shared)) {
                    imports.entry(folder).or_default().insert(imported);
                }
            }
        }
        imports
    }

    /// The files with what a file names.
    fn imports_of(&self, module: &Path) -> BTreeSet<&Path> {
        let Some(file) = self.files.get(module) else { return BTreeSet::new() };
        let mut found = BTreeSet::new();
        let mut imported_modules: BTreeMap<&str, &Path> = BTreeMap::new();
        for path in &file.imported {
            match self.origin(module, path) {
                Some((of, true)) => drop(path.last().map(|name| imported_modules.insert(name, of))),
                Some((of, false)) => drop(found.insert(of)),
                None => {}
            }
        }

        for path in &file.named {
            let of_import = path.first().and_then(|first| imported_modules.get(first.as_str()));
            let origin = match of_import {
                Some(&own) => self.origin(own, &[&["self".to_owned()], &path[1..]].concat()),
                None => self.origin(module, path),
            };
            found.extend(origin.map(|(of, _)| of));
        }
        found.remove(module);
        found
    }

    /// The file that declares what a path in a module means, and whether that is the file itself; `None` if it is of
    /// another crate.
    fn origin(&self, module: &Path, path: &[String]) -> Option<(&Path, bool)> {
        let mut module = module.clone();
        let mut rest = path.to_vec();
        // What is handed on may come from far, but not for ever.
        for _ in 0..16 {
            (module, rest) = self.entered(module, &rest)?;
            let (own, file) = self.files.get_key_value(&module)?;
            let Some(name) = rest.first() else { return Some((own, true)) };
            match file.handed_on.get(name) {
                Some(from) if !file.declared.contains(name) => rest = [from.as_slice(), &rest[1..]].concat(),
                _ => return Some((own, false)),
            }
        }
        None
    }

    /// Goes down a path as far as it names modules.
    fn entered(&self, mut module: Path, path: &[String]) -> Option<(Path, Path)> {
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => module.clear(),
            "self" => {}
            "super" => drop(module.pop()),
            child => {
                let inside = [module.as_slice(), &[child.to_owned()]].concat();
                self.files.contains_key(&inside).then_some(())?;
                module = inside;
            }
        }
        rest = &rest[1..];
        while rest.first().is_some_and(|next| next == "super") {
            module.pop();
            rest = &rest[1..];
        }
        while let Some(next) = rest.first() {
            let inside = [module.as_slice(), std::slice::from_ref(next)].concat();
            if !self.files.contains_key(&inside) {
                break;
            }
            module = inside;
            rest = &rest[1..];
        }
        Some((module, rest.to_vec()))
    }
}

/// Modules or folders, with what each imports.
type Imports<'a> = BTreeMap<&'a [String], BTreeSet<&'a [String]>>;

/// What imports each other in a loop, each group once.
fn circles(imports: &Imports<'_>) -> Vec<Vec<String>> {
    let reached: Imports<'_> = imports.keys().map(|&module| (module, reached_from(module, imports))).collect();
    let mut circles = BTreeSet::new();
    for (&module, all) in reached.iter().filter(|(module, all)| all.contains(*module)) {
        let together = all.iter().filter(|&&other| reached.get(other).is_some_and(|back| back.contains(module)));
        circles.insert(together.map(|path| shown(path)).collect::<Vec<_>>());
    }
    circles.into_iter().collect()
}

/// All that can be reached by imports, a module itself only if it is in a loop.
fn reached_from<'a>(module: &[String], imports: &Imports<'a>) -> BTreeSet<&'a [String]> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&'a [String]> = imports.get(module).into_iter().flatten().copied().collect();
    while let Some(own) = next.pop() {
        if reached.insert(own) {
            next.extend(imports.get(own).into_iter().flatten());
        }
    }
    reached
}

fn shown(path: &[String]) -> String {
    if path.is_empty() { "the root".to_owned() } else { path.join("::") }
}

#[cfg(test)]
mod tests {
    use super::Modules;

    fn modules(files: &[(&str, &str)]) -> Modules {
        let mut modules = Modules::default();
        files.iter().for_each(|(name, source)| modules.add(name, source));
        modules
    }

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        modules(files).circles().iter().map(|circle| circle.join(", ")).collect()
    }

    fn folder_circles(files: &[(&str, &str)]) -> Vec<String> {
        modules(files).folder_circles().iter().map(|circle| circle.join(", ")).collect()
    }

    #[test]
    fn files_that_import_each_other_are_found() {
        let a = ("a", "use crate::b::B;\npub struct A(B);\n");
        assert_eq!(circles(&[("lib", "mod a;\nmod b;\n"), a, ("b", "pub struct B;\n")]), [""; 0]);
        assert_eq!(circles(&[("lib", ""), a, ("b", "use super::a::A;\npub struct B(A);\n")]), ["a, b"]);
        assert_eq!(circles(&[("lib", ""), a, ("b", "pub struct B(crate::a::A);\n")]), ["a, b"], "without an import");
        let by_module = ("b", "use crate::a;\npub struct B(a::A);\n");
        assert_eq!(circles(&[("lib", ""), a, by_module]), ["a, b"], "by the module's name");
        let handed_on = ("lib", "pub use a::A;\n");
        assert_eq!(
            circles(&[handed_on, a, ("b", "use crate::A;\npub struct B(A);\n")]),
            ["a, b"],
            "by the crate's face"
        );
        let tested = ("b", "pub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n");
        assert_eq!(circles(&[("lib", ""), a, tested]), [""; 0], "tests may look at all");
    }

    #[test]
    fn parents_and_children_can_be_in_a_circle() {
        let parent = ("p/mod", "mod c;\nuse c::C;\npub struct P(C);\n");
        assert_eq!(circles(&[("lib", ""), parent, ("p/c", "use super::P;\npub struct C;\n")]), ["p, p::c"]);
        assert_eq!(circles(&[("lib", ""), parent, ("p/c", "pub struct C;\n")]), [""; 0]);
        let three = [("a", "use crate::b::B;\n"), ("b", "use crate::c::B;\n"), ("c", "fn f() { crate::a::g() }\n")];
        assert_eq!(circles(&three), ["a, b, c"]);
    }

    /// No two files import each other here: only their folders do.
    #[test]
    fn folders_that_import_each_other_are_found() {
        let leaf = ("a/leaf", "pub struct Leaf;\n");
        let user = ("b/user", "use crate::a::leaf::Leaf;\npub struct User(Leaf);\n");
        let top = ("a/top", "use crate::b::user::User;\npub struct Top(User);\n");
        let (a, b) = (("a/mod", ""), ("b/mod", ""));
        assert_eq!(circles(&[("lib", ""), a, b, leaf, user, top]), [""; 0]);
        assert_eq!(folder_circles(&[("lib", ""), a, b, leaf, user, top]), ["a, b"]);
        assert_eq!(folder_circles(&[("lib", ""), a, b, leaf, user]), [""; 0]);

        let beside = ("top", "use crate::b::user::User;\npub struct Top(User);\n");
        assert_eq!(folder_circles(&[("lib", ""), a, b, leaf, user, beside]), [""; 0], "a file counts for itself");
        let parent = ("a/mod", "mod leaf;\nuse leaf::Leaf;\npub struct Parent(Leaf);\n");
        let child = ("a/child", "use super::Parent;\npub struct Child(Parent);\n");
        assert_eq!(folder_circles(&[("lib", ""), parent, leaf, child]), [""; 0], "within a folder");
    }

    #[test]
    fn folders_within_folders_have_an_order_too() {
        let files = [
            ("lib", ""),
            ("p/mod", ""),
            ("p/a/mod", ""),
            ("p/b/mod", ""),
            ("p/a/leaf", "pub struct Leaf;\n"),
            ("p/b/user", "use crate::p::a::leaf::Leaf;\n"),
            ("p/a/top", "use crate::p::b::user;\npub fn top() { user::go() }\n"),
        ];
        assert_eq!(folder_circles(&files), ["p::a, p::b"]);
    }
}
