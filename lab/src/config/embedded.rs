//! The parts and presets that the program carries.

/// Name and text of a file under `parts/` or `presets/`.
pub type Embedded = (&'static str, &'static str);

macro_rules! embed {
    ($folder:literal: $($name:literal)*) => {
        &[$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../", $folder, "/", $name, ".toml")))),*]
    };
}

/// All parts, by name.
pub const PARTS: &[Embedded] = embed!("parts":
    "centaur-slc-2d" "centaur-tlc-3d" "cubeftl-tlc" "femu-qlc" "femu-tlc" "ft-passd-tlc" "micron-l95b"
    "mqsim-mlc" "nandflashsim-mlc1" "nandflashsim-mlc2" "nandflashsim-qdp-slc" "nandflashsim-slc" "ressd-tlc" "tlc-1t"
    "tlc-256g-g4" "tlc-512g" "xl-flash" "z-nand"
);

/// All presets, by name.
pub const PRESETS: &[Embedded] = embed!("presets":
    "bench-512g" "centaur-3d" "cubeftl" "ft-passd" "mqsim-64g" "nvme-qlc" "nvme-tlc" "nvme-tlc-1t" "ressd"
    "ssdsim-64g" "tiny" "tiny-tlc" "z-nand"
);

/// The text of `name`, if it is there.
pub fn text_of(name: &str, all: &[Embedded]) -> Option<&'static str> {
    all.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The names of `all`.
pub fn names(all: &[Embedded]) -> Vec<&'static str> {
    all.iter().map(|(name, _)| *name).collect()
}
