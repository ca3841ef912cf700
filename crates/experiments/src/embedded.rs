//! The experiments that the program carries.

use std::borrow::Cow;
use std::path::Path;

macro_rules! embedded {
    ($($id:literal),* $(,)?) => {
        /// The embedded experiments: id and text.
        pub(crate) const EMBEDDED: &[(&str, &str)] =
            &[$(($id, include_str!(concat!("../../../data/experiments/", $id, "/experiment.toml")))),*];
    };
}

embedded![
    "centaur/fig05",
    "centaur/fig06",
    "centaur/fig07c",
    "centaur/fig11",
    "centaur/fig12",
    "centaur/fig13",
    "centaur/fig14",
    "centaur/fig15",
    "centaur/fig16",
    "centaur/fig17",
    "centaur/fig18",
    "centaur/fig19",
    "centaur/fig20",
    "centaur/fig21",
    "centaur/fig22",
    "centaur/fig23",
    "centaur/fig24",
    "centaur/recorded",
    "centaur/sec54",
    "centaur/table1",
    "cubeftl/ablations",
    "cubeftl/bursts",
    "cubeftl/fig05",
    "cubeftl/fig06",
    "cubeftl/fig08",
    "cubeftl/fig10",
    "cubeftl/fig11",
    "cubeftl/fig13",
    "cubeftl/fig14",
    "cubeftl/fig17",
    "cubeftl/fig17-bursts",
    "cubeftl/fig17-bursts-cells",
    "cubeftl/fig17-cells",
    "cubeftl/fig17-factors",
    "cubeftl/fig17-model",
    "cubeftl/fig17-threads",
    "cubeftl/fig18",
    "cubeftl/ispp",
    "cubeftl/overhead",
    "cubeftl/retries",
    "cubeftl/sensitivity",
    "cubeftl/split",
    "cubeftl/thresholds",
    "cubeftl/tprog",
    "ft-passd/table5",
    "nandflashsim/fig03",
    "nandflashsim/fig10",
    "nandflashsim/fig11",
    "nandflashsim/fig12",
    "nandflashsim/fig13",
    "nandflashsim/fig14",
    "nandflashsim/fig15",
    "nandflashsim/fig16",
    "nandflashsim/fig17",
    "nandflashsim/fig18",
    "nandflashsim/fig19",
    "nandflashsim/fig20",
    "nandflashsim/fig21",
    "nandflashsim/fig22",
    "nandflashsim/fig23",
    "nandflashsim/fig24",
    "nandflashsim/fig25",
    "nandflashsim/speed",
    "nandflashsim/tables2-4",
    "peers/flashsim",
    "peers/mqsim-read",
    "peers/mqsim-shipped",
    "peers/mqsim-traces",
    "peers/mqsim-write",
    "peers/mqsim-write-16g",
    "peers/simplessd-read",
    "peers/ssdsim-read",
    "peers/ssdsim-write",
    "ressd/fig03",
    "ressd/fig05",
    "ressd/fig06",
    "ressd/overhead",
    "ressd/table1",
    "ressd/table2",
    "ressd/table2-two-moves",
    "ressd/table3",
    "ressd/table5",
    "validation/block-map",
    "validation/bounds",
    "validation/dftl",
    "validation/dftl-writes",
    "validation/faults",
    "validation/lifetime",
    "validation/queueing",
    "validation/read-levels",
    "validation/suspend",
    "validation/waf-hot-cold",
    "validation/waf-super-blocks",
    "validation/waf-uniform",
    "validation/waf-victims",
    "validation/waf-zipf",
];

/// The text of an experiment of `folder`, or else of an embedded one.
pub(crate) fn text_of(id: &str, folder: Option<&Path>) -> Option<Cow<'static, str>> {
    let file = folder.map(|folder| folder.join(id).join("experiment.toml"));
    let own = file.and_then(|file| wordline_lab::input::text(&file, "an experiment").ok());
    let embedded = || EMBEDDED.iter().find(|(other, _)| *other == id).map(|(_, text)| Cow::Borrowed(*text));
    own.map(Cow::Owned).or_else(embedded)
}
