//! Start times of flows, and flows with settings of their own.

use tmt_core::math::rng::{Stream, Uniform};
use tmt_core::named::{ParseError, parts, split_at};
use tmt_core::types::{Bytes, Span, to_f64};
use tmt_link::CLASSES;

use super::setting::{Kind, Setting};
use crate::application::{self, App, traffic};
use crate::congestion::Algorithm;

/// Start time of a flow, from the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At a fixed time.
    At(Span),
    /// At a random time, uniform in [from, to).
    Within(Span, Span),
}

impl Start {
    /// The start of flow `index` in the run with `seed`.
    #[must_use]
    pub fn draw(self, seed: u64, index: usize) -> Span {
        match self {
            Self::At(span) => span,
            Self::Within(from, to) => {
                let share = Uniform::new(seed, Stream::FlowStart).at(index as u64);
                let width = to_f64(to.saturating_sub(from).as_nanos());
                let offset = Span::from_nanos(tmt_core::math::num::floor_u64(share * width))
                    .unwrap_or(Span::MAX);
                from.saturating_add(offset)
            }
        }
    }

    /// The latest time at which the flow may begin.
    #[must_use]
    pub fn latest(self) -> Span {
        match self {
            Self::At(span) | Self::Within(_, span) => span,
        }
    }

    /// Whether the start is random.
    #[must_use]
    pub fn is_drawn(self) -> bool {
        matches!(self, Self::Within(from, to) if from < to)
    }
}

impl Setting for Start {
    const KIND: Kind = Kind::Text("TIME|FROM..TO", Vec::new);

    fn read(text: &str) -> Result<Self, String> {
        let Some((from, to)) = text.split_once("..") else {
            return Span::read(text).map(Self::At);
        };
        let (from, to) = (Span::read(from)?, Span::read(to)?);
        if from > to {
            return Err(format!(
                "found '{text}', expected a range whose start is not after its end"
            ));
        }
        Ok(Self::Within(from, to))
    }

    fn text(&self) -> String {
        match self {
            Self::At(span) => span.to_string(),
            Self::Within(from, to) => format!("{from}..{to}"),
        }
    }
}

/// Settings of one flow. A field that is `None` takes the value for all flows.
#[derive(Debug, Clone, Default)]
pub struct FlowSpec {
    /// Congestion control of this flow; `None` for that of the run.
    pub cc: Option<Algorithm>,
    /// Start of this flow, or the range it is drawn from; `None` for that of the run.
    pub start: Option<Start>,
    /// Transfer size; `None` for an endless transfer.
    pub bytes: Option<Bytes>,
    /// Application; `None` for a transfer.
    pub app: Option<App>,
    /// RTT between this sender and the gateway; `None` for that of the run.
    pub terrestrial_rtt: Option<Span>,
    /// Class of its packets, 0 to 7; `None` for 0, the lowest.
    pub class: Option<u8>,
}

/// Keys of a flow.
const KEYS: [&str; 6] = ["cc", "app", "start", "bytes", "terrestrial-rtt", "class"];

/// Reads the class of a flow.
fn class(text: &str) -> Result<u8, String> {
    let class = text.parse().ok().filter(|class| *class < CLASSES);
    let most = CLASSES - 1;
    class.ok_or_else(|| format!("found class '{text}', expected a whole number from 0 to {most}"))
}

/// The settings of a flow, each key with its text.
fn given(text: &str) -> Result<Vec<(&str, String)>, String> {
    let mut given: Vec<(&str, String)> = Vec::new();
    for part in parts(text) {
        match (part.key, given.last_mut()) {
            (Some(key), _) if KEYS.contains(&key) => given.push((key, part.value.to_owned())),
            // Commas also separate the parameters of a value without parentheses.
            (_, Some(("cc" | "app", value))) => *value += &format!(",{}", part.text),
            _ => {
                let keys = KEYS.map(|key| format!("{key}=…")).join(", ");
                return Err(format!("found '{}', expected some of {keys}", part.text));
            }
        }
    }
    Ok(given)
}

/// The text of a flow with the content of the files that its application names; `None` if it names none, or is no flow.
pub(super) fn with_files(
    text: &str,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Option<String>, String> {
    let Ok(mut given) = given(text) else {
        return Ok(None);
    };
    let mut changed = false;
    for (key, value) in &mut given {
        if *key == "app"
            && let Some(other) = application::with_files(value, read)?
        {
            *value = other;
            changed = true;
        }
    }
    let texts = given
        .into_iter()
        .map(|(key, value)| format!("{key}={value}"));
    Ok(changed.then(|| texts.collect::<Vec<_>>().join(",")))
}

impl FlowSpec {
    /// Refuses settings that its application cannot have.
    fn check(&self) -> Result<(), String> {
        let Some(app) = &self.app else {
            return Ok(());
        };
        let name = app.entry().name;
        if let Some(bytes) = self.bytes {
            return Err(format!(
                "found bytes={bytes} with app={name}, expected one of them: app=bytes({bytes}) is a transfer of this size"
            ));
        }
        let datagrams = traffic(app).map_err(|error| error.to_string())?.datagrams();
        match (&self.cc, datagrams) {
            (Some(cc), Some(_)) => Err(format!(
                "found cc={cc} with app={name}, which sends datagrams; expected no cc, a setting of TCP"
            )),
            _ => Ok(()),
        }
    }
}

impl Setting for FlowSpec {
    const KIND: Kind = Kind::Text("KEY=VALUE,…", Vec::new);

    fn read(text: &str) -> Result<Self, String> {
        let given = given(text)?;
        let mut flow = Self::default();
        for (key, value) in given {
            let is_first = match key {
                "cc" => flow.cc.replace(Algorithm::read(&value)?).is_none(),
                "start" => flow.start.replace(Start::read(&value)?).is_none(),
                "bytes" => flow.bytes.replace(Bytes::read(&value)?).is_none(),
                "app" => {
                    let app = value
                        .parse()
                        .map_err(|error: ParseError| error.to_string())?;
                    flow.app.replace(app).is_none()
                }
                "class" => flow.class.replace(class(&value)?).is_none(),
                _ => flow.terrestrial_rtt.replace(Span::read(&value)?).is_none(),
            };
            if !is_first {
                return Err(format!("'{key}' is given more than once"));
            }
        }
        flow.check()?;
        Ok(flow)
    }

    fn text(&self) -> String {
        let cc = self.cc.as_ref().map(|cc| format!("cc={cc}"));
        let start = self.start.map(|start| format!("start={}", start.text()));
        let bytes = self.bytes.map(|bytes| format!("bytes={bytes}"));
        let rtt = self.terrestrial_rtt;
        let rtt = rtt.map(|rtt| format!("terrestrial-rtt={rtt}"));
        let class = self.class.map(|class| format!("class={class}"));
        let app = self.app.as_ref();
        let app = app.map(|app| format!("app={}", app.in_parentheses()));
        let parts = [cc, app, start, bytes, rtt, class].into_iter().flatten();
        let parts: Vec<String> = parts.collect();
        parts.join(",")
    }
}

/// The flows in one line, as heads of logs have them: separated by spaces, equal ones after each other as `3*cc=…`.
pub(super) fn in_one_line(flows: impl Iterator<Item = FlowSpec>) -> String {
    let texts: Vec<String> = flows.map(|flow| flow.text()).collect();
    let groups = texts.chunk_by(|one, other| one == other);
    let groups = groups.map(|group| match group {
        [one] => one.clone(),
        all => format!("{}*{}", all.len(), all[0]),
    });
    groups.collect::<Vec<_>>().join(" ")
}

impl FlowSpec {
    /// Reads the flows of the head of a log (docs/simulator.md, Sec. 11).
    ///
    /// # Errors
    /// A flow that is none; the message has found and expected.
    pub fn read_line(text: &str) -> Result<Vec<Self>, String> {
        /// Most flows of a run.
        const MOST: usize = 100_000;
        let mut flows = Vec::new();
        for group in split_at(text, ' ') {
            let times = group.split_once('*');
            let times = times.and_then(|(number, flow)| Some((number.parse().ok()?, flow)));
            let (number, flow) = times.unwrap_or((1, group));
            if number > MOST - flows.len() {
                return Err(format!("found more than {MOST} flows"));
            }
            flows.extend(vec![Self::read(flow)?; number]);
        }
        Ok(flows)
    }

    /// The setting `key` as text; `none` if it is not given.
    pub(crate) fn text_of(&self, key: &str) -> String {
        let text = self.text();
        let given = given(&text).unwrap_or_default();
        let found = given.into_iter().find(|(own, _)| *own == key);
        found.map_or_else(|| "none".to_owned(), |(_, value)| format!("{key}={value}"))
    }

    /// The key of the first setting that `given` has in another way; `None` if all that it gives agrees.
    pub(crate) fn contradicted(&self, given: &Self) -> Option<&'static str> {
        let starts = |given: Start| match (given, self.start) {
            (Start::Within(from, to), Some(Start::At(at))) => from <= at && at <= to,
            (given, own) => Some(given) == own,
        };
        let app = |app: &App| app.in_parentheses();
        let agrees = [
            ("cc", given.cc.is_none() || given.cc == self.cc),
            ("start", given.start.is_none_or(starts)),
            ("bytes", given.bytes.is_none() || given.bytes == self.bytes),
            (
                "app",
                given.app.is_none() || given.app.as_ref().map(app) == self.app.as_ref().map(app),
            ),
            (
                "terrestrial-rtt",
                given.terrestrial_rtt.is_none() || given.terrestrial_rtt == self.terrestrial_rtt,
            ),
            ("class", given.class.is_none() || given.class == self.class),
        ];
        let differs = agrees.into_iter().find(|(_, agrees)| !agrees);
        differs.map(|(key, _)| key)
    }
}

/// Flows with settings of their own.
impl Setting for Vec<FlowSpec> {
    const KIND: Kind = Kind::List("KEY=VALUE,…");

    fn read(text: &str) -> Result<Self, String> {
        FlowSpec::read(text).map(|flow| vec![flow])
    }

    fn read_all(texts: &[&str]) -> Result<Option<Self>, String> {
        let flows = texts.iter().map(|text| FlowSpec::read(text));
        let flows = flows.collect::<Result<Self, _>>()?;
        Ok(Some(flows).filter(|flows| !flows.is_empty()))
    }

    fn text(&self) -> String {
        self.texts().join(" ")
    }

    fn texts(&self) -> Vec<String> {
        self.iter().map(Setting::text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn congestion_control_of_a_flow_takes_parameters() {
        let flow = FlowSpec::read(
            "start=5s,cc=cubic:beta=0.8,c=0.4,bytes=1MB,terrestrial-rtt=60ms,class=7",
        )
        .unwrap();
        let flow_text = flow.text();
        assert_eq!(flow.cc.unwrap().to_string(), "cubic:beta=0.8,c=0.4");
        assert_eq!(flow.bytes, Some(Bytes(1_000_000)));
        assert_eq!(flow.start, Some(Start::At(Span::from_secs(5))));
        assert_eq!(flow.class, Some(7));
        assert_eq!(flow.terrestrial_rtt, Some(Span::from_millis(60)));
        let in_parentheses =
            "start=5s,cc=cubic(beta=0.8,c=0.4),bytes=1MB,terrestrial-rtt=60ms,class=7";
        for text in [&flow_text, in_parentheses] {
            assert_eq!(FlowSpec::read(text).unwrap().text(), flow_text);
        }
    }

    #[test]
    fn flows_in_one_line_read_back_and_contradictions_are_named() {
        let texts = [
            "cc=cubic:beta=0.7,c=0.4,start=1.000000001s",
            "cc=cubic:beta=0.7,c=0.4,start=1.000000001s",
            "app=pages(size=csv({size_bytes;1;2}),think=1s),class=3",
            "app=arrivals({time_s,size_bytes,flow;0,1,a b;1,2,c}),start=0s",
            "app=arrivals({time_s,size_bytes,flow;0,1,a) (b;1,2,:-)}),start=0s",
            "bytes=1000B",
        ];
        let flows = || texts.iter().map(|text| FlowSpec::read(text).unwrap());
        let line = in_one_line(flows());
        assert!(line.starts_with("2*cc=cubic"), "{line}");
        let again = FlowSpec::read_line(&line).unwrap();
        let texts: Vec<String> = again.iter().map(FlowSpec::text).collect();
        assert_eq!(texts, flows().map(|flow| flow.text()).collect::<Vec<_>>());
        assert!(FlowSpec::read_line("200000*cc=reno").is_err());
        assert!(FlowSpec::read_line("cc=reno rate=1").is_err());
        for (given, key) in [
            ("cc=cubic", None),
            ("start=0s..2s,cc=cubic", None),
            ("start=0s..1s", Some("start")),
            ("start=1s", Some("start")),
            ("cc=reno", Some("cc")),
            ("app=bulk", Some("app")),
            ("class=1", Some("class")),
        ] {
            let given = FlowSpec::read(given).unwrap();
            assert_eq!(again[0].contradicted(&given), key, "{given:?}");
        }
        assert_eq!(again[0].text_of("cc"), "cc=cubic:beta=0.7,c=0.4");
        assert_eq!(again[0].text_of("start"), "start=1000.000001ms");
        assert_eq!(again[0].text_of("app"), "none");
    }

    #[test]
    fn the_application_of_a_flow_reads_back() {
        for text in [
            "app=cbr(rate=64kbps,packet=160B),class=7",
            "app=cbr:rate=64kbps,packet=160B,class=7",
            "class=7,app=cbr(packet=160B,rate=64kbps)",
        ] {
            let flow = FlowSpec::read(text).unwrap();
            assert_eq!(flow.text(), "app=cbr(rate=64kbps,packet=160B),class=7");
        }
        let nested =
            "cc=cubic:beta=0.7,c=0.4,app=on-off(on=exponential(1s),off=2s,over=tcp),start=1s";
        let flow = FlowSpec::read(nested).unwrap();
        assert_eq!(flow.text(), nested);
    }

    #[test]
    fn settings_of_tcp_on_datagrams_are_refused_by_name() {
        for (text, part) in [
            (
                "app=cbr,cc=cubic",
                "found cc=cubic:beta=0.7,c=0.4 with app=cbr, which sends datagrams",
            ),
            ("app=cbr,bytes=1MB", "found bytes=1000000B with app=cbr"),
            (
                "app=cbr(codec=g729,rate=1Mbps)",
                "rate=1Mbps with codec=g729",
            ),
        ] {
            let error = FlowSpec::read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(FlowSpec::read("app=on-off(on=1s,off=1s,over=tcp),cc=bbr").is_ok());
    }

    #[test]
    fn invalid_flows_are_refused() {
        for text in [
            "",
            "cc=tahoe",
            "start=soon",
            "bytes=1",
            "rate=1",
            "cc=cubic,cc=cubic",
            "start=5s..1s",
            "class=8",
            "class=high",
            "class=1,class=1",
            "app=video",
            "app=bulk,app=cbr",
        ] {
            assert!(FlowSpec::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn random_starts_lie_within_their_range_for_each_flow_and_seed() {
        let start = Start::read("1s..5s").unwrap();
        let drawn: Vec<Span> = (0..50).map(|flow| start.draw(1, flow)).collect();
        assert!(
            drawn
                .iter()
                .all(|at| (Span::from_secs(1)..Span::from_secs(5)).contains(at))
        );
        assert!(drawn.windows(2).all(|pair| pair[0] != pair[1]));
        assert_ne!(start.draw(2, 0), drawn[0]);
        assert_eq!(start.draw(1, 7), drawn[7]);
    }
}
