//! Seals of lines of records: checksums (CRC-32) of the plan and of plan and line together.

use flate2::Crc;

/// The checksums of the lines of a plan.
#[derive(Debug, Clone)]
pub(super) struct Seal {
    plan: u32,
}

impl Seal {
    /// The seal of the plan, version and traces that `origin` describes.
    pub(super) fn of(origin: &str) -> Self {
        let mut plan = Crc::new();
        plan.update(origin.as_bytes());
        Self { plan: plan.sum() }
    }

    /// The line of a record, which is a JSON object.
    pub(super) fn line(&self, record: &str) -> String {
        let fields = &record[1..];
        let (plan, crc) = (self.plan, self.crc(fields.as_bytes()));
        format!("{{\"plan\":\"{plan:08x}\",\"crc\":\"{crc:08x}\",{fields}\n")
    }

    /// Refuses a line with another plan, or another content than it was written with.
    pub(super) fn check(&self, line: &[u8]) -> Result<(), String> {
        const REFUSED: &str =
            "found a record that was changed, expected it as a sweep has written it";
        let line = line.trim_ascii_end();
        let parts = line.split_at_checked(HEAD.len());
        let (head, fields) = parts.ok_or(REFUSED)?;
        let is_place = |at: usize| PLACES.iter().any(|place| (*place..place + 8).contains(&at));
        let mut pairs = head.iter().zip(HEAD.bytes()).enumerate();
        if pairs.any(|(at, (found, known))| *found != known && !is_place(at)) {
            return Err(REFUSED.to_owned());
        }
        let [plan, crc] = PLACES.map(|place| std::str::from_utf8(&head[place..place + 8]).ok());
        let number = |text: Option<&str>| u32::from_str_radix(text?, 16).ok();
        if number(plan).is_some_and(|plan| plan != self.plan) {
            return Err("found a record of another plan, expected one of this".to_owned());
        }
        let is_whole = number(plan).is_some() && number(crc) == Some(self.crc(fields));
        is_whole.then_some(()).ok_or_else(|| REFUSED.to_owned())
    }

    /// The checksum of a record of this plan.
    fn crc(&self, fields: &[u8]) -> u32 {
        let mut crc = Crc::new();
        crc.update(&self.plan.to_be_bytes());
        crc.update(fields);
        crc.sum()
    }
}

/// Begin of a line, and the places of the checksums in it.
const HEAD: &str = r#"{"plan":"00000000","crc":"00000000","#;
const PLACES: [usize; 2] = [9, 26];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_line_and_one_of_another_plan_are_refused() {
        let (seal, other) = (Seal::of("seeds = 2\n"), Seal::of("seeds = 3\n"));
        let line = seal.line(r#"{"cell":0,"runs":[{"run":0,"seed":2}]}"#);
        assert_eq!(seal.check(line.as_bytes()), Ok(()));
        assert!(
            other
                .check(line.as_bytes())
                .unwrap_err()
                .contains("another plan")
        );
        for place in 0..line.len() - 1 {
            let mut changed = line.clone().into_bytes();
            changed[place] ^= 1;
            assert!(seal.check(&changed).is_err(), "{place}");
        }
    }
}
