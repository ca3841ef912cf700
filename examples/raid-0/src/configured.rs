//! The array as a device type that configurations can name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_device::SECTOR;
use wordline_device::block_device::Shape;
use wordline_kernel::{Bytes, Complaints, Metric, Seed};
use wordline_lab::devices::{ChipsInfo, Designs, DeviceType, Embedded, Section, Ssd, SsdFile};
use wordline_ssd::Device;

use crate::{Counts, Raid0, Striping};

/// Most members. Chosen: events and memory grow with the members, and no controller has more ports.
const MOST_MEMBERS: u16 = 1024;

/// Configuration of an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrayFile {
    /// Number of members.
    #[serde(default = "members")]
    pub members: u16,
    /// Stripe unit: contiguous bytes on a member before the next member follows.
    #[serde(default = "stripe_unit")]
    pub stripe_unit: Bytes,
    /// Configuration of each member. Members differ only in their random streams.
    pub member: SsdFile,
}

fn members() -> u16 {
    2
}

/// Chosen: small requests fit into a unit, and large requests do not.
fn stripe_unit() -> Bytes {
    Bytes::kib(64)
}

/// A checked array.
#[derive(Clone, Debug)]
pub struct Array {
    members: u16,
    stripe_unit: Bytes,
    member: Ssd,
}

impl Array {
    fn striping(&self) -> Striping {
        Striping::of(u64::from(self.members), self.stripe_unit, &self.member.shape())
    }
}

impl DeviceType for Array {
    const NAME: &'static str = "raid-0";
    const DESCRIPTION: &'static str = "SSDs striped as a RAID-0: a device made of devices.";
    const SSDS: &'static [&'static str] = &["member"];

    type File = ArrayFile;
    type Device = Raid0<Device>;

    fn check(file: ArrayFile, designs: &Designs) -> Result<Self, Complaints> {
        let ArrayFile { members, stripe_unit, member } = file;
        let mut wrong = Complaints::default();
        wrong.require(
            (1..=MOST_MEMBERS).contains(&members),
            "members",
            members,
            format!("from 1 to {MOST_MEMBERS}"),
        );
        let member = member.check(designs).map_err(|inner| wrong.nest("member", inner)).ok();
        let Some(member) = member else { return Err(wrong) };
        let shape = member.shape();
        let (page, sector, whole) = (shape.logical_page, shape.sector_size, SECTOR * shape.namespaces[0]);
        let fits = [page, sector].iter().all(|size| stripe_unit.0.is_multiple_of(size.0));
        wrong.require(
            fits && stripe_unit.0 > 0 && stripe_unit <= whole,
            "stripe_unit",
            stripe_unit,
            format!("a multiple of {page}, the mapping unit of a member, and of {sector}, its sector; at most {whole}"),
        );
        wrong.into_result(Self { members, stripe_unit, member })
    }

    fn file(&self) -> ArrayFile {
        let Self { members, stripe_unit, ref member } = *self;
        ArrayFile { members, stripe_unit, member: member.file() }
    }

    fn shape(&self) -> Shape {
        self.striping().shape(self.member.shape())
    }

    fn build(&self, seed: Seed) -> Raid0<Device> {
        let member = |number| self.member.build(Seed(seed.0.wrapping_add(number)));
        Raid0::new((0..u64::from(self.members)).map(member).collect(), self.stripe_unit)
    }

    fn queues(&self) -> u16 {
        self.member.queues()
    }

    fn chips(&self) -> Vec<ChipsInfo> {
        (0..self.members).flat_map(|_| self.member.chips()).collect()
    }

    fn designs(&self) -> Designs {
        self.member.designs()
    }

    fn explain(&self) -> Vec<Section> {
        let row = |what: &str, value: String| (what.to_owned(), value);
        let rows = vec![
            row("members", self.members.to_string()),
            row("stripe unit", self.stripe_unit.to_string()),
            row("capacity", self.shape().capacity.to_string()),
        ];
        let own = [("array".to_owned(), rows)].into_iter();
        own.chain(self.member.explain().into_iter().map(|(title, rows)| (format!("member: {title}"), rows)))
            .collect()
    }

    fn fill_in(file: &mut ArrayFile, is_written: &dyn Fn(&str) -> bool) {
        file.member.fill_in(&|key| is_written(&format!("member.{key}")));
    }

    fn metrics() -> Vec<&'static Metric> {
        Counts::METRICS.iter().collect()
    }

    fn presets() -> &'static [Embedded] {
        &[("raid-0", include_str!("../raid-0.toml"))]
    }
}
