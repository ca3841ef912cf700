//! Lists of closed lines, by their valid pages, and the victim selection.

use super::{LineState, Lines};
use crate::pblk::layout::LineId;
use crate::pblk::limiter::Pressure;

/// A list of closed lines. GC takes the lists in this order, except the last. The names are pblk's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::pblk) enum List {
    /// No page is valid: the line is freed at once.
    Full,
    /// A write to the line failed.
    Failed,
    /// Less than a quarter of the pages is valid.
    High,
    /// Less than half of the pages is valid.
    Mid,
    /// Some pages are invalid.
    Low,
    /// All pages are valid: collecting the line gains nothing.
    Empty,
}

impl Lines {
    /// The list of a closed line. As in pblk, a quarter and a half refer to all locations of the line.
    pub(in crate::pblk) fn list_of(&self, line: LineId) -> List {
        let entry = self.get(line);
        let all = self.layout.per_line();
        match entry.valid {
            _ if entry.has_failed => List::Failed,
            0 => List::Full,
            valid if valid < all / 4 => List::High,
            valid if valid < all / 2 => List::Mid,
            valid if valid < entry.blocks => List::Low,
            _ => List::Empty,
        }
    }

    /// Selects the next victim: the line with the fewest valid pages in the first non-empty list. Among equal
    /// lines it is the oldest. Unless few chunks are free, only lines with a write error are candidates; while
    /// lines are stranded, only these.
    pub(in crate::pblk) fn victim(&mut self, pressure: Pressure) -> Option<LineId> {
        let (only_failed, only_stranded) = (pressure == Pressure::Failed, pressure == Pressure::Stranded);
        if self.is_settled || (only_failed || only_stranded) && self.failed_lines == 0 {
            return None;
        }
        let last = if only_failed { List::Failed } else { List::Low };
        let is_candidate = |line: &LineId| {
            let entry = self.get(*line);
            entry.state == LineState::Closed && (entry.is_stranded || !only_stranded)
        };
        let closed = self.ids().filter(is_candidate);
        let listed = closed.map(|line| (self.list_of(line), line));
        let found =
            listed.filter(|(list, _)| (List::Failed..=last).contains(list)).min_by_key(|(list, line)| {
                let entry = self.get(*line);
                (*list, entry.valid, entry.sequence)
            });
        self.is_settled = found.is_none() && pressure == Pressure::Low;
        let (_, line) = found?;
        self.get_mut(line).state = LineState::Collected;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use wordline_device::physical_device::{ChunkState, Geometry};
    use wordline_kernel::Bytes;

    use super::*;
    use crate::pblk::layout::{Layout, Ppa};

    /// Closed lines of two chunks of 64 logical blocks. `valid`: valid blocks of each line.
    fn closed(valid: &[u32]) -> Lines {
        let geometry = Geometry {
            groups: 1,
            units_per_group: 2,
            chunks_per_unit: valid.len() as u32,
            blocks_per_chunk: 64,
            block_size: Bytes::kib(4),
            ws_min: 1,
            ws_opt: 1,
            mw_cunits: 0,
            ..Geometry::default()
        };
        let layout = Layout::of(&geometry, 0.5, Some(1));
        let mut lines = Lines::new(layout, |_| ChunkState::Free);
        for valid in valid {
            let line = lines.take_free(0, |_| true).expect("all are free");
            lines.open(line);
            let first = layout.locations_of(line).start + 1;
            (first..first + valid).for_each(|place| lines.validate(Ppa(place)));
            lines.close(line, true);
        }
        lines
    }

    #[test]
    fn lines_are_listed_by_the_part_of_them_that_is_valid() {
        // Of 128 locations one is smeta. Three are emeta: header, list and counts.
        let lines = closed(&[0, 1, 31, 32, 63, 64, 123, 124]);
        let lists: Vec<List> = lines.ids().map(|line| lines.list_of(line)).collect();
        use List::{Empty, Full, High, Low, Mid};
        assert_eq!(lists, [Full, High, High, Mid, Mid, Low, Low, Empty]);
    }

    #[test]
    fn the_line_with_the_fewest_valid_pages_goes_first_but_for_failed_ones() {
        let mut lines = closed(&[70, 40, 20, 20, 124, 0]);
        lines.get_mut(LineId(0)).has_failed = true;
        lines.failed_lines = 1;
        let order: Vec<u32> = std::iter::from_fn(|| lines.victim(Pressure::Low)).map(|line| line.0).collect();
        assert_eq!(order, [0, 2, 3, 1]);
        assert!(lines.victim(Pressure::Low).is_none());
        lines.invalidate(Ppa(4 * 128 + 1));
        assert_eq!(lines.victim(Pressure::Low), Some(LineId(4)), "one of its pages is invalid now");
    }

    #[test]
    fn above_the_threshold_failed_lines_alone_are_collected() {
        let mut lines = closed(&[1, 70]);
        assert_eq!(lines.victim(Pressure::Failed), None);
        lines.get_mut(LineId(1)).has_failed = true;
        lines.failed_lines = 1;
        assert_eq!(lines.victim(Pressure::Failed), Some(LineId(1)));
        assert_eq!(lines.victim(Pressure::Failed), None);
    }

    #[test]
    fn a_line_that_holds_nothing_is_freed_once_nothing_concerns_it() {
        let mut lines = closed(&[1, 1]);
        lines.add_reference(LineId(0));
        lines.invalidate(Ppa(1));
        assert_eq!(lines.pop_emptied(), None);
        lines.drop_reference(LineId(0));
        assert_eq!(lines.pop_emptied(), Some(LineId(0)));
        lines.free(LineId(0), 0);
        assert_eq!((lines.free_chunks(), lines.get(LineId(0)).state), (2, LineState::Free));
        lines.check().expect("its counts are right");
    }
}
