//! Menace's implementation of Bandit's rules, and a few rules of its own.
//!
//! Each rule, or small family of rules, is a file: what it reports, when, and with which rank. This
//! file only decides which rules a node concerns. Bandit's behaviour is kept even where it is odd
//! (imports are known from the line on which they are, whatever the scope), so that a rule's id
//! means the same.

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
mod http;
mod imports;
mod key_sizes;
mod literal;
mod logging;
mod mark_safe;
mod menace_rules;
mod models;
mod passwords;
mod remote_shell;
mod rule_match;
mod shell;
mod snmp;
mod sql;
mod string_constants;
mod templates;
mod tls;
mod yaml;

use ruff_python_ast::{Expr, ExprCall, ExprStringLiteral, Stmt};
use ruff_text_size::Ranged;

use self::call::CheckedCall;
use self::imports::ImportTable;
use self::rule_match::FindingSink;
pub(super) use self::rule_match::RuleMatch;
use super::walk::SyntaxNode;

/// The state of the checks while one module is walked.
#[derive(Debug)]
pub(super) struct SecurityChecker<'a> {
    bandit_rules: bool,
    menace_rules: bool,
    module: &'a [Stmt],
    imports: ImportTable<'a>,
    sink: FindingSink,
    /// Buffers that are reused, to save allocations for each call.
    qualified: String,
    parts: Vec<&'a str>,
}

impl<'a> SecurityChecker<'a> {
    pub(super) fn new(module: &'a [Stmt], bandit_rules: bool, menace_rules: bool) -> Self {
        Self {
            bandit_rules,
            menace_rules,
            module,
            imports: ImportTable::default(),
            sink: FindingSink::default(),
            qualified: String::new(),
            parts: Vec::new(),
        }
    }

    pub(super) fn enter_node(&mut self, node: SyntaxNode<'a>, above: &[SyntaxNode<'a>]) {
        match node {
            SyntaxNode::Stmt(stmt) => self.check_statement(stmt),
            SyntaxNode::Expr(Expr::Call(call)) => self.check_call(call, above),
            SyntaxNode::Expr(Expr::StringLiteral(string)) if self.bandit_rules => {
                self.check_string(string, above);
            }
            SyntaxNode::Expr(Expr::Dict(dict)) if self.bandit_rules => {
                passwords::check_dict(dict, &mut self.sink);
            }
            SyntaxNode::Expr(Expr::FString(string)) if self.bandit_rules => {
                string_constants::check_f_string(string, above, &mut self.sink);
            }
            SyntaxNode::Handler(handler) if self.bandit_rules => {
                handlers::check(handler, &mut self.sink);
            }
            _ => {}
        }
    }

    pub(super) fn finish(mut self, source: &str) -> Vec<RuleMatch> {
        if self.bandit_rules {
            bidi::check(source, &mut self.sink);
        }
        self.sink.into_matches()
    }

    fn check_statement(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                self.imports.add(import);
                if self.bandit_rules {
                    denied_imports::check_import(import, &mut self.sink);
                }
                if self.menace_rules {
                    menace_rules::check_import(import, &mut self.sink);
                }
            }
            Stmt::ImportFrom(import) => {
                self.imports.add_from(import);
                if self.bandit_rules {
                    denied_imports::check_import_from(import, &mut self.sink);
                }
                if self.menace_rules {
                    menace_rules::check_import_from(import, &mut self.sink);
                }
            }
            Stmt::Assert(assert) if self.bandit_rules => {
                assert_exec::check_assert(assert, &mut self.sink);
            }
            // Bandit does not check the defaults of an `async def`.
            Stmt::FunctionDef(def) if self.bandit_rules && !def.is_async => {
                passwords::check_defaults(def, &mut self.sink);
                tls::check_defaults(def, &mut self.sink);
            }
            _ => {}
        }
    }

    fn check_string(&mut self, string: &'a ExprStringLiteral, above: &[SyntaxNode<'a>]) {
        let Some(parent) = above.last() else { return };
        // A string that stands alone is documentation.
        if matches!(parent, SyntaxNode::Stmt(Stmt::Expr(_))) {
            return;
        }
        let value = string.value.to_str();
        let context = parent.range();
        string_constants::check(value, string.start(), context, &mut self.sink);
        passwords::check_string(string, value, above, &mut self.sink);
        sql::check_string(string, value, above, &mut self.sink);
    }

    fn check_call(&mut self, node: &'a ExprCall, above: &[SyntaxNode<'a>]) {
        let mut qualified = std::mem::take(&mut self.qualified);
        self.imports.qualify(&node.func, &mut self.parts, &mut qualified);
        let call = CheckedCall::new(node, &qualified);
        if self.bandit_rules {
            self.check_bandit_call(&call, above);
        }
        if self.menace_rules {
            menace_rules::check_call(&call, &mut self.sink);
        }
        self.qualified = qualified;
    }

    fn check_bandit_call(&mut self, call: &CheckedCall<'a, '_>, above: &[SyntaxNode<'a>]) {
        let (imports, sink) = (&self.imports, &mut self.sink);
        denied_calls::check(call, sink);
        if call.has_keywords() {
            passwords::check_arguments(call, sink);
            tls::check_version(call, sink);
        }
        shell::check(call, sink);
        match call.root_name() {
            "requests" | "httpx" => http::check(call, sink),
            "cryptography" | "Crypto" | "Cryptodome" => key_sizes::check(call, sink),
            "pysnmp" => snmp::check(call, sink),
            "torch" => models::check_torch_load(call, imports, sink),
            _ => {}
        }
        match call.name {
            "exec" => assert_exec::check_exec(call, sink),
            "wrap_socket" => tls::check_missing_version(call, sink),
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
            | "repository_id" => models::check_hub_download(call, imports, sink),
            _ if call.name_contains(b"chmod") => chmod::check(call, sink),
            _ if call.name_contains(b"extractall") => archives::check(call, imports, sink),
            _ => {}
        }
    }
}
