//! Changes of chip times in the middle of a run, for what-if experiments on a device that reached its state
//! with the original times.

use wordline_kernel::{Duration, Factor};

use super::time_factors::TimeFactors;
use super::times::{PhaseTimes, Times};
use crate::Stage;

impl PhaseTimes {
    /// The same phase with `change` applied to the time of each stage.
    fn each(&self, change: impl Fn(Duration) -> Duration) -> Self {
        let by_stage = self.by_stage.map(|ps| change(Duration::from_ps(ps)).ps());
        Self { by_stage, total: Duration::from_ps(by_stage.iter().sum()) }
    }
}

impl Times {
    /// The times with these factors, for marked dies or others.
    pub(super) fn changed(&self, factors: &TimeFactors, marked: bool) -> Self {
        let (host, nand) = (self.clocks.host, self.clocks.nand);
        let more = if marked { factors.marked } else { Factor::ONE };
        let mut times = self.clone();
        times.factors = Some((*factors, more));
        let bus = |time: Duration| host.whole(more.of(factors.bus.of(time)));
        let array = |stage: Stage, time: Duration| nand.whole(more.of(factors.of_array(stage).of(time)));
        times.holds.iter_mut().flatten().for_each(|hold| *hold = hold.each(bus));
        times.data_out_base.iter_mut().for_each(|(hold, _)| *hold = hold.each(bus));
        times.clear_partial();
        (times.select, times.turnaround) = (bus(self.select), bus(self.turnaround));
        (times.turn, times.resume) = (array(Stage::Tin, self.turn), array(Stage::Tin, self.resume));
        times.rest = [array(Stage::Tin, self.rest[0]), array(Stage::Ber, self.rest[1])];
        times.update_openings();
        times
    }
}

#[cfg(test)]
mod tests {
    use wordline_kernel::{Bytes, Calendar, Schedule};

    use super::*;
    use crate::chips::{Chips, Command, Operation};
    use crate::geometry::{ChannelId, DieId, Layout};
    use crate::part::tests::mqsim_file;
    use crate::{BlockSetId, Pools};

    const DIE: DieId = DieId(0);

    fn chips() -> Chips {
        let part = mqsim_file().check().expect("the part is sound");
        let geometry = Layout::on_one_channel(1, Some(1)).check(&part).expect("the layout is sound");
        Chips::new(Pools::of_pages(part, geometry))
    }

    /// The bus and array times of an erase, a program, and a read of a whole page and of 4 KiB.
    fn times(chips: &mut Chips) -> Vec<(u64, u64)> {
        times_from(chips, &mut Calendar::new())
    }

    /// The times on chips that were used before, once the turnaround of their bus is over.
    fn times_from(chips: &mut Chips, calendar: &mut Calendar<crate::chips::Event>) -> Vec<(u64, u64)> {
        calendar.at(calendar.now() + Duration::from_ms(1), crate::chips::Event::BusFree(ChannelId(0)));
        calendar.advance();
        let page = chips.geometry().page(BlockSetId(0), 0);
        let commands = [
            (Operation::Erase, Bytes(0)),
            (Operation::Program, Bytes::kib(8)),
            (Operation::Read, Bytes::kib(8)),
            (Operation::Read, Bytes::kib(4)),
        ];
        let mut carry_out = |(operation, bytes)| {
            chips.registers(DIE).fill(crate::DataTag { logical: 7, version: 1 });
            chips.begin(DIE, Command::new(operation, page, 1, bytes), calendar);
            loop {
                let event = calendar.advance().expect("the command ends");
                if let Some(done) = chips.handle(event, calendar) {
                    return (done.bus.ps(), done.array.ps());
                }
            }
        };
        commands.map(&mut carry_out).into()
    }

    /// Whether `time` is `percent` of `of`, except for the rounding of the stages of a bus phase.
    fn is(percent: u64, time: u64, of: u64) -> bool {
        (time * 100).abs_diff(of * percent) <= 400
    }

    #[test]
    fn each_factor_changes_its_own_times_and_no_other() {
        let (part, tenth) = (times(&mut chips()), Factor::percent(90));
        let none = TimeFactors::default();
        for (n, factors) in [
            TimeFactors { erase: tenth, ..none },
            TimeFactors { program: tenth, ..none },
            TimeFactors { read: tenth, ..none },
            TimeFactors { bus: tenth, ..none },
        ]
        .iter()
        .enumerate()
        {
            let mut chips = chips();
            chips.change_times(factors);
            for (at, (now, before)) in times(&mut chips).into_iter().zip(&part).enumerate() {
                let bus = if n == 3 { 90 } else { 100 };
                let array = if at.min(2) == n { 90 } else { 100 };
                assert!(is(bus, now.0, before.0), "{factors:?}: {now:?} of {before:?} on the bus");
                assert!(is(array, now.1, before.1), "{factors:?}: {now:?} of {before:?} in the array");
            }
        }
    }

    #[test]
    fn only_commands_of_a_die_that_is_marked_have_the_factor_of_those() {
        let part = times(&mut chips());
        let (mut chips, mut calendar) = (chips(), Calendar::new());
        let mut times = |chips: &mut Chips| times_from(chips, &mut calendar);
        let marked = TimeFactors { marked: Factor::percent(50), ..TimeFactors::default() };
        chips.change_times(&marked);
        assert_eq!(times(&mut chips), part);
        chips.mark(DIE, true);
        for (now, before) in times(&mut chips).into_iter().zip(&part) {
            assert!(is(50, now.0, before.0) && is(50, now.1, before.1), "{now:?} of {before:?}");
        }
        chips.mark(DIE, false);
        assert_eq!(times(&mut chips), part);
        chips.change_times(&TimeFactors::default());
        assert_eq!(times(&mut chips), part, "factors take the place of those before");
    }
}
