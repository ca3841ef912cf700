//! Namespaces: parts of the logical capacity, each with its own addresses.

use wordline_device::SECTOR;
use wordline_kernel::{Bytes, Complaints};

use super::config::NamespaceFile;

/// Alignment of namespaces. Chosen: a multiple of every mapping unit whose size is a power of two. A unit of
/// another size may contain the end of one namespace and the beginning of the next. Each namespace then
/// writes its part of the unit.
const GRID: Bytes = Bytes::mib(1);

/// Most namespaces. Chosen: more than any drive has.
const MOST: usize = 1024;

/// Position of a namespace, in sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// First sector on the device.
    pub base: u64,
    /// Number of sectors.
    pub sectors: u64,
}

/// Places the namespaces of a device with `capacity` one after another. Without configured namespaces there
/// is a single namespace with the whole capacity. Complaints go to `wrong`.
pub fn lay_out(files: &[NamespaceFile], capacity: Bytes, wrong: &mut Complaints) -> Vec<Namespace> {
    if files.is_empty() {
        return vec![Namespace { base: 0, sectors: capacity.0 / SECTOR.0 }];
    }
    wrong.require(files.len() <= MOST, "namespaces", files.len(), format!("at most {MOST}"));
    let mut base = 0_u64;
    let place = |(n, file): (usize, &NamespaceFile)| {
        let size = file.size_of(&format!("namespaces[{n}]"), capacity, wrong);
        let namespace = Namespace { base, sectors: size.0 / SECTOR.0 };
        base = base.saturating_add(namespace.sectors);
        namespace
    };
    let all = files.iter().enumerate().map(place).collect();
    let together = Bytes(base.saturating_mul(SECTOR.0));
    wrong.require(
        together <= capacity,
        "namespaces",
        together,
        format!("at most the logical capacity of {capacity}"),
    );
    all
}

/// End of the last namespace.
pub fn end(all: &[Namespace]) -> Bytes {
    all.last().map_or(Bytes(0), |last| SECTOR * (last.base + last.sectors))
}

impl NamespaceFile {
    fn size_of(&self, key: &str, capacity: Bytes, wrong: &mut Complaints) -> Bytes {
        match (self.size, self.fraction) {
            (Some(size), None) => {
                let holds = size.0 > 0 && size.0.is_multiple_of(GRID.0);
                wrong.require(holds, &format!("{key}.size"), size, format!("a multiple of {GRID}"));
                size
            }
            (None, Some(fraction)) => {
                let is_fraction = fraction > 0.0 && fraction <= 1.0;
                let part = if is_fraction { capacity.0 as f64 * fraction } else { 0.0 };
                let size = Bytes(part as u64 / GRID.0 * GRID.0);
                let wanted = format!("a fraction to 1 that makes at least {GRID} of {capacity}");
                wrong.require(size.0 > 0, &format!("{key}.fraction"), fraction, wanted);
                size
            }
            (size, _) => {
                let found = if size.is_some() { "size and fraction" } else { "nothing" };
                wrong.add(key, found, "either size or fraction");
                Bytes(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(mib: u64) -> NamespaceFile {
        NamespaceFile { size: Some(Bytes::mib(mib)), fraction: None }
    }

    fn part(fraction: f64) -> NamespaceFile {
        NamespaceFile { size: None, fraction: Some(fraction) }
    }

    fn complaints(files: &[NamespaceFile]) -> String {
        let mut wrong = Complaints::default();
        lay_out(files, Bytes(10 << 20 | 4096), &mut wrong);
        wrong.to_string()
    }

    #[test]
    fn namespaces_lie_one_behind_another_on_whole_mebibytes() {
        let mut wrong = Complaints::default();
        let all = lay_out(&[sized(3), part(0.5)], Bytes(10 << 20 | 4096), &mut wrong);
        let wanted = [(0, 6144), (6144, 10_240)].map(|(base, sectors)| Namespace { base, sectors });
        assert_eq!((all.as_slice(), wrong.0.len()), (wanted.as_slice(), 0));
    }

    #[test]
    fn without_any_there_is_one_of_everything() {
        let all = lay_out(&[], Bytes(10 << 20 | 4096), &mut Complaints::default());
        assert_eq!(all, [Namespace { base: 0, sectors: 20_488 }]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(complaints(&[sized(6), sized(6)]).contains("namespaces: found 12MiB, wanted at most"));
        assert!(complaints(&[part(0.01)]).contains("namespaces[0].fraction: found 0.01"));
        assert!(
            complaints(&[NamespaceFile { size: None, fraction: None }]).contains("either size or fraction")
        );
        assert!(
            complaints(&[NamespaceFile { size: Some(Bytes(5000)), fraction: None }])
                .contains("namespaces[0].size")
        );
    }
}
