//! Macros that describe keys and models, with one line per key and per result.

/// Defines keys, one per line: domain, name and aliases, optional default, and meaning with the unit.
///
/// ```
/// tmt_core::keys! {
///     LOSS: Probability, "p" | "loss" = 0.01, "loss of a unit";
///     ROUNDS: Count(0, 100), "R", "rounds; unlimited if omitted";
///     ORDER: Word(&["yes", "no"]), "order" = "yes", "whether units are delivered in order";
/// }
/// assert_eq!(LOSS.preset_text().as_deref(), Some("0.01"));
/// assert!(ROUNDS.preset_text().is_none() && ORDER.parse("no").is_ok());
/// ```
#[macro_export]
macro_rules! keys {
    (@preset $domain:ident) => { None };
    (@preset Count $preset:expr) => { Some($crate::model::Value::Count($preset)) };
    (@preset Word $preset:expr) => { Some($crate::model::Value::Word($preset)) };
    (@preset $domain:ident $preset:expr) => { Some($crate::model::Value::Number($preset)) };
    ($(
        $vis:vis $key:ident: $domain:ident $(($($bound:expr),*))?,
        $name:literal $(| $alias:literal)* $(= $preset:expr)?, $about:literal;
    )*) => {$(
        #[doc = $about]
        $vis const $key: $crate::model::Key = $crate::model::Key {
            name: $name,
            aliases: &[$($alias),*],
            about: $about,
            preset: $crate::keys!(@preset $domain $($preset)?),
            domain: $crate::model::Domain::$domain $(($($bound),*))?,
        };
    )*};
}

/// Defines a model: name and question, source, notes, example, keys, evaluation, results (one per line), and remarks with
/// their conditions.
///
/// `answer` may return an error. Results and remarks can use its variables. `and f(…);` passes the outcome to a function
/// that adds remarks.
///
/// ```
/// use tmt_core::{closed_form, keys};
///
/// keys! {
///     P: Probability, "p" = 0.1, "loss of a unit";
/// }
///
/// closed_form! {
///     /// How often a unit is sent.
///     pub static MODEL: "repeats", "Transmissions of a unit";
///     source: "the geometric distribution";
///     notes: ["Losses are independent"];
///     example: "p=0.5";
///     keys: [P];
///     answer(arguments) {
///         let p = arguments.number(&P);
///     }
///     results {
///         "mean" = 1.0 / (1.0 - p), "mean transmissions";
///     }
///     remarks {
///         if p >= 1.0 => "p = 1: nothing arrives";
///     }
/// }
///
/// assert_eq!(MODEL.run(MODEL.example)?.get("mean"), Some(2.0));
/// # Ok::<(), tmt_core::model::ModelError>(())
/// ```
#[macro_export]
macro_rules! closed_form {
    (
        $(#[$doc:meta])*
        $vis:vis static $model:ident: $name:literal, $about:literal;
        source: $source:expr;
        notes: $notes:expr;
        example: $example:literal;
        keys: $keys:expr;
        answer($arguments:ident) { $($body:tt)* }
        results { $($result:literal = $value:expr, $meaning:literal;)* }
        $(remarks { $(if $applies:expr => $remark:expr;)* })?
        $(and $($say:ident)::+($($with:expr),*);)?
    ) => {
        $(#[$doc])*
        $vis static $model: $crate::model::Model = $crate::model::Model {
            name: $name,
            about: $about,
            source: $source,
            notes: &$notes,
            example: $example,
            keys: &$keys,
            results: &[$($crate::model::Field { name: $result, about: $meaning }),*],
            answer: |$arguments| {
                $($body)*
                let outcome = $crate::model::Outcome::new()$(.with($result, $value))*;
                $(let outcome = outcome$(.remark_if($applies, $remark))*;)?
                $(let outcome = $($say)::+(outcome $(, $with)*);)?
                Ok(outcome)
            },
        };
    };
}
