//! Places with numbers, which are used again.

/// Values by number. A number that was removed is given again, the last one first.
#[derive(Debug)]
pub(super) struct Slots<T> {
    values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    /// No values.
    pub(super) const fn new() -> Self {
        Self {
            values: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Adds a value, and returns its number.
    pub(super) fn insert(&mut self, value: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.values[at(number)] = Some(value);
            return number;
        }
        self.values.push(Some(value));
        u32::try_from(self.values.len() - 1).expect("fewer values than that at a time")
    }

    /// The value with this number.
    pub(super) fn get(&self, number: u32) -> &T {
        let value = self.values[at(number)].as_ref();
        value.expect("it has not been removed")
    }

    /// Removes the value with this number.
    pub(super) fn remove(&mut self, number: u32) -> T {
        let value = self.values[at(number)].take();
        self.free.push(number);
        value.expect("it has not been removed")
    }
}

fn at(number: u32) -> usize {
    usize::try_from(number).expect("u32 fits usize")
}
