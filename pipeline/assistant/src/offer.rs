//! Which tools an engine is offered, and under which names.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::tools::{AppTool, DataTool};

/// The most tools that are offered at once: providers refuse more, and models choose badly among many.
const MOST_OFFERED: usize = 64;
/// The longest name that providers take.
const LONGEST_NAME: usize = 64;

/// Where a tool comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// It works on the user's own data.
    Data(DataTool),
    /// It belongs to an app.
    App(AppTool),
}

/// A tool as it is offered.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    /// Unique among those that are offered, at most 64 characters of `[A-Za-z0-9_-]`.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// Where it comes from.
    pub origin: Origin,
}

impl Offered {
    /// Its own name.
    pub fn own_name(&self) -> &str {
        match &self.origin {
            Origin::Data(tool) => tool.as_str(),
            Origin::App(tool) => &tool.name,
        }
    }

    /// The app that it belongs to.
    pub fn app_id(&self) -> Option<&str> {
        match &self.origin {
            Origin::Data(_) => None,
            Origin::App(tool) => Some(&tool.app_id),
        }
    }

    /// Whether it may change something: a tool of an app always may.
    pub fn writes(&self) -> bool {
        match &self.origin {
            Origin::Data(tool) => tool.writes(),
            Origin::App(_) => true,
        }
    }

    /// What is shown while it runs.
    pub fn status(&self) -> &str {
        match &self.origin {
            Origin::Data(tool) => tool.status(),
            Origin::App(tool) => &tool.status_message,
        }
    }
}

/// The data tools first, then as many of the apps' as there is limit for: those nearest to `question`, where there are
/// more.
pub(crate) fn offer(
    data: impl IntoIterator<Item = DataTool>,
    apps: Vec<AppTool>,
    question: &str,
) -> Vec<Offered> {
    let mut offered: Vec<Offered> = data
        .into_iter()
        .map(|tool| Offered {
            name: tool.as_str().to_owned(),
            description: tool.description().to_owned(),
            parameters: tool.parameters(),
            origin: Origin::Data(tool),
        })
        .collect();
    let limit = MOST_OFFERED.saturating_sub(offered.len());
    let mut taken: HashMap<String, usize> =
        DataTool::ALL.iter().map(|tool| (tool.as_str().to_owned(), 1)).collect();
    offered.extend(nearest(apps, question, limit).into_iter().map(|tool| Offered {
        name: unique(&tool.name, &mut taken),
        description: format!("{} (app {})", tool.description, tool.app_name),
        parameters: tool.parameters.clone(),
        origin: Origin::App(tool),
    }));
    offered
}

/// The tools that share most words with the question, in their own order.
fn nearest(apps: Vec<AppTool>, question: &str, limit: usize) -> Vec<AppTool> {
    if apps.len() <= limit {
        return apps;
    }
    let asked = words(question);
    let mut ranked: Vec<(usize, usize)> = apps
        .iter()
        .enumerate()
        .map(|(place, tool)| {
            let own = words(&format!("{} {} {}", tool.app_name, tool.name, tool.description));
            (own.intersection(&asked).count(), place)
        })
        .collect();
    ranked.sort_by_key(|(shared, place)| (usize::MAX - shared, *place));
    let kept: HashSet<usize> = ranked.into_iter().take(limit).map(|(_, place)| place).collect();
    apps.into_iter().enumerate().filter(|(place, _)| kept.contains(place)).map(|(_, tool)| tool).collect()
}

fn words(text: &str) -> HashSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() > 2)
        .map(str::to_lowercase)
        .collect()
}

/// `name`, or `name_2` and so on when it is taken.
fn unique(name: &str, taken: &mut HashMap<String, usize>) -> String {
    let name: String = name.chars().take(LONGEST_NAME).collect();
    let mut number = taken.get(&name).copied().unwrap_or(0);
    if number == 0 {
        taken.insert(name.clone(), 1);
        return name;
    }
    loop {
        number += 1;
        let ending = format!("_{number}");
        let candidate: String =
            name.chars().take(LONGEST_NAME - ending.len()).chain(ending.chars()).collect();
        if !taken.contains_key(&candidate) {
            taken.insert(name, number);
            taken.insert(candidate.clone(), 1);
            return candidate;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(app: &str, name: &str, description: &str) -> AppTool {
        AppTool {
            app_id: app.to_owned(),
            app_name: app.to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: json!({"properties": {}}),
            status_message: String::new(),
        }
    }

    #[test]
    fn offered_tool_names_are_unique_among_data_tools_too() {
        let apps = vec![
            tool("a", "search", ""),
            tool("b", "send", ""),
            tool("c", "send", ""),
            tool("d", "send", ""),
        ];
        let offered = offer([DataTool::Search], apps, "");
        let names: Vec<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["search", "search_2", "send", "send_2", "send_3"]);
        let long = "n".repeat(64);
        let offered = offer([], vec![tool("a", &long, ""), tool("b", &long, "")], "");
        assert_eq!(offered[1].name, format!("{}_2", "n".repeat(62)));
    }

    #[test]
    fn offered_tools_are_the_most_relevant_to_the_question() {
        let mut apps: Vec<AppTool> = (0..100).map(|n| tool("x", &format!("t{n}"), "does nothing")).collect();
        apps.push(tool("weather", "forecast", "The weather of a city"));
        let offered = offer(DataTool::ALL.iter().copied(), apps, "What will the weather be?");
        assert_eq!(offered.len(), MOST_OFFERED);
        assert!(offered.iter().any(|tool| tool.name == "forecast"));
    }
}
