//! Statements about the shape of a curve: where its optimum is, in what order values are, their ratio, where two curves cross.

use fluid_tcp::simulation::replications::Estimate;

use super::cells::{Filter, Group, found, has};
use super::judge::{Case, Role};
use super::measure::Measure;
use super::row::Row;
use crate::record::Records;

/// A statement.
#[derive(Debug, Clone)]
pub(super) struct Check {
    /// Statement of the paper.
    pub(super) name: String,
    pub(super) metric: String,
    pub(super) measure: Measure,
    pub(super) unit: String,
    pub(super) divisor: f64,
    pub(super) shape: Shape,
    /// Cells that it is about.
    pub(super) at: Filter,
    pub(super) published: f64,
    pub(super) tolerance: f64,
    /// Expected values if they are not the published one, and why. Several if seeds decide between them.
    pub(super) known: Vec<f64>,
    pub(super) why: Option<String>,
    pub(super) source: String,
    pub(super) role: Role,
}

/// Shape of the statement.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    /// The value of an axis at the largest value.
    Best(String),
    /// The value of an axis at the smallest value.
    Least(String),
    /// The number of steps from one choice of cells to the next in which the value rises.
    Rises(Vec<Filter>),
    /// The value of the first choice over that of the second.
    Ratio(Filter, Filter),
    /// The value of the first choice less that of the second.
    Difference(Filter, Filter),
    /// The number of cells whose value is in this range, ends included.
    Within(f64, f64),
    /// The smallest difference of the first choice and the second, cell by cell; 0 or above if the statement holds.
    Above(Filter, Filter),
    /// The value of an axis where the curves of two choices first cross.
    Crossing(String, Filter, Filter),
}

impl Check {
    /// The row of this statement.
    pub(super) fn row(&self, groups: &[Group], records: &Records) -> Row {
        let groups: Vec<&Group> = groups
            .iter()
            .filter(|group| has(&group.cells[0], &self.at))
            .collect();
        let ours = self.ours(&groups, records);
        let published = match self.shape {
            Shape::Within(..) => tmt_core::types::to_f64(groups.len() as u64),
            _ => self.published,
        };
        let known = self.known.iter().copied().min_by(|one, other| {
            let from = |known: &f64| ours.map_or(0.0, |ours| (ours - known).abs());
            from(one).total_cmp(&from(other))
        });
        let ours = ours.map(|mean| Estimate {
            mean,
            ci95: None,
            runs: groups.len(),
            block: None,
        });
        let case = Case {
            ours,
            target: Some(published),
            tolerance: Some(self.tolerance),
            bound: None,
            known,
            role: self.role,
            is_excused: false,
        };
        let is_left_out = self.is_left_out(&groups);
        let is_above = case.ours.is_some_and(|ours| ours.mean >= 0.0);
        let verdict = match &self.shape {
            _ if is_left_out => super::Verdict::NotJudged,
            // Any margin confirms it, and one that is known not to would be news.
            Shape::Above(..) if is_above && self.known.is_empty() => super::Verdict::Held,
            Shape::Above(..) if is_above => super::Verdict::Off,
            _ => case.verdict(),
        };
        let why = self.why.clone().filter(|_| verdict != super::Verdict::Held);
        let left_out = "cells of this statement are left out".to_owned();
        let why = if is_left_out { Some(left_out) } else { why };
        Row {
            label: self.name.clone(),
            axes: Vec::new(),
            subject: String::new(),
            quantity: "statement".to_owned(),
            metric: self.metric.clone(),
            unit: self.unit.clone(),
            published: Some(published),
            theory: None,
            by: String::new(),
            model: String::new(),
            ours,
            tolerance: Some(self.tolerance),
            allowed: 1.0,
            bound: None,
            verdict,
            why,
            source: self.source.clone(),
        }
    }

    /// Whether a setting has left out cells that the statement is about.
    fn is_left_out(&self, groups: &[&Group]) -> bool {
        let lacks = |filter: &Filter| !groups.iter().any(|group| has(&group.cells[0], filter));
        let named: usize = self.at.values().map(Vec::len).product();
        groups.len() < named
            || match &self.shape {
                Shape::Best(_) | Shape::Least(_) | Shape::Within(..) => groups.is_empty(),
                Shape::Rises(choices) => choices.iter().any(lacks),
                Shape::Ratio(one, other)
                | Shape::Difference(one, other)
                | Shape::Above(one, other)
                | Shape::Crossing(_, one, other) => lacks(one) || lacks(other),
            }
    }

    fn ours(&self, groups: &[&Group], records: &Records) -> Option<f64> {
        let mean = |group: &Group| {
            found(group, records, &self.measure)
                .ours
                .map(|ours| ours.mean / self.divisor)
        };
        let at = |group: &Group, axis: &str| group.cells[0].text(axis)?.parse::<f64>().ok();
        let chosen = |filter: &Filter| {
            let mut found = groups.iter().filter(|group| has(&group.cells[0], filter));
            let first = found.next()?;
            // More than one would be no choice.
            found.next().is_none().then(|| mean(first))?
        };
        match &self.shape {
            Shape::Best(axis) => {
                let points: Option<Vec<(f64, f64)>> = groups
                    .iter()
                    .map(|group| Some((at(group, axis)?, mean(group)?)))
                    .collect();
                let points = points?;
                // The first of equal ones.
                let best = points
                    .iter()
                    .rev()
                    .max_by(|one, other| one.1.total_cmp(&other.1));
                best.map(|(at, _)| *at)
            }
            Shape::Least(axis) => {
                let points: Option<Vec<(f64, f64)>> = groups
                    .iter()
                    .map(|group| Some((at(group, axis)?, mean(group)?)))
                    .collect();
                let points = points?;
                let least = points.iter().min_by(|one, other| one.1.total_cmp(&other.1));
                least.map(|(at, _)| *at)
            }
            Shape::Rises(choices) => {
                let values: Option<Vec<f64>> = choices.iter().map(chosen).collect();
                let rises = values?.windows(2).filter(|pair| pair[1] > pair[0]).count();
                Some(tmt_core::types::to_f64(rises as u64))
            }
            Shape::Ratio(one, other) => Some(chosen(one)? / chosen(other)?),
            Shape::Within(low, high) => {
                let values: Option<Vec<f64>> = groups.iter().map(|group| mean(group)).collect();
                let within = values?
                    .into_iter()
                    .filter(|value| (*low..=*high).contains(value));
                Some(tmt_core::types::to_f64(within.count() as u64))
            }
            Shape::Difference(one, other) => Some(chosen(one)? - chosen(other)?),
            Shape::Above(one, other) => {
                let curve = |filter: &Filter| -> Option<Vec<f64>> {
                    let found = groups.iter().filter(|group| has(&group.cells[0], filter));
                    found.map(|group| mean(group)).collect()
                };
                least_difference(&curve(one)?, &curve(other)?)
            }
            Shape::Crossing(axis, one, other) => {
                let curve = |filter: &Filter| -> Option<Vec<(f64, f64)>> {
                    let found = groups.iter().filter(|group| has(&group.cells[0], filter));
                    found
                        .map(|group| Some((at(group, axis)?, mean(group)?)))
                        .collect()
                };
                crossing(&curve(one)?, &curve(other)?)
            }
        }
    }
}

/// The smallest difference of two curves; `None` if they do not have the same number of points.
fn least_difference(one: &[f64], other: &[f64]) -> Option<f64> {
    let differences = one.iter().zip(other).map(|(one, other)| one - other);
    let least = differences.min_by(f64::total_cmp);
    least.filter(|_| one.len() == other.len())
}

/// Where the difference of two curves over the same points first changes its sign, between two points by a straight line.
fn crossing(one: &[(f64, f64)], other: &[(f64, f64)]) -> Option<f64> {
    let points = one.iter().zip(other);
    let points = points.map(|((x, y), (_, z))| (*x, y - z));
    let points: Vec<(f64, f64)> = points.collect();
    let pair = points
        .windows(2)
        .find(|pair| (pair[0].1 < 0.0) != (pair[1].1 < 0.0))?;
    let [(from, before), (to, after)] = [pair[0], pair[1]];
    Some(from + (to - from) * before / (before - after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_of_a_curve_is_its_smallest() {
        assert_eq!(least_difference(&[3.0, 5.0], &[2.0, 4.5]), Some(0.5));
        assert_eq!(least_difference(&[3.0, 4.0], &[2.0, 4.5]), Some(-0.5));
        assert_eq!(least_difference(&[3.0, 4.0], &[2.0]), None);
        assert_eq!(least_difference(&[], &[]), None);
    }

    #[test]
    fn curves_cross_where_their_difference_is_zero() {
        let one = [(5.0, 12.0), (6.0, 8.0), (7.0, 5.0), (8.0, 5.0)];
        let other = [(5.0, 8.0), (6.0, 6.0), (7.0, 6.0), (8.0, 7.0)];
        // +2 at 6, -1 at 7: two thirds of the way.
        assert!((crossing(&one, &other).unwrap() - 6.666_666_7).abs() < 1e-6);
        assert_eq!(crossing(&one[2..], &other[2..]), None);
    }
}
