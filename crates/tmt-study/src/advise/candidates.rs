//! The candidates: those that every link may have, or a list of the caller.

use tmt_core::named::Parameter;
use tmt_core::scheme::{EXTRA, Family, INTERLEAVE, ROUNDS, Rounds, SchemeSpec, families};

use crate::values;

/// Largest number of candidates.
pub const MAX_CANDIDATES: usize = 100_000;

/// Data units of the codewords that are tried.
const DATA_UNITS: [u32; 2] = [10, 30];

/// Repair units per data unit, in percent. Longer codewords can have less than one for ten.
const REDUNDANCY_PERCENT: [u32; 7] = [3, 7, 10, 20, 30, 50, 100];

/// Interleaving depths that are tried, codewords.
const DEPTHS: [u32; 2] = [8, 64];

/// Limits of rounds that are tried besides that of the family.
const LIMITS: [u32; 1] = [1];

/// Reads a list of schemes as `tmt sweep --scheme` takes it: with commas and ranges. Repeated ones count once.
///
/// ```
/// let schemes = tmt_study::advise::read("arq,in-order,frame-arq:10/10..12:3")?;
/// let texts: Vec<&str> = schemes.iter().map(|scheme| scheme.text()).collect();
/// assert_eq!(texts, ["arq,in-order", "frame-arq:10/10", "frame-arq:10/11", "frame-arq:10/12"]);
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// A text that is not a scheme, or more than [`MAX_CANDIDATES`]; the message has found and expected.
pub fn read(list: &str) -> Result<Vec<SchemeSpec>, String> {
    let mut schemes = Vec::new();
    for value in values::split(list) {
        for text in values::expand(&value)? {
            let scheme: SchemeSpec = text.parse().map_err(|why| format!("{why}"))?;
            schemes.push(scheme);
        }
        if schemes.len() > MAX_CANDIDATES {
            return Err(format!(
                "found more than {MAX_CANDIDATES} schemes, expected fewer"
            ));
        }
    }
    Ok(once(schemes))
}

/// The schemes, without those that occur before.
fn once(schemes: Vec<SchemeSpec>) -> Vec<SchemeSpec> {
    let mut seen = std::collections::HashSet::new();
    let mut schemes = schemes;
    schemes.retain(|scheme| seen.insert(scheme.text().to_owned()));
    schemes
}

/// The candidates of every family of schemes, about two hundred: codewords of different length and redundancy, with and
/// without interleaving, limits of rounds and extra units as the family has them, out of order and in order.
#[must_use]
pub fn candidates() -> Vec<SchemeSpec> {
    let all = families().into_iter().flat_map(of_family);
    once(all.collect())
}

/// Schemes between those of the grid around `scheme`: one unit and half a step of redundancy more or less, twice the codeword at the
/// same redundancy, and half and twice the depth of interleaving.
pub(super) fn around(scheme: &SchemeSpec) -> Vec<SchemeSpec> {
    let family = scheme.family();
    let (data, units) = (scheme.data_units(), scheme.units());
    if !family.has_codeword() {
        return Vec::new();
    }
    let repair = units - data;
    let mut sizes = vec![(data, repair), (2 * data, 2 * repair)];
    for step in [1, repair / 5] {
        sizes.extend([(data, repair + step), (data, repair.saturating_sub(step))]);
    }
    let depth = scheme.interleave();
    let mut depths = vec![depth];
    if family.options().any(|option| *option == INTERLEAVE) {
        depths.extend([depth / 2, 2 * depth]);
    }
    let text = |(data, repair): (u32, u32), depth: u32| {
        let all = scheme.text().split(',').skip(1);
        let others = all.filter(|part| !part.starts_with("interleave="));
        let mut text = format!("{}:{data}/{}", family.name, data + repair);
        if depth > 1 {
            text += &format!(",interleave={depth}");
        }
        others.fold(text, |text, part| format!("{text},{part}"))
    };
    let of_sizes = sizes.iter().map(|size| text(*size, depth));
    let of_depths = depths.iter().map(|depth| text((data, repair), *depth));
    let all = of_sizes
        .chain(of_depths)
        .filter_map(|text| text.parse().ok());
    let mut all = once(all.collect());
    all.retain(|one| one.text() != scheme.text());
    all
}

fn of_family(family: &'static Family) -> Vec<SchemeSpec> {
    let mut texts = vec![family.name.to_owned()];
    if family.has_codeword() {
        texts = codewords(family.repeats());
        for text in &mut texts {
            *text = format!("{}:{text}", family.name);
        }
    }
    let mut texts: Vec<(String, bool)> = texts.into_iter().map(|text| (text, false)).collect();
    for option in family.options() {
        let tried: &[u32] = match option {
            option if *option == INTERLEAVE => &DEPTHS,
            option if *option == ROUNDS => &LIMITS,
            option if *option == EXTRA => &[1],
            _ => &[],
        };
        let plain = texts.clone();
        for value in tried {
            // One option at a time: their effects are nearly independent, and the list stays short.
            let given = plain.iter().filter(|(_, has_option)| !has_option);
            texts.extend(given.map(|(text, _)| (with(text, option, *value), true)));
        }
    }
    let schemes = texts.into_iter().filter_map(|(text, _)| text.parse().ok());
    let schemes: Vec<SchemeSpec> = schemes.collect();
    // Without codewords and repeats nothing is ever out of order.
    let is_reordered = family.has_codeword() || family.repeats();
    let both = |scheme: SchemeSpec| {
        let ordered = is_reordered.then(|| scheme.clone().with_order());
        std::iter::once(scheme).chain(ordered)
    };
    schemes.into_iter().flat_map(both).collect()
}

/// `text` with a further option.
fn with(text: &str, option: &Parameter, value: u32) -> String {
    let mark = if text.contains(':') { ',' } else { ':' };
    format!("{text}{mark}{}={value}", option.name)
}

/// Sizes ND/N of codewords, with one without redundancy for families that repeat them.
fn codewords(repeats: bool) -> Vec<String> {
    let mut sizes = Vec::new();
    for data in DATA_UNITS {
        if repeats {
            sizes.push(format!("{data}/{data}"));
        }
        for percent in REDUNDANCY_PERCENT {
            let repair = data * percent / 100;
            if repair > 0 {
                sizes.push(format!("{data}/{}", data + repair));
            }
        }
    }
    sizes
}

/// Decides whether a family's candidates are tried in order, too.
trait Repeats {
    fn repeats(&self) -> bool;
}

impl Repeats for Family {
    fn repeats(&self) -> bool {
        self.make.default_rounds == Rounds::Unlimited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_families_and_their_options_are_tried() {
        let all = candidates();
        assert!((180..=280).contains(&all.len()), "{}", all.len());
        for family in families() {
            let own: Vec<&SchemeSpec> = all
                .iter()
                .filter(|scheme| scheme.family() == family)
                .collect();
            assert!(!own.is_empty(), "{}", family.name);
            for option in family.options() {
                let mark = format!("{}=", option.name);
                assert!(own.iter().any(|scheme| scheme.text().contains(&mark)));
            }
            if family.repeats() {
                let ordered = own.iter().filter(|scheme| scheme.in_order()).count();
                assert_eq!(2 * ordered, own.len(), "{}", family.name);
            }
        }
    }

    #[test]
    fn neighbours_are_between_those_of_the_grid() {
        let texts = |text: &str| -> Vec<String> {
            let all = around(&text.parse().unwrap());
            all.iter().map(|one| one.text().to_owned()).collect()
        };
        assert_eq!(
            texts("fec:30/36,interleave=8,in-order"),
            [
                "fec:60/72,interleave=8,in-order",
                "fec:30/37,interleave=8,in-order",
                "fec:30/35,interleave=8,in-order",
                "fec:30/36,interleave=4,in-order",
                "fec:30/36,interleave=16,in-order",
            ]
        );
        assert!(texts("harq:10/10,extra=1").contains(&"harq:10/11,extra=1".to_owned()));
        assert!(texts("arq").is_empty());
    }

    #[test]
    fn a_list_has_ranges_and_each_scheme_once() {
        let texts = |list: &str| -> Vec<String> {
            let schemes = read(list).unwrap();
            schemes.iter().map(|one| one.text().to_owned()).collect()
        };
        assert_eq!(
            texts("arq,harq:5/7,extra=1,in-order,arq"),
            ["arq", "harq:5/7,extra=1,in-order"]
        );
        assert_eq!(texts("frame-arq:10/10..14:3,in-order").len(), 3);
        assert!(read("").unwrap_err().contains("unknown scheme ''"));
        assert!(
            read("arq,hrq:1/2")
                .unwrap_err()
                .contains("did you mean 'harq'")
        );
    }
}
