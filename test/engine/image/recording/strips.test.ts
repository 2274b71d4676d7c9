import { describe, expect, it } from 'vitest';
import { divide } from '../../../../src/engine/image/recording/strips.ts';

describe('rows divided into strips', () => {
  it('are one strip where they fit', () => {
    expect(divide(40, 40, 8)).toEqual({ height: 40, strips: [{ first: 0, last: 40, from: 0 }] });
  });

  it('are each computed once, from as many rows, with the overlap on both sides or up to an edge', () => {
    expect(divide(56, 16, 8)).toEqual({
      height: 32,
      strips: [
        { first: 0, last: 16, from: 0 },
        { first: 16, last: 32, from: 8 },
        { first: 32, last: 48, from: 24 },
        { first: 48, last: 56, from: 24 },
      ],
    });
  });

  it.each([
    [100, 8, 24],
    [64, 16, 0],
    [33, 16, 72],
  ])('%i rows in strips of %i with %i around them', (height, rows, overlap) => {
    const { height: read, strips } = divide(height, rows, overlap);
    expect(strips.map(({ first }) => first)).toEqual(strips.map((_, i) => i * rows));
    expect(strips.at(-1)!.last).toBe(height);
    for (const { first, last, from } of strips) {
      expect(from).toBeGreaterThanOrEqual(0);
      expect(from + read).toBeLessThanOrEqual(height);
      expect(from).toBeLessThanOrEqual(Math.max(0, first - overlap));
      expect(from + read).toBeGreaterThanOrEqual(Math.min(height, last + overlap));
    }
  });
});
