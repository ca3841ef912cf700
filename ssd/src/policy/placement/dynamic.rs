//! Dynamic: the next row in turn whose die is free.

use wordline_nand::Geometry;

use super::{Placement, Row, Rows};

/// Goes round the channels first, then the dies, then the rows of a die, and takes the first row that accepts.
pub struct Dynamic {
    turn: Vec<Row>,
    at: usize,
}

impl Dynamic {
    /// A round over all rows of the device.
    pub fn new(geometry: &Geometry) -> Self {
        let (dies, rows) = (geometry.dies_per_channel, geometry.rows_per_die);
        let turn = (0..geometry.rows()).map(|n| {
            let (channel, rest) = (n % geometry.channels, n / geometry.channels);
            (channel * dies + rest % dies) * rows + rest / dies
        });
        Self { turn: turn.collect(), at: 0 }
    }
}

impl Placement for Dynamic {
    fn home(&self, _: u32) -> Option<Row> {
        None
    }

    fn next(&mut self, rows: &dyn Rows) -> Option<Row> {
        let len = self.turn.len();
        let step = (0..len).find(|step| rows.accepts(self.turn[(self.at + step) % len]))?;
        let chosen = (self.at + step) % len;
        self.at = (chosen + 1) % len;
        Some(self.turn[chosen])
    }
}
