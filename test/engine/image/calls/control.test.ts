// ControlNets: where they are given, the files that they are in, the calls in which they take part, and requests that do not match
// them.

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { activeIn, checkControl, controlRules } from '../../../../src/engine/image/calls/control.ts';
import type { Pixels } from '../../../../src/engine/image/calls/image-model.ts';
import { IMAGE as PIPELINES } from '../../../../src/host/kinds/image.ts';
import { openInline } from '../../../../src/host/open.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import { draw, prefixed, write } from '../drawn-files.ts';
import { imagesOf, listen, tinyPipeline } from '../pipeline-golden.ts';
import { originalControlNet } from '../original-control.ts';
import {
  newFolder,
  tinyControlNet,
  tinySD1,
  tinyXL,
  type Json,
  type TinyPipeline,
} from '../tiny-pipelines.ts';
import { writeComponent, type StoredTensor } from '../tiny-tensors.ts';

/** Shaders compile slowly on a busy machine with an empty cache. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

function stripes(width: number, height: number): Pixels {
  const data = Uint8Array.from({ length: 3 * width * height }, (_, at) => (at % 7) * 36);
  return { width, height, data };
}

const IMAGE = stripes(40, 20);

const LLLITE = 'lllite_unet_input_blocks_4_1_transformer_blocks_0_attn1_to_q';

function folderOf({ config, tensors }: ReturnType<typeof tinyControlNet>, more: Json = {}): string {
  const folder = join(newFolder('controlnet'), 'net');
  writeComponent(folder, { ...config, ...more }, tensors);
  return folder;
}

describe('Stable Diffusion 1 with ControlNets', () => {
  let model: string;
  let net: ReturnType<typeof tinyControlNet>;
  let folder: string;
  beforeAll(() => {
    model = tinySD1().folder;
    net = tinyControlNet('sd1', 21);
    folder = folderOf(net);
  });

  it('is steered by a folder, a file of the original program, and one with names of diffusers alike', async () => {
    const request = { controlImages: [IMAGE], controlScale: [0.9] };
    const wanted = await draw({ model, controlnetPath: [folder] }, request);
    expect(wanted.pipeline).toBe('StableDiffusionControlNetPipeline');
    expect(wanted.notes).toEqual([]);
    const files = [
      write('control original', originalControlNet(net.tensors, 4)),
      write('control diffusers', prefixed(net.tensors, '')),
    ];
    for (const file of files) {
      const drawn = await draw({ model, controlnetPath: [file] }, request);
      expect(drawn.images).toEqual(wanted.images);
    }
    const other = await draw(
      { model, controlnetPath: [folder] },
      { ...request, controlImages: [stripes(32, 16)] },
    );
    expect(other.images).not.toEqual(wanted.images);
  });

  it('draws without a trace of ControlNets whose scale is 0, or that take part in no step', async () => {
    const plain = await draw({ model });
    const controlnetPath = [folder, folderOf(tinyControlNet('sd1', 22))];
    const controlImages = [IMAGE, IMAGE];
    const off = { controlImages, controlScale: [0, 1], controlStart: [0, 0.9], controlEnd: [1, 0.95] };
    expect((await draw({ model, controlnetPath }, off)).images).toEqual(plain.images);
    const on = { ...off, controlScale: [0.5], controlEnd: [1] };
    expect((await draw({ model, controlnetPath }, on)).images).not.toEqual(plain.images);
  });

  it('is steered by all networks that diffusers saves with a pipeline, under numbered names', async () => {
    const second = folderOf(tinyControlNet('sd1', 22));
    const saved = newFolder('several');
    cpSync(model, saved, { recursive: true });
    cpSync(folder, join(saved, 'controlnet'), { recursive: true });
    cpSync(second, join(saved, 'controlnet_1'), { recursive: true });
    const file = join(saved, 'model_index.json');
    const index = JSON.parse(readFileSync(file, 'utf8')) as Json;
    const controlnet = ['diffusers', 'MultiControlNetModel'];
    writeFileSync(
      file,
      JSON.stringify({ ...index, _class_name: 'StableDiffusionControlNetPipeline', controlnet }),
    );
    const request = { controlImages: [IMAGE, stripes(32, 16)], controlScale: [0.9, 0.4] };
    const found = await draw({ model: saved }, request);
    const wanted = await draw({ model, controlnetPath: [folder, second] }, request);
    expect(found.images).toEqual(wanted.images);
  });

  it('steers as strongly as the class of diffusers where no scale is given', async () => {
    await using opened = await openInline(PIPELINES, nodePlatform, { model, controlnetPath: [folder] });
    const drawn = async (more: object): Promise<unknown> =>
      imagesOf(
        await listen(opened, {
          ...{ prompt: 'a house', seed: 1, steps: 2, width: 32, height: 32, controlImages: [IMAGE] },
          ...more,
        }),
      );
    const mask = { ...IMAGE, data: IMAGE.data.map((_, at) => (at % 240 < 120 ? 255 : 0)) };
    for (const [given, scale] of [
      [{ image: IMAGE }, 0.8],
      [{ image: IMAGE, mask }, 0.5],
    ] as const)
      expect(await drawn(given)).toEqual(await drawn({ ...given, controlScale: [scale] }));
  });

  it('takes the proportions of the control image, and names its option without one', async () => {
    await using opened = await openInline(PIPELINES, nodePlatform, { model, controlnetPath: [folder] });
    const { values, sources } = await opened.resolve({ prompt: '', seed: 1, controlImages: [IMAGE] });
    expect(values.width).toBeCloseTo(2 * values.height, -1);
    expect(sources.width).toBe('image');
    expect(opened.info.components).toMatchObject({ controlnet: 'ControlNetModel' });
    const { components } = await opened.plan({ prompt: '', seed: 1, controlImages: [IMAGE] });
    expect(components).toContainEqual(expect.objectContaining({ name: 'controlnet', role: 'denoiser' }));
    await expect(opened.resolve({ prompt: '', seed: 1 })).rejects.toMatchObject({
      code: 'bad_request',
      param: 'controlImages',
    });
  });

  it('draws the same bits wherever the ControlNet is', async () => {
    const request = { steps: 2, controlImages: [IMAGE], controlEnd: [0.5] };
    const wanted = await draw({ model, controlnetPath: [folder] }, request);
    const places = [
      { ditCpuOffload: true, memoryBudget: 2 ** 28 },
      { ditLayerwiseOffload: true, memoryBudget: 2 ** 28 },
    ];
    for (const place of places) {
      const drawn = await draw({ model, controlnetPath: [folder], ...place }, request);
      expect(drawn.images).toEqual(wanted.images);
    }
  });

  const refused: [name: string, problem: RegExp, path: () => string][] = [
    [
      'of XL',
      /\/net\/config\.json: the ControlNet has outputs of .* give one that was made for the family/,
      () => folderOf(tinyControlNet('sdxl', 23)),
    ],
    [
      'that reduces images otherwise',
      /the ControlNet reduces images to 4 pixels a latent, and the vae to 2/,
      () => folderOf(tinyControlNet('sd1', 24, { conditioning_embedding_out_channels: [4, 4, 4] })),
    ],
    [
      'for texts of other columns',
      /reads texts of 96 columns, and the unet 64/,
      () => folderOf(tinyControlNet('sd1', 25, { cross_attention_dim: 96 })),
    ],
    [
      'that is a ControlNet-Union',
      /ControlNetUnionModel as controlnet, which takes several kinds of images/,
      () => folderOf(net, { _class_name: 'ControlNetUnionModel' }),
    ],
    [
      'that is a T2I-Adapter',
      /T2IAdapter as controlnet, which is a T2I-Adapter/,
      () => folderOf(net, { _class_name: 'T2IAdapter' }),
    ],
    [
      'that pools its outputs',
      /global_pool_conditions true is not built/,
      () => folderOf(net, { global_pool_conditions: true }),
    ],
    [
      'that is a ControlNet-XS',
      /ControlNetXSAdapter as controlnet, which is a ControlNet-XS/,
      () => folderOf(net, { _class_name: 'ControlNetXSAdapter' }),
    ],
    [
      'of a ControlNet-XS in a file',
      /holds a ControlNet-XS, which computes beside each block/,
      () => write('xs', [named('control_to_base_for_conv_in.weight')]),
    ],
    [
      'of a ControlNet-LLLite in a file',
      /holds a ControlNet-LLLite, which is not built in: give a ControlNet of Stable Diffusion 1, 2 or XL/,
      () => write('lllite', [named(`${LLLITE}.down.0.weight`)]),
    ],
    [
      'of FLUX.1 in a file',
      /holds a ControlNet of a transformer, such as those for FLUX.1/,
      () => write('flux control', [named('controlnet_blocks.0.weight')]),
    ],
    [
      'of a ControlNet-Union in a file',
      /holds a ControlNet-Union/,
      () => write('union', prefixed(net.tensors, ''), [named('task_embedding')]),
    ],
    [
      'that is a difference',
      /holds the difference between a ControlNet and the model/,
      () => write('difference', originalControlNet(net.tensors, 4), [named('control_model.difference')]),
    ],
    [
      'in a file of something else',
      /holds no controlnet of this pipeline/,
      () => write('other', [named('body.0.weight')]),
    ],
  ];
  it.each(refused)('refuses a ControlNet %s', async (_, problem, path) => {
    await expect(draw({ model, controlnetPath: [path()] })).rejects.toThrow(problem);
  });
});

const named = (name: string): StoredTensor => ({ name, dtype: 'F32', shape: [1], bytes: new Uint8Array(4) });

it('Stable Diffusion XL is steered by ControlNet files of both layouts alike', async () => {
  const { folder: model }: TinyPipeline = tinyXL();
  const net = tinyControlNet('sdxl', 26);
  const request = { controlImages: [IMAGE] };
  const wanted = await draw({ model, controlnetPath: [folderOf(net)] }, request);
  expect(wanted.pipeline).toBe('StableDiffusionXLControlNetPipeline');
  const original = write('control xl', originalControlNet(net.tensors, 4, ''));
  expect((await draw({ model, controlnetPath: [original] }, request)).images).toEqual(wanted.images);
});

it('models of other families name the option of a ControlNet that they do not take', async () => {
  const controlnetPath = [folderOf(tinyControlNet('sd1', 28))];
  await expect(draw({ model: tinyPipeline('z-image'), controlnetPath })).rejects.toMatchObject({
    code: 'bad_request',
    param: 'controlnetPath',
    message: expect.stringMatching(
      /^`?controlnetPath`? is not for this pipeline: it has scheduler, /,
    ) as string,
  });
});

describe('rules for ControlNets', () => {
  it('apply to all ControlNets, or to one each', () => {
    expect(controlRules({ controlScale: [0.5, 2], controlEnd: [0.5] }, 2)).toEqual([
      { scale: 0.5, start: 0, end: 0.5 },
      { scale: 2, start: 0, end: 0.5 },
    ]);
    expect(controlRules({}, 1)).toEqual([{ scale: 1, start: 0, end: 1 }]);
  });

  it.each([
    [0, 1, [0, 1, 2, 3, 4]],
    [0.2, 1, [1, 2, 3, 4]],
    [0.3, 0.8, [2, 3]],
    [0, 0.1, []],
  ])('apply from %d to %d of five calls', (start, end, calls) => {
    const active = [0, 1, 2, 3, 4].filter((call) => activeIn([{ scale: 1, start, end }], call, 5).length > 0);
    expect(active).toEqual(calls);
  });

  it.each([
    [{ controlImages: [IMAGE] }, 0, 'controlImages'],
    [{ controlScale: [1] }, 0, 'controlScale'],
    [{ controlImages: [IMAGE] }, 2, 'controlImages'],
    [{ controlImages: [IMAGE, IMAGE], controlScale: [1, 1, 1] }, 2, 'controlScale'],
    [{ controlImages: [IMAGE], controlScale: [NaN] }, 1, 'controlScale'],
    [{ controlImages: [IMAGE], controlStart: [1.5] }, 1, 'controlStart'],
    [{ controlImages: [IMAGE], controlStart: [0.5], controlEnd: [0.5] }, 1, 'controlStart'],
  ])('are refused: %#', (request, count, param) => {
    expect(() =>
      checkControl({ prompt: '', seed: 1, ...request }, { controls: count, seesControl: false }),
    ).toThrow(expect.objectContaining({ code: 'bad_request', param }));
  });

  it.each([
    [{}, 'the model draws by one control image, and none is given: give `controlImages`'],
    [{ controlImages: [IMAGE, IMAGE] }, 'the model draws by one control image, and 2 are given'],
  ])('are refused by a model with an input for latents of the image: %#', (request, message) => {
    const context = { controls: 1, seesControl: true };
    expect(() => checkControl({ prompt: '', seed: 1, ...request }, context)).toThrow(message);
  });
});
