// Effects of emphasis and long prompts on a CLIP model's states, compared with plain prompts that are encoded separately.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { encodeClip, type ClipTextRequest } from '../../../../src/engine/image/blocks/clip-text.ts';
import { freeTensors } from '../../../../src/engine/image/recording/compute.ts';
import { openOnDevice, type OpenedPipeline } from '../../../../src/engine/image/opened-pipeline.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import { knownPipelines } from '../../../../src/engine/image/families/registry.ts';
import { openPipeline } from '../../../../src/files/pipeline/pipeline-index.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import type { Tensor } from '../../../../src/gpu/tensor.ts';
import { openModelTestDevice } from '../../../gpu/test-device.ts';
import { tinyPipeline } from '../pipeline-golden.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const WINDOW = 77;

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

async function openTiny(name: string): Promise<OpenedPipeline> {
  const model = tinyPipeline(name);
  const pipeline = await openPipeline(model, openDiskFolder, knownPipelines());
  return openOnDevice(device, nodePlatform, pipeline, { model }, () => {});
}

const PLAINLY = { negative: null, clipSkip: 0, zeroNegative: false, options: { plain: false } };

type Rows = number[][];

/** Returns the rows of each text. */
async function rowsOf(tensor: Tensor, texts: number): Promise<Rows[]> {
  const floats = new Float32Array(await device.read(tensor.region!));
  const { columns, stride } = tensor;
  const all = Array.from({ length: tensor.rows({}) }, (_, i) => [
    ...floats.subarray(i * stride, i * stride + columns),
  ]);
  const each = all.length / texts;
  return Array.from({ length: texts }, (_, i) => all.slice(i * each, (i + 1) * each));
}

describe.each([
  { name: 'sd1', xl: false, columns: 64 },
  { name: 'sdxl', xl: true, columns: 128 },
])('the text encoder of $name', ({ name, xl, columns }) => {
  let parts: OpenedPipeline;
  beforeAll(async () => void (parts = await openTiny(name)));
  afterAll(() => parts.components.close());

  /** Returns states and pooled states of the negative prompt, if given, and of the prompt. */
  async function read(prompt: string, more: Partial<ClipTextRequest> = {}) {
    const text = await encodeClip(parts.components, xl, { prompt, ...PLAINLY, ...more });
    const texts = text.states.shape[0] as number;
    const states = await rowsOf(text.states, texts);
    const pooled = text.pooled && (await rowsOf(text.pooled, texts));
    freeTensors(device, [text.states, text.pooled]);
    for (const row of states.flat()) expect(row).toHaveLength(columns);
    return { states, pooled, tokens: text.tokens };
  }
  const statesOf = async (prompt: string): Promise<Rows> => (await read(prompt)).states[0]!;
  const idsOf = async (text: string) =>
    (await parts.components.tokenizer('tokenizer')).encode(text, { addSpecialTokens: false });

  it('has no effect at a weight of 1', async () => {
    expect(await read('a (red:1) house')).toEqual(await read('a red house'));
  });

  it('multiplies by a weight the rows of its tokens, and no others', async () => {
    const [plain, weighted] = [await read('a red house'), await read('a (red:1.5) house')];
    expect(await idsOf('a red')).toHaveLength(2);
    const wanted = plain.states[0]!.map((row, at) => (at === 2 ? row.map((value) => 1.5 * value) : row));
    expect(Math.max(...wanted[2]!.map(Math.abs))).toBeGreaterThan(0.5);
    expect(weighted.states[0]!.map((row) => row.map(Math.fround))).toEqual(
      wanted.map((row) => row.map(Math.fround)),
    );
    expect(weighted.pooled).toEqual(plain.pooled);
  });

  it('reads each section alone, its weights too', async () => {
    const both = await read('a house BREAK (snow:0.5) and fog');
    expect(both.states[0]).toEqual([
      ...(await statesOf('a house')),
      ...(await statesOf('(snow:0.5) and fog')),
    ]);
    expect(both.pooled).toEqual((await read('a house')).pooled);
  });

  it('continues a text that is longer than a window in the next window', async () => {
    const words = (count: number) => Array.from({ length: count }, () => 'sea').join(' ');
    expect(await idsOf(words(80))).toHaveLength(80);
    const long = await read(words(80));
    expect(long.tokens).toBe(80);
    expect(long.states[0]).toEqual([...(await statesOf(words(75))), ...(await statesOf(words(5)))]);
  });

  it('fills up the prompt or negative prompt that has fewer windows with those of the empty text', async () => {
    const [unwanted, wanted] = (await read('a house BREAK snow', { negative: '(fog:1.2)' })).states;
    expect(unwanted).toEqual([...(await statesOf('(fog:1.2)')), ...(await statesOf(''))]);
    expect(wanted).toEqual([...(await statesOf('a house')), ...(await statesOf('snow'))]);
    const turned = await read('snow', { negative: 'a house BREAK fog' });
    expect(turned.states[1]).toEqual([...(await statesOf('snow')), ...(await statesOf(''))]);
  });

  it('is zero in every window where the empty text is zero', async () => {
    const { states, pooled } = await read('a house BREAK snow', { negative: '', zeroNegative: true });
    expect(states[0]).toHaveLength(2 * WINDOW);
    expect(new Set(states[0]!.flat().map(Math.abs))).toEqual(new Set([0]));
    if (pooled) expect(new Set(pooled[0]!.flat().map(Math.abs))).toEqual(new Set([0]));
  });
});

it('two text encoders read their own prompts, and the one with fewer windows is filled up', async () => {
  const parts = await openTiny('sdxl');
  const read = async (prompt: string, prompt2?: string): Promise<Rows> => {
    const text = await encodeClip(parts.components, true, { prompt, prompt2, ...PLAINLY });
    const [states] = await rowsOf(text.states, 1);
    freeTensors(device, [text.states, text.pooled]);
    return states!;
  };
  const [both, first, second] = [
    await read('(red:1.5) house', 'snow BREAK fog'),
    await read('(red:1.5) house BREAK'),
    await read('snow BREAK fog'),
  ];
  await parts.components.close();
  expect(both).toEqual(first.map((row, at) => [...row.slice(0, 64), ...second[at]!.slice(64)]));
});
