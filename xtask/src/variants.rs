//! Lists of all variants: an enum's `ALL` names every variant. Its length alone does not say so: the compiler counts
//! what is in the list, not what is missing there.

use crate::command::{Failure, crates};
use crate::files::{read, shown, sources};

/// Fails with the variants that a list of all of them leaves out.
pub(crate) fn check() -> Result<(), Failure> {
    let mut found = Vec::new();
    for name in crates()? {
        for file in sources(&name)? {
            let shown = shown(&file);
            found.extend(left_out(&read(&file)?).into_iter().map(|variant| format!("{shown}: {variant}")));
        }
    }

    if found.is_empty() {
        return Ok(());
    }
    Err(Failure(format!("lists of all variants leave these out:\n{}", found.join("\n"))))
}

/// The variants of a file's enums that are not in their `ALL`, where there is one.
fn left_out(source: &str) -> Vec<String> {
    let implementations = source.split("\nimpl ").skip(1);
    implementations
        .flat_map(|own| {
            let name = own.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
            let own = own.split("\n}\n").next().unwrap_or_default();
            let list = own.split_once("const ALL: [Self;").and_then(|(_, rest)| rest.split_once("= ["));
            let list = list.and_then(|(_, rest)| rest.split_once("];")).map(|(list, _)| list);
            let listed = |variant: &str| {
                let mut names =
                    list.unwrap_or_default().split(',').filter_map(|entry| entry.trim().strip_prefix("Self::"));
                names.any(|entry| entry.split('(').next() == Some(variant))
            };
            let all = if list.is_some() { variants(source, name) } else { Vec::new() };
            let missing = all.into_iter().filter(|variant| !listed(variant));
            missing.map(|variant| format!("{name}::{variant}")).collect::<Vec<_>>()
        })
        .collect()
}

/// The names of an enum's variants.
fn variants<'a>(source: &'a str, name: &str) -> Vec<&'a str> {
    let body = source.split_once(&format!("enum {name} {{\n")).and_then(|(_, rest)| rest.split_once("\n}"));
    let lines = body.map_or("", |(body, _)| body).lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.filter(|line| line.starts_with(char::is_uppercase));
    names.filter_map(|line| line.split(|letter: char| !letter.is_alphanumeric()).next()).collect()
}

#[cfg(test)]
mod tests {
    use super::left_out;

    #[test]
    fn variants_that_are_in_no_list_are_found() {
        let source = "/// Sizes.\npub enum Size {\n    /// One.\n    Small,\n    Large,\n}\n\nimpl Size {\n    pub const ALL: [Self; 1] = [Self::Small];\n}\n";
        assert_eq!(left_out(source), ["Size::Large"]);
        let whole = source.replace("[Self::Small]", "[\n        Self::Small,\n        Self::Large,\n    ]");
        assert!(left_out(&whole).is_empty());
        assert!(left_out(&source.replace("ALL", "SOME")).is_empty());
    }
}
