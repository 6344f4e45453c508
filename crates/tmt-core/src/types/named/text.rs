//! The grammar of `name:key=value,…`, and of `name(key=value,…)` for a value inside of another text.

use super::ParseError;

/// Part of a text between two commas: `key=value`, or a value without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'t> {
    /// The whole part.
    pub text: &'t str,
    /// Text before the first `=`; `None` without one.
    pub key: Option<&'t str>,
    /// Text after the `=`, or the whole part.
    pub value: &'t str,
}

impl<'t> Part<'t> {
    /// Takes a part apart at the first `=` outside of braces and parentheses.
    #[must_use]
    pub fn of(text: &'t str) -> Self {
        match text.split_once(outside(text, '=')) {
            Some((key, value)) => Self {
                text,
                key: Some(key),
                value,
            },
            None => Self {
                text,
                key: None,
                value: text,
            },
        }
    }

    /// The key, or the whole part without one.
    #[must_use]
    pub fn name(&self) -> &'t str {
        self.key.unwrap_or(self.text)
    }
}

/// The texts between the commas of `text` that are outside of braces and parentheses.
pub fn split(text: &str) -> impl Iterator<Item = &str> {
    split_at(text, ',')
}

/// The texts between those `mark` of `text` that are outside of braces and parentheses. In braces, which hold the content of
/// a file, parentheses are characters like any other.
///
/// ```
/// use tmt_core::named::split_at;
///
/// let flows: Vec<_> = split_at("app=arrivals({time_s,size_bytes,flow;0,1,a b)}) cc=reno", ' ').collect();
/// assert_eq!(flows, ["app=arrivals({time_s,size_bytes,flow;0,1,a b)})", "cc=reno"]);
/// ```
pub fn split_at(text: &str, mark: char) -> impl Iterator<Item = &str> {
    text.split(outside(text, mark))
}

/// The parts of `text` between the commas that are outside of braces and parentheses.
///
/// ```
/// use tmt_core::named::parts;
///
/// let parts: Vec<_> = parts("start=5s,cc=cubic(beta=0.8,c=0.4)").map(|part| (part.key, part.value)).collect();
/// assert_eq!(parts, [(Some("start"), "5s"), (Some("cc"), "cubic(beta=0.8,c=0.4)")]);
/// ```
pub fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    split(text).map(Part::of)
}

/// The name with which `text` starts, and what follows: after a `:`, or in parentheses that end the text.
///
/// ```
/// use tmt_core::named::head;
///
/// assert_eq!(head("cubic:beta=0.8"), ("cubic", Some("beta=0.8")));
/// assert_eq!(head("cubic(beta=0.8)"), ("cubic", Some("beta=0.8")));
/// assert_eq!(head("cubic"), ("cubic", None));
/// ```
#[must_use]
pub fn head(text: &str) -> (&str, Option<&str>) {
    match in_parentheses(text).or_else(|| text.split_once(':')) {
        Some((name, parameters)) => (name, Some(parameters)),
        None => (text, None),
    }
}

/// Name and parameters of a text of the form `name(…)`.
#[must_use]
pub fn in_parentheses(text: &str) -> Option<(&str, &str)> {
    let (name, parameters) = text.strip_suffix(')')?.split_once('(')?;
    (!name.contains(':')).then_some((name, parameters))
}

/// The text for a line of a message: each long content in braces is cut.
#[must_use]
pub fn brief(text: &str) -> String {
    /// Longest content that is shown as a whole, bytes.
    const SHOWN: usize = 60;
    let mut short = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once('{')
        && let Some((content, after)) = inside.split_once('}')
    {
        short += before;
        if content.len() < SHOWN {
            short += &format!("{{{content}}}");
        } else {
            // The rows that end within the length that is shown, or at least a part of the first.
            let mut cut = SHOWN;
            while !content.is_char_boundary(cut) {
                cut -= 1;
            }
            let shown = content[..cut].rfind(';').unwrap_or(cut);
            short += &format!("{{{};…}}", &content[..shown]);
        }
        rest = after;
    }
    short + rest
}

/// Pairs of key and value, each key once.
///
/// # Errors
/// A part without a key (the message shows `example`), or a key that is given more than once.
pub fn pairs<'t>(
    parts: impl Iterator<Item = Part<'t>>,
    example: &str,
) -> Result<Vec<(&'t str, &'t str)>, ParseError> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for Part { text, key, value } in parts {
        let key = key.ok_or_else(|| ParseError::NoKey {
            part: text.to_owned(),
            example: example.to_owned(),
        })?;
        if pairs.iter().any(|(known, _)| *known == key) {
            return Err(ParseError::Twice(key.to_owned()));
        }
        pairs.push((key, value));
    }
    Ok(pairs)
}

/// Finds `mark` in `text` outside of braces and parentheses. Unpaired parentheses are characters like any other, such as in
/// the name of a file, and so are those in braces.
fn outside(text: &str, mark: char) -> impl FnMut(char) -> bool + use<> {
    let mut nesting = Nesting::default();
    text.chars().for_each(|character| nesting.pass(character));
    let is_paired = nesting.parentheses == 0;
    let mut nesting = Nesting::default();
    move |character| {
        nesting.pass(character);
        let is_inside = nesting.braces > 0 || is_paired && nesting.parentheses > 0;
        character == mark && !is_inside
    }
}

/// Braces, and parentheses outside of them, that are open.
#[derive(Debug, Default)]
struct Nesting {
    braces: i32,
    parentheses: i32,
}

impl Nesting {
    fn pass(&mut self, character: char) {
        match character {
            '{' => self.braces += 1,
            '}' => self.braces -= 1,
            '(' if self.braces <= 0 => self.parentheses += 1,
            ')' if self.braces <= 0 => self.parentheses -= 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A name with its parts, whose values may have parts of their own.
    #[derive(Debug, Clone, PartialEq)]
    struct Term {
        name: String,
        parts: Vec<(Option<String>, Term)>,
    }

    impl Term {
        /// The text, whose parts stand in parentheses, or at the outermost level after a `:`.
        fn text(&self, begin: &str, end: &str) -> String {
            let parts = self.parts.iter().map(|(key, value)| {
                let value = value.text("(", ")");
                key.as_ref()
                    .map_or(value.clone(), |key| format!("{key}={value}"))
            });
            match parts.collect::<Vec<_>>() {
                parts if parts.is_empty() => self.name.clone(),
                parts => format!("{}{begin}{}{end}", self.name, parts.join(",")),
            }
        }

        fn read(text: &str) -> Self {
            let (name, rest) = head(text);
            let part = |part: Part<'_>| (part.key.map(str::to_owned), Self::read(part.value));
            Self {
                name: name.to_owned(),
                parts: rest.into_iter().flat_map(parts).map(part).collect(),
            }
        }
    }

    fn terms() -> impl Strategy<Value = Term> {
        let word = "[a-z0-9.-]{1,4}|\\{[a-z,;=]{0,4}\\}";
        let leaf = word.prop_map(|name| Term {
            name,
            parts: Vec::new(),
        });
        leaf.prop_recursive(3, 20, 4, |inner| {
            let key = proptest::option::of("[a-z-]{1,4}");
            let parts = prop::collection::vec((key, inner), 1..4);
            ("[a-z-]{1,5}", parts).prop_map(|(name, parts)| Term { name, parts })
        })
    }

    proptest! {
        #[test]
        fn what_is_displayed_parses_to_the_same(term in terms()) {
            prop_assert_eq!(&Term::read(&term.text("(", ")")), &term);
            prop_assert_eq!(&Term::read(&term.text(":", "")), &term);
        }

        #[test]
        fn any_text_is_its_parts(text in "[a-c:,=(){}]{0,12}") {
            let parts: Vec<&str> = parts(&text).map(|part| part.text).collect();
            prop_assert_eq!(parts.join(","), text);
        }
    }

    #[test]
    fn long_content_is_cut_at_a_row() {
        let rows = "1234567;".repeat(20);
        assert_eq!(
            brief(&format!("a(b={{{rows}}}),c={{x;y}}")),
            format!(
                "a(b={{{};…}}),c={{x;y}}",
                "1234567;".repeat(7).trim_end_matches(';')
            )
        );
        assert_eq!(brief("a{b"), "a{b");
    }

    #[test]
    fn parentheses_belong_to_the_value_before_them() {
        let part = Part::of("app=pages(objects=30,size=lognormal(median=1kB,sigma=2))");
        let (name, inside) = head(part.value);
        let inside: Vec<Part<'_>> = inside.into_iter().flat_map(parts).collect();
        assert_eq!((part.name(), name, inside.len()), ("app", "pages", 2));
        assert_eq!(
            head(inside[1].value),
            ("lognormal", Some("median=1kB,sigma=2"))
        );
        for (text, found) in [
            ("a(b", ("a(b", None)),
            ("a(b)c", ("a(b)c", None)),
            ("a:b(c)", ("a", Some("b(c)"))),
            ("a:b)", ("a", Some("b)"))),
            ("a()", ("a", Some(""))),
        ] {
            assert_eq!(head(text), found, "{text}");
        }
        assert_eq!(split("rain (1.csv,start=wet").count(), 2);
    }

    #[test]
    fn parentheses_in_braces_are_content() {
        for content in ["a)", "(a", "a)b(", "a(b)", ":-)"] {
            let table = format!("pages(size=csv({{size_bytes;1,{content} 2}}),think=1s)");
            let text = format!("app={table},start=1s");
            let parts: Vec<Part<'_>> = parts(&text).collect();
            assert_eq!(parts.len(), 2, "{content}");
            assert_eq!(parts[0].value, table);
            let inside = head(&table).1.unwrap();
            assert_eq!(split(inside).count(), 2, "{content}");
            let line = format!("{text} {text}");
            assert_eq!(split_at(&line, ' ').collect::<Vec<_>>(), [&text, &text]);
        }
    }
}
