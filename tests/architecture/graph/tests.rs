//! The graph of small crates that are written here.

use super::*;

/// The graph of a crate that is written here: paths such as `a::b`, and their sources; `crate` is the root.
fn graph(files: &[(&str, &str)]) -> Graph {
    Graph::read(&|path| {
        let path = if path.is_empty() {
            "crate".to_owned()
        } else {
            path.join("::")
        };
        let file = files.iter().find(|(name, _)| *name == path);
        file.unwrap_or_else(|| panic!("{path} is not there"))
            .1
            .to_owned()
    })
}

fn arrows(graph: &Graph) -> Vec<String> {
    let siblings = graph.siblings(&Place::default());
    siblings
        .keys()
        .map(|(from, to)| format!("{from}->{to}"))
        .collect()
}

fn order(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_crate_in_order_has_neither_circles_nor_arrows_upward() {
    let graph = graph(&[
        ("crate", "pub mod a; mod b;"),
        ("a", "pub struct A; // crate::b::B\n"),
        (
            "b",
            "use crate::a::A; const TEXT: &str = \"crate::a\"; /* crate::c */",
        ),
    ]);
    assert_eq!(graph.top(), ["a", "b"]);
    assert_eq!(arrows(&graph), ["b->a"]);
    assert!(graph.circles().is_empty());
    assert!(graph.upward(&order(&["a", "b"])).is_empty());
}

#[test]
fn an_arrow_upward_or_to_an_unlisted_module_is_found() {
    let graph = graph(&[
        ("crate", "mod a; mod b;"),
        ("a", "fn f() -> u32 { g(|| crate::b::count()) }"),
        ("b", "pub fn count() -> u32 { 1 }"),
    ]);
    assert_eq!(
        graph.upward(&order(&["a", "b"])),
        ["a -> b: a names crate::b::count (in b)"]
    );
    assert_eq!(graph.upward(&order(&["a"])).len(), 1);
    assert!(graph.upward(&order(&["b", "a"])).is_empty());
}

#[test]
fn circles_are_found_at_every_level_and_over_several_modules() {
    let graph = graph(&[
        ("crate", "mod a;"),
        ("a", "mod x; mod y; mod z; mod rest;"),
        ("a::x", "use super::{y::{self, Y as Renamed}, rest};"),
        ("a::y", "use crate::a::z::*;"),
        (
            "a::z",
            "impl Z { fn f(&self) { match self { super::x::X::One => {} } } }",
        ),
        ("a::rest", ""),
    ]);
    let circles = graph.circles();
    assert_eq!(circles.len(), 1, "{circles:#?}");
    assert!(
        circles[0].starts_with("circle in a: x, y, z\n"),
        "{}",
        circles[0]
    );
}

#[test]
fn a_path_out_by_super_is_an_arrow_between_the_modules_it_joins() {
    let graph = graph(&[
        ("crate", "mod a; mod b;"),
        (
            "a",
            "pub mod inner { pub(in super::super) fn f() { super::super::b::g(); self::h(); } fn h() {} }",
        ),
        ("b", "pub fn g() { crate::a::inner::f() }"),
    ]);
    assert_eq!(arrows(&graph), ["a->b", "b->a"]);
    assert_eq!(graph.circles().len(), 1);
}

#[test]
#[should_panic(expected = "a: super::super::b leaves the crate")]
fn a_path_out_of_the_crate_is_refused() {
    graph(&[("crate", "mod a;"), ("a", "use super::super::b;")]);
}

#[test]
fn re_exports_lead_to_the_module_that_defines() {
    let graph = graph(&[
        (
            "crate",
            "pub mod a; pub mod b; pub mod c; pub use c::Deep as Short; pub use b::*;",
        ),
        ("a", "use crate::Short; fn f(b: crate::InB) {}"),
        ("b", "pub enum InB {}"),
        ("c", "mod deep; mod other; pub use deep::Deep;"),
        ("c::deep", "pub struct Deep; use super::other::f;"),
        ("c::other", "pub fn f(deep: &super::Deep) {}"),
    ]);
    assert_eq!(arrows(&graph), ["a->b", "a->c"]);
    let circles = graph.circles();
    assert_eq!(circles.len(), 1, "{circles:#?}");
    assert!(
        circles[0].starts_with("circle in c: deep, other"),
        "{}",
        circles[0]
    );
}

#[test]
fn a_module_named_by_its_own_name_counts_where_what_it_re_exports_is_below() {
    let graph = graph(&[
        ("crate", "mod low; mod middle; mod high;"),
        ("low", "pub struct Low;"),
        ("middle", "use crate::high::Low;"),
        ("high", "pub use crate::low::Low;"),
    ]);
    assert_eq!(graph.upward(&order(&["low", "middle", "high"])).len(), 1);
}

#[test]
fn names_brought_in_lead_on_and_those_of_other_crates_lead_nowhere() {
    let graph = graph(&[
        ("crate", "mod a; mod b; mod parquet;"),
        ("a", "use crate::b; use ::parquet::arrow; use std::fmt::{self, Write as _};
               fn f() -> impl Fn() + use<'_> { fmt::x(); ::parquet::y(); b::inner::g(); Vec::<u8>::new(); }"),
        ("b", "pub mod inner; use crate::a as again; fn f() { again::f() }"),
        ("b::inner", "pub fn g() {}"),
        ("parquet", "use ::parquet::z;"),
    ]);
    assert_eq!(arrows(&graph), ["a->b", "b->a"]);
    assert!(
        graph
            .arrows
            .iter()
            .any(|arrow| arrow.to.to_string() == "b::inner")
    );
}

#[test]
fn tests_have_no_arrows() {
    let graph = graph(&[
        (
            "crate",
            "#![cfg_attr(test, allow(x))] mod a; mod b; #[cfg(test)] #[allow(y)] mod corners;",
        ),
        (
            "a",
            "#[cfg(test)] use crate::b::B; #[cfg(test)] mod tests { use crate::b::C; } #[cfg(test)] fn f() {}",
        ),
        (
            "b",
            "#[derive(Debug)] #[arg(with = crate::a::parse)] pub struct B;",
        ),
    ]);
    assert_eq!(arrows(&graph), ["b->a"]);
    assert_eq!(graph.top(), ["a", "b"]);
}

#[test]
fn layers_are_read_off_the_documentation() {
    let source = "//! Title, see [`z`].\n//!\n//! - [`a`]: first; see [`x::y`].\n//! - [`b`]: more\n//!   of [`a`]; [`c`] too.\n//!\n//! [`d`]\nuse [`e`]";
    assert_eq!(layers(source), ["a", "b", "c"]);
}
