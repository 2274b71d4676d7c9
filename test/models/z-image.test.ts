// Z-Image against diffusers: sequences that are filled up and such that fit; its text encoder run one layer less.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/gpu/device.ts';
import { readZImageConfig } from '../../src/models/z-image-config.ts';
import { zImageRotations } from '../../src/models/z-image-rope.ts';
import { zImage } from '../../src/models/z-image.ts';
import { openTestDevice } from '../gpu/test-device.ts';
import { openForward } from './forward.ts';
import {
  channelsLast,
  describeGoldens,
  expectAgreement,
  itemOf,
  load,
  openModuleGolden,
} from './image-golden.ts';

describeGoldens(['z-image-exact', 'z-image-padded'], async (golden, device, run) => {
  const config = readZImageConfig(golden.config);
  const model = await load(device, golden, (weights) => zImage(config, weights));
  const latents = channelsLast(golden.inputs.get('latents')!);
  const wanted = channelsLast(golden.outputs.get('sample')!);
  const [batch, height, width] = latents.shape as [number, number, number, number];
  for (let i = 0; i < batch; i++) {
    const caption = golden.inputs.get(`cap_feats_${i}`)!;
    const [tokens, columns] = caption.shape as [number, number];
    const tables = zImageRotations(config, tokens, height / 2, width / 2);
    const time = golden.inputs.get('timestep')!.values[i]! * config.timeScale;
    const { values } = await run((_, input) => {
      const table = (rows: Float32Array) =>
        input({ shape: [rows.length / config.dims, config.dims], values: rows });
      const text = model.condition(
        input({ shape: [1, tokens, columns], values: caption.values }),
        table(tables.caption),
      );
      const rotations = { image: table(tables.image), joint: table(tables.joint) };
      const t = input({ shape: [1, 1], values: Float32Array.of(time) });
      return [model.forward(input(itemOf(latents, i)), t, text, rotations)];
    });
    expectAgreement(values[0]!, itemOf(wanted, i));
  }
});

describe('the text encoder', () => {
  let device: Device;
  beforeAll(async () => void (device = await openTestDevice()));
  afterAll(() => device.destroy());

  it.each([false, true])('stops a layer before the last (plain: %s)', async (plain) => {
    const golden = await openModuleGolden('qwen3-hidden');
    const ids = [...golden.inputs.get('input_ids')!.values];
    const folder = fileURLToPath(
      new URL('../golden/image/checkpoints/z-image/text_encoder', import.meta.url),
    );
    const layers = golden.config['num_hidden_layers'] as number;
    const forward = await openForward(device, folder, { depth: layers - 1, plain });
    const rows = await forward.step(ids, () => ids.length);
    forward.close();
    expect(forward.dispatches).toBe(2 + 8 * (layers - 1));
    const states = new Float32Array(rows.flatMap((row) => [...row]));
    expectAgreement(states, golden.outputs.get('hidden_2')!);
  });
});

describe('configurations', () => {
  it.each([
    [
      { all_patch_size: [2, 4] },
      'config.json: all_patch_size [2,4] is not built; choose a checkpoint that has [2]',
    ],
    [
      { siglip_feat_dim: 1152 },
      'config.json: siglip_feat_dim 1152 is not built; choose a checkpoint that has null',
    ],
  ])('%j is refused', (config, message) => {
    expect(() => readZImageConfig(config)).toThrow(
      expect.objectContaining({ code: 'unsupported', message }) as Error,
    );
  });

  it('captions and sizes beyond the positions that the model knows are refused', () => {
    const config = readZImageConfig({});
    expect(() => zImageRotations(config, 1023, 8, 8)).toThrow(
      "a caption of 1024 tokens exceeds the model's 1022",
    );
    expect(() => zImageRotations(config, 8, 8, 513)).toThrow(
      "a width of 513 patches exceeds the model's 512",
    );
  });
});
