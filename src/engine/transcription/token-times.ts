// When each token of a window is said: the path through a window's rows and tokens along which the alignment heads look. source: openai-whisper's
// timing

export interface Alignment {
  /** Weights of each token, [heads · keys] in `heads` runs. */
  rows: readonly Float32Array[];
  heads: number;
  keys: number;
}

/** The row of the window at which each token ends, in the order of the tokens; `seen`: rows that have sound. */
export function* tokenTimes(
  { rows, heads, keys }: Alignment,
  seen: number,
  medianWidth: number,
): Generator<void, number[], void> {
  const mean = new Float32Array(rows.length * seen);
  const weights = new Float32Array(mean.length);
  for (let head = 0; head < heads; head++) {
    for (const [i, row] of rows.entries())
      weights.set(row.subarray(head * keys, head * keys + seen), i * seen);
    normalize(weights, rows.length, seen);
    for (let i = 0; i < rows.length; i++) {
      const smooth = medians(weights.subarray(i * seen, (i + 1) * seen), medianWidth);
      for (let key = 0; key < seen; key++) mean[i * seen + key]! += smooth[key]! / heads;
    }
    yield;
  }
  return warp(mean, rows.length, seen);
}

/** Distances of each column's values from their mean, in standard deviations; x [rows, columns] */
function normalize(x: Float32Array, rows: number, columns: number): void {
  for (let column = 0; column < columns; column++) {
    let [sum, squares] = [0, 0];
    for (let row = 0; row < rows; row++) sum += x[row * columns + column]!;
    const mean = sum / rows;
    for (let row = 0; row < rows; row++) squares += (x[row * columns + column]! - mean) ** 2;
    const deviation = Math.sqrt(squares / rows) || 1;
    for (let row = 0; row < rows; row++) {
      const at = row * columns + column;
      x[at] = (x[at]! - mean) / deviation;
    }
  }
}

/** Medians of `width` neighbours, mirrored at both ends. */
function medians(x: Float32Array, width: number): Float32Array {
  const half = (width - 1) / 2;
  if (x.length <= half) return x;
  const near = new Float32Array(width);
  return x.map((_, at) => {
    for (let i = 0; i < width; i++) {
      const place = Math.abs(at + i - half);
      near[i] = x[place < x.length ? place : 2 * (x.length - 1) - place]!;
    }
    return near.sort()[half]!;
  });
}

const [BOTH, TOKEN, KEY] = [0, 1, 2];

/** Dynamic time warping: the key at which the best path through all tokens and keys comes to each token; likeness [tokens, keys] */
function warp(likeness: Float32Array, tokens: number, keys: number): number[] {
  const width = keys + 1;
  const costs = new Float32Array((tokens + 1) * width).fill(Infinity);
  const steps = new Uint8Array(costs.length);
  costs[0] = 0;
  for (let token = 1; token <= tokens; token++)
    for (let key = 1; key <= keys; key++) {
      const at = token * width + key;
      const [both, above, left] = [costs[at - width - 1]!, costs[at - width]!, costs[at - 1]!];
      const step = both < above && both < left ? BOTH : above < both && above < left ? TOKEN : KEY;
      steps[at] = step;
      costs[at] = [both, above, left][step]! - likeness[(token - 1) * keys + key - 1]!;
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
