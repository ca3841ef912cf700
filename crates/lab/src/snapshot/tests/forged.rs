//! Forged snapshots: their checksums are valid, but no device wrote their states.

mod kinds;

use std::io::{self, Read, Write};

use wordline_device::snapshot::{Agenda, LAYOUT};
use wordline_run::snapshot::{FORMAT, HEAD, LEVEL, MAGIC, STATE, blocks};

use super::*;

/// The decompressed state of a snapshot.
fn state_of(path: &Path) -> Vec<u8> {
    Snapshot::open(path).expect("it was just made").state().expect("it is whole")
}

/// Writes a snapshot to `path` with this state, and with the head of the snapshot at `like`.
fn forge(like: &Path, state: impl Read, path: &Path) {
    let like = Snapshot::open(like).expect("it was just made");
    let mut to = std::fs::File::create(path).expect("the directory can be written");
    to.write_all(MAGIC).expect("a file");
    to.write_all(&FORMAT.to_le_bytes()).expect("a file");
    to.write_all(&LAYOUT.to_le_bytes()).expect("a file");
    let mut section = blocks::Writer::new(to, HEAD);
    serde_json::to_writer(&mut section, like.head()).expect("a head is JSON");
    let section = blocks::Writer::new(section.finish().expect("a file"), STATE);
    let mut encoder = zstd::Encoder::new(section, LEVEL).expect("the level is known");
    io::copy(&mut { state }, &mut encoder).expect("a file");
    encoder.finish().expect("a file").finish().expect("a file");
}

fn restored(path: &Path) -> Result<(wordline_ssd::Device, Agenda<wordline_ssd::Event>)> {
    let prepared = restore(Snapshot::open(path)?, device(&[]).ssd().expect("an SSD"))?;
    Ok((prepared.device, prepared.agenda))
}

/// Position of the first byte of a list in a state, after the list's name and length.
fn list(state: &[u8], name: &str) -> usize {
    let field = [&[name.len() as u8], name.as_bytes()].concat();
    let at = state.windows(field.len()).position(|bytes| bytes == field).expect("the field is there");
    at + field.len() + 8
}

#[test]
fn a_state_that_claims_to_be_endless_takes_no_memory() {
    let (folder, path) = made();
    let forged = folder.path().join("forged.snap");
    // The first field is the agenda. Its forged length is a tebibyte, and a gibibyte of zeros follows.
    let mut begin = state_of(&path)[..7].to_vec();
    begin.extend((1u64 << 40).to_le_bytes());
    forge(&path, begin.chain(io::repeat(0).take(1 << 30)), &forged);
    assert!(std::fs::metadata(&forged).expect("it is there").len() < 200_000);
    let error = restored(&forged).err().expect("it is no state").to_string();
    assert!(
        error.contains("forged.snap: found 1099511627776 bytes of the field `agenda`, wanted at most "),
        "{error}"
    );
}

#[test]
fn a_state_whose_fields_do_not_go_together_is_refused() {
    let (folder, path) = made();
    let forged = folder.path().join("forged.snap");
    let state = state_of(&path);
    let refused = |changes: &[(usize, u8)]| {
        let mut other = state.clone();
        changes.iter().for_each(|(at, flip)| other[*at] ^= flip);
        forge(&path, other.as_slice(), &forged);
        restored(&forged).err().map(|error| error.to_string())
    };
    assert_eq!(refused(&[]), None, "as it was");
    // A list stores the lowest bytes of all its numbers first.
    for (name, at) in [("is_valid", 40), ("row_valid", 0), ("good", 0), ("known", 100)] {
        let error = refused(&[(list(&state, name) + at, 1)]).expect(name);
        assert!(
            error.contains("forged.snap: found ") && error.contains("an inconsistent state"),
            "{name}: {error}"
        );
    }
}

#[test]
fn a_state_with_a_byte_changed_is_refused_or_is_one_of_the_device() {
    let (folder, path) = made();
    let forged = folder.path().join("forged.snap");
    let state = state_of(&path);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(128)
    });
    let place = (any::<prop::sample::Index>(), 1u8..);
    let test = |(at, flip): (prop::sample::Index, u8)| {
        let at = at.index(state.len());
        let mut other = state.clone();
        other[at] ^= flip;
        forge(&path, other.as_slice(), &forged);
        if let Err(error) = restored(&forged) {
            let is_told = matches!(&error, Error::Content { .. });
            prop_assert!(is_told, "byte {at} changed by {flip}: {error}");
        }
        Ok(())
    };
    runner.run(&place, test).expect("each is refused, or goes");
}
