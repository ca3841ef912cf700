//! The fenced blocks of a page of docs. The tests of the examples use this file too.

use std::path::{Path, PathBuf};

/// A fenced block of a page.
pub struct Block {
    /// The text after the fence: the language, and a file name if the block is that file.
    pub info: String,
    pub lines: Vec<String>,
}

/// The folder of README.md.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of a page, from top to bottom.
pub fn blocks(page: &Path) -> Vec<Block> {
    let text = std::fs::read_to_string(page).expect("a page is text");
    let mut all = Vec::new();
    let mut open: Option<Block> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(info), None) => open = Some(Block { info: info.to_owned(), lines: Vec::new() }),
            (Some(_), Some(block)) => all.push(block),
            (None, Some(mut block)) => {
                block.lines.push(line.to_owned());
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    all
}
