//! Compares the design with what is built in: `cargo run --release -p patient-fifo`.

use patient_fifo::{amplification, parts};
use wordline_lab::design::Design;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{:<14} programs per host program", "victim");
    println!("{:<14} {:.3}", "greedy", amplification("greedy", Design::Unchanged)?);
    println!("{:<14} {:.3}", "fifo", amplification("fifo", Design::Unchanged)?);
    println!("{:<14} {:.3}", "patient-fifo", amplification("greedy", Design::own(|base, _| parts(base)))?);
    Ok(())
}
