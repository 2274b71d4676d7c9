// Z-Image against diffusers: sequences with and without padding; its text encoder without the last layer.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/gpu/device.ts';
import { readZImageConfig, type ZImageConfig } from '../../../src/models/image/z-image-config.ts';
import { zImageRotations } from '../../../src/models/image/z-image-rope.ts';
import { zImage, type ZImage } from '../../../src/models/image/z-image.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';
import { openForward } from '../forward.ts';
import {
  channelsLast,
  compute,
  describeGoldens,
  expectAgreement,
  itemOf,
  load,
  openModuleGolden,
  type Run,
  type Values,
} from '../image-golden.ts';

/** Records images whose captions have one length. */
function recordOf(
  config: ZImageConfig,
  model: ZImage,
  latents: Values,
  caption: Values,
  times: number[],
): Run {
  const [, height, width] = latents.shape as [number, number, number];
  const tables = zImageRotations(config, caption.shape[1]!, height / 2, width / 2);
  return (_, input) => {
    const table = (rows: Float32Array) =>
      input({ shape: [rows.length / config.dims, config.dims], values: rows });
    const text = model.condition(input(caption), table(tables.caption));
    const rotations = { image: table(tables.image), joint: table(tables.joint) };
    const time = { shape: [times.length, 1], values: Float32Array.from(times, (t) => t * config.timeScale) };
    return [model.forward(input(latents), input(time), text, rotations)];
  };
}

describeGoldens(['z-image-exact', 'z-image-padded'], async (golden, device, run) => {
  const config = readZImageConfig(golden.config);
  const model = await load(device, golden, (weights) => zImage(config, weights));
  const latents = channelsLast(golden.inputs.get('latents')!);
  const wanted = channelsLast(golden.outputs.get('sample')!);
  for (let i = 0; i < latents.shape[0]!; i++) {
    const { shape, values } = golden.inputs.get(`cap_feats_${i}`)!;
    const caption = { shape: [1, ...shape], values };
    const time = golden.inputs.get('timestep')!.values[i]!;
    const { values: found } = await run(recordOf(config, model, itemOf(latents, i), caption, [time]));
    expectAgreement(found[0]!, itemOf(wanted, i));
  }
});

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

it('two pictures at once are two pictures, bit for bit', async () => {
  const golden = await openModuleGolden('z-image-padded');
  const config = readZImageConfig(golden.config);
  const model = await load(device, golden, (weights) => zImage(config, weights));
  const latents = channelsLast(golden.inputs.get('latents')!);
  const { shape, values } = golden.inputs.get('cap_feats_0')!;
  const twice = Float32Array.of(...values, ...values.toReversed());
  const captions = { shape: [2, ...shape], values: twice };
  const times = [0.05, 0.7];
  const both = (await compute(device, recordOf(config, model, latents, captions, times))).values[0]!;
  for (const i of [0, 1]) {
    const of = recordOf(config, model, itemOf(latents, i), itemOf(captions, i), [times[i]!]);
    const alone = (await compute(device, of)).values[0]!;
    expect(alone).toEqual(both.slice(i * alone.length, (i + 1) * alone.length));
  }
});

describe('the text encoder of Z-Image', () => {
  it.each([false, true])('stops a layer before the last (plain: %s)', async (plain) => {
    const golden = await openModuleGolden('qwen3-hidden');
    const ids = [...golden.inputs.get('input_ids')!.values];
    const folder = fileURLToPath(
      new URL('../../golden/image/checkpoints/z-image/text_encoder', import.meta.url),
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

describe('configurations of Z-Image', () => {
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

  it.each([[[32, 48, 40]], [[31, 49, 48]], [[64, 64]]])('axes of %j dimensions are refused', (axes) => {
    expect(() => readZImageConfig({ axes_dims: axes })).toThrow(
      `axes_dims ${JSON.stringify(axes)} and axes_lens [1024,512,512] must be three each, and the first be even and make up heads of 3840 / 30 dimensions`,
    );
  });

  it('captions and sizes beyond the positions that the model knows are refused', () => {
    const config = readZImageConfig({});
    expect(() => zImageRotations(config, 1023, 8, 8)).toThrow(
      "a caption of 1024 tokens exceeds the model's 992: shorten the prompt, or let `maxSequenceLength` cut it",
    );
    expect(() => zImageRotations(config, 8, 8, 513)).toThrow(
      "a width of 513 patches exceeds the model's 512: choose a smaller image",
    );
  });
});
