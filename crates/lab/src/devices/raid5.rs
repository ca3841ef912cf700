//! The device type of a RAID-5 array of SSDs.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_designs::Designs;
use wordline_device::SECTOR;
use wordline_device::block_device::Shape;
use wordline_host::raid5::{self, ArrayFile, Settings, check_members};
use wordline_kernel::{Bytes, Complaints, Metric, Seed};
use wordline_ssd::Device;

use super::device_type::{ChipsInfo, DeviceType};
use super::ssd::{Ssd, SsdFile};
use crate::config::embedded::{Embedded, RAID5_PRESETS};
use crate::config::explain::{Section, human};

/// Greatest number of spares. Chosen: as many as members.
const MOST_SPARES: u16 = raid5::write_method::MOST_MEMBERS;

/// Keys of a RAID-5 array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Raid5File {
    /// Number of members, from 3 to 64.
    #[serde(default = "members")]
    pub members: u16,
    /// Number of spares. A spare replaces a failed member.
    #[serde(default)]
    pub spares: u16,
    /// Members that the table `other` describes, counted from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<u16>,
    /// The array: chunk, cache and rebuild settings.
    #[serde(default)]
    pub array: ArrayFile,
    /// Each member. All members have these keys; their random draws differ.
    pub member: SsdFile,
    /// Each spare. Default: the keys of a member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare: Option<SsdFile>,
    /// Each member in `others`. It must have as many sectors as a member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<SsdFile>,
}

/// ReSSD, table 4.
fn members() -> u16 {
    4
}

/// A validated array.
#[derive(Clone, Debug)]
pub struct Raid5 {
    members: u16,
    spares: u16,
    others: Vec<u16>,
    settings: Settings,
    member: Ssd,
    spare: Option<Ssd>,
    other: Option<Ssd>,
}

impl Raid5 {
    /// The devices in order: members, then spares.
    fn devices(&self) -> impl Iterator<Item = &Ssd> {
        let other = |number: u16| self.other.as_ref().filter(|_| self.others.contains(&number));
        let members = (0..self.members).map(move |number| other(number).unwrap_or(&self.member));
        members.chain((0..self.spares).map(|_| self.spare.as_ref().unwrap_or(&self.member)))
    }
}

/// Size of a device's namespace in bytes.
fn size(shape: &Shape) -> Bytes {
    SECTOR * shape.namespaces[0]
}

/// Complains if a spare or another device does not fit the members.
fn compare(key: &str, device: &Shape, member: &Shape, wrong: &mut Complaints) {
    let sectors = (device.sector_size, member.sector_size);
    if sectors.0 != sectors.1 {
        wrong.add(
            key,
            format!("sectors of {}", sectors.0),
            format!("the sector size of a member, {}", sectors.1),
        );
    }
    let (own, of_member) = (size(device), size(member));
    let fits = match own.0.cmp(&of_member.0) {
        Ordering::Less => false,
        Ordering::Equal => true,
        Ordering::Greater => key == "spare",
    };
    if !fits {
        let wanted = if key == "spare" {
            "at least the capacity of a member"
        } else {
            "the capacity of the other members"
        };
        wrong.add(key, format!("a capacity of {own}"), format!("{wanted}, {of_member}"));
    }
}

impl DeviceType for Raid5 {
    const NAME: &'static str = "raid5";
    const DESCRIPTION: &'static str = "A RAID-5 over SSDs, after md of Linux.";
    const SSDS: &'static [&'static str] = &["member", "spare", "other"];

    type File = Raid5File;
    type Device = raid5::Raid5<Device>;

    fn check(file: Raid5File, designs: &Designs) -> Result<Self, Complaints> {
        let Raid5File { members, spares, others, array, member, spare, other } = file;
        let mut wrong = Complaints::default();
        check_members(members, &mut wrong);
        wrong.require(spares <= MOST_SPARES, "spares", spares, format!("at most {MOST_SPARES}"));
        for (at, number) in others.iter().enumerate() {
            wrong.require(
                *number < members,
                &format!("others[{at}]"),
                number,
                format!("a member below {members}"),
            );
        }
        let mut ssd = |key: &str, file: Option<SsdFile>| {
            let checked = file.map(|file| file.check(designs).map_err(|inner| wrong.nest(key, inner)).ok());
            checked.flatten()
        };
        let member = ssd("member", Some(member));
        let (spare, other) = (ssd("spare", spare), ssd("other", other));
        let Some(member) = member else { return Err(wrong) };
        let shape = member.shape();
        for (key, device, count) in [("spare", &spare, usize::from(spares)), ("other", &other, others.len())]
        {
            let Some(device) = device else { continue };
            wrong.require(count > 0, key, "a device", format!("the key left out, or {key}s above none"));
            compare(key, &device.shape(), &shape, &mut wrong);
        }
        let lacks = !others.is_empty() && other.is_none();
        wrong.require(!lacks, "others", format!("{others:?}"), "a table `other` that describes them");
        let settings = array.check(members, &shape).map_err(|inner| wrong.nest("array", inner)).ok();
        let Some(settings) = settings else { return Err(wrong) };
        wrong.into_result(Self { members, spares, others, settings, member, spare, other })
    }

    fn file(&self) -> Raid5File {
        let Self { members, spares, ref others, ref settings, ref member, ref spare, ref other } = *self;
        let [spare, other] = [spare, other].map(|device| device.as_ref().map(Ssd::file));
        let (others, array) = (others.clone(), settings.file.clone());
        Raid5File { members, spares, others, array, member: member.file(), spare, other }
    }

    fn shape(&self) -> Shape {
        self.settings.shape(self.member.shape())
    }

    fn build(&self, seed: Seed) -> raid5::Raid5<Device> {
        let devices = (0..).zip(self.devices());
        let devices = devices.map(|(number, ssd)| ssd.build(Seed(seed.0.wrapping_add(number)))).collect();
        raid5::Raid5::new(devices, self.settings.clone(), seed.0)
    }

    fn queues(&self) -> u16 {
        self.devices().map(Ssd::queues).min().unwrap_or(1)
    }

    fn chips(&self) -> Vec<ChipsInfo> {
        self.devices().flat_map(Ssd::chips).collect()
    }

    fn memory(&self) -> Bytes {
        self.devices().map(Ssd::memory).sum()
    }

    fn designs(&self) -> Designs {
        self.member.designs()
    }

    fn explain(&self) -> Vec<Section> {
        let row = |what: &str, value: String| (what.to_owned(), value);
        let (file, striping) = (&self.settings.file, self.settings.striping);
        // An array takes the first namespace of a member.
        let (log, namespaces) = (self.settings.log_sectors(), self.member.shape().namespaces);
        let unused = namespaces.iter().sum::<u64>() - striping.chunks * striping.chunk - log;
        let mut rows = vec![
            row("members", self.members.to_string()),
            row("spares", self.spares.to_string()),
            row("capacity", human(self.shape().capacity)),
            row("chunk", human(file.chunk)),
            row("stripe", format!("{} of data", human(SECTOR * striping.stripe()))),
            row("row of the stripe cache", format!("{} a member", human(file.block))),
            row("stripe cache", human(file.block * u64::from(file.stripe_cache) * striping.members)),
            row("not used of a member", human(SECTOR * unused)),
        ];
        if log > 0 {
            rows.push(row("partial parity log", format!("{} a member", human(SECTOR * log))));
        }
        let of = |name: &str, device: &Ssd| {
            let sections = device.explain().into_iter();
            sections.map(|(title, rows)| (format!("{name}: {title}"), rows)).collect::<Vec<_>>()
        };
        let own = std::iter::once(("array".to_owned(), rows));
        let spare = self.spare.iter().flat_map(|device| of("spare", device));
        let other = self.other.iter().flat_map(|device| of("other", device));
        own.chain(of("member", &self.member)).chain(spare).chain(other).collect()
    }

    fn fill_in(file: &mut Raid5File, is_written: &dyn Fn(&str) -> bool) {
        let devices = [
            ("member", Some(&mut file.member)),
            ("spare", file.spare.as_mut()),
            ("other", file.other.as_mut()),
        ];
        for (key, device) in devices {
            if let Some(device) = device {
                device.fill_in(&|name| is_written(&format!("{key}.{name}")));
            }
        }
    }

    fn metrics() -> Vec<&'static Metric> {
        raid5::metrics()
    }

    fn presets() -> &'static [Embedded] {
        RAID5_PRESETS
    }
}
