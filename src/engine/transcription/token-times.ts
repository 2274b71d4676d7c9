// When each token of a window is said: the path through a window's rows and tokens along which the alignment heads look. source: openai-whisper's
// timing

const [BOTH, TOKEN, KEY] = [0, 1, 2];

/**
 * The row of the window at which each token ends, in the order of the tokens, by dynamic time warping: where the best path comes to each of them.
 * `looks`: those of each token at the window's rows. Yields after each token, so that other work runs in between.
 */
export function* tokenTimes(looks: readonly Float32Array[]): Generator<void, number[], void> {
  const [tokens, keys] = [looks.length, looks[0]!.length];
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
      costs[at] = [both, above, left][step]! - looks[token - 1]![key - 1]!;
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
