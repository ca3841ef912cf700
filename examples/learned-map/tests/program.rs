//! The program of the crate behaves as docs/EXTENDING.md describes.

#[path = "../../shortest-queue/tests/page/mod.rs"]
mod page;

#[test]
fn what_the_page_says_of_it_is_so() {
    page::check("learned-map", env!("CARGO_BIN_EXE_learned-map"), [1, 1]);
}
