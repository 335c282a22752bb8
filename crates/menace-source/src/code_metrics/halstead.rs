//! Halstead's counts of operators and operands, as radon's visitor makes them.
//!
//! Operators are those of arithmetic, logic and comparison; operands are what they apply to.
//! [`super::walk`] decides which nodes are visited, [`super::operand`] when two operands are equal.

use menace_model::HalsteadCounts;
use ruff_python_ast::{BoolOp, CmpOp, Expr, Operator, UnaryOp};
use rustc_hash::{FxHashMap, FxHashSet};

use super::operand::HalsteadOperand;

/// An operator, numbered so that a set of operators fits into one integer.
#[derive(Debug, Clone, Copy)]
pub(super) struct OperatorSymbol(u32);

impl From<Operator> for OperatorSymbol {
    fn from(operator: Operator) -> Self {
        Self(operator as u32)
    }
}

impl From<UnaryOp> for OperatorSymbol {
    fn from(operator: UnaryOp) -> Self {
        Self(16 + operator as u32)
    }
}

impl From<BoolOp> for OperatorSymbol {
    fn from(operator: BoolOp) -> Self {
        Self(24 + operator as u32)
    }
}

impl From<CmpOp> for OperatorSymbol {
    fn from(operator: CmpOp) -> Self {
        Self(32 + operator as u32)
    }
}

/// A function's name as a number. Functions of the same name share their operands.
type FunctionContext = u32;

const MODULE_CONTEXT: FunctionContext = 0;

/// Counts operators and operands while the tree is walked.
#[derive(Debug)]
pub(super) struct HalsteadTally<'a> {
    source: &'a str,
    operators: u32,
    operands: u32,
    distinct_operators: u64,
    /// Equal values in different functions are different operands.
    distinct_values: FxHashSet<(FunctionContext, HalsteadOperand<'a>)>,
    /// Operands without a value, all distinct from each other.
    distinct_others: u32,
    contexts: FxHashMap<&'a str, FunctionContext>,
    context: FunctionContext,
}

impl<'a> HalsteadTally<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self {
            source,
            operators: 0,
            operands: 0,
            distinct_operators: 0,
            distinct_values: FxHashSet::default(),
            distinct_others: 0,
            contexts: FxHashMap::default(),
            context: MODULE_CONTEXT,
        }
    }

    pub(super) fn add_operator(&mut self, symbol: impl Into<OperatorSymbol>) {
        self.operators += 1;
        self.distinct_operators |= 1 << symbol.into().0;
    }

    pub(super) fn add_operand(&mut self, expr: &'a Expr) {
        self.operands += 1;
        match HalsteadOperand::from_expr(self.source, expr) {
            Some(operand) => {
                self.distinct_values.insert((self.context, operand));
            }
            None => self.distinct_others += 1,
        }
    }

    /// Starts a function; returns the context to go back to on leaving.
    #[must_use = "the outer context has to be handed back on leaving"]
    pub(super) fn enter_function(&mut self, function: &'a str) -> FunctionContext {
        let next = self.contexts.len() as FunctionContext + 1;
        let context = *self.contexts.entry(function).or_insert(next);
        std::mem::replace(&mut self.context, context)
    }

    pub(super) fn leave_function(&mut self, outer: FunctionContext) {
        self.context = outer;
    }

    pub(super) fn finish(self) -> HalsteadCounts {
        HalsteadCounts {
            distinct_operators: self.distinct_operators.count_ones(),
            distinct_operands: self.distinct_values.len() as u32 + self.distinct_others,
            operators: self.operators,
            operands: self.operands,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::measure_source;

    /// Distinct operators, distinct operands, operators, operands.
    fn halstead_counts(source: &str) -> [u32; 4] {
        let halstead = measure_source(source).0.halstead;
        [
            halstead.distinct_operators,
            halstead.distinct_operands,
            halstead.operators,
            halstead.operands,
        ]
    }

    #[test]
    fn operators_count_with_their_operands() {
        assert_eq!(halstead_counts("a + b"), [1, 2, 1, 2]);
        assert_eq!(halstead_counts("-a - b"), [2, 3, 2, 3]);
        assert_eq!(halstead_counts("a and b and c"), [1, 3, 1, 3]);
        assert_eq!(halstead_counts("a < b < c is not d"), [2, 4, 3, 4]);
        assert_eq!(halstead_counts("a += b"), [1, 2, 1, 2]);
        assert_eq!(halstead_counts("a + b\na += b"), [1, 2, 2, 4]);
        assert_eq!(halstead_counts("f(a)[b].c"), [0, 0, 0, 0]);
    }

    #[test]
    fn operands_without_a_value_are_all_distinct() {
        assert_eq!(halstead_counts("f() + f()"), [1, 2, 1, 2]);
        assert_eq!(halstead_counts("f'x' + f'x' + 'x'"), [1, 4, 2, 4]);
    }

    #[test]
    fn functions_of_the_same_name_share_their_operands() {
        assert_eq!(halstead_counts("def f(): a + b\ndef g(): a + b\na + b"), [1, 6, 3, 6]);
        assert_eq!(halstead_counts("class C:\n    def f(): a + b\ndef f(): a + b"), [1, 2, 2, 4]);
        assert_eq!(halstead_counts("def f():\n    def g(): a + b\n    a + b"), [1, 4, 2, 4]);
    }

    #[test]
    fn heads_count_for_classes_but_not_for_functions() {
        assert_eq!(halstead_counts("@a(b + c)\ndef f(x=d + e) -> f + g: pass"), [0, 0, 0, 0]);
        assert_eq!(halstead_counts("@a(b + c)\nclass C(d + e, k=f + g): pass"), [1, 6, 3, 6]);
        assert_eq!(halstead_counts("lambda x=a + b: c + d"), [1, 4, 2, 4]);
        assert_eq!(halstead_counts("assert a + b, c + d"), [1, 4, 2, 4]);
    }

    #[test]
    fn patterns_and_format_specifications_count() {
        let source = "match a:\n    case -1 | 3 + 2j: pass\n    case {-4: _}: pass";
        assert_eq!(halstead_counts(source), [2, 4, 3, 4]);
        assert_eq!(halstead_counts("f'{a + b:{c + d}}'"), [1, 4, 2, 4]);
    }
}
