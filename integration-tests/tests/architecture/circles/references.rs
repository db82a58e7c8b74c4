//! The paths in a file's code, and the files that define what they lead to.

use std::collections::{BTreeMap, BTreeSet};

use syn::buffer::{Cursor, TokenBuffer};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, ExprPath, Item, ItemUse, Macro, PatIdent, Path, Stmt, Token};
use syn::{ImplItem, TypePath, Visibility};

use super::graph::Graph;
use super::modules::{Id, Modules, Segments, Target, attributes, imports, is_for_tests};

/// Adds the arrows that the code of `modules` makes.
pub(super) fn collect(modules: &Modules, graph: &mut Graph) {
    for (id, module) in modules.iter() {
        let mut collector = Collector {
            modules,
            id,
            graph,
            scopes: Vec::new(),
        };
        for item in &module.items {
            collector.visit_item(item);
        }
    }
}

/// Names of one function or block that hide those of the module.
#[derive(Debug, Default)]
struct Scope {
    imports: BTreeMap<String, Segments>,
    variables: BTreeSet<String>,
}

struct Collector<'a> {
    modules: &'a Modules,
    id: Id,
    graph: &'a mut Graph,
    scopes: Vec<Scope>,
}

impl Collector<'_> {
    /// Adds an arrow for each item that `path` leads to.
    fn add(&mut self, path: &[String]) {
        let Some(first) = path.first() else { return };
        let import = self
            .scopes
            .iter()
            .rev()
            .find_map(|it| it.imports.get(first));
        let targets = match import {
            Some(import) => {
                let path: Vec<_> = import.iter().chain(&path[1..]).cloned().collect();
                self.modules.resolve(self.id, &path)
            }
            None => self.modules.resolve(self.id, path),
        };
        self.point_to(&targets);
    }

    fn point_to(&mut self, targets: &BTreeSet<Target>) {
        for target in targets {
            if let Target::Item(module, name) = target {
                let from = &self.modules.module(self.id).file;
                let to = &self.modules.module(*module).file;
                self.graph.add(from, to, name);
            }
        }
    }

    fn is_variable(&self, name: &str) -> bool {
        self.scopes
            .iter()
            .any(|scope| scope.variables.contains(name))
    }

    fn within(&mut self, scope: Scope, visit: impl FnOnce(&mut Self)) {
        self.scopes.push(scope);
        visit(self);
        self.scopes.pop();
    }

    /// Adds the paths among tokens that are no expressions: of two segments or more, or a single name of a type.
    fn add_tokens(&mut self, mut cursor: Cursor<'_>) {
        let mut path = Segments::new();
        let mut colons = 0;
        loop {
            if let Some((name, next)) = cursor.ident() {
                if colons != 2 {
                    self.add_loose(&std::mem::take(&mut path));
                }
                path.push(name.to_string());
                (cursor, colons) = (next, 0);
                continue;
            }
            if let Some((mark, next)) = cursor.punct() {
                let is_colon = mark.as_char() == ':' && !path.is_empty();
                colons = if is_colon { colons + 1 } else { 0 };
                if !is_colon {
                    self.add_loose(&std::mem::take(&mut path));
                }
                cursor = next;
                continue;
            }
            self.add_loose(&std::mem::take(&mut path));
            colons = 0;
            if let Some((inside, _, _, next)) = cursor.any_group() {
                self.add_tokens(inside);
                cursor = next;
            } else if let Some((_, next)) = cursor.literal() {
                cursor = next;
            } else {
                return;
            }
        }
    }

    fn add_loose(&mut self, path: &[String]) {
        let is_type = |name: &String| name.starts_with(char::is_uppercase);
        if path.len() > 1 || path.first().is_some_and(is_type) {
            self.add(path);
        }
    }

    /// Adds the paths that `serde` takes as text.
    fn add_strings(&mut self, mut cursor: Cursor<'_>) {
        while !cursor.eof() {
            if let Some((literal, next)) = cursor.literal() {
                let text = literal.to_string();
                if let Ok(path) = syn::parse_str::<syn::Type>(text.trim_matches('"')) {
                    self.visit_type(&path);
                }
                cursor = next;
            } else if let Some((_, next)) = cursor.token_tree() {
                cursor = next;
            }
        }
    }
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !attributes(item).iter().any(is_for_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes: &[Attribute] = match item {
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            _ => &[],
        };
        if !attributes.iter().any(is_for_tests) {
            visit::visit_impl_item(self, item);
        }
    }

    /// Passing on what a child defines is no use of it.
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        for import in imports(item) {
            let targets = self.modules.resolve(self.id, &import.path);
            let is_own = |target: &Target| match target {
                Target::Item(module, _) => self.modules.is_below(*module, self.id),
                Target::Module(_) => false,
            };
            let passes_on = !matches!(item.vis, Visibility::Inherited);
            let targets = targets
                .into_iter()
                .filter(|target| !(passes_on && is_own(target)));
            self.point_to(&targets.collect());
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        let mut variables = Variables::default();
        variables.visit_item_fn(function);
        self.within(variables.into_scope(), |this| {
            visit::visit_item_fn(this, function);
        });
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        let mut variables = Variables::default();
        variables.visit_impl_item_fn(function);
        self.within(variables.into_scope(), |this| {
            visit::visit_impl_item_fn(this, function);
        });
    }

    fn visit_block(&mut self, block: &'ast Block) {
        let mut scope = Scope::default();
        for statement in &block.stmts {
            match statement {
                Stmt::Item(Item::Use(item)) => scope.imports.extend(
                    imports(item)
                        .into_iter()
                        .filter_map(|import| Some((import.name?, import.path))),
                ),
                Stmt::Item(Item::Fn(item)) => {
                    scope.variables.insert(item.sig.ident.to_string());
                }
                _ => {}
            }
        }
        self.within(scope, |this| visit::visit_block(this, block));
    }

    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        let single = path.path.get_ident().map(ToString::to_string);
        if let Some(of) = &path.qself {
            self.visit_qself(of);
            if of.position == 0 {
                return;
            }
        } else if single.is_some_and(|name| self.is_variable(&name)) {
            return;
        }
        self.visit_path(&path.path);
    }

    fn visit_type_path(&mut self, path: &'ast TypePath) {
        if let Some(of) = &path.qself {
            self.visit_qself(of);
            if of.position == 0 {
                return;
            }
        }
        self.visit_path(&path.path);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let name = |segment: &syn::PathSegment| segment.ident.to_string();
        let segments: Segments = path.segments.iter().map(name).collect();
        if path.leading_colon.is_none() {
            self.add(&segments);
        }
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            let tokens = TokenBuffer::new2(list.tokens.clone());
            self.add_tokens(tokens.begin());
            if list.path.is_ident("serde") {
                self.add_strings(tokens.begin());
            }
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        match call.path.get_ident() {
            Some(name) => {
                let targets = self.modules.resolve_macro(self.id, &name.to_string());
                self.point_to(&targets);
            }
            None => self.visit_path(&call.path),
        }
        let expressions = Punctuated::<Expr, Token![,]>::parse_terminated;
        match expressions.parse2(call.tokens.clone()) {
            Ok(expressions) => expressions.iter().for_each(|it| self.visit_expr(it)),
            Err(_) => self.add_tokens(TokenBuffer::new2(call.tokens.clone()).begin()),
        }
    }
}

/// Collects the variables that a function's patterns bind.
#[derive(Default)]
struct Variables(BTreeSet<String>);

impl Variables {
    fn into_scope(self) -> Scope {
        Scope {
            imports: BTreeMap::new(),
            variables: self.0,
        }
    }
}

impl<'ast> Visit<'ast> for Variables {
    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        self.0.insert(pattern.ident.to_string());
        visit::visit_pat_ident(self, pattern);
    }
}
