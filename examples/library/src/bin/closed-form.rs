//! A closed form over a sweep: what repair LLDUs cost, and what they save, on a channel with bursts.

use tmt_core::model::{MODELS, Value};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = MODELS
        .iter()
        .find(|model| model.name == "fec")
        .ok_or("no such model")?;
    for nr in 0..=4 {
        let mut arguments = model.arguments([("nd", "10"), ("alpha", "0.99"), ("beta", "0.6")])?;
        arguments.give(model.key("nr")?, Value::Count(nr))?;
        let outcome = model.evaluate(&arguments)?;
        let number = |name| outcome.get(name).ok_or("no such result");
        println!(
            "NR = {nr}: efficiency {:.4}, loss {:.2e}",
            number("eta")?,
            number("residual_loss")?
        );
    }
    Ok(())
}
