//! Keys that do nothing on the device at hand: a table of what each wants of the rest. Who set one in vain is told so; what a
//! layer below set for a device that a layer above made another is left out.
//!
//! Not in the table are keys of parts, which say what a chip is, whatever a device makes of it.

use serde_json::{Value as Json, json};
use wordline_kernel::Complaints;
use wordline_nand::faults::{Fails, FaultFile};
use wordline_ssd::Config;
use wordline_ssd::config::{BufferFile, BufferMode, FrontFile, FtlFile, Interface, Protection};
use wordline_ssd::front::config::Arbitration;
use wordline_ssd::scheduling::GcPriority;

use super::tree::{Node, Origin};

/// What some keys want.
pub struct Condition {
    /// The keys, each with all below it.
    pub keys: &'static [&'static str],
    /// The keys that decide.
    gates: &'static [&'static str],
    /// Whether the keys do anything.
    works: fn(&Config) -> bool,
    /// What must be so.
    wants: &'static str,
    /// Why nothing comes of them else.
    reason: &'static str,
}

/// All of them.
pub const CONDITIONS: &[Condition] = &[
    Condition {
        keys: &["front.nvme.queues", "front.nvme.entries", "front.nvme.arbitration", "front.nvme.link"],
        gates: &["front.interface"],
        works: |config| config.file.front.interface == Interface::Nvme,
        wants: "front.interface = \"nvme\"",
        reason: "another interface has no submission queues and no such link",
    },
    Condition {
        keys: &["front.sata.generation", "front.sata.handshake"],
        gates: &["front.interface"],
        works: |config| config.file.front.interface == Interface::Sata,
        wants: "front.interface = \"sata\"",
        reason: "another interface has no such link",
    },
    Condition {
        keys: &["front.nvme.arbitration"],
        gates: &["front.nvme.queues"],
        works: |config| config.file.front.nvme.queues > 1 || config.file.front.interface != Interface::Nvme,
        wants: "front.nvme.queues above 1",
        reason: "nothing is chosen where there is one queue",
    },
    Condition {
        keys: &["front.nvme.arbitration.high"],
        gates: &["front.nvme.arbitration.priorities", "front.nvme.queues"],
        works: |config| has_priority(config, 'H'),
        wants: "an H among front.nvme.arbitration.priorities",
        reason: "no queue has this priority",
    },
    Condition {
        keys: &["front.nvme.arbitration.medium"],
        gates: &["front.nvme.arbitration.priorities", "front.nvme.queues"],
        works: |config| has_priority(config, 'M'),
        wants: "an M among front.nvme.arbitration.priorities",
        reason: "no queue has this priority",
    },
    Condition {
        keys: &["front.nvme.arbitration.low"],
        gates: &["front.nvme.arbitration.priorities", "front.nvme.queues"],
        works: |config| has_priority(config, 'L'),
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
        works: |config| config.file.buffer.mode == BufferMode::WriteBack,
        wants: "buffer.mode = \"write-back\"",
        reason: "no page stays in the buffer",
    },
    Condition {
        keys: &["buffer.coalesce"],
        gates: &["pools", "ftl.mapping.unit", "layout.planes_per_row", "part"],
        works: |config| config.pools.count() == 1 && config.slots().per_program > 1,
        wants: "one pool, with program units of several mapping units",
        reason: "what is of one unit leaves the buffer together as it is",
    },
    Condition {
        keys: &["buffer.read_cache"],
        gates: &["ftl.mapping.unit", "part"],
        works: |config| config.cache_pages > 0,
        wants: "as much as a mapping unit takes at the least (ftl.mapping.unit; a page where it is left out)",
        reason: "the cache holds whole ones",
    },
    Condition {
        keys: &["buffer.read_eviction"],
        gates: &["buffer.read_cache"],
        works: |config| config.cache_pages > 0,
        wants: "buffer.read_cache",
        reason: "nothing leaves a cache that is not there",
    },
    Condition {
        keys: &["ftl.mapping.protected"],
        gates: &["ftl.mapping.cache"],
        works: |config| config.map_cache().is_some_and(|cache| cache.protected > 0),
        wants: "ftl.mapping.cache, and an entry of it to be kept",
        reason: "no entry leaves a map that is in memory as a whole",
    },
    Condition {
        keys: &["ftl.failure"],
        gates: &["faults"],
        works: |config| {
            any_fault(config, |rule| matches!(rule.fails, Fails::Program | Fails::Erase | Fails::Read))
        },
        wants: "a rule of faults about programs, erases or reads",
        reason: "nothing fails in a block",
    },
    Condition {
        keys: &["ftl.failure.reads"],
        gates: &["faults"],
        works: |config| any_fault(config, |rule| rule.fails == Fails::Read) || fails_nowhere(config),
        wants: "a rule of faults about reads",
        reason: "none fails",
    },
    Condition {
        keys: &["ftl.read_retry.levels", "ftl.read_retry.time"],
        gates: &["faults"],
        works: |config| any_fault(config, |rule| rule.fails == Fails::Read),
        wants: "a rule of faults about reads",
        reason: "every page is read at the first try",
    },
    Condition {
        keys: &["ftl.tuner"],
        gates: &["faults"],
        works: |config| any_fault(config, |rule| rule.level.is_some()),
        wants: "a rule of faults with a level",
        reason: "all read levels read every page alike",
    },
    Condition {
        keys: &["ftl.scheduling.reads_in_a_row"],
        gates: &["ftl.scheduling.read_priority"],
        works: |config| config.file.ftl.scheduling.read_priority,
        wants: "ftl.scheduling.read_priority = true",
        reason: "no read goes before what came first",
    },
    Condition {
        keys: &["ftl.scheduling.age_limit"],
        gates: &["ftl.scheduling.read_priority", "ftl.scheduling.gc_priority"],
        works: |config| {
            let scheduling = &config.file.ftl.scheduling;
            scheduling.read_priority || scheduling.gc_priority != GcPriority::Equal
        },
        wants: "ftl.scheduling.read_priority = true, or a ftl.scheduling.gc_priority that is not \"equal\"",
        reason: "what came first goes first",
    },
    Condition {
        keys: &["ftl.scheduling.max_suspends"],
        gates: &["ftl.scheduling.suspend_programs", "ftl.scheduling.suspend_erases"],
        works: |config| {
            let scheduling = &config.file.ftl.scheduling;
            scheduling.suspend_programs || scheduling.suspend_erases
        },
        wants: "ftl.scheduling.suspend_programs or suspend_erases",
        reason: "nothing is suspended",
    },
    Condition {
        keys: &["ftl.recovery.lower_pages"],
        gates: &["part", "pools"],
        works: |config| {
            let mut parts = config.pools.iter().map(|pool| &pool.part.geometry);
            parts.any(|geometry| geometry.bits_per_cell > 1 && !geometry.one_shot)
        },
        wants: "a part of several bits a cell of which each page is programmed by itself",
        reason: "no program touches another page",
    },
    Condition {
        keys: &["ftl.recovery.discards"],
        gates: &["buffer.power_loss_protection"],
        works: |config| {
            config.file.buffer.power_loss_protection == Protection::None
                || config.file.ftl.slc_cache.is_some()
        },
        wants: "buffer.power_loss_protection = \"none\"",
        reason: "what keeps the buffer keeps them as well",
    },
    Condition {
        keys: &["ftl.placement.order", "ftl.balancer", "ftl.gc.scope"],
        gates: &["layout", "part"],
        works: |config| config.pools.rows() > 1,
        wants: "several rows of planes",
        reason: "everything is in the only one",
    },
];

fn any_fault(config: &Config, is: impl Fn(&FaultFile) -> bool) -> bool {
    config.file.faults.iter().any(is)
}

/// Whether the whole failure policy does nothing.
fn fails_nowhere(config: &Config) -> bool {
    !any_fault(config, |rule| matches!(rule.fails, Fails::Program | Fails::Erase | Fails::Read))
}

/// Whether a submission queue has this priority. Where there are no priorities there is nothing to be said about them.
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

/// The values of keys that are left out.
fn defaults() -> Json {
    json!({ "front": FrontFile::default(), "buffer": BufferFile::default(), "ftl": FtlFile::default() })
}

/// Takes what a layer below set in vain out of `tree`, of which `config` was made; whether there is anything.
///
/// # Errors
/// What was set in vain by nobody's change but that of its own layer.
pub fn leave_out_idle(tree: &mut Node, config: &Config) -> Result<bool, Complaints> {
    let mut wrong = Complaints::default();
    let mut idle = Vec::new();
    let (is, usual) = (serde_json::to_value(&config.file).expect("a device file is JSON"), defaults());
    for condition in CONDITIONS.iter().filter(|condition| !(condition.works)(config)) {
        let gate = condition.gates.iter().filter_map(|key| rank_of(tree, key)).max();
        for key in condition.keys {
            let pointer = format!("/{}", key.replace('.', "/"));
            let Some(rank) = rank_of(tree, key).filter(|_| is.pointer(&pointer) != usual.pointer(&pointer))
            else {
                continue;
            };
            if Some(rank) < gate {
                idle.push(*key);
            } else {
                complain(tree, key, condition, (&is, &usual), &mut wrong);
            }
        }
    }
    wrong.or_ok(())?;
    idle.iter().for_each(|key| tree.remove(key));
    Ok(!idle.is_empty())
}

/// Names the value below `key` that is not as usual.
fn complain(tree: &Node, key: &str, condition: &Condition, values: (&Json, &Json), wrong: &mut Complaints) {
    let leaf = unusual(key, tree, values);
    let Some(node) = tree.at(&leaf) else { return };
    let Condition { wants, reason, .. } = condition;
    wrong.add(node.origin.label(&leaf), &node.value, format!("{wants}, or the key left out: {reason}"));
}

/// The written value below `key`, or `key` itself, that is not as usual: that of the highest layer.
fn unusual(key: &str, tree: &Node, (is, usual): (&Json, &Json)) -> String {
    let members = tree.at(key).and_then(Node::members);
    let below =
        members.into_iter().flat_map(|members| members.keys().map(|member| format!("{key}.{member}")));
    let pointer = |key: &String| format!("/{}", key.replace('.', "/"));
    let differs = |key: &String| is.pointer(&pointer(key)) != usual.pointer(&pointer(key));
    let highest = below.filter(differs).max_by_key(|key| rank_of(tree, key));
    highest.map_or_else(|| key.to_owned(), |key| unusual(&key, tree, (is, usual)))
}

/// How high up the layers are that set something of a key: what comes with the program, files of the user, arguments. None if
/// nothing is set.
fn rank_of(tree: &Node, key: &str) -> Option<u8> {
    fn highest(node: &Node) -> u8 {
        let own = match &node.origin {
            Origin::Set(_) => 2,
            Origin::Line(source, _) => {
                u8::from(!["preset ", "part "].iter().any(|kind| source.starts_with(kind)))
            }
        };
        match node.members() {
            Some(members) => members.values().map(highest).max().unwrap_or(own),
            None => own,
        }
    }
    tree.at(key).map(highest)
}
