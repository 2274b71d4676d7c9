// The steps in which kernels are timed: attention sees contexts of an ordinary length. Nothing is computed.

import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { TEXT_CLASSES } from '../../../../src/engine/opening/architectures.ts';
import { runnerSizes } from '../../../../src/engine/text/load.ts';
import { openRunner } from '../../../../src/engine/text/step/open-runner.ts';
import type { tune } from '../../../../src/engine/tuning/tune.ts';
import { openCheckpoint } from '../../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import { PROFILES } from '../../../../src/gpu/adapter-profile.ts';
import { readShader } from '../../../../src/gpu/node.ts';
import { openPaperDevice } from '../../../../src/gpu/paper-device.ts';
import { Tape } from '../../../../src/gpu/tape.ts';
import { readText } from '../../../../src/models/text/registry.ts';

const GOLDEN = fileURLToPath(new URL('../../../golden/', import.meta.url));

/** Workgroups of attention in the order in which its steps would be timed, by the key of tuning. */
const timed: [key: string | undefined, groups: readonly (number | undefined)[]][] = [];
vi.mock(import('../../../../src/engine/tuning/tune.ts'), async (original) => ({
  ...(await original()),
  tune: ((device, record, options) => {
    const step = options!.step!;
    const tape = new Tape(device, step.capacity, step.kinds);
    record(tape);
    tape.finish();
    for (const { name, tuned, groups } of tape.encodables(step.sizes))
      if (/^attention(-prompt|-decode)?\.wgsl/.test(name)) timed.push([tuned, [...groups]]);
    return Promise.resolve(null);
  }) satisfies typeof tune,
}));

async function timedOf(name: 'cpu' | 'discrete', contextLength: number): Promise<typeof timed> {
  const profile = PROFILES.find((one) => one.name === name)!;
  const device = openPaperDevice({ profile, shaders: readShader, memoryBudget: 2 ** 30 });
  const checkpoint = await openCheckpoint(await openDiskFolder(`${GOLDEN}qwen3`), TEXT_CLASSES);
  const declaration = readText(checkpoint.config, checkpoint.architecture);
  const sizes = runnerSizes(device, declaration, { slots: 3, ownBiases: 1, contextLength, prefillChunk: 32 });
  const loras = (): Promise<void> => Promise.resolve();
  const given = { ...sizes, quantization: 'none' as const, kept: null, packed: null, loras, unread: true };
  const silent = { onProgress: () => {}, onNote: () => {} };
  const runner = await openRunner(device, checkpoint, declaration, given, silent);
  await checkpoint.close();
  timed.length = 0;
  await runner.tune({});
  return timed.filter(([key], at) => timed.findIndex(([other]) => other === key) === at);
}

it('prompts of a typical step have cached tokens before them, and decode rows contexts of their own', async () => {
  // 96 tokens of context: 3 pages, one chunk. Four heads on two key heads.
  expect(await timedOf('discrete', 96)).toEqual([
    ['attention-prompt f16, 32 rows, 4 heads of 32 on 2', [2, 2, 1]],
    ['attention-prompt f16, 16 rows, 4 heads of 32 on 2', [1, 2, 1]],
    ['attention-decode f16, 16 rows, 4 heads of 32 on 2', [3, 2, 1]],
    ['attention-decode f16, 4 rows, 4 heads of 32 on 2', [3, 2, 1]],
    ['attention-decode f16, 1 rows, 4 heads of 32 on 2', [1, 2, 1]],
  ]);
});

it('attention of software adapters has no variants, and is left out of a typical step', async () => {
  const timed = await timedOf('cpu', 96);
  expect(timed.length).toBeGreaterThan(0);
  for (const [key, groups] of timed) expect([key, groups[0]]).toEqual([undefined, 0]);
});
