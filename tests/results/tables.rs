//! The tables of results in a page: each between `<!-- repro: PAPER/NAME OPTIONS -->` and `<!-- /repro -->`.

const BEGIN: &str = "<!-- repro: ";
const MARK_END: &str = " -->\n\n";
const END: &str = "<!-- /repro -->\n";

/// The words of the marks of a page: the experiment and its options.
pub fn marks(text: &str) -> Vec<&str> {
    text.split(BEGIN).skip(1).filter_map(|rest| rest.split_once(MARK_END)).map(|(words, _)| words).collect()
}

/// The page with another table at the mark of these words.
///
/// # Errors
/// The text found, and the text wanted, where there is no such mark or no end behind it.
pub fn with_table(text: &str, words: &str, table: &str) -> Result<String, String> {
    let mark = format!("{BEGIN}{words}{MARK_END}");
    let (before, rest) = text.split_once(&mark).ok_or(format!("{words}: found no mark, wanted {mark}"))?;
    let (_, after) = rest.split_once(END).ok_or(format!("{words}: found no {}, wanted one", END.trim()))?;
    Ok(format!("{before}{mark}{}{END}{after}", table.trim_start_matches('\n')))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "A\n<!-- repro: a/b --quick -->\n\n1\n<!-- /repro -->\nB\n<!-- repro: a/c -->\n\n2\n<!-- /repro -->\nC\n";

    #[test]
    fn a_table_takes_the_place_of_the_one_at_its_mark() {
        assert_eq!(marks(PAGE), ["a/b --quick", "a/c"]);
        assert_eq!(with_table(PAGE, "a/c", "3\n"), Ok(PAGE.replace("\n2\n", "\n3\n")));
        assert_eq!(with_table(PAGE, "a/b --quick", "3\n"), Ok(PAGE.replace("\n1\n", "\n3\n")));
    }

    #[test]
    fn a_mark_that_is_not_there_and_one_without_an_end_are_refused() {
        assert!(with_table(PAGE, "a/d", "3\n").is_err_and(|error| error.contains("found no mark")));
        let open = PAGE.replace("2\n<!-- /repro -->\n", "2\n");
        assert!(with_table(&open, "a/c", "3\n").is_err_and(|error| error.contains("found no <!-- /repro")));
    }
}
