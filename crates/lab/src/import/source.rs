//! Recognizes files of other simulators by their contents.

use super::shell;

/// A file of another simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFile {
    /// A configuration of MQSim (`ssdconfig.xml`).
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
    /// None of these.
    Unknown,
}

/// Elements of MQSim's configurations.
const OF_DEVICES: [&str; 4] =
    ["Execution_Parameter_Set", "Host_Parameter_Set", "Device_Parameter_Set", "Flash_Parameter_Set"];

/// Elements of MQSim's workloads.
const OF_WORKLOADS: [&str; 3] = ["MQSim_IO_Scenarios", "IO_Scenario", "IO_Flow_Parameter_Set_"];

impl SourceFile {
    /// The kind of a text. A file of MQSim is recognized by any of its elements, so that a fault of its form
    /// is found when it is read.
    pub fn of(text: &str) -> Self {
        let has_element = |names: &[&str]| names.iter().any(|name| text.contains(&format!("<{name}")));
        let has = |section: &str| text.lines().any(|line| line.trim_end() == section);
        let is_xml = text.trim_start_matches('\u{feff}').trim_start().starts_with('<');
        if is_xml && text.contains("<simplessd") {
            Self::SimplessdXml
        } else if !is_xml && ["[pal]", "[ftl]", "[icl]", "[nvme]", "[cpu]", "[dram]"].into_iter().any(has) {
            Self::SimplessdDevice
        } else if !is_xml && ["[global]", "[generator]", "[trace]"].into_iter().any(has) {
            Self::SimplessdRun
        } else if !is_xml && shell::has_device(text, "femu") {
            Self::Femu
        } else if has_element(&OF_DEVICES) {
            Self::MqsimDevice
        } else if has_element(&OF_WORKLOADS) {
            Self::MqsimWorkload
        } else {
            Self::Unknown
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
            Self::Unknown => "a file of none of them",
        }
    }
}
