//! The timing parameters of ONFI by name.

macro_rules! parameters {
    ($($(#[$doc:meta])+ $name:ident $symbol:literal;)*) => {
        /// A timing parameter of ONFI.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Parameter {
            $($(#[$doc])+ $name,)*
        }

        impl Parameter {
            /// All parameters.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Symbol in data sheets, such as `tADL`.
            pub fn symbol(self) -> &'static str {
                [$($symbol),*][self as usize]
            }
        }
    };
}

parameters! {
    /// Access of data from the clock (NV-DDR).
    Ac "tAC";
    /// Last address cycle to the first data-in cycle.
    Adl "tADL";
    /// Hold of the address latch enable.
    Alh "tALH";
    /// Set-up of the address latch enable.
    Als "tALS";
    /// Address latch enable low to read enable low.
    Ar "tAR";
    /// One command or address to the next (NV-DDR).
    Cad "tCAD";
    /// One command or address to the next, for a part with this bit in its parameter page (byte 143, bit 0).
    CadFast "tCAD (fast)";
    /// Hold of command, address and data-line levels at the clock (NV-DDR).
    Cah "tCAH";
    /// Hold of the latch enables and of write/read (NV-DDR).
    Calh "tCALH";
    /// Set-up of the latch enables and of write/read.
    Cals "tCALS";
    /// Set-up of command and address at the clock (NV-DDR).
    Cas "tCAS";
    /// Change of column or plane to data.
    Ccs "tCCS";
    /// Chip enable to data.
    Cea "tCEA";
    /// Chip enable high between two uses.
    Ceh "tCEH";
    /// Volume select to the next chip enable low.
    Cevdly "tCEVDLY";
    /// Hold of chip enable.
    Ch "tCH";
    /// Chip enable high to released data lines.
    Chz "tCHZ";
    /// Period of the clock (NV-DDR).
    Ck "tCK";
    /// Hold of the command latch enable.
    Clh "tCLH";
    /// Command latch enable low to read enable low.
    Clr "tCLR";
    /// Set-up of the command latch enable.
    Cls "tCLS";
    /// Data hold after chip enable high.
    Coh "tCOH";
    /// Chip enable low to read enable low.
    Cr "tCR";
    /// Chip enable low to read enable low, where chip enable was high for long.
    Cr2 "tCR2";
    /// Chip enable low to read enable low before the data of Read ID, where chip enable was high for long.
    Cr2Id "tCR2 (Read ID)";
    /// Set-up of chip enable.
    Cs "tCS";
    /// Set-up of chip enable, where chip enable was high for long.
    Cs3 "tCS3";
    /// Short busy time between the planes of a multi-plane command.
    Dbsy "tDBSY";
    /// Hold of data at the edge that takes them in.
    Dh "tDH";
    /// Clock to data strobe in output (NV-DDR).
    Dqsck "tDQSCK";
    /// Write/read low to a driven data strobe (NV-DDR).
    Dqsd "tDQSD";
    /// Write/read high to a released data strobe (NV-DDR).
    Dqshz "tDQSHZ";
    /// Skew of data after their strobe.
    Dqsq "tDQSQ";
    /// Read enable to data strobe in output.
    Dqsre "tDQSRE";
    /// Data in: command to the first edge of the strobe (NV-DDR).
    Dqss "tDQSS";
    /// Set-up of data at the edge that takes them in.
    Ds "tDS";
    /// Period of the data strobe (NV-DDR).
    Dsc "tDSC";
    /// ENi low to commands that are ignored.
    Eni "tENi";
    /// Volume appointed to ENo.
    Eno "tENo";
    /// Busy time of get and set features.
    Feat "tFEAT";
    /// Released data lines to read enable low.
    Ir "tIR";
    /// Change of interface or timing mode.
    Itc "tITC";
    /// Uncertainty of data hold after the strobe.
    Qhs "tQHS";
    /// Read busy time without a value from the parameter page.
    R "tR";
    /// Cycle of data out: of read enable, two transfers where there is a strobe.
    Rc "tRC";
    /// Read enable to data.
    Rea "tREA";
    /// Read enable high.
    Reh "tREH";
    /// Data hold after read enable high.
    Rhoh "tRHOH";
    /// Data out to the next command, address or data-in cycle.
    Rhw "tRHW";
    /// Read enable high to released data lines.
    Rhz "tRHZ";
    /// Data hold after read enable low, for data out without a pause (EDO).
    Rloh "tRLOH";
    /// Read enable low.
    Rp "tRP";
    /// Preamble of data out.
    Rpre "tRPRE";
    /// Ready to the first data-out cycle.
    Rr "tRR";
    /// Busy time of a reset of raw NAND.
    Rst "tRST";
    /// Busy time of a reset of EZ NAND.
    RstEz "tRST (EZ NAND)";
    /// Volume select to the next command.
    Vdly "tVDLY";
    /// Last cycle of a command to busy.
    Wb "tWB";
    /// Cycle of commands, addresses and, in SDR, data in.
    Wc "tWC";
    /// Write enable high.
    Wh "tWH";
    /// Command, address or data in to data out (of status, ID).
    Whr "tWHR";
    /// Write enable low.
    Wp "tWP";
    /// Preamble of data in.
    Wpre "tWPRE";
    /// Postamble of data in.
    Wpst "tWPST";
    /// Hold after the postamble of data in.
    Wpsth "tWPSTH";
    /// Write/read low to data out (NV-DDR).
    Wrck "tWRCK";
    /// A change of write protect to the next command.
    Ww "tWW";
    /// Long calibration of the output drivers.
    Zqcl "tZQCL";
    /// Short calibration of the output drivers.
    Zqcs "tZQCS";
}

/// The side of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Minimum: a wait of the host.
    Min,
    /// Maximum: a guarantee of the chip.
    Max,
}
