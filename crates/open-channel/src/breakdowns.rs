//! Latency breakdowns of completed commands.

/// Breakdowns of completed commands that were not taken yet, by tag.
#[derive(Clone, Debug)]
pub(crate) struct Breakdowns<T>(Vec<(u32, T)>);

impl<T> Default for Breakdowns<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Breakdowns<T> {
    /// Adds the breakdown of the completed command with this tag. It replaces that of an earlier command.
    pub(crate) fn insert(&mut self, tag: u32, breakdown: T) {
        self.0.retain(|(of, _)| *of != tag);
        self.0.push((tag, breakdown));
    }

    /// Takes the breakdown of the completed command with this tag.
    pub(crate) fn take(&mut self, tag: u32) -> Option<T> {
        let place = self.0.iter().position(|(of, _)| *of == tag)?;
        Some(self.0.swap_remove(place).1)
    }
}
