//! Changed bits in the states of devices of every kind. A changed state must be refused, or the device must
//! continue with it, even across a power cut. No check of the simulation may fail.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;

use super::*;
use crate::PowerCutPoint;
use crate::arrivals::RequestSource;
use crate::trace::{Op, Request};
use wordline_device::SECTOR;
use wordline_kernel::{Bytes, Stream};

/// A kind of device, as in `tests/golden/devices.toml`: name, preset, and settings.
struct Kind {
    name: &'static str,
    preset: &'static str,
    set: &'static [&'static str],
}

const OPEN_CHANNEL: &[&str] = &[
    "open_channel.part.geometry.blocks_per_plane=16",
    "open_channel.part.geometry.pages_per_block=24",
    "over_provisioning=0.5",
    "open_channel.failures.reserve=0.2",
    "open_channel.buffer.size=128KiB",
    "open_channel.programs_at_cut='torn'",
    "open_channel.faults=[{ fails = 'program', every = 300 }]",
];

const MANAGED: &[&str] = &[
    "open_channel.part.geometry.blocks_per_plane=16",
    "open_channel.part.geometry.pages_per_block=24",
    "over_provisioning=0.5",
    "open_channel.failures={ reserve = 0.2, block_map = true }",
    "open_channel.buffer={ size = '128KiB', completion = 'write-back' }",
    "open_channel.faults=[{ fails = 'program', every = 300 }]",
    "spread=programs",
];

/// The settings of the golden devices, which are as small as the feature allows.
const KINDS: [Kind; 12] = [
    Kind {
        name: "map of pages",
        preset: "tiny",
        set: &["ftl.recovery.discards=kept", "ftl.recovery.checkpoint=1MiB", "ftl.over_provisioning=0.3"],
    },
    Kind {
        name: "map in flash",
        preset: "tiny",
        set: &[
            "ftl.mapping.cache=2KiB",
            "ftl.mapping.protected=0.5",
            "ftl.gc.start_below_free_blocks=5",
            "ftl.gc.stop_at_free_blocks=5",
            "ftl.over_provisioning=0.35",
            "ftl.recovery.discards=kept",
            "ftl.recovery.checkpoint=512KiB",
        ],
    },
    Kind { name: "units of a quarter page", preset: "tiny", set: &["ftl.mapping.unit=1KiB"] },
    Kind {
        name: "map of blocks",
        preset: "tiny",
        set: &[
            "ftl.mapping.block={ replacements = 3 }",
            "ftl.placement.policy=fixed",
            "layout.planes_per_row=1",
            "ftl.over_provisioning=0.4",
            "ftl.wear.levelling={ policy = 'bet', k = 0, threshold = 2 }",
            "ftl.gc.background={ policy = 'idle-gc', idle = '200us', until_free = 8 }",
        ],
    },
    Kind {
        name: "two pools, whole units",
        preset: "centaur",
        set: &[
            "part.geometry.blocks_per_plane=24",
            "part.geometry.pages_per_block=48",
            "part.geometry.layers=4",
            "buffer.size=2MiB",
            "ftl.over_provisioning=0.5",
            "ftl.gc.start_below_free_blocks=3",
            "ftl.gc.stop_at_free_blocks=3",
            "pools=[{ part = { base = 'centaur-slc-2d', geometry.blocks_per_plane = 32, geometry.pages_per_block = 32 }, layout = { channels = 4, packages_per_channel = 2, dies_per_package = 1, planes_per_row = 1 }, start_below_free_blocks = 3, stop_at_free_blocks = 3 }]",
        ],
    },
    Kind {
        name: "ReSSD",
        preset: "ressd",
        set: &[
            "part.geometry.blocks_per_plane=64",
            "part.geometry.pages_per_block=48",
            "part.geometry.layers=8",
            "buffer.size=2MiB",
            "ftl.over_provisioning=0.6",
            "ftl.gc.start_below_free_blocks=4",
            "ftl.gc.stop_at_free_blocks=4",
            "design.candidates=3",
        ],
    },
    Kind {
        name: "cubeFTL",
        preset: "cubeftl",
        set: &[
            "part.geometry.blocks_per_plane=14",
            "part.geometry.pages_per_block=288",
            "buffer.size=4MiB",
            "ftl.over_provisioning=0.5",
        ],
    },
    Kind {
        name: "SLC cache",
        preset: "tiny-tlc",
        set: &[
            "ftl.slc_cache={ blocks = 2, spare = 0.3, fold_above = 2 }",
            "ftl.router={ policy = 'slc-cache', window = 0.2 }",
            "ftl.over_provisioning=0.4",
            "part.timing.slc={ read = '20us', program = '100us', erase = '1ms' }",
        ],
    },
    Kind {
        name: "array",
        preset: "raid5-tiny",
        set: &["array.failures=[{ member = 2, after = '3ms' }]", "array.sync_fastest='100MiB'", "members=5"],
    },
    Kind { name: "pblk that programs failed on", preset: "ft-passd", set: OPEN_CHANNEL },
    Kind { name: "open channel", preset: "ft-passd-open-channel", set: MANAGED },
    Kind {
        name: "zones",
        preset: "bench-zns",
        set: &[
            "open_channel.part.geometry.blocks_per_plane=40",
            "open_channel.part.geometry.pages_per_block=48",
            "open_channel.part.geometry.layers=4",
            "zones.capacity=4608KiB",
            "zones.width=4",
            "zones.max_active=12",
            "zones.max_open=2",
            "open_channel.failures.reserve=0.2",
            "over_provisioning=0.5",
            "open_channel.buffer.protected=false",
            "open_channel.faults=[{ fails = 'program', every = 300 }]",
        ],
    },
];

impl Kind {
    fn device(&self) -> Device {
        let set = self.set.iter().map(|text| (*text).to_owned()).collect();
        let selection = Selection { preset: Some(self.preset.into()), file: None, set };
        Device::load(&selection).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

/// Runs the requests of a golden workload, with a flush after every twentieth request and a power cut in
/// between.
fn go(device: &Device, requests: u64, options: RunOptions) -> Result<Summary> {
    let whole = device.configured.shape().sector_size > SECTOR;
    let name = if whole { "bursts" } else { "all" };
    let path = format!("{}/tests/golden/loads/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let load = Workload { requests: Some(requests), ..Workload::named(&path) };
    let power_cut = Some(PowerCutPoint::Requests(requests / 2));
    let options = RunOptions { power_cut, warm_up: Some(WarmUp::None), ..options };
    let mut job = load.job(device, &options, &mut Unobserved)?;
    let all =
        std::mem::replace(&mut job.load.requests, RequestSource::generated(std::iter::empty())).in_order();
    job.load.requests = RequestSource::generated((1u64..).zip(all).map(|(n, request)| {
        let request = request.expect("a workload has all its requests");
        match n % 20 {
            0 => Request { arrival: request.arrival, ..Request::new(Op::Flush, Bytes(0), Bytes(0)) },
            _ => request,
        }
    }));
    crate::run::run_job(job, &mut Unobserved)
}

/// The fields of a state, as far as their names can be recognised. The bytes of a field lie between its
/// length and the name of the next field.
fn fields(state: &[u8]) -> Vec<(String, Range<usize>)> {
    let is_name = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'_' || byte.is_ascii_digit();
    let named = (0..state.len()).filter_map(|begin| {
        let behind = begin + 1 + usize::from(state[begin]);
        let name = state.get(begin + 1..behind)?;
        let is_one = name.len() > 2 && name.iter().all(is_name);
        is_one.then(|| (String::from_utf8_lossy(name).into_owned(), begin, behind + 8))
    });
    let named: Vec<_> = named.collect();
    let ends = named.iter().skip(1).map(|(_, begin, _)| *begin).chain([state.len()]);
    let bodies = named.iter().zip(ends).map(|((name, _, from), end)| (name.clone(), *from..end));
    bodies.filter(|(_, body)| !body.is_empty()).collect()
}

/// A random bit of a state, with the name of its field. Half of the draws begin with a random byte, half with
/// a random field, so that short fields are covered.
fn bit(fields: &[(String, Range<usize>)], n: u64, random: &mut Stream) -> (String, usize, u8) {
    let (name, body) = match n.is_multiple_of(2) {
        true => &fields[random.below(fields.len() as u64) as usize],
        false => {
            let all: usize = fields.iter().map(|(_, body)| body.len()).sum();
            let mut left = random.below(all as u64) as usize;
            let holds = |(_, body): &&(String, Range<usize>)| {
                let is_here = left < body.len();
                left = left.wrapping_sub(body.len());
                is_here
            };
            fields.iter().find(holds).expect("the bytes of all fields were counted")
        }
    };
    let at = body.start + random.below(body.len() as u64) as usize;
    (name.clone(), at, 1 << random.below(8))
}

/// For the short and the long (`WORDLINE_LONG`) test: the number of bits changed for each kind of device, and
/// the number of changes that may end in a failed check. The known one is the version of a data tag that waits
/// for its program, which only the program brings to a page.
const BITS: [(u64, usize); 2] = [(4, 0), (130, 1)];

/// The changed bits after which a check failed, by field, for a kind of device.
fn wrong_of(kind: &Kind, bits: u64) -> Vec<String> {
    let (device, folder) = (kind.device(), tempfile::tempdir().expect("a temporary directory"));
    let (path, forged) = (folder.path().join("worked.snap"), folder.path().join("forged.snap"));
    let options = RunOptions { save_snapshot: Some(path.clone()), ..RunOptions::default() };
    go(&device, 1_000, options).unwrap_or_else(|error| panic!("{}: {error}", kind.name));
    let state = state_of(&path);
    let fields = fields(&state);
    let fate = |state: &[u8]| {
        forge(&path, state, &forged);
        let options = RunOptions { from_snapshot: Some(forged.clone()), ..RunOptions::default() };
        crate::panics::catch_panic(|| go(&device, 120, options))
    };
    let sound = fate(&state);
    assert!(matches!(&sound, Ok(Ok(_))), "{}: the state as it was: {sound:?}", kind.name);
    let mut random = Seed(3).stream("test.forged", 3);
    let mut wrong: BTreeMap<String, usize> = BTreeMap::new();
    for n in 0..bits {
        let (name, at, bit) = bit(&fields, n, &mut random);
        let mut other = state.clone();
        other[at] ^= bit;
        let failed = match fate(&other) {
            Ok(Ok(_)) => continue,
            Ok(Err(error)) if !error.is_simulation_error() => continue,
            Ok(Err(error)) => error.to_string(),
            Err(panic) => panic,
        };
        *wrong.entry(format!("{}, byte {at} of {name}, bit {bit}: {failed}", kind.name)).or_default() += 1;
    }
    wrong.into_keys().collect()
}

/// The test takes about two seconds, because twelve devices are brought to their steady state.
#[test]
fn a_device_of_any_kind_refuses_a_state_with_a_bit_changed_or_goes_on_with_it() {
    let (bits, may_be_left) = BITS[usize::from(std::env::var_os("WORDLINE_LONG").is_some())];
    let wrong: Vec<String> = KINDS.par_iter().flat_map(|kind| wrong_of(kind, bits)).collect();
    assert!(wrong.len() <= may_be_left, "{} bits:\n{}", wrong.len(), wrong.join("\n"));
}
