//! Decisions of a scheduler of a logical unit: the places of consecutive pages, and overtaking.

/// The properties of a unit that a scheduler depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Dies of the unit.
    pub dies: u32,
    /// Planes of a die.
    pub planes: u32,
    /// Program units of a plane.
    pub rows: u32,
}

/// The location of a program unit in a logical unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitLocation {
    /// The die.
    pub die: u32,
    /// The plane of the die.
    pub plane: u32,
    /// The program unit, counted over the blocks of the plane.
    pub row: u32,
}

/// Determines the placement of pages in a logical unit and their order. The scheduler only decides; the unit
/// acts.
pub trait Scheduler: Send {
    /// The location of program unit `n` of the logical unit: distinct for every `n`.
    fn place(&self, n: u32, shape: &Shape) -> UnitLocation;
    /// Whether a page whose die is idle may overtake earlier pages that wait for another die.
    fn allows_overtaking(&self) -> bool;
}
