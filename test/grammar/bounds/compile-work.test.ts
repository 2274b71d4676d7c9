// The work of a compilation: the same on every machine, bounded, and paused or ended from outside.

import { describe, expect, it, vi } from 'vitest';
import { CompileWork, STEP_INTERVAL, TooLarge } from '../../../src/grammar/bounds/compile-work.ts';
import type { TextConstraint } from '../../../src/grammar/text-constraint.ts';
import { compileConstraint } from '../compile-constraint.ts';

const available = new Uint8Array(256).fill(1);
const SUBSETS: TextConstraint = { type: 'regex', pattern: '(a|b)*a(a|b){10}' };
const NAMES: TextConstraint = {
  type: 'json_schema',
  schema: { patternProperties: Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`^p${i}_`, {}])) },
};

/** Returns the steps at which a compilation was asked whether it goes on. */
function stepsOf(source: TextConstraint): number[] {
  const seen: number[] = [];
  compileConstraint(source, available, { onSteps: (steps) => seen.push(steps) > 0 });
  return seen;
}

describe.each([SUBSETS, NAMES])('the work of a compilation', (source) => {
  it('takes the same steps whatever the time', () => {
    const first = stepsOf(source);
    let now = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 60_000));
    expect(stepsOf(source)).toEqual(first);
    clock.mockRestore();
    expect(first.length).toBeGreaterThan(2);
  });

  it('is refused with fewer steps than it takes, and with no more of them accepted', () => {
    const last = stepsOf(source).at(-1)!;
    expect(() => compileConstraint(source, available, { most: last - 1 })).toThrow(
      expect.objectContaining({ code: 'bad_request', message: expect.stringContaining('steps to compile') }),
    );
    compileConstraint(source, available, { most: last + STEP_INTERVAL });
  });

  it('ends where a signal ends it', () => {
    let calls = 0;
    const end = (): boolean => ++calls < 3;
    expect(() => compileConstraint(source, available, { onSteps: end })).toThrow(
      expect.objectContaining({ code: 'cancelled' }),
    );
    expect(calls).toBe(3);
  });
});

it('a refusal is the same if other grammars are compiled meanwhile', () => {
  const refusal = (onSteps: () => boolean): unknown => {
    try {
      return compileConstraint(SUBSETS, available, { most: 150_000, onSteps });
    } catch (error) {
      return { ...(error as object), message: (error as Error).message };
    }
  };
  const alone = refusal(() => true);
  expect(alone).toMatchObject({ code: 'bad_request' });
  expect(refusal(() => compileConstraint(NAMES, available).nodes.length > 0)).toEqual(alone);
});

it('an attempt with half of the steps leaves the other half', () => {
  const work = new CompileWork({ most: 1000 });
  expect(() => work.half(() => work.spend(600))).toThrow(TooLarge);
  expect(work.isOver).toBe(false);
  expect(work.half(() => (work.spend(150), 'done'))).toBe('done');
  work.spend(250);
  expect(() => work.spend(1)).toThrow(TooLarge);
  expect(work.isOver).toBe(true);
});

it('an attempt that fails otherwise after its half still fails as too large', () => {
  const work = new CompileWork({ most: 1000 });
  const attempt = (): never => {
    try {
      work.spend(501);
    } catch {
      throw new Error('some keyword is refused');
    }
    throw new Error('not reached');
  };
  expect(() => work.half(attempt)).toThrow(TooLarge);
});
