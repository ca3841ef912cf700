//! Keys without effect on a device. A table has the condition under which each key has an effect. A user who
//! sets a key without effect gets an error. If a lower layer set the key, and a higher layer then replaced
//! the device, the key is dropped.
//!
//! The keys of a part describe the chip, independent of the device. They count only if they were set as a
//! change of the part for this device. The table leaves out the chip's name, size, layers and spare bytes,
//! which describe the chip.

use serde_json::{Value as Json, json};
use wordline_designs::SelectedDesigns;
use wordline_flash::scheduling::GcPriority;
use wordline_ftl::config::FtlFile;
use wordline_ftl::policy::frontier::FrontierKind;
use wordline_kernel::Complaints;
use wordline_nand::CellMode;
use wordline_nand::cell::Ecc;
use wordline_nand::faults::{Fails, FaultFile};
use wordline_ssd::Config;
use wordline_ssd::config::{BufferFile, BufferMode, FrontFile, Interface, Protection};
use wordline_ssd::front::config::Arbitration;

use super::ineffective_key::IneffectiveKey;
use super::replaced;
use super::tree::{Node, Origin, TAG};

/// A condition under which some keys have an effect.
pub struct Condition {
    /// The keys, each including all keys below it.
    pub keys: &'static [&'static str],
    /// The keys that the condition depends on.
    gates: &'static [&'static str],
    /// Whether the condition is met.
    is_effective: fn(&Config) -> bool,
    /// The condition as messages write it.
    wants: &'static str,
    /// The reason why the keys have no effect otherwise.
    reason: &'static str,
}

impl Condition {
    /// The keys of the condition, which is not met.
    fn ineffective_keys(&self) -> impl Iterator<Item = IneffectiveKey> + '_ {
        let Self { keys, gates, wants, reason, .. } = self;
        keys.iter().map(move |key| IneffectiveKey {
            key: (*key).to_owned(),
            gates,
            wanted: format!("{wants}, or the key left out: {reason}"),
            even_default: false,
        })
    }
}

/// All conditions.
pub const CONDITIONS: &[Condition] = &[
    Condition {
        keys: &["front.nvme.queues", "front.nvme.entries", "front.nvme.arbitration", "front.nvme.link"],
        gates: &["front.interface"],
        is_effective: |config| config.file.front.interface == Interface::Nvme,
        wants: "front.interface = \"nvme\"",
        reason: "another interface has no submission queues and no such link",
    },
    Condition {
        keys: &["front.sata.generation", "front.sata.handshake"],
        gates: &["front.interface"],
        is_effective: |config| config.file.front.interface == Interface::Sata,
        wants: "front.interface = \"sata\"",
        reason: "another interface has no such link",
    },
    Condition {
        keys: &["front.nvme.arbitration"],
        gates: &["front.nvme.queues"],
        is_effective: |config| {
            config.file.front.nvme.queues > 1 || config.file.front.interface != Interface::Nvme
        },
        wants: "front.nvme.queues above 1",
        reason: "one queue needs no arbitration",
    },
    Condition {
        keys: &["front.nvme.arbitration.high"],
        gates: &["front.nvme.arbitration.priorities", "front.nvme.queues"],
        is_effective: |config| has_priority(config, 'H'),
        wants: "an H among front.nvme.arbitration.priorities",
        reason: "no queue has this priority",
    },
    Condition {
        keys: &["front.nvme.arbitration.medium"],
        gates: &["front.nvme.arbitration.priorities", "front.nvme.queues"],
        is_effective: |config| has_priority(config, 'M'),
        wants: "an M among front.nvme.arbitration.priorities",
        reason: "no queue has this priority",
    },
    Condition {
        keys: &["front.nvme.arbitration.low"],
        gates: &["front.nvme.arbitration.priorities", "front.nvme.queues"],
        is_effective: |config| has_priority(config, 'L'),
        wants: "an L among front.nvme.arbitration.priorities",
        reason: "no queue has this priority",
    },
    Condition {
        keys: &[
            "buffer.flush_above",
            "buffer.flush_to",
            "buffer.flush_interval",
            "buffer.destage",
            "buffer.eviction",
            "buffer.coalesce",
        ],
        gates: &["buffer.mode"],
        is_effective: |config| config.file.buffer.mode == BufferMode::WriteBack,
        wants: "buffer.mode = \"write-back\"",
        reason: "no page is kept in the buffer",
    },
    Condition {
        keys: &["buffer.coalesce"],
        gates: &["pools", "ftl.mapping.unit", "layout.planes_per_row", "part"],
        is_effective: |config| config.ftl.pools.count() == 1 && config.ftl.locations().per_program > 1,
        wants: "one pool, with program units of several mapping units",
        reason: "the pages of one mapping unit are destaged together in any case",
    },
    Condition {
        keys: &["buffer.read_cache"],
        gates: &["ftl.mapping.unit", "part"],
        is_effective: |config| config.cache_pages > 0,
        wants: "at least one mapping unit (ftl.mapping.unit; a page where it is left out)",
        reason: "the cache holds whole mapping units",
    },
    Condition {
        keys: &["buffer.read_eviction"],
        gates: &["buffer.read_cache"],
        is_effective: |config| config.cache_pages > 0,
        wants: "buffer.read_cache",
        reason: "there is no cache to evict from",
    },
    Condition {
        keys: &["ftl.mapping.protected"],
        gates: &["ftl.mapping.cache"],
        is_effective: |config| config.ftl.map_cache().is_some_and(|cache| cache.protected > 0),
        wants: "ftl.mapping.cache, and at least one protected entry",
        reason: "a map that is in memory as a whole evicts no entry",
    },
    Condition {
        keys: &["ftl.failure"],
        gates: &["faults", "part", "pools"],
        is_effective: |config| !has_no_failures(config),
        wants: "a rule of faults about programs, erases or reads, or a part with cells",
        reason: "no program, erase or read fails",
    },
    Condition {
        keys: &["ftl.failure.reads"],
        gates: &["faults", "part", "pools"],
        is_effective: |config| has_read_failures(config) || has_no_failures(config),
        wants: "a rule of faults about reads",
        reason: "none fails",
    },
    Condition {
        keys: &["ftl.read_retry.levels"],
        gates: &["faults"],
        is_effective: |config| any_fault(config, |rule| rule.fails == Fails::Read),
        wants: "a rule of faults about reads",
        reason: "no read is retried, or its cells decide the retries",
    },
    Condition {
        keys: &["ftl.read_retry.time"],
        gates: &["faults", "part", "pools"],
        is_effective: has_read_failures,
        wants: "a rule of faults about reads, or a part with cells",
        reason: "no read is retried",
    },
    Condition {
        keys: &["ftl.tuner"],
        gates: &["faults", "part", "pools"],
        is_effective: |config| any_fault(config, |rule| rule.level.is_some()) || has_cell_model(config),
        wants: "a rule of faults with a level, or a part with cells",
        reason: "all read references give the same result",
    },
    Condition {
        keys: &["ftl.read_retry.decoder"],
        gates: &["part", "pools"],
        is_effective: |config| {
            config.ftl.pools.iter().any(|pool| pool.part.ecc().is_some_and(Ecc::has_decode_time))
        },
        wants: "a part with cells that take time to decode",
        reason: "decoding takes no time",
    },
    Condition {
        keys: &["ftl.scheduling.reads_in_a_row"],
        gates: &["ftl.scheduling.read_priority"],
        is_effective: |config| config.file.ftl.scheduling.read_priority,
        wants: "ftl.scheduling.read_priority = true",
        reason: "no read has priority",
    },
    Condition {
        keys: &["ftl.scheduling.age_limit"],
        gates: &["ftl.scheduling.read_priority", "ftl.scheduling.gc_priority"],
        is_effective: |config| {
            let scheduling = &config.file.ftl.scheduling;
            scheduling.read_priority || scheduling.gc_priority != GcPriority::Equal
        },
        wants: "ftl.scheduling.read_priority = true, or a ftl.scheduling.gc_priority that is not \"equal\"",
        reason: "commands are served in order of arrival",
    },
    Condition {
        keys: &["ftl.scheduling.max_suspends"],
        gates: &["ftl.scheduling.suspend_programs", "ftl.scheduling.suspend_erases"],
        is_effective: can_suspend,
        wants: "ftl.scheduling.suspend_programs or suspend_erases",
        reason: "nothing is suspended",
    },
    Condition {
        keys: &["ftl.recovery.lower_pages"],
        gates: &["part", "pools"],
        is_effective: |config| {
            let mut parts = config.ftl.pools.iter().map(|pool| &pool.part.geometry);
            parts.any(|geometry| geometry.bits_per_cell > 1 && !geometry.one_shot)
                || config.ftl.file.again() > 0
        },
        wants: "a part of several bits a cell of which each page is programmed by itself, or a design that reprograms word lines",
        reason: "no program disturbs another page",
    },
    Condition {
        keys: &["ftl.recovery.discards"],
        gates: &["buffer.power_loss_protection"],
        is_effective: |config| {
            config.file.buffer.power_loss_protection == Protection::None || config.ftl.file.has_modes()
        },
        wants: "buffer.power_loss_protection = \"none\"",
        reason: "power-loss protection of the buffer keeps them as well",
    },
    Condition {
        keys: &["ftl.slc_cache"],
        gates: &["ftl.router", "designs", "design"],
        is_effective: |config| config.file.ftl.slc_cache.is_none() || config.ftl.file.uses_slc_cache(),
        wants: "ftl.router.policy = \"slc-cache\", or a design with a stream in SLC mode",
        reason: "no other router sends pages there",
    },
    Condition {
        keys: &["ftl.two_bit"],
        gates: &["designs", "design"],
        is_effective: |config| {
            config.file.ftl.two_bit.is_none() || config.ftl.file.writes_in(0, CellMode::Mlc)
        },
        wants: "a design with a stream in MLC mode",
        reason: "nothing else sends pages there",
    },
    Condition {
        keys: &["part.timing.reprogram", "part.timing.two_bit"],
        gates: &["ftl.two_bit"],
        is_effective: |config| config.file.ftl.two_bit.is_some(),
        wants: "ftl.two_bit",
        reason: "no block is used in MLC mode",
    },
    Condition {
        keys: &["part.timing.slc"],
        gates: &["ftl.slc_cache", "ftl.router"],
        is_effective: |config| config.file.ftl.slc_cache.is_some(),
        wants: "ftl.slc_cache",
        reason: "no block is used in SLC mode",
    },
    Condition {
        keys: &["front.nvme.link.generation"],
        gates: &["front.nvme.link.lane_bandwidth"],
        is_effective: |config| config.file.front.nvme.link.lane_bandwidth.is_none(),
        wants: "no front.nvme.link.lane_bandwidth",
        reason: "the bandwidth replaces the rate of the generation",
    },
    Condition {
        keys: &["part.timing.suspend"],
        gates: &["ftl.scheduling.suspend_programs", "ftl.scheduling.suspend_erases"],
        is_effective: can_suspend,
        wants: "ftl.scheduling.suspend_programs or suspend_erases",
        reason: "nothing is suspended",
    },
    Condition {
        keys: &["part.timing.plane_busy"],
        gates: &["layout.planes_per_row", "pools"],
        is_effective: |config| config.ftl.pools.iter().any(|pool| pool.geometry.planes_per_row > 1),
        wants: "layout.planes_per_row above 1",
        reason: "no command is a multi-plane command",
    },
    Condition {
        keys: SCRIPT_KEYS,
        gates: &[],
        is_effective: |_| false,
        wants: "a script of pins or of transactions",
        reason: "no controller issues the commands that it applies to",
    },
    Condition {
        keys: &["ftl.placement.order", "ftl.balancer", "ftl.gc.scope"],
        gates: &["layout", "part"],
        is_effective: |config| config.ftl.pools.rows() > 1,
        wants: "several plane groups",
        reason: "there is only one",
    },
];

/// Keys of parts that only scripts of pins and transactions use.
const SCRIPT_KEYS: &[&str] = &[
    "part.bus.t_cals",
    "part.bus.t_feat",
    "part.bus.t_itc",
    "part.bus.t_vdly",
    "part.bus.t_whr",
    "part.bus.t_ww",
    "part.bus.t_zqcl",
    "part.bus.t_zqcs",
    "part.geometry.registers",
    "part.programs_per_page",
    "part.timing.cache_busy",
    "part.timing.program_typical",
    "part.timing.reset",
];

fn can_suspend(config: &Config) -> bool {
    let scheduling = &config.file.ftl.scheduling;
    scheduling.suspend_programs || scheduling.suspend_erases
}

fn any_fault(config: &Config, is: impl Fn(&FaultFile) -> bool) -> bool {
    config.file.faults.iter().any(is)
}

/// Whether no failure can occur, so that the failure policy is unused.
fn has_no_failures(config: &Config) -> bool {
    !any_fault(config, |rule| matches!(rule.fails, Fails::Program | Fails::Erase))
        && !has_read_failures(config)
}

/// Whether the first read of a page may fail.
fn has_read_failures(config: &Config) -> bool {
    any_fault(config, |rule| rule.fails == Fails::Read) || has_cell_model(config)
}

/// Whether the cell model of some part decides which reads fail.
fn has_cell_model(config: &Config) -> bool {
    config.ftl.pools.iter().any(|pool| pool.part.read_levels().is_some())
}

/// Whether a submission queue has this priority. True if the device has no queue priorities.
fn has_priority(config: &Config, letter: char) -> bool {
    let nvme = &config.file.front.nvme;
    match &nvme.arbitration {
        Arbitration::WeightedRoundRobin { priorities, .. }
            if config.file.front.interface == Interface::Nvme =>
        {
            priorities.chars().take(nvme.queues as usize).any(|one| one == letter)
        }
        _ => true,
    }
}

/// The defaults of all keys, for a device with this many `[[pools]]` tables.
fn defaults(pools: usize) -> Json {
    let pool = json!({ "frontier": FrontierKind::default() });
    let (front, buffer, ftl) = (FrontFile::default(), BufferFile::default(), FtlFile::default());
    json!({ "front": front, "buffer": buffer, "ftl": ftl, "pools": vec![pool; pools] })
}

/// The keys in `tree` that are without effect and were set by a lower layer. `config` and `designs` were made
/// from `tree`.
///
/// # Errors
/// One complaint for each key that was set without effect. A key is no error if a higher layer took its
/// effect away.
pub fn ineffective_keys(
    tree: &Node,
    config: &Config,
    designs: &SelectedDesigns,
) -> Result<Vec<String>, Complaints> {
    let mut wrong = Complaints::default();
    let mut idle = Vec::new();
    let usual = defaults(config.file.pools.len());
    let is = serde_json::to_value(&config.file).expect("a device file is JSON");
    let conditions = CONDITIONS
        .iter()
        .filter(|condition| !(condition.is_effective)(config))
        .flat_map(Condition::ineffective_keys);
    for one in conditions.chain(replaced::keys(config, designs)) {
        let is_usual = is.pointer(&pointer(&one.key)) == usual.pointer(&pointer(&one.key));
        let Some(origin) = tree
            .highest_origin(&one.key)
            .filter(|of| one.is_set(tree, of, is_usual) && !is_of_chip(tree, &one.key, of))
        else {
            continue;
        };
        let mut gates = one.gates.iter().filter_map(|key| tree.highest_origin(key));
        if !gates.any(|gate| gate.can_override(origin)) {
            complain(tree, &one, (&is, &usual), &mut wrong);
        } else if !one.key.starts_with("part.") {
            // A part key stays: removing it may leave the part incomplete.
            idle.push(one.key);
        }
    }
    wrong.into_result(idle)
}

/// Converts a dotted key to a JSON pointer.
fn pointer(key: &str) -> String {
    format!("/{}", key.replace('.', "/"))
}

/// Whether the key comes from the description of the chip, and not from a change of the part for this device.
fn is_of_chip(tree: &Node, key: &str, origin: &Origin) -> bool {
    let part = tree.at("part").filter(|_| key.starts_with("part."));
    part.is_some_and(|part| part.origin.rank() >= origin.rank())
}

/// Complains about the value at or below the key that differs from its default.
fn complain(tree: &Node, idle: &IneffectiveKey, values: (&Json, &Json), wrong: &mut Complaints) {
    let mut leaf = non_default(&idle.key, tree, values);
    let named = format!("{leaf}.{TAG}");
    if tree.at(&named).is_some() {
        leaf = named;
    }
    let Some(node) = tree.at(&leaf) else { return };
    wrong.add(node.origin.label(&with_indices(&leaf)), &node.value, &idle.wanted);
}

/// A key with list indices as complaints write them: `pools[0].frontier`.
fn with_indices(key: &str) -> String {
    let spelled = key.split('.').map(|part| match part.parse::<usize>() {
        Ok(number) => format!("[{number}]"),
        Err(_) => format!(".{part}"),
    });
    spelled.collect::<String>().trim_start_matches('.').to_owned()
}

/// The key at or below `key` whose written value differs from its default, in the highest layer.
fn non_default(key: &str, tree: &Node, (is, usual): (&Json, &Json)) -> String {
    let members = tree.at(key).and_then(Node::members);
    let below =
        members.into_iter().flat_map(|members| members.keys().map(|member| format!("{key}.{member}")));
    let differs = |key: &String| is.pointer(&pointer(key)) != usual.pointer(&pointer(key));
    let highest = below.filter(differs).max_by_key(|key| tree.highest_origin(key).map(Origin::rank));
    highest.map_or_else(|| key.to_owned(), |key| non_default(&key, tree, (is, usual)))
}
