// Calls of a replay to WebGPU: in order, workgroup counts evaluated once for equal sizes, skipped dispatches left out.

import { expect, it } from 'vitest';
import type { Pipeline } from '../../src/gpu/device.ts';
import type { Groups } from '../../src/gpu/dispatch.ts';
import { ReplayPlan } from '../../src/gpu/replay-plan.ts';
import type { Sizes } from '../../src/gpu/tensor.ts';

const pipeline = (name: string): Pipeline => ({ gpu: name }) as unknown as Pipeline;
const group = (index: number): GPUBindGroup => index as unknown as GPUBindGroup;

/** The calls that encoding makes, each as text. */
function calls(plan: ReplayPlan, from: number, to: number): string[] {
  const made: string[] = [];
  plan.encode(
    {
      setPipeline: (bound: unknown) => made.push(`pipeline ${String(bound)}`),
      setBindGroup: (_: number, bound: unknown) => made.push(`group ${String(bound)}`),
      dispatchWorkgroups: (...counts: number[]) => made.push(`dispatch ${counts.join(' ')}`),
    } as unknown as GPUComputePassEncoder,
    from,
    to,
  );
  return made;
}

it('a replay plan binds a pipeline once for dispatches that follow each other', () => {
  const shapes: Groups[] = [[4], [4, 1, 1], [2, 3], [2, 1, 5]];
  const names = ['a', 'a', 'b', 'a'];
  const dispatches = shapes.map((shape, i) => ({ pipeline: pipeline(names[i]!), groups: () => shape }));
  const plan = new ReplayPlan(dispatches, [0, 1, 2, 3].map(group), {});
  expect(calls(plan, 0, 4)).toEqual([
    ...['pipeline a', 'group 0', 'dispatch 4'],
    ...['group 1', 'dispatch 4'],
    ...['pipeline b', 'group 2', 'dispatch 2 3'],
    ...['pipeline a', 'group 3', 'dispatch 2 1 5'],
  ]);
});

it('a replay plan skips a dispatch without workgroups, and binds the pipeline anew in each segment', () => {
  const shapes: Groups[] = [[1], [0], [3, 0], [3, 3, 0], [2]];
  const dispatches = shapes.map((shape) => ({ pipeline: pipeline('a'), groups: () => shape }));
  const plan = new ReplayPlan(dispatches, [0, 1, 2, 3, 4].map(group), {});
  expect(calls(plan, 0, 4)).toEqual(['pipeline a', 'group 0', 'dispatch 1']);
  expect(calls(plan, 4, 5)).toEqual(['pipeline a', 'group 4', 'dispatch 2']);
});

it('a replay plan evaluates workgroup counts once, and fits the sizes that it was made for only', () => {
  let evaluated = 0;
  const sizes: Record<string, number> = { rows: 3, tiles: 1 };
  const groups = (given: Sizes): Groups => {
    evaluated++;
    return [given['rows']!];
  };
  const plan = new ReplayPlan([{ pipeline: pipeline('a'), groups }], [group(0)], sizes);
  sizes['rows'] = 4;
  for (let i = 0; i < 3; i++) expect(calls(plan, 0, 1)).toContain('dispatch 3');
  expect(evaluated).toBe(1);
  expect(plan.fits({ rows: 3, tiles: 1 })).toBe(true);
  for (const others of [sizes, { rows: 3 }, { rows: 3, tiles: 1, more: 1 }, { rows: 3, more: 1 }])
    expect(plan.fits(others as Sizes)).toBe(false);
});
