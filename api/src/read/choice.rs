//! Closed lists.

use serde_json::{Value, json};

use super::{Report, Take};

/// One of a closed list of names; what is chosen is whatever the list pairs with the name.
pub(crate) struct Choice<N, T> {
    names: Vec<(N, T)>,
}

impl<N: AsRef<str>, T: Clone> Choice<N, T> {
    /// A list in the order in which the documents give it.
    pub(crate) fn of(names: impl IntoIterator<Item = (N, T)>) -> Self {
        Self { names: names.into_iter().collect() }
    }

    fn find(&self, name: &str) -> Option<T> {
        self.names.iter().find(|(known, _)| known.as_ref() == name).map(|(_, chosen)| chosen.clone())
    }

    fn refuse<R>(&self, report: &mut Report) -> Option<R> {
        let expected = self.expected();
        report.refuse_with("enum", format!("Input should be {expected}"), json!({ "expected": expected }))
    }

    /// `'a', 'b' or 'c'`.
    fn expected(&self) -> String {
        let quoted: Vec<String> = self.names.iter().map(|(name, _)| format!("'{}'", name.as_ref())).collect();
        match quoted.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
            None => String::new(),
        }
    }
}

impl<N: AsRef<str>, T: Clone> Take for Choice<N, T> {
    type Out = T;

    fn take(&self, value: &Value, report: &mut Report) -> Option<T> {
        value.as_str().and_then(|name| self.find(name)).or_else(|| self.refuse(report))
    }

    fn schema(&self) -> Value {
        let names: Vec<&str> = self.names.iter().map(|(name, _)| name.as_ref()).collect();
        json!({ "type": "string", "enum": names })
    }
}

/// A filter such as `work,health`: any of these. Blanks around names and empty names do not matter.
pub(crate) struct CommaSeparated<N, T>(pub(crate) Choice<N, T>);

impl<N: AsRef<str>, T: Clone> Take for CommaSeparated<N, T> {
    type Out = Vec<T>;

    fn take(&self, value: &Value, report: &mut Report) -> Option<Vec<T>> {
        let names =
            value.as_str().unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(|name| self.0.find(name)).collect::<Option<_>>().or_else(|| self.0.refuse(report))
    }

    fn schema(&self) -> Value {
        let names: Vec<&str> = self.0.names.iter().map(|(name, _)| name.as_ref()).collect();
        let one = format!("({})", names.join("|"));
        json!({ "type": "string", "pattern": format!("^({one}(,{one})*)?$") })
    }
}
