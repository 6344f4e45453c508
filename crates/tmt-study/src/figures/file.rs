//! Figures in TOML.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use tmt_core::types::Span;
use toml::de::{DeTable, DeValue};

use super::Figure;
use super::cells::{Filter, Group, has};
use super::check::{Check, Shape};
use super::judge::Role;
use super::measure::Measure;
use super::own;
use super::part::{self, Part, Quantity, TheoryOf, Unnamed, Values};
use super::rules::RULES;
use crate::plan::file::{of_table, place};
use crate::plan::{Draft, PlanError};

/// A file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureFile {
    name: String,
    #[serde(default)]
    also: Vec<String>,
    about: String,
    /// Where its values are published, for those that do not say it themselves.
    #[serde(default)]
    source: String,
    #[serde(default)]
    notes: Vec<String>,
    open: Option<String>,
    /// How long it takes, if that is too long for a run of all.
    long: Option<String>,
    #[serde(default)]
    part: Vec<PartFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartFile {
    /// The figure whose first part has what this one leaves out.
    like: Option<String>,
    /// Read with its places.
    #[serde(rename = "plan")]
    _plan: Option<IgnoredAny>,
    label: Option<String>,
    subject: Option<String>,
    run: Option<String>,
    shortest: Option<String>,
    #[serde(default)]
    validate: Vec<String>,
    about: Option<String>,
    quantity: Option<Vec<QuantityFile>>,
    #[serde(default)]
    check: Vec<CheckFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuantityFile {
    name: String,
    label: Option<String>,
    metric: String,
    #[serde(default)]
    unit: String,
    #[serde(default = "one")]
    scale: f64,
    #[serde(default = "one")]
    divisor: f64,
    source: Option<String>,
    #[serde(default)]
    only: BTreeMap<String, Texts>,
    published: Option<Numbers>,
    known: Option<Numbers>,
    why: Option<String>,
    tolerance: Option<f64>,
    #[serde(default)]
    role: RoleFile,
    #[serde(default)]
    fitted: Vec<BTreeMap<String, Texts>>,
    theory: Option<String>,
    result: Option<String>,
    by: Option<String>,
    rule: Option<String>,
    allowed: Option<Texts>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckFile {
    name: String,
    metric: String,
    #[serde(default)]
    unit: String,
    #[serde(default = "one")]
    divisor: f64,
    source: Option<String>,
    #[serde(default)]
    at: BTreeMap<String, Texts>,
    best: Option<String>,
    least: Option<String>,
    rises: Option<Vec<BTreeMap<String, Texts>>>,
    ratio: Option<[BTreeMap<String, Texts>; 2]>,
    difference: Option<[BTreeMap<String, Texts>; 2]>,
    above: Option<[BTreeMap<String, Texts>; 2]>,
    within: Option<[f64; 2]>,
    crossing: Option<String>,
    of: Option<[BTreeMap<String, Texts>; 2]>,
    published: Option<f64>,
    #[serde(default)]
    tolerance: f64,
    known: Option<Numbers>,
    why: Option<String>,
    #[serde(default)]
    role: RoleFile,
}

fn one() -> f64 {
    1.0
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RoleFile {
    #[default]
    Value,
    Statement,
    Input,
}

impl From<RoleFile> for Role {
    fn from(role: RoleFile) -> Self {
        match role {
            RoleFile::Value => Self::Value,
            RoleFile::Statement => Self::Statement,
            RoleFile::Input => Self::Input,
        }
    }
}

/// A number, or an array of numbers or arrays.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Numbers {
    One(f64),
    Many(Vec<Numbers>),
}

impl Numbers {
    fn all(&self) -> Vec<f64> {
        let mut all = Vec::new();
        self.flat(&mut all);
        all
    }

    fn flat(&self, into: &mut Vec<f64>) {
        match self {
            Self::One(number) => into.push(*number),
            Self::Many(all) => all.iter().for_each(|numbers| numbers.flat(into)),
        }
    }
}

/// A text or number, or an array of them.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Texts {
    Whole(i64),
    Number(f64),
    Text(String),
    Many(Vec<Texts>),
}

impl Texts {
    fn flat(&self) -> Vec<String> {
        match self {
            Self::Whole(number) => vec![number.to_string()],
            Self::Number(number) => vec![number.to_string()],
            Self::Text(text) => vec![text.clone()],
            Self::Many(all) => all.iter().flat_map(Self::flat).collect(),
        }
    }
}

fn filter(of: &BTreeMap<String, Texts>) -> Filter {
    let entries = of.iter();
    entries
        .map(|(name, texts)| (name.clone(), texts.flat()))
        .collect()
}

/// Name of the figure in `text`, as far as it can be read.
pub(super) fn name(text: &str) -> &str {
    let line = text.lines().find_map(|line| line.strip_prefix("name = "));
    line.unwrap_or("a figure").trim_matches('"')
}

/// Where the parts of a file are.
struct Places<'a> {
    text: &'a str,
    plans: Vec<Option<DeTable<'a>>>,
    parts: Vec<(usize, usize)>,
}

impl<'a> Places<'a> {
    fn of(text: &'a str) -> Result<Self, PlanError> {
        let table = DeTable::parse(text).map_err(|error| unreadable(text, &error))?;
        let (mut plans, mut parts) = (Vec::new(), Vec::new());
        for (key, value) in table.into_inner() {
            let DeValue::Array(found) = value.into_inner() else {
                continue;
            };
            if key.get_ref() != "part" {
                continue;
            }
            for part in found {
                parts.push(place(text, &part.span()));
                let mut plan = None;
                if let DeValue::Table(entries) = part.into_inner() {
                    for (key, value) in entries {
                        if key.get_ref() == "plan"
                            && let DeValue::Table(found) = value.into_inner()
                        {
                            plan = Some(found);
                        }
                    }
                }
                plans.push(plan);
            }
        }
        Ok(Self { text, plans, parts })
    }

    fn refuse(&self, part: usize, message: String) -> PlanError {
        PlanError {
            place: self.parts.get(part).copied(),
            ..PlanError::whole(message)
        }
    }
}

fn unreadable(text: &str, error: &toml::de::Error) -> PlanError {
    PlanError {
        place: error.span().map(|span| place(text, &span)),
        ..PlanError::whole(format!(
            "{}; expected a figure (docs/figures.md)",
            error.message().trim()
        ))
    }
}

/// Reads a figure. `known` has those that it can be like.
pub(super) fn parse<'f>(
    text: &str,
    known: &dyn Fn(&str) -> Option<&'f Figure>,
    unnamed: Unnamed<'_>,
) -> Result<Figure, PlanError> {
    let file: FigureFile = toml::from_str(text).map_err(|error| unreadable(text, &error))?;
    let mut places = Places::of(text)?;
    if file.open.is_some() != file.part.is_empty() {
        return Err(PlanError::whole(
            "found neither or both of `open` and [[part]], expected one of them",
        ));
    }
    // It names files.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if file.name.is_empty() || !file.name.chars().all(is_plain) {
        return Err(PlanError::whole(format!(
            "name: found '{}', expected letters, digits, - and _",
            file.name
        )));
    }
    let mut parts = Vec::new();
    for (number, part) in file.part.iter().enumerate() {
        let plan = places.plans.get_mut(number).and_then(Option::take);
        let own = match plan {
            Some(table) => of_table(table, places.text)?,
            None => Draft::default(),
        };
        let base = match &part.like {
            None => None,
            Some(name) => {
                let figure = known(name).and_then(|figure| figure.parts.first());
                Some(figure.ok_or_else(|| {
                    places.refuse(
                        number,
                        format!("`like`: found {name}, expected a figure with an experiment"),
                    )
                })?)
            }
        };
        let read = Reader {
            file: &file,
            part,
            base,
        };
        let read = read.part(own, unnamed).map_err(|error| match error.place {
            Some(_) => error,
            None => places.refuse(number, error.message),
        })?;
        parts.push(read);
    }
    Ok(Figure {
        name: file.name,
        also: file.also,
        about: file.about,
        notes: file.notes,
        open: file.open,
        long: file.long,
        parts,
        text: text.to_owned(),
    })
}

/// A part while it is read.
struct Reader<'a> {
    file: &'a FigureFile,
    part: &'a PartFile,
    base: Option<&'a Part>,
}

impl Reader<'_> {
    fn part(&self, own: Draft, unnamed: Unnamed<'_>) -> Result<Part, PlanError> {
        let refuse = PlanError::whole;
        let mut draft = self
            .base
            .map(|base| base.draft.clone().without_places())
            .unwrap_or_default();
        draft.replace_with(own);
        let label = self.part.label.clone().or_else(|| self.base?.label.clone());
        let subject = self
            .part
            .subject
            .clone()
            .or_else(|| Some(self.base?.subject.clone()));
        let subject = subject.unwrap_or_default();
        part::label_all(&mut draft, self.names(label.as_deref(), &subject));
        // Theories and labels use variables, too.
        draft.keep_all();
        let plan = draft.clone().plan(unnamed)?;
        let shortest = match &self.part.shortest {
            Some(text) => text
                .parse()
                .map_err(|error| refuse(format!("`shortest`: {error}")))?,
            None => self.base.map_or(Span::ZERO, |base| base.shortest),
        };
        let own = match &self.part.run {
            Some(name) => Some(own::named(name).map_err(|why| refuse(format!("`run`: {why}")))?),
            None => self.base.and_then(|base| base.own),
        };
        let mut part = Part {
            draft,
            plan,
            label,
            subject,
            own,
            validate: self.part.validate.clone(),
            about: self
                .part
                .about
                .clone()
                .unwrap_or_else(|| self.file.about.clone()),
            shortest,
            quantities: Vec::new(),
            checks: Vec::new(),
        };
        let groups = part.groups(&part.plan)?;
        let keys: Vec<(Vec<String>, &Group)> = groups
            .iter()
            .map(|group| (part.key(group), group))
            .collect();
        part.quantities = match &self.part.quantity {
            Some(all) => {
                let all = all.iter().map(|quantity| self.quantity(quantity, &keys));
                all.collect::<Result<_, _>>().map_err(refuse)?
            }
            None => self.inherited(&keys),
        };
        let checks = self.part.check.iter().map(|check| self.check(check));
        part.checks = checks.collect::<Result<_, _>>().map_err(refuse)?;
        if part.quantities.is_empty() && part.checks.is_empty() {
            return Err(refuse(
                "found nothing to look at, expected [[part.quantity]] or [[part.check]]".to_owned(),
            ));
        }
        Ok(part)
    }

    /// Names that texts, filters and rules need.
    fn names(&self, label: Option<&str>, subject: &str) -> Vec<String> {
        let quantities = self.part.quantity.iter().flatten();
        let texts = quantities.clone().flat_map(|quantity| {
            let texts = [
                Some(&quantity.name),
                quantity.label.as_ref(),
                quantity.theory.as_ref(),
                quantity.result.as_ref(),
                quantity.by.as_ref(),
            ];
            texts.into_iter().flatten().map(String::as_str)
        });
        let allowed = quantities
            .clone()
            .filter_map(|quantity| match &quantity.allowed {
                Some(Texts::Text(text)) => Some(text.as_str()),
                _ => None,
            });
        let mut names = part::named(texts.chain(allowed).chain(label).chain([subject]));
        let rules = quantities
            .clone()
            .filter_map(|quantity| quantity.rule.as_deref());
        for (rule, needs) in RULES {
            if rules.clone().any(|used| used == rule) {
                names.extend(needs.iter().map(|need| (*need).to_owned()));
            }
        }
        let filters =
            quantities.flat_map(|quantity| quantity.fitted.iter().chain([&quantity.only]));
        let of_checks = self.part.check.iter().flat_map(|check| {
            let pairs = check.ratio.iter().chain(&check.difference);
            let pairs = pairs.chain(&check.above).chain(&check.of);
            let pairs = pairs.flatten();
            pairs.chain(check.rises.iter().flatten()).chain([&check.at])
        });
        names.extend(
            filters
                .chain(of_checks)
                .flat_map(|filter| filter.keys().cloned()),
        );
        let axes = self
            .part
            .check
            .iter()
            .flat_map(|check| [&check.best, &check.least, &check.crossing]);
        names.extend(axes.flatten().cloned());
        names
    }

    /// The quantities of the figure that this one is like. Its published values stay if the cells are the same.
    fn inherited(&self, keys: &[(Vec<String>, &Group)]) -> Vec<Quantity> {
        let Some(base) = self.base else {
            return Vec::new();
        };
        let are_same = base.groups(&base.plan).is_ok_and(|groups| {
            let own = keys.iter().map(|(key, _)| key.clone());
            groups.iter().map(|group| base.key(group)).eq(own)
        });
        let mut all = base.quantities.clone();
        for quantity in all.iter_mut().filter(|_| !are_same) {
            quantity.published = Values::new();
            quantity.known = Values::new();
        }
        all
    }

    fn quantity(
        &self,
        of: &QuantityFile,
        keys: &[(Vec<String>, &Group)],
    ) -> Result<Quantity, String> {
        let name = &of.name;
        let about = |why: String| format!("{name}: {why}");
        let only = filter(&of.only);
        let cells: Vec<&Vec<String>> = keys
            .iter()
            .filter(|(_, group)| has(&group.cells[0], &only))
            .map(|(key, _)| key)
            .collect();
        if cells.is_empty() {
            return Err(about("`only` chooses no cell".to_owned()));
        }
        let values = |key: &str, numbers: &Option<Numbers>| -> Result<Values, String> {
            let mut flat = Vec::new();
            if let Some(numbers) = numbers {
                numbers.flat(&mut flat);
                if flat.len() != cells.len() {
                    return Err(about(format!(
                        "`{key}`: found {} values, expected {}, one a cell, nan where there is none",
                        flat.len(),
                        cells.len()
                    )));
                }
            }
            let pairs = cells.iter().map(|key| (*key).clone()).zip(flat);
            Ok(pairs.filter(|(_, value)| !value.is_nan()).collect())
        };
        if let Some(rule) = of
            .rule
            .as_ref()
            .filter(|rule| RULES.iter().all(|(known, _)| known != rule))
        {
            let all: Vec<&str> = RULES.iter().map(|(name, _)| *name).collect();
            return Err(about(format!(
                "`rule`: found {rule}, expected one of {}",
                all.join(", ")
            )));
        }
        if of.known.is_some() && of.why.is_none() {
            return Err(about("`known` needs `why`".to_owned()));
        }
        let theory = of.theory.as_ref().map(|model| TheoryOf {
            model: model.clone(),
            result: of.result.clone().unwrap_or_default(),
            by: of.by.clone().unwrap_or_default(),
            rule: of.rule.clone(),
            allowed: match &of.allowed {
                Some(texts) => texts.flat().concat(),
                None => "1".to_owned(),
            },
        });
        Ok(Quantity {
            name: name.clone(),
            label: of.label.clone(),
            metric: of.metric.clone(),
            measure: Measure::parse(&of.metric).map_err(about)?,
            unit: of.unit.clone(),
            scale: of.scale,
            divisor: of.divisor,
            source: of
                .source
                .clone()
                .unwrap_or_else(|| self.file.source.clone()),
            published: values("published", &of.published)?,
            known: values("known", &of.known)?,
            only,
            why: of.why.clone(),
            tolerance: of.tolerance,
            role: of.role.into(),
            fitted: of.fitted.iter().map(filter).collect(),
            theory,
        })
    }

    fn check(&self, of: &CheckFile) -> Result<Check, String> {
        let about = |why: &str| format!("{}: {why}", of.name);
        let shapes = [
            of.best.clone().map(Shape::Best),
            of.least.clone().map(Shape::Least),
            of.rises
                .as_ref()
                .map(|all| Shape::Rises(all.iter().map(filter).collect())),
            of.ratio
                .as_ref()
                .map(|[one, other]| Shape::Ratio(filter(one), filter(other))),
            of.difference
                .as_ref()
                .map(|[one, other]| Shape::Difference(filter(one), filter(other))),
            of.above
                .as_ref()
                .map(|[one, other]| Shape::Above(filter(one), filter(other))),
            of.within.map(|[low, high]| Shape::Within(low, high)),
            of.crossing
                .clone()
                .zip(of.of.as_ref())
                .map(|(axis, [one, other])| Shape::Crossing(axis, filter(one), filter(other))),
        ];
        let mut shapes = shapes.into_iter().flatten();
        let shape = shapes.next().filter(|_| shapes.next().is_none());
        let shape = shape.ok_or_else(|| {
            about("expected one of `best`, `least`, `rises`, `ratio`, `difference`, `above`, `within`, and `crossing` with `of`")
        })?;
        let published = match &shape {
            // Each step.
            Shape::Rises(choices) => Some(tmt_core::types::to_f64(
                choices.len().saturating_sub(1) as u64
            )),
            // All cells.
            Shape::Within(..) | Shape::Above(..) => Some(0.0),
            _ => of.published,
        };
        if of.known.is_some() && of.why.is_none() {
            return Err(about("`known` needs `why`"));
        }
        Ok(Check {
            name: of.name.clone(),
            metric: of.metric.clone(),
            measure: Measure::parse(&of.metric).map_err(|why| about(&why))?,
            unit: of.unit.clone(),
            divisor: of.divisor,
            shape,
            at: filter(&of.at),
            published: published.ok_or_else(|| about("expected `published`"))?,
            tolerance: of.tolerance,
            known: of.known.as_ref().map(Numbers::all).unwrap_or_default(),
            why: of.why.clone(),
            source: of
                .source
                .clone()
                .unwrap_or_else(|| self.file.source.clone()),
            role: match of.role {
                RoleFile::Value => Role::Statement,
                role => role.into(),
            },
        })
    }
}
