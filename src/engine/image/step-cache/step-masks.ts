// Masks of the steps that compute all blocks: runs of computed and of reused steps by turns. source: cache-dit's steps_mask

export const MASK_NAMES = ['slow', 'medium', 'fast', 'ultra'] as const;

export type MaskName = (typeof MASK_NAMES)[number];

/** Lengths of the runs of computed steps, and of the runs of reused steps between them. */
export interface Bins {
  computed: readonly number[];
  reused: readonly number[];
}

const bins = (computed: readonly number[], reused: readonly number[]): Bins => ({ computed, reused });

/** Runs of 28 steps. */
const USUAL: Readonly<Record<MaskName, Bins>> = {
  slow: bins([8, 3, 3, 2, 1, 1], [1, 2, 2, 2, 3]),
  medium: bins([6, 2, 2, 2, 2, 1], [1, 3, 3, 3, 3]),
  fast: bins([6, 1, 1, 1, 1, 1], [1, 3, 4, 5, 4]),
  ultra: bins([4, 1, 1, 1, 1], [2, 5, 6, 7]),
};
const USUAL_STEPS = 28;

/** Runs of few steps, as distilled models take them, from so many steps on. */
const FEW: readonly (readonly [least: number, Readonly<Record<MaskName, Bins>>])[] = [
  [16, USUAL],
  [
    10,
    {
      slow: bins([4, 2, 2, 2, 1], [1, 1, 1, 1]),
      medium: bins([4, 2, 1, 1, 1], [1, 1, 2, 2]),
      fast: bins([3, 1, 1, 1, 1], [1, 2, 2, 3]),
      ultra: bins([2, 1, 1, 1, 1], [1, 2, 3, 3]),
    },
  ],
  [
    9,
    {
      slow: bins([5, 2, 1], [1]),
      medium: bins([5, 1, 1], [1, 1]),
      fast: bins([4, 1, 1], [1, 2]),
      ultra: bins([3, 1, 1], [2, 2]),
    },
  ],
  [
    8,
    {
      slow: bins([5, 1, 1], [1]),
      medium: bins([4, 1, 1], [1, 1]),
      fast: bins([3, 1, 1], [1, 2]),
      ultra: bins([2, 1, 1], [2, 2]),
    },
  ],
];

/** Returns which steps are computed; fewer than 8 steps are computed all, since reusing one of them shows. */
export function namedMask(name: MaskName, steps: number): boolean[] {
  const found = FEW.find(([least]) => steps >= least);
  if (!found) return Array<boolean>(steps).fill(true);
  const own = found[1][name];
  return maskOf(shorter(steps > USUAL_STEPS ? longer(own, steps) : own, steps), steps);
}

/** Returns which steps are computed, by bins: steps behind the last bin are not, but for the very last. */
export function maskOf({ computed, reused }: Bins, steps: number): boolean[] {
  const mask: boolean[] = [];
  computed.forEach((count, i) => {
    mask.push(...Array<boolean>(count).fill(true), ...Array<boolean>(reused[i] ?? 0).fill(false));
  });
  const cut = Array.from({ length: steps }, (_, i) => mask[i] ?? false);
  cut[steps - 1] = true;
  return cut;
}

/** Bins without what exceeds the steps, of which the last reused run and the last computed run lose one by turns. */
function shorter(bins: Bins, steps: number): Bins {
  const [computed, reused] = [[...bins.computed], [...bins.reused]];
  const exceeds = (): boolean => total({ computed, reused }) > steps;
  const shorten = (runs: number[]): void => {
    const last = runs.pop();
    if (last !== undefined && last > 1) runs.push(last - 1);
  };
  while (exceeds()) {
    shorten(reused);
    if (exceeds()) shorten(computed);
  }
  return { computed, reused };
}

const total = ({ computed, reused }: Bins): number =>
  [...computed, ...reused].reduce((sum, count) => sum + count, 0);

/** Bins for more steps, which grow in turn by half of what the number of steps implies until they hold all. */
function longer({ computed, reused }: Bins, steps: number): Bins {
  const grown = { computed: [...computed], reused: [...reused] };
  const isShort = (): boolean => total(grown) < steps;
  const growth = (count: number): number => Math.max(1, Math.trunc(count * (steps / USUAL_STEPS) * 0.5));
  while (isShort()) {
    for (let i = 0; i < reused.length && isShort(); i++) {
      grown.computed[i]! += growth(computed[i]!);
      if (isShort()) grown.reused[i]! += growth(reused[i]!);
    }
    if (isShort()) grown.computed[computed.length - 1]! += 1;
  }
  return grown;
}
