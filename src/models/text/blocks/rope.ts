// Rotary position embedding as pure numbers: inverse frequencies for every rope type of Hugging Face configs, and the sets of them
// that a step needs. Source: transformers' modeling_rope_utils.

import type { RopeTable } from '../../../kernels/rotations.ts';

export type RopeType =
  | 'default'
  | 'linear'
  | 'dynamic'
  | 'ntk'
  | 'yarn'
  | 'llama3'
  | 'longrope'
  | 'proportional';

export interface RopeConfig extends RopeTable {
  type: RopeType;
  theta: number;
  /** Context for which the frequencies were trained. */
  originalContext: number;
  factor: number;
  /** yarn: rotations that bound the blend of scaled and unscaled frequencies. */
  betaFast: number;
  betaSlow: number;
  truncate: boolean;
  /** llama3: bounds of that blend as frequency factors. */
  lowFrequencyFactor: number;
  highFrequencyFactor: number;
  /** proportional: share of the dimensions that are rotated, by the frequencies of all; left out: 1. */
  proportion?: number;
  /** longrope: divisors per dimension, up to the original context and beyond it. */
  shortFactor: number[];
  longFactor: number[];
}

/** Returns dims / 2 inverse frequencies in radians per token; only `dynamic` and `longrope` depend on `length`. */
export function inverseFrequencies(rope: RopeConfig, length: number): Float64Array {
  const plain = powers(rope.theta, rope.dims);
  switch (rope.type) {
    case 'default':
      return plain;
    case 'linear':
      return plain.map((f) => f / rope.factor);
    case 'ntk': // the base of a text `factor` times as long, for all texts
      return powers(rope.theta * rope.factor ** (rope.dims / (rope.dims - 2)), rope.dims);
    case 'dynamic': {
      const stretch =
        (rope.factor * Math.max(length, rope.originalContext)) / rope.originalContext - (rope.factor - 1);
      return powers(rope.theta * stretch ** (rope.dims / (rope.dims - 2)), rope.dims);
    }
    case 'yarn':
      return yarn(rope, plain);
    case 'llama3':
      return llama3(rope, plain);
    case 'proportional': {
      const turned = Math.trunc(((rope.proportion ?? 1) * rope.dims) / 2);
      return plain.map((f, i) => (i < turned ? f / rope.factor : 0));
    }
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

/**
 * The sets of rotary frequencies of a step's rows; each set contains those of all rope tables. Most rope types have only one set.
 */
export interface RopeSets {
  /** Returns the index of the set for a sequence length; a new set is written if necessary. */
  of(length: number): number;
  readonly count: number;
  /**
   * Returns the number of sets, from the first, that must be uploaded because they changed in `words` since the last call; 0 if
   * none changed.
   */
  takeChanged(): number;
  /** Starts the next step without sets. Sets in `words` are reused if the next step needs them in the same place. */
  clear(): void;
}

/**
 * Creates the sets, which are written into `words` as turns per token in 64-bit fixed point: low word, high word, for dims / 2
 * frequencies. An overflow of the fixed point is a whole turn, so that angles are exact at far positions.
 */
export function ropeSets(ropes: readonly RopeConfig[], words: Uint32Array): RopeSets {
  const sets = new Map<number, number>();
  const size = ropeWords(ropes);
  /** Keys of the sets in `words`. */
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

/** Returns the number of words of one set. */
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

/** Returns a key that is equal for lengths with the same frequencies. */
export function lengthKey(ropes: readonly RopeConfig[], length: number): number {
  // A table's key never decreases as a text grows, so that sums are equal only if all keys are.
  return ropes.reduce((sum, rope) => sum + keyOf(rope, length), 0);
}

function keyOf(rope: RopeConfig, length: number): number {
  if (length <= rope.originalContext) return 0;
  if (rope.type === 'dynamic') return length;
  return rope.type === 'longrope' ? 1 : 0;
}
