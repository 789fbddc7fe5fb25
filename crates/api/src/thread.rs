/// A thread to be, with a name by which debuggers and `ps` show it.
pub(crate) fn thread(name: &str) -> std::thread::Builder {
    std::thread::Builder::new().name(name.to_owned())
}
