//! The codewords in flight: a slab whose places, and the memory in them, are used again.

use crate::units::Time;

/// A codeword's place in the slab; good until the codeword is closed and another one opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodewordId(usize);

/// A codeword that is being sent, or waits for its repeats.
#[derive(Debug, Default)]
pub(super) struct Codeword {
    pub(super) data_units: u32,
    /// Units of the first transmission.
    pub(super) units: u32,
    /// Units of the current attempt that are still to be sent.
    pub(super) in_attempt: u32,
    /// Retransmission rounds used so far, r.
    pub(super) rounds_used: u32,
    /// Arrival times of the units that count.
    pub(super) arrivals: Vec<Time>,
    /// The last of its LLDUs that wait for the codeword; each names the one before.
    pub(super) waiting: Option<u64>,
    in_flight: bool,
}

#[derive(Debug, Default)]
pub(super) struct Codewords {
    places: Vec<Codeword>,
    free: Vec<usize>,
}

impl Codewords {
    pub(super) fn open(&mut self, data_units: u32, units: u32) -> CodewordId {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Codeword::default());
            self.places.len() - 1
        });
        let codeword = &mut self.places[place];
        codeword.data_units = data_units;
        codeword.units = units;
        codeword.in_attempt = units;
        codeword.rounds_used = 0;
        codeword.arrivals.clear();
        codeword.waiting = None;
        codeword.in_flight = true;
        CodewordId(place)
    }

    /// Frees the place. The codeword's shape can still be read until the place is taken again.
    pub(super) fn close(&mut self, id: CodewordId) {
        self.places[id.0].in_flight = false;
        self.free.push(id.0);
    }

    pub(super) fn get(&self, id: CodewordId) -> &Codeword {
        &self.places[id.0]
    }

    pub(super) fn get_mut(&mut self, id: CodewordId) -> &mut Codeword {
        &mut self.places[id.0]
    }

    /// The codewords in flight, none of which is afterwards.
    pub(super) fn take_in_flight(&mut self) -> impl Iterator<Item = &Codeword> {
        self.places
            .iter_mut()
            .filter_map(|codeword| std::mem::take(&mut codeword.in_flight).then_some(&*codeword))
    }
}
