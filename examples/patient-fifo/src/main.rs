//! Compares the design with what is built in: `cargo run --release -p patient-fifo`.

use patient_fifo::{amplification, parts};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{:<14} programs per host program", "victim");
    println!("{:<14} {:.3}", "greedy", amplification("greedy", None)?);
    println!("{:<14} {:.3}", "fifo", amplification("fifo", None)?);
    println!("{:<14} {:.3}", "patient-fifo", amplification("greedy", Some(parts))?);
    Ok(())
}
