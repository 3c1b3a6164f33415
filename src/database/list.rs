//! A URL that names several servers, as libpq takes it (`postgresql://h1:5432,h2:5432/listen`, or `?host=h1,h2&port=5432`): the
//! driver reads one. Here one URL becomes a URL for each.

use form_urlencoded::{byte_serialize, parse};

/// More servers than a database has.
const MOST: usize = 16;

/// A URL for each server that `url` names, in their order, and nothing else changed. One that names one is left as it is.
///
/// # Errors
/// What is wrong with the list, in words that repeat nothing of it: it may hold a password.
pub(super) fn each(url: &str) -> Result<Vec<String>, &'static str> {
    let (scheme, rest) = url.split_once("://").ok_or("it has no scheme")?;
    let rest = rest.split('#').next().unwrap_or_default();
    let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
    let (authority, path) = place.find('/').map_or((place, ""), |at| place.split_at(at));
    // A password may hold everything but a slash and a question mark.
    let (user, written) = authority.rfind('@').map_or(("", authority), |at| authority.split_at(at + 1));
    let written = written.replace("%2C", ",").replace("%2c", ",");
    let pairs: Vec<&str> = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()).collect();
    writes(&pairs)?;
    let (hosts, ports) = (values(&pairs, &["host", "hostaddr"])?, values(&pairs, &["port"])?);
    let places: Vec<&str> = written.split(',').collect();
    let count = places.len().max(hosts.as_ref().map_or(1, Vec::len));
    let has_attribute = pairs.iter().any(|pair| is_attribute(pair));
    if count == 1 && !has_attribute {
        return match ports {
            Some(ports) if ports.len() > 1 => Err("it has more ports than hosts"),
            _ => Ok(vec![url.to_owned()]),
        };
    }
    if count > MOST {
        return Err("it names more than 16 hosts");
    }
    if count > 1 && hosts.is_none() && places.iter().any(|place| place.is_empty() || place.starts_with(':')) {
        return Err("a host of its list is empty");
    }
    for (given, words) in [
        (
            Some(places.len()).filter(|_| places != [""]),
            "its path and its parameter host name unlike numbers of hosts",
        ),
        (hosts.as_ref().map(Vec::len), "its path and its parameter host name unlike numbers of hosts"),
        (ports.as_ref().map(Vec::len), "it has neither one port nor one for each host"),
    ] {
        if given.is_some_and(|given| given != 1 && given != count) {
            return Err(words);
        }
    }
    let kept: Vec<&str> = pairs
        .iter()
        .filter(|pair| !is_attribute(pair) && !["host", "hostaddr", "port"].contains(&&*name(pair)))
        .copied()
        .collect();
    let of = |number: usize| {
        let at = |list: &[String]| list.get(number).or(list.first()).cloned();
        let place = places.get(number).or(places.first()).copied().unwrap_or_default();
        let encoded = |name: &str, value: String| {
            format!("{name}={}", byte_serialize(value.as_bytes()).collect::<String>())
        };
        let host = hosts.as_deref().and_then(at).map(|host| encoded("host", host));
        let port = ports.as_deref().and_then(at).map(|port| encoded("port", port));
        let query: Vec<String> = kept.iter().map(ToString::to_string).chain(host).chain(port).collect();
        match query.as_slice() {
            [] => format!("{scheme}://{user}{place}{path}"),
            query => format!("{scheme}://{user}{place}{path}?{}", query.join("&")),
        }
    };
    Ok((0..count).map(of).collect())
}

/// Refuses a list that asks for a server that only reads.
fn writes(pairs: &[&str]) -> Result<(), &'static str> {
    let asked = pairs.iter().filter(|pair| is_attribute(pair)).map(|pair| value(pair));
    match asked.into_iter().all(|asked| ["any", "primary", "read-write"].contains(&&*asked)) {
        true => Ok(()),
        false => {
            Err("its target_session_attrs is neither read-write nor primary nor any: the service writes")
        }
    }
}

fn is_attribute(pair: &str) -> bool {
    name(pair) == "target_session_attrs"
}

/// The values of the last parameter of these names, which are separated by commas.
fn values(pairs: &[&str], names: &[&str]) -> Result<Option<Vec<String>>, &'static str> {
    let Some(pair) = pairs.iter().rev().find(|pair| names.contains(&&*name(pair))) else { return Ok(None) };
    let values: Vec<String> = value(pair).split(',').map(str::to_owned).collect();
    match values.len() > 1 && values.iter().any(String::is_empty) {
        true => Err("a host or port of its list is empty"),
        false => Ok(Some(values)),
    }
}

/// The name of a parameter that is written `name=value`.
pub(super) fn name(pair: &str) -> String {
    parse(pair.as_bytes()).next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}

fn value(pair: &str) -> String {
    parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use super::*;

    fn of(url: &str) -> Result<Vec<String>, &'static str> {
        each(&format!("postgresql://{url}"))
            .map(|urls| urls.into_iter().map(|url| url.replace("postgresql://", "")).collect())
    }

    #[test]
    fn url_of_one_server_is_unchanged() {
        for url in ["ada:a,b@db:5433/listen?port=1&host=c#x", "", "/listen?host=/run/postgresql", "db"] {
            assert_eq!(of(url), Ok(vec![url.to_owned()]));
        }
        assert_eq!(of("db/listen?target_session_attrs=read-write"), Ok(vec!["db/listen".to_owned()]));
    }

    #[test]
    fn url_list_gives_every_server_the_other_parts() {
        let url = "ada:g,e@h1:5432,h2,[::1]:5/listen?sslmode=require&target_session_attrs=primary";
        let [one, two, three] =
            ["h1:5432", "h2", "[::1]:5"].map(|place| format!("ada:g,e@{place}/listen?sslmode=require"));
        assert_eq!(of(url), Ok(vec![one, two, three]));
        let encoded = of("h1%2Ch2:6/listen");
        assert_eq!(encoded, Ok(vec!["h1/listen".to_owned(), "h2:6/listen".to_owned()]));
        let [one, two] = ["%2Frun%2Fa&port=7", "b&port=7"].map(|place| format!("ada@/listen?host={place}"));
        assert_eq!(of("ada@/listen?host=/run/a,b&port=7"), Ok(vec![one, two]));
        let [one, two] = ["a&port=1", "b&port=2"].map(|place| format!("/listen?host={place}"));
        assert_eq!(of("/listen?port=1,2&hostaddr=a%2Cb"), Ok(vec![one, two]));
        let [one, two] = ["h1", "h2"].map(|place| format!("{place}/listen?port=7"));
        assert_eq!(of("h1,h2/listen?port=7"), Ok(vec![one, two]));
    }

    #[test]
    fn url_list_that_is_invalid_is_refused_without_repeating_it() {
        let many = ["geheim"; 17].join(",");
        for (url, words) in [
            ("ada:geheim@h1,,h2/listen", "is empty"),
            ("ada:geheim@h1,:5432/listen", "is empty"),
            ("ada:geheim@/listen?host=a,", "is empty"),
            ("ada:geheim@h1,h2,h3/listen?port=1,2", "neither one port nor one for each host"),
            ("ada:geheim@h1/listen?port=1,2", "more ports than hosts"),
            ("ada:geheim@h1,h2,h3/listen?host=a,b", "unlike numbers"),
            ("ada:geheim@h1,h2/listen?target_session_attrs=standby", "the service writes"),
            ("ada:geheim@h1/listen?target_session_attrs=read-only", "the service writes"),
            (&*many, "more than 16 hosts"),
        ] {
            let wrong = of(url).unwrap_err();
            assert!(wrong.contains(words) && !wrong.contains("geheim"), "{url}: {wrong}");
        }
    }
}
