// gpt-oss from a GGUF file and from the checkpoint that llama.cpp's converter made it of, what its configuration is by default, and what is
// refused. Its goldens are among those of all decoders (llama.test.ts).

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TEXT_CLASSES } from '../../../../src/engine/opening/architectures.ts';
import { openCheckpoint } from '../../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { readGptOssConfig } from '../../../../src/models/text/gpt-oss/gpt-oss-config.ts';
import { readText } from '../../../../src/models/text/registry.ts';
import { openModelTestDevice } from '../../../gpu/test-device.ts';
import { openForward } from '../../forward.ts';

const FOLDER = fileURLToPath(new URL('../../../golden/gguf/gpt-oss', import.meta.url));
const FILES = [FOLDER, `${FOLDER}/model.gguf`];
const CLASS = 'GptOssForCausalLM';

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

describe('a GGUF file and its checkpoint', () => {
  it('have equal logits, bit for bit', async () => {
    const ids = Array.from({ length: 30 }, (_, i) => (7 * i) % 40);
    const logits = await Promise.all(
      FILES.map(async (path) => {
        const forward = await openForward(device, path);
        const rows = await forward.step(ids, () => ids.length);
        forward.close();
        return rows;
      }),
    );
    expect(logits[0]![0]!.some((value) => value !== 0)).toBe(true);
    expect(logits[1]).toEqual(logits[0]);
  });

  it('have equal configurations', async () => {
    const [stated, found] = await Promise.all(
      FILES.map(async (path) => {
        const { config, close } = await openCheckpoint(await openDiskFolder(path), TEXT_CLASSES);
        await close();
        return readGptOssConfig(config, CLASS);
      }),
    );
    expect(found).toEqual(stated);
  });

  it('hold codes of MXFP4 for experts alone', async () => {
    const types = await Promise.all(
      FILES.map(async (path) => {
        const { tensors, close } = await openCheckpoint(await openDiskFolder(path), TEXT_CLASSES);
        await close();
        const all = [...tensors.values()].filter(({ dtype }) => dtype !== 'F32');
        return [
          all.every(({ name }) => name.includes('.experts.')),
          ...new Set(all.map(({ dtype }) => dtype)),
        ];
      }),
    );
    expect(types).toEqual([
      [true, 'F4', 'F8_E8M0'],
      [true, 'MXFP4'],
    ]);
  });
});

describe('a configuration of gpt-oss', () => {
  it('has the defaults of transformers where it states nothing', () => {
    const { heads, layers, ropes, experts, ...rest } = readGptOssConfig({}, CLASS);
    expect(rest).toMatchObject({
      vocabulary: 201088,
      hidden: 2880,
      ffn: 2880,
      eps: 1e-5,
      context: 131072,
      tied: false,
      qkvBias: true,
      outBias: true,
    });
    expect(heads).toEqual({ heads: 64, kvHeads: 8, dims: 64 });
    expect(layers.map(({ window }) => window)).toEqual(
      Array.from({ length: 36 }, (_, i) => (i % 2 === 0 ? 128 : null)),
    );
    expect(ropes).toMatchObject([
      { type: 'yarn', theta: 150000, factor: 32, originalContext: 4096, truncate: false },
    ]);
    expect(experts).toMatchObject({ count: 128, chosen: 4, ffn: 2880, clamped: { alpha: 1.702, limit: 7 } });
  });

  it('declares windows, heads and experts of the published model', () => {
    const config: Record<string, unknown> = JSON.parse(readFileSync(`${FOLDER}/config.json`, 'utf8'));
    const { layers, experts } = readText(config, CLASS);
    expect(layers).toEqual([8, null, 8].map((window) => ({ kind: 'kv', kvHeads: 2, dims: 16, window })));
    expect(experts).toEqual({ layers: 3, count: 4, chosen: 2, widest: 64 });
  });

  it.each([
    [{ hidden_act: 'gelu' }, /hidden_act "gelu"/],
    [{ sliding_window: null }, /sliding_window is/],
    [{ num_experts_per_tok: 200 }, /num_experts_per_tok is 200, more than the 128/],
    [{ swiglu_limit: 0 }, /swiglu_limit is 0/],
    [{ layer_types: ['chunked_attention'], num_hidden_layers: 1 }, /chunked_attention/],
  ])('%j is refused', (config, message) => {
    expect(() => readGptOssConfig(config, CLASS)).toThrow(message);
  });
});
