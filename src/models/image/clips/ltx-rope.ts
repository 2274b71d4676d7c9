// Positions of the tokens of an LTX-Video clip in seconds and pixels, and the rotation of each pair of columns of all heads there: heads are
// not rotated alike. Positions are fractions of an extent that clips of the training had at most, from -1 to 1 within it.

import type { LTXConfig } from './ltx-config.ts';
import type { ClipGrid } from './wan-rope.ts';

/** How latents stand in a clip. */
export interface LTXPlaces {
  fps: number;
  framesPerLatent: number;
  /** Pixels along one side of a latent. */
  factor: number;
  /** Whether a latent stands at the first frame since the one before it; else at a multiple of `framesPerLatent`. */
  isCausal: boolean;
}

const THETA = 10000;
const EXTENTS = [20, 2048, 2048] as const;

/**
 * Returns rows of (cos, sin) pairs, [tokens, hidden]. Angles reach thousands of turns, where f64 would differ from diffusers' f32 by much: each
 * operation is rounded as there.
 */
export function ltxRotations(
  { hidden }: Pick<LTXConfig, 'hidden'>,
  { frames, rows, columns }: ClipGrid,
  at: LTXPlaces,
): Float32Array<ArrayBuffer> {
  const rates = ratesOf(Math.floor(hidden / 6));
  const pixels = (i: number): number => i * at.factor;
  const [times, heights, widths] = (
    [
      [frames, (i) => secondsOf(i, at)],
      [rows, pixels],
      [columns, pixels],
    ] as [number, (i: number) => number][]
  ).map(([count, place], axis) =>
    Array.from({ length: count }, (_, i) => turnsAt(Math.fround(place(i) / EXTENTS[axis]!), rates)),
  );
  const unturned = hidden % 6;
  const values = new Float32Array(frames * rows * columns * hidden);
  let to = 0;
  for (const time of times!)
    for (const height of heights!)
      for (const width of widths!) {
        for (let i = 0; i < unturned; i++) values[to++] = 1 - (i % 2);
        for (let i = 0; i < time.length; i += 2)
          for (const turn of [time, height, width]) {
            values[to++] = turn[i]!;
            values[to++] = turn[i + 1]!;
          }
      }
  return values;
}

function secondsOf(frame: number, { fps, framesPerLatent, isCausal }: LTXPlaces): number {
  if (!isCausal) return Math.fround(frame * Math.fround(framesPerLatent / fps));
  return Math.fround(Math.max(0, frame * framesPerLatent + 1 - framesPerLatent) * Math.fround(1 / fps));
}

/** Angles at the end of an extent: powers of theta from 1 to itself, in quarters of a turn. */
function ratesOf(count: number): number[] {
  const step = Math.fround(1 / (count - 1));
  return Array.from({ length: count }, (_, i) => {
    const exponent = i < count / 2 ? step * i : 1 - step * (count - 1 - i);
    const power = count === 1 ? 1 : THETA ** Math.fround(exponent);
    return Math.fround(Math.fround(Math.fround(power) * Math.fround(Math.PI)) / 2);
  });
}

/** Cosines and sines at a fraction of an extent, alternating. */
function turnsAt(fraction: number, rates: readonly number[]): number[] {
  const place = Math.fround(Math.fround(fraction * 2) - 1);
  return rates.flatMap((rate) => {
    const angle = Math.fround(rate * place);
    return [Math.cos(angle), Math.sin(angle)];
  });
}
