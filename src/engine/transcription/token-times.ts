// When each token of a window is said: the path through a window's rows and tokens along which the alignment heads look. source: openai-whisper's
// timing

export interface Alignment {
  /** Weights of each token, [heads · keys] in `heads` runs. */
  rows: readonly Float32Array[];
  heads: number;
  keys: number;
}

/**
 * The row of the window at which each token ends, in the order of the tokens; `seen`: rows that have sound. Yields after each token's row, so that other
 * work runs in between.
 */
export function* tokenTimes(
  { rows, heads, keys }: Alignment,
  seen: number,
  medianWidth: number,
): Generator<void, number[], void> {
  const mean = new Float32Array(rows.length * seen);
  for (let head = 0; head < heads; head++) {
    const own = rows.map((row) => row.subarray(head * keys, head * keys + seen));
    const spread = yield* spreadOf(own, seen);
    for (const [i, row] of own.entries()) {
      const smooth = medians(normalized(row, spread), medianWidth);
      for (let key = 0; key < seen; key++) mean[i * seen + key]! += smooth[key]! / heads;
      yield;
    }
  }
  return yield* warp(mean, rows.length, seen);
}

/** Of each key over all tokens. */
interface Spread {
  means: Float64Array;
  deviations: Float64Array;
}

function* spreadOf(rows: readonly Float32Array[], keys: number): Generator<void, Spread, void> {
  const means = new Float64Array(keys);
  const deviations = new Float64Array(keys);
  for (const row of rows) {
    for (let key = 0; key < keys; key++) means[key]! += row[key]!;
    yield;
  }
  for (let key = 0; key < keys; key++) means[key]! /= rows.length;
  for (const row of rows) {
    for (let key = 0; key < keys; key++) deviations[key]! += (row[key]! - means[key]!) ** 2;
    yield;
  }
  for (let key = 0; key < keys; key++) deviations[key] = Math.sqrt(deviations[key]! / rows.length) || 1;
  return { means, deviations };
}

/** Distances from the means, in standard deviations. */
const normalized = (row: Float32Array, { means, deviations }: Spread): Float32Array =>
  row.map((value, key) => (value - means[key]!) / deviations[key]!);

/** Medians of `width` neighbours, mirrored at both ends. */
function medians(x: Float32Array, width: number): Float32Array {
  const half = (width - 1) / 2;
  if (x.length <= half) return x;
  const near = new Float32Array(width);
  return x.map((_, at) => {
    for (let i = 0; i < width; i++) {
      const place = Math.abs(at + i - half);
      const value = x[place < x.length ? place : 2 * (x.length - 1) - place]!;
      // Sorted as they come: a typed array's own sort() takes many times as long for a few values.
      let before = i;
      for (; before > 0 && near[before - 1]! > value; before--) near[before] = near[before - 1]!;
      near[before] = value;
    }
    return near[half]!;
  });
}

const [BOTH, TOKEN, KEY] = [0, 1, 2];

/** Dynamic time warping: the key at which the best path through all tokens and keys comes to each token; likeness [tokens, keys] */
function* warp(likeness: Float32Array, tokens: number, keys: number): Generator<void, number[], void> {
  const width = keys + 1;
  const costs = new Float32Array((tokens + 1) * width).fill(Infinity);
  const steps = new Uint8Array(costs.length);
  costs[0] = 0;
  for (let token = 1; token <= tokens; token++) {
    for (let key = 1; key <= keys; key++) {
      const at = token * width + key;
      const [both, above, left] = [costs[at - width - 1]!, costs[at - width]!, costs[at - 1]!];
      const step = both < above && both < left ? BOTH : above < both && above < left ? TOKEN : KEY;
      steps[at] = step;
      costs[at] = [both, above, left][step]! - likeness[(token - 1) * keys + key - 1]!;
    }
    yield;
  }
  const times = Array.from({ length: tokens }, () => 0);
  for (let [token, key] = [tokens, keys]; token > 0;) {
    times[token - 1] = Math.max(0, key - 1);
    const step = key === 0 ? TOKEN : steps[token * width + key]!;
    if (step !== KEY) token -= 1;
    if (step !== TOKEN) key -= 1;
  }
  return times;
}
