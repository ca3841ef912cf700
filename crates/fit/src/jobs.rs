//! The jobs that a user runs on a drive for a fit, as job files of fio.

use std::fmt::Write;

/// A job file: its name without `.fio`, what it shows, and its sections.
pub struct JobFile {
    /// Name of the job, as in the table of `docs/how-to/fit.md`.
    pub name: &'static str,
    /// The parameters that it shows.
    pub shows: &'static str,
    /// The file.
    pub text: String,
}

/// Settings of all jobs. The whole drive is one file; nothing of it stays.
const GLOBAL: &str = "[global]\nfilename=${DRIVE}\ndirect=1\nioengine=io_uring\nnorandommap=1\ntime_based=1\n\
                      group_reporting=1\npercentile_list=10:50:90:95:99:99.9:99.99\n";

/// Depths of the sweep of reads.
const DEPTHS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// Sizes of reads at depth 1, in KiB; the first size is 512 bytes.
const SIZES: [&str; 8] = ["512", "4k", "8k", "16k", "64k", "128k", "256k", "1m"];

/// Writes a second, of the probe and beside it.
const BESIDE: u32 = 10_000;

/// Rates of sequential writes beside reads, in MiB a second. Chosen: from a tenth to most of the native rate of drives
/// of 0.5 to 4 TB; fio reports it if a drive does not reach one.
const RATES: [u32; 6] = [0, 50, 100, 200, 400, 800];

/// Rate of the writes of job W3, in MiB a second. Chosen: a fifth of the native rate of a drive of 1 TB.
const FLUSH_RATE: u32 = 200;

/// Bytes of a write of the job RW.
pub const STREAMED: u64 = 131_072;

/// Bytes of a write of the job W3.
pub const FLUSHED: u64 = 65_536;

/// Writes of the burst of job W2. Chosen: 1 GiB, more than the buffer of a drive.
const BURST: u32 = 262_144;

/// Shares of reads and depths of mixed loads.
const MIXES: [(u32, u32); 4] = [(70, 1), (70, 8), (70, 32), (50, 8)];

/// Reads at depth 1 beside sequential writes of `size` bytes at a rate; without writes if it is 0.
fn reads_beside(size: u64, rate: u32) -> String {
    let reads = format!("[reads-{rate}]\nstonewall\nrw=randread\nbs=4k\niodepth=1\nruntime=20\n");
    match rate {
        0 => reads,
        rate => {
            format!(
                "{reads}[writes-{rate}]\nnew_group\nrw=write\nbs={size}\niodepth=1\nrate={rate}m\nruntime=20\n"
            )
        }
    }
}

/// The job files, in the order in which they are run.
pub fn files() -> Vec<JobFile> {
    let mut files = files_of_filled_drive();
    files.extend(files_of_steady_state());
    files
}

/// A job file with these sections.
fn file(name: &'static str, shows: &'static str, sections: String) -> JobFile {
    JobFile { name, shows, text: format!("{GLOBAL}{sections}") }
}

/// Settings by which a job writes its throughput to a log.
fn log(name: &str) -> String {
    format!("write_bw_log={name}\nlog_avg_msec=100\n")
}

/// The jobs on the erased drive, which they fill once.
fn files_of_filled_drive() -> Vec<JobFile> {
    let reads = |name: String, depth: u32, size: &str, seconds: u32| {
        format!("[{name}]\nstonewall\nrw=randread\nbs={size}\niodepth={depth}\nruntime={seconds}\n")
    };
    vec![
        file(
            "R0",
            "controller and link: reads of a drive that was discarded",
            [1, 256].map(|depth| reads(format!("depth-{depth}"), depth, "4k", 10)).concat(),
        ),
        file(
            "S1",
            "SLC cache and native writes; fills the drive",
            format!("[fill]\nrw=write\nbs=1m\niodepth=8\ntime_based=0\nsize=100%\n{}", log("S1")),
        ),
        file(
            "R1",
            "units that read by themselves, and the ceiling of reads",
            DEPTHS.map(|depth| reads(format!("depth-{depth}"), depth, "4k", 8)).concat(),
        ),
        file("R2", "the flash bus", SIZES.map(|size| reads(format!("size-{size}"), 1, size, 8)).concat()),
        file("R3", "tR of each page of a word line", reads("depth-1".into(), 1, "4k", 60)),
        file(
            "RW",
            "suspend, and what a program writes",
            RATES.map(|rate| reads_beside(STREAMED, rate)).concat(),
        ),
        file("W3", "suspend, and what a program writes", reads_beside(FLUSHED, FLUSH_RATE)),
        file(
            "W1",
            "firmware and buffer",
            "[idle]\nrw=randwrite\nbs=4k\niodepth=1\nthinktime=1000\nruntime=20\n".into(),
        ),
    ]
}

/// The jobs that bring the drive into steady state, and those there.
fn files_of_steady_state() -> Vec<JobFile> {
    vec![
        file(
            "S2",
            "space behind the capacity, and GC",
            format!(
                "[overwrite]\nrw=randwrite\nbs=4k\niodepth=64\nnumjobs=4\nio_size=40%\ntime_based=0\nsize=100%\n{}",
                log("S2")
            ),
        ),
        file(
            "P1",
            "suspend, and delays of reads by GC",
            format!(
                "[probe]\nrw=randrw\nrwmixread=50\nbs=4k\nrate_iops=5000,5000\niodepth=64\nruntime=60\nnew_group\n\
                 [load]\nrw=randwrite\nbs=4k\niodepth=64\nrate_iops=,{}\nrate_process=poisson\nruntime=60\nnew_group\n",
                BESIDE - 5_000,
            ),
        ),
        file(
            "MX",
            "mixed reads and writes in steady state",
            MIXES
                .map(|(reads, depth)| {
                    format!(
                        "[reads-of-{reads}-depth-{depth}]\nstonewall\nrw=randrw\nrwmixread={reads}\nbs=4k\n\
                         iodepth={depth}\nruntime=30\n"
                    )
                })
                .concat(),
        ),
        file(
            "G1",
            "work while idle; with OCP counters, write amplification",
            format!("[overwrite]\nrw=randwrite\nbs=4k\niodepth=64\nnumjobs=4\nruntime=60\n{}", log("G1")),
        ),
        file(
            "W2",
            "the write buffer",
            format!(
                "[burst]\nrw=randwrite\nbs=4k\niodepth=32\ntime_based=0\nsize=100%\nnumber_ios={BURST}\nwrite_lat_log=W2\n"
            ),
        ),
        file(
            "T1",
            "what trimmed space returns",
            format!(
                "[overwrite]\nrw=randwrite\nbs=4k\niodepth=64\nnumjobs=4\noffset=25%\nio_size=20%\ntime_based=0\n{}",
                log("T1")
            ),
        ),
    ]
}

/// Jobs before and after which the counters of the drive are read.
const COUNTED: [&str; 2] = ["S1", "G1"];

/// The program that runs the jobs, for a shell.
pub fn script(files: &[JobFile]) -> String {
    let mut text = String::from(
        "#!/bin/sh\n# Runs the jobs of `wordline fit` on a drive. THE DRIVE LOSES ITS CONTENTS.\n\
         # usage: ./run.sh /dev/nvme0n1\n\
         set -eu\nexport DRIVE=\"$1\"\n\
         nvme id-ns \"$DRIVE\" -o json > id-ns.json\nnvme id-ctrl \"$DRIVE\" -o json > id-ctrl.json\n\
         # The OCP log page C0, with the bytes written to the flash. Not all drives have it.\n\
         counters() {\n  nvme get-log \"$DRIVE\" --log-id=0xc0 --log-len=512 --raw-binary > C0.$1.bin 2> C0.log || rm -f C0.$1.bin\n}\n\
         blkdiscard -f \"$DRIVE\"\n",
    );
    for JobFile { name, shows, .. } in files {
        text += match *name {
            "G1" => "sleep 60\n",
            "W2" => "sleep 10\n",
            "T1" => {
                "blkdiscard -f -o 0 -l $(($(blockdev --getsize64 \"$DRIVE\") / 4194304 * 1048576)) \"$DRIVE\"\n"
            }
            _ => "",
        };
        let counted = COUNTED.contains(name);
        if counted {
            let _ = writeln!(text, "counters {name}.before");
        }
        let _ = writeln!(text, "fio --output-format=json --output={name}.json {name}.fio # {shows}");
        if counted {
            let _ = writeln!(text, "counters {name}.after");
        }
        if *name == "S1" {
            text += "sleep 60\n";
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_job_is_in_the_script_and_on_the_page() {
        let files = files();
        let names: BTreeSet<&str> = files.iter().map(|file| file.name).collect();
        assert_eq!(names.len(), files.len());
        let page = include_str!("../../../docs/how-to/fit.md");
        let script = script(&files);
        for JobFile { name, shows, text } in &files {
            assert!(script.contains(&format!("--output={name}.json {name}.fio # {shows}")), "{name}");
            assert!(page.contains(&format!("| {name} | ")), "{name}");
            assert!(text.starts_with("[global]") && text.matches("rw=").count() > 0, "{text}");
        }
    }
}
