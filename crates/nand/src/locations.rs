//! Locations: the physical storage of one mapping unit of an FTL. A location is a part of a page, a page, or
//! several adjacent pages, and holds one data tag.

use wordline_kernel::{Bytes, id};

use crate::geometry::{BlockSetId, Divisor, Geometry, PageId};

id!(
    /// A location, counted over the device in the order of pages: the locations of a block set are numbered
    /// in the order in which they are programmed.
    Location
);

/// The division of the pages of a device into locations, and the arithmetic over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locations {
    /// Bytes of a location.
    pub size: Bytes,
    /// Locations that one program command writes.
    pub per_program: u32,
    /// Base-2 logarithm of the locations of a page; 0 if a location has one page or more.
    shift: u32,
    /// Pages of a location; 1 if a page holds one location or more.
    pages: u32,
    per_block: Divisor,
    count: u32,
    /// The first numbers of locations, block sets and pages.
    first: u32,
    first_block: u32,
    first_page: u32,
}

impl Locations {
    /// One location for each page.
    pub fn of_pages(geometry: &Geometry) -> Self {
        Self::new(geometry, 0, 1)
    }

    /// Locations of `size` bytes. A location must be a page divided by a power of two, or a number of pages
    /// that divides a program unit, and the device must have fewer than 2^31 locations. Otherwise `None`.
    pub fn of_size(geometry: &Geometry, size: Bytes) -> Option<Self> {
        let (page, size) = (geometry.page_size.0, size.0);
        if size == 0 {
            return None;
        }
        let (parts, pages) = (page / size, size / page);
        if size <= page {
            let fits = page % size == 0 && parts.is_power_of_two();
            let few = u64::from(geometry.pages()) * parts < 1 << 31;
            return (fits && few).then(|| Self::new(geometry, parts.trailing_zeros(), 1));
        }
        let fits = size % page == 0 && u64::from(geometry.pages_per_program).is_multiple_of(pages);
        fits.then(|| Self::new(geometry, 0, pages as u32))
    }

    fn new(geometry: &Geometry, shift: u32, pages: u32) -> Self {
        Self {
            size: Bytes((geometry.page_size.0 >> shift) * u64::from(pages)),
            per_program: (geometry.pages_per_program << shift) / pages,
            shift,
            pages,
            per_block: Divisor::new((geometry.pages_per_block_set() << shift) / pages),
            count: (geometry.pages() << shift) / pages,
            first: 0,
            first_block: geometry.first.block,
            first_page: geometry.first.page,
        }
    }

    /// The same locations, numbered from `first` on, in the blocks and pages of `geometry`.
    pub fn within(self, geometry: &Geometry, first: u32) -> Self {
        Self { first, first_block: geometry.first.block, first_page: geometry.first.page, ..self }
    }

    /// The first number.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// The first number after these locations.
    pub fn end(&self) -> u32 {
        self.first + self.count
    }

    /// Number of locations.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Locations of a block set.
    #[inline]
    pub fn per_block(&self) -> u32 {
        self.per_block.by()
    }

    /// Pages of a location: 1 where a page holds one or more.
    #[inline]
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Locations of a page: 1 where a location has one or more.
    #[inline]
    pub fn per_page(&self) -> u32 {
        1 << self.shift
    }

    /// Locations of this many pages, which must be a multiple of the pages of a location.
    #[inline]
    pub fn of_adjacent_pages(&self, pages: u32) -> u32 {
        if self.pages == 1 { pages << self.shift } else { pages / self.pages }
    }

    /// The block set that holds `location`, and the offset of the location in it.
    #[inline]
    pub fn split(&self, location: Location) -> (BlockSetId, u32) {
        let (block, place) = self.per_block.both(location.0 - self.first);
        (BlockSetId(self.first_block + block), place)
    }

    /// The block set that holds `location`.
    #[inline]
    pub fn block_of(&self, location: Location) -> BlockSetId {
        BlockSetId(self.first_block + self.per_block.quotient(location.0 - self.first))
    }

    /// The location at offset `place` in `block`.
    #[inline]
    pub fn at(&self, block: BlockSetId, place: u32) -> Location {
        Location(self.first + (block.0 - self.first_block) * self.per_block.by() + place)
    }

    /// The page of `location`, or the first of its pages.
    #[inline]
    pub fn page_of(&self, location: Location) -> PageId {
        PageId(self.first_page + ((location.0 - self.first) >> self.shift) * self.pages)
    }

    /// The first location of `page`, or the location that contains it.
    #[inline]
    pub fn location_of(&self, page: PageId) -> Location {
        let page = page.0 - self.first_page;
        Location(self.first + if self.pages == 1 { page << self.shift } else { page / self.pages })
    }

    /// Whether `page` is the last one of its location.
    #[inline]
    pub fn ends_at(&self, page: PageId) -> bool {
        self.pages == 1 || (page.0 - self.first_page + 1).is_multiple_of(self.pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Layout;
    use crate::part::tests::mqsim;
    use wordline_kernel::Id;

    /// Two dies of two planes with pages of 8 KiB.
    fn geometry() -> Geometry {
        Layout::on_one_channel(2, None).check(&mqsim()).expect("the layout is sound")
    }

    #[test]
    fn a_size_that_fits_neither_pages_nor_program_units_is_refused() {
        let sizes = [0, 3 << 10, 16 << 10, 24 << 10, 32 << 10, 4 << 10, 512];
        let fits = sizes.map(|size| Locations::of_size(&geometry(), Bytes(size)).is_some());
        assert_eq!(fits, [false, false, true, false, false, true, true]);
    }

    #[test]
    fn locations_cover_the_pages_of_their_block_in_order() {
        let geometry = geometry();
        for size in [2, 4, 8, 16].map(Bytes::kib) {
            let locations = Locations::of_size(&geometry, size).expect("the size fits");
            assert_eq!(geometry.page_size * u64::from(geometry.pages()), size * u64::from(locations.count()));
            for page in [0, 1, 5, geometry.pages() - 1].map(PageId) {
                let location = locations.location_of(page);
                assert_eq!(locations.block_of(location), geometry.block_of(page), "{size} {page:?}");
                let (block, place) = locations.split(location);
                assert_eq!(locations.at(block, place).index(), location.index());
                let last = PageId(locations.page_of(location).0 + locations.pages() - 1);
                assert!(locations.page_of(location) <= page && page <= last);
                assert_eq!(locations.ends_at(page), page == last);
            }
        }
    }
}
