//! The parts and presets embedded in the program.

/// Name and text of a file under `data/parts` or `data/presets`.
pub type Embedded = (&'static str, &'static str);

macro_rules! embed {
    ($folder:literal: $($name:literal)*) => {
        &[$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/", $folder, "/", $name, ".toml")))),*]
    };
}

/// All parts.
pub const PARTS: &[Embedded] = embed!("parts":
    "3d-ssdsim-tlc" "centaur-slc-2d" "centaur-tlc-3d" "centaur-tlc-3d-paged" "cubeftl-tlc" "femu-qlc" "femu-slc" "femu-tlc"
    "femu-zns-qlc" "femu-zns-tlc" "ft-passd-tlc" "hynix-h27ubg8t2b" "hynix-h27ucg8t2m" "hynix-h27ucg8v"
    "hynix-h27udg8vem" "hynix-hy27uv08bg" "kioxia-128l-512g" "kioxia-170l-1t" "kioxia-96l-512g"
    "kioxia-tc58nvg0s3hta00" "micron-b16a" "micron-l95b" "micron-mt29f128g08cbecb" "micron-mt29f2g08aac"
    "micron-mt29f4g08aaa" "micron-mt29f4g08abada" "micron-mt29f64g08cbaba" "mlc-128g" "mqsim-mlc"
    "nandflashsim-mlc1" "nandflashsim-mlc2" "nandflashsim-qdp-slc" "nandflashsim-slc" "nandsim-slc"
    "numonyx-nand01g-b2b-1v8" "numonyx-nand01g-b2b-3v" "nvmevirt-970pro" "nvmevirt-zn540" "ressd-tlc"
    "ressd-tlc-reprogram" "samsung-128l-512g" "samsung-136l-256g" "samsung-176l-512g" "samsung-48l-256g"
    "samsung-64l-512g" "samsung-92l-256g" "simplessd-mlc" "skhynix-176l-512g" "spectek-fnnl41a" "ssdsim-slc"
    "tlc-1t" "tlc-256g-g3" "tlc-256g-g4" "tlc-512g" "tlc-512g-g5" "wiscsee-slc" "xl-flash" "z-nand"
);

/// All cell parameter sets.
pub const CELLS: &[Embedded] =
    embed!("cells": "cai-tlc-2017" "cubeftl-factors" "cubeftl-tlc" "ressd-b17a-a" "ressd-b17a-b");

/// All SSD presets.
pub const PRESETS: &[Embedded] = embed!("presets":
    "bench-512g" "bench-512g-4k" "bench-qlc" "bench-tlc" "bench-tlc-1t" "bench-z-nand" "centaur" "centaur-2d"
    "centaur-3d" "centaur-3d-paged" "centaur-cubeftl" "centaur-dedicated" "centaur-extra-12" "centaur-extra-3"
    "centaur-extra-6" "centaur-iso-die" "cubeftl" "cubeftl-device" "cubeftl-factors" "cubeftl-minus"
    "cubeftl-minus-factors" "ft-passd-conventional" "mqsim-64g" "mqsim-64g-when-full" "nvme-dc-3t2" "nvme-dc-960g"
    "nvme-qlc" "nvme-tlc" "nvme-tlc-1t" "nvme-tlc-2t" "nvme-tlc-hmb" "pageftl" "pageftl-factors" "ressd"
    "ressd-baseline" "ressd-tlc" "sata-tlc" "ssdsim-64g" "tiny" "tiny-tlc"
    "twin-micron-7450-max" "twin-samsung-980-pro" "twin-skhynix-pe8110" "twin-solidigm-p5520" "twin-wd-zn540" "ufs-256g" "vertftl" "vertftl-factors"
    "z-nand" "zns-tlc-conventional"
);

/// Presets of the fixed-latency device.
pub const OTHER_PRESETS: &[Embedded] = embed!("presets": "fixed-latency");

/// Presets of the host FTL modelled on pblk.
pub const PBLK_PRESETS: &[Embedded] =
    embed!("presets": "ft-passd" "ft-passd-ocssd" "ft-passd-unreliable" "ft-passd-without-shift" "pblk");

/// Presets of open-channel SSDs without an FTL.
pub const OPEN_CHANNEL_PRESETS: &[Embedded] = embed!("presets": "ft-passd-open-channel");

/// Presets of RAID-5.
pub const RAID5_PRESETS: &[Embedded] = embed!("presets": "raid5-mlc" "raid5-tiny" "raid5-tlc" "rss-raid");

/// Presets of zoned namespaces.
pub const ZONED_PRESETS: &[Embedded] = embed!("presets": "bench-zns" "zns-tlc");

/// Presets of zoned namespaces without an FTL.
pub const ZONED_NAMESPACE_PRESETS: &[Embedded] = embed!("presets": "zns-tlc-raw");

/// Presets of all device types.
#[cfg(test)]
pub fn all_presets() -> Vec<Embedded> {
    [
        PRESETS,
        OTHER_PRESETS,
        PBLK_PRESETS,
        OPEN_CHANNEL_PRESETS,
        RAID5_PRESETS,
        ZONED_PRESETS,
        ZONED_NAMESPACE_PRESETS,
    ]
    .concat()
}

/// The text of `name`, if it is embedded.
pub fn text_of(name: &str, all: &[Embedded]) -> Option<&'static str> {
    all.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The names of the embedded files in `all`.
pub fn names(all: &[Embedded]) -> Vec<&'static str> {
    all.iter().map(|(name, _)| *name).collect()
}
