//! The program of the crate behaves as docs/EXTENDING.md describes.

#[path = "../../shortest-queue/tests/page/mod.rs"]
mod page;

#[test]
fn what_the_page_says_of_it_is_so() {
    page::check("read-reclaim", env!("CARGO_BIN_EXE_read-reclaim"), [1, 1]);
}
