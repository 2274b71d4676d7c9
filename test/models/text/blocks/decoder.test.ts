// The decoder classes of all families against transformers, with rows all at once. One family of each kind of layers shows the rest: adapters
// without subgroups, rows four by four and one by one, keys and values in f16, weights in several windows. The second driver runs the first
// case of some families once.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../../src/gpu/device.ts';
import { openModelTestDevice } from '../../../gpu/test-device.ts';
import { openForward, type ForwardOptions } from '../../forward.ts';
import { GOLDENS, openGolden, ropeLength, type Golden, type GoldenCase } from '../../golden.ts';

/** Relative to the row's largest |logit|. Stored 16-bit weights are widened exactly, so they are held to the f32 bound. */
const TOLERANCE = { stored: 1e-4, int8: 1e-3, int4: 1e-3 };
const KV_F16_TOLERANCE = 2e-2;

const cases = GOLDENS.flatMap((checkpoint) => {
  const golden = openGolden(checkpoint);
  return golden.cases.map((of, i) => ({
    checkpoint,
    title: `${checkpoint} ${of.name}`,
    golden,
    of,
    isFirst: i === 0,
  }));
});
/**
 * Attention alone (with all kinds of rope), over chosen latents, with experts, windows with sinks and experts, short convolutions, linear attention, several streams, layers that share keys,
 * scores with a cap, layers side by side with norms that have biases: other families have these layers in other numbers.
 */
const LAYERS = [
  'llama',
  'deepseek-v32',
  'qwen3-moe',
  'gpt-oss',
  'lfm2',
  'qwen3-next',
  'granite-hybrid',
  'gemma3n',
  'gemma4-e',
  'gemma2',
  'gpt-neox',
];
const firstCases = cases.filter(({ isFirst }) => isFirst);

/** scripts/vitest.all.config.ts runs this file again on SwiftShader, which has subgroups of four and no f16. */
const onSecondDriver = process.env['SVC_VULKAN_DRIVER'] === 'swiftshader';

/** Returns the logits of all rows of a case, `rows` per step; greedy cases continue with their own tokens after the prompt. */
async function logitsOf(
  device: Device,
  { folder }: Golden,
  of: GoldenCase,
  options: ForwardOptions,
): Promise<Float32Array[]> {
  const format = of.weights === 'stored' ? null : of.weights;
  const forward = await openForward(device, folder, { ...options, overrides: of.config, format });
  const rows = options.rows ?? 64;
  const prompt = of.greedy?.prompt_ids.length ?? of.input_ids.length;
  const logits: Float32Array[] = [];
  while (logits.length < of.input_ids.length) {
    const at = logits.length;
    const ids = of.input_ids.slice(at, at + rows);
    if (rows === 1 && at >= prompt) ids[0] = largest(logits[at - 1]!);
    logits.push(...(await forward.step(ids, (position) => ropeLength(of, position))));
  }
  forward.close();
  return logits;
}

const computed = new WeakMap<Device, Map<string, Promise<Float32Array[]>>>();

/** Returns the logits of a case whose rows are computed in one step; each device computes them once. */
function logitsAtOnce(device: Device, golden: Golden, of: GoldenCase): Promise<Float32Array[]> {
  const known = computed.get(device) ?? new Map<string, Promise<Float32Array[]>>();
  computed.set(device, known);
  const key = `${golden.folder} ${of.name}`;
  const logits = known.get(key) ?? logitsOf(device, golden, of, {});
  known.set(key, logits);
  return logits;
}

function largest(logits: Float32Array): number {
  return logits.reduce((best, value, i) => (value > logits[best]! ? i : best), 0);
}

async function worstError(golden: Golden, of: GoldenCase, logits: Float32Array[]): Promise<number> {
  const wanted = await golden.logits(of.name);
  expect(wanted.length).toBe(of.positions.length);
  return of.positions.reduce((worst, position, i) => {
    const row = wanted[i]!;
    const scale = row.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const errors = row.map((value, token) => Math.abs(value - logits[position]![token]!) / scale);
    // Math.max keeps NaN.
    return errors.reduce((most, error) => Math.max(most, error), worst);
  }, 0);
}

function expectGreedy(of: GoldenCase, logits: Float32Array[]): void {
  if (!of.greedy) return;
  const { prompt_ids, tokens } = of.greedy;
  const from = prompt_ids.length - 1;
  expect(tokens.length).toBe(32);
  expect(tokens.map((_, i) => largest(logits[from + i]!))).toEqual(tokens);
}

/** Rows that differ in any bit. */
function differingRows(a: Float32Array[], b: Float32Array[]): number[] {
  const bits = (rows: Float32Array[], i: number) => Buffer.from(rows[i]!.buffer);
  expect(a.length).toBe(b.length);
  return a.flatMap((_, i) => (bits(a, i).equals(bits(b, i)) ? [] : [i]));
}

for (const portable of onSecondDriver ? [false] : [false, true]) {
  describe(portable ? 'an adapter without subgroups' : 'the adapter as it is', () => {
    let device: Device;
    beforeAll(async () => void (device = await openModelTestDevice({ portable })));
    afterAll(() => device.destroy());

    // Rope types, windows and formats other than a family's first case take no other path without subgroups.
    const ofLayers = firstCases.filter(({ checkpoint }) => LAYERS.includes(checkpoint));
    const whole = onSecondDriver ? firstCases : cases;
    for (const { checkpoint, title, golden, of, isFirst } of portable ? ofLayers : whole) {
      it(`${title}: logits and 32 greedy tokens`, async () => {
        const logits = await logitsAtOnce(device, golden, of);
        expect(await worstError(golden, of, logits)).toBeLessThan(TOLERANCE[of.weights]);
        expectGreedy(of, logits);
      });

      // Kernels give a row the same bits in any company (test/kernels): one family of each kind of layers shows that steps do.
      if (!onSecondDriver && !LAYERS.includes(checkpoint)) continue;
      it(`${title}: four by four${isFirst ? ' and one by one' : ''} as all at once`, async () => {
        const atOnce = await logitsAtOnce(device, golden, of);
        expect(differingRows(await logitsOf(device, golden, of, { rows: 4 }), atOnce)).toEqual([]);
        if (!isFirst) return;
        const oneByOne = await logitsOf(device, golden, of, { rows: 1 });
        expectGreedy(of, oneByOne);
        expect(differingRows(oneByOne, atOnce)).toEqual([]);
      });

      if (!isFirst || portable || onSecondDriver) continue;
      it(`${title}: KV in f16`, async () => {
        const logits = await logitsOf(device, golden, of, { kv: 'f16' });
        const error = await worstError(golden, of, logits);
        expect(error).toBeLessThan(KV_F16_TOLERANCE);
        expect(error).toBeGreaterThan(1e-5); // it is f16 that is measured
        const inSteps = await logitsOf(device, golden, of, { kv: 'f16', rows: 4 });
        expect(differingRows(inSteps, logits)).toEqual([]);
      });
    }
  });
}

/** Bytes of a binding that just fits the widest layer, but not the head. */
const NARROW = { float32: 48 << 10, float16: 32 << 10, bfloat16: 40 << 10 };

/** Heads and embeddings belong to the frame that all families share: these differ in stored type, tying, scale and cap. */
const NARROWED = ['llama', 'olmoe', 'qwen3', 'gemma2', 'cohere2'];

describe.skipIf(onSecondDriver)(
  'bindings of 256 KiB, and so small that heads and embeddings span windows',
  () => {
    const devices: Device[] = [];
    const open = async (bindingLimit: number): Promise<Device> => {
      const device = await openModelTestDevice({ bindingLimit });
      devices.push(device);
      return device;
    };
    let usual: Device;
    beforeAll(async () => void (usual = await open(256 << 10)));
    afterAll(() => devices.forEach((device) => device.destroy()));

    const inWindows = firstCases.filter(({ checkpoint }) => [...LAYERS, ...NARROWED].includes(checkpoint));
    it.each(inWindows)('$title: 256 KiB', async ({ golden, of }) => {
      const logits = await logitsAtOnce(usual, golden, of);
      expect(await worstError(golden, of, logits)).toBeLessThan(TOLERANCE[of.weights]);
      expectGreedy(of, logits);
    });

    const narrowed = firstCases.filter(({ checkpoint }) => NARROWED.includes(checkpoint));
    it.each(narrowed)('$title: several windows', async ({ golden, of }) => {
      const narrow = await open(NARROW[golden.storedAs]);
      const logits = await logitsOf(narrow, golden, of, { rows: 16 });
      expect(await worstError(golden, of, logits)).toBeLessThan(TOLERANCE[of.weights]);
      expectGreedy(of, logits);
      expect(differingRows(logits, await logitsAtOnce(usual, golden, of))).toEqual([]);
      const dispatches = async (device: Device) =>
        (await openForward(device, golden.folder, { overrides: of.config, rows: 16 })).dispatches;
      expect(await dispatches(narrow)).toBeGreaterThan(await dispatches(usual));
    });
  },
);
