//! Start of each flow, read from the settings of the flows in the head of a log.

use tmt_core::named::{split, split_at};
use tmt_core::types::Span;

/// The start of each flow of `[N*]KEY=VALUE,… …`, at most `most` of them; `None` if the text has another form.
pub(super) fn starts(text: &str, most: u64) -> Option<Vec<Span>> {
    let mut starts = Vec::new();
    for flow in split_at(text, ' ') {
        let (number, flow) = match flow.split_once('*') {
            Some((number, flow)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                (number.parse::<u64>().ok()?, flow)
            }
            _ => (1, flow),
        };
        let mut settings = split(flow);
        let start = settings.find_map(|setting| setting.strip_prefix("start="))?;
        let start: Span = start.parse().ok()?;
        if number > most.checked_sub(starts.len() as u64)? {
            return None;
        }
        starts.extend(vec![start; usize::try_from(number).ok()?]);
    }
    Some(starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flow_has_a_start() {
        let at = Span::from_millis;
        let text = "2*cc=cubic:beta=0.7,c=0.4,start=0s app=pages(size=csv({size_bytes;1 0}),think=start=9s),start=1.5s";
        assert_eq!(starts(text, 3), Some(vec![at(0), at(0), at(1500)]));
        let of = |name: &str| {
            format!("app=arrivals({{time_s,size_bytes,flow;0,30000,{name}}}),start=2s")
        };
        for names in [["a)", "b"], ["(a b", "b)"], ["a) (b", "c"], ["x (1)", "("]] {
            let text = names.map(of).join(" ");
            assert_eq!(starts(&text, 2), Some(vec![at(2000); 2]), "{text}");
        }
        for (text, most) in [(text, 2), ("cc=reno", 1), ("start=soon", 1), ("", 1)] {
            assert_eq!(starts(text, most), None, "{text}");
        }
    }
}
