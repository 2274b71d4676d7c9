// AutoencoderKL against diffusers: with and without quant convolutions, with old and new tensor names of attention.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../../src/gpu/device.ts';
import { readAutoencoderKLConfig } from '../../../../src/models/image/autoencoders/autoencoder-kl-config.ts';
import {
  autoencoderKLDecoder,
  autoencoderKLEncoder,
} from '../../../../src/models/image/autoencoders/autoencoder-kl.ts';
import { openModelTestDevice } from '../../../gpu/test-device.ts';
import {
  channelsLast,
  compute,
  describeGoldens,
  expectAgreement,
  itemOf,
  load,
  openModuleGolden,
} from '../../image-golden.ts';

describe('decoder', () => {
  describeGoldens(['vae-decode', 'vae-16-decode', 'vae-old-names-decode'], async (golden, device, run) => {
    const config = readAutoencoderKLConfig(golden.config);
    const decode = await load(device, golden, (weights) => autoencoderKLDecoder(config, weights));
    const { values } = await run((_, input) => [decode(input(channelsLast(golden.inputs.get('latents')!)))]);
    expectAgreement(values[0]!, channelsLast(golden.outputs.get('sample')!));
  });
});

describe('encoder', () => {
  describeGoldens(['vae-encode', 'vae-16-encode', 'vae-old-names-encode'], async (golden, device, run) => {
    const config = readAutoencoderKLConfig(golden.config);
    const encode = await load(device, golden, (weights) => autoencoderKLEncoder(config, weights));
    const { values } = await run((_, input) => [encode(input(channelsLast(golden.inputs.get('sample')!)))]);
    expectAgreement(values[0]!, channelsLast(golden.outputs.get('moments')!));
  });
});

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

it('two pictures at once are two pictures, bit for bit', async () => {
  const golden = await openModuleGolden('vae-16-decode');
  const config = readAutoencoderKLConfig(golden.config);
  const decode = await load(device, golden, (weights) => autoencoderKLDecoder(config, weights));
  const latents = channelsLast(golden.inputs.get('latents')!);
  const both = (await compute(device, (_, input) => [decode(input(latents))])).values[0]!;
  for (const i of [0, 1]) {
    const alone = (await compute(device, (_, input) => [decode(input(itemOf(latents, i)))])).values[0]!;
    expect(alone).toEqual(both.slice(i * alone.length, (i + 1) * alone.length));
  }
});

describe('strips of three rows', () => {
  it('decode to the same picture, bit for bit', async () => {
    const golden = await openModuleGolden('vae-16-decode');
    const config = readAutoencoderKLConfig(golden.config);
    const decode = await load(device, golden, (weights) => autoencoderKLDecoder(config, weights));
    const latents = channelsLast(golden.inputs.get('latents')!);
    const whole = await compute(device, (_, input) => [decode(input(latents))]);
    const strips = await compute(device, (_, input) => [decode(input(latents), { stripRows: 3 })]);
    expect(strips.dispatches).toBeGreaterThan(whole.dispatches);
    expect(strips.values).toEqual(whole.values);
  });

  it('encode to the same latents, bit for bit', async () => {
    const golden = await openModuleGolden('vae-16-encode');
    const config = readAutoencoderKLConfig(golden.config);
    const encode = await load(device, golden, (weights) => autoencoderKLEncoder(config, weights));
    const image = channelsLast(golden.inputs.get('sample')!);
    const whole = await compute(device, (_, input) => [encode(input(image))]);
    const strips = await compute(device, (_, input) => [encode(input(image), { stripRows: 3 })]);
    expect(strips.values).toEqual(whole.values);
  });
});

describe('configurations of AutoencoderKL', () => {
  it('have the defaults of diffusers where they are left out or null', () => {
    expect(readAutoencoderKLConfig({ shift_factor: null, latents_mean: null })).toMatchObject({
      channels: [64],
      latentChannels: 4,
      groups: 32,
      quant: true,
      postQuant: true,
      attends: true,
      scales: [{ scale: 0.18215, shift: 0 }],
    });
  });

  it('may have a mean and a spread of each channel', () => {
    const config = { scaling_factor: 0.5, latents_mean: [1, -2, 0, 3], latents_std: [2, 4, 5, 8] };
    expect(readAutoencoderKLConfig(config).scales).toEqual([
      { scale: 0.25, shift: 1 },
      { scale: 0.125, shift: -2 },
      { scale: 0.1, shift: 0 },
      { scale: 0.0625, shift: 3 },
    ]);
  });

  it.each([
    [
      { latents_mean: [0, 1] },
      'latents_mean is [0,1], a list of 4 numbers from -1000000 to 1000000 is needed',
    ],
    [
      { latents_std: [1, 1, 'one', 1] },
      'latents_std is [1,1,"one",1], a list of 4 numbers from 0 to 1000000 is needed',
    ],
    [{ latents_mean: [0, 0, 0, 0] }, 'latents_mean and latents_std are [0,0,0,0] and null'],
    [
      { latents_mean: [0, 0, 0, 0], latents_std: [1, 1, 0, 1] },
      'a mean and a spread above 0 for each of 4 channels are needed',
    ],
  ])('are damaged with %j', (config, message) => {
    expect(() => readAutoencoderKLConfig(config)).toThrow(
      expect.objectContaining({
        code: 'bad_checkpoint',
        message: expect.stringContaining(message) as string,
      }) as Error,
    );
  });

  it.each([
    [
      { down_block_types: ['AttnDownEncoderBlock2D'] },
      'config.json: down_block_types "AttnDownEncoderBlock2D" is not built; choose a checkpoint that has "DownEncoderBlock2D"',
    ],
    [
      { act_fn: 'mish' },
      'config.json: act_fn "mish" is not built; choose a checkpoint that has "silu" or "swish"',
    ],
    [
      { latents_mean: [0, 1, 2, 3], latents_std: [1, 1, 1, 1], shift_factor: 0.1 },
      'config.json: shift_factor 0.1 is not built; choose a checkpoint that has 0',
    ],
  ])('%j is refused', (config, message) => {
    expect(() => readAutoencoderKLConfig(config)).toThrow(
      expect.objectContaining({ code: 'unsupported', message }) as Error,
    );
  });
});
