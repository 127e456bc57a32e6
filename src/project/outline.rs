//! Where things are in a RON text: the places that RON's own parser forgets once it has read a value.
//!
//! A tolerant scan for brackets, commas, colons, strings and comments, without a care for what they mean. It takes any
//! text whatever, keeps no call stack (deep nesting is harmless) and never fails: what it cannot make out just has no
//! place of its own.

/// One step on the way to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'s> {
    /// The value after `name:`.
    Field(&'s str),
    /// The `n`-th value between the brackets, from 0.
    Nth(usize),
}

/// A value of the text: where it begins, its name if it has one, and the values between its brackets.
struct Node<'t> {
    name: Option<&'t str>,
    start: usize,
    children: Vec<usize>,
    had_brackets: bool,
}

/// The values of a text, as a tree.
pub struct Outline<'t> {
    text: &'t str,
    /// The first is the text as a whole.
    nodes: Vec<Node<'t>>,
}

impl<'t> Outline<'t> {
    pub fn of(text: &'t str) -> Self {
        let mut scan = Scan {
            text,
            at: 0,
            nodes: vec![Node {
                name: None,
                start: 0,
                children: Vec::new(),
                had_brackets: true,
            }],
            open: vec![0],
            current: None,
            named: false,
        };
        while scan.step() {}
        Self {
            text,
            nodes: scan.nodes,
        }
    }

    /// Whether the text holds nothing but white space and comments.
    pub fn is_blank(&self) -> bool {
        self.nodes.len() == 1
    }

    /// Byte offset of the value at the end of `path`, or of the last value on the way that is there.
    pub fn find(&self, path: &[Step]) -> usize {
        let mut node = self.root();
        for step in path {
            match self.child(node, *step) {
                Some(child) => node = child,
                None => break,
            }
        }
        self.nodes[node].start
    }

    /// Byte offset and text of the field `name` of the outermost value, if its text is a bare word or number.
    pub fn word(&self, name: &str) -> Option<(usize, &'t str)> {
        let field = self.child(self.root(), Step::Field(name))?;
        let start = self.nodes[field].start;
        let word = self.text.get(start..)?;
        let is_end = |c: char| c.is_whitespace() || ",()[]{}/".contains(c);
        Some((start, word.split(is_end).next().unwrap_or(word)))
    }

    /// The outermost value: the first that is no `#![…]` attribute.
    fn root(&self) -> usize {
        let is_value = |node: &&usize| !self.text[self.nodes[**node].start..].starts_with('#');
        self.nodes[0]
            .children
            .iter()
            .find(is_value)
            .copied()
            .unwrap_or(0)
    }

    fn child(&self, node: usize, step: Step) -> Option<usize> {
        let children = &self.nodes[node].children;
        match step {
            Step::Nth(n) => children.get(n).copied(),
            Step::Field(name) => children
                .iter()
                .find(|child| self.nodes[**child].name == Some(name))
                .copied(),
        }
    }
}

/// A scan under way.
struct Scan<'t> {
    text: &'t str,
    at: usize,
    nodes: Vec<Node<'t>>,
    /// The values whose brackets are open, outermost first; never empty.
    open: Vec<usize>,
    /// The value being read in the innermost open brackets.
    current: Option<usize>,
    /// `current` has a name, and its value has not begun yet.
    named: bool,
}

impl Scan<'_> {
    /// Past the next token. False: the end.
    fn step(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let Some(next) = rest.chars().next() else {
            return false;
        };
        let length = match next {
            c if c.is_whitespace() => c.len_utf8(),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment_length(rest),
            '(' | '[' | '{' => self.open_brackets(),
            ')' | ']' | '}' => self.close_brackets(),
            ',' => self.end_value(),
            ':' => self.name_value(),
            _ => {
                self.begin_value();
                literal_length(rest).unwrap_or(next.len_utf8())
            }
        };
        self.at += length;
        true
    }

    /// A token of a value is here: its first, perhaps. Nothing belongs to a value once its brackets have closed.
    fn begin_value(&mut self) {
        match self.current {
            Some(node) if self.named => self.nodes[node].start = self.at,
            Some(node) if !self.nodes[node].had_brackets => {}
            Some(_) | None => self.add_value(),
        }
        self.named = false;
    }

    fn add_value(&mut self) {
        let node = self.nodes.len();
        self.nodes.push(Node {
            name: None,
            start: self.at,
            children: Vec::new(),
            had_brackets: false,
        });
        let parent = self.open.last().copied().unwrap_or(0);
        self.nodes[parent].children.push(node);
        self.current = Some(node);
    }

    fn open_brackets(&mut self) -> usize {
        self.begin_value();
        if let Some(node) = self.current.take() {
            self.nodes[node].had_brackets = true;
            self.open.push(node);
        }
        1
    }

    fn close_brackets(&mut self) -> usize {
        if self.open.len() > 1 {
            self.current = self.open.pop();
        }
        self.named = false;
        1
    }

    fn end_value(&mut self) -> usize {
        self.current = None;
        self.named = false;
        1
    }

    fn name_value(&mut self) -> usize {
        if let Some(node) = self.current {
            let node = &mut self.nodes[node];
            if node.name.is_none() && !node.had_brackets {
                let name = leading_word(&self.text[node.start..self.at]);
                node.name = Some(name.strip_prefix("r#").unwrap_or(name));
                self.named = true;
            }
        }
        1
    }
}

/// `name` of `name /* comment */`.
fn leading_word(text: &str) -> &str {
    let is_end = |c: char| c.is_whitespace() || c == '/';
    text.split(is_end).next().unwrap_or(text)
}

/// Of `/* … /* … */ … */`, or all of `text` if it does not end.
fn block_comment_length(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The length of the string, character or word that `text` begins with: all in which a bracket means nothing.
fn literal_length(text: &str) -> Option<usize> {
    let body = text.strip_prefix('b').unwrap_or(text);
    let prefix = text.len() - body.len();
    let length = match body.chars().next()? {
        '"' => escaped_length(body, '"'),
        '\'' => character_length(body)?,
        'r' => raw_string_length(body).or_else(|| word_length(text).checked_sub(prefix))?,
        _ => return Some(word_length(text)).filter(|length| *length > 0),
    };
    Some(prefix + length)
}

/// Of letters, digits and underscores.
fn word_length(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len())
}

/// Of `"…"`, with `\"` inside, or all of `text` if it does not end.
fn escaped_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Of `'x'` or `'\n'`. None: not a character.
fn character_length(text: &str) -> Option<usize> {
    if text.starts_with("'\\") {
        return Some(escaped_length(text, '\''));
    }
    let (at, _) = text.char_indices().nth(2)?;
    text[at..].starts_with('\'').then_some(at + 1)
}

/// Of `r"…"` or `r##"…"##`, or all of `text` if it does not end. None: not a raw string.
fn raw_string_length(text: &str) -> Option<usize> {
    let after = text.strip_prefix('r')?;
    let body = after.trim_start_matches('#');
    let hashes = &after[..after.len() - body.len()];
    let body = body.strip_prefix('"')?;
    let start = text.len() - body.len();
    let end = format!("\"{hashes}");
    Some(
        body.find(&end)
            .map_or(text.len(), |at| start + at + end.len()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text from the place that `path` leads to.
    fn at<'t>(text: &'t str, path: &[Step]) -> &'t str {
        &text[Outline::of(text).find(path)..]
    }

    #[test]
    fn finds_a_field_of_the_nth_value() {
        let text = r#"(version: 1, operators: [(uid: "a"), (uid: "b", at: (3, 4))])"#;
        let second = [Step::Field("operators"), Step::Nth(1)];
        assert_eq!(at(text, &second), r#"(uid: "b", at: (3, 4))])"#);
        let uid = [&second[..], &[Step::Field("uid")]].concat();
        assert_eq!(at(text, &uid), r#""b", at: (3, 4))])"#);
        let y = [&second[..], &[Step::Field("at"), Step::Nth(1)]].concat();
        assert_eq!(at(text, &y), "4))])");
    }

    #[test]
    fn stops_at_the_last_value_that_is_there() {
        let text = "(a: Thing(b: 1), c: 2)";
        assert_eq!(
            at(text, &[Step::Field("a"), Step::Field("nope")]),
            "Thing(b: 1), c: 2)"
        );
        assert_eq!(at(text, &[Step::Field("nope")]), text);
        assert_eq!(at(text, &[Step::Field("a"), Step::Field("b")]), "1), c: 2)");
    }

    #[test]
    fn brackets_in_strings_and_comments_mean_nothing() {
        let text = r###"(a: "(,\")", // ]],
            b: r##"x"#,("##, /* ( /* , */ ) */ c: '(', d: b"[", r#e: ',', e /* : */ : 5)"###;
        assert_eq!(
            at(text, &[Step::Field("c")]),
            &text[text.find("'('").unwrap()..]
        );
        assert_eq!(
            at(text, &[Step::Field("d")]),
            &text[text.find("b\"[").unwrap()..]
        );
        assert_eq!(
            at(text, &[Step::Field("e")]),
            &text[text.find("',',").unwrap()..]
        );
        assert_eq!(at(text, &[Step::Nth(5)]), "5)");
    }

    #[test]
    fn attributes_come_before_the_value() {
        let text = "#![enable(implicit_some)]\n#![enable(x)]\n(version: 12)";
        assert_eq!(
            Outline::of(text).word("version"),
            Some((text.len() - 3, "12"))
        );
    }

    #[test]
    fn blank_is_nothing_but_comments() {
        for text in ["", " \n", "// (a: 1)", "/* ( */ \t", "/*"] {
            assert!(Outline::of(text).is_blank(), "{text:?}");
        }
        assert!(!Outline::of("()").is_blank());
    }

    #[test]
    fn unbalanced_brackets_are_harmless() {
        for text in [
            ")))",
            "(((",
            "(a:",
            ":",
            ",,,",
            "'",
            "\"",
            "r#",
            "b",
            "(a: b: c)",
            "]a: 1[",
            "//",
            "é'é'",
        ] {
            let outline = Outline::of(text);
            assert!(outline.find(&[Step::Field("a"), Step::Nth(3)]) <= text.len());
            let _ = outline.word("a");
        }
        let deep = "(".repeat(1_000_000);
        assert_eq!(Outline::of(&deep).find(&[Step::Nth(0), Step::Nth(0)]), 2);
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_an_outline(text in "[(){},:'\"/*#rb\\\\ \naé1]{0,60}") {
            let outline = Outline::of(&text);
            let place = outline.find(&[Step::Nth(0), Step::Field("a"), Step::Nth(1)]);
            proptest::prop_assert!(text.is_char_boundary(place));
        }
    }
}
