//! Lines of a job file, as fio's parser splits them: comments, sections, included files and variables.

use std::io;

use wordline_kernel::Complaints;

use super::table::{self, Treatment};

/// Files and variables that a job file may refer to.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Reads the file of an `include` line, whose name is relative to the job file.
    pub include: &'a dyn Fn(&str) -> io::Result<String>,
    /// Value of the environment variable in `${NAME}`.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// A line `key=value`, or `key` alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// File and line, for messages.
    pub place: String,
    pub key: String,
    pub value: Option<String>,
}

/// A section.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub name: String,
    /// File and line of its header.
    pub place: String,
    /// Whether its keys apply to the jobs after it.
    pub is_global: bool,
    pub entries: Vec<Entry>,
}

/// Number of files within files. Chosen: deeper nesting is a file that includes itself.
const MAX_DEPTH: usize = 8;

/// Page size of the host. Chosen: that of x86-64, for the word `$pagesize`.
const PAGE: &str = "4096";

/// Splits the text of the file `name` into sections.
pub fn sections(name: &str, text: &str, around: Surroundings<'_>, wrong: &mut Complaints) -> Vec<Section> {
    let mut lexer = Lexer { around, wrong, sections: Vec::new(), is_inside: false };
    lexer.file(name, text, 0);
    lexer.sections
}

struct Lexer<'a, 'b> {
    around: Surroundings<'a>,
    wrong: &'b mut Complaints,
    sections: Vec<Section>,
    /// Whether the current line belongs to the last section.
    is_inside: bool,
}

impl Lexer<'_, '_> {
    fn file(&mut self, name: &str, text: &str, depth: usize) {
        for (number, line) in text.lines().enumerate() {
            let place = format!("{name}:{}", number + 1);
            let line = without_comment(line);
            if line.is_empty() {
                continue;
            }
            if let Some(head) = line.strip_prefix('[') {
                self.header(place, line, head, depth);
            } else if !self.is_inside {
                self.wrong.add(place, format!("`{line}`"), "a section before it, [global] or one of a job");
            } else if let Some(file) =
                line.strip_prefix("include").filter(|file| file.starts_with([' ', '\t', '=']))
            {
                self.include(place, file[1..].trim(), depth);
            } else {
                self.entry(place, line);
            }
        }
    }

    fn header(&mut self, place: String, line: &str, head: &str, depth: usize) {
        self.is_inside = false;
        let name = head.strip_suffix(']').map_or("", str::trim);
        if name.is_empty() {
            return self.wrong.add(place, line, "a section, such as [job]");
        }
        if depth > 0 {
            return self.wrong.add(place, line, "no section: an included file has keys only");
        }
        self.is_inside = true;
        // fio compares the first letters only.
        let is_global = name.starts_with("global");
        self.sections.push(Section { name: name.into(), place, is_global, entries: Vec::new() });
    }

    fn include(&mut self, place: String, file: &str, depth: usize) {
        if depth >= MAX_DEPTH {
            let wanted = format!("files within files, at most {MAX_DEPTH} deep");
            return self.wrong.add(format!("{place}: include"), format!("`{file}`"), wanted);
        }
        match (self.around.include)(file) {
            Ok(text) => self.file(file, &text, depth + 1),
            Err(error) => {
                let found = format!("`{file}`, which cannot be read ({error})");
                self.wrong.add(format!("{place}: include"), found, "a file beside the job file");
            }
        }
    }

    fn entry(&mut self, place: String, line: &str) {
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (line, None),
        };
        // Names of files tell them apart, whatever they are.
        let takes_any_text = ["directory", "filename"].contains(&key)
            || table::find(key).is_some_and(|key| matches!(key.treatment, Treatment::Harmless(_)));
        let value = match value.map(|value| self.expanded(value)).transpose() {
            Ok(value) => value,
            Err(_) if takes_any_text => value.map(str::to_owned),
            Err((found, wanted)) => return self.wrong.add(format!("{place}: {key}"), found, wanted),
        };
        let section = self.sections.last_mut().expect("a line is inside a section");
        section.entries.push(Entry { place, key: key.to_owned(), value });
    }

    /// Replaces `${NAME}` and the words that fio knows. On failure returns what was found and what is wanted.
    fn expanded(&self, value: &str) -> Result<String, (String, String)> {
        let mut text = String::new();
        let mut rest = value;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, behind)) = after.split_once('}') else { break };
            let Some(found) = (self.around.variable)(name) else {
                let wanted = format!("the environment variable {name}: it is not set");
                return Err((format!("`{value}`"), wanted));
            };
            text.push_str(before);
            text.push_str(&found);
            rest = behind;
        }
        text.push_str(rest);
        for word in ["$mb_memory", "$ncpus"] {
            if text.contains(word) {
                let wanted = format!("a number in place of {word}, which depends on the machine");
                return Err((format!("`{value}`"), wanted));
            }
        }
        Ok(text.replace("$pagesize", PAGE))
    }
}

/// Removes a comment and the blanks around the rest. As in fio, `;` and `#` begin one anywhere in a line.
fn without_comment(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or("").trim_matches(|c: char| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexed(text: &str) -> (Vec<Section>, String) {
        let include = |file: &str| match file {
            "more.inc" => Ok("bs=8k\n; nothing\niodepth=4\n".to_owned()),
            "again.inc" => Ok("include again.inc\n".to_owned()),
            "section.inc" => Ok("[b]\nbs=8k\n".to_owned()),
            _ => Err(io::ErrorKind::NotFound.into()),
        };
        let variable = |name: &str| (name == "SIZE").then(|| "16k".to_owned());
        let mut wrong = Complaints::default();
        let around = Surroundings { include: &include, variable: &variable };
        let sections = sections("a.fio", text, around, &mut wrong);
        (sections, wrong.to_string())
    }

    #[test]
    fn comments_end_a_line_and_a_key_may_stand_alone() {
        let (sections, wrong) =
            lexed("# one\n  [a]  ; two\nbs = 4k # three\n\tthread;four\n;bs=8k\n[global x]\nrw=read\n");
        assert_eq!(wrong, "");
        let of = |n: usize| -> Vec<(&str, &str, Option<&str>)> {
            let entry = |e: &'static Entry| (e.place.as_str(), e.key.as_str(), e.value.as_deref());
            let entries: &'static [Entry] = Vec::leak(sections[n].entries.clone());
            entries.iter().map(entry).collect()
        };
        assert_eq!(of(0), [("a.fio:3", "bs", Some("4k")), ("a.fio:4", "thread", None)]);
        assert_eq!((sections[0].name.as_str(), sections[0].is_global), ("a", false));
        assert!(sections[1].is_global);
    }

    #[test]
    fn variables_and_included_files_take_their_place() {
        let (sections, wrong) = lexed("[a]\nbs=${SIZE}\ninclude more.inc\nname=x${SIZE}y\nba=$pagesize\n");
        assert_eq!(wrong, "");
        let all: Vec<String> = sections[0]
            .entries
            .iter()
            .map(|e| format!("{} {}={}", e.place, e.key, e.value.as_deref().unwrap_or("")))
            .collect();
        let wanted = [
            "a.fio:2 bs=16k",
            "more.inc:1 bs=8k",
            "more.inc:3 iodepth=4",
            "a.fio:4 name=x16ky",
            "a.fio:5 ba=4096",
        ];
        assert_eq!(all, wanted);
    }

    #[test]
    fn a_variable_that_is_not_set_is_no_fault_where_the_key_has_no_effect() {
        let (sections, wrong) = lexed("[a]\nhttp_s3_key=${S3_KEY}\nbs=4k\ndirectory=${DIR}\n");
        assert_eq!((sections[0].entries.len(), wrong.as_str()), (3, ""));
    }

    #[test]
    fn what_cannot_be_found_is_named_with_its_line() {
        for (text, wanted) in [
            ("[a]\nbs=${SIEZ}\n", "a.fio:2: bs: found `${SIEZ}`, wanted the environment variable SIEZ"),
            (
                "[a]\nsize=$mb_memory\n",
                "a.fio:2: size: found `$mb_memory`, wanted a number in place of $mb_memory",
            ),
            ("[a]\ninclude none.inc\n", "a.fio:2: include: found `none.inc`, which cannot be read"),
            (
                "[a]\ninclude again.inc\n",
                "again.inc:1: include: found `again.inc`, wanted files within files",
            ),
            ("[a]\ninclude section.inc\n", "section.inc:1: found [b], wanted no section"),
            ("rw=read\n", "a.fio:1: found `rw=read`, wanted a section before it"),
            ("[]\nrw=read\n", "a.fio:1: found [], wanted a section"),
        ] {
            let (_, wrong) = lexed(text);
            assert!(wrong.starts_with(wanted), "{text}: {wrong}");
        }
    }
}
