// A system that cannot load the GPU binding: an error that says so, and plans as for a machine without an adapter.

import { expect, it, vi } from 'vitest';
import { planModel } from '../../src/host/node/plan.ts';
import { shippedModelPath } from '../../src/files/shipped.ts';
import { listAdapters, openDevice } from '../../src/gpu/node.ts';

vi.mock('webgpu', () => {
  throw new Error('libc.musl-x86_64.so.1: cannot open shared object file');
});

it('a missing GPU binding is reported with the reason and the command that lists what is missing', async () => {
  for (const refusal of [listAdapters, openDevice]) {
    await expect(refusal()).rejects.toMatchObject({ code: 'no_adapter' });
    await expect(refusal()).rejects.toThrow(
      /^the GPU binding cannot be loaded \(.*\): run `npx svc-engine doctor`/s,
    );
  }
});

it('planModel() works without the GPU binding', async () => {
  expect((await planModel({ model: shippedModelPath() })).opens).toBe(true);
});
