//! Verdicts: distance of ours from the target.

use fluid_tcp::simulation::replications::Estimate;
use serde::Serialize;

/// Side of a model on which a simulation can be at any distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The model is an upper bound.
    Upper,
    /// The model is a lower bound.
    Lower,
}

/// Verdict on a row. The string form is that of tables for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Within tolerance and interval, on both sides.
    Ok,
    /// On the side of a bound that is allowed, at any distance. This says less than `ok`.
    Bounded,
    /// Off the published value, at the value that the entry expects and explains.
    Deviates,
    /// The value was an input of a fit, which it cannot test.
    Fitted,
    /// A statement that ours confirms.
    Held,
    /// A statement that ours contradicts, as the entry says, and why.
    Contradicted,
    /// A statement about an input, which our settings have.
    Input,
    /// Nothing to compare with.
    Shown,
    /// An assumption of the model does not hold, or there are too few events.
    NotJudged,
    /// Beyond tolerance and interval.
    Off,
}

impl Verdict {
    /// All verdicts, in the order of summaries.
    pub const ALL: [Self; 10] = [
        Self::Ok,
        Self::Bounded,
        Self::Deviates,
        Self::Fitted,
        Self::Held,
        Self::Contradicted,
        Self::Input,
        Self::Shown,
        Self::NotJudged,
        Self::Off,
    ];

    /// The word of tables for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Bounded => "bounded",
            Self::Deviates => "deviates",
            Self::Fitted => "fitted",
            Self::Held => "held",
            Self::Contradicted => "contradicted",
            Self::Input => "input",
            Self::Shown => "shown",
            Self::NotJudged => "not judged",
            Self::Off => "OFF",
        }
    }

    /// The word of tables for programs.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::NotJudged => "not_judged",
            Self::Off => "off",
            other => other.word(),
        }
    }
}

/// Role of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Role {
    /// A value to compare.
    #[default]
    Value,
    /// A value that a fit has seen.
    Fitted,
    /// A statement.
    Statement,
    /// A statement about an input.
    Input,
}

/// All that decides a verdict.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) ours: Option<Estimate>,
    /// Value to compare with.
    pub(super) target: Option<f64>,
    /// Largest deviation as a share of the target; `None` if it is not judged.
    pub(super) tolerance: Option<f64>,
    pub(super) bound: Option<Bound>,
    /// Expected value where it is not the target, as the entry says.
    pub(super) known: Option<f64>,
    pub(super) role: Role,
    /// Whether there is a reason not to judge.
    pub(super) is_excused: bool,
}

impl Case {
    /// Tolerance and interval as a distance from `value`.
    fn allowed(&self, value: f64) -> f64 {
        let interval = self.ours.and_then(|ours| ours.ci95).unwrap_or(0.0);
        self.tolerance.unwrap_or(0.0) * value.abs() + interval
    }

    fn is_near(&self, ours: f64, value: f64) -> bool {
        // NaN is near nothing.
        (ours - value).abs() <= self.allowed(value)
    }

    pub(super) fn verdict(&self) -> Verdict {
        if self.is_excused {
            return Verdict::NotJudged;
        }
        let Some((target, _)) = self.target.zip(self.tolerance) else {
            return Verdict::Shown;
        };
        let ours = self.ours.map_or(f64::NAN, |ours| ours.mean);
        let is_known = self.known.is_some_and(|known| self.is_near(ours, known));
        if self.role == Role::Fitted && !ours.is_nan() {
            return Verdict::Fitted;
        }
        if let Some(bound) = self.bound {
            let above = ours - target;
            let is_within = match bound {
                Bound::Upper => above <= self.allowed(target),
                Bound::Lower => above >= -self.allowed(target),
            };
            return match self.known {
                _ if !is_within => Verdict::Off,
                Some(_) if !is_known => Verdict::Off,
                _ => Verdict::Bounded,
            };
        }
        match (self.is_near(ours, target), self.role) {
            (true, Role::Statement) => Verdict::Held,
            (true, Role::Input) => Verdict::Input,
            (true, _) => Verdict::Ok,
            (false, Role::Statement | Role::Input) if is_known => Verdict::Contradicted,
            (false, _) if is_known => Verdict::Deviates,
            (false, _) => Verdict::Off,
        }
    }
}

/// (ours − target) / |target|; 0 if both are equal.
pub(super) fn deviation(ours: f64, target: f64) -> f64 {
    let off = ours - target;
    if off.abs() <= f64::MIN_POSITIVE {
        0.0
    } else {
        off / target.abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(ours: f64, interval: f64) -> Case {
        Case {
            ours: Some(Estimate {
                mean: ours,
                ci95: Some(interval),
                runs: 2,
                block: None,
            }),
            target: Some(1.0),
            tolerance: Some(0.02),
            bound: None,
            known: None,
            role: Role::Value,
            is_excused: false,
        }
    }

    #[test]
    fn values_beyond_tolerance_plus_interval_are_off() {
        for (ours, interval, verdict) in [
            (1.019, 0.0, Verdict::Ok),
            (1.021, 0.0, Verdict::Off),
            (0.979, 0.0, Verdict::Off),
            (1.021, 0.002, Verdict::Ok),
            (f64::NAN, 9.0, Verdict::Off),
        ] {
            assert_eq!(case(ours, interval).verdict(), verdict, "{ours} {interval}");
        }
        let absent = Case {
            ours: None,
            ..case(1.0, 0.0)
        };
        assert_eq!(absent.verdict(), Verdict::Off);
        let negative = Case {
            target: Some(-1.0),
            ..case(-1.019, 0.0)
        };
        assert_eq!(negative.verdict(), Verdict::Ok);
    }

    #[test]
    fn a_bound_is_never_ok_and_can_be_off_on_either_side() {
        for (bound, within, beyond) in [(Bound::Upper, 0.1, 1.1), (Bound::Lower, 7.0, 0.9)] {
            let bounded = |ours, known| {
                let bound = Some(bound);
                Case {
                    bound,
                    known,
                    ..case(ours, 0.0)
                }
                .verdict()
            };
            assert_eq!(bounded(1.0, None), Verdict::Bounded);
            assert_eq!(bounded(within, None), Verdict::Bounded);
            assert_eq!(bounded(beyond, None), Verdict::Off);
            assert_eq!(bounded(f64::NAN, None), Verdict::Off);
            // Where the entry says how far it is, another distance is off.
            assert_eq!(bounded(within, Some(within)), Verdict::Bounded);
            assert_eq!(bounded(within, Some(within * 1.5)), Verdict::Off);
        }
    }

    #[test]
    fn what_is_known_to_differ_must_differ_as_it_is_known_to() {
        for (role, verdict) in [
            (Role::Value, Verdict::Deviates),
            (Role::Statement, Verdict::Contradicted),
            (Role::Input, Verdict::Contradicted),
        ] {
            let known = |ours| {
                let known = Some(1.4);
                Case {
                    known,
                    role,
                    ..case(ours, 0.0)
                }
                .verdict()
            };
            assert_eq!(known(1.41), verdict);
            assert_eq!(known(1.2), Verdict::Off);
            assert_eq!(known(f64::NAN), Verdict::Off);
        }
        let role = |role| {
            Case {
                role,
                ..case(1.0, 0.0)
            }
            .verdict()
        };
        assert_eq!(role(Role::Statement), Verdict::Held);
        assert_eq!(role(Role::Input), Verdict::Input);
        assert_eq!(role(Role::Fitted), Verdict::Fitted);
    }

    #[test]
    fn without_a_target_or_a_tolerance_a_value_is_only_shown() {
        let without = Case {
            target: None,
            ..case(9.0, 0.0)
        };
        assert_eq!(without.verdict(), Verdict::Shown);
        let untold = Case {
            tolerance: None,
            ..case(9.0, 0.0)
        };
        assert_eq!(untold.verdict(), Verdict::Shown);
        let excused = Case {
            is_excused: true,
            ..case(9.0, 0.0)
        };
        assert_eq!(excused.verdict(), Verdict::NotJudged);
    }
}
