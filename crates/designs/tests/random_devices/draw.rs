//! Random devices and hosts: user settings on top of the preset `tiny`, and host commands.

mod block_map;
mod checkpoints;
mod cubeftl;
mod homes;
mod suspended;
mod two_bits;

use wordline_kernel::{Seed, Stream};

use crate::{gathers, sorts};

/// The next step of a host. Places are in units of 1/65,536 of a namespace. `play` interprets the kinds.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub kind: u8,
    pub place: u16,
    pub sectors: u16,
    pub fua: bool,
    pub namespace: u8,
    pub queue: u8,
    pub stream: u8,
}

/// The contents of a device before the first step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Empty,
    Filled,
    Steady,
}

/// A device and a host.
#[derive(Clone, Debug)]
pub struct Case {
    pub number: u64,
    /// `key=value` settings, as after `--preset tiny --set`.
    pub settings: Vec<String>,
    pub start: Start,
    /// Outstanding commands.
    pub depth: usize,
    pub steps: Vec<Step>,
}

/// Geometry of the chips, from which other settings follow.
struct Shape {
    bits: u64,
    one_shot: bool,
    planes: u64,
    planes_per_row: u64,
    page: u64,
    blocks: u64,
    pages: u64,
    dies: u64,
}

struct Draw {
    random: Stream,
    settings: Vec<String>,
}

impl Case {
    /// Case `number` of a seed.
    pub fn draw(seed: u64, number: u64) -> Self {
        let random = Seed(seed).stream("case", number);
        let mut draw = Draw { random, settings: Vec::new() };
        draw.device();
        let start = draw.pick(&[Start::Empty, Start::Filled, Start::Steady]);
        let depth = draw.from(1, 16) as usize;
        let count = draw.from(20, 400);
        let steps = (0..count).map(|_| draw.step()).collect();
        // Destaging has its own random stream, so that the other draws of a seed stay the same.
        draw.random = Seed(seed).stream("case.destage", number);
        draw.destage();
        draw.random = Seed(seed).stream("case.designs", number);
        // Only odd numbers have these features, so that cases with even numbers stay the same.
        if number % 2 == 1 {
            draw.streams_and_designs();
            draw.random = Seed(seed).stream("case.cubeftl", number);
            draw.cubeftl();
        }
        draw.random = Seed(seed).stream("case.gathers", number);
        if number % 4 == 3 {
            let chances = [(); 3].map(|()| draw.pick(&[0, 30, 90, 100]));
            gathers::add_to(&mut draw.settings, chances);
        }
        draw.random = Seed(seed).stream("case.blocks", number);
        draw.upkeep_of_blocks();
        draw.random = Seed(seed).stream("case.checkpoints", number);
        draw.checkpoints();
        draw.random = Seed(seed).stream("case.homes", number);
        draw.homes_beside_pools();
        draw.random = Seed(seed).stream("case.second", number);
        if number % 8 == 5 {
            let (every, written) = (draw.from(1, 4), draw.percent(50));
            draw.random = Seed(seed).stream("case.moves", number);
            let moves = draw.from(0, 3);
            sorts::add_to_second_pool(&mut draw.settings, every, written, moves);
        }
        draw.random = Seed(seed).stream("case.suspended", number);
        if matches!(number % 8, 1 | 2) {
            draw.suspended();
        }
        draw.random = Seed(seed).stream("case.two-bits", number);
        if number % 2 == 1 {
            draw.two_bits();
        }
        Self { number, settings: draw.settings, start, depth, steps }
    }

    /// The same case with `spare` more over-provisioning, for a device that had too little.
    pub fn with_spare(&self, spare: f64) -> Self {
        let key = "ftl.over_provisioning=";
        let mut case = self.clone();
        case.settings.retain(|setting| !setting.starts_with(key));
        case.settings.push(format!("{key}{spare:.3}"));
        case
    }
}

impl Draw {
    /// A number from `least` to `most`.
    fn from(&mut self, least: u64, most: u64) -> u64 {
        least + self.random.below(most - least + 1)
    }

    /// True with a probability of `chance` percent.
    fn percent(&mut self, chance: u64) -> bool {
        self.random.below(100) < chance
    }

    fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.random.below(among.len() as u64) as usize]
    }

    fn set(&mut self, key: &str, value: impl std::fmt::Display) {
        self.settings.push(format!("{key}={value}"));
    }

    fn flag(&mut self, key: &str) -> bool {
        let value = self.percent(50);
        self.set(key, value);
        value
    }

    fn step(&mut self) -> Step {
        let sectors = if self.percent(8) { self.from(41, 700) } else { self.from(1, 40) };
        Step {
            kind: self.from(0, 99) as u8,
            place: self.from(0, 65_535) as u16,
            sectors: sectors as u16,
            fua: self.percent(15),
            namespace: self.from(0, 3) as u8,
            queue: self.from(0, 7) as u8,
            stream: self.from(0, 3) as u8,
        }
    }

    fn device(&mut self) {
        let shape = self.chips();
        self.front();
        self.buffer(&shape);
        self.scheduling();
        self.failures(&shape);
        let spare = if self.percent(40) { 0.12 } else { 0.12 + 0.5 * self.random.unit() };
        self.set("ftl.over_provisioning", format!("{spare:.3}"));
        match self.random.below(10) {
            0 => self.block_map(&shape),
            1 | 2 => self.pools(&shape),
            _ => self.single_pool(&shape),
        }
    }

    fn chips(&mut self) -> Shape {
        let bits = self.pick(&[1, 2, 2, 3, 3, 4]);
        let one_shot = bits > 1 && self.percent(50);
        let planes = self.pick(&[1, 2, 2, 4]);
        let planes_per_row = if self.percent(60) { planes } else { 1 };
        let page = 1024 * self.pick(&[2, 4, 4, 8, 16]);
        let blocks = self.pick(&[16, 24, 24, 32, 48, 64]);
        let pages = bits * 2 * self.from(2, 6);
        let layers = if self.percent(50) { pages / bits / self.pick(&[1, 2]) } else { 1 };
        for (key, value) in [
            ("bits_per_cell", bits),
            ("planes", planes),
            ("page_size", page),
            ("blocks_per_plane", blocks),
            ("pages_per_block", pages),
            ("layers", layers),
        ] {
            let unit = if key == "page_size" { "B" } else { "" };
            let value = if unit.is_empty() { value.to_string() } else { format!("'{value}{unit}'") };
            self.set(&format!("part.geometry.{key}"), value);
        }
        self.set("part.geometry.one_shot", one_shot);
        let registers = self.from(1, 3);
        self.set("part.geometry.registers", registers);
        if !one_shot && bits > 1 && pages >= 6 * bits && self.percent(40) {
            let pairing = match bits {
                2 => self.pick(&["four-then-pairs", "two-then-singles"]),
                3 => "shadow-tlc",
                _ => "shadow-qlc",
            };
            self.set("part.geometry.pairing", pairing);
        }
        let rest = self.from(0, 120);
        self.set("part.timing.suspend", format!("['{rest}us', '{}us']", 5 * rest));
        for (key, time) in [("read", "['25us']"), ("program", "['250us']"), ("erase", "'1500us'")] {
            self.set(&format!("part.timing.{key}"), time);
        }
        let dies = self.layout(planes, planes_per_row);
        Shape { bits, one_shot, planes, planes_per_row, page, blocks, pages, dies }
    }

    /// Up to four packages, so that a few hundred commands share dies. Returns the number of dies.
    fn layout(&mut self, planes: u64, planes_per_row: u64) -> u64 {
        let (channels, packages, dies) =
            self.pick(&[(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2), (2, 1, 2), (3, 1, 1), (2, 2, 1)]);
        self.set("layout.channels", channels);
        self.set("layout.packages_per_channel", packages);
        self.set("layout.dies_per_package", dies);
        if planes_per_row < planes || self.percent(50) {
            self.set("layout.planes_per_row", planes_per_row);
        }
        channels * packages * dies
    }

    fn front(&mut self) {
        let depth = self.from(1, 12);
        self.set("front.queue_depth", depth);
        let time = self.from(0, 2);
        self.set("front.command_time", format!("'{time}us'"));
        let interface = self.pick(&["direct", "direct", "nvme", "nvme", "sata"]);
        self.set("front.interface", interface);
        if self.percent(30) {
            self.set("front.sector_size", "'4KiB'");
        }
        if interface == "nvme" {
            let (queues, entries) = (self.from(1, 6), self.from(2, 12));
            self.set("front.nvme.queues", queues);
            self.set("front.nvme.entries", entries);
            let burst = self.pick(&[0, 1, 2, 8]);
            let policy = self.pick(&["round-robin", "weighted-round-robin"]);
            self.set("front.nvme.arbitration", format!("{{ policy = '{policy}', burst = {burst} }}"));
        }
    }

    /// Immediate destage, except with write-through completion, which implies immediate destage.
    fn destage(&mut self) {
        if self.settings.iter().any(|setting| setting == "buffer.mode=write-back") && self.percent(30) {
            let (window, in_flight) = (self.from(10, 20_000), self.from(1, 200_000));
            let policy =
                format!("{{ policy = 'unless-hot', window = '{window}us', in_flight = '{in_flight}B' }}");
            self.set("buffer.destage", policy);
        }
    }

    fn buffer(&mut self, shape: &Shape) {
        let program = shape.planes_per_row * shape.page * if shape.one_shot { shape.bits } else { 1 };
        let more = self.from(0, 40) * shape.page;
        // A second pool, and units of several pages, have program units of other sizes.
        self.set("buffer.size", format!("'{}B'", 4 * program + 16_384 + more));
        let mode = self.pick(&["write-back", "write-back", "write-through", "off"]);
        self.set("buffer.mode", mode);
        for key in ["eviction", "read_eviction"] {
            let policy = self.pick(&["fifo", "lru", "clock"]);
            self.set(&format!("buffer.{key}.policy"), policy);
        }
        self.flag("buffer.coalesce");
        let space = self.pick(&["whole-pages", "whole-pages", "written"]);
        self.set("buffer.space", space);
        let (above, to) = (self.random.unit() * 0.9, self.random.unit());
        self.set("buffer.flush_above", format!("{above:.2}"));
        if self.percent(50) {
            self.set("buffer.flush_to", format!("{:.2}", (above * to - 0.01).max(0.0)));
        }
        let interval = self.pick(&["'0ms'", "'1ms'", "'10ms'", "'100ms'"]);
        self.set("buffer.flush_interval", interval);
        if self.percent(40) {
            let ahead = self.from(0, 8);
            let cache = (2 * ahead + self.from(0, 16)) * shape.page * shape.planes_per_row * shape.bits;
            self.set("buffer.read_cache", format!("'{cache}B'"));
            self.set("buffer.read_ahead", ahead);
        }
    }

    fn scheduling(&mut self) {
        let priority = self.flag("ftl.scheduling.read_priority");
        let (row, suspends, age) = (self.from(1, 6), self.from(1, 4), self.pick(&[0, 0, 100, 1_000]));
        self.set("ftl.scheduling.reads_in_a_row", row);
        self.set("ftl.scheduling.max_suspends", suspends);
        self.set("ftl.scheduling.age_limit", format!("'{age}us'"));
        let gc = self.pick(&["low", "equal", "high"]);
        self.set("ftl.scheduling.gc_priority", gc);
        for key in ["suspend_programs", "suspend_erases"] {
            if priority {
                self.flag(&format!("ftl.scheduling.{key}"));
            }
        }
    }

    /// Power cuts, and faults in a third of all devices.
    fn failures(&mut self, shape: &Shape) {
        let at_cut = self.pick(&["torn", "finished"]);
        self.set("ftl.recovery.programs_at_cut", at_cut);
        let lower = self.pick(&["exposed", "backed-up", "backed-up"]);
        self.set("ftl.recovery.lower_pages", lower);
        if self.percent(20) {
            self.set("ftl.factory_bad_blocks", "0.04");
        }
        if self.percent(35) {
            let rules: Vec<String> = (0..self.from(1, 3)).map(|_| self.rule(shape)).collect();
            self.set("faults", format!("[{}]", rules.join(", ")));
            let levels = self.from(0, 7);
            self.set("ftl.read_retry.levels", levels);
            let tuner = self.pick(&["nominal", "last-good"]);
            self.set("ftl.tuner.policy", tuner);
            if self.percent(50) {
                let (programs, reads) = (self.from(1, 200), self.from(0, 3));
                let policy = format!("{{ policy = 'tolerate', programs = {programs}, reads = {reads} }}");
                self.set("ftl.failure", policy);
            }
        }
    }

    fn rule(&mut self, shape: &Shape) -> String {
        let fails = self.pick(&["program", "erase", "read", "read", "read", "die"]);
        if fails == "die" {
            let (die, ms) = (self.from(0, shape.dies - 1), self.from(1, 200));
            return format!("{{ fails = 'die', die = {die}, at = '{ms}ms' }}");
        }
        let when = match self.random.below(4) {
            0 => format!("probability = 0.{:03}", self.from(1, 100)),
            1 => format!("nth = {}", self.from(1, 100)),
            2 => format!("every = {}", self.from(5, 100)),
            _ => format!("block = {}", self.from(0, shape.blocks - 1)),
        };
        let more = match (fails, self.random.below(3)) {
            ("read", 0) => format!(", retries = '1..{}'", self.from(1, 9)),
            ("read", 1) => format!(", level = '0..{}'", self.from(0, 5)),
            _ => String::new(),
        };
        format!("{{ fails = '{fails}', {when}{more} }}")
    }

    fn collector(&mut self, streams: u64) {
        let victim =
            match self.pick(&["greedy", "d-choices", "random", "fifo", "windowed-greedy", "cost-benefit"]) {
                "d-choices" => format!("{{ policy = 'd-choices', choices = {} }}", self.from(1, 8)),
                "windowed-greedy" => {
                    format!("{{ policy = 'windowed-greedy', window = {} }}", self.from(1, 8))
                }
                policy => format!("{{ policy = '{policy}' }}"),
            };
        self.set("ftl.gc.victim", victim);
        self.flag("ftl.gc.preemptible");
        match self.from(0, 3) {
            0 => self.set("ftl.gc.paced", true),
            steps @ 1..=2 => self.set("ftl.gc.steps_per_write", 2 * steps),
            _ => {}
        }
        let start = 2 + streams + self.from(0, 2);
        let stop = start + self.from(0, 2);
        self.set("ftl.gc.start_below_free_blocks", start);
        self.set("ftl.gc.stop_at_free_blocks", stop);
        if self.percent(30) {
            let (free, spare) = (self.from(1, 10), self.random.unit());
            let policy = format!(
                "{{ policy = 'idle-gc', idle = '100us', until_free = {free}, until_spare = {spare:.2} }}"
            );
            self.set("ftl.gc.background", policy);
        }
        if self.percent(30) {
            let k = self.from(0, 2);
            let threshold = (2 << k) + self.from(0, 4);
            self.set("ftl.wear.levelling", format!("{{ policy = 'bet', k = {k}, threshold = {threshold} }}"));
        }
        let allocation = self.pick(&["least-worn", "by-stream"]);
        self.set("ftl.wear.allocation", allocation);
    }

    fn protection(&mut self) -> bool {
        let protection = self.pick(&["none", "none", "full", "capacitors"]);
        self.set("buffer.power_loss_protection", protection);
        if protection == "capacitors" {
            self.set("buffer.capacitors", "'5mJ'");
            self.settings.retain(|setting| setting != "buffer.space=written");
        }
        protection != "none"
    }

    fn single_pool(&mut self, shape: &Shape) {
        let in_a_program = shape.planes_per_row * if shape.one_shot { shape.bits } else { 1 };
        let units: Vec<u64> = [shape.page / 4, shape.page / 2, shape.page, shape.page]
            .into_iter()
            .chain((2..=in_a_program).filter(|n| in_a_program.is_multiple_of(*n)).map(|n| n * shape.page))
            .filter(|unit| *unit <= 128 * 1024)
            .collect();
        let slc = shape.bits > 1 && self.percent(20);
        let unit = if slc { self.pick(&units[..4]) } else { self.pick(&units) };
        self.set("ftl.mapping.unit", format!("'{unit}B'"));
        let protected = self.protection();
        let map_in_flash = self.percent(25);
        let kept = self.percent(50);
        self.set("ftl.recovery.discards", if kept { "'kept'" } else { "'forgotten'" });
        if kept && !protected && !map_in_flash && self.percent(40) {
            let every = self.from(64, 512);
            self.set("ftl.recovery.checkpoint", format!("'{every}KiB'"));
        }
        let streams = self.from(1, 3);
        let policy = if streams == 1 { "single" } else { "generations" };
        let count = if streams == 1 { String::new() } else { format!(", streams = {streams}") };
        self.set("ftl.gc.relocator", format!("{{ policy = '{policy}'{count} }}"));
        if map_in_flash {
            let (entries, share) = (self.from(2, 200), self.random.unit() * 0.9);
            let entry = self.pick(&[4, 8]);
            self.set("ftl.mapping.cache", format!("'{}B'", entries * (entry + 4)));
            self.set("ftl.mapping.entry", format!("'{entry}B'"));
            self.set("ftl.mapping.protected", format!("{share:.2}"));
        }
        self.collector(streams + u64::from(map_in_flash || kept && slc));
        if !shape.one_shot && self.percent(40) {
            self.set("ftl.gc.copyback", true);
        }
        if self.percent(25) {
            self.set("ftl.gc.scope", "'super-block'");
        }
        self.placing(shape);
        if slc {
            self.slc_cache();
        } else {
            let host = self.from(1, 4);
            let router = match host {
                1 => "{ policy = 'hot-cold', window = 0.1 }".into(),
                2 => "{ policy = 'single' }".into(),
                streams => format!("{{ policy = 'host', streams = {} }}", streams - 1),
            };
            self.set("ftl.router", router);
        }
        self.namespaces(shape);
    }

    /// A design that chooses pools gets streams in the first pool. The router of an SLC cache is replaced by
    /// a design.
    fn streams_and_designs(&mut self) {
        let has = |draw: &Self, key: &str| draw.settings.iter().any(|setting| setting.starts_with(key));
        if has(self, "design=") {
            let caches = !has(self, "ftl.mapping.whole_units") && !has(self, "part.geometry.bits_per_cell=1");
            match self.pick(&["single", "hot-cold", "host", "slc-cache"]) {
                "host" => self.set("ftl.router", "{ policy = 'host', streams = 3 }"),
                "slc-cache" if caches => self.slc_cache(),
                "slc-cache" | "single" => {}
                policy => self.set("ftl.router", format!("{{ policy = '{policy}' }}")),
            }
        } else if has(self, "ftl.slc_cache=") && self.percent(60) {
            let replaced = ["ftl.router=", "ftl.gc.relocator=", "ftl.gc.start_below", "ftl.gc.stop_at"];
            self.settings.retain(|setting| !replaced.iter().any(|key| setting.starts_with(key)));
            let (every, written) = (self.from(1, 4), self.percent(50));
            let start = 5 + self.from(0, 2);
            let stop = (start + self.from(0, 2)).max(6);
            self.set("ftl.gc.start_below_free_blocks", start);
            self.set("ftl.gc.stop_at_free_blocks", stop);
            self.set("design", format!("{{ name = 'sorts', every = {every}, written = {written} }}"));
        }
    }

    fn slc_cache(&mut self) {
        let (blocks, spare) = if self.percent(50) { (self.from(1, 2), 0.0) } else { (1, self.random.unit()) };
        let fold =
            if self.percent(50) { format!(", fold_above = {}", self.from(0, 3)) } else { String::new() };
        self.set("ftl.slc_cache", format!("{{ blocks = {blocks}, spare = {spare:.2}{fold} }}"));
        self.set("ftl.router", "{ policy = 'slc-cache', window = 0.2 }");
        self.set("part.timing.slc", "{ read = '20us', program = '100us', erase = '1ms' }");
        if self.percent(30) {
            self.settings.retain(|setting| !setting.starts_with("ftl.gc.background"));
            self.set("ftl.gc.background", "{ policy = 'idle-fold', idle = '100us', until_cached = 1 }");
        }
    }

    fn placing(&mut self, shape: &Shape) {
        if self.percent(40) {
            let order = self.order();
            self.set("ftl.placement", format!("{{ policy = 'fixed', order = '{order}' }}"));
            if self.percent(50) {
                let (reach, least) = (self.pick(&["die", "channel", "device"]), self.from(1, 3));
                let policy = format!("{{ policy = 'stealing', reach = '{reach}', least = {least} }}");
                self.set("ftl.balancer", policy);
            }
        }
        self.word_lines(shape);
    }

    /// Word-line order.
    fn word_lines(&mut self, shape: &Shape) {
        let layered = self
            .settings
            .iter()
            .any(|setting| setting.strip_prefix("part.geometry.layers=").is_some_and(|layers| layers != "1"));
        if layered && (shape.one_shot || shape.bits == 1) {
            let policy = self.pick(&["in-order", "vertical", "mixed"]);
            self.set("ftl.frontier.policy", policy);
        }
    }

    fn order(&mut self) -> String {
        let mut letters = ['C', 'W', 'D', 'P'];
        self.random.shuffle(&mut letters);
        letters.into_iter().collect()
    }

    fn namespaces(&mut self, shape: &Shape) {
        let bytes = shape.dies * shape.planes * shape.blocks * shape.pages * shape.page;
        // Half of the space remains for a namespace even with the largest effective over-provisioning.
        if bytes > 16 << 20 && self.percent(40) {
            self.set("namespaces", "[{ size = '1MiB' }, { fraction = 0.4 }, { size = '1MiB' }]");
        }
    }

    /// A protected or a volatile buffer, and durable or volatile discards. Returns whether discards are
    /// durable.
    fn discards_beside_pools(&mut self, map_in_flash: bool) -> bool {
        let protected = self.protection();
        let kept = self.percent(30);
        if kept {
            self.set("ftl.recovery.discards", "'kept'");
            if !protected && !map_in_flash && self.percent(40) {
                let every = self.from(64, 512);
                self.set("ftl.recovery.checkpoint", format!("'{every}KiB'"));
            }
        }
        kept
    }

    /// A pool of planar SLC beside the first one, with or without a design.
    fn pools(&mut self, shape: &Shape) {
        let unit = shape.page.min(4096);
        self.set("ftl.mapping.unit", format!("'{unit}B'"));
        let program = shape.planes_per_row * shape.page * if shape.one_shot { shape.bits } else { 1 };
        let whole = self.percent(60);
        if whole {
            self.set("ftl.mapping.whole_units", true);
        } else {
            self.set("ftl.mapping.sub_request", format!("'{}B'", 2 * program));
        }
        let map_in_flash = self.percent(25);
        if map_in_flash {
            let entries = self.from(2, 200);
            self.set("ftl.mapping.cache", format!("'{}B'", entries * 8));
        }
        let (balances, migrates) = (self.percent(50), whole && self.percent(50));
        let design = self.pick(&["centaur", "slc-mlc-hybrid", "", ""]);
        match design {
            "" => {
                let least = (program as f64 * self.random.unit() * 1.2) as u64;
                self.set("ftl.router", format!("{{ policy = 'by-size', least = '{least}B' }}"));
            }
            "centaur" => {
                let least = program.min(unit * self.from(1, 4));
                self.set(
                    "design",
                    format!(
                        "{{ name = 'centaur', condition = '{}B', least = '{least}B', stealing = {balances}, \
                         migration = {migrates} }}",
                        2 * least
                    ),
                );
            }
            design => self.set("design", format!("{{ name = '{design}' }}")),
        }
        if design != "centaur" {
            self.set("ftl.balancer.policy", if balances { "valid-share" } else { "none" });
            self.set("ftl.gc.relocator.policy", if migrates { "valid-share" } else { "single" });
        }
        let kept = self.discards_beside_pools(map_in_flash);
        if self.percent(25) {
            self.set("ftl.gc.scope", "'super-block'");
        }
        self.word_lines(shape);
        self.collector(1 + u64::from(map_in_flash || kept));
        let (pages, blocks) = (2 * self.from(2, 6), self.from(16, 32));
        let (channels, row) = (self.pick(&["shared", "dedicated"]), self.pick(&[1, 2]));
        let part = format!(
            "{{ base = 'centaur-slc-2d', geometry.blocks_per_plane = {blocks}, geometry.pages_per_block = {pages}, \
             geometry.page_size = '4KiB', geometry.planes = 2, geometry.layers = {} }}",
            pages / 2
        );
        let frontier = self.pick(&["in-order", "vertical", "mixed"]);
        let layout = format!(
            "{{ channels = 1, packages_per_channel = 1, dies_per_package = {}, planes_per_row = {row} }}",
            self.from(1, 2)
        );
        self.set(
            "pools",
            format!(
                "[{{ part = {part}, channels = '{channels}', layout = {layout}, frontier = {{ policy = '{frontier}' }} }}]"
            ),
        );
    }
}
