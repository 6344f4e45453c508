//! JSON documents that hold one long array, read element by element: memory holds one element, regardless of the document's
//! length.
//!
//! This file only finds where a value ends; `serde_json` reads the values. Parsers that stream whole documents call back
//! for each element, while an importer is asked for the next slot.

use std::io::{self, BufRead};

use memchr::{memchr_iter, memchr2, memchr3, memrchr};
use serde::de::DeserializeOwned;

use super::finding::counted;
use crate::types::{Error, ErrorKind, Position, Result};

/// Longest accepted value that is held as a whole, bytes.
const LONGEST_VALUE: usize = 1 << 20;

/// Whether the first bytes of a file begin an object, or an array, of JSON.
pub(super) fn begins(first: &[u8], with: u8) -> bool {
    let first = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first);
    first.trim_ascii_start().first() == Some(&with)
}

/// Part of a document, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// A value of the outermost object beside the array, with its key: [`Elements::key`], [`Elements::value`].
    Member,
    /// An element of the array: [`Elements::value`].
    Element,
}

/// Where the reader is in the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    /// In the outermost object; whether a member precedes.
    Object(bool),
    /// In the array; whether an element precedes.
    Array(bool),
    End,
}

/// Reads a document with one long array: the document itself, or a member of the outermost object.
#[derive(Debug)]
pub(super) struct Elements<R> {
    input: R,
    /// Key of the array; `None` if the document is the array.
    array: Option<&'static str>,
    place: Place,
    has_array: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    /// Where the value begins: line and byte of the line, from 1.
    begin: (u64, u64),
    /// Where the next byte is.
    at: (u64, u64),
    /// Elements read.
    count: u64,
}

impl<R: BufRead> Elements<R> {
    /// Reads `input` from its start.
    pub(super) fn new(input: R, array: Option<&'static str>) -> Self {
        Self {
            input,
            array,
            place: Place::Start,
            has_array: false,
            key: Vec::new(),
            value: Vec::new(),
            begin: (1, 1),
            at: (1, 1),
            count: 0,
        }
    }

    /// Elements read.
    pub(super) fn elements(&self) -> u64 {
        self.count
    }

    /// The key of the member read last.
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    /// The value read last.
    ///
    /// # Errors
    /// It is no valid JSON, or no `T`; with its place in the document.
    pub(super) fn value<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.value).map_err(|error| {
            let (line, column) = (error.line() as u64, error.column() as u64);
            let column = match line {
                0 | 1 => self.begin.1 + column.saturating_sub(1),
                _ => column.max(1),
            };
            let text = error.to_string();
            let found = text.rsplit_once(" at line").map_or(&*text, |split| split.0);
            let what = match self.place {
                Place::Array(_) => format!("element {}", self.count),
                _ => format!("the value of '{}'", String::from_utf8_lossy(&self.key)),
            };
            let kind = ErrorKind::format(format!("{what}: {found}"), "a value of this format");
            self.error_at((self.begin.0 + line.max(1) - 1, column), kind)
        })
    }

    /// An error at the value read last.
    pub(super) fn error(&self, kind: ErrorKind) -> Error {
        self.error_at(self.begin, kind)
    }

    fn error_at(&self, (line, column): (u64, u64), kind: ErrorKind) -> Error {
        let row = self.count;
        Error::at(kind, Position { line, column, row })
    }

    /// Reads the next piece; `None` at the end of the document.
    ///
    /// # Errors
    /// The document is cut, is no JSON, has no such array, or a value is longer than 1 MiB.
    pub(super) fn advance(&mut self) -> Result<Option<Piece>> {
        loop {
            match self.place {
                Place::Start => self.start()?,
                Place::Object(follows) => {
                    if !self.goes_on(b'}', follows)? {
                        self.place = Place::End;
                        continue;
                    }
                    self.expect(b'"', "a key between quotes")?;
                    self.scan()?;
                    let quoted = self.value.len() - 1;
                    self.key.clear();
                    self.key.extend(&self.value[1..quoted]);
                    self.expect(b':', "':' after a key")?;
                    self.take(1, false);
                    let is_array = self.array.is_some_and(|key| key.as_bytes() == self.key);
                    if is_array && self.next_byte()? == b'[' {
                        self.take(1, false);
                        self.has_array = true;
                        self.place = Place::Array(false);
                        continue;
                    }
                    self.next_byte()?;
                    self.scan()?;
                    self.place = Place::Object(true);
                    return Ok(Some(Piece::Member));
                }
                Place::Array(follows) => {
                    if !self.goes_on(b']', follows)? {
                        self.place = self.array.map_or(Place::End, |_| Place::Object(true));
                        continue;
                    }
                    self.count += 1;
                    self.next_byte()?;
                    self.scan()?;
                    self.place = Place::Array(true);
                    return Ok(Some(Piece::Element));
                }
                Place::End => return self.end().map(|()| None),
            }
        }
    }

    /// Enters the document.
    fn start(&mut self) -> Result<()> {
        const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
        if self.chunk()?.starts_with(BYTE_ORDER_MARK) {
            self.input.consume(BYTE_ORDER_MARK.len());
        }
        if self.skip_whitespace()?.is_none() {
            return Err(Error::new(ErrorKind::EmptyTrace));
        }
        self.place = if self.array.is_some() {
            self.expect(b'{', "'{', the start of an object")?;
            Place::Object(false)
        } else {
            self.expect(b'[', "'[', the start of an array")?;
            self.has_array = true;
            Place::Array(false)
        };
        self.take(1, false);
        Ok(())
    }

    /// Passes a comma, or the bracket that closes: false.
    fn goes_on(&mut self, close: u8, follows: bool) -> Result<bool> {
        if self.next_byte()? == close {
            self.take(1, false);
            return Ok(false);
        }
        if follows {
            let expected = format!("',' or '{}'", char::from(close));
            self.expect(b',', &expected)?;
            self.take(1, false);
        }
        Ok(true)
    }

    /// Checks that nothing follows the document.
    fn end(&mut self) -> Result<()> {
        if let Some(array) = self.array.filter(|_| !self.has_array) {
            let kind = ErrorKind::format(
                format!("a document without a list '{array}'"),
                "a document of this format",
            );
            return Err(self.error_at(self.at, kind));
        }
        match self.skip_whitespace()? {
            None => Ok(()),
            Some(byte) => {
                let found = format!("{} after the end of the document", shown(byte));
                let kind = ErrorKind::format(found, "one document in a file");
                Err(self.error_at(self.at, kind))
            }
        }
    }

    /// Reads a value from its first byte, which is the next one.
    fn scan(&mut self) -> Result<()> {
        self.value.clear();
        self.begin = self.at;
        let first = self.next_byte()?;
        let mut scan = match first {
            b'{' | b'[' | b'"' => Scan::new(first),
            b'-' | b'0'..=b'9' | b'a'..=b'z' => return self.scan_scalar(),
            _ => {
                let kind = ErrorKind::format(shown(first), "a value");
                return Err(self.error_at(self.at, kind));
            }
        };
        self.take(1, true);
        loop {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                return Err(self.cut());
            }
            let length = chunk.len();
            let end = scan.end(chunk);
            self.take(end.unwrap_or(length), true);
            if self.value.len() > LONGEST_VALUE {
                let found = format!("a value of more than {LONGEST_VALUE} bytes");
                return Err(self.error(ErrorKind::format(found, "a value of this format")));
            }
            if end.is_some() {
                return Ok(());
            }
        }
    }

    /// Reads a number or a word.
    fn scan_scalar(&mut self) -> Result<()> {
        const LONGEST_SCALAR: usize = 64;
        while let Some(byte) = self.chunk()?.first().copied() {
            let is_part = byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
            if !is_part || self.value.len() > LONGEST_SCALAR {
                return Ok(());
            }
            self.take(1, true);
        }
        Err(self.cut())
    }

    /// Requires this byte next.
    fn expect(&mut self, byte: u8, expected: &str) -> Result<()> {
        let found = self.next_byte()?;
        if found == byte {
            return Ok(());
        }
        let kind = ErrorKind::format(shown(found), expected);
        Err(self.error_at(self.at, kind))
    }

    /// The next byte that is no white space.
    fn next_byte(&mut self) -> Result<u8> {
        let byte = self.skip_whitespace()?;
        byte.ok_or_else(|| self.cut())
    }

    /// The next byte that is no white space; `None` at the end of the input.
    fn skip_whitespace(&mut self) -> Result<Option<u8>> {
        loop {
            let chunk = self.chunk()?;
            let is_content = |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
            match chunk.iter().position(is_content) {
                Some(at) => {
                    let byte = chunk[at];
                    self.take(at, false);
                    return Ok(Some(byte));
                }
                None if chunk.is_empty() => return Ok(None),
                None => {
                    let length = chunk.len();
                    self.take(length, false);
                }
            }
        }
    }

    /// The bytes that were read ahead; empty at the end of the input.
    fn chunk(&mut self) -> Result<&[u8]> {
        loop {
            match self.input.fill_buf() {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.input.fill_buf()?)
    }

    /// Passes `count` bytes of the chunk; with `keep` they belong to the value.
    fn take(&mut self, count: usize, keep: bool) {
        let chunk = self.input.fill_buf().unwrap_or_default();
        let taken = &chunk[..count.min(chunk.len())];
        let lines = memchr_iter(b'\n', taken).count() as u64;
        let rest = memrchr(b'\n', taken).map(|last| taken.len() - last - 1);
        self.at = match rest {
            Some(rest) => (self.at.0 + lines, rest as u64 + 1),
            None => (self.at.0, self.at.1 + taken.len() as u64),
        };
        if keep {
            self.value.extend_from_slice(taken);
        }
        let count = taken.len();
        self.input.consume(count);
    }

    fn cut(&self) -> Error {
        let found = match self.place {
            Place::Array(_) => format!(
                "the end of the input after {} of a list",
                counted(self.count, "element")
            ),
            _ => "the end of the input in a document".to_owned(),
        };
        self.error_at(
            self.at,
            ErrorKind::format(found, "the rest of it: the file was cut"),
        )
    }
}

fn shown(byte: u8) -> String {
    format!("'{}'", byte.escape_ascii())
}

/// Finds the end of an object, an array or a string, after its first byte.
#[derive(Debug)]
struct Scan {
    /// Brackets of the value's kind; those of the other kind are balanced within, or the value is no JSON.
    open: u8,
    close: u8,
    depth: u32,
    in_string: bool,
    is_escaped: bool,
}

impl Scan {
    fn new(first: u8) -> Self {
        let is_string = first == b'"';
        Self {
            open: first,
            close: if first == b'[' { b']' } else { b'}' },
            depth: u32::from(!is_string),
            in_string: is_string,
            is_escaped: false,
        }
    }

    /// The number of bytes up to the end of the value; `None` if it is in a later chunk.
    fn end(&mut self, chunk: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < chunk.len() {
            if self.is_escaped {
                self.is_escaped = false;
                at += 1;
            } else if self.in_string {
                at += memchr2(b'"', b'\\', &chunk[at..])? + 1;
                self.is_escaped = chunk[at - 1] == b'\\';
                self.in_string = self.is_escaped;
                if !self.in_string && self.depth == 0 {
                    return Some(at);
                }
            } else {
                at += memchr3(b'"', self.open, self.close, &chunk[at..])? + 1;
                match chunk[at - 1] {
                    b'"' => self.in_string = true,
                    byte if byte == self.close => self.depth -= 1,
                    _ => self.depth += 1,
                }
                if self.depth == 0 && !self.in_string {
                    return Some(at);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// All pieces of a document that is read `size` bytes at a time, as JSON.
    fn read(text: &str, array: Option<&'static str>, size: usize) -> Result<Vec<(String, Value)>> {
        let input = BufReader::with_capacity(size, text.as_bytes());
        let mut elements = Elements::new(input, array);
        let mut pieces = Vec::new();
        while let Some(piece) = elements.advance()? {
            let key = match piece {
                Piece::Member => String::from_utf8_lossy(elements.key()).into_owned(),
                Piece::Element => "-".to_owned(),
            };
            pieces.push((key, elements.value()?));
        }
        Ok(pieces)
    }

    /// Any JSON value.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~\\\\\"{}\\[\\]\n\u{e9}]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z\"}]{0,3}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_is_found_however_the_bytes_arrive(
            before in value(),
            list in prop::collection::vec(value(), 0..6),
            after in value(),
            size in 4_usize..40,
            pretty: bool,
        ) {
            let document = json!({ "before": before, "list": list, "after": after });
            let text = if pretty {
                serde_json::to_string_pretty(&document)
            } else {
                serde_json::to_string(&document)
            }.unwrap();
            let mut expected = vec![("before".to_owned(), before)];
            expected.extend(list.iter().map(|value| ("-".to_owned(), value.clone())));
            expected.push(("after".to_owned(), after));
            prop_assert_eq!(read(&text, Some("list"), size).unwrap(), expected);
            let text = serde_json::to_string(&list).unwrap();
            let found = read(&text, None, size).unwrap();
            prop_assert_eq!(found.into_iter().map(|(_, value)| value).collect::<Vec<_>>(), list);
        }

        #[test]
        fn a_document_that_is_cut_anywhere_is_refused(
            list in prop::collection::vec(value(), 0..6),
            part in 0_usize..100,
        ) {
            let text = json!({ "list": list }).to_string();
            let mut at = text.len() * part / 100;
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            prop_assert!(read(&text[..at], Some("list"), 16).is_err());
        }
    }

    #[test]
    fn what_is_no_such_document_is_refused_where_it_is() {
        for (text, place, words) in [
            ("", None, "no row"),
            (" \n", None, "no row"),
            ("[1]", Some((1, 1)), "found '[', expected '{'"),
            ("{\"a\": 1}", Some((1, 9)), "without a list 'list'"),
            ("{\"list\": null}", Some((1, 15)), "without a list 'list'"),
            ("{\"list\": [1 2]}", Some((1, 13)), "expected ',' or ']'"),
            (
                "{\"list\": [1,\n ]}",
                Some((2, 2)),
                "found ']', expected a value",
            ),
            ("{\"list\": [\n1,\n tru]}", Some((3, 4)), "element 2: EOF"),
            ("{\"list\": [{\"a\":\n 1,]}]}", None, "element 1: "),
            (
                "{\"list\": [1]}\n{\"list\": [1]}",
                Some((2, 1)),
                "one document in a file",
            ),
            ("{\"list\": [1,\n2", Some((2, 2)), "the file was cut"),
            ("{list: []}", Some((1, 2)), "a key between quotes"),
        ] {
            let error = read(text, Some("list"), 8).unwrap_err();
            let found = error.position().map(|at| (at.line, at.column));
            assert!(error.to_string().contains(words), "{text:?}: {error}");
            assert!(
                place.is_none() || found == place,
                "{text:?}: {found:?} {error}"
            );
        }
        let long = format!("[\"{}\"]", "a".repeat(LONGEST_VALUE));
        let error = read(&long, None, 4096).unwrap_err();
        assert!(
            error.to_string().contains("more than 1048576 bytes"),
            "{error}"
        );
    }
}
