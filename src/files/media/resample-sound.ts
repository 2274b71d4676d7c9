// Resampling of sounds by a low-pass filter: a sinc under a Kaiser window. Everything from the lower rate's half on is damped by 126 dB; up
// to 91.3 % of it nothing changes, as in soxr's high quality.

/** Of half the lower rate: the end of what passes, and the beginning of what does not. */
const [PASS, STOP] = [0.913, 1];
/** Damping of what does not pass, in dB. */
const DAMPING = 126;
/** Places between two samples at which the filter is kept; places between these are interpolated. */
const MOST_PHASES = 2048;

export interface Resampler {
  /** Number of samples that so many become; as in transformers, a last one that soxr does not make is zero. */
  length(samples: number): number;
  /** Samples `first` to `first + count - 1` of the result. */
  resample(samples: Float32Array, first: number, count: number): Float32Array;
}

/** A resampler between two rates, whole numbers of samples per second. */
export function resampler(from: number, to: number): Resampler {
  const divisor = greatestDivisor(from, to);
  const [up, down] = [to / divisor, from / divisor];
  const filter = buildFilter(from, to, up);
  return {
    length: (samples) => Math.ceil((samples * up) / down),
    resample(samples, first, count) {
      const result = new Float32Array(count);
      const made = Math.min(count, Math.round((samples.length * up) / down) - first);
      for (let i = 0; i < made; i++) {
        const at = (first + i) * down;
        const place = (at % up) / up;
        result[i] = filter.apply(samples, (at - (at % up)) / up, place);
      }
      return result;
    },
  };
}

interface Filter {
  /** The filtered value at `whole + place` samples, with 0 ≤ place < 1. */
  apply(samples: Float32Array, whole: number, place: number): number;
}

function buildFilter(from: number, to: number, up: number): Filter {
  const low = Math.min(from, to);
  /** Cycles per sample: where half the amplitude passes. */
  const cut = ((PASS + STOP) / 4) * (low / from);
  const width = ((STOP - PASS) / 2) * (low / from);
  const half = Math.ceil((DAMPING - 7.95) / (14.36 * width) / 2);
  const phases = Math.min(up, MOST_PHASES);
  const taps = 2 * half;
  // Tap i weighs the sample at whole - half + 1 + i. One more phase than there are, as the end of the last interpolation.
  const table = new Float32Array((phases + 1) * taps);
  for (let phase = 0; phase <= phases; phase++)
    for (let tap = 0; tap < taps; tap++)
      table[phase * taps + tap] = windowedSinc(tap - half + 1 - phase / phases, cut, half);

  const sum = (samples: Float32Array, first: number, phase: number): number => {
    const begin = Math.max(0, -first);
    const end = Math.min(taps, samples.length - first);
    const row = phase * taps;
    let total = 0;
    for (let tap = begin; tap < end; tap++) total += table[row + tap]! * samples[first + tap]!;
    return total;
  };
  return {
    apply(samples, whole, place) {
      const first = whole - half + 1;
      const exact = place * phases;
      const phase = Math.floor(exact + 1e-9);
      const rest = exact - phase;
      const value = sum(samples, first, phase);
      return Math.abs(rest) < 1e-9 ? value : value + rest * (sum(samples, first, phase + 1) - value);
    },
  };
}

/** Kaiser's parameter for the damping. */
const BETA = 0.1102 * (DAMPING - 8.7);

/** The filter `distance` samples from its middle; it ends at `half`. */
function windowedSinc(distance: number, cut: number, half: number): number {
  const share = distance / half;
  if (Math.abs(share) >= 1) return 0;
  const angle = 2 * Math.PI * cut * distance;
  const sinc = distance === 0 ? 1 : Math.sin(angle) / angle;
  return 2 * cut * sinc * (bessel(BETA * Math.sqrt(1 - share ** 2)) / bessel(BETA));
}

/** The modified Bessel function of order 0. */
function bessel(x: number): number {
  let [sum, term] = [1, 1];
  for (let k = 1; term > sum * 1e-16; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}
