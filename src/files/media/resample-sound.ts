// Resampling of sounds by a low-pass filter: a sinc under a Kaiser window. Everything from the lower rate's half on is damped by 126 dB; up
// to 91.3 % of it nothing changes, as in soxr's high quality. A sound is resampled while it arrives: only the samples that the filter still
// reaches are kept, and results do not depend on where the sound was cut.

/** Of half the lower rate: the end of what passes, and the beginning of what does not. */
const [PASS, STOP] = [0.913, 1];
/** Damping of what does not pass, in dB. */
const DAMPING = 126;
/** Places between two samples at which the filter is kept; places between these are interpolated. */
const MOST_PHASES = 2048;
/** Multiplications after which results are handed over, about a millisecond. */
const PIECE_WORK = 2 ** 20;
/** Multiplications that computing one weight of the filter counts for. */
const WEIGHT_WORK = 32;

/** A resampler of one sound between two rates, whole numbers of samples per second. */
export class Resampler {
  readonly #up: number;
  readonly #down: number;
  readonly #filter: Filter;
  /** Samples that the filter still reaches; `#filled` of them are there, and the first is number `#start` of the sound. */
  #window = new Float32Array(0);
  #start = 0;
  #filled = 0;
  /** Number of results so far. */
  #made = 0;

  constructor(from: number, to: number) {
    const divisor = greatestDivisor(from, to);
    [this.#up, this.#down] = [to / divisor, from / divisor];
    this.#filter = new Filter(from, to, this.#up);
  }

  /** Takes the next samples, and yields the results that later samples do not change, in pieces of bounded work. */
  *push(samples: Float32Array): Generator<Float32Array, void> {
    this.#keep(samples);
    const whole = Math.max(0, this.#start + this.#filled - this.#filter.half);
    yield* this.#results(Math.ceil((whole * this.#up) / this.#down));
  }

  /** Yields the last results. As in transformers, a last sample that soxr does not make is zero. */
  *end(): Generator<Float32Array, void> {
    const exact = ((this.#start + this.#filled) * this.#up) / this.#down;
    yield* this.#results(Math.round(exact));
    if (this.#made < Math.ceil(exact)) yield new Float32Array(Math.ceil(exact) - this.#made);
  }

  *#results(end: number): Generator<Float32Array, void> {
    const filter = this.#filter;
    const samples = this.#window.subarray(0, this.#filled);
    while (this.#made < end) {
      const some = new Float32Array(Math.min(end - this.#made, Math.ceil(PIECE_WORK / filter.taps)));
      const stop = filter.work + PIECE_WORK;
      let count = 0;
      while (count < some.length && filter.work < stop) {
        const at = this.#made++ * this.#down;
        const rest = at % this.#up;
        some[count++] = filter.apply(samples, (at - rest) / this.#up - this.#start, rest / this.#up);
      }
      yield some.subarray(0, count);
    }
  }

  #keep(samples: Float32Array): void {
    if (this.#filled + samples.length > this.#window.length) this.#makeRoom(samples.length);
    this.#window.set(samples, this.#filled);
    this.#filled += samples.length;
  }

  /** Drops the samples that the next result does not need. At least half of the window is free then, so that few samples are moved. */
  #makeRoom(count: number): void {
    const first = Math.floor((this.#made * this.#down) / this.#up) - this.#filter.half + 1;
    const dropped = Math.min(Math.max(0, first - this.#start), this.#filled);
    const kept = this.#window.subarray(dropped, this.#filled);
    const room = 2 * (kept.length + count);
    if (room > this.#window.length) this.#window = new Float32Array(room);
    this.#window.set(kept);
    this.#start += dropped;
    this.#filled = kept.length;
  }
}

/** The filter's weights at each place between two samples; those of a place are computed when it first occurs. */
class Filter {
  /** Samples that a result needs on each side. */
  readonly half: number;
  readonly taps: number;
  /** Multiplications so far. */
  work = 0;
  /** Cycles per sample: where half the amplitude passes. */
  readonly #cut: number;
  readonly #phases: number;
  /** By phase; one more than there are, as the end of the last interpolation. */
  readonly #rows: (Float32Array | undefined)[];

  constructor(from: number, to: number, up: number) {
    const low = Math.min(from, to);
    const width = ((STOP - PASS) / 2) * (low / from);
    this.#cut = ((PASS + STOP) / 4) * (low / from);
    this.half = Math.ceil((DAMPING - 7.95) / (14.36 * width) / 2);
    this.taps = 2 * this.half;
    this.#phases = Math.min(up, MOST_PHASES);
    this.#rows = Array.from({ length: this.#phases + 1 });
  }

  /** The filtered value at `whole + place` samples, with 0 ≤ place < 1. Samples on either side that are not there count as zeros. */
  apply(samples: Float32Array, whole: number, place: number): number {
    const first = whole - this.half + 1;
    const exact = place * this.#phases;
    const phase = Math.floor(exact + 1e-9);
    const rest = exact - phase;
    const value = this.#sum(samples, first, phase);
    return Math.abs(rest) < 1e-9 ? value : value + rest * (this.#sum(samples, first, phase + 1) - value);
  }

  #sum(samples: Float32Array, first: number, phase: number): number {
    const row = (this.#rows[phase] ??= this.#makeRow(phase));
    const begin = Math.max(0, -first);
    const end = Math.min(row.length, samples.length - first);
    this.work += row.length;
    let total = 0;
    for (let tap = begin; tap < end; tap++) total += row[tap]! * samples[first + tap]!;
    return total;
  }

  /** Tap i weighs the sample at whole - half + 1 + i. */
  #makeRow(phase: number): Float32Array {
    this.work += WEIGHT_WORK * this.taps;
    const row = new Float32Array(this.taps);
    for (let tap = 0; tap < row.length; tap++)
      row[tap] = windowedSinc(tap - this.half + 1 - phase / this.#phases, this.#cut, this.half);
    return row;
  }
}

/** Kaiser's parameter for the damping. */
const BETA = 0.1102 * (DAMPING - 8.7);
const BESSEL_OF_BETA = bessel(BETA);

/** The filter `distance` samples from its middle; it ends at `half`. */
function windowedSinc(distance: number, cut: number, half: number): number {
  const share = distance / half;
  if (Math.abs(share) >= 1) return 0;
  const angle = 2 * Math.PI * cut * distance;
  const sinc = distance === 0 ? 1 : Math.sin(angle) / angle;
  return 2 * cut * sinc * (bessel(BETA * Math.sqrt(1 - share ** 2)) / BESSEL_OF_BETA);
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
