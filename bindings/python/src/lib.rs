//! Native part of the Python package `wordline`. It converts arguments and results, calls `wordline_lab`, and
//! has no defaults of its own. The user interface is written in Python, in `python/wordline`.

mod arrow;
mod columns;
mod design;
mod design_object;
mod designs;
mod device;
mod errors;
mod kind;
mod log;
mod policies;
mod provenance;
mod results;
mod run;
mod session;
mod settings;
mod study;
mod values;
mod views;
mod workload;

use pyo3::prelude::*;

/// The allocator of the command line, which suits large tables with random access.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Native part of the package `wordline`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::arrow::ArrowTable;
    #[pymodule_export]
    use crate::design::{check_contract, check_restored};
    #[pymodule_export]
    use crate::device::Device;
    #[pymodule_export]
    use crate::kind::Kind;
    #[pymodule_export]
    use crate::log::{pack_log, unpack_log};
    #[pymodule_export]
    use crate::results::{
        Summary, charts, comparison, embedded, for_a_page, page, presets, report, schema_of_devices,
        schema_of_results, sheet, widths, workloads,
    };
    #[pymodule_export]
    use crate::run::{Stop, run};
    #[pymodule_export]
    use crate::session::Session;
    #[pymodule_export]
    use crate::study::{RunStore, Study, StudyTable, carry_out, program};
    #[pymodule_export]
    use crate::views::{Arriving, Block, Failure, Moved, Random, Resting, VictimView, Wearing, Written};
    #[pymodule_export]
    use crate::workload::Workload;

    /// Version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name that Python packages give to their version")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// Suppresses the messages of panics that become errors. Other panics are printed as usual.
    #[pymodule_init]
    fn quieten() {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !wordline_lab::panics::is_panic_caught() {
                before(panic);
            }
        }));
    }
}
