//! Greedy GC under a Zipf distribution, simulated with plain tables, independently of the simulator. It is
//! compared with the published values of SSD-iq (Haas et al., PVLDB 18, 2025): the table `plotzipf.csv` of
//! its simulator, with 16 GiB of blocks of 8 MiB, filled to 0.875.
//!
//! SSD-iq's rules are in its code, not in its paper.
//!
//! - `greedy`: a victim keeps its valid pages. The next writes of the host fill the rest of the block. Rarely
//!   written pages therefore lie among new ones.
//! - `2Rgreedy`: there are two regions, the blocks of the host and the blocks of survivors (valid pages of
//!   victims). Victims come from the region with the emptiest block, as many as are needed to gain a block.
//!   Their valid pages are packed together. The partly filled block goes to the host.
//!
//! A device of Wordline whose GC has a write stream is different: the partly filled block stays open for
//! survivors of any region. In all cases an LRU buffer of 0.02 % of the logical pages absorbs rewrites of the
//! hottest pages.

use wordline_kernel::{Seed, Stream};

use crate::models::tests::close;
use wordline_lab::trace::workload::zipf::Zipf;

/// The number for no page or no block.
const NONE: u32 = u32::MAX;

/// Destination of the valid pages of a victim.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    /// The victim itself (`greedy`). The next writes of the host fill the rest of the block.
    Stay,
    /// A separate block, which stays open for the survivors of later victims.
    Apart,
    /// A block with survivors of other victims of the same region (`2Rgreedy`).
    Regions,
}

/// Blocks of a device. One block is open for the host. If survivors are separated, another block is open for
/// them.
struct Blocks {
    pages: usize,
    rule: Rule,
    /// Whether the block was filled by survivors.
    cold: Vec<bool>,
    /// The block of each logical page.
    home: Vec<u32>,
    /// The pages written to each block in order, valid and invalid.
    inside: Vec<Vec<u32>>,
    valid: Vec<u32>,
    free: Vec<u32>,
    open: u32,
    survivors: u32,
    programmed: u64,
}

impl Blocks {
    fn new(blocks: usize, pages: usize, logical: usize, rule: Rule) -> Self {
        Self {
            pages,
            rule,
            cold: vec![false; blocks],
            home: vec![NONE; logical],
            inside: vec![Vec::with_capacity(pages); blocks],
            valid: vec![0; blocks],
            free: (1..blocks as u32).rev().collect(),
            open: 0,
            survivors: NONE,
            programmed: 0,
        }
    }

    fn is_full(&self, block: u32) -> bool {
        self.inside[block as usize].len() == self.pages
    }

    fn put(&mut self, page: u32, block: u32) {
        if let Some(valid) = self.valid.get_mut(self.home[page as usize] as usize) {
            *valid -= 1;
        }
        self.home[page as usize] = block;
        self.inside[block as usize].push(page);
        self.valid[block as usize] += 1;
        self.programmed += 1;
    }

    fn write(&mut self, page: u32) {
        if self.is_full(self.open) {
            self.open = match (self.free.pop(), self.rule) {
                (Some(block), _) => block,
                (None, Rule::Stay) => self.compact(),
                (None, Rule::Apart) => self.gain(),
                (None, Rule::Regions) => self.pack(),
            };
            self.cold[self.open as usize] = false;
        }
        self.put(page, self.open);
    }

    fn full(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.valid.len() as u32).filter(|block| self.is_full(*block))
    }

    fn emptiest(&self) -> u32 {
        self.full().min_by_key(|block| self.valid[*block as usize]).expect("some block is full")
    }

    /// Whether victims come from the blocks of survivors. True if the blocks of survivors gain a block,
    /// unless the blocks of the host gain one too and include the emptiest block.
    fn collects_cold(&self) -> bool {
        let region = |cold| self.full().filter(move |block| self.cold[*block as usize] == cold);
        let valid = |block: u32| self.valid[block as usize] as usize;
        let gain = |cold| region(cold).map(|block| self.pages - valid(block)).sum::<usize>();
        let least = |cold| region(cold).map(valid).min();
        gain(true) >= self.pages && (gain(false) < self.pages || least(true) <= least(false))
    }

    /// The emptiest blocks of a region, as many as are needed to gain a block.
    fn victims(&self) -> Vec<u32> {
        let cold = self.collects_cold();
        let mut blocks: Vec<u32> = self.full().filter(|block| self.cold[*block as usize] == cold).collect();
        blocks.sort_by_key(|block| self.valid[*block as usize]);
        let mut gained = 0;
        let enough = blocks.iter().position(|block| {
            gained += self.pages - self.valid[*block as usize] as usize;
            gained >= self.pages
        });
        blocks.truncate(enough.expect("the region gains a block") + 1);
        blocks
    }

    /// Packs the valid pages of the victims. Each victim, the fullest first, is filled with the pages of the
    /// next emptier one. Victims that are not full afterwards are free.
    fn pack(&mut self) -> u32 {
        let victims = self.victims();
        for page in self.valid_in(victims[victims.len() - 1]) {
            self.put(page, victims[victims.len() - 1]);
        }
        for pair in victims.windows(2).rev() {
            for page in self.valid_in(pair[0]) {
                let to = if self.is_full(pair[1]) { pair[0] } else { pair[1] };
                self.put(page, to);
            }
        }
        for block in victims.into_iter().rev() {
            self.cold[block as usize] = self.is_full(block);
            if !self.is_full(block) {
                self.free.push(block);
            }
        }
        self.free.pop().expect("a block is gained")
    }

    /// The valid pages of a block.
    fn valid_in(&mut self, block: u32) -> Vec<u32> {
        let mut pages = std::mem::take(&mut self.inside[block as usize]);
        pages.retain(|page| self.home[*page as usize] == block);
        pages.sort_unstable();
        pages.dedup();
        pages
    }

    /// Returns a victim that begins with its own valid pages, for rule [`Rule::Stay`] and for a new block of
    /// survivors.
    fn compact(&mut self) -> u32 {
        let victim = self.emptiest();
        for page in self.valid_in(victim) {
            self.put(page, victim);
        }
        victim
    }

    /// Returns an empty block. Its valid pages went to the block of survivors. If they do not fit there, the
    /// victim becomes the next block of survivors, and another victim is collected.
    fn gain(&mut self) -> u32 {
        loop {
            if self.survivors == NONE || self.is_full(self.survivors) {
                self.survivors = self.compact();
            }
            let victim = self.emptiest();
            let mut pages = self.valid_in(victim).into_iter();
            while !self.is_full(self.survivors) {
                let Some(page) = pages.next() else { return victim };
                self.put(page, self.survivors);
            }
            if pages.len() == 0 {
                return victim;
            }
            self.survivors = victim;
            pages.for_each(|page| self.put(page, victim));
        }
    }
}

/// An LRU buffer of pages, ordered by their last write.
struct Lru {
    room: usize,
    clock: u64,
    written: Vec<u64>,
    order: std::collections::BTreeMap<u64, u32>,
}

impl Lru {
    fn new(room: usize, logical: usize) -> Self {
        Self { room, clock: 0, written: vec![0; logical], order: std::collections::BTreeMap::new() }
    }

    /// Inserts a page. Returns the page that is evicted for it.
    fn take(&mut self, page: u32) -> Option<u32> {
        self.clock += 1;
        let known = self.order.remove(&std::mem::replace(&mut self.written[page as usize], self.clock));
        self.order.insert(self.clock, page);
        (known.is_none() && self.order.len() > self.room).then(|| {
            let (_, page) = self.order.pop_first().expect("it is fuller than it may be");
            self.written[page as usize] = 0;
            page
        })
    }
}

/// The published buffer size, as a fraction of the logical pages.
const BUFFER: f64 = 0.000_2;

/// Write amplification over the last of `fills` drive writes.
fn played(blocks: usize, pages: usize, theta: Option<f64>, rule: Rule, fills: usize) -> f64 {
    played_beside([blocks, pages], theta, rule, fills, (0, BUFFER))
}

/// Write amplification over the last of `fills` drive writes, with `more` additional blocks and with another
/// buffer size. The data fill 0.875 of the blocks without the additional ones. `buffer` is a fraction of the
/// logical pages.
fn played_beside(
    [blocks, pages]: [usize; 2],
    theta: Option<f64>,
    rule: Rule,
    fills: usize,
    (more, buffer): (usize, f64),
) -> f64 {
    let logical = (blocks * pages * 7) / 8;
    let mut random = Seed(11).stream("zipf-cleaning", u64::from(rule != Rule::Stay));
    let mut places: Vec<u32> = (0..logical as u32).collect();
    random.shuffle(&mut places);
    let zipf = theta.map(|theta| Zipf::new(logical as u64, theta));
    let draw = |random: &mut Stream| match &zipf {
        Some(zipf) => places[zipf.sample(random) as usize],
        None => random.below(logical as u64) as u32,
    };
    let mut device = Blocks::new(blocks + more, pages, logical, rule);
    let mut buffer = Lru::new((logical as f64 * buffer) as usize, logical);
    let mut before = 0;
    for write in 0..fills * logical {
        if write == (fills - 1) * logical {
            before = device.programmed;
        }
        let page = if write < logical { write as u32 } else { draw(&mut random) };
        if let Some(page) = buffer.take(page) {
            device.write(page);
        }
    }
    (device.programmed - before) as f64 / logical as f64
}

/// The test uses 200 blocks of 512 pages. Few enough hot pages are then in the buffer, so that exponents up
/// to 0.7 are within 2 %. The block of survivors is 4 % of the spare space.
#[test]
fn survivors_among_the_hosts_pages_are_what_was_published_as_greedy() {
    close(played(200, 512, None, Rule::Stay, 8), 4.1798, 0.02);
    close(played(200, 512, Some(0.7), Rule::Stay, 8), 4.7658, 0.02);
}

#[test]
fn survivors_packed_together_by_region_are_what_was_published_as_two_regions() {
    close(played(200, 512, None, Rule::Regions, 8), 4.1843, 0.02);
    close(played(200, 512, Some(0.7), Rule::Regions, 8), 4.3774, 0.02);
}

#[test]
fn up_to_an_exponent_of_0_7_a_block_of_their_own_is_as_good_for_survivors_as_a_region() {
    close(played(200, 512, None, Rule::Apart, 8), 4.1843, 0.02);
    close(played(200, 512, Some(0.7), Rule::Apart, 8), 4.3774, 0.02);
}

/// The test uses the published size: 2,048 blocks of 2,048 pages of 4 KiB.
#[test]
fn all_published_exponents_are_met_at_the_published_size() {
    if std::env::var_os("WORDLINE_LONG").is_none() {
        return;
    }
    let published =
        [(0.7, 4.7658, 4.3774), (0.8, 4.8778, 4.2072), (0.9, 4.6603, 3.7941), (1.0, 3.9399, 3.4284)];
    for (theta, greedy, regions) in published {
        close(played(2_048, 2_048, Some(theta), Rule::Stay, 9), greedy, 0.02);
        close(played(2_048, 2_048, Some(theta), Rule::Regions, 9), regions, 0.02);
    }
}

/// Write amplification of the device in `validation/waf-zipf` at full scale, which differs from the published
/// value.
///
/// The tables of this file give 3.10, the device 3.021. There are two differences.
///
/// - Buffer: the device's buffer holds a ninth more pages than its high watermark. With one write after
///   another it is always full, and pages in flight to flash can be rewritten in it too. This reduces the
///   value by 1.3 %.
/// - Spare blocks: under full load the host can use the three blocks that are kept free and that do not count
///   as physical space. There are 259 spare blocks instead of 256, which reduces the value by another 1.2 %.
///
/// With both differences the tables give 3.018 to 3.025. The rest is sampling. The standard deviation is 0.25
/// % for half a drive write of the tables, 0.17 % for the drive write measured here, and 0.1 % for the 2.5
/// drive writes of the device. Three times the combined deviation is 0.6 %.
#[test]
fn at_an_exponent_of_1_survivors_in_a_block_of_their_own_have_the_device_s_write_amplification() {
    if std::env::var_os("WORDLINE_LONG").is_some() {
        let device = (3, BUFFER / 0.9);
        close(played_beside([2_048, 2_048], Some(1.0), Rule::Apart, 9, device), 3.021, 0.006);
    }
}
