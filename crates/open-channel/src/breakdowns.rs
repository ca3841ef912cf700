//! Latency breakdowns of completed commands.

use wordline_device::physical_device::CommandBreakdown;

/// Breakdowns of completed commands that were not taken yet, by tag.
#[derive(Clone, Debug, Default)]
pub(crate) struct Breakdowns(Vec<(u32, CommandBreakdown)>);

impl Breakdowns {
    /// Adds the breakdown of the completed command with this tag. It replaces that of an earlier command.
    pub(crate) fn insert(&mut self, tag: u32, breakdown: CommandBreakdown) {
        self.0.retain(|(of, _)| *of != tag);
        self.0.push((tag, breakdown));
    }

    /// Takes the breakdown of the completed command with this tag.
    pub(crate) fn take(&mut self, tag: u32) -> Option<CommandBreakdown> {
        let place = self.0.iter().position(|(of, _)| *of == tag)?;
        Some(self.0.swap_remove(place).1)
    }
}
