//! Part files: read, checked, and made into a part, whose parameter page is built.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wordline_nand::onfi::ParameterPage;
use wordline_nand::part::PartFile;

fuzz_target!(|text: &str| {
    if let Ok(part) =
        toml::from_str::<PartFile>(text).map_err(drop).and_then(|file| file.check().map_err(drop))
    {
        ParameterPage::of(&part, 1).data(None);
    }
});
