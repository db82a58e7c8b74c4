//! The analyser on small crates.

use super::{Sources, graph};

fn sources(files: &[(&str, &str)]) -> Sources {
    let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
    files.iter().map(owned).collect()
}

/// The arrows of a crate with these files.
#[track_caller]
fn check_arrows(files: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(graph(&sources(files), &["lib.rs"]).arrows(), expected);
}

/// The circles of a crate with these files.
#[track_caller]
fn check_circles(files: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(graph(&sources(files), &["lib.rs"]).circles(), expected);
}

#[test]
fn two_files_that_use_each_other_are_a_circle() {
    check_circles(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "pub struct B; fn f(a: &crate::a::A) {}"),
        ],
        &["a.rs\n    -> b.rs (B)\n    -> a.rs (A)"],
    );
}

#[test]
fn three_files_in_a_ring_are_a_circle() {
    check_circles(
        &[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "pub fn a() { super::b::b() }"),
            ("b.rs", "use super::c; pub fn b() { c::c() }"),
            ("c.rs", "use crate::a::*; pub fn c() { a() }"),
        ],
        &["a.rs\n    -> b.rs (b)\n    -> c.rs (c)\n    -> a.rs (a)"],
    );
}

#[test]
fn each_arrow_that_closes_a_circle_is_reported_once() {
    check_circles(
        &[
            ("lib.rs", "mod a; mod b; mod c;"),
            (
                "a.rs",
                "pub struct A; fn f(_: crate::b::B, _: crate::c::C) {}",
            ),
            ("b.rs", "pub struct B; fn f(_: crate::a::A) {}"),
            ("c.rs", "pub struct C; fn f(_: crate::a::A) {}"),
        ],
        &[
            "a.rs\n    -> b.rs (B)\n    -> a.rs (A)",
            "a.rs\n    -> c.rs (C)\n    -> a.rs (A)",
        ],
    );
}

#[test]
fn files_that_use_each_other_one_way_are_no_circle() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::{b::B, c::C}; pub struct A(B, C);"),
        ("b.rs", "pub struct B(super::c::C);"),
        ("c.rs", "pub struct C;"),
    ];
    check_circles(&files, &[]);
    check_arrows(
        &files,
        &["a.rs -> b.rs (B)", "a.rs -> c.rs (C)", "b.rs -> c.rs (C)"],
    );
}

#[test]
fn a_parent_whose_code_uses_its_child_is_in_a_circle_with_it() {
    check_circles(
        &[
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b; pub struct A; pub fn f() { b::g(&A) }"),
            ("a/b.rs", "use super::A; pub fn g(_: &A) {}"),
        ],
        &["a.rs\n    -> a/b.rs (g)\n    -> a.rs (A)"],
    );
}

#[test]
fn a_parent_that_passes_on_its_children_points_to_none() {
    check_arrows(
        &[
            ("lib.rs", "mod a; pub use a::{B, C as D};"),
            (
                "a.rs",
                "mod b; mod c; pub use b::B; pub(crate) use c::*; pub struct A;",
            ),
            ("a/b.rs", "pub struct B(super::A);"),
            ("a/c.rs", "pub struct C(super::B, crate::D);"),
        ],
        &["a/b.rs -> a.rs (A)", "a/c.rs -> a/b.rs (B)"],
    );
}

#[test]
fn a_parent_that_uses_what_it_passes_on_points_to_it() {
    check_arrows(
        &[
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b; pub use b::B; pub fn f(_: B) {}"),
            ("a/b.rs", "pub struct B;"),
        ],
        &["a.rs -> a/b.rs (B)"],
    );
}

#[test]
fn passing_on_what_is_no_child_is_a_use() {
    check_arrows(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub use crate::b::B;"),
            ("b.rs", "pub struct B;"),
        ],
        &["a.rs -> b.rs (B)"],
    );
}

#[test]
fn re_exports_lead_to_the_file_that_defines_the_item() {
    check_arrows(
        &[
            ("lib.rs", "mod a; mod b; mod c; pub use a::*;"),
            ("a.rs", "pub use self::deep::Item; pub mod deep;"),
            ("a/deep.rs", "pub struct Item; pub enum Choice { Yes }"),
            ("b.rs", "use crate::Item; fn f() -> Item { Item }"),
            (
                "c.rs",
                "fn f() { match x { crate::a::deep::Choice::Yes => {} } }",
            ),
        ],
        &["b.rs -> a/deep.rs (Item)", "c.rs -> a/deep.rs (Choice)"],
    );
}

#[test]
fn code_of_tests_does_not_count() {
    check_arrows(
        &[
            ("lib.rs", "mod a; mod b;"),
            (
                "a.rs",
                "pub struct A; #[cfg(test)] use crate::b::B; #[test] fn t() { crate::b::f() }
                #[cfg(test)] mod tests { use crate::b::B; }
                impl A { #[cfg(test)] fn b(&self) -> crate::b::B { crate::b::B } }
                #[cfg(all(test, unix))] mod more;",
            ),
            ("a/more.rs", "use crate::b::B;"),
            ("b.rs", "pub struct B; pub fn f() {}"),
        ],
        &[],
    );
}

#[test]
fn code_of_features_counts() {
    check_arrows(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "#[cfg(feature = \"testing\")] use crate::b::B;"),
            ("b.rs", "pub struct B;"),
        ],
        &["a.rs -> b.rs (B)"],
    );
}

#[test]
fn inline_modules_belong_to_their_file() {
    check_arrows(
        &[
            (
                "lib.rs",
                "mod a { pub mod c; pub struct A; fn f(_: super::b::B) {} } mod b;",
            ),
            (
                "a/c.rs",
                "use super::super::b::inner::D; struct C(super::A, D);",
            ),
            (
                "b.rs",
                "pub struct B; pub mod inner { pub struct D; fn f(_: super::B) {} }",
            ),
        ],
        &[
            "a/c.rs -> b.rs (D)",
            "a/c.rs -> lib.rs (A)",
            "lib.rs -> b.rs (B)",
        ],
    );
}

#[test]
fn names_in_macros_and_attributes_count() {
    check_arrows(
        &[
            ("lib.rs", "mod a; mod b;"),
            (
                "a.rs",
                "#[derive(Serialize)] struct A { #[serde(with = \"crate::b::text\")] a: u32,
                 #[arg(value_parser = super::b::parse)] b: u32 }
                 fn f() { assert!(g(crate::b::LIMIT, 1)); matches!(x, Some(y) if y == crate::b::OTHER) ; super::b::made!(A) }",
            ),
            (
                "b.rs",
                "pub mod text; pub fn parse() {} pub const LIMIT: u32 = 1; pub const OTHER: u32 = 2;
                 macro_rules! made { ($name:ident) => { $crate::b::text::f() } } pub(crate) use made;",
            ),
            ("b/text.rs", "pub fn f() {}"),
        ],
        &["a.rs -> b.rs (LIMIT, OTHER, made, parse)", "b.rs -> b/text.rs (f)"],
    );
}

#[test]
fn items_that_a_macro_defines_belong_to_the_file_of_its_call() {
    check_arrows(
        &[
            ("lib.rs", "mod ids; mod a; pub use ids::Name;"),
            ("ids.rs", "index! { /// A name.\n Name }"),
            ("a.rs", "use crate::Name; fn f(_: Name) {}"),
        ],
        &["a.rs -> ids.rs (Name)"],
    );
}

#[test]
fn variables_and_other_crates_are_no_uses() {
    check_arrows(
        &[
            (
                "lib.rs",
                "mod a; pub use a::{count, fmt}; fn f(count: u32) -> u32 { count + 1 }",
            ),
            ("a.rs", "pub use std::fmt; pub fn count() {}"),
            ("b.rs", "never read"),
        ],
        &[],
    );
}

#[test]
fn imports_of_a_block_hold_inside_it() {
    check_arrows(
        &[
            ("lib.rs", "mod a; mod b;"),
            (
                "a.rs",
                "fn f() { use crate::b as other; other::g() } fn h() { other::g() }",
            ),
            ("b.rs", "pub fn g() {}"),
        ],
        &["a.rs -> b.rs (g)"],
    );
}
