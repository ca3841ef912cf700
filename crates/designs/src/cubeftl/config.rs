//! Configuration of cubeFTL.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_ftl::Config;
use wordline_ftl::policy::frontier::FrontierKind;
use wordline_kernel::{Complaints, Duration};
use wordline_nand::Part;
use wordline_nand::cell::Ispp;

/// The order in which the word lines of a block are programmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// A leader while the write buffer is not full, and a follower while it is full (section 5.2). A leader
    /// is the first word line programmed in a layer. The other word lines of the layer are its followers.
    #[default]
    Adaptive,
    /// The word lines of a layer one after another, layer by layer (figure 12a).
    Horizontal,
    /// The first word line of every layer, then the second of every layer, and so on (figure 12b).
    Vertical,
}

/// Word lines for relocated pages in the adaptive order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OfCollector {
    /// The rule for host pages.
    #[default]
    Adaptive,
    /// Leaders, while there are any.
    Leaders,
}

/// Source of the program parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The outcome of the leader of the layer. Followers skip verifies and have a narrower voltage window
    /// (section 5.1).
    #[default]
    Leader,
    /// A table by layer, valid for all blocks and for the whole lifetime (vertFTL).
    Layer,
    /// The data sheet.
    DataSheet,
}

/// Programs after which the cells are sensed once more, to monitor them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sensed {
    /// None. Monitoring takes no time, as in the paper.
    #[default]
    None,
    /// Programs of leaders.
    Leaders,
    /// All programs.
    All,
}

/// A reduction of VFinal, the last programming voltage, for a layer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LayerMargin {
    /// The layer, counted from 0. Margins of layers between two configured ones are interpolated linearly.
    pub layer: u32,
    /// Reduction of VFinal, in millivolts.
    pub margin: u16,
}

/// Settings of cubeFTL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CubeFile {
    /// The order of word lines.
    pub order: Order,
    /// Occupancy of the write buffer, as a share, above which followers are programmed: the buffer then
    /// counts as full.
    pub full_above: f64,
    /// Active blocks of each stream of a plane group in the adaptive order.
    pub active_blocks: u8,
    /// Word lines for relocated pages in the adaptive order.
    pub of_collector: OfCollector,
    /// Source of the program parameters.
    pub parameters: Source,
    /// Whether followers skip program verifies.
    pub skip: bool,
    /// Whether followers have a narrower window between VStart and VFinal, the first and the last programming
    /// voltage.
    pub window: bool,
    /// Whether a read starts with the read offsets that last succeeded on its layer.
    pub read_levels: bool,
    /// Largest share of the cells in the erased state and in P1 that may be confused right after a program.
    pub most_errors: f64,
    /// Pairs of a spare margin and a reduction of the followers' window in millivolts. The spare margin is
    /// the difference between `most_errors` and the share of the leader. Interpolated linearly and rounded
    /// down to 10 mV. Constant beyond both ends.
    pub margins: Vec<[f64; 2]>,
    /// Pairs of a reduction of the window and the part of it that raises VStart, both in millivolts. The rest
    /// lowers VFinal. Interpolated linearly and rounded down to 10 mV.
    pub split: Vec<[f64; 2]>,
    /// Reductions of VFinal by layer, for `parameters = "layer"`.
    pub layers: Vec<LayerMargin>,
    /// Time that setting the program parameters adds to a program.
    pub setting: Duration,
    /// The programs after which cells are sensed once more.
    pub sensed: Sensed,
    /// Whether a follower with far more errors than the preceding word line is programmed again elsewhere.
    pub safety: bool,
}

impl Default for CubeFile {
    /// The values of cubeFTL, sections 4 and 5. `most_errors` is the end of figure 11. Both tables are chosen
    /// to suit the cells of `cubeftl-tlc` (docs/designs/cubeftl.md). The only entry that the paper prints,
    /// 320 mV for 1.7e-3, loses data on these cells.
    fn default() -> Self {
        Self {
            order: Order::Adaptive,
            full_above: 0.9,
            active_blocks: 2,
            of_collector: OfCollector::Adaptive,
            parameters: Source::Leader,
            skip: true,
            window: true,
            read_levels: true,
            most_errors: 4.2e-3,
            margins: vec![[1.4e-3, 0.0], [2.5e-3, 50.0]],
            split: vec![[0.0, 0.0]],
            layers: Vec::new(),
            setting: Duration::from_us(1),
            sensed: Sensed::None,
            safety: true,
        }
    }
}

impl CubeFile {
    /// Whether the parameters of programs or reads depend on the cells.
    fn needs_cells(&self) -> bool {
        self.parameters != Source::DataSheet || self.read_levels
    }

    pub(super) fn check(&self, config: &Config, wrong: &mut Complaints) {
        let share = |value: f64| (0.0..=1.0).contains(&value);
        wrong.require(share(self.full_above), "full_above", self.full_above, "a share from 0 to 1");
        let errors = self.most_errors > 0.0 && share(self.most_errors);
        wrong.require(errors, "most_errors", self.most_errors, "a share above 0, up to 1");
        let most =
            config.pools.iter().map(|pool| pool.part.geometry.blocks_per_plane).min().unwrap_or(1).min(8);
        let some = (1..=most).contains(&u32::from(self.active_blocks));
        wrong.require(some, "active_blocks", self.active_blocks, format!("from 1 to {most}"));
        let mut tuned = 0;
        for pool in config.pools.iter() {
            // A 3D part may be in a device with parts that have no layers. Their word lines keep their order.
            if pool.part.geometry.layers > 1 || config.pools.count() == 1 {
                let complaint = FrontierKind::Vertical {}.complaint(&pool.part, &pool.geometry);
                if let Some((_, found, _)) = complaint {
                    wrong.add("", found, "a 3D part that programs whole word lines, as many in each layer");
                }
            }
            if let Some(ispp) = ispp_of(&pool.part) {
                tuned += 1;
                self.check_tables(&pool.part, ispp, wrong);
            }
        }
        if tuned == 0 && self.needs_cells() {
            let wanted =
                "a part with [part.cells]: the parameters of programs and reads follow from its cells";
            wrong.add("", "a device without cells", wanted);
        }
    }

    /// Checks that the tables ascend and stay within the voltage window of the part.
    fn check_tables(&self, part: &Part, ispp: &Ispp, wrong: &mut Complaints) {
        let window = ispp.window;
        let rises = |table: &[[f64; 2]], strictly: bool| {
            !table.is_empty()
                && table.iter().flatten().all(|value| value.is_finite() && *value >= 0.0)
                && table.windows(2).all(|pair| pair[0][0] < pair[1][0] && pair[0][1] <= pair[1][1])
                && (!strictly || table.iter().all(|[total, start]| start <= total))
        };
        let most = self.margins.last().map_or(0.0, |last| last[1]);
        wrong.require(
            rises(&self.margins, false) && most < window,
            "margins",
            format!("{:?}", self.margins),
            format!("pairs that rise, up to less than the window of {window} mV"),
        );
        wrong.require(
            rises(&self.split, true),
            "split",
            format!("{:?}", self.split),
            "pairs that rise, the second at most the first",
        );
        let layers = part.geometry.layers;
        let known = self.layers.windows(2).all(|pair| pair[0].layer < pair[1].layer)
            && self.layers.iter().all(|one| one.layer < layers && f64::from(one.margin) < window)
            && (self.parameters != Source::Layer || !self.layers.is_empty());
        wrong.require(
            known,
            "layers",
            format!("{:?}", self.layers.iter().map(|one| (one.layer, one.margin)).collect::<Vec<_>>()),
            format!("layers from 0 to {}, rising, each with less than {window} mV", layers - 1),
        );
    }
}

/// The parameters of incremental step pulse programming (ISPP) of a part, if it has cells.
pub(super) fn ispp_of(part: &Part) -> Option<&Ispp> {
    part.aged_cells()?.set.ispp.as_ref()
}
