//! Lists in which things are found by numbers of a type of their own, so that a frame is never looked up by a stage.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A number that tells things of one kind apart.
pub(crate) trait Number: Copy + Ord {
    /// The one of a place in a list, counted from 0.
    fn new(index: usize) -> Self;

    /// Its place in a list.
    fn index(self) -> usize;
}

/// A list of things of one kind; the place of each is its number.
#[derive(Debug)]
pub(crate) struct Numbered<N, T> {
    things: Vec<T>,
    numbers: PhantomData<N>,
}

impl<N: Number, T> Numbered<N, T> {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self { things: Vec::with_capacity(capacity), numbers: PhantomData }
    }

    /// Adds a thing, and gives it the next number.
    pub(crate) fn push(&mut self, thing: T) -> N {
        let number = self.next_number();
        self.things.push(thing);
        number
    }

    /// The number of the thing that is added next.
    pub(crate) fn next_number(&self) -> N {
        N::new(self.things.len())
    }

    pub(crate) fn len(&self) -> usize {
        self.things.len()
    }

    /// The numbers of all things.
    pub(crate) fn numbers(&self) -> Consecutive<N> {
        self.numbers_from(N::new(0))
    }

    /// The numbers of a thing and all after it.
    pub(crate) fn numbers_from(&self, first: N) -> Consecutive<N> {
        Consecutive { first, end: self.next_number() }
    }

    pub(crate) fn get(&self, number: N) -> Option<&T> {
        self.things.get(number.index())
    }

    pub(crate) fn get_mut(&mut self, number: N) -> Option<&mut T> {
        self.things.get_mut(number.index())
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &T> + Clone {
        self.things.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut T> {
        self.things.iter_mut()
    }

    /// All things with their numbers.
    pub(crate) fn enumerate(&self) -> impl ExactSizeIterator<Item = (N, &T)> {
        self.things.iter().enumerate().map(|(index, thing)| (N::new(index), thing))
    }
}

impl<N, T> Default for Numbered<N, T> {
    fn default() -> Self {
        Self { things: Vec::new(), numbers: PhantomData }
    }
}

impl<N, T: Clone> Clone for Numbered<N, T> {
    fn clone(&self) -> Self {
        Self { things: self.things.clone(), numbers: PhantomData }
    }
}

impl<N, T> FromIterator<T> for Numbered<N, T> {
    fn from_iter<I: IntoIterator<Item = T>>(things: I) -> Self {
        Self { things: things.into_iter().collect(), numbers: PhantomData }
    }
}

impl<N, T> IntoIterator for Numbered<N, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.things.into_iter()
    }
}

impl<N: Number, T> Index<N> for Numbered<N, T> {
    type Output = T;

    fn index(&self, number: N) -> &T {
        &self.things[number.index()]
    }
}

impl<N: Number, T> IndexMut<N> for Numbered<N, T> {
    fn index_mut(&mut self, number: N) -> &mut T {
        &mut self.things[number.index()]
    }
}

impl<N: Number, T> Index<Consecutive<N>> for Numbered<N, T> {
    type Output = [T];

    fn index(&self, numbers: Consecutive<N>) -> &[T] {
        &self.things[numbers.first.index()..numbers.end.index()]
    }
}

/// Numbers that follow each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Consecutive<N> {
    first: N,
    /// The one after the last.
    end: N,
}

impl<N: Number> Consecutive<N> {
    pub(crate) fn iter(self) -> impl DoubleEndedIterator<Item = N> {
        (self.first.index()..self.end.index()).map(N::new)
    }

    pub(crate) fn len(self) -> usize {
        self.end.index() - self.first.index()
    }

    pub(crate) fn contains(self, number: N) -> bool {
        (self.first..self.end).contains(&number)
    }

    /// The one at a place among them, counted from 0.
    pub(crate) fn at(self, place: usize) -> N {
        N::new(self.first.index() + place)
    }
}
