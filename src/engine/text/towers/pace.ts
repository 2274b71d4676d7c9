// Decides how much work goes into one submit: from the times of earlier steps, well below the time after which drivers report a
// hang.

import { TILE_ROWS } from '../../../kernels/batch.ts';

const SUBMIT_MS = 100;

export function createPace() {
  const msPerSegment = new Map<number, number>();
  const bucket = (rows: number): number => Math.ceil(Math.log2(rows));
  return {
    /** Number of a tape's segments per submit, for a step of `rows` rows. */
    segments: (rows: number): number => {
      const ms = msPerSegment.get(bucket(rows));
      if (ms === undefined) return rows < TILE_ROWS ? Infinity : 1;
      return Math.max(1, Math.floor(SUBMIT_MS / ms));
    },
    took: (rows: number, segments: number, ms: number): void =>
      void msPerSegment.set(bucket(rows), ms / segments),
  };
}
