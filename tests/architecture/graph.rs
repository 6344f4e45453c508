//! The module graph of a crate, from its sources: who names whom, what stands in a circle, what points upward.
//!
//! An arrow goes from the module that holds a path to the module that the path names and to the one that defines
//! what it names, past re-exports. Test modules have no arrows.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// Where a module is, from the root of its crate, which is empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Place(Vec<String>);

impl Place {
    fn child(&self, name: &str) -> Self {
        Self(self.0.iter().cloned().chain([name.to_owned()]).collect())
    }

    /// The component of this place directly below `parent`.
    fn below(&self, parent: &Self) -> Option<&str> {
        let rest = self.0.strip_prefix(parent.0.as_slice())?;
        rest.first().map(String::as_str)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            f.write_str("(top)")
        } else {
            f.write_str(&self.0.join("::"))
        }
    }
}

/// Name that a `use` brings into a module.
#[derive(Debug)]
struct Import {
    path: Vec<String>,
    /// `*` for all, `_` for nothing that can be named.
    name: String,
}

/// Items, imports and paths in the source of a module.
#[derive(Debug, Default)]
struct Module {
    items: BTreeSet<String>,
    imports: Vec<Import>,
    paths: Vec<Vec<String>>,
}

/// Meaning of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Meaning {
    Module(Place),
    /// Something else, defined in this module.
    Item(Place),
}

/// An arrow, and the path in the source that is the reason for it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrow {
    from: Place,
    to: Place,
    path: String,
}

impl fmt::Display for Arrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} names {} (in {})", self.from, self.path, self.to)
    }
}

/// All modules of a crate that are built without tests.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    modules: BTreeMap<Place, Module>,
    arrows: BTreeSet<Arrow>,
}

impl Graph {
    /// Reads a crate; `source` gives the text of the module with this path, and of the root for an empty one.
    pub(crate) fn read(source: &dyn Fn(&[String]) -> String) -> Self {
        let mut graph = Self::default();
        graph.open(&Place::default(), source);
        graph.arrows = graph.all_arrows();
        graph
    }

    /// Modules at the top, in order of their names.
    pub(crate) fn top(&self) -> Vec<&str> {
        let top = self.modules.keys().filter(|place| place.0.len() == 1);
        top.map(|place| place.0[0].as_str()).collect()
    }

    /// Each set of siblings, at any level, that lead to each other, with the arrows between them.
    pub(crate) fn circles(&self) -> Vec<String> {
        let mut found = Vec::new();
        for parent in self.modules.keys() {
            let siblings = self.siblings(parent);
            let reach: BTreeMap<&str, BTreeSet<&str>> = siblings
                .keys()
                .map(|&(from, _)| (from, reachable(from, &siblings)))
                .collect();
            let circle = |name: &str| {
                let both = |other: &&&str| {
                    reach[name].contains(**other)
                        && reach.get(**other).is_some_and(|back| back.contains(name))
                };
                reach.keys().filter(both).copied().collect::<Vec<_>>()
            };
            let circles: BTreeSet<Vec<&str>> = reach.keys().map(|name| circle(name)).collect();
            for members in circles.into_iter().filter(|members| !members.is_empty()) {
                let mut text = format!("circle in {parent}: {}", members.join(", "));
                for (&(from, to), arrows) in &siblings {
                    if members.contains(&from) && members.contains(&to) {
                        text += &format!("\n    {from} -> {to}");
                        for arrow in arrows.iter().take(3) {
                            text += &format!("\n        {arrow}");
                        }
                    }
                }
                found.push(text);
            }
        }
        found
    }

    /// Modules at the top that the one of this name uses.
    pub(crate) fn uses(&self, name: &str) -> Vec<String> {
        let siblings = self.siblings(&Place::default());
        let of = siblings.keys().filter(|(from, _)| *from == name);
        of.map(|(_, to)| (*to).to_owned()).collect()
    }

    /// Arrows between modules at the top that do not go from a later one of `layers` to an earlier one.
    pub(crate) fn upward(&self, layers: &[String]) -> Vec<String> {
        let rank = |name: &str| layers.iter().position(|layer| layer == name);
        let mut found = Vec::new();
        for ((from, to), arrows) in self.siblings(&Place::default()) {
            if rank(to).is_none() || rank(from) <= rank(to) {
                let arrows: Vec<String> = arrows.iter().take(3).map(ToString::to_string).collect();
                found.push(format!("{from} -> {to}: {}", arrows.join("; ")));
            }
        }
        found
    }

    /// Arrows between the modules directly below `parent`.
    fn siblings(&self, parent: &Place) -> BTreeMap<(&str, &str), Vec<&Arrow>> {
        let mut siblings: BTreeMap<(&str, &str), Vec<&Arrow>> = BTreeMap::new();
        for arrow in &self.arrows {
            if let (Some(from), Some(to)) = (arrow.from.below(parent), arrow.to.below(parent))
                && from != to
            {
                siblings.entry((from, to)).or_default().push(arrow);
            }
        }
        siblings
    }

    fn open(&mut self, place: &Place, source: &dyn Fn(&[String]) -> String) {
        let tokens: TokenStream = source(&place.0)
            .parse()
            .unwrap_or_else(|error| panic!("{place}: {error}"));
        self.modules.insert(place.clone(), Module::default());
        self.scan(place, tokens, true, source);
    }

    /// Notes what `tokens` of the module say; `outer` where its items are, not inside one.
    fn scan(
        &mut self,
        place: &Place,
        tokens: TokenStream,
        outer: bool,
        source: &dyn Fn(&[String]) -> String,
    ) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            let (word, next) = (ident(&tokens, at), ident(&tokens, at + 1));
            match (&tokens[at], word.as_deref()) {
                (TokenTree::Punct(hash), _) if hash.as_char() == '#' => {
                    let inner = usize::from(is_punct(&tokens, at + 1, '!'));
                    if let Some(TokenTree::Group(attribute)) = tokens.get(at + 1 + inner) {
                        if is_for_tests(&attribute.stream()) {
                            at = if inner == 1 {
                                tokens.len()
                            } else {
                                end_of_item(&tokens, at + 2)
                            };
                            continue;
                        }
                        self.scan(place, attribute.stream(), false, source);
                        at += 2 + inner;
                        continue;
                    }
                    at += 1;
                }
                (_, Some("mod")) if next.is_some() => {
                    let child = place.child(&next.unwrap_or_default());
                    if let Some(TokenTree::Group(body)) = tokens.get(at + 2) {
                        self.modules.insert(child.clone(), Module::default());
                        self.scan(&child, body.stream(), true, source);
                    } else {
                        self.open(&child, source);
                    }
                    at += 3;
                }
                // `use<'a>` captures lifetimes.
                (_, Some("use")) if !is_punct(&tokens, at + 1, '<') => {
                    let end = (at..tokens.len())
                        .find(|&end| is_punct(&tokens, end, ';'))
                        .unwrap_or(tokens.len());
                    let mut imports = Vec::new();
                    read_use(&tokens[at + 1..end], &[], &mut imports);
                    self.module(place).imports.extend(imports);
                    at = end;
                }
                (_, Some(keyword)) => {
                    let (path, end) = read_path(&tokens, at);
                    if outer && next.is_some() && DEFINES.contains(&keyword) {
                        self.module(place).items.extend(next);
                    } else if outer && keyword == "macro_rules" {
                        self.module(place).items.extend(ident(&tokens, at + 2));
                    }
                    if path.len() > 1 {
                        self.module(place).paths.push(path);
                    }
                    at = end;
                }
                // A path from here on begins outside of this crate, or with a type.
                (TokenTree::Punct(_), _) if is_path_separator(&tokens, at) => {
                    at = read_path(&tokens, at + 2).1.max(at + 2);
                }
                (TokenTree::Group(group), _) => {
                    self.scan(place, group.stream(), false, source);
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }

    fn module(&mut self, place: &Place) -> &mut Module {
        self.modules.entry(place.clone()).or_default()
    }

    fn all_arrows(&self) -> BTreeSet<Arrow> {
        let mut arrows = BTreeSet::new();
        for (from, module) in &self.modules {
            let imports = module.imports.iter().map(|import| &import.path);
            for path in imports.chain(&module.paths) {
                let (named, defining) = self.resolve(from, path, &mut BTreeSet::new());
                let defining =
                    defining.map(|(Meaning::Module(place) | Meaning::Item(place))| place);
                for to in named.into_iter().chain(defining) {
                    let (from, path) = (from.clone(), path.join("::"));
                    arrows.insert(Arrow { from, to, path });
                }
            }
        }
        arrows
    }

    /// The deepest module that a path goes through by its modules' own names, and what the path means;
    /// neither where it leads out of the crate.
    fn resolve(
        &self,
        from: &Place,
        path: &[String],
        seen: &mut BTreeSet<(Place, String)>,
    ) -> (Option<Place>, Option<Meaning>) {
        let mut at = from.clone();
        let mut rest = path;
        let mut rooted = false;
        while let Some((first, behind)) = rest.split_first() {
            match first.as_str() {
                "crate" => at = Place::default(),
                "self" => {}
                "super" => {
                    let parent = at.0.pop();
                    assert!(
                        parent.is_some(),
                        "{from}: {} leaves the crate",
                        path.join("::")
                    );
                }
                _ => break,
            }
            rooted = true;
            rest = behind;
        }
        let mut named = rooted.then(|| at.clone());
        let mut meaning = Meaning::Module(at);
        for (step, name) in rest.iter().enumerate() {
            let Meaning::Module(module) = &meaning else {
                break;
            };
            match self.look_up(module, name, seen) {
                Some(next) => {
                    if next == Meaning::Module(module.child(name)) {
                        named = Some(module.child(name));
                    }
                    meaning = next;
                }
                None if step == 0 && !rooted => return (None, None),
                None => meaning = Meaning::Item(module.clone()),
            }
        }
        (named, Some(meaning))
    }

    fn look_up(
        &self,
        place: &Place,
        name: &str,
        seen: &mut BTreeSet<(Place, String)>,
    ) -> Option<Meaning> {
        let child = place.child(name);
        if self.modules.contains_key(&child) {
            return Some(Meaning::Module(child));
        }
        let module = &self.modules[place];
        if module.items.contains(name) {
            return Some(Meaning::Item(place.clone()));
        }
        if !seen.insert((place.clone(), name.to_owned())) {
            return None;
        }
        let imports = || module.imports.iter();
        if let Some(import) = imports().find(|import| import.name == name) {
            return self.resolve(place, &import.path, seen).1;
        }
        for import in imports().filter(|import| import.name == "*") {
            if let Some(Meaning::Module(all)) = self.resolve(place, &import.path, seen).1
                && let Some(found) = self.look_up(&all, name, seen)
            {
                return Some(found);
            }
        }
        None
    }
}

/// Words behind which a name is defined.
const DEFINES: [&str; 7] = ["fn", "struct", "enum", "trait", "type", "const", "static"];

/// Modules that arrows lead to from `from`, directly and on.
fn reachable<'a>(
    from: &'a str,
    arrows: &BTreeMap<(&'a str, &'a str), Vec<&Arrow>>,
) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(next) = open.pop() {
        for &(_, to) in arrows.keys().filter(|(from, _)| *from == next) {
            if found.insert(to) {
                open.push(to);
            }
        }
    }
    found
}

/// The names of the list in a crate's documentation, each once: "- [`a`]: …; [`b`] …", also as [`mod@a`].
pub(crate) fn layers(source: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let docs = source.lines().map_while(|line| line.strip_prefix("//!"));
    let mut listed = false;
    for line in docs.map(str::trim) {
        listed = line.starts_with("- [`") || listed && !line.is_empty();
        let pieces = line.split("[`").skip(1).filter(|_| listed);
        for name in pieces
            .filter_map(|piece| piece.split_once("`]"))
            .map(|(name, _)| name.strip_prefix("mod@").unwrap_or(name))
        {
            if !name.contains("::") && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

fn ident(tokens: &[TokenTree], at: usize) -> Option<String> {
    match tokens.get(at) {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

fn is_punct(tokens: &[TokenTree], at: usize, char: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == char)
}

fn is_path_separator(tokens: &[TokenTree], at: usize) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':' && punct.spacing() == Spacing::Joint)
        && is_punct(tokens, at + 1, ':')
}

/// Names joined by `::` from `at` on, and where the first other token is.
fn read_path(tokens: &[TokenTree], mut at: usize) -> (Vec<String>, usize) {
    let mut path = Vec::new();
    while let Some(name) = ident(tokens, at) {
        path.push(name);
        at += 1;
        if !is_path_separator(tokens, at) || ident(tokens, at + 2).is_none() {
            break;
        }
        at += 2;
    }
    (path, at)
}

/// Adds the names that `use` brings in by the tree in `tokens`, below `prefix`, to `imports`.
fn read_use(tokens: &[TokenTree], prefix: &[String], imports: &mut Vec<Import>) {
    if is_path_separator(tokens, 0) && prefix.is_empty() {
        return;
    }
    let (names, at) = read_path(tokens, 0);
    let mut path = [prefix, &names].concat();
    let tail = if is_path_separator(tokens, at) {
        at + 2
    } else {
        at
    };
    match tokens.get(tail) {
        Some(TokenTree::Group(group)) => {
            let inside: Vec<TokenTree> = group.stream().into_iter().collect();
            for tree in inside
                .split(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ','))
            {
                if !tree.is_empty() {
                    read_use(tree, &path, imports);
                }
            }
        }
        Some(TokenTree::Punct(star)) if star.as_char() == '*' => {
            imports.push(Import {
                path,
                name: "*".to_owned(),
            });
        }
        _ => {
            if !prefix.is_empty() && path.last().is_some_and(|last| last == "self") {
                path.pop();
            }
            let renamed =
                ident(tokens, tail + 1).filter(|_| ident(tokens, tail).as_deref() == Some("as"));
            let name = renamed.or_else(|| path.last().cloned()).unwrap_or_default();
            imports.push(Import { path, name });
        }
    }
}

/// Whether what follows an attribute is built for tests only.
fn is_for_tests(attribute: &TokenStream) -> bool {
    let text: String = attribute.to_string().split_whitespace().collect();
    text == "cfg(test)" || text.starts_with("cfg(all(test,")
}

/// Behind the item that begins at `at`.
fn end_of_item(tokens: &[TokenTree], at: usize) -> usize {
    let is_end = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    };
    let rest = tokens.get(at..).unwrap_or_default();
    rest.iter()
        .position(is_end)
        .map_or(tokens.len(), |end| at + end + 1)
}
