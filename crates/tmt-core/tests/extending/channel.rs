use tmt_core::channel::{
    ChannelError, ChannelSpec, Family, GilbertElliott, Key, SlotChannel, Start,
};

pub(crate) static BURSTS: Family = Family {
    name: "bursts",
    about: "Bursts of a mean length",
    keys: &[
        Key::needed("length", "UNITS", "mean length of a burst, units, from 1"),
        Key::preset(
            "every",
            "UNITS",
            "100",
            "mean distance of bursts, units, from 1",
        ),
    ],
    examples: &["bursts:length=2,every=50"],
    in_steps: true,
    read: |text| {
        let [length, every] = BURSTS.values(text)?;
        let channel = GilbertElliott {
            alpha: stay(every)?,
            beta: stay(length)?,
            pg: 0.0,
            pb: 1.0,
            start: Start::Stationary,
        };
        Ok(SlotChannel::Steps(ChannelSpec::GilbertElliott(channel)))
    },
};

/// The probability of staying in a state of this mean length.
fn stay(mean: &str) -> Result<f64, ChannelError> {
    let mean: Option<f64> = mean.parse().ok();
    let stay = mean
        .filter(|mean| *mean >= 1.0)
        .map(|mean| 1.0 - 1.0 / mean);
    stay.ok_or_else(|| ChannelError("expected a mean of 1 or more".to_owned()))
}
