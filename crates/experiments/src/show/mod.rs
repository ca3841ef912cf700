//! Output of an outcome: tables, a report page, and charts.

pub(crate) mod chart;
pub(crate) mod page;
pub(crate) mod record;
pub(crate) mod table;
