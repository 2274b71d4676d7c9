// Rotary position embedding as pure numbers: inverse frequencies for every rope type of Hugging Face configs, and the
// sets of them that a step needs. source: transformers' modeling_rope_utils.

import type { RopeTable } from '../../kernels/rotations.ts';

export type RopeType = 'default' | 'linear' | 'dynamic' | 'yarn' | 'llama3' | 'longrope';

export interface RopeConfig extends RopeTable {
  type: RopeType;
  theta: number;
  /** Context the frequencies were trained for. */
  originalContext: number;
  factor: number;
  /** yarn: rotations that bound the blend of scaled and unscaled frequencies. */
  betaFast: number;
  betaSlow: number;
  truncate: boolean;
  /** llama3: the same as frequency factors. */
  lowFrequencyFactor: number;
  highFrequencyFactor: number;
  /** longrope: divisors by dimension, up to the original context and beyond it. */
  shortFactor: number[];
  longFactor: number[];
}

/** dims / 2 inverse frequencies, in radians a token; `length` matters to `dynamic` and `longrope` only. */
export function inverseFrequencies(rope: RopeConfig, length: number): Float64Array {
  const plain = powers(rope.theta, rope.dims);
  switch (rope.type) {
    case 'default':
      return plain;
    case 'linear':
      return plain.map((f) => f / rope.factor);
    case 'dynamic': {
      const stretch =
        (rope.factor * Math.max(length, rope.originalContext)) / rope.originalContext - (rope.factor - 1);
      return powers(rope.theta * stretch ** (rope.dims / (rope.dims - 2)), rope.dims);
    }
    case 'yarn':
      return yarn(rope, plain);
    case 'llama3':
      return llama3(rope, plain);
    case 'longrope': {
      const factors = length > rope.originalContext ? rope.longFactor : rope.shortFactor;
      return plain.map((f, i) => f / factors[i]!);
    }
  }
}

function powers(theta: number, dims: number): Float64Array {
  return Float64Array.from({ length: dims / 2 }, (_, i) => theta ** ((-2 * i) / dims));
}

/** Fast dimensions keep their frequency, slow ones are divided by the factor, those between are blended. */
function yarn(rope: RopeConfig, plain: Float64Array): Float64Array {
  const dimension = (rotations: number): number =>
    (rope.dims * Math.log(rope.originalContext / (rotations * 2 * Math.PI))) / (2 * Math.log(rope.theta));
  const [first, last] = [dimension(rope.betaFast), dimension(rope.betaSlow)];
  const low = Math.max(rope.truncate ? Math.floor(first) : first, 0);
  let high = Math.min(rope.truncate ? Math.ceil(last) : last, rope.dims - 1);
  if (low === high) high += 0.001;
  return plain.map((f, i) => {
    const scaled = Math.min(Math.max((i - low) / (high - low), 0), 1);
    return (f / rope.factor) * scaled + f * (1 - scaled);
  });
}

function llama3(rope: RopeConfig, plain: Float64Array): Float64Array {
  const { lowFrequencyFactor: low, highFrequencyFactor: high } = rope;
  return plain.map((f) => {
    const turns = (rope.originalContext * f) / (2 * Math.PI);
    if (turns >= high) return f;
    if (turns < low) return f / rope.factor;
    const blend = (turns - low) / (high - low);
    return (1 - blend) * (f / rope.factor) + blend * f;
  });
}

/** The sets of frequencies that a step's rows go by, each with those of all rope tables. Most types have one. */
export interface RopeSets {
  /** Which set a sequence of this length takes; made where it is new. */
  of(length: number): number;
  readonly count: number;
  /** Number of sets, from the first, that have changed in `words` since the last call: 0 if the device still has them all. */
  takeChanged(): number;
  /** Back to none, for the next step. What stands in `words` stays, and is used again where the next step needs it there. */
  clear(): void;
}

/**
 * Writes each new set into `words` as turns a token, 64-bit fixed point: low word, high word, for dims / 2 frequencies.
 * Overflow of the fixed point is a whole turn, so an angle loses nothing at far positions.
 */
export function ropeSets(ropes: readonly RopeConfig[], words: Uint32Array): RopeSets {
  const sets = new Map<number, number>();
  const size = ropeWords(ropes);
  /** Keys of the sets that stand in `words`. */
  const written: number[] = [];
  let changed = 0;
  return {
    get count() {
      return sets.size;
    },
    takeChanged() {
      const count = changed;
      changed = 0;
      return count;
    },
    clear: () => sets.clear(),
    of(length) {
      const key = lengthKey(ropes, length);
      let set = sets.get(key);
      if (set === undefined) {
        set = sets.size;
        sets.set(key, set);
        if (written[set] === key) return set;
        written[set] = key;
        changed = Math.max(changed, set + 1);
        let at = set * size;
        for (const rope of ropes) {
          writeTurns(inverseFrequencies(rope, length), words.subarray(at));
          at += rope.dims;
        }
      }
      return set;
    },
  };
}

/** Words of one set. */
export function ropeWords(ropes: readonly RopeConfig[]): number {
  return ropes.reduce((sum, { dims }) => sum + dims, 0);
}

function writeTurns(frequencies: Float64Array, words: Uint32Array): void {
  frequencies.forEach((frequency, i) => {
    const turns = (frequency / (2 * Math.PI)) * 2 ** 32;
    const high = Math.floor(turns);
    words[2 * i] = Math.floor((turns - high) * 2 ** 32);
    words[2 * i + 1] = high;
  });
}

/** The longest text with the same frequencies as one of `length`. */
export function sameFrequenciesUntil(ropes: readonly RopeConfig[], length: number): number {
  return Math.min(Infinity, ...ropes.map((rope) => sameUntil(rope, length)));
}

function sameUntil(rope: RopeConfig, length: number): number {
  if (rope.type !== 'dynamic' && rope.type !== 'longrope') return Infinity;
  if (length <= rope.originalContext) return rope.originalContext;
  return rope.type === 'dynamic' ? length : Infinity;
}

/** Lengths with the same key have the same frequencies. */
export function lengthKey(ropes: readonly RopeConfig[], length: number): number {
  // No table's key falls as a text grows, so that sums are equal only where all keys are.
  return ropes.reduce((sum, rope) => sum + keyOf(rope, length), 0);
}

function keyOf(rope: RopeConfig, length: number): number {
  if (length <= rope.originalContext) return 0;
  if (rope.type === 'dynamic') return length;
  return rope.type === 'longrope' ? 1 : 0;
}
