//! Pictures: those that commands draw, and those that ship.

use std::fs;
use std::path::{Path, PathBuf};

use roxmltree::{Document, Node};

use crate::invocation::root;

/// The child of the root that says something, by name.
fn text<'a>(document: &'a Document<'_>, name: &str) -> &'a str {
    let mut children = document.root_element().children();
    let found = children.find(|child| child.has_tag_name(("http://www.w3.org/2000/svg", name)));
    found.and_then(|node| node.text()).unwrap_or("").trim()
}

/// Part of linear light that `#rrggbb` reflects.
fn luminance(colour: &str) -> f64 {
    let part = |from: usize| {
        let part = u8::from_str_radix(&colour[from..from + 2], 16).unwrap();
        let share = f64::from(part) / 255.0;
        if share <= 0.04045 {
            share / 12.92
        } else {
            ((share + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
}

/// The contrast as the Web Content Accessibility Guidelines define it.
fn contrast(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// Checks that an element covers less than the whole picture.
fn check_is_no_page(svg: &str, root: Node<'_, '_>, node: Node<'_, '_>) {
    let is_all = |side| {
        let own = node.attribute(side);
        own == Some("100%") || own.is_some() && own == root.attribute(side)
    };
    let is_page = node.has_tag_name(("http://www.w3.org/2000/svg", "rect"));
    assert!(
        !(is_page && is_all("width") && is_all("height")),
        "a page: {svg}"
    );
}

/// Checks what holds for every picture: it is XML, says what it shows, and has no page of its own.
#[track_caller]
pub(crate) fn check_head(svg: &str) {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"), "{svg}");
    assert!(!text(&document, "title").is_empty(), "{svg}");
    assert!(20 < text(&document, "desc").len(), "{svg}");
    for node in document.descendants() {
        check_is_no_page(svg, root, node);
    }
}

/// Checks a chart: in addition to what holds for every picture, all that is drawn is read on white and dark pages.
#[track_caller]
pub(crate) fn check_svg(svg: &str) {
    check_head(svg);
    let document = Document::parse(svg).unwrap();
    let mut colours = 0;
    for node in document.descendants() {
        // Lines behind the data are faint on purpose.
        let opacity = node.attribute("opacity").unwrap_or("1");
        if opacity.parse::<f64>().unwrap() < 0.5 {
            continue;
        }
        for name in ["fill", "stroke"] {
            let Some(colour) = node.attribute(name).filter(|colour| *colour != "none") else {
                continue;
            };
            colours += 1;
            let least = |page: &str| match (node.tag_name().name(), page) {
                ("text", "#ffffff") => 4.5,
                _ => 3.0,
            };
            for page in ["#ffffff", "#0d1117"] {
                let contrast = contrast(colour, page);
                assert!(
                    least(page) <= contrast,
                    "{colour} on {page}: {contrast}, {node:?}"
                );
            }
        }
    }
    assert!(0 < colours, "{svg}");
    // Where a program knows that its page is dark, texts are lighter.
    let (_, rule) = svg.split_once("(prefers-color-scheme: dark)").unwrap();
    let (_, colour) = rule.split_once("fill: ").unwrap();
    assert!(4.5 <= contrast(&colour[..7], "#0d1117"), "{colour}");
}

/// The pictures within a page.
#[track_caller]
pub(crate) fn check_page(page: &str) {
    let mut rest = page;
    let mut count = 0;
    while let Some(start) = rest.find("<svg") {
        let end = start + rest[start..].find("</svg>").unwrap() + "</svg>".len();
        check_svg(&rest[start..end]);
        rest = &rest[end..];
        count += 1;
    }
    assert!(0 < count, "no picture");
    check_contents(page);
    assert!(page.contains("color-scheme: light dark"), "{page}");
}

/// Checks that the table of contents leads to every section, and to nothing else.
#[track_caller]
pub(crate) fn check_contents(page: &str) {
    let (_, after) = page.split_once("<nav").unwrap();
    let (contents, sections) = after.split_once("</nav>").unwrap();
    let after = |text: &str, mark: &str| -> Vec<String> {
        let found = text.split(mark).skip(1);
        found
            .map(|rest| rest.split('"').next().unwrap().to_owned())
            .collect()
    };
    let links = after(contents, "href=\"#");
    assert!(!links.is_empty(), "{contents}");
    assert_eq!(links, after(sections, "<h2 id=\""));
    assert_eq!(links.len(), sections.matches("<h2").count());
}

#[test]
fn pictures_that_ship_say_what_they_show_and_are_read_on_dark_pages() {
    let mut pictures = Vec::new();
    collect_pictures(&root(), &mut pictures);
    assert!(
        pictures
            .iter()
            .any(|file| file.ends_with("docs/migbsp.svg"))
    );
    for file in pictures {
        let svg = fs::read_to_string(&file).unwrap();
        check_head(&svg);
        assert!(svg.contains("(prefers-color-scheme: dark)"), "{file:?}");
    }
}

/// The pictures below `folder`, without those in folders of programs.
fn collect_pictures(folder: &Path, pictures: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            collect_pictures(&path, pictures);
        } else if path.extension().is_some_and(|extension| extension == "svg") {
            pictures.push(path);
        }
    }
}
