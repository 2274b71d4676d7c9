// Images from a tiny pipeline through the server and the engine: tests that a fake model cannot make.

import { fileURLToPath } from 'node:url';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ImageModel, openImageModel } from '../../../src/index.ts';
import { type RunningServer, startServer } from '../../../src/server/lifecycle.ts';
import { look, pngFile } from './image-harness.ts';

const CHECKPOINT = fileURLToPath(new URL('../../golden/image/checkpoints/sd1', import.meta.url));
const ADAPTERS = fileURLToPath(new URL('../../golden/image/lora-sd1-two', import.meta.url));
const UPSCALER = fileURLToPath(
  new URL('../../golden/image/checkpoints/upscalers/upscale-compact-x3.safetensors', import.meta.url),
);
/** Width and height; multiples of the checkpoint's two. */
const SIZE = '56x40';

/** A scheduler that accepts any number of steps. */
const SCHEDULER = 'EulerDiscreteScheduler';

let server: RunningServer;
let model: ImageModel;
let client: OpenAI;

beforeAll(async () => {
  const log = { error: console.error, warn() {}, info() {}, debug() {} };
  server = await startServer({ host: '127.0.0.1', port: 0 }, log);
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'unused', maxRetries: 0, timeout: 50_000 });
  const served = server.addModel();
  model = await openImageModel(
    { model: CHECKPOINT, loraDir: ADAPTERS, upscalingModelPath: UPSCALER },
    (event) => served.progress(event),
  );
  // Compiles the kernels that the tests need: a minute with an empty shader cache on a busy machine.
  await model.warmUp({ prompt: 'x', seed: 0, width: 56, height: 40 }, 1);
  served.ready(model);
}, 240_000);

afterAll(async () => {
  await server?.close();
  await model?.close();
});

/** Additional fields beside OpenAI's. */
const more = (fields: object): object => ({ num_inference_steps: 3, seed: 5, ...fields });

it('the model tells that requests may name LoRAs of the folder', () => {
  expect(model.info.loras).toEqual({ given: [], hasFolder: true });
});

it('the image server draws the same image for the same seed, alone and as one of two', async () => {
  const ask = { model: 'sd1', prompt: 'a red house', size: SIZE } as const;
  const alone = await client.images.generate({ ...ask, ...more({ seed: 6 }) });
  const two = await client.images.generate({ ...ask, n: 2, ...more({}) });
  expect(two.data?.[1]?.b64_json).toBe(alone.data?.[0]?.b64_json);
  expect(two.data?.[0]?.b64_json).not.toBe(alone.data?.[0]?.b64_json);
  expect(await look(alone.data?.[0]?.b64_json)).toMatchObject({ format: 'png', width: 56, height: 40 });
});

it('the image server enlarges what it draws', async () => {
  const ask = { prompt: 'a red house', size: SIZE, ...more({ enable_upscaling: true }) } as const;
  const { data, size } = await client.images.generate(ask);
  expect(size).toBe('168x120');
  expect(await look(data?.[0]?.b64_json)).toMatchObject({ width: 168, height: 120 });
});

it('the image server streams previews that come closer, then the image', async () => {
  const body = { prompt: 'a boat', size: SIZE, partial_images: 2, stream: true } as const;
  const stream = await client.images.generate({ ...body, ...more({}) });
  const events = [];
  for await (const event of stream) events.push(event);
  expect(events.map(({ type }) => type)).toEqual([
    'image_generation.partial_image',
    'image_generation.partial_image',
    'image_generation.completed',
  ]);
  expect(new Set(events.map(({ b64_json }) => b64_json)).size).toBe(3);
  // A preview has one pixel per latent, enlarged.
  for (const { b64_json } of events) expect(await look(b64_json)).toMatchObject({ width: 56, height: 40 });
});

it('the image server draws a masked part of an image anew', async () => {
  const image = await toFile(await pngFile(56, 40, '#20a040'));
  const mask = await toFile(await pngFile(56, 40, '#ffffff'));
  const kept = await toFile(await pngFile(56, 40, '#000000'));
  const body = { prompt: 'a boat', image, ...more({ strength: 0.9 }) };
  const drawn = await client.images.edit({ ...body, mask });
  const same = await client.images.edit({ ...body, mask: kept });
  expect(await look(drawn.data?.[0]?.b64_json)).toMatchObject({ width: 56, height: 40 });
  expect(drawn.data?.[0]?.b64_json).not.toBe(same.data?.[0]?.b64_json);
});

it('the image server ends a request within a step if the client leaves', async () => {
  const leave = new AbortController();
  const body = {
    prompt: 'a boat',
    size: SIZE,
    stream: true,
    ...more({ num_inference_steps: 900, scheduler: SCHEDULER }),
  } as const;
  const stream = await client.images.generate(
    { ...body, stream: true, partial_images: 3 },
    { signal: leave.signal },
  );
  setTimeout(() => leave.abort(), 300);
  await expect(
    (async () => {
      for await (const event of stream) expect(event.type).toBe('image_generation.partial_image');
    })().then(() => leave.signal.throwIfAborted()),
  ).rejects.toBeDefined();
  await expect.poll(() => server.running(), { timeout: 5000 }).toBe(0);
});

it('the image server reports errors in the terms of the interface', async () => {
  await expect(client.images.generate({ prompt: 'x', size: '57x40' })).rejects.toMatchObject({
    status: 400,
    param: 'size',
    message: expect.stringMatching(/width is 57.*the nearest are 56 and/),
  });
  await expect(
    client.images.generate({ prompt: 'x', ...more({ diffusers_kwargs: { wibble: 1 } }) }),
  ).rejects.toMatchObject({ status: 400, param: 'diffusers_kwargs' });
  const unordered = { scheduler: 'euler', diffusers_kwargs: { timesteps: [9, 999] } };
  await expect(client.images.generate({ prompt: 'x', ...more(unordered) })).rejects.toMatchObject({
    status: 400,
    param: 'diffusers_kwargs.timesteps',
    message: expect.stringContaining('diffusers_kwargs.timesteps'),
  });
  await expect(client.images.generate({ prompt: 'x', ...more({ scheduler: 'none' }) })).rejects.toMatchObject(
    {
      param: 'scheduler',
    },
  );
});

it('the image server draws with LoRAs of the folder that it allows, by name, and with no others', async () => {
  const ask = { prompt: 'a red house', size: SIZE } as const;
  const drawn = async (fields: object, prompt: string = ask.prompt): Promise<string | undefined> =>
    (await client.images.generate({ ...ask, prompt, ...more({ num_inference_steps: 1, ...fields }) }))
      .data?.[0]?.b64_json;
  const plain = await drawn({});
  const adapted = await drawn({ lora_path: 'adapter-0', lora_scale: 0.5 });
  expect(adapted).not.toBe(plain);
  expect(await drawn({ lora_path: ['adapter-0.safetensors'], lora_scale: [0.5] })).toBe(adapted);
  expect(await drawn({}, 'a red house <lora:adapter-0:0.5>')).toBe(adapted);
  expect(await drawn({ lora_path: ['adapter-0', 'adapter-1'], lora_scale: 0 })).toBe(plain);
  expect(await drawn({})).toBe(plain);
  const outside = `${ADAPTERS}/../lora-sd1-kohya/adapter-0.safetensors`;
  for (const path of [outside, '../lora-sd1-kohya/adapter-0', 'owner/name'])
    await expect(drawn({ lora_path: path })).rejects.toMatchObject({
      status: path === 'owner/name' ? 404 : 400,
      param: 'lora_path',
    });
  await expect(drawn({}, 'x <lora:../lora-sd1-kohya/adapter-0>')).rejects.toMatchObject({ status: 400 });
});
