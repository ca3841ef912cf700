//! How long each stage of a transaction takes on a part, worked out once.
//!
//! The composition of command, address and data cycles follows the NV-DDR2 composites of MQSim's default channel
//! (its `ONFI_Channel_NVDDR2`), which are the test vectors below. The bus is held through the short busy time
//! between the planes of a multi-plane command, as there.

use wordline_kernel::{Bytes, Duration};

use crate::Part;

/// Bus time before the array works, by stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// Command latch cycles with their waits.
    pub cle: Duration,
    /// Address latch cycles.
    pub ale: Duration,
    /// Data into the register.
    pub tir: Duration,
}

impl Opening {
    /// The whole time on the bus.
    pub fn total(&self) -> Duration {
        self.cle + self.ale + self.tir
    }
}

/// The read command to `planes` planes.
pub fn read_command(part: &Part, planes: u32) -> Opening {
    let (b, more) = (&part.bus, u64::from(planes - 1));
    Opening {
        cle: b.t_cs + b.t_wc + b.t_wb + b.t_rr + (part.timing.plane_busy + b.t_wc) * more,
        ale: b.t_wc * 5 * (more + 1),
        tir: Duration::ZERO,
    }
}

/// Data out of the registers of `planes` planes, `size` in all.
pub fn data_out(part: &Part, planes: u32, size: Bytes) -> Duration {
    let b = &part.bus;
    let first = b.t_rpre + b.t_dqsre;
    let next = b.t_rhw + b.t_wc * 6 + b.t_ccs + first;
    first + next * u64::from(planes - 1) + b.burst_out(size)
}

/// The program command with its data, `size` in all, to `planes` planes.
pub fn program_command(part: &Part, planes: u32, size: Bytes) -> Opening {
    let (b, more) = (&part.bus, u64::from(planes - 1));
    Opening {
        cle: b.t_cs + b.t_wc + b.t_wb + (b.t_cals + b.t_wb + part.timing.plane_busy) * more,
        ale: b.t_wc * 5 * (more + 1),
        tir: b.t_adl + b.t_wpst + b.t_wpsth + (b.t_adl + b.t_wpst) * more + b.burst_in(size),
    }
}

/// The erase command to `planes` planes.
pub fn erase_command(part: &Part, planes: u32) -> Opening {
    let (b, more) = (&part.bus, u64::from(planes - 1));
    Opening {
        cle: b.t_cs + b.t_wc + b.t_wb + (part.timing.plane_busy + b.t_wc + b.t_wb) * more,
        ale: b.t_wc * 3 * (more + 1),
        tir: Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::tests::mqsim;

    #[test]
    fn the_composites_are_those_of_mqsim() {
        let part = mqsim();
        let ns = |opening: Opening| opening.total().ns();
        assert_eq!([1, 2].map(|n| ns(read_command(&part, n))), [290, 940]);
        assert_eq!([1, 2].map(|n| ns(program_command(&part, n, Bytes(0)))), [361, 1177]);
        assert_eq!([1, 2].map(|n| ns(erase_command(&part, n))), [220, 920]);
        assert_eq!([1, 2].map(|n| data_out(&part, n, Bytes(0)).ns()), [30, 610]);
    }
}
