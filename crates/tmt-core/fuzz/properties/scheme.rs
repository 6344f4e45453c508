//! Schemes, channels and quantities as users type them: parsing never panics, and a parsed value prints and parses back.

use tmt_core::channel::ChannelSpec;
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
}
