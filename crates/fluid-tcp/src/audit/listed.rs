//! Losses at the positions of a list (`list:{…}` in the head), unit by unit.

/// Positions of the units that must be lost, and the units so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Listed {
    /// Positions not yet passed, the next one last.
    positions: Vec<u64>,
    units: u64,
}

impl Listed {
    /// The list of a process; `None` if the text is of another process.
    pub(super) fn of(text: &str) -> Option<Self> {
        let content = text.strip_prefix("list:{")?.strip_suffix('}')?;
        let rows = content.split(';').filter(|row| *row != "position");
        let mut positions: Vec<u64> = rows.filter_map(|row| row.parse().ok()).collect();
        positions.reverse();
        Some(Self {
            positions,
            units: 0,
        })
    }

    /// The next unit's position, and whether it must be lost.
    pub(super) fn next(&mut self) -> (u64, bool) {
        let unit = self.units;
        self.units += 1;
        (unit, self.positions.pop_if(|at| *at == unit).is_some())
    }
}
