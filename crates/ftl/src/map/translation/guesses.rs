//! Guessed locations: the mapper, and the reads in progress at locations that it guessed wrong.

use serde::{Deserialize, Serialize};
use wordline_flash::RequestId;
use wordline_kernel::ensure;
use wordline_kernel::ensure::ensure;
use wordline_kernel::snapshot::{Reader, SnapshotError, State, Writer};
use wordline_kernel::{Instant, counters};
use wordline_nand::{Location, Pools};

use crate::map::LogicalPage;
use crate::policy::mapper::{Guess, MAX_GUESS_ERROR, Mapper};

counters! {
    /// Counters of a mapper that guesses locations.
    pub struct GuessCounts {
        made: "map_guesses.made", Count, "Page reads of the host for which the mapper guessed a location, because the map entry was not in memory.";
        right: "map_guesses.right", Count, "Guesses that were right: the first read was the read of the data.";
        wrong: "map_guesses.wrong", Count, "Guesses that were read and wrong: each was paid with a second read.";
        corrected: "map_guesses.corrected", Count, "Wrong guesses whose second read was of the right location, which the OOB area of the first one gave; the others read the translation page.";
        refused: "map_guesses.refused", Count, "Guesses that were not read, because the device knew that the location was of no use; the translation page was read instead.";
        reads: "map_guesses.reads", LogicalPages, "Pages read at locations that were guessed wrong.";
    }
}

/// A read of a location that was guessed wrong, for a host request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct WrongGuess {
    /// Request that reads the page.
    pub id: RequestId,
    /// Page that the request reads.
    pub page: LogicalPage,
    /// Start of the read.
    pub since: Instant,
    guess: Guess,
    /// Number of flash pages of the location that are being read.
    reads: u32,
    /// Whether all flash pages so far were readable.
    is_readable: bool,
}

impl WrongGuess {
    /// Whether the OOB area that was read gives the page's location: it must be within the error bound, in
    /// the same block.
    ///
    /// LeaFTL keeps the numbers of the neighbours in the OOB area of each page (Sun et al., ASPLOS 2023). The
    /// numbers of later neighbours must be known when the page is programmed. LeaFTL writes sorted buffers of
    /// a block; here they are known for all pages of a block.
    pub fn shows(&self, location: Location, pools: &Pools) -> bool {
        let Guess { location: guessed, error } = self.guess;
        self.is_readable
            && location.0.abs_diff(guessed.0) <= error.min(MAX_GUESS_ERROR)
            && pools.block_of(location) == pools.block_of(guessed)
    }
}

/// Guesses of a mapper.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Guesses {
    /// Counters since the creation of the device.
    pub counts: GuessCounts,
    wrong: Vec<WrongGuess>,
    free: Vec<u32>,
}

impl Guesses {
    /// Adds a wrong guess whose location will be read. Returns its number.
    pub fn add(&mut self, id: RequestId, page: LogicalPage, since: Instant, guess: Guess) -> u32 {
        let wrong = WrongGuess { id, page, since, guess, reads: 0, is_readable: true };
        if let Some(at) = self.free.pop() {
            self.wrong[at as usize] = wrong;
            return at;
        }
        self.wrong.push(wrong);
        self.wrong.len() as u32 - 1
    }

    /// Records that `reads` flash pages are being read for a wrong guess.
    pub fn reading(&mut self, number: u32, reads: u32) {
        self.wrong[number as usize].reads = reads;
    }

    /// Records the end of a read: whether it was readable, and its number of flash pages. Returns the wrong
    /// guess, and frees its number, after its last one.
    pub fn finish_read(&mut self, number: u32, (is_readable, pages): (bool, u64)) -> Option<WrongGuess> {
        self.counts.reads += pages;
        let wrong = &mut self.wrong[number as usize];
        wrong.is_readable &= is_readable;
        wrong.reads -= 1;
        let wrong = *wrong;
        (wrong.reads == 0).then(|| {
            self.counts.wrong += 1;
            self.free.push(number);
            wrong
        })
    }

    /// Drops the reads in progress, after a power cut.
    pub fn forget(&mut self) {
        self.wrong.clear();
        self.free.clear();
    }

    /// Checks the loaded state. Requests that wait for reads must be `known`.
    pub fn check_loaded(&self, known: impl Fn(RequestId) -> bool) -> Result<(), String> {
        let mut seen = vec![false; self.wrong.len()];
        let is_free_once = self.free.iter().all(|free| ensure::is_first(&mut seen, *free as usize));
        let is_known = self.wrong.iter().zip(&seen).all(|(wrong, is_free)| *is_free || known(wrong.id));
        ensure(is_free_once && is_known, || {
            "something waits for guessed locations that does not exist".into()
        })
    }
}

/// The mapper, and its guesses if it guesses. Without guesses, a snapshot has the state of the policy only.
pub struct MapperState {
    /// The policy.
    pub policy: Box<dyn Mapper>,
    /// `None` if the policy does not guess.
    pub guesses: Option<Box<Guesses>>,
}

impl MapperState {
    /// State of a mapper without entries.
    pub fn new(policy: Box<dyn Mapper>) -> Self {
        let guesses = policy.guesses().then(Box::default);
        Self { policy, guesses }
    }

    /// Reports the location of a page to a mapper that guesses.
    #[inline]
    pub fn train(&mut self, page: LogicalPage, at: Location) {
        if self.guesses.is_some() {
            self.policy.located(page, at);
        }
    }

    /// Predicts the location of a page, and counts the guess.
    pub fn predict(&mut self, page: LogicalPage) -> Option<(Guess, &mut Guesses)> {
        let guesses = self.guesses.as_deref_mut()?;
        let guess = self.policy.guess(page)?;
        guesses.counts.made += 1;
        Some((guess, guesses))
    }
}

impl State for MapperState {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), SnapshotError> {
        self.policy.save_state(to)?;
        self.guesses.as_ref().map_or(Ok(()), |guesses| to.value("guesses", guesses))
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.policy.load_state(from)?;
        if let Some(guesses) = &mut self.guesses {
            **guesses = from.value("guesses")?;
        }
        Ok(())
    }
}
