// The check of kernels: right on the adapters of the tests, with the profiles of GPUs, too, and it names a kernel that is miscompiled.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkKernels, KERNEL_CASES } from '../../../src/engine/check/check-kernels.ts';
import { Device } from '../../../src/gpu/device.ts';
import { readShader } from '../../../src/gpu/node.ts';
import { PROFILES } from '../../../src/gpu/adapter-profile.ts';
import { openModelTestDevice, TEST_BUDGET } from '../../gpu/test-device.ts';

/** With the tiles of tests of whole models, whose shaders these are then; test/kernels computes each kernel with those of every profile. */
let device: Device;
beforeAll(async () => void (device = await openModelTestDevice({ safe: 'calls' })));
afterAll(() => device.destroy());

/** A device on the same GPU, which is not destroyed, with changed shaders. */
function opened(change: (path: string, text: string) => string, name = 'cpu'): () => Promise<Device> {
  return () => {
    const profile = [...(name === 'cpu' ? [device.profile] : []), ...PROFILES].find(
      (one) => one.name === name,
    )!;
    const on = new Device(device.gpu, {
      shaders: (path) => change(path, readShader(path)),
      summary: device.summary,
      profile: { ...profile, matvecRows: profile.matvecRows && 2, sharedRows: 16 }, // other tiles compile longer
      memoryBudget: TEST_BUDGET,
    });
    on.destroy = () => {};
    return Promise.resolve(on);
  };
}

const unchanged = (_: string, text: string): string => text;
const casesOf = (pattern: RegExp) => KERNEL_CASES.filter(({ name }) => pattern.test(name));

it(
  'every family of kernels is right on the adapter of the tests, and its shaders are named',
  { timeout: 120_000 },
  async () => {
    const counts: string[] = [];
    const checks = await checkKernels(opened(unchanged), (_, done, total) => counts.push(`${done}/${total}`));
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
    const { length } = KERNEL_CASES.filter(({ activations }) => activations === undefined);
    expect(counts.at(-1)).toBe(`${length}/${length}`);
    const kernels = checks.flatMap((check) => check.kernels);
    expect(kernels).toEqual(
      expect.arrayContaining(['rmsnorm.wgsl', 'conv2d.wgsl', 'sample.wgsl', 'rope-kv.wgsl']),
    );
  },
);

it('kernels of GPUs are the ones that are checked on a GPU', { timeout: 120_000 }, async () => {
  const cases = casesOf(/^(product in int4|product of 8 bits in q4_k|experts)/);
  const checks = await checkKernels(opened(unchanged, 'discrete'), undefined, cases);
  expect(checks.map(({ ok, kernels }) => [ok, kernels])).toEqual([
    [true, ['matvec.wgsl']],
    [true, ['gemm.wgsl']],
    [true, ['quantize-rows.wgsl', 'matvec-int8.wgsl']],
    [true, ['quantize-rows.wgsl', 'gemm-int8.wgsl']],
    [true, ['matvec.wgsl']],
    [true, ['gemm.wgsl']],
  ]);
});

it('a miscompiled kernel is named with its value, and the others are right', async () => {
  const change = (path: string, text: string): string =>
    path === 'matvec.wgsl' ? text.replace('var step = 0u', 'var step = 4u') : text;
  const checks = await checkKernels(
    opened(change, 'discrete'),
    undefined,
    casesOf(/^(product in int4|RMSNorm)/),
  );
  expect(checks.map(({ name, ok, kernels }) => [name, ok, kernels])).toEqual([
    ['RMSNorm', true, ['rmsnorm-wide.wgsl']],
    ['product in int4, rows of a decode step', false, ['matvec.wgsl']],
    ['product in int4, rows of a prompt', true, ['gemm.wgsl']],
  ]);
  expect(checks[1]!.problem).toMatch(/^value \d+ is \S+ instead of \S+, where values go up to/);
});

it('norms and sampling are judged by JavaScript, and a shader that does not compile is reported', async () => {
  const change = (path: string, text: string): string => {
    if (path === 'rmsnorm.wgsl') return text.replaceAll('args.eps', '(args.eps + 1.0)');
    return path === 'layernorm.wgsl' ? `${text} }` : text;
  };
  const checks = await checkKernels(opened(change), undefined, casesOf(/^(RMSNorm|LayerNorm|sampling)$/));
  expect(checks.map(({ name, ok }) => [name, ok])).toEqual([
    ['RMSNorm', false],
    ['LayerNorm', false],
    ['sampling', true],
  ]);
  for (const { ok, problem } of checks) expect(problem === null).toBe(ok);
});
