//! Prints the statistics of a trace that papers print: `cargo run -p wordline-trace --example statistics --
//! FILE`.

use wordline_trace::{Options, Statistics, open};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("name a trace")?;
    let mut stream = open(file, &Options::default())?;
    let statistics = Statistics::of_stream(&mut stream, &mut |_| {})?;
    for note in stream.notes() {
        eprintln!("note: {note}");
    }
    println!("{statistics}");
    Ok(())
}
