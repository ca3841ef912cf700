//! Arguments that several commands share.

use std::path::PathBuf;

use clap::Args;
use wordline_lab::Error;
use wordline_lab::trace::Options;

/// Which device.
#[derive(Args)]
pub struct DeviceArguments {
    /// An embedded device; see `wordline presets list`.
    #[arg(long, value_name = "NAME", conflicts_with = "config")]
    pub preset: Option<String>,
    /// A configuration file.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Changes one setting, such as `ftl.over_provisioning=0.28`; can be repeated, the last wins.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
}

/// What a trace file holds, where it cannot be found out.
#[derive(Args)]
pub struct FormatArguments {
    /// The trace's format, where it is not found or wrongly found; see `wordline trace formats`.
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// What the format leaves open, such as `time_unit=us`; can be repeated. See `wordline trace formats`.
    #[arg(long = "trace-option", value_name = "KEY=VALUE")]
    pub options: Vec<String>,
}

impl FormatArguments {
    /// What the user said about the trace.
    pub fn options(&self) -> Result<Options, Error> {
        let mut options = Options::from_pairs(self.options.iter().map(String::as_str))?;
        if let Some(format) = &self.format {
            options.set("format", format)?;
        }
        Ok(options)
    }
}
