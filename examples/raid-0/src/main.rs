//! Prints what one, two and four SSDs as a RAID-0 do under random reads and writes.

fn main() -> wordline_lab::error::Result<()> {
    println!("members  reads/s  writes/s");
    for members in [1, 2, 4] {
        let iops = |workload| raid_0::run_small(workload, members, |_| ()).map(|run| run.host.iops);
        println!("{members:>7}  {:>7.0}  {:>8.0}", iops("randread-4k")?, iops("randwrite-4k")?);
    }
    Ok(())
}
