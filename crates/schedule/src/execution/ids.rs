//! The names of what a task graph consists of.

/// The type of a number that tells things of one kind apart.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(usize);

        impl $name {
            /// The one of this number.
            pub const fn new(index: usize) -> Self {
                Self(index)
            }

            /// Its number.
            pub const fn index(self) -> usize {
                self.0
            }

            /// All of so many, in order.
            pub fn all(count: usize) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone + use<> {
                (0..count).map(Self)
            }
        }
    };
}

id! {
    /// A task of a [`TaskGraph`](super::TaskGraph), counted from 0.
    TaskId
}

id! {
    /// A processor of a [`TaskGraph`](super::TaskGraph), counted from 0. Several may be of one class of a cost table;
    /// the class is a [`ClassId`](millstream_cost::ClassId).
    ProcessorId
}

id! {
    /// One of the values that a task makes, counted from 0.
    OutputId
}

id! {
    /// What a [`TaskGraph`](super::TaskGraph) finds a [`Dependency`](super::Dependency) by; only the task graph itself
    /// knows what it counts.
    DependencyId
}
