// How often WebGPU is started, which writes warnings of its own each time.

import { expect, it, vi } from 'vitest';
import type * as Binding from 'webgpu';
import { bestAdapter, listAdapters } from '../../src/gpu/node.ts';

const started = vi.hoisted(() => [] as string[][]);
vi.mock('webgpu', async (original) => {
  const real = await original<typeof Binding>();
  const create = (flags: string[]): GPU => {
    started.push(flags);
    return real.create(flags);
  };
  return { ...real, create };
});

it('the best adapter is found by one start of WebGPU, and is the first of the list', async () => {
  const best = await bestAdapter();
  expect(started).toHaveLength(1);
  const [first] = await listAdapters();
  expect(best).toEqual(first);
});
