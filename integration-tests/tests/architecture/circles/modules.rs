//! A crate's modules, what each defines and imports, and the file behind a path.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Attribute, Item, ItemUse, Meta, UseTree, Visibility};

use super::Sources;

/// A path as segments. The first may be `crate`, `self` or `super`.
pub(super) type Segments = Vec<String>;

/// A module, by its place in [`Modules`].
pub(super) type Id = usize;

/// The tree of modules below one root file.
pub(super) struct Modules(Vec<Module>);

/// One module: a file or a part of it.
pub(super) struct Module {
    /// The file, as a path below `src`.
    pub(super) file: String,
    /// Items, tests left out.
    pub(super) items: Vec<Item>,
    parent: Option<Id>,
    names: BTreeMap<String, Vec<Entry>>,
    globs: Vec<Entry>,
}

/// What a name stands for.
#[derive(Clone, Debug)]
struct Entry {
    is_public: bool,
    meaning: Meaning,
}

#[derive(Clone, Debug)]
enum Meaning {
    Item,
    Module(Id),
    Import(Segments),
}

/// What a path leads to inside the crate.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Target {
    /// An item, with the module that defines it.
    Item(Id, String),
    /// A module.
    Module(Id),
}

/// Names already followed on the way to a target: imports may lead in a ring.
type Seen = BTreeSet<(Id, String)>;

/// The answer of a lookup: `None` if the name does not exist, no targets if it comes from another crate.
type Found = Option<BTreeSet<Target>>;

impl Modules {
    /// Reads the modules below the file `root`.
    pub(super) fn read(sources: &Sources, root: &str) -> Self {
        let modules = Self(Vec::new());
        let mut reader = Reader { sources, modules };
        reader.add_file(root, "", None);
        reader.modules
    }

    /// Every module with its id.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Id, &Module)> {
        self.0.iter().enumerate()
    }

    /// The module with this id.
    pub(super) fn module(&self, id: Id) -> &Module {
        &self.0[id]
    }

    /// Whether `id` is `ancestor` or lies below it.
    pub(super) fn is_below(&self, id: Id, ancestor: Id) -> bool {
        let parent = self.0[id].parent;
        id == ancestor || parent.is_some_and(|parent| self.is_below(parent, ancestor))
    }

    /// What `path`, written in module `from`, leads to. Empty if that is in another crate.
    pub(super) fn resolve(&self, from: Id, path: &[String]) -> BTreeSet<Target> {
        self.follow(from, path, &mut Seen::new())
            .unwrap_or_default()
    }

    /// What a macro called by a single name leads to: such names are also looked for in the modules around.
    pub(super) fn resolve_macro(&self, from: Id, name: &str) -> BTreeSet<Target> {
        let found = self.look_up(from, name, from, &mut Seen::new());
        match (found, self.0[from].parent) {
            (Some(targets), _) => targets,
            (None, Some(parent)) => self.resolve_macro(parent, name),
            (None, None) => BTreeSet::new(),
        }
    }

    fn declare(&mut self, id: Id, name: &str, visibility: &Visibility, meaning: Meaning) {
        let entry = Entry {
            is_public: !matches!(visibility, Visibility::Inherited),
            meaning,
        };
        let names = &mut self.0[id].names;
        names.entry(name.to_owned()).or_default().push(entry);
    }

    fn declare_item(&mut self, id: Id, item: &Item) {
        let (name, visibility) = match item {
            Item::Const(item) => (&item.ident, &item.vis),
            Item::Enum(item) => (&item.ident, &item.vis),
            Item::Fn(item) => (&item.sig.ident, &item.vis),
            Item::Static(item) => (&item.ident, &item.vis),
            Item::Struct(item) => (&item.ident, &item.vis),
            Item::Trait(item) => (&item.ident, &item.vis),
            Item::TraitAlias(item) => (&item.ident, &item.vis),
            Item::Type(item) => (&item.ident, &item.vis),
            Item::Union(item) => (&item.ident, &item.vis),
            Item::Macro(item) => match &item.ident {
                Some(name) => (name, &Visibility::Inherited),
                None => return,
            },
            Item::Use(item) => {
                for import in imports(item) {
                    let keeps_name = import.path.iter().eq(&import.name);
                    let meaning = Meaning::Import(import.path);
                    match import.name {
                        // `pub(crate) use name;` shows a macro of this module.
                        Some(name) if keeps_name => {
                            let entries = self.0[id].names.get_mut(&name).into_iter().flatten();
                            entries.for_each(|entry| entry.is_public = true);
                        }
                        Some(name) => self.declare(id, &name, &item.vis, meaning),
                        None => self.0[id].globs.push(Entry {
                            is_public: !matches!(item.vis, Visibility::Inherited),
                            meaning,
                        }),
                    }
                }
                return;
            }
            _ => return,
        };
        self.declare(id, &name.to_string(), visibility, Meaning::Item);
    }

    fn follow(&self, from: Id, path: &[String], seen: &mut Seen) -> Found {
        let (first, rest) = path.split_first()?;
        let start = match first.as_str() {
            "crate" => Some(0),
            "self" => Some(from),
            "super" => self.0[from].parent,
            name => {
                let found = self.look_up(from, name, from, seen)?;
                return self.descend(from, found, rest, seen);
            }
        }?;
        if rest.first().is_some_and(|next| next == "super") {
            return self.follow(start, rest, seen);
        }
        self.descend(from, BTreeSet::from([Target::Module(start)]), rest, seen)
    }

    /// Goes from `found` along `rest`. What a module does not show, because a macro defines it, is taken as defined in that module.
    fn descend(
        &self,
        from: Id,
        found: BTreeSet<Target>,
        rest: &[String],
        seen: &mut Seen,
    ) -> Found {
        let Some((name, rest)) = rest.split_first() else {
            return Some(found);
        };
        let module = found.iter().find_map(|target| match target {
            Target::Module(module) => Some(*module),
            Target::Item(..) => None,
        });
        match module {
            None => Some(found),
            Some(module) => match self.look_up(module, name, from, seen) {
                Some(next) => self.descend(from, next, rest, seen),
                None => Some(BTreeSet::from([Target::Item(module, name.clone())])),
            },
        }
    }

    /// What `name` stands for in `module`, as seen from the module `from`.
    fn look_up(&self, module: Id, name: &str, from: Id, seen: &mut Seen) -> Found {
        if !seen.insert((module, name.to_owned())) {
            return None;
        }
        let sees_private = self.is_below(from, module);
        let entries = self.0[module].names.get(name).into_iter().flatten();
        let entries: Vec<_> = entries
            .filter(|entry| sees_private || entry.is_public)
            .collect();
        let found = if entries.is_empty() {
            let globs = self.0[module].globs.iter();
            let globs = globs.filter(|glob| sees_private || glob.is_public);
            globs
                .filter_map(|glob| self.look_up_glob(module, glob, name, seen))
                .reduce(|mut all, more| {
                    all.extend(more);
                    all
                })
        } else {
            let meanings = entries.into_iter().map(|entry| match &entry.meaning {
                Meaning::Item => BTreeSet::from([Target::Item(module, name.to_owned())]),
                Meaning::Module(child) => BTreeSet::from([Target::Module(*child)]),
                Meaning::Import(path) => self.follow(module, path, seen).unwrap_or_default(),
            });
            Some(meanings.flatten().collect())
        };
        seen.remove(&(module, name.to_owned()));
        found
    }

    fn look_up_glob(&self, module: Id, glob: &Entry, name: &str, seen: &mut Seen) -> Found {
        let Meaning::Import(path) = &glob.meaning else {
            return None;
        };
        let targets = self.follow(module, path, seen)?;
        targets.iter().find_map(|target| match target {
            Target::Module(other) => self.look_up(*other, name, module, seen),
            Target::Item(..) => None,
        })
    }
}

/// Reads the files of a tree of modules.
struct Reader<'a> {
    sources: &'a Sources,
    modules: Modules,
}

impl Reader<'_> {
    fn add_file(&mut self, file: &str, folder: &str, parent: Option<Id>) -> Id {
        let text = &self.sources[file];
        let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
        self.add(file, folder, parent, parsed.items)
    }

    /// Adds a module with its children, which are in files of `folder` unless they are inline.
    fn add(&mut self, file: &str, folder: &str, parent: Option<Id>, items: Vec<Item>) -> Id {
        let id = self.modules.0.len();
        self.modules.0.push(Module {
            file: file.to_owned(),
            items: Vec::new(),
            parent,
            names: BTreeMap::new(),
            globs: Vec::new(),
        });
        for item in items {
            if attributes(&item).iter().any(is_for_tests) {
                continue;
            }
            if let Item::Mod(module) = item {
                let name = module.ident.to_string();
                let below = format!("{folder}{name}/");
                let child = match module.content {
                    Some((_, items)) => self.add(file, &below, Some(id), items),
                    None => {
                        let paths = [format!("{folder}{name}.rs"), format!("{below}mod.rs")];
                        let path = paths.iter().find(|path| self.sources.contains_key(*path));
                        let path = path.unwrap_or_else(|| panic!("{file}: no file of {name}"));
                        self.add_file(path, &below, Some(id))
                    }
                };
                self.modules
                    .declare(id, &name, &module.vis, Meaning::Module(child));
            } else {
                self.modules.declare_item(id, &item);
                self.modules.0[id].items.push(item);
            }
        }
        id
    }
}

/// One leaf of a `use`.
pub(super) struct Import {
    /// What is imported; the module or enum itself for a glob.
    pub(super) path: Segments,
    /// The name it gets here. `None` for a glob.
    pub(super) name: Option<String>,
}

/// The leaves of a `use`.
pub(super) fn imports(item: &ItemUse) -> Vec<Import> {
    let mut imports = Vec::new();
    if item.leading_colon.is_none() {
        leaves(&item.tree, &Segments::new(), &mut imports);
    }
    imports
}

fn leaves(tree: &UseTree, before: &[String], imports: &mut Vec<Import>) {
    let with = |name: &syn::Ident| {
        let mut path = before.to_vec();
        // `use a::{self}` imports `a`.
        if path.is_empty() || name != "self" {
            path.push(name.to_string());
        }
        path
    };
    match tree {
        UseTree::Path(tree) => leaves(&tree.tree, &with(&tree.ident), imports),
        UseTree::Name(tree) => {
            let path = with(&tree.ident);
            let name = path.last().cloned();
            imports.push(Import { path, name });
        }
        UseTree::Rename(tree) => imports.push(Import {
            path: with(&tree.ident),
            name: Some(tree.rename.to_string()),
        }),
        UseTree::Glob(_) => imports.push(Import {
            path: before.to_vec(),
            name: None,
        }),
        UseTree::Group(group) => {
            for tree in &group.items {
                leaves(tree, before, imports);
            }
        }
    }
}

/// Whether an attribute leaves the item out of every build but those of tests.
pub(super) fn is_for_tests(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else {
        return attribute.path().is_ident("test");
    };
    let condition = list.tokens.to_string();
    let words: Vec<_> = condition
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .collect();
    list.path.is_ident("cfg") && words.contains(&"test") && !words.contains(&"not")
}

/// The attributes of an item.
pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
