//! How a list fits a terminal: columns are left out, ids are shown by their ends, free text is cut at a space. A word is
//! never broken, and a row is one line.

use textwrap::core::display_width;

/// Spaces between two columns.
const GAP: usize = 2;
/// Characters that are left of a shortened id, at least.
const SHORTEST_ID: usize = 8;
/// What would lose fewer characters is shown whole: the name of a queue stands among the ids of what operators acted on.
const FEWEST_SAVED: usize = 5;
/// Free text keeps this width before a column is left out for it.
const NARROWEST_TEXT: usize = 20;

/// What a column holds, and so how it gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Shown by an end that is different in every row; commands accept it.
    Id,
    /// Whole or not at all.
    Word,
    /// Whole or not at all, at the right edge of its column.
    Number,
    /// Cut at a space; of a single long word its beginning is left.
    Text,
}

/// A column of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    heading: &'static str,
    kind: Kind,
    /// The highest is left out first.
    rank: u8,
}

/// Ids.
pub(crate) const fn id(heading: &'static str, rank: u8) -> Column {
    Column { heading, kind: Kind::Id, rank }
}

/// States, codes, names, moments.
pub(crate) const fn word(heading: &'static str, rank: u8) -> Column {
    Column { heading, kind: Kind::Word, rank }
}

/// Counts.
pub(crate) const fn number(heading: &'static str, rank: u8) -> Column {
    Column { heading, kind: Kind::Number, rank }
}

/// Text that people wrote.
pub(crate) const fn text(heading: &'static str, rank: u8) -> Column {
    Column { heading, kind: Kind::Text, rank }
}

/// The lines of a table, and the headings that found no room.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fitted {
    /// The headings, then the rows; a cell each, padded.
    pub(super) lines: Vec<Vec<String>>,
    pub(super) left_out: Vec<&'static str>,
}

/// The width that a column takes, from its least to its whole.
struct Widths {
    least: usize,
    whole: usize,
}

/// Lays rows out in `width` columns of a terminal; `None`: everything, as it is.
pub(super) fn fit(columns: &[Column], rows: &[Vec<String>], width: Option<usize>) -> Fitted {
    let widths: Vec<Widths> =
        columns.iter().enumerate().map(|(place, column)| of_column(*column, &cells(rows, place))).collect();
    let width = width.unwrap_or(usize::MAX);
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|place| columns[*place].rank);
    let mut kept = order.clone();
    while kept.len() > 1 && total(kept.iter().map(|place| widths[*place].least)) > width {
        kept.pop();
    }
    let mut spare = width.saturating_sub(total(kept.iter().map(|place| widths[*place].least)));
    let mut given: Vec<Option<usize>> = vec![None; columns.len()];
    for place in kept {
        let Widths { least, whole } = widths[place];
        let more = match columns[place].kind {
            Kind::Text => spare.min(whole - least),
            // An id is whole, or as short as can be.
            _ if whole - least <= spare => whole - least,
            _ => 0,
        };
        spare -= more;
        given[place] = Some(least + more);
    }
    let shown: Vec<(usize, usize)> =
        given.iter().enumerate().filter_map(|(place, width)| width.map(|width| (place, width))).collect();
    Fitted { lines: lines(columns, rows, &shown), left_out: left_out(columns, &given) }
}

fn left_out(columns: &[Column], given: &[Option<usize>]) -> Vec<&'static str> {
    let all = columns.iter().zip(given);
    all.filter(|(_, width)| width.is_none()).map(|(column, _)| column.heading).collect()
}

/// The headings and the rows, each cell as wide as its column.
fn lines(columns: &[Column], rows: &[Vec<String>], shown: &[(usize, usize)]) -> Vec<Vec<String>> {
    let mut lines = vec![Vec::new(); rows.len() + 1];
    let last = shown.last().map(|(place, _)| *place);
    for (place, width) in shown {
        let column = columns[*place];
        let values = cells(rows, *place);
        let values = match column.kind {
            Kind::Id if of_column(column, &values).whole > *width => short_ids(&values),
            Kind::Text => values.iter().map(|value| cut(value, *width)).collect(),
            _ => values.iter().map(ToString::to_string).collect(),
        };
        let heading = column.heading.to_owned();
        for (line, value) in lines.iter_mut().zip([heading].into_iter().chain(values)) {
            let room = " ".repeat(width.saturating_sub(display_width(&value)));
            line.push(match column.kind {
                Kind::Number => format!("{room}{value}"),
                _ if last == Some(*place) => value,
                _ => format!("{value}{room}"),
            });
        }
    }
    lines
}

/// A line of cells.
pub(super) fn joined(cells: &[String]) -> String {
    cells.join(&" ".repeat(GAP))
}

fn total(widths: impl ExactSizeIterator<Item = usize>) -> usize {
    let gaps = GAP * widths.len().saturating_sub(1);
    widths.sum::<usize>() + gaps
}

fn cells(rows: &[Vec<String>], column: usize) -> Vec<&str> {
    rows.iter().map(|row| row.get(column).map_or("", String::as_str)).collect()
}

fn of_column(column: Column, values: &[&str]) -> Widths {
    let widest = |values: &mut dyn Iterator<Item = usize>| values.max().unwrap_or(0);
    let heading = display_width(column.heading);
    let whole = widest(&mut values.iter().map(|value| display_width(value))).max(heading);
    let least = match column.kind {
        Kind::Word | Kind::Number => whole,
        Kind::Text => whole.min(NARROWEST_TEXT.max(heading)),
        Kind::Id => widest(&mut short_ids(values).iter().map(|value| display_width(value))).max(heading),
    };
    Widths { least: least.min(whole), whole }
}

/// Ids by the shorter of their ends that is different in every row.
fn short_ids(ids: &[&str]) -> Vec<String> {
    let longest = ids.iter().map(|id| id.chars().count()).max().unwrap_or(0);
    let mut different: Vec<&str> = ids.to_vec();
    different.sort_unstable();
    different.dedup();
    let tells_apart = |shorten: &dyn Fn(&str, usize) -> String, length: usize| {
        let mut short: Vec<String> = different.iter().map(|id| shorten(id, length)).collect();
        short.sort_unstable();
        short.dedup();
        short.len() == different.len()
    };
    for length in SHORTEST_ID..longest.saturating_sub(1) {
        for shorten in [ending as fn(&str, usize) -> String, beginning] {
            if tells_apart(&shorten, length) {
                return ids.iter().map(|id| shorten(id, length)).collect();
            }
        }
    }
    ids.iter().map(ToString::to_string).collect()
}

fn ending(id: &str, length: usize) -> String {
    match id.chars().count().checked_sub(length) {
        Some(before @ FEWEST_SAVED..) => format!("…{}", id.chars().skip(before).collect::<String>()),
        _ => id.to_owned(),
    }
}

fn beginning(id: &str, length: usize) -> String {
    match id.chars().count().checked_sub(length) {
        Some(FEWEST_SAVED..) => format!("{}…", id.chars().take(length).collect::<String>()),
        _ => id.to_owned(),
    }
}

/// As many whole words as fit in `width`, and a sign that there are more. Of a word that does not fit, such as a URL or a sentence of
/// Chinese, its beginning, where little would be left otherwise.
fn cut(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    for word in text.split_inclusive(' ') {
        if display_width(&short) + display_width(word.trim_end()) + 2 > width {
            break;
        }
        short.push_str(word);
    }
    if 2 * display_width(&short) < width {
        let mut room = width.saturating_sub(1);
        let fits = |letter: &char| {
            let left = room.checked_sub(display_width(letter.encode_utf8(&mut [0; 4])));
            room = left.unwrap_or(0);
            left.is_some()
        };
        return format!("{}…", text.chars().take_while(fits).collect::<String>());
    }
    format!("{} …", short.trim_end())
}

#[cfg(test)]
mod tests;
