//! The parameter page of a simulated part.

use wordline_kernel::Duration;

use super::copies::MIN_COPIES;
use super::{
    AddressCycles, Micros, MultiPlane, Nanos, Opaque, OptionalCommands, PageFeatures, ParameterPage,
    Revisions, Scaled, Text,
};
use crate::Part;
use crate::interface::Interface;
use crate::onfi::features::READ_RETRY_OPTIONS;
use crate::onfi::identity::MANUFACTURER;
use crate::onfi::modes::Modes;
use crate::onfi::support::CommandSupport;

/// Maximum share of bad blocks, in percent. Chosen: as in data sheets (40 of 2048), and as the factory bad
/// blocks of py_ssd_sim.
const BAD_BLOCK_PERCENT: u64 = 2;
/// Offset of the number of read retry options in the vendor bytes of Micron parts (Linux `nand_micron.c`).
const READ_RETRY_AT: usize = 14;
/// Self-termination, matrix termination, differential RE and DQS.
const TERMINATION_AND_DIFFERENTIAL: u8 = 0b1_1011;
/// The part has drive strength settings (bit 0, from memory of the public ONFI specification).
const DRIVE_STRENGTHS: u8 = 1;

/// A value that does not fit its field: the page contains the maximum of the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saturated {
    /// The meaning of the field.
    pub name: &'static str,
    /// The value of the part.
    pub value: u64,
    /// The value in the page.
    pub stated: u64,
}

/// Clamps values to their fields and records the values that do not fit.
#[derive(Default)]
struct FieldClamp(Vec<Saturated>);

impl FieldClamp {
    fn fit(&mut self, name: &'static str, value: u64, most: u64) -> u64 {
        if value > most {
            self.0.push(Saturated { name, value, stated: most });
        }
        value.min(most)
    }

    fn byte(&mut self, name: &'static str, value: u64) -> u8 {
        self.fit(name, value, u8::MAX.into()) as u8
    }

    fn word(&mut self, name: &'static str, value: u64) -> u16 {
        self.fit(name, value, u16::MAX.into()) as u16
    }

    /// The longest of `times` in microseconds, rounded up.
    fn micros(&mut self, name: &'static str, times: impl IntoIterator<Item = Duration>) -> Micros {
        let longest = times.into_iter().max().unwrap_or(Duration::ZERO);
        Micros(self.word(name, longest.ps().div_ceil(Duration::from_us(1).ps())))
    }

    /// `time` in nanoseconds, rounded up.
    fn nanos(&mut self, name: &'static str, time: Duration) -> Nanos {
        Nanos(self.word(name, time.ps().div_ceil(Duration::from_ns(1).ps())))
    }
}

impl ParameterPage {
    /// The page of a target with `luns` LUNs of `part`. A name of more than 20 characters is truncated, and
    /// endurance is rounded down to the encoding of its field. Other values that do not fit are saturated;
    /// see [`ParameterPage::saturated`].
    ///
    /// The page contains no ECC requirement (chosen: the model returns data without errors). It contains no
    /// capacitances and no date, which the model does not have.
    pub fn of(part: &Part, luns: u32) -> Self {
        fitted(part, luns).0
    }

    /// The values of `part` and `luns` that their fields cannot hold.
    pub fn saturated(part: &Part, luns: u32) -> Vec<Saturated> {
        fitted(part, luns).1.0
    }
}

fn fitted(part: &Part, luns: u32) -> (ParameterPage, FieldClamp) {
    let mut fitting = FieldClamp::default();
    let page = ParameterPage {
        parameter_pages: MIN_COPIES as u8,
        manufacturer: Text::new("WORDLINE"),
        model: Text::new(&part.name),
        jedec_manufacturer: MANUFACTURER,
        drive_strength: DRIVE_STRENGTHS,
        vendor_revision: 1,
        vendor: vendor(),
        ..ParameterPage::default()
    };
    let page = organisation(page, part, luns, &mut fitting);
    let page = capabilities(page, part, luns);
    (interface(times(page, part, &mut fitting), &Modes::of(part)), fitting)
}

fn vendor() -> Opaque<88> {
    let mut bytes = [0; 88];
    bytes[READ_RETRY_AT] = READ_RETRY_OPTIONS;
    Opaque(bytes)
}

/// The memory organisation block.
fn organisation(page: ParameterPage, part: &Part, luns: u32, fitting: &mut FieldClamp) -> ParameterPage {
    let g = &part.geometry;
    let blocks = g.planes * g.blocks_per_plane;
    let page_bytes = g.page_size.0 + g.spare_size.0;
    let row_bits = bits(g.pages_per_block.into()) + bits(blocks.into()) + bits(luns.into());
    // At least two and three cycles, as in all commands; larger parts have as many as they need.
    let cycles = |bits: u32, least| bits.div_ceil(8).max(least) as u8;
    ParameterPage {
        page_bytes: g.page_size.0 as u32,
        spare_bytes: fitting.word("spare bytes of a page", g.spare_size.0),
        pages_per_block: g.pages_per_block,
        blocks_per_lun: blocks,
        luns: fitting.byte("LUNs", luns.into()),
        address_cycles: AddressCycles { column: cycles(bits(page_bytes), 2), row: cycles(row_bits, 3) },
        bits_per_cell: g.bits_per_cell as u8,
        most_bad_blocks: fitting
            .word("most bad blocks of a LUN", (u64::from(blocks) * BAD_BLOCK_PERCENT).div_ceil(100)),
        endurance: Scaled::at_most(part.endurance),
        valid_blocks: 1,
        programs_per_page: fitting.byte("programs of a page", part.programs_per_page().into()),
        plane_bits: bits(g.planes.into()) as u8,
        ..page
    }
}

/// Number of bits for `count` values.
fn bits(count: u64) -> u32 {
    u64::BITS - count.saturating_sub(1).leading_zeros()
}

/// Features, optional commands and multi-plane operations that the model supports. It supports neither small
/// data move nor overlapped plane operations: the planes of a die begin together here.
fn capabilities(page: ParameterPage, part: &Part, luns: u32) -> ParameterPage {
    use {MultiPlane as M, OptionalCommands as C, PageFeatures as F};
    let g = &part.geometry;
    let planes = g.planes > 1;
    // A one-shot part always has a cache register in front of its data registers.
    let cache = g.registers > 1 || g.one_shot;
    let features = page.features.with(F::WIDE_BUS, part.bus.width == 16);
    let features = features.with(F::MULTI_LUN, luns > 1).with(F::VOLUMES, true);
    let features = features.with(F::MULTI_PLANE_PROGRAM, planes).with(F::MULTI_PLANE_READ, planes);
    let commands = [
        C::FEATURES,
        C::STATUS_ENHANCED,
        C::COPYBACK,
        C::UNIQUE_ID,
        C::CHANGE_READ_COLUMN_ENHANCED,
        C::CHANGE_ROW,
        C::VOLUME_SELECT,
        C::LUN_FEATURES,
    ];
    let commands = commands.into_iter().fold(page.optional_commands, |all, one| all.with(one, true));
    let CommandSupport { termination, calibration, reset_lun } = CommandSupport::of(part, luns);
    let commands = commands.with(C::ODT_CONFIGURE, termination).with(C::ZQ_CALIBRATION, calibration);
    let commands = commands.with(C::RESET_LUN, reset_lun);
    let multi_plane = page.multi_plane.with(M::ANY_BLOCKS, planes).with(M::CACHE_ANY_BLOCKS, planes && cache);
    ParameterPage {
        features,
        optional_commands: commands.with(C::CACHE_PROGRAM, cache).with(C::READ_CACHE, cache),
        multi_plane: multi_plane.with(M::PROGRAM_CACHE, planes && cache).with(M::READ_CACHE, planes && cache),
        ..page
    }
}

/// The maximum array times.
fn times(page: ParameterPage, part: &Part, fitting: &mut FieldClamp) -> ParameterPage {
    let t = &part.timing;
    let slc = |time: fn(&crate::part::SlcTiming) -> Duration| t.slc.as_ref().map(time);
    let reads = t.read.iter().map(|time| time.most).chain(slc(|slc| slc.read));
    let t_r = fitting.micros("longest page read", reads);
    let programs = t.program.iter().map(|time| time.most).chain(t.reprogram).chain(slc(|slc| slc.program));
    ParameterPage {
        t_r,
        // The planes sense concurrently.
        t_r_multi_plane: if part.geometry.planes > 1 { t_r } else { Micros(0) },
        t_prog: fitting.micros("longest program", programs),
        t_bers: fitting.micros("longest erase", [t.erase].into_iter().chain(slc(|slc| slc.erase))),
        t_ccs: fitting.nanos("shortest change-column set-up", part.bus.t_ccs),
        ..page
    }
}

/// The interfaces, their modes, and the ONFI revisions that introduced them. The revision is at least 3.2,
/// which introduced LUN features. From memory of the public specification, like the revisions of the fastest
/// modes.
fn interface(page: ParameterPage, modes: &Modes) -> ParameterPage {
    use PageFeatures as F;
    let mask = |interface| modes.mask(interface);
    let has = |interface| modes.mask(interface) != 0;
    let last = match () {
        () if has(Interface::NvLpddr4) => Revisions::V5_0,
        () if has(Interface::NvDdr3) => Revisions::V4_2,
        () if modes.fastest(Interface::NvDdr2).is_some_and(|mode| mode > 8) => Revisions::V4_0,
        () => Revisions::V3_2,
    };
    let features = page.features.with(F::NV_DDR, has(Interface::NvDdr));
    let features = features.with(F::NV_DDR2, has(Interface::NvDdr2)).with(F::NV_DDR3, has(Interface::NvDdr3));
    ParameterPage {
        revisions: Revisions::up_to(last),
        features: features.with(F::EZ_NAND_OR_NV_LPDDR4, has(Interface::NvLpddr4)),
        sdr_modes: mask(Interface::Sdr) as u16,
        nv_ddr_modes: mask(Interface::NvDdr) as u8,
        nv_ddr2_modes: mask(Interface::NvDdr2) as u8,
        nv_ddr2_modes_high: (mask(Interface::NvDdr2) >> 8) as u8,
        nv_ddr3_modes: mask(Interface::NvDdr3) as u16,
        nv_lpddr4_modes: mask(Interface::NvLpddr4),
        nv_ddr2_features: if modes.has_strobe() { TERMINATION_AND_DIFFERENTIAL } else { 0 },
        ..page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::BusFile;
    use crate::part::PartFile;
    use crate::part::tests::{mqsim, mqsim_file};
    use wordline_kernel::Bytes;

    #[test]
    fn a_part_says_what_its_file_says() {
        let page = ParameterPage::of(&mqsim(), 2);
        assert_eq!(ParameterPage::saturated(&mqsim(), 2), []);
        assert_eq!((page.page_bytes, page.spare_bytes, page.pages_per_block), (8192, 448, 8));
        assert_eq!((page.blocks_per_lun, page.luns, page.planes(), page.bits_per_cell), (32, 2, 2, 2));
        assert_eq!((page.t_r, page.t_prog, page.t_bers), (Micros(75), Micros(750), Micros(3_800)));
        assert_eq!((page.t_ccs, page.endurance.count(), page.programs_per_page), (Nanos(300), 10_000, 1));
        assert_eq!((page.sdr_modes, page.nv_ddr2_modes, page.nv_ddr3_modes), (0x3f, 0x7f, 0));
        assert_eq!(page.revisions, Revisions(0x01fe));
        assert_eq!(ParameterPage::decode(&page.encode()), Ok(page));
    }

    #[test]
    fn abilities_follow_planes_luns_and_registers() {
        let mut file = mqsim_file();
        let of = |file: &PartFile, luns| {
            ParameterPage::of(&file.clone().check().expect("the part is sound"), luns)
        };
        let page = of(&file, 2);
        assert_eq!((page.features, page.optional_commands), (PageFeatures(0x0c4a), OptionalCommands(0x1eff)));
        assert_eq!(page.multi_plane, MultiPlane(0x1e));
        file.geometry.planes = 1;
        file.geometry.registers = 1;
        let page = of(&file, 1);
        assert_eq!((page.features, page.optional_commands), (PageFeatures(0x0c00), OptionalCommands(0x1cfc)));
        assert_eq!((page.multi_plane, page.t_r_multi_plane, page.plane_bits), (MultiPlane(0), Micros(0), 0));
    }

    #[test]
    fn the_modes_of_every_interface_stand_in_their_field() {
        let page = |bus: BusFile| {
            let part = PartFile { bus, ..mqsim_file() }.check().expect("the part is sound");
            let page = ParameterPage::of(&part, 1);
            let ddr2 = u16::from(page.nv_ddr2_modes_high) << 8 | u16::from(page.nv_ddr2_modes);
            let modes = [page.sdr_modes, page.nv_ddr_modes.into(), ddr2, page.nv_ddr3_modes];
            (modes, page.nv_lpddr4_modes, page.features.0 & !0x0848, page.revisions.0)
        };
        let wide = BusFile { width: Some(16), ..BusFile::new(Interface::Sdr, 3) };
        assert_eq!(page(wide), ([0x0f, 0, 0, 0], 0, 0x0001, 0x01fe));
        assert_eq!(page(BusFile::new(Interface::NvDdr, 4)), ([0x3f, 0x1f, 0, 0], 0, 0x0020, 0x01fe));
        assert_eq!(page(BusFile::new(Interface::NvDdr2, 10)), ([0x3f, 0, 0x7ff, 0], 0, 0x0400, 0x03fe));
        assert_eq!(page(BusFile::new(Interface::NvDdr3, 15)), ([0x3f, 0, 0, 0xffff], 0, 0x2000, 0x0ffe));
        assert_eq!(page(BusFile::new(Interface::NvLpddr4, 1)), ([0x3f, 0, 0, 0], 3, 0x0200, 0x1ffe));
    }

    #[test]
    fn every_value_that_does_not_fit_is_named_and_stated_as_the_most() {
        let mut file = mqsim_file();
        file.geometry.spare_size = Bytes(70_000);
        file.timing.erase = Duration::from_ms(100);
        file.endurance = 12_345;
        let part = file.check().expect("the part is sound");
        let page = ParameterPage::of(&part, 300);
        assert_eq!((page.spare_bytes, page.t_bers, page.luns), (u16::MAX, Micros(u16::MAX), 255));
        assert_eq!(page.endurance, Scaled { value: 123, power: 2 });
        assert_eq!(page.address_cycles, AddressCycles { column: 3, row: 3 });
        let names: Vec<&str> = ParameterPage::saturated(&part, 300).iter().map(|s| s.name).collect();
        assert_eq!(names, ["spare bytes of a page", "LUNs", "longest erase"]);
        let erase = Saturated { name: "longest erase", value: 100_000, stated: 65_535 };
        assert_eq!(ParameterPage::saturated(&part, 300)[2], erase);
    }

    #[test]
    fn a_time_is_never_stated_shorter_than_it_is() {
        let mut file = mqsim_file();
        file.timing.read = vec![Duration::from_us(20).into(), Duration::from_ns(50_001).into()];
        file.bus.t_ccs = Some(Duration::from_ps(299_001));
        let page = ParameterPage::of(&file.check().expect("the part is sound"), 1);
        assert_eq!((page.t_r, page.t_ccs), (Micros(51), Nanos(300)));
    }

    #[test]
    fn a_row_address_has_the_cycles_that_it_needs() {
        let mut file = mqsim_file();
        (file.geometry.pages_per_block, file.geometry.blocks_per_plane) = (1_152, 2_048);
        let rows = |luns| {
            let part = file.clone().check().expect("the part is sound");
            ParameterPage::of(&part, luns).address_cycles.row
        };
        // 11 bits of pages and 12 of blocks leave one bit for LUNs.
        assert_eq!([1, 2, 3].map(rows), [3, 3, 4]);
    }
}
