//! Requests of designs for work now: blocks to collect, and pages to relocate.

use serde::{Deserialize, Serialize};
use wordline_nand::BlockSetId;

use crate::map::LogicalPage;

/// Work that a design requests now. GC carries it out in the plane groups of the blocks and pages, one job at
/// a time, while more blocks are free than are reserved for GC. It comes before the collection of victims for
/// free blocks. As other GC, it waits for host commands if GC yields to them (`ftl.gc.preemptible`). The
/// design that decides `Relocate` selects the GC streams of the pages. A power cut cancels all requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Maintenance {
    /// Collects a block, even if all its pages are valid: its pages are relocated, and it is erased. It must
    /// be closed, or suspended without a program in progress. A block that is already requested stays
    /// requested. The request is cancelled if the block becomes a victim for another reason first.
    Block(BlockSetId),
    /// Relocates these logical pages within their plane groups. Their last program unit is padded. The blocks
    /// in which they were stay as they are. With coarse-grained mapping, the other pages of their units are
    /// relocated as well.
    ///
    /// Pages without data in flash are left out, and so are pages of victims and of blocks pending retirement,
    /// which GC relocates anyway. A page that is written, discarded or relocated before its turn is left out,
    /// too.
    Pages(Vec<LogicalPage>),
}
