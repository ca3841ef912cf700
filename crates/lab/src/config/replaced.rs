//! Keys of policies that a design of the device replaces.
//!
//! `ftl.placement` is not among them: it decides the order in which a device is filled before a run, where no
//! design takes part.

use wordline_designs::{DECIDES, DESIGN, DESIGNS, SelectedDesigns};
use wordline_ftl::design::{Combination, ExtensionPoint};
use wordline_nand::CellMode;
use wordline_ssd::Config;

use super::ineffective_key::IneffectiveKey;

/// The keys of policies that decide where no design does, each with its decision. Frontiers and router are
/// missing: each pool has its own frontier, and the router takes two decisions.
const POLICIES: [(&str, ExtensionPoint); 7] = [
    ("buffer.coalesce", ExtensionPoint::Coalesce),
    ("ftl.balancer", ExtensionPoint::Balance),
    ("ftl.failure", ExtensionPoint::Fail),
    ("ftl.gc.background", ExtensionPoint::Background),
    ("ftl.gc.relocator", ExtensionPoint::Relocate),
    ("ftl.gc.victim", ExtensionPoint::Victim),
    ("ftl.tuner", ExtensionPoint::Tune),
];

/// The keys that select the designs and their decisions.
const GATES: &[&str] = &[DESIGNS, DESIGN, DECIDES, "pools"];

/// The keys of policies that have no decision to take on this device.
pub(super) fn keys(config: &Config, designs: &SelectedDesigns) -> Vec<IneffectiveKey> {
    let combination = designs.combination(&config.ftl);
    if combination.is_empty() {
        return modes(config).collect();
    }
    let pools = config.ftl.pools.count();
    let owners = |seam| combination.owners(seam, pools);
    let in_all = POLICIES.iter().filter_map(|(key, seam)| {
        let all: Option<Vec<&str>> = owners(*seam).into_iter().collect();
        Some(idle((*key).to_owned(), *seam, &all?))
    });
    let of_pool = |(pool, owner): (usize, Option<&'static str>)| {
        let key = pool.checked_sub(1).map_or("ftl.frontier".into(), |n| format!("pools.{n}.frontier"));
        Some(idle(key, ExtensionPoint::Frontier, &[owner?]))
    };
    let frontiers = owners(ExtensionPoint::Frontier).into_iter().enumerate().filter_map(of_pool);
    in_all.chain(frontiers).chain(router(&combination, pools)).chain(modes(config)).collect()
}

/// Keys for blocks in other cell modes, in pools after the first. Only a design can direct a stream in such a
/// mode to these pools.
fn modes(config: &Config) -> impl Iterator<Item = IneffectiveKey> + '_ {
    let of_pool = |n: usize| {
        let (slc, two_bit) = (config.ftl.file.slc_cache_of(n + 1), config.ftl.file.two_bit_of(n + 1));
        let keys =
            [("slc_cache", slc.is_some(), CellMode::Slc), ("two_bit", two_bit.is_some(), CellMode::Mlc)];
        let in_vain =
            keys.into_iter().filter(|(_, is_set, mode)| *is_set && !config.ftl.file.writes_in(n + 1, *mode));
        let idle = |(key, _, mode): (&str, bool, CellMode)| {
            let wanted =
                format!("the key left out, or a design with a stream in {} in this pool", mode.name());
            IneffectiveKey { key: format!("pools.{n}.{key}"), gates: GATES, wanted, even_default: true }
        };
        in_vain.map(idle).collect::<Vec<_>>()
    };
    (0..config.file.pools.len()).flat_map(of_pool)
}

/// The key of the router, which selects the pool of a page, and its stream in the first pool.
fn router(combination: &Combination, pools: usize) -> Option<IneffectiveKey> {
    let [pool, stream] =
        [ExtensionPoint::Pool, ExtensionPoint::Stream].map(|seam| combination.owners(seam, pools)[0]);
    let is_settled = pools == 1 || pool.is_some();
    stream.filter(|_| is_settled).map(|design| idle("ftl.router".into(), ExtensionPoint::Stream, &[design]))
}

fn idle(key: String, seam: ExtensionPoint, designs: &[&str]) -> IneffectiveKey {
    let mut names = designs.to_vec();
    names.dedup();
    let (names, verb) = (names.join(" and "), if names.len() > 1 { "decide" } else { "decides" });
    let wanted = format!(
        "the key left out, or {DESIGNS} without {names}, which {verb} `{seam}` in place of the policy"
    );
    IneffectiveKey { key, gates: GATES, wanted, even_default: true }
}
