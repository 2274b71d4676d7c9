// The plan of one step, without pages and slots: which sequences get rows, and in which order.

import { describe, expect, it } from 'vitest';
import { planStep, StepPlan, type PlanSource } from '../../../../src/engine/text/run/step-plan.ts';
import { phaseOf, type Phase } from '../../../../src/engine/text/step/step-part.ts';
import type { Sequence } from '../../../../src/engine/text/run/sequence.ts';
import type { CachedPage } from '../../../../src/engine/text/cache/cached-page.ts';
import { paperSequence } from '../paper-sequence.ts';

function plan(source: PlanSource, rows: number): [sequence: number, first: number, rows: number][] {
  const all = [...source.running];
  const step = new StepPlan(source, rows);
  step.addDecodes();
  step.addChunks();
  return step.parts.map((part) => [all.indexOf(part.sequence), part.first, part.rows]);
}

/** Every number of rows is a good place to stop. */
const chunk = (_: Sequence, rows: number): number => rows;

function prompts(...lengths: number[]): Sequence[] {
  return lengths.map((length) => paperSequence(Array<number>(length).fill(1), 9));
}

it('a step plan gives decoding sequences a row each and the rest of the step to prefill chunks', () => {
  const running = prompts(40, 8, 30);
  running[1]!.progress.computed = 7;
  expect(plan({ running, secure: () => true, chunk }, 64)).toEqual([
    [1, 7, 1],
    [0, 0, 40],
    [2, 0, 23],
  ]);
  expect(running.map(({ progress }) => progress.computed)).toEqual([40, 8, 23]);
  expect(running.map(({ progress }) => progress.inFlight)).toEqual([1, 1, 0]);
});

it('a step plan leaves out a sequence without pages, and counts nothing as computed for it', () => {
  const running = prompts(20, 20);
  expect(plan({ running, secure: (sequence) => sequence !== running[0], chunk }, 64)).toEqual([[1, 0, 20]]);
  expect(running[0]!.progress).toMatchObject({ computed: 0, inFlight: 0, processed: 0 });
});

it('a step plan leaves out a retracted sequence, and one whose pages are still to be loaded', () => {
  const [first, retracted, loading] = prompts(10, 10, 10) as [Sequence, Sequence, Sequence];
  loading.placement.prefix.loads.push({ cached: {} as CachedPage, bytes: new Uint8Array(0) });
  const source = {
    chunk,
    running: [first, retracted, loading],
    secure(sequence: Sequence) {
      if (sequence === first) source.running = [first, loading];
      return true;
    },
  };
  expect(plan(source, 64)).toEqual([[0, 0, 10]]);
});

it('a step plan computes of a prompt what the source asks for, and leaves other rows to later prompts', () => {
  const running = prompts(100, 50);
  const source = { running, secure: () => true, chunk: (_: Sequence, rows: number) => Math.min(rows, 32) };
  expect(plan(source, 64)).toEqual([
    [0, 0, 32],
    [1, 0, 32],
  ]);
});

describe('step plans with phases apart', () => {
  const steps = (running: Sequence[], count: number): [number, number, number][][] => {
    const all = [...running];
    let last: Phase | null = null;
    return Array.from({ length: count }, () => {
      const parts = planStep({ running, secure: () => true, chunk }, { rows: 64, decodeRows: 16 }, last);
      if (parts.length > 0) last = phaseOf(parts[0]!);
      return parts.map((part) => [all.indexOf(part.sequence), part.first, part.rows]);
    });
  };

  it('take turns of prompts and of tokens after them', () => {
    const running = prompts(100, 8);
    running[1]!.progress.computed = 8;
    running[1]!.progress.inFlight = 1;
    expect(steps(running, 4)).toEqual([[[1, 8, 1]], [[0, 0, 64]], [[1, 9, 1]], [[0, 64, 36]]]);
  });

  it('compute tokens again as rows of the phase that they had', () => {
    const again = paperSequence(Array<number>(40).fill(1), 99);
    again.progress.ids.push(...Array<number>(30).fill(2));
    expect(steps([again], 4)).toEqual([[[0, 0, 40]], [[0, 40, 16]], [[0, 56, 14]], [[0, 70, 1]]]);
  });

  it('have rows of one form, on as few pages as are expanded at once, and keep the form of a prompt', () => {
    const running = prompts(100, 40, 70);
    // Of the first prompt and the last one 64 rows see expanded keys, of the other one none.
    const expansion = { pages: 2, endOf: ({ length }: { length: number }) => (length > 64 ? 64 : 0) };
    const step = (): [number, number, number][] =>
      planStep({ running, secure: () => true, chunk }, { rows: 80, decodeRows: 1, expansion }, 'decode').map(
        (part) => [running.indexOf(part.sequence), part.first, part.rows],
      );
    expect(step()).toEqual([[0, 0, 64]]);
    expect(step()).toEqual([
      [0, 64, 36],
      [1, 0, 40],
    ]);
    expect(step()).toEqual([[2, 0, 64]]);
    running[2]!.progress.computed = 32;
    expansion.endOf = () => 0;
    expect(step()).toEqual([[2, 32, 32]]);
    expect(step()).toEqual([[2, 64, 6]]);
  });
});
