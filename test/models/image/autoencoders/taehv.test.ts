// TAEHV against its network in torch, which computes all frames at once: whole clips, chunks that share what is carried, and previews of one frame
// for each frame of latents.

import { describe, expect, it } from 'vitest';
import { TAEHV_LAYOUTS } from '../../../../src/engine/image/layouts/taehv.ts';
import { NOWHERE } from '../../../../src/engine/plan/planned-checkpoint.ts';
import { findPart } from '../../../../src/files/pipeline/file-parts.ts';
import { renameTensors, withScales } from '../../../../src/files/pipeline/renamed-tensors.ts';
import { readTaehvConfig, type TaehvConfig } from '../../../../src/models/image/autoencoders/taehv-config.ts';
import { taehvDecoder } from '../../../../src/models/image/autoencoders/taehv.ts';
import { inChunks } from '../carried-frames.ts';
import { channelsLast, describeGoldens, expectAgreement, inOne, load } from '../../image-golden.ts';

describe('the decoder', () => {
  describeGoldens(['taehv-wan', 'taehv-patched'], async (golden, device, run) => {
    const clip = channelsLast(golden.inputs.get('latents')!);
    const configs: TaehvConfig[] = [];
    const opened = (lastOnly: boolean) =>
      load(
        device,
        golden,
        (weights) => taehvDecoder(configs[0]!, weights, { lastOnly }),
        (tensors) => {
          const { layout, config } = findPart(tensors, TAEHV_LAYOUTS)!;
          configs.push(readTaehvConfig(config));
          return withScales(renameTensors(tensors, layout.names(tensors)));
        },
      );
    const page = await opened(false);
    const { values } = await run((_, input) => [...page(input(clip))]);
    expect(values).toHaveLength(1 + configs[0]!.framesPerLatent * (clip.shape[0]! - 1));
    expectAgreement(inOne(values), channelsLast(golden.outputs.get('sample')!), 1e-5);
    const chunks = Array<number>(clip.shape[0]!).fill(1);
    expect(await inChunks(device, run, { page, clip, chunks })).toEqual(inOne(values));
    const preview = await opened(true);
    const { values: few } = await run((_, input) => [...preview(input(clip))]);
    expect(few).toHaveLength(clip.shape[0]!);
    expectAgreement(inOne(few), channelsLast(golden.outputs.get('preview')!), 1e-5);
    expect(await inChunks(device, run, { page: preview, clip, chunks })).toEqual(inOne(few));
  });
});

type Shapes = Readonly<Record<string, readonly number[]>>;

const found = (shapes: Shapes) =>
  findPart(
    new Map(
      Object.entries(shapes).map(([name, shape]) => {
        const bytes = shape.reduce((product, extent) => product * extent, 2);
        return [name, { name, shape: [...shape], dtype: 'F16', offset: 0, bytes, source: NOWHERE }];
      }),
    ),
    TAEHV_LAYOUTS,
  );

/** The tensors of a published file that tell its configuration. */
const published = ({ channels = 16, patch = 1, grows = [1, 2, 2] }): Shapes => ({
  'decoder.1.weight': [256, channels, 3, 3],
  ...Object.fromEntries(
    [256, 128, 64].flatMap((width, i) => [
      [`decoder.${3 + 6 * i}.conv.0.weight`, [width, 2 * width, 3, 3]],
      [`decoder.${7 + 6 * i}.conv.weight`, [grows[i]! * width, width, 1, 1]],
      [`decoder.${8 + 6 * i}.weight`, [[128, 64, 64][i]!, width, 3, 3]],
    ]),
  ),
  'decoder.22.weight': [3 * patch ** 2, 64, 3, 3],
});

describe('configurations of TAEHV', () => {
  it.each([
    ['taew2_1', {}, { latentChannels: 16, patch: 1, factor: 8, framesPerLatent: 4 }],
    ['taew2_2', { channels: 48, patch: 2 }, { latentChannels: 48, patch: 2, factor: 16, framesPerLatent: 4 }],
    [
      'taeltx_2',
      { channels: 128, patch: 4, grows: [2, 2, 2] },
      { latentChannels: 128, patch: 4, factor: 32, framesPerLatent: 8 },
    ],
  ])('%s is told by its shapes', (_, file, wanted) => {
    const { config } = found(published(file))!;
    expect(readTaehvConfig(config)).toMatchObject(wanted);
    expect(readTaehvConfig(config).levels.map(({ channels }) => channels)).toEqual([256, 128, 64]);
  });

  it('a larger decoder is refused', () => {
    const shapes = {
      'decoder.0.weight': [512, 48, 1, 1],
      'decoder.1.conv.0.weight': [1024, 1, 7, 7],
      'decoder.1.conv.3.weight': [512, 2048, 1, 1],
    };
    expect(() => found(shapes)).toThrow(
      'it is a "super" TAEHV, whose blocks this version does not have: choose the file of the same name without _super',
    );
  });

  it('a list that does not fit its levels is refused', () => {
    expect(() => readTaehvConfig({ decoder_time_upscale: [true] })).toThrow(
      'config.json: decoder_time_upscale is [true], 3 of true and false are needed, one fewer than entries of decoder_block_out_channels',
    );
  });
});
