//! What an expression asks for, read by a parser of PromQL.

use promql_parser::label::Matcher;
use promql_parser::parser::{self, Expr, VectorSelector};

/// One selector of an expression.
#[derive(Debug)]
pub(crate) struct Selector {
    pub(crate) name: String,
    pub(crate) matchers: Vec<Matcher>,
    /// The innermost function around it, for example `rate`.
    pub(crate) inside: Option<String>,
    /// Whether it asks for a range.
    pub(crate) ranged: bool,
}

/// Every selector of `text`.
pub(crate) fn selectors(text: &str) -> Vec<Selector> {
    let parsed = parser::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut found = Vec::new();
    collect(&parsed, None, &mut found);
    found
}

fn collect(expr: &Expr, inside: Option<&str>, found: &mut Vec<Selector>) {
    match expr {
        Expr::Aggregate(aggregate) => {
            collect(&aggregate.expr, None, found);
            if let Some(param) = &aggregate.param {
                collect(param, None, found);
            }
        }
        Expr::Unary(unary) => collect(&unary.expr, None, found),
        Expr::Binary(binary) => {
            collect(&binary.lhs, None, found);
            collect(&binary.rhs, None, found);
        }
        Expr::Paren(paren) => collect(&paren.expr, inside, found),
        Expr::Subquery(subquery) => collect(&subquery.expr, inside, found),
        Expr::Call(call) => {
            for argument in &call.args.args {
                collect(argument, Some(call.func.name), found);
            }
        }
        Expr::VectorSelector(selector) => found.push(selector_of(selector, inside, false)),
        Expr::MatrixSelector(range) => found.push(selector_of(&range.vs, inside, true)),
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) => {}
        Expr::Extension(_) => panic!("nobody extends the language"),
    }
}

fn selector_of(selector: &VectorSelector, inside: Option<&str>, ranged: bool) -> Selector {
    assert!(selector.matchers.or_matchers.is_empty(), "Prometheus knows no `or` between matchers");
    Selector {
        name: selector.name.clone().expect("every selector names its metric"),
        matchers: selector.matchers.matchers.clone(),
        inside: inside.map(str::to_owned),
        ranged,
    }
}

#[test]
fn selector_parser_finds_selectors_and_their_functions() {
    let found = selectors(r#"60 * sum by (a) (rate(x_total{a=~"b|c"}[1m])) / (y > 0)"#);
    let told: Vec<_> =
        found.iter().map(|one| (one.name.as_str(), one.inside.as_deref(), one.ranged)).collect();
    assert_eq!(told, [("x_total", Some("rate"), true), ("y", None, false)]);
    assert!(found[0].matchers[0].is_match("c") && !found[0].matchers[0].is_match("d"));
}
