//! Menace's own reading of the rules that Bandit numbers, and of a few that it has no number for.
//!
//! Each rule, or small family of rules, is a file: what it looks for, when, and how it ranks the
//! finding. This file only decides which rules a node concerns. Bandit's habits are kept even where
//! they are odd (imports are known from the moment they are read, whatever the scope), because the
//! number of a rule promises its meaning.

mod archives;
mod assert_exec;
mod bidi;
mod call;
mod chmod;
mod denied_calls;
mod denied_imports;
mod django_sql;
mod flask;
mod handlers;
mod hashes;
mod hit;
mod http;
mod imports;
mod keys;
mod literal;
mod logging;
mod mark_safe;
mod models;
mod own;
mod passwords;
mod remote_shell;
mod shell;
mod snmp;
mod sql;
mod templates;
mod text;
mod tls;
mod yaml;

use ruff_python_ast::{Expr, ExprCall, ExprStringLiteral, Stmt};
use ruff_text_size::Ranged;

use self::call::Call;
pub(super) use self::hit::Hit;
use self::hit::Sink;
use self::imports::Imports;
use super::walk::Node;

/// The state of the checks while one module is walked.
#[derive(Debug)]
pub(super) struct Security<'a> {
    bandit_class: bool,
    own: bool,
    module: &'a [Stmt],
    imports: Imports<'a>,
    sink: Sink,
    /// Kept between calls to spare allocations for each.
    qualified: String,
    parts: Vec<&'a str>,
}

impl<'a> Security<'a> {
    pub(super) fn new(module: &'a [Stmt], bandit_class: bool, own: bool) -> Self {
        Self {
            bandit_class,
            own,
            module,
            imports: Imports::default(),
            sink: Sink::default(),
            qualified: String::new(),
            parts: Vec::new(),
        }
    }

    pub(super) fn enter(&mut self, node: Node<'a>, above: &[Node<'a>]) {
        match node {
            Node::Stmt(stmt) => self.statement(stmt),
            Node::Expr(Expr::Call(call)) => self.call(call, above),
            Node::Expr(Expr::StringLiteral(string)) if self.bandit_class => {
                self.string(string, above);
            }
            Node::Expr(Expr::Dict(dict)) if self.bandit_class => {
                passwords::dict(dict, &mut self.sink);
            }
            Node::Expr(Expr::FString(string)) if self.bandit_class => {
                text::f_string(string, above, &mut self.sink);
            }
            Node::Handler(handler) if self.bandit_class => {
                handlers::check(handler, &mut self.sink);
            }
            _ => {}
        }
    }

    pub(super) fn finish(mut self, source: &str) -> Vec<Hit> {
        if self.bandit_class {
            bidi::check(source, &mut self.sink);
        }
        self.sink.into_hits()
    }

    fn statement(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                self.imports.add(import);
                if self.bandit_class {
                    denied_imports::import(import, &mut self.sink);
                }
                if self.own {
                    own::import(import, &mut self.sink);
                }
            }
            Stmt::ImportFrom(import) => {
                self.imports.add_from(import);
                if self.bandit_class {
                    denied_imports::import_from(import, &mut self.sink);
                }
                if self.own {
                    own::import_from(import, &mut self.sink);
                }
            }
            Stmt::Assert(assert) if self.bandit_class => assert_exec::check(assert, &mut self.sink),
            // Bandit does not look at the defaults of an `async def`.
            Stmt::FunctionDef(def) if self.bandit_class && !def.is_async => {
                passwords::defaults(def, &mut self.sink);
                tls::defaults(def, &mut self.sink);
            }
            _ => {}
        }
    }

    fn string(&mut self, string: &'a ExprStringLiteral, above: &[Node<'a>]) {
        let Some(parent) = above.last() else { return };
        // A string that stands alone is documentation.
        if matches!(parent, Node::Stmt(Stmt::Expr(_))) {
            return;
        }
        let value = string.value.to_str();
        let context = parent.range();
        text::check(value, string.start(), context, &mut self.sink);
        passwords::string(string, value, above, &mut self.sink);
        sql::string(string, value, above, &mut self.sink);
    }

    fn call(&mut self, node: &'a ExprCall, above: &[Node<'a>]) {
        let mut qualified = std::mem::take(&mut self.qualified);
        self.imports.qualify(&node.func, &mut self.parts, &mut qualified);
        let call = Call::new(node, &qualified);
        if self.bandit_class {
            self.bandit_call(&call, above);
        }
        if self.own {
            own::call(&call, &mut self.sink);
        }
        self.qualified = qualified;
    }

    fn bandit_call(&mut self, call: &Call<'a, '_>, above: &[Node<'a>]) {
        let (imports, sink) = (&self.imports, &mut self.sink);
        denied_calls::check(call, sink);
        if call.has_keywords() {
            passwords::arguments(call, sink);
            tls::version(call, sink);
        }
        shell::check(call, sink);
        match call.root() {
            "requests" | "httpx" => http::check(call, sink),
            "cryptography" | "Crypto" | "Cryptodome" => keys::check(call, sink),
            "pysnmp" => snmp::check(call, sink),
            "torch" => models::torch(call, imports, sink),
            _ => {}
        }
        match call.name {
            "exec" => assert_exec::exec(call, sink),
            "wrap_socket" => tls::no_version(call, sink),
            "md4" | "md5" | "sha" | "sha1" | "new" | "crypt" | "mksalt" => {
                hashes::check(call, sink);
            }
            "run" => flask::check(call, imports, sink),
            "load" => yaml::check(call, imports, sink),
            "listen" => logging::check(call, sink),
            "exec_command" | "set_missing_host_key_policy" => {
                remote_shell::check(call, imports, sink);
            }
            "extra" | "RawSQL" => django_sql::check(call, imports, sink),
            "mark_safe" | "SafeText" | "SafeUnicode" | "SafeString" | "SafeBytes" => {
                mark_safe::check(call, self.module, above, imports, sink);
            }
            "Environment" | "Template" | "Markup" => templates::check(call, sink),
            "from_pretrained" | "load_dataset" | "hf_hub_download" | "snapshot_download"
            | "repository_id" => models::hugging_face(call, imports, sink),
            _ if call.name_contains(b"chmod") => chmod::check(call, sink),
            _ if call.name_contains(b"extractall") => archives::check(call, imports, sink),
            _ => {}
        }
    }
}
