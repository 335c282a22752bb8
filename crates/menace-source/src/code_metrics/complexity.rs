//! Cyclomatic complexity of every function and class, as radon's visitor counts it.
//!
//! [`super::walk`] decides which nodes are visited, and what each adds; this file sums that up for
//! functions, classes and the module. Invariant: [`ModuleComplexity::blocks`] is sorted by offset,
//! so a lookup is a binary search.

use ruff_text_size::TextSize;

/// The kind of a block, which determines how it counts for the enclosing block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComplexityBlockKind {
    /// A function of the module.
    Function,
    /// A function directly inside a class.
    Method,
    /// A function directly inside another one.
    Closure,
    Class,
}

/// The complexity of one function or class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComplexityBlock {
    pub kind: ComplexityBlockKind,
    /// Position of `def`, `async` or `class`, after any decorators.
    pub offset: TextSize,
    /// For a class the average of its methods, plus one if it has several.
    pub complexity: u32,
    /// For a class the sum of its body and methods; for a function equal to `complexity`.
    pub real_complexity: u32,
}

/// The complexity of a module and of every block in it.
///
/// radon leaves out classes inside functions, and with them their methods. They are listed
/// here too, measured by the same rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleComplexity {
    blocks: Vec<ComplexityBlock>,
    module: u32,
    top_level: u32,
}

impl ModuleComplexity {
    /// All blocks, in the order of the source.
    pub fn blocks(&self) -> &[ComplexityBlock] {
        &self.blocks
    }

    /// The block whose `def`, `async` or `class` stands at `offset`.
    pub fn block_at(&self, offset: TextSize) -> Option<&ComplexityBlock> {
        let index = self.blocks.binary_search_by_key(&offset, |block| block.offset).ok()?;
        Some(&self.blocks[index])
    }

    /// The block whose name is at `offset`: the last one that starts before it.
    pub fn block_named_at(&self, offset: TextSize) -> Option<&ComplexityBlock> {
        let after = self.blocks.partition_point(|block| block.offset < offset);
        self.blocks[..after].last()
    }

    /// The decisions of the code that an import runs outside of functions and classes, plus one.
    pub fn top_level_complexity(&self) -> u32 {
        self.top_level
    }

    /// The decisions of the whole module, plus one; closures and inner classes not included.
    pub fn module_complexity(&self) -> u32 {
        self.module
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ComplexityScopeKind {
    Module,
    Class,
    Function,
}

/// The innermost block around the node being visited.
#[derive(Debug)]
pub(super) struct ComplexityScope {
    kind: ComplexityScopeKind,
    /// Index into the blocks; meaningless for the module.
    block: usize,
    /// One, plus the decisions outside of inner blocks.
    own_complexity: u32,
    /// The complexity that inner blocks add to this one.
    inner_complexity: u32,
    /// Functions whose innermost block this is.
    functions: u32,
}

impl ComplexityScope {
    const fn new(kind: ComplexityScopeKind, block: usize) -> Self {
        Self { kind, block, own_complexity: 1, inner_complexity: 0, functions: 0 }
    }
}

/// Adds up decisions while the tree is walked.
#[derive(Debug)]
pub(super) struct ComplexityTally {
    blocks: Vec<ComplexityBlock>,
    scope: ComplexityScope,
}

impl ComplexityTally {
    pub(super) fn new() -> Self {
        Self { blocks: Vec::new(), scope: ComplexityScope::new(ComplexityScopeKind::Module, 0) }
    }

    /// Adds `decisions` to the innermost block.
    pub(super) fn add_decisions(&mut self, decisions: usize) {
        self.scope.own_complexity += decisions as u32;
    }

    /// The count of the innermost block, to be restored by [`ComplexityTally::rewind`].
    pub(super) fn mark(&self) -> u32 {
        self.scope.own_complexity
    }

    /// Removes the decisions since `mark`: radon does not visit some parts of the tree.
    pub(super) fn rewind(&mut self, mark: u32) {
        self.scope.own_complexity = mark;
    }

    #[must_use = "the outer scope has to be handed back on leaving"]
    pub(super) fn enter_function(&mut self, offset: TextSize) -> ComplexityScope {
        let kind = match self.scope.kind {
            ComplexityScopeKind::Module => ComplexityBlockKind::Function,
            ComplexityScopeKind::Class => ComplexityBlockKind::Method,
            ComplexityScopeKind::Function => ComplexityBlockKind::Closure,
        };
        self.enter(ComplexityScopeKind::Function, kind, offset)
    }

    #[must_use = "the outer scope has to be handed back on leaving"]
    pub(super) fn enter_class(&mut self, offset: TextSize) -> ComplexityScope {
        self.enter(ComplexityScopeKind::Class, ComplexityBlockKind::Class, offset)
    }

    fn enter(
        &mut self,
        scope: ComplexityScopeKind,
        kind: ComplexityBlockKind,
        offset: TextSize,
    ) -> ComplexityScope {
        let scope = ComplexityScope::new(scope, self.blocks.len());
        // The numbers are filled in on leaving; pushing now keeps the order of the source.
        self.blocks.push(ComplexityBlock { kind, offset, complexity: 0, real_complexity: 0 });
        std::mem::replace(&mut self.scope, scope)
    }

    pub(super) fn leave(&mut self, outer: ComplexityScope) {
        let finished = std::mem::replace(&mut self.scope, outer);
        let real = finished.own_complexity + finished.inner_complexity;
        let block = &mut self.blocks[finished.block];
        block.real_complexity = real;
        block.complexity = match finished.functions {
            0 => real,
            functions => real / functions + u32::from(functions > 1),
        };

        let enclosing = &mut self.scope;
        match (enclosing.kind, finished.kind) {
            (ComplexityScopeKind::Module, _) => enclosing.inner_complexity += real - 1,
            (ComplexityScopeKind::Class, ComplexityScopeKind::Function) => {
                enclosing.inner_complexity += real;
                enclosing.functions += 1;
            }
            // Closures are measured on their own, inner classes too.
            (ComplexityScopeKind::Class | ComplexityScopeKind::Function, _) => {}
        }
    }

    pub(super) fn finish(self) -> ModuleComplexity {
        let ComplexityScope { own_complexity: own, inner_complexity: inner, .. } = self.scope;
        ModuleComplexity { blocks: self.blocks, module: own + inner, top_level: own }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::measure_source;
    use super::ComplexityBlockKind::{Class, Closure, Function, Method};
    use super::{ComplexityBlockKind, TextSize};

    fn blocks(source: &str) -> Vec<(ComplexityBlockKind, u32)> {
        let (_, complexities) = measure_source(source);
        complexities.blocks().iter().map(|block| (block.kind, block.complexity)).collect()
    }

    /// The complexity of a function with this body.
    fn body_complexity(body: &str) -> u32 {
        let source = format!("def f():\n    {}\n", body.replace('\n', "\n    "));
        measure_source(&source).1.blocks()[0].complexity
    }

    #[test]
    fn decisions_of_statements_count() {
        assert_eq!(body_complexity("pass"), 1);
        assert_eq!(
            body_complexity("if a:\n    b\nelif c:\n    d\nelif e:\n    f\nelse:\n    g"),
            4
        );
        assert_eq!(body_complexity("for a in b:\n    c\nelse:\n    d"), 3);
        assert_eq!(body_complexity("while a:\n    b"), 2);
        assert_eq!(body_complexity("with a:\n    b"), 1);
        assert_eq!(body_complexity("try:\n    a\nexcept b:\n    c\nexcept d:\n    e"), 3);
        assert_eq!(
            body_complexity("try:\n    a\nexcept b:\n    c\nelse:\n    d\nfinally:\n    e"),
            3
        );
    }

    #[test]
    fn decisions_of_expressions_count() {
        assert_eq!(body_complexity("a and b and c or d"), 4);
        assert_eq!(body_complexity("a if b else c"), 2);
        assert_eq!(body_complexity("[a for b in c if d if e]"), 4);
        assert_eq!(body_complexity("{a: b for c in d for e in f}"), 3);
        assert_eq!(body_complexity("lambda a=b or c: d and e"), 3);
        assert_eq!(body_complexity("f'{a or b:{c or d}}' 'e'"), 3);
        assert_eq!(body_complexity("if (a := b or c): d"), 3);
    }

    #[test]
    fn an_assert_counts_one_whatever_it_asserts() {
        assert_eq!(body_complexity("assert a and b, c or d"), 2);
    }

    #[test]
    fn exception_groups_do_not_count() {
        assert_eq!(body_complexity("try:\n    a or b\nexcept* c:\n    d\nelse:\n    e"), 2);
    }

    #[test]
    fn one_irrefutable_case_of_a_match_is_free() {
        assert_eq!(body_complexity("match a:\n    case 1:\n        b\n    case 2:\n        c"), 3);
        assert_eq!(body_complexity("match a:\n    case 1:\n        b\n    case _:\n        c"), 2);
        assert_eq!(body_complexity("match a:\n    case _:\n        c"), 1);
        // A capture counts as a wildcard, even with a guard, and two count once.
        assert_eq!(
            body_complexity("match a:\n    case x if b:\n        c\n    case _:\n        d"),
            2
        );
        assert_eq!(
            body_complexity("match a:\n    case 1 as x:\n        c\n    case (_):\n        d"),
            2
        );
    }

    #[test]
    fn heads_of_functions_and_classes_do_not_count() {
        let source = "@a(b or c)\ndef f(d=e or f) -> g or h: pass\n\
                      @a(b or c)\nclass C(d if e else f, k=g or h): pass\n";
        assert_eq!(blocks(source), [(Function, 1), (Class, 1)]);
        assert_eq!(measure_source(source).0.complexity, 1);
    }

    #[test]
    fn closures_do_not_count_for_the_function_around_them() {
        let source =
            "def f():\n    if a: pass\n    def g():\n        if b: pass\n        if c: pass\n";
        assert_eq!(blocks(source), [(Function, 2), (Closure, 3)]);
        assert_eq!(measure_source(source).0.complexity, 2);
    }

    #[test]
    fn a_class_averages_its_methods() {
        let source = "class C:\n    x = a or b\n    def f(self):\n        if a: pass\n    \
                      if a:\n        def g(self): pass\n    class D:\n        def h(self): a or \
                      b\n";
        let (numbers, complexities) = measure_source(source);
        // One, plus two decisions of the body, plus the methods f (2) and g (1).
        let class = complexities.blocks()[0];
        assert_eq!((class.complexity, class.real_complexity), (4, 6));
        assert_eq!(blocks(source), [(Class, 4), (Method, 2), (Method, 1), (Class, 3), (Method, 2)]);
        assert_eq!(numbers.complexity, 6);
        assert_eq!(complexities.top_level_complexity(), 1);
    }

    #[test]
    fn classes_inside_functions_are_listed_too() {
        let source =
            "def f():\n    class C:\n        def g(self): a or b\n        def h(self): pass\n";
        assert_eq!(blocks(source), [(Function, 1), (Class, 3), (Method, 2), (Method, 1)]);
        assert_eq!(measure_source(source).0.complexity, 1);
    }

    #[test]
    fn a_block_is_found_at_its_keyword_after_decorators() {
        let source = "@(a)  # def\n# class\n@b(\n)\nasync  def f(): x or y\n@c\nclass D: pass\n";
        let (_, complexities) = measure_source(source);
        let at = |text| complexities.block_at(TextSize::new(source.find(text).unwrap() as u32));
        assert_eq!(at("async").unwrap().complexity, 2);
        assert_eq!(at("class D").unwrap().kind, Class);
        assert_eq!(at("def f"), None);
        let name = TextSize::new(source.find("f():").unwrap() as u32);
        assert_eq!(complexities.block_named_at(name).unwrap().complexity, 2);
        assert_eq!(complexities.block_named_at(TextSize::new(0)), None);
    }
}
