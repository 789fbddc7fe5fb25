//! Atomic numbers. All orders are sequentially consistent here; what is relaxed decides nothing and is no step.

use std::sync::atomic::Ordering;

use super::world::step;

fn step_unless_relaxed(order: Ordering) {
    if order != Ordering::Relaxed {
        step();
    }
}

macro_rules! atomic {
    ($name:ident, $value:ty) => {
        #[derive(Debug, Default)]
        pub(crate) struct $name(std::sync::atomic::$name);

        #[allow(dead_code, reason = "all have the same")]
        impl $name {
            pub(crate) fn new(value: $value) -> Self {
                Self(std::sync::atomic::$name::new(value))
            }

            pub(crate) fn load(&self, order: Ordering) -> $value {
                step_unless_relaxed(order);
                self.0.load(order)
            }

            pub(crate) fn store(&self, value: $value, order: Ordering) {
                step_unless_relaxed(order);
                self.0.store(value, order);
            }

            pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
                step_unless_relaxed(order);
                self.0.swap(value, order)
            }

            pub(crate) fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                step_unless_relaxed(success);
                self.0.compare_exchange(current, new, success, failure)
            }
        }
    };
}

macro_rules! counting {
    ($name:ident, $value:ty) => {
        #[allow(dead_code, reason = "all have the same")]
        impl $name {
            pub(crate) fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                step_unless_relaxed(order);
                self.0.fetch_add(value, order)
            }

            pub(crate) fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                step_unless_relaxed(order);
                self.0.fetch_sub(value, order)
            }
        }
    };
}

atomic!(AtomicBool, bool);
atomic!(AtomicU64, u64);
atomic!(AtomicUsize, usize);
counting!(AtomicU64, u64);
counting!(AtomicUsize, usize);
