//! States that are written and read back, and states that are rejected.

use super::*;
use crate::{state, word};
use proptest::prelude::*;

#[derive(Clone, Debug, Default, PartialEq)]
struct Whole {
    name: Option<(u32, u128)>,
    words: Vec<u16>,
    size: u32,
}
state!(Whole { values { name } parts { words } fixed { size } });

#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair {
    low: u32,
    high: u16,
}
word!(Pair { low: u32, high: u16 });

#[derive(Debug, Default, PartialEq)]
struct Both<A, B> {
    first: A,
    others: Vec<B>,
    count: u32,
    of: u32,
}
state!(Both<A: State, B: State> { values { count } parts { first } lists { others } fixed { of } });

#[derive(Debug, PartialEq)]
enum Kind<T> {
    Empty,
    Pair(Whole, T),
    Named { name: u32, words: Vec<u16>, size: u32 },
}
state!(enum Kind<T: State> {
    Empty,
    Pair(whole, other),
    Named { values { name } parts { words } fixed { size } },
});

fn saved(state: &impl State) -> Vec<u8> {
    let mut bytes = Vec::new();
    state.save_state(&mut Writer::new(&mut bytes)).expect("a list takes everything");
    bytes
}

fn loaded(state: &mut impl State, mut bytes: &[u8]) -> Result<usize, SnapshotError> {
    state.load_state(&mut Reader::new(&mut bytes)).map(|()| bytes.len())
}

fn whole() -> Whole {
    Whole { name: Some((7, 1 << 100)), words: (0..1000).collect(), size: 1000 }
}

#[test]
fn a_list_longer_than_what_is_written_at_once_comes_back() {
    let pairs: Vec<Pair> =
        (0..2 * WORDS_PER_CHUNK as u32 + 3).map(|n| Pair { low: n * 7919, high: n as u16 }).collect();
    let bytes = saved(&pairs);
    assert_eq!(bytes.len(), 8 + 6 * pairs.len());
    let mut again = vec![Pair { low: 0, high: 0 }; pairs.len()];
    assert_eq!(loaded(&mut again, &bytes), Ok(0));
    assert!(again == pairs);
}

#[test]
fn a_generic_struct_comes_back_part_by_part() {
    let both = Both { first: whole(), others: vec![vec![1u8, 2], vec![3]], count: 9, of: 2 };
    let mut again = Both {
        first: Whole { words: vec![0; 1000], size: 1000, ..Whole::default() },
        others: vec![vec![0; 2], vec![0]],
        count: 0,
        of: 2,
    };
    assert_eq!(loaded(&mut again, &saved(&both)), Ok(0));
    assert_eq!(again, both);
}

#[test]
fn every_variant_of_an_enum_comes_back_and_no_other_one_is_taken_for_it() {
    type Of = Kind<Vec<u32>>;
    let empty = Whole { words: vec![0; 1000], size: 1000, ..Whole::default() };
    let made = || [Of::Empty, Of::Pair(whole(), vec![5, 6]), Of::Named { name: 3, words: vec![4], size: 1 }];
    let new = [Of::Empty, Of::Pair(empty, vec![0; 2]), Of::Named { name: 0, words: vec![0], size: 1 }];
    for (n, (kind, mut again)) in made().iter().zip(new).enumerate() {
        let bytes = saved(kind);
        for (other, mut kind) in made().into_iter().enumerate() {
            assert_eq!(loaded(&mut kind, &bytes).is_ok(), n == other);
        }
        assert_eq!(loaded(&mut again, &bytes), Ok(0));
        assert_eq!(again, *kind);
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let bytes = saved(&whole());
    let mut short = Whole { words: vec![0; 999], ..Whole::default() };
    assert_eq!(loaded(&mut short, &bytes), Err(SnapshotError::WrongLength { found: 1000, wanted: 999 }));
    let mut none: Option<Vec<u32>> = None;
    let error = loaded(&mut none, &saved(&Some(vec![1u32]))).expect_err("there is one");
    assert_eq!(error.to_string(), "a list of 1 entries, wanted 0");
    let mut other = bytes.clone();
    other[1] = b'g';
    let error = loaded(&mut whole(), &other).expect_err("it has another name");
    assert_eq!(error.to_string(), "the field `game`, wanted `name`");
}

#[test]
fn a_field_that_claims_to_be_larger_than_anything_is_refused_before_it_is_read() {
    struct Endless;
    impl Source for Endless {
        fn take(&mut self, bytes: &mut [u8]) -> Result<(), SnapshotError> {
            // A name of four letters, and a length without an end.
            bytes.fill(match bytes.len() {
                1 => 4,
                4 => b'n',
                _ => 0x7f,
            });
            Ok(())
        }

        fn at_most(&self) -> u64 {
            1_000
        }
    }
    let found = Reader::within(&mut Endless, 24).value::<Vec<u8>>("nnnn");
    let claimed = u64::from_le_bytes([0x7f; 8]);
    assert_eq!(found, Err(SnapshotError::FieldTooLarge { name: "nnnn", found: claimed, most: 1_024 }));
}

proptest! {
    #[test]
    fn a_state_that_was_cut_or_changed_never_panics(at in 0usize..2040, flip in 1u8.., cut in any::<bool>()) {
        let mut bytes = saved(&whole());
        let mut state = Whole { words: vec![0; 1000], ..Whole::default() };
        if cut {
            prop_assert!(loaded(&mut state, &bytes[..at.min(bytes.len() - 1)]).is_err());
        } else {
            let at = at % bytes.len();
            bytes[at] ^= flip;
            let _ = loaded(&mut state, &bytes);
        }
    }
}
