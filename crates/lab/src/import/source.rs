//! Recognizes files of other simulators by their contents.

use super::{is_workload, shell};

/// A file of another simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFile {
    /// A configuration of MQSim (`ssdconfig.xml`); also a text that is nothing else.
    MqsimDevice,
    /// A workload of MQSim (`workload.xml`).
    MqsimWorkload,
    /// A configuration of SimpleSSD (`ssd.cfg`).
    SimplessdDevice,
    /// A configuration of SimpleSSD 2.1 in XML, which is not read.
    SimplessdXml,
    /// A run configuration of SimpleSSD-Standalone (`sim.cfg`).
    SimplessdRun,
    /// A script or command line with a device of FEMU.
    Femu,
}

impl SourceFile {
    /// The kind of a text.
    pub fn of(text: &str) -> Self {
        if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') {
            if text.contains("<simplessd") {
                return Self::SimplessdXml;
            }
            return if is_workload(text) { Self::MqsimWorkload } else { Self::MqsimDevice };
        }
        let has = |section: &str| text.lines().any(|line| line.trim_end() == section);
        if ["[pal]", "[ftl]", "[icl]", "[nvme]", "[cpu]", "[dram]"].into_iter().any(has) {
            Self::SimplessdDevice
        } else if ["[global]", "[generator]", "[trace]"].into_iter().any(has) {
            Self::SimplessdRun
        } else if shell::has_device(text, "femu") {
            Self::Femu
        } else if is_workload(text) {
            Self::MqsimWorkload
        } else {
            Self::MqsimDevice
        }
    }

    /// The file in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::MqsimDevice => "a configuration of MQSim",
            Self::MqsimWorkload => "a workload of MQSim",
            Self::SimplessdDevice => "a configuration of SimpleSSD",
            Self::SimplessdXml => "a configuration of SimpleSSD 2.1 in XML",
            Self::SimplessdRun => "a run configuration of SimpleSSD-Standalone",
            Self::Femu => "a script of FEMU",
        }
    }
}
