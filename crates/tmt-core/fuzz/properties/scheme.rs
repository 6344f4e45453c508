//! Schemes, channels, radio channels and quantities as users type them: parsing never panics, and a parsed value prints and parses back.

use tmt_core::channel::ChannelSpec;
use tmt_core::radio::{ErrorCurve, FadeFile, FadeOptions, LandMobile, Modulation, Outside, Points};
use tmt_core::scheme::SchemeSpec;
use tmt_core::types::{BitRate, Bytes, Span};

/// Any text is parsed or refused; a parsed value prints and parses back.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(scheme) = text.parse::<SchemeSpec>() {
        assert_eq!(scheme.to_string(), text);
        assert!(scheme.data_units() >= 1 && scheme.data_units() <= scheme.units());
    }
    if let Ok(channel) = text.parse::<ChannelSpec>() {
        assert_eq!(channel.to_string().parse(), Ok(channel));
    }
    if let Ok(span) = text.parse::<Span>() {
        assert_eq!(span.to_string().parse(), Ok(span));
    }
    if let Ok(rate) = text.parse::<BitRate>() {
        assert_eq!(rate.to_string().parse(), Ok(rate));
    }
    let _ = text.parse::<Bytes>();
    if let Ok(channel) = text.parse::<LandMobile>() {
        assert_eq!(channel.to_string().parse(), Ok(channel));
    }
    if let Ok(points) = Points::read(text, Outside::Refuse) {
        let curve = ErrorCurve::Points(points, Modulation::Qpsk);
        let rates = (-50..50).map(|db| curve.rate(f64::from(db)));
        assert!(
            rates.clone().all(|rate| (0.0..=1.0).contains(&rate))
                && rates.is_sorted_by(|a, b| a * (1.0 + 1e-9) >= *b)
        );
        assert_eq!(curve.to_string().parse(), Ok(curve));
    }
    let step = Some(Span::from_secs(1));
    if let Ok(fade) = FadeFile::read(
        text,
        FadeOptions {
            step,
            ..FadeOptions::default()
        },
    ) {
        let _ = fade.series(10.0);
    }
}
