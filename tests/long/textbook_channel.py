"""A slow, textbook land-mobile-satellite channel, to hold `tmt synth` against. Needs numpy.

Written from the published procedures alone (docs/channels.md, Loo's distribution, three states at 40 degrees of
Perez-Fontan et al., two states of ITU-R P.681), without a look at the Rust code, and in another way wherever there is
one: a direct AR(1) process at the rate of the samples, Jakes fading by shaping noise in the frequency domain, states
by a walk, mutual information by quadrature, windows by cumulative sums. No piece can be had without its predecessors.
"""

import math

import numpy as np

LIGHT_M_S = 299_792_458.0

# alpha dB, psi dB, multipath dB, frame m, row of transition probabilities; correlation m, transition m.
THREE_STATE = {
    "open": (
        [(0.10, 0.37, -22.0, 8.9, (0.9530, 0.0431, 0.0039)),
         (-1.0, 0.5, -22.0, 7.5, (0.0515, 0.9347, 0.0138)),
         (-2.25, 0.13, -21.2, 4.0, (0.0334, 0.0238, 0.9428))], 2.5, 12.4),
    "suburban": (
        [(-1.0, 0.5, -13.0, 5.2, (0.8177, 0.1715, 0.0108)),
         (-3.7, 0.98, -12.2, 3.7, (0.1544, 0.7997, 0.0459)),
         (-15.0, 5.9, -13.0, 3.0, (0.1400, 0.1433, 0.7167))], 1.7, 2.2),
    "intermediate-tree": (
        [(-0.4, 1.5, -13.2, 6.3, (0.7193, 0.1865, 0.0942)),
         (-8.2, 3.9, -12.7, 6.3, (0.1848, 0.7269, 0.0883)),
         (-17.0, 3.14, -10.0, 4.5, (0.1771, 0.0971, 0.7258))], 1.5, 2.6),
}  # fmt: skip

# Good and bad: mu, sigma, shortest m; mean and deviation of M_A; h1, h2, g1, g2. Then correlation m, f1, f2.
P681 = {
    "suburban-30": (
        [(3.0138, 1.4161, 8.3214, -0.7018, 1.2107, -0.6543, -14.6457, -0.1333, 0.8992),
         (2.4521, 0.7637, 5.9087, -11.9823, 3.4728, 0.6200, -7.5485, -0.1644, 0.2762)], 1.7135, 0.1091, 3.3000),
    "urban-45": (
        [(3.0639, 1.6980, 10.0, -1.8225, 1.1317, -0.0481, -14.7450, -0.4643, 0.3334),
         (2.9108, 1.2602, 6.0, -15.4844, 3.3245, 0.9434, -1.7555, -0.0798, 2.8101)], 1.7910, 0.0744, 2.1423),
}  # fmt: skip

# Threshold and width, dB, of a code's word error rate Q((x - t) / s) over Es/N0.
CODES = {"turbo-264-1/3": (-1.472, 0.452), "turbo-264-1/2": (0.907, 0.483)}


def three_state_events(random, environment, length_m, deep_shadow=1.0):
    """State, start m and Loo triplet of each sojourn, and the length of the cross-fade into it, m."""
    states, _, cross_m = THREE_STATE[environment]
    rows = np.array([state[4] for state in states])
    rows /= rows.sum(axis=1, keepdims=True)
    for row in (0, 1):
        # Transitions that no longer enter the deep shadow go to the other two in their published proportion.
        deep = rows[row, 2] * deep_shadow
        rows[row, :2] *= (1 - deep) / rows[row, :2].sum()
        rows[row, 2] = deep
    stationary = np.linalg.matrix_power(rows, 4096)[0]
    share = stationary * [state[3] for state in states]
    state = random.choice(3, p=share / share.sum())
    events, x, draws = [], 0.0, iter(())
    while x < length_m:
        if not events or events[-1][0] != state:
            events.append((state, x, *states[state][:3], cross_m if events else 0.0))
        x += states[state][3]
        draw = next(draws, None)
        if draw is None:
            draws = iter(random.random(4096))
            draw = next(draws)
        state = int(draw > rows[state, 0]) + int(draw > rows[state, 0] + rows[state, 1])
    return events


def p681_events(random, row, length_m):
    """The same for the two-state semi-Markov model: one triplet an event, durations drawn until long enough."""
    states, _, f1, f2 = P681[row]
    means = [truncated_mean(mu, sigma, shortest) for mu, sigma, shortest, *_ in states]
    state = int(random.random() < means[1] / sum(means))
    events, x, before = [], 0.0, None
    while x < length_m:
        mu, sigma, shortest, mean_a, sigma_a, h1, h2, g1, g2 = states[state]
        quantile = 1.6448536 if state == 0 else 1.2815516
        while True:
            length = math.exp(random.normal(mu, sigma))
            if length >= shortest:
                break
        while True:
            normal = random.normal()
            if abs(normal) <= quantile:
                break
        m_a = mean_a + sigma_a * normal
        cross = 0.0 if before is None else max(0.0, f1 * abs(m_a - before) + f2)
        events.append((state, x, m_a, max(0.0, g1 * m_a + g2), h1 * m_a + h2, min(cross, length)))
        x, before, state = x + length, m_a, 1 - state
    return events


def truncated_mean(mu, sigma, shortest):
    upper = lambda y: math.erfc(y / math.sqrt(2)) / 2  # noqa: E731
    d = math.log(shortest)
    return math.exp(mu + sigma**2 / 2) * upper((d - mu - sigma**2) / sigma) / upper((d - mu) / sigma)


def triplets(events, x):
    """Mean and deviation of the direct component, and power of the multipath, dB, at the places x."""
    starts = np.array([event[1] for event in events])
    values = np.array([event[2:5] for event in events])
    cross = np.array([event[5] for event in events])
    index = np.searchsorted(starts, x, side="right") - 1
    before = values[np.maximum(index - 1, 0)]
    weight = np.minimum(1.0, (x - starts[index]) / np.maximum(cross[index], 1e-9))[:, None]
    return before + (values[index] - before) * weight, np.array([event[0] for event in events])[index]


def autoregression(random, count, rho):
    """Unit-variance AR(1): z[k] = rho z[k-1] + sqrt(1 - rho^2) n[k], in blocks short enough for rho^-k."""
    block = 128
    rows = -(-count // block)
    noise = random.normal(size=(rows, block)) * math.sqrt(1 - rho * rho)
    powers = rho ** np.arange(1, block + 1)
    inner = np.cumsum(noise / powers, axis=1)
    start = np.empty(rows)
    z = random.normal()
    for row in range(rows):
        start[row] = z
        z = powers[-1] * (z + inner[row, -1])
    return (powers * (start[:, None] + inner)).ravel()[:count]


def jakes(random, count, step_s, doppler_hz):
    """Complex Gaussian process of unit power with the spectrum 1/sqrt(1 - (f/fd)^2), by its lines."""
    width = 1 / (count * step_s)
    edges = (np.fft.fftfreq(count, step_s)[:, None] + [-width / 2, width / 2]) / doppler_hz
    power = np.diff(np.arcsin(np.clip(edges, -1, 1)), axis=1)[:, 0] / math.pi
    lines = random.normal(size=count) + 1j * random.normal(size=count)
    return np.fft.ifft(lines * np.sqrt(power / 2)) * count


class Fading:
    """Power gain over time: `gain` (linear), `state`, every `step_s` from 0."""

    def __init__(self, seed, environment, duration_s, *, speed_m_s=60 / 3.6, carrier_hz=2.2e9, step_s=5e-4,
                 deep_shadow=1.0, cross_fade=True):  # fmt: skip
        random = np.random.default_rng(seed)
        count = int(duration_s / step_s) + 1
        # A power of two for the transform; what is left over is not used.
        padded = 1 << (count - 1).bit_length()
        x = np.arange(count) * step_s * speed_m_s
        if environment in THREE_STATE:
            events = three_state_events(random, environment, x[-1] + 1, deep_shadow)
            correlation_m = THREE_STATE[environment][1]
        else:
            events = p681_events(random, environment, x[-1] + 1)
            correlation_m = P681[environment][1]
        if not cross_fade:
            events = [(*event[:5], 0.0) for event in events]
        triplet, self.state = triplets(events, x)
        z = autoregression(random, count, math.exp(-speed_m_s * step_s / correlation_m))
        direct = 10 ** ((triplet[:, 0] + triplet[:, 1] * z) / 20)
        scattered = jakes(random, padded, step_s, speed_m_s * carrier_hz / LIGHT_M_S)[:count]
        self.gain = np.abs(direct + scattered * 10 ** (triplet[:, 2] / 20)) ** 2
        self.step_s = step_s


# Mutual information of QPSK a coded bit over Es/N0, dB: J(2 sqrt(gamma)), by quadrature.
MI_DB = np.arange(-70.0, 40.01, 0.05)
_z = np.linspace(-9, 9, 2401)
_weight = np.exp(-_z * _z / 2)
_weight /= _weight.sum()
MI = np.array([1 - _weight @ np.logaddexp(0, -(2 * g + 2 * math.sqrt(g) * _z)) / math.log(2) for g in 10 ** (MI_DB / 10)])
MI = np.maximum.accumulate(np.clip(MI, 0, 1))


def mutual_information(gamma):
    return np.interp(10 * np.log10(np.maximum(gamma, 1e-9)), MI_DB, MI)


def word_error_rate(information, code, loss_db=0.0, variation_db=0.0):
    """Rate at a word's mean information; the variation widens the curve, the loss shifts it."""
    threshold, width = CODES[code]
    # Where information saturates the inverse is not unique, and the rate is nothing.
    last = int(np.searchsorted(MI, 1 - 1e-12))
    x = np.interp(information, MI[:last], MI_DB[:last])
    table_db = np.arange(-70.0, 40.01, 0.01)
    spread = math.hypot(width, variation_db)
    table = [math.erfc((y - loss_db - threshold) / spread / math.sqrt(2)) / 2 for y in table_db]
    return np.interp(x, table_db, table)


def word_information(gamma, step_s, starts_s, on_air_s, interleaver_s):
    """Mean information over a word's symbols, whose Es/N0 is `gamma` every `step_s`: over the interleaver's window
    from its start, or without one at the middle of its time on air."""
    information = mutual_information(gamma)
    if interleaver_s == 0:
        return np.interp(starts_s + on_air_s / 2, np.arange(len(gamma)) * step_s, information)
    total = np.concatenate([[0.0], np.cumsum((information[1:] + information[:-1]) / 2)]) * step_s
    time = np.arange(len(gamma)) * step_s
    return (np.interp(starts_s + interleaver_s, time, total) - np.interp(starts_s, time, total)) / interleaver_s


def crossings(gain, threshold_db):
    """Share of time below, number of downward crossings, of a sampled gain."""
    below = gain < 10 ** (threshold_db / 10)
    return below.mean(), int(np.count_nonzero(below[1:] & ~below[:-1]))


def burst_lengths(erased):
    """Lengths of the runs of erased slots."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], erased, [False]]).astype(np.int8)))
    return edges[1::2] - edges[::2]


def autocorrelation(erased, lags):
    """Correlation coefficient of erasures `lag` slots apart."""
    x = erased.astype(float) - erased.mean()
    return np.array([(x[:-lag] * x[lag:]).mean() if lag else (x * x).mean() for lag in lags]) / (x * x).mean()
