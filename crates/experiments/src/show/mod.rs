//! Output of an outcome: tables, the page of a report, and charts.

pub(crate) mod chart;
pub(crate) mod page;
pub(crate) mod record;
pub(crate) mod table;
