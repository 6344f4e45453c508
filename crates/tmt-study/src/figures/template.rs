//! Texts in which `{name}` is a value, `{name:N}` that value with N decimals, and `{name/N}` the value divided by N.

/// Values that name values that name values: a circle is longer.
const DEEPEST: usize = 4;

/// `text` with its values, whose own names are filled in, too.
///
/// # Errors
/// A name without a value, or text where a number is expected.
pub(super) fn fill(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut text = text.to_owned();
    for _ in 0..DEEPEST {
        if !text.contains('{') {
            return Ok(text);
        }
        text = once(&text, value)?;
    }
    Err(format!(
        "found '{text}', expected values that do not name each other in a circle"
    ))
}

fn once(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after
            .split_once('}')
            .ok_or_else(|| format!("found '{text}', expected a '}}' for every '{{'"))?;
        let key = key(name);
        let found = value(key)
            .ok_or_else(|| format!("found {{{key}}} in '{text}', expected a name of the plan"))?;
        filled += before;
        filled += &match name.strip_prefix(key).filter(|how| !how.is_empty()) {
            None => found,
            Some(how) => computed(&found, how)
                .ok_or_else(|| format!("found {{{name}}} for '{found}', expected a number"))?,
        };
        rest = after;
    }
    Ok(filled + rest)
}

/// The name of a value in what stands between braces.
fn key(name: &str) -> &str {
    name.split([':', '/']).next().unwrap_or(name)
}

/// `text` with `:N` decimals, or divided as by `/N`.
fn computed(text: &str, how: &str) -> Option<String> {
    let number: f64 = text.parse().ok()?;
    if let Some(decimals) = how.strip_prefix(':') {
        let decimals: usize = decimals.parse().ok()?;
        return Some(format!("{number:.decimals$}"));
    }
    let divisor: f64 = how.strip_prefix('/')?.parse().ok()?;
    Some((number / divisor).to_string())
}

/// The names in `text`.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    let marks = text.split('{').skip(1);
    marks.filter_map(|mark| {
        let (name, _) = mark.split_once('}')?;
        Some(key(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_their_decimals_are_filled_in() {
        let value = |name: &str| match name {
            "p" => Some("0.16666".to_owned()),
            "cc" => Some("reno".to_owned()),
            "T" => Some("250".to_owned()),
            "closed" => Some("fec p={p:1}".to_owned()),
            "round" => Some("{round}".to_owned()),
            _ => None,
        };
        assert_eq!(
            fill("{cc} at p={p:2}, {p}", &value).unwrap(),
            "reno at p=0.17, 0.16666"
        );
        assert_eq!(fill("none", &value).unwrap(), "none");
        assert_eq!(
            fill("T={T/1000} {closed}", &value).unwrap(),
            "T=0.25 fec p=0.2"
        );
        for (text, word) in [
            ("{q}", "{q}"),
            ("{cc:2}", "a number"),
            ("{p", "a '}'"),
            ("{round}", "circle"),
        ] {
            assert!(fill(text, &value).unwrap_err().contains(word), "{text}");
        }
        assert_eq!(names("{cc} {p:2}").collect::<Vec<_>>(), ["cc", "p"]);
    }
}
