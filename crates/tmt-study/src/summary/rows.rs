//! The rows of a table of results by group, cell and run. A row takes a few bytes, since a table may have millions.

use std::collections::{BTreeMap, BTreeSet};

use fluid_tcp::simulation::replications::overlap;
use tmt_core::format::records::{Cell, Column, Records as Table};

use super::{Group, SummaryError};
use crate::table::TOTAL;

/// Group of a row that is in no group.
const NONE: u32 = u32::MAX;

/// Seed of a run, and its start as bits.
pub(super) type Draw = (Option<i64>, Option<u64>);

/// Groups of rows; the rows of a group have one name, or equal values in some columns.
#[derive(Debug, Default)]
pub struct Groups {
    /// Name or values of each group, in the order of their first rows.
    values: Vec<Vec<String>>,
    /// First row of each group.
    firsts: Vec<usize>,
    places: BTreeMap<Vec<String>, u32>,
    /// The group of each row, or [`NONE`].
    rows: Vec<u32>,
}

impl Groups {
    /// Rows of `table` that agree in the columns `by`.
    pub(super) fn by_columns(table: &Table, by: &[String]) -> Self {
        let by: Vec<Option<&Column>> = by.iter().map(|name| table.column(name)).collect();
        let mut groups = Self::default();
        for row in 0..table.len() {
            let is_alike = |other: usize| {
                let mut columns = by.iter().flatten();
                // Equal numbers of two texts, 0 and −0, are two values, wherever their rows are.
                columns.all(|column| match (column.value(other), column.value(row)) {
                    (Some(Cell::Real(one)), Some(Cell::Real(other))) => {
                        one.to_bits() == other.to_bits()
                    }
                    (one, other) => one == other,
                })
            };
            // Rows of a group are neighbours, mostly.
            let known = row.checked_sub(1).filter(|before| is_alike(*before));
            match known {
                Some(before) => groups.rows.push(groups.rows[before]),
                None => groups.join(by.iter().map(|column| text(*column, row)).collect()),
            }
        }
        groups
    }

    /// The groups without their runs; `labels` makes the labels of one from its first row.
    pub(super) fn named(&self, labels: impl Fn(usize) -> Vec<String>) -> Vec<Group> {
        let all = self.values.iter().zip(&self.firsts);
        let group = |(values, first): (&Vec<String>, &usize)| Group {
            by: values.clone(),
            labels: labels(*first),
            ..Group::default()
        };
        all.map(group).collect()
    }

    /// Number of rows, those in no group included.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Puts the next row of the table into the group `name`, or into no group.
    pub fn add(&mut self, name: Option<&str>) {
        let last = self.rows.last().filter(|last| **last != NONE).copied();
        let of_last = last.and_then(|last| self.values.get(last as usize));
        match (name, last) {
            (None, _) => self.rows.push(NONE),
            (Some(name), Some(last)) if of_last.is_some_and(|values| values[..] == [name]) => {
                self.rows.push(last);
            }
            (Some(name), _) => self.join(vec![name.to_owned()]),
        }
    }

    /// Puts the next row into the group of these values.
    fn join(&mut self, values: Vec<String>) {
        let next = small(self.values.len());
        let place = *self.places.entry(values).or_insert_with_key(|values| {
            self.values.push(values.clone());
            self.firsts.push(self.rows.len());
            next
        });
        self.rows.push(place);
    }

    /// The rows of each group, in the order of the table.
    fn rows(self) -> Vec<Vec<u32>> {
        let mut counts = vec![0; self.values.len()];
        let known = || self.rows.iter().filter(|group| **group != NONE);
        known().for_each(|group| counts[*group as usize] += 1);
        let mut all: Vec<Vec<u32>> = counts.into_iter().map(Vec::with_capacity).collect();
        for (row, group) in (0..).zip(&self.rows) {
            if *group != NONE {
                all[*group as usize].push(row);
            }
        }
        all
    }
}

/// A number of rows or groups, which [`Numbers::of`] has bounded.
fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(NONE)
}

fn text(column: Option<&Column>, row: usize) -> String {
    let value = column.and_then(|column| column.value(row));
    value.map_or_else(String::new, Cell::text)
}

/// Whether the rows of all flows together are rows of their own, as TCP alone writes them.
pub(super) fn is_scoped(table: &Table) -> bool {
    table.names().any(|name| name == "scope")
}

/// The numbers of cell and run of each row.
#[derive(Debug)]
pub(super) struct Numbers<'a> {
    cells: Option<&'a Column>,
    runs: Option<&'a Column>,
    /// The run of each row of TCP alone, whose rows are one cell.
    drawn: Option<Vec<u32>>,
}

impl<'a> Numbers<'a> {
    /// The numbers of the rows of `table`. The runs of TCP alone differ in seed or start. Refuses rows that are not those of one table.
    pub(super) fn of(table: &'a Table) -> Result<Self, SummaryError> {
        if table.is_empty() || table.len() >= NONE as usize {
            let found = match table.len() {
                0 => "no".to_owned(),
                rows => rows.to_string(),
            };
            let most = match table.len() {
                0 => String::new(),
                _ => format!(" in at most {} rows", NONE - 1),
            };
            return Err(SummaryError(format!(
                "found {found} rows, expected the results of a sweep or of TCP{most}"
            )));
        }
        let [cells, runs, flows] = ["cell", "run", "flow"].map(|name| table.column(name));
        let numbers = Self {
            cells,
            runs,
            drawn: is_scoped(table).then(|| drawn(table)),
        };
        let is_of_cell = |row: &usize| numbers.drawn.is_some() || whole(cells, *row).is_some();
        let odd = (0..table.len()).find(|row| !is_of_cell(row));
        numbers.are_distinct(flows, odd.unwrap_or(table.len()))?;
        odd.map_or(Ok(numbers), |row| {
            Err(SummaryError(format!(
                "row {}: found cell '{}', expected the whole number of a cell",
                row + 1,
                text(cells, row)
            )))
        })
    }

    fn cell(&self, row: usize) -> i64 {
        match self.drawn {
            Some(_) => 0,
            None => whole(self.cells, row).unwrap_or_default(),
        }
    }

    /// The run of a row; `None` for the row of a cell that was refused.
    fn run(&self, row: usize) -> Option<i64> {
        match &self.drawn {
            Some(drawn) => Some(i64::from(drawn[row])),
            None => whole(self.runs, row),
        }
    }

    /// Refuses a flow of a run that is there twice in the first `rows` rows.
    fn are_distinct(&self, flows: Option<&Column>, rows: usize) -> Result<(), SummaryError> {
        let number = |row: usize| Some((self.cell(row), self.run(row)?, whole(flows, row)));
        // Rows in the order of their numbers are no repeats; only others are sorted.
        let mut last = None;
        let mut all = (0..rows).filter_map(number);
        if all.all(|number| last.replace(number).is_none_or(|last| last < number)) {
            return Ok(());
        }
        let mut all: Vec<u32> = (0..small(rows)).collect();
        all.retain(|row| self.run(*row as usize).is_some());
        all.sort_by_key(|row| number(*row as usize));
        let pairs = all
            .windows(2)
            .map(|pair| [pair[0] as usize, pair[1] as usize]);
        let again = pairs.filter(|[one, next]| number(*one) == number(*next));
        let Some((row, (cell, run, flow))) = again
            .map(|[_, next]| next)
            .min()
            .and_then(|row| Some((row, number(row)?)))
        else {
            return Ok(());
        };
        let of = flow.map_or_else(String::new, |flow| format!(", flow {flow}"));
        Err(SummaryError(format!(
            "row {}: found cell {cell}, run {run}{of} for the second time, expected the results of one sweep",
            row + 1
        )))
    }
}

/// The run of each row of TCP alone: a seed or a start that is new is a new run.
fn drawn(table: &Table) -> Vec<u32> {
    let draws = Draws::of(table);
    let mut known: BTreeMap<Draw, u32> = BTreeMap::new();
    let runs = (0..table.len()).map(|row| {
        let next = small(known.len());
        *known.entry(draws.draw(row)).or_insert(next)
    });
    runs.collect()
}

/// The runs of a group, by cell.
#[derive(Debug)]
pub(super) struct Runs {
    /// Number of cells.
    pub(super) cells: usize,
    /// Number of cells that refused their parameters.
    pub(super) refused: usize,
    /// Rows in the order of cells and runs.
    rows: Vec<u32>,
    /// Numbers of the runs of a cell after those of another.
    numbers: Vec<i64>,
    /// Where the rows of each run begin, and the end of the last.
    bounds: Vec<u32>,
    /// Where the runs of each cell begin, and the end of the last.
    firsts: Vec<u32>,
    /// Most runs of a cell that share a moment of the trace; `None` if no run has a start.
    pub(super) shared: Option<usize>,
    /// Seeds and starts of each run, if groups are compared.
    pub(super) draws: BTreeSet<(i64, Draw)>,
}

impl Runs {
    /// The runs of each of `groups`, with their seeds and starts if groups are compared.
    pub(super) fn of(
        table: &Table,
        numbers: &Numbers<'_>,
        groups: Groups,
        is_compared: bool,
    ) -> Vec<Self> {
        let draws = Draws::of(table);
        let lengths = table.column("duration_s");
        let of_group = |rows| {
            let mut runs = Self::sorted(numbers, rows);
            runs.shared = runs.overlapping(draws.starts(), lengths);
            if is_compared {
                let each = (0..runs.numbers.len())
                    .flat_map(|run| runs.rows_of(run).map(move |row| (run, row)));
                let each = each.map(|(run, row)| (runs.numbers[run], draws.draw(row)));
                runs.draws = each.collect();
            }
            runs
        };
        groups.rows().into_iter().map(of_group).collect()
    }

    /// The runs of `rows`.
    fn sorted(numbers: &Numbers<'_>, mut rows: Vec<u32>) -> Self {
        let number = |row: &u32| (numbers.cell(*row as usize), numbers.run(*row as usize));
        if !rows.is_sorted_by_key(number) {
            rows.sort_by_key(number);
        }
        let mut runs = Self {
            cells: 0,
            refused: 0,
            rows: Vec::new(),
            numbers: Vec::new(),
            bounds: Vec::new(),
            firsts: Vec::new(),
            shared: None,
            draws: BTreeSet::new(),
        };
        let mut last = None;
        let mut place = 0;
        rows.retain(|row| {
            let (cell, run) = number(row);
            let before = last.replace((cell, run));
            let is_new = before.is_none_or(|(before, _)| before != cell);
            runs.cells += usize::from(is_new);
            // A row without a run has the reason for it; it comes before the others of its cell.
            let Some(run) = run else {
                runs.refused += usize::from(is_new);
                return false;
            };
            let is_first = is_new || before == Some((cell, None));
            if is_first {
                runs.firsts.push(small(runs.numbers.len()));
            }
            if is_first || before != Some((cell, Some(run))) {
                runs.numbers.push(run);
                runs.bounds.push(place);
            }
            place += 1;
            true
        });
        runs.bounds.push(place);
        runs.firsts.push(small(runs.numbers.len()));
        runs.rows = rows;
        runs
    }

    /// Number of runs.
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The rows of a run.
    fn rows_of(&self, run: usize) -> impl Iterator<Item = usize> {
        let rows = &self.rows[self.bounds[run] as usize..self.bounds[run + 1] as usize];
        rows.iter().map(|row| *row as usize)
    }

    /// The runs of each cell.
    fn by_cell(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let cells = self.firsts.windows(2);
        cells.map(|cell| cell[0] as usize..cell[1] as usize)
    }

    fn overlapping(&self, starts: Option<&Column>, lengths: Option<&Column>) -> Option<usize> {
        let of_run = |run| {
            let row = self
                .rows_of(run)
                .filter(|row| number(starts, *row).is_some())
                .last()?;
            Some((number(starts, row)?, number(lengths, row).unwrap_or(0.0)))
        };
        let cells = self.by_cell().filter_map(|cell| {
            let runs: Vec<(f64, f64)> = cell.filter_map(of_run).collect();
            (!runs.is_empty()).then(|| overlap(&runs))
        });
        cells.max()
    }

    /// Number and value of the runs that have a metric, of each cell that has some, and how many runs lack it. The value is the mean over
    /// the flows.
    pub(super) fn values(&self, metric: &Measured<'_>) -> (Vec<Vec<(i64, f64)>>, usize) {
        let of_run = |run| {
            let values = self.rows_of(run).filter_map(|row| metric.value(row));
            let (sum, flows) =
                values.fold((0.0, 0.0), |(sum, flows), value| (sum + value, flows + 1.0));
            (flows > 0.0).then(|| (self.numbers[run], sum / flows))
        };
        let cells = self
            .by_cell()
            .map(|cell| cell.filter_map(of_run).collect::<Vec<_>>());
        let cells: Vec<Vec<(i64, f64)>> = cells.filter(|cell| !cell.is_empty()).collect();
        let lacking = self.len() - cells.iter().map(Vec::len).sum::<usize>();
        (cells, lacking)
    }
}

/// The columns of a metric of the run or flow of a row. Where all flows together have a row of their own, it has no metric of a flow.
#[derive(Debug)]
pub(super) struct Measured<'a> {
    scope: Option<&'a Column>,
    own: Option<&'a Column>,
    /// Column of the metric in a row of all flows together.
    of_total: Option<&'a Column>,
    is_total: bool,
}

impl<'a> Measured<'a> {
    pub(super) fn of(table: &'a Table, name: &str) -> Self {
        let bare = name.strip_prefix(TOTAL);
        Self {
            scope: table.column("scope"),
            own: table.column(name),
            of_total: bare.and_then(|bare| table.column(bare)),
            is_total: bare.is_some(),
        }
    }

    pub(super) fn value(&self, row: usize) -> Option<f64> {
        match self.scope.and_then(|scope| scope.value(row)) {
            Some(Cell::Text("total")) => number(self.of_total, row),
            // The row of the total has it.
            Some(Cell::Text("flow")) if self.is_total => None,
            _ => number(self.own, row),
        }
    }
}

/// The columns of the seed and the start of a run.
#[derive(Debug)]
struct Draws<'a>([Option<&'a Column>; 2]);

impl<'a> Draws<'a> {
    fn of(table: &'a Table) -> Self {
        Self(["seed", "offset_s"].map(|name| table.column(name)))
    }

    fn starts(&self) -> Option<&'a Column> {
        self.0[1]
    }

    /// Seed and start of the run of a row.
    fn draw(&self, row: usize) -> Draw {
        let [seeds, starts] = self.0;
        (whole(seeds, row), number(starts, row).map(f64::to_bits))
    }
}

/// Largest number that counts: squares of larger ones and their sums may not be finite.
pub(super) const LARGEST: f64 = 1e100;

pub(super) fn usable(value: Cell<'_>) -> Option<f64> {
    value.number().filter(|number| number.abs() <= LARGEST)
}

fn number(column: Option<&Column>, row: usize) -> Option<f64> {
    usable(column?.value(row)?)
}

fn whole(column: Option<&Column>, row: usize) -> Option<i64> {
    match column?.value(row) {
        Some(Cell::Whole(whole)) => Some(whole),
        _ => None,
    }
}
