//! XML as MQSim reads it. Its parser (rapidxml without validation) does not compare the names of end tags,
//! so an end tag ends the innermost element. Attributes, comments, declarations and text before the first
//! element have no meaning in its files.

use super::text::shown;
use crate::error::{Error, Result};

/// An element with its text and child elements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    pub name: String,
    /// Line of its start tag, from 1.
    pub line: u32,
    /// The first text in it that is not blank, without spaces around it.
    pub text: String,
    pub children: Vec<Element>,
}

impl Element {
    /// All descendants without child elements, in the order of the file.
    pub fn leaves(&self) -> Vec<&Self> {
        let of = |child| if Self::is_leaf(child) { vec![child] } else { child.leaves() };
        self.children.iter().flat_map(of).collect()
    }

    fn is_leaf(&self) -> bool {
        self.children.is_empty()
    }
}

/// A parsed file.
#[derive(Debug)]
pub struct Document {
    /// The first element.
    pub root: Element,
    /// Notes about the form of the file, for the user.
    pub notes: Vec<String>,
}

/// Parses the text of the file `name`, whose first element must be `root`.
///
/// # Errors
/// [`Error::Line`] for a text that is no XML, that ends too early, or whose first element is another one.
pub fn parse(name: &str, text: &str, root: &str) -> Result<Document> {
    let (text, notes) = without_conflicts(name, text);
    let mut reader = Reader { name, rest: &text, line: 1 };
    let Some(found) = reader.first()? else {
        return Err(reader.error("no element".into(), format!("<{root}>, a file of MQSim")));
    };
    if found.name != root {
        reader.line = found.line;
        return Err(reader.error(format!("<{}>", shown(&found.name)), format!("<{root}>, a file of MQSim")));
    }
    Ok(Document { root: found, notes })
}

/// Resolves merge conflicts that git left in the text to their first side. Lines keep their numbers.
fn without_conflicts(name: &str, text: &str) -> (String, Vec<String>) {
    let (mut kept, mut notes, mut is_second) = (String::with_capacity(text.len()), Vec::new(), false);
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let is_mark = |mark: &str| line.starts_with(mark) && !notes.is_empty();
        if line.starts_with("<<<<<<< ") {
            notes.push(format!("{name}:{number}: a merge conflict: its first side is used"));
            kept.push('\n');
        } else if is_mark("=======") || is_mark(">>>>>>> ") {
            is_second = line.starts_with('=');
            kept.push('\n');
        } else {
            kept.push_str(if is_second { "\n" } else { line });
        }
    }
    (kept, notes)
}

/// The rest of a text, and its line.
struct Reader<'t> {
    name: &'t str,
    rest: &'t str,
    line: u32,
}

impl<'t> Reader<'t> {
    fn error(&self, found: String, wanted: String) -> Error {
        Error::Line { path: self.name.into(), line: self.line.into(), found, wanted }
    }

    /// Takes the next `length` bytes.
    fn take(&mut self, length: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(length);
        self.line += taken.matches('\n').count() as u32;
        self.rest = rest;
        taken
    }

    /// Takes everything up to and including `end`.
    fn take_past(&mut self, end: &str) -> Result<&'t str> {
        match self.rest.find(end) {
            Some(at) => Ok(self.take(at + end.len())),
            None => Err(self.error("the end of the file".into(), format!("`{end}`"))),
        }
    }

    /// Takes a comment, a declaration, a document type or an instruction, if one is next.
    fn skip_markup(&mut self) -> Result<bool> {
        let end = match self.rest {
            rest if rest.starts_with("<!--") => "-->",
            rest if rest.starts_with("<?") => "?>",
            rest if rest.starts_with("<!") && !rest.starts_with("<![CDATA[") => ">",
            _ => return Ok(false),
        };
        self.take_past(end)?;
        Ok(true)
    }

    /// The first element, if there is one.
    fn first(&mut self) -> Result<Option<Element>> {
        while let Some(at) = self.rest.find('<') {
            self.take(at);
            if !self.skip_markup()? {
                return self.element().map(Some);
            }
        }
        Ok(None)
    }

    /// An element, whose start tag is next. The stack has the open elements, so that the depth of a file is
    /// not the depth of calls.
    fn element(&mut self) -> Result<Element> {
        let mut open: Vec<Element> = Vec::new();
        loop {
            let at = self.rest.find('<').unwrap_or(self.rest.len());
            let text = self.take(at).trim();
            if let Some(element) = open.last_mut().filter(|element| element.text.is_empty()) {
                element.text = unescaped(text);
            }
            if self.rest.is_empty() {
                let name = open.last().map_or("", |element| &element.name);
                return Err(self.error("the end of the file".into(), format!("</{name}>")));
            }
            if self.skip_markup()? {
                continue;
            }
            if let Some(data) = self.rest.strip_prefix("<![CDATA[") {
                let text = data.split("]]>").next().unwrap_or("").trim().to_owned();
                self.take_past("]]>")?;
                if let Some(element) = open.last_mut().filter(|element| element.text.is_empty()) {
                    element.text = text;
                }
                continue;
            }
            let ended = match self.rest.starts_with("</") {
                true => {
                    self.take_past(">")?;
                    open.pop()
                }
                false => self.start(&mut open)?,
            };
            let Some(ended) = ended else { continue };
            match open.last_mut() {
                Some(around) => around.children.push(ended),
                None => return Ok(ended),
            }
        }
    }

    /// Takes a start tag and puts its element on the stack. Returns the element if the tag also ends it.
    fn start(&mut self, open: &mut Vec<Element>) -> Result<Option<Element>> {
        let line = self.line;
        let tag = self.take_past(">")?;
        let (inside, is_empty) = match tag[1..tag.len() - 1].strip_suffix('/') {
            Some(inside) => (inside, true),
            None => (&tag[1..tag.len() - 1], false),
        };
        let name = inside.split_whitespace().next().unwrap_or("");
        if name.is_empty() || name.contains('<') {
            self.line = line;
            return Err(self.error(format!("`{}`", shown(tag)), "the name of an element".into()));
        }
        let element = Element { name: name.to_owned(), line, ..Element::default() };
        if is_empty {
            return Ok(Some(element));
        }
        open.push(element);
        Ok(None)
    }
}

/// Replaces the five named entities of XML.
fn unescaped(text: &str) -> String {
    let all = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    all.iter().fold(text.to_owned(), |text, (name, letter)| text.replace(name, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(text: &str) -> Vec<(String, u32, String)> {
        let document = parse("a.xml", text, "Set").unwrap_or_else(|error| panic!("{text}: {error}"));
        let leaf = |leaf: &Element| (leaf.name.clone(), leaf.line, leaf.text.clone());
        document.root.leaves().into_iter().map(leaf).collect()
    }

    fn leaf(name: &str, line: u32, text: &str) -> (String, u32, String) {
        (name.into(), line, text.into())
    }

    #[test]
    fn an_end_tag_of_any_name_ends_the_innermost_element() {
        for end in ["</A>", "</B>", "</<A>", "</ >", "</>"] {
            assert_eq!(
                leaves(&format!("<Set><A>1{end}<B>2</B></Set>")),
                [leaf("A", 1, "1"), leaf("B", 1, "2")]
            );
        }
    }

    #[test]
    fn a_declaration_may_stand_anywhere_and_be_wrong() {
        for before in ["", "\n<?xml version=\"1.0\"?>", " <?xml ncoding?>", "\u{feff}<?xml?><!DOCTYPE a>"] {
            let line = 1 + before.matches('\n').count() as u32;
            assert_eq!(leaves(&format!("{before}<Set><A>1</A></Set>")), [leaf("A", line, "1")], "{before:?}");
        }
    }

    #[test]
    fn comments_and_attributes_have_no_meaning() {
        let text =
            "<Set a='b'>\n<!-- <A>9</A> --><A x=\"1\"><!-- 8 --> 1 <!--7--></A>\n<B/><C>2&amp;3</C></Set>";
        assert_eq!(leaves(text), [leaf("A", 2, "1"), leaf("B", 3, ""), leaf("C", 3, "2&3")]);
        assert_eq!(leaves("<Set><A><![CDATA[ 1 ]]></A></Set>"), [leaf("A", 1, "1")]);
    }

    #[test]
    fn of_a_merge_conflict_the_first_side_is_used_and_said() {
        let text = "<Set>\n<<<<<<< HEAD\n<A>1</A>\n=======\n<A>2</A>\n>>>>>>> other\n<B>3</B>\n</Set>";
        assert_eq!(leaves(text), [leaf("A", 3, "1"), leaf("B", 7, "3")]);
        let notes = parse("a.xml", text, "Set").expect("it is read").notes;
        assert_eq!(notes, ["a.xml:2: a merge conflict: its first side is used"]);
    }

    #[test]
    fn a_text_that_is_no_file_of_mqsim_is_refused_with_its_line() {
        for (text, wanted) in [
            ("", "a.xml:1: found no element, wanted <Set>"),
            ("plain text", "a.xml:1: found no element, wanted <Set>"),
            ("\n<Other></Other>", "a.xml:2: found <Other>, wanted <Set>, a file of MQSim"),
            ("<Set>\n<A>1</A>\n", "a.xml:3: found the end of the file, wanted </Set>"),
            ("<Set>\n<A", "a.xml:2: found the end of the file, wanted `>`"),
            ("<Set>\n<>1</A></Set>", "a.xml:2: found `<>`, wanted the name of an element"),
            ("<Set>\n< \n\u{1b}<B>", "a.xml:2: found `< \\n\\u{1b}<B>`, wanted the name of an element"),
            ("<Set>\n<!-- 1", "a.xml:2: found the end of the file, wanted `-->`"),
        ] {
            let error = parse("a.xml", text, "Set").expect_err(text).to_string();
            assert!(error.starts_with(wanted), "{text:?}: {error}");
        }
    }
}
