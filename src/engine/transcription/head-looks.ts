// How much the alignment heads together look at each row of a window, token by token. Tokens come in blocks, and all of them twice: once for the spread of
// their weights, once for the looks themselves, so that never more than a block of all heads' weights need be kept. source: openai-whisper's timing

export interface AlignedHeads {
  heads: number;
  /** Rows of a window. */
  keys: number;
  /** Neighbours whose median a weight becomes; odd. */
  medianWidth: number;
}

export class HeadLooks {
  readonly #of: AlignedHeads;
  /** Rows of the window that have sound. */
  readonly #seen: number;
  #tokens = 0;
  /** Of each head's weights for each row over all tokens: [heads, seen]. */
  readonly #means: Float64Array;
  /** Sums of squared distances from the means. source: Welford's algorithm */
  readonly #squares: Float64Array;

  constructor(of: AlignedHeads, seen: number) {
    this.#of = of;
    this.#seen = seen;
    this.#means = new Float64Array(of.heads * seen);
    this.#squares = new Float64Array(of.heads * seen);
  }

  /** Counts tokens in; weights [tokens][heads · keys]. Yields, as the looks do, after each head of a token, so that other work runs in between. */
  *measure(weights: readonly Float32Array[]): Generator<void, void, void> {
    const [seen, means, squares] = [this.#seen, this.#means, this.#squares];
    for (const row of weights) {
      this.#tokens += 1;
      for (let head = 0; head < this.#of.heads; head++) {
        const own = this.#weightsOf(row, head);
        for (let key = 0; key < seen; key++) {
          const at = head * seen + key;
          const distance = own[key]! - means[at]!;
          means[at]! += distance / this.#tokens;
          squares[at]! += distance * (own[key]! - means[at]!);
        }
        yield;
      }
    }
  }

  /** The looks of tokens, [tokens][seen], once all are counted in. */
  *looks(weights: readonly Float32Array[]): Generator<void, Float32Array[], void> {
    const { heads, medianWidth } = this.#of;
    const made: Float32Array[] = [];
    for (const row of weights) {
      const mean = new Float32Array(this.#seen);
      for (let head = 0; head < heads; head++) {
        const smooth = medians(this.#normalized(row, head), medianWidth);
        for (let key = 0; key < mean.length; key++) mean[key]! += smooth[key]! / heads;
        yield;
      }
      made.push(mean);
    }
    return made;
  }

  #weightsOf(row: Float32Array, head: number): Float32Array {
    const from = head * this.#of.keys;
    return row.subarray(from, from + this.#seen);
  }

  /** Distances from the means, in standard deviations. */
  #normalized(row: Float32Array, head: number): Float32Array {
    const first = head * this.#seen;
    return this.#weightsOf(row, head).map((weight, key) => {
      const deviation = Math.sqrt(this.#squares[first + key]! / this.#tokens) || 1;
      return (weight - this.#means[first + key]!) / deviation;
    });
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
      const value = x[place < x.length ? place : 2 * (x.length - 1) - place]!;
      // Sorted as they come: a typed array's own sort() takes many times as long for a few values.
      let before = i;
      for (; before > 0 && near[before - 1]! > value; before--) near[before] = near[before - 1]!;
      near[before] = value;
    }
    return near[half]!;
  });
}
