//! Comparison with fio 3.33. `fio --write_iolog` on a sparse file of 1 GiB, `ioengine=libaio`, `iodepth=1`, one
//! run of each job with fio's default seed; the shares are counted in its log.

use super::*;

/// Shares in the log of a job.
#[derive(Debug)]
struct Measured {
    keys: &'static str,
    /// Requests.
    count: f64,
    /// Different addresses, for each request.
    distinct: f64,
    /// Share of the requests at the most popular address, at the ten most popular and at the hundred.
    top: [f64; 3],
    /// Share of the reads.
    reads: f64,
    /// Share of each size, in units of 4 KiB.
    sizes: &'static [(u64, f64)],
}

const ONE_SIZE: &[(u64, f64)] = &[(1, 1.0)];

const fn of(keys: &'static str, count: f64, distinct: f64, top: [f64; 3]) -> Measured {
    Measured { keys, count, distinct, top, reads: 1.0, sizes: ONE_SIZE }
}

const LOGS: [Measured; 18] = [
    of("rw=randread\nnorandommap\nsize=64m", 16384.0, 0.629, [0.0, 0.004, 0.028]),
    of("rw=randread\nsize=4m\nloops=3", 3072.0, 0.333, [0.001, 0.010, 0.098]),
    of("rw=randread\nrandom_distribution=zipf:1.2\nsize=64m", 16384.0, 0.144, [0.206, 0.528, 0.751]),
    of("rw=randread\nrandom_distribution=zipf:0.8\nsize=64m", 16384.0, 0.409, [0.032, 0.119, 0.280]),
    of("rw=randread\nrandom_distribution=zipf:0.9\nsize=48772k", 12193.0, 0.326, [0.058, 0.209, 0.414]),
    of("rw=randread\nrandom_distribution=pareto:0.2\nsize=64m", 16384.0, 0.313, [0.262, 0.361, 0.498]),
    of("rw=randread\nrandom_distribution=pareto:0.1\nsize=48772k", 12193.0, 0.150, [0.649, 0.721, 0.806]),
    of("rw=randread\nrandom_distribution=normal:5\nsize=64m", 16384.0, 0.331, [0.001, 0.007, 0.057]),
    of("rw=randread\nrandom_distribution=normal:20:0.3\nsize=48772k", 12193.0, 0.376, [0.001, 0.008, 0.066]),
    of(
        "rw=randread\nrandom_distribution=zoned:60/10:30/20:8/30:2/40\nsize=64m",
        16384.0,
        0.344,
        [0.001, 0.008, 0.069],
    ),
    of(
        "rw=randread\nrandom_distribution=zoned_abs:60/4m:30/8m:10/52m\nsize=64m",
        16384.0,
        0.271,
        [0.001, 0.011, 0.093],
    ),
    of("rw=randread:8\nrw_sequencer=identical\nnorandommap\nsize=64m", 16384.0, 0.124, [0.001, 0.013, 0.101]),
    of(
        "rw=randread\nbs=4k\nba=64k\nnorandommap\nsize=256m\nnumber_ios=4000",
        4000.0,
        0.632,
        [0.002, 0.013, 0.096],
    ),
    Measured {
        reads: 0.699,
        ..of("rw=randrw\nrwmixread=70\nnorandommap\nsize=64m", 16384.0, 0.629, [0.0, 0.004, 0.028])
    },
    Measured {
        reads: 0.949,
        ..of("rw=randrw\nrwmixread=95\nnorandommap\nsize=64m", 16384.0, 0.629, [0.0, 0.004, 0.028])
    },
    Measured {
        sizes: &[(1, 0.608), (2, 0.081), (3, 0.055), (4, 0.256)],
        ..of("rw=randread\nbssplit=4k/50:16k/50\nsize=64m", 8366.0, 1.0, [0.0, 0.001, 0.012])
    },
    Measured {
        sizes: &[(1, 0.403), (4, 0.395), (16, 0.202)],
        ..of(
            "rw=randread\nnorandommap\nbssplit=4k/40:16k/40:64k/20\nsize=256m",
            12566.0,
            0.911,
            [0.0, 0.003, 0.020],
        )
    },
    Measured {
        sizes: &[(3, 0.195), (6, 0.185), (9, 0.184), (12, 0.188), (15, 0.183), (16, 0.065)],
        ..of("rw=randread\nnorandommap\nbsrange=12k-64k\nsize=256m", 6979.0, 0.860, [0.001, 0.006, 0.044])
    },
];

#[test]
fn requests_have_the_shares_of_fio() {
    // Chosen: four times the deviation of a share of half of the requests of the shortest log.
    let is_near = |found: f64, wanted: f64| (found - wanted).abs() < 0.02;
    for log in &LOGS {
        let all = job(log.keys);
        let count = all.len() as f64;
        assert!((count / log.count - 1.0).abs() < 0.02, "{log:?}: {count}");
        let (mut places, mut sizes) = (BTreeMap::<u64, u32>::new(), BTreeMap::<u64, u32>::new());
        for request in &all {
            *places.entry(request.offset.0).or_default() += 1;
            *sizes.entry(request.size.0 / 4096).or_default() += 1;
        }
        let mut counts: Vec<u32> = places.values().copied().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let top = |most: usize| f64::from(counts.iter().take(most).sum::<u32>()) / count;
        let found = [places.len() as f64 / count, top(1), top(10), top(100)];
        let wanted = [log.distinct, log.top[0], log.top[1], log.top[2]];
        assert!(
            found.iter().zip(wanted).all(|(found, wanted)| is_near(*found, wanted)),
            "{log:?}: {found:?}"
        );
        let reads = all.iter().filter(|request| request.op == Op::Read).count() as f64 / count;
        assert!(is_near(reads, log.reads), "{log:?}: {reads}");
        let shares: Vec<(u64, f64)> =
            sizes.iter().map(|(size, of)| (*size, f64::from(*of) / count)).collect();
        let is_same =
            |(found, wanted): (&(u64, f64), &(u64, f64))| found.0 == wanted.0 && is_near(found.1, wanted.1);
        assert!(
            shares.len() == log.sizes.len() && shares.iter().zip(log.sizes).all(is_same),
            "{log:?}: {shares:?}"
        );
    }
}

/// Requests of fio's log: operation, and offset in units of 4 KiB.
fn letters(keys: &str) -> String {
    let mut text = String::new();
    for request in job(keys) {
        let op = match request.op {
            Op::Read => 'r',
            Op::Write => 'w',
            _ => 'f',
        };
        text.push_str(&format!("{op}{} ", request.offset.0 / 4096));
    }
    text.trim_end().to_owned()
}

#[test]
fn jobs_without_a_draw_have_the_requests_of_fio_one_by_one() {
    for (keys, wanted) in [
        ("rw=read:-8k\nsize=32k", "r0 r6 r5 r4 r3 r2 r1 r0"),
        ("rw=read:-8k\noffset=2m\nsize=1m\nnumber_ios=3", "r766 r765 r764"),
        ("rw=write:12k\nsize=64k\nio_size=48k", "w0 w4 w8 w12 w0 w4 w8 w12 w0 w4 w8 w12"),
        ("rw=read\nsize=16k\nio_size=40k", "r0 r1 r2 r3 r0 r1 r2 r3 r0 r1"),
        ("rw=write\nsize=24k\nverify=crc32c\nverify_backlog=4", "w0 w1 w2 w3 r0 r1 r2 r3 w4 w5 r4 r5"),
        (
            "rw=read\nzonemode=strided\nzonesize=8k\nzonerange=16k\nzoneskip=16k\nsize=4m\nnumber_ios=5",
            "r0 r1 r8 r9 r16",
        ),
        (
            "rw=read\nzonemode=strided\nzonesize=16k\nzonerange=8k\nzoneskip=8k\nsize=4m\nnumber_ios=6",
            "r0 r1 r0 r1 r4 r5",
        ),
        ("rw=write\nsize=8k\nloops=2\nend_fsync=1", "w0 w1 f0 w0 w1 f0"),
    ] {
        assert_eq!(letters(keys), wanted, "{keys}");
    }
}
