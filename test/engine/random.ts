// Random numbers that are the same in every run.

/** Integers from 0 to below a bound; xorshift. */
export function randomInteger(seed: number): (below: number) => number {
  let state = Math.imul(seed + 1, 0x9e3779b9) | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

export function randomOf<T>(random: (below: number) => number, values: readonly T[]): T {
  return values[random(values.length)]!;
}
