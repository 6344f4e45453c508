//! DVB-S2 MODCODs, normal frames without pilots: spectral efficiency and ideal Es/N0 at a packet error rate of 1e-7, EN
//! 302 307-1, table 13, as five or more public transcriptions have it. The slope is ours, from the published waterfalls of
//! SNS3 (33 to 40 decades per dB; docs/channels.md, Sec. 7).

use super::{Code, Modulation, Shape};

/// Decades by which the error rate falls per dB.
pub(super) const DECADES_PER_DB: f64 = 35.0;

const fn modcod(
    name: &'static str,
    modulation: Modulation,
    efficiency: f64,
    threshold_db: f64,
) -> Code {
    Code {
        name,
        efficiency_bit_per_symbol: efficiency,
        modulation,
        shape: Shape::Threshold(threshold_db),
    }
}

#[rustfmt::skip]
pub(super) static CODES: &[Code] = &[
    modcod("dvb-s2:qpsk-1/4", Modulation::Qpsk, 0.490_243, -2.35),
    modcod("dvb-s2:qpsk-1/3", Modulation::Qpsk, 0.656_448, -1.24),
    modcod("dvb-s2:qpsk-2/5", Modulation::Qpsk, 0.789_412, -0.30),
    modcod("dvb-s2:qpsk-1/2", Modulation::Qpsk, 0.988_858, 1.00),
    modcod("dvb-s2:qpsk-3/5", Modulation::Qpsk, 1.188_304, 2.23),
    modcod("dvb-s2:qpsk-2/3", Modulation::Qpsk, 1.322_253, 3.10),
    modcod("dvb-s2:qpsk-3/4", Modulation::Qpsk, 1.487_473, 4.03),
    modcod("dvb-s2:qpsk-4/5", Modulation::Qpsk, 1.587_196, 4.68),
    modcod("dvb-s2:qpsk-5/6", Modulation::Qpsk, 1.654_663, 5.18),
    modcod("dvb-s2:qpsk-8/9", Modulation::Qpsk, 1.766_451, 6.20),
    modcod("dvb-s2:qpsk-9/10", Modulation::Qpsk, 1.788_612, 6.42),
    modcod("dvb-s2:8psk-3/5", Modulation::Psk8, 1.779_991, 5.50),
    modcod("dvb-s2:8psk-2/3", Modulation::Psk8, 1.980_636, 6.62),
    modcod("dvb-s2:8psk-3/4", Modulation::Psk8, 2.228_124, 7.91),
    modcod("dvb-s2:8psk-5/6", Modulation::Psk8, 2.478_562, 9.35),
    modcod("dvb-s2:8psk-8/9", Modulation::Psk8, 2.646_012, 10.69),
    modcod("dvb-s2:8psk-9/10", Modulation::Psk8, 2.679_207, 10.98),
    modcod("dvb-s2:16apsk-2/3", Modulation::Apsk16, 2.637_201, 8.97),
    modcod("dvb-s2:16apsk-3/4", Modulation::Apsk16, 2.966_728, 10.21),
    modcod("dvb-s2:16apsk-4/5", Modulation::Apsk16, 3.165_623, 11.03),
    modcod("dvb-s2:16apsk-5/6", Modulation::Apsk16, 3.300_184, 11.61),
    modcod("dvb-s2:16apsk-8/9", Modulation::Apsk16, 3.523_143, 12.89),
    modcod("dvb-s2:16apsk-9/10", Modulation::Apsk16, 3.567_342, 13.13),
    modcod("dvb-s2:32apsk-3/4", Modulation::Apsk32, 3.703_295, 12.73),
    modcod("dvb-s2:32apsk-4/5", Modulation::Apsk32, 3.951_571, 13.64),
    modcod("dvb-s2:32apsk-5/6", Modulation::Apsk32, 4.119_540, 14.28),
    modcod("dvb-s2:32apsk-8/9", Modulation::Apsk32, 4.397_854, 15.69),
    modcod("dvb-s2:32apsk-9/10", Modulation::Apsk32, 4.453_027, 16.05),
];
