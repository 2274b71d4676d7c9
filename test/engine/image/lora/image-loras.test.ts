// Whole tiny pipelines with LoRAs, against diffusers, which reads the files itself.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type {
  ImageModelOptions,
  CompleteImageRequest,
  Pixels,
} from '../../../../src/engine/image/calls/image-model.ts';
import { parseJson } from '../../../../src/files/json.ts';
import { goldenRequest, imagesOf, listen, storedImages } from '../pipeline-golden.ts';
import { open } from '../open-model.ts';

const FOLDER = new URL('../../../golden/image/', import.meta.url).pathname;
const ONE = `${FOLDER}lora-sd1-kohya/adapter-0.safetensors`;
const scratch = mkdtempSync(join(tmpdir(), 'svc-adapters-'));
const PATIENCE = 300_000;
/** One of each way to name and to store LoRAs, and of each kind of denoiser; lora-flux-control is drawn below. */
const GOLDENS = [
  'lora-sd1-kohya',
  'lora-sd1-two',
  'lora-sd1-dora',
  'lora-sdxl-sgm',
  'lora-z-image',
  'lora-flux',
  'lora-sd3',
  'lora-qwen-image',
  'lora-sana',
  'lora-pixart',
  'lora-lumina2',
];

interface Case {
  adapters: { file: string; scale: number }[];
}

function adaptersOf(name: string): Pick<ImageModelOptions, 'loraPath' | 'loraScale'> {
  const { adapters } = parseJson(readFileSync(`${FOLDER}${name}/case.json`, 'utf8')) as Case;
  return {
    loraPath: adapters.map(({ file }) => `${FOLDER}${name}/${file}`),
    loraScale: adapters.map(({ scale }) => scale),
  };
}

/** Expects values within 1 of 255, except for one in a thousand. */
function expectSame(found: readonly Pixels[], wanted: readonly Pixels[]): void {
  expect(found.length).toBe(wanted.length);
  for (const [i, { data }] of wanted.entries()) {
    const far = data.filter((value, at) => Math.abs(value - found[i]!.data[at]!) > 1);
    expect(far.length).toBeLessThanOrEqual(data.length / 1000);
  }
}

/** Which kernels run is no matter of LoRAs: one pipeline is drawn by both kinds. */
const DRAWN = [...GOLDENS.map((name) => [name, 'svc'] as const), ['lora-z-image', 'generic'] as const];

describe('images with LoRAs', { timeout: PATIENCE }, () => {
  it.each(DRAWN)('%s, %s', async (name, backend) => {
    const { options, request } = await goldenRequest(name);
    const { model, notes } = await open({ ...options, ...adaptersOf(name), backend });
    const events = await listen(model, request);
    await model.close();
    expect(notes).toEqual([]);
    expectSame(imagesOf(events), await storedImages(name, 'outputs', 'pixels'));
  });
});

describe('a LoRA that widens a model for a control image', { timeout: PATIENCE }, () => {
  const file = `${FOLDER}lora-flux-control/adapter-0.safetensors`;

  it('turns the ordinary pipeline into one that takes a control image, and adds nothing at scale 0', async () => {
    const { options, request } = await goldenRequest('lora-flux-control');
    const { pipelineClassName: _, ...plain } = options;
    const { model } = await open({ ...plain, ...adaptersOf('lora-flux-control') });
    expect(model.info.pipeline).toBe('FluxControlPipeline');
    const found = imagesOf(await listen(model, request));
    expectSame(found, await storedImages('lora-flux-control', 'outputs', 'pixels'));
    const { controlImages, ...without } = request;
    expect(controlImages!.length).toBe(1);
    await expect(model.resolve(without)).rejects.toMatchObject({ param: 'controlImages' });
    const [none] = imagesOf(await listen(model, { ...request, lora: [] }));
    expect(imagesOf(await listen(model, { ...request, loraScale: [0], lora: ['default'] }))[0]).toEqual(none);
    expect(distance(none!, found[0]!)).toBeGreaterThan(4);
    await model.close();
  });

  it('is refused where a request names it, and where the pipeline has no such class', async () => {
    const { options } = await goldenRequest('lora-flux');
    const folder = dirname(file);
    const { model } = await open({ ...options, loraDir: folder });
    await expect(model.resolve({ prompt: 'a house', seed: 1, lora: ['adapter-0'] })).rejects.toThrow(
      /x_embedder with 60 × 128 weights, and the model has 60 × 64: it widens the model for an image beside the latents, which is done while the model is opened/,
    );
    await model.close();
    await expect(
      open({ ...options, pipelineClassName: 'FluxKontextPipeline', loraPath: [file] }),
    ).rejects.toThrow(
      'which is done for models of the family flux alone, and this is a model of the family flux-kontext: choose a LoRA for it',
    );
  });
});

/** A small image of one step. */
const SMALL = { width: 24, height: 16, num_inference_steps: 1 };

/** The two LoRAs of lora-sd1-two; images are drawn as the golden's unless other arguments are given. */
async function openTwo(options: Partial<ImageModelOptions> = {}, kwargs: Record<string, unknown> = {}) {
  const golden = await goldenRequest('lora-sd1-two');
  const adapters = { ...adaptersOf('lora-sd1-two'), loraNickname: ['now', 'former'] };
  const { model, notes } = await open({ ...golden.options, ...adapters, ...options });
  const request = { ...golden.request, kwargs: { ...golden.request.kwargs, ...kwargs } };
  const drawn = async (more: Partial<CompleteImageRequest> = {}): Promise<Pixels> =>
    imagesOf(await listen(model, { ...request, ...more }))[0]!;
  return { model, notes, drawn, prompt: golden.request.prompt };
}

describe('LoRAs of a model that stays open', { timeout: PATIENCE }, () => {
  it('are switched by name in prompts and in requests, and leave nothing behind', async () => {
    const plain = await openTwo({ loraPath: [], loraScale: [], loraNickname: [] }, SMALL);
    const without = await plain.drawn();
    await plain.model.close();
    const { model, drawn, prompt } = await openTwo({}, SMALL);
    expect(model.info.loras).toEqual({
      given: [
        { name: 'now', scale: 0.75 },
        { name: 'former', scale: -0.5 },
      ],
      hasFolder: false,
    });
    const both = await drawn();
    const [one] = [await drawn({ lora: ['now'] })];
    expect(one).not.toEqual(both);
    expect(await drawn({ lora: [] })).toEqual(without);
    expect(await drawn({ lora: ['now', 'former'], loraScale: [0] })).toEqual(without);
    expect(await drawn({ prompt: `${prompt} <lora:now>` })).toEqual(one);
    expect(await drawn({ prompt: `<lora:now:0.75> ${prompt} <lora:former:-0.5>` })).toEqual(both);
    expect(await drawn({ lora: ['adapter-0'], loraScale: [0.75] })).toEqual(one);
    expect(await drawn()).toEqual(both);
    await model.close();
  });

  it('are merged where weights are loaded for each stage, and where they are quantized', async () => {
    const stored = await storedImages('lora-sd1-two', 'outputs', 'pixels');
    const staged = await openTwo({ textEncoderCpuOffload: true, ditCpuOffload: true });
    const whole = await staged.drawn();
    expectSame([whole], stored.slice(0, 1));
    const small = { kwargs: SMALL };
    const both = await staged.drawn(small);
    expect(await staged.drawn({ ...small, lora: ['now'] })).not.toEqual(both);
    expect(await staged.drawn(small)).toEqual(both);
    await staged.model.close();
    const layerwise = await openTwo({ ditLayerwiseOffload: true }, SMALL);
    expect(await layerwise.drawn(small)).toEqual(both);
    await layerwise.model.close();
    const int8 = await openTwo({ quantization: 'int8' });
    const without = await int8.drawn({ lora: [] });
    const quantized = await int8.drawn();
    await int8.model.close();
    expect(distance(quantized, whole)).toBeLessThan(distance(without, whole) / 3);
  });
});

describe('LoRAs for few steps, and files of PEFT', { timeout: PATIENCE }, () => {
  it('set steps, guidance and schedule by their names, with a note', async () => {
    const file = join(scratch, 'lcm-lora-sd1.safetensors');
    cpSync(`${FOLDER}lora-sd1-kohya/adapter-0.safetensors`, file);
    const { model } = await open({ loraPath: [file] });
    const request = { prompt: 'a house', seed: 1, width: 32, height: 32 };
    const { values, sources, reasons } = await model.resolve(request);
    expect(values).toMatchObject({ steps: 4, guidance: 1, scheduler: 'lcm' });
    expect(sources).toMatchObject({ steps: 'model', guidance: 'model', scheduler: 'model' });
    expect(reasons.steps).toBe('its LoRA lcm-lora-sd1');
    const asked = await model.resolve({ ...request, steps: 7, scheduler: 'euler' });
    expect(asked.values).toMatchObject({ steps: 7, guidance: 1, scheduler: 'euler' });
    const without = await model.resolve({ ...request, lora: [] });
    expect(without.values.steps).not.toBe(4);
    const notes = (await listen(model, { ...request, steps: 1 })).flatMap((event) =>
      event.type === 'note' ? [event.message] : [],
    );
    expect(notes).toEqual([
      'the LoRA lcm-lora-sd1 is for few steps, which sets `guidance` 1, `scheduler` lcm: give others to change them',
    ]);
    await model.close();
  });

  it('have the scale that their publishers advise where none is given', async () => {
    const name = 'Hyper-FLUX.1-dev-8steps-lora';
    const file = join(scratch, `${name}.safetensors`);
    cpSync(`${FOLDER}lora-flux/adapter-1.safetensors`, file);
    const { options } = await goldenRequest('lora-flux');
    const { model } = await open({ ...options, loraPath: [file] });
    const request = { prompt: 'a house', seed: 1, width: 32, height: 16, steps: 1, guidance: 2 };
    const events = await listen(model, request);
    const notes = events.flatMap((event) => (event.type === 'note' ? [event.message] : []));
    expect(notes).toEqual([
      `the LoRA ${name} is for few steps, which sets its own scale 0.125: give others to change them`,
    ]);
    const asked = { ...request, lora: [name], loraScale: [0.125] };
    expect(imagesOf(await listen(model, asked))).toEqual(imagesOf(events));
    const whole = imagesOf(await listen(model, { ...asked, loraScale: [1] }));
    expect(whole).not.toEqual(imagesOf(events));
    await model.close();
  });

  it('have the strength that PEFT states beside the file, which may be given alone', async () => {
    const folder = join(scratch, 'peft');
    mkdirSync(folder);
    const file = join(folder, 'adapter_model.safetensors');
    cpSync(`${FOLDER}lora-sd1-two/adapter-0.safetensors`, file);
    const drawn = async (options: Partial<ImageModelOptions>): Promise<Pixels> => {
      const { model } = await open(options);
      const events = await listen(model, { prompt: 'a house', seed: 1, width: 24, height: 16, steps: 1 });
      await model.close();
      return imagesOf(events)[0]!;
    };
    const plain = await drawn({ loraPath: [file], loraScale: [3] });
    const settings = { peft_type: 'LORA', r: 2, lora_alpha: 6, target_modules: ['to_q'] };
    writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify(settings));
    expect(await drawn({ loraPath: [file] })).toEqual(plain);
  });

  it.each<[Partial<ImageModelOptions>, string, string]>([
    [{ loraPath: ['nowhere.safetensors'] }, 'loraPath', 'nowhere.safetensors'],
    [{ loraPath: [ONE], loraNickname: ['a', 'b'] }, 'loraNickname', 'has 2 names for 1 LoRA'],
    [{ loraPath: [ONE, ONE] }, 'loraNickname', 'two LoRAs are named adapter-0'],
    [{ loraPath: [ONE], loraScale: [1, 2] }, 'loraScale', '2 scales are given for 1 LoRA'],
    [
      { loraPath: [ONE], loraTargetModules: ['nothing'] },
      'loraTargetModules',
      'changes no module with nothing',
    ],
    [{ loraDir: join(FOLDER, 'nothing') }, 'loraDir', 'there is no folder'],
  ])('are refused: %j', async (options, param, message) => {
    const opening = open(options);
    await expect(opening).rejects.toMatchObject({ param });
    await expect(opening).rejects.toThrow(message);
  });
});

/** Mean difference of two images, of 255. */
function distance(a: Pixels, b: Pixels): number {
  return a.data.reduce((sum, value, i) => sum + Math.abs(value - b.data[i]!), 0) / a.data.length;
}
