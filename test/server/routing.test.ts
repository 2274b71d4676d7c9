// Several models at one address.

import { describe, expect, it } from 'vitest';
import { MODEL_KINDS } from '../../src/index.ts';
import { openFakeImageModel } from './fake-image-model.ts';
import { createFakeModel } from './fake-model.ts';
import { ask, start } from './harness.ts';

interface Reply {
  error?: { code: string; message: string; param: string | null };
}

async function startBoth({ text = true, image = true } = {}) {
  const harness = await start({}, { ready: false, names: ['org/chat'] });
  const drawing = harness.server.addModel({ names: ['org/scenes'], kind: MODEL_KINDS.image });
  const chat = createFakeModel();
  const scenes = await openFakeImageModel();
  if (text) harness.served.ready(chat);
  if (image) drawing.ready(scenes);
  const post = async (path: string, body: object) => {
    const response = await fetch(harness.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, ...((await response.json()) as Reply) };
  };
  const say = (model: string) => post('/v1/chat/completions', ask('hi', { model }));
  const draw = (model?: string) => post('/v1/images/generations', { prompt: 'x', ...(model && { model }) });
  return { ...harness, chat, scenes, drawing, say, draw };
}

describe('a request finds its model', () => {
  it.each(['org/chat', 'chat', 'default', 'org/chat:latest', 'unknown'])(
    'of a conversation by %s',
    async (name) => {
      const { say, chat, scenes } = await startBoth();
      expect((await say(name)).status).toBe(200);
      expect([chat.requests.length, scenes.requests.length]).toEqual([1, 0]);
    },
  );

  it.each(['org/scenes', 'scenes', 'default', undefined])('of an image by %s', async (name) => {
    const { draw, chat, scenes } = await startBoth();
    expect((await draw(name)).status).toBe(200);
    expect([chat.requests.length, scenes.requests.length]).toEqual([0, 1]);
  });

  it('by its name if it is the second of a kind', async () => {
    const { server, say, chat } = await startBoth();
    const other = createFakeModel();
    server.addModel({ names: ['other'] }).ready(other);
    await say('other');
    await say('default');
    expect([chat.requests.length, other.requests.length]).toEqual([1, 1]);
  });

  it('or an error names where that model answers', async () => {
    const { say, draw } = await startBoth();
    expect(await say('scenes')).toMatchObject({
      status: 400,
      error: {
        code: 'unsupported',
        param: 'model',
        message: expect.stringMatching(/an image model; send it to POST \/v1\/images/),
      },
    });
    expect(await draw('org/chat')).toMatchObject({
      status: 400,
      error: { message: 'org/chat is a chat model; send it to POST /v1/chat/completions' },
    });
    expect(await draw('none')).toMatchObject({
      status: 404,
      error: { code: 'model_not_found', message: expect.stringContaining('org/chat, org/scenes') },
    });
  });

  it('or an error says that there is none of its kind', async () => {
    const { url } = await start();
    const response = await fetch(`${url}/v1/images/generations`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"prompt":"x"}',
    });
    expect(response.status).toBe(404);
    expect(((await response.json()) as Reply).error?.message).toBe(
      'there is no image model here for POST /v1/images/generations or /v1/images/edits; this server has the chat model fake-chat at POST /v1/chat/completions',
    );
  });
});

describe('a server of models of clips and of images', () => {
  async function startClips() {
    const harness = await start({}, { ready: false, names: ['org/clips'] });
    const clips = await openFakeImageModel({ frames: 3, fps: 8 });
    harness.served.ready(clips);
    const post = async (path: string, body: object) => {
      const response = await fetch(harness.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: response.status, ...((await response.json()) as Reply) };
    };
    return { ...harness, clips, post };
  }
  const IMAGES = '/v1/images/generations';

  it('draws an image by that of images where a request names none', async () => {
    const { server, clips, post } = await startClips();
    expect(await post(IMAGES, { prompt: 'x' })).toMatchObject({
      status: 400,
      error: { param: 'num_frames', message: expect.stringContaining('POST /v1/videos') },
    });
    const scenes = await openFakeImageModel();
    server.addModel({ names: ['org/scenes'], kind: MODEL_KINDS.image }).ready(scenes);
    for (const model of [undefined, 'default', 'unknown'])
      expect((await post(IMAGES, { prompt: 'x', model })).status).toBe(200);
    expect([clips.requests.length, scenes.requests.length]).toEqual([0, 3]);
    expect((await post(IMAGES, { prompt: 'x', model: 'clips' })).status).toBe(400);
  });

  it('names the route of each in errors', async () => {
    const { post } = await startClips();
    const message = async (path: string, body: object) => (await post(path, body)).error?.message;
    expect(await message('/v1/embeddings', { model: 'default', input: 'x' })).toBe(
      'there is no embedding model here for POST /v1/embeddings; this server has the image model org/clips at POST /v1/videos',
    );
    expect(await message('/v1/embeddings', { model: 'clips', input: 'x' })).toBe(
      'clips is an image model; send it to POST /v1/videos',
    );
    const { url } = await start();
    const refused = await fetch(`${url}/v1/videos`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"prompt":"x"}',
    });
    expect(((await refused.json()) as Reply).error?.message).toMatch(
      /no image model here for POST \/v1\/videos;/,
    );
  });
});

it('the list of models has both kinds, each with its own members', async () => {
  const { url } = await startBoth();
  const list = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] };
  expect(list.data).toEqual([
    expect.objectContaining({
      id: 'org/chat',
      object: 'model',
      weight_formats: ['q4_k', 'q6_k'],
      max_model_len: 4096,
    }),
    {
      id: 'org/scenes',
      object: 'model',
      created: expect.any(Number),
      owned_by: 'svc-engine',
      root: 'org/scenes',
      parent: null,
      status: { value: 'loaded' },
      kind: 'image',
      pinned: true,
      size: null,
      memory: 18_000_000,
      pipeline: 'StableDiffusionPipeline',
      size_multiple: 8,
      schedulers: ['DDIM', 'EulerDiscrete'],
      image_defaults: {
        width: 32,
        height: 24,
        num_inference_steps: 20,
        guidance_scale: 5,
        negative_prompt: '',
      },
    },
  ]);
  expect(await (await fetch(`${url}/v1/models/scenes`)).json()).toEqual(list.data[1]);
  expect(await (await fetch(`${url}/readyz`)).json()).toEqual({
    status: 'ready',
    models: ['org/chat', 'org/scenes'],
  });
});

describe('a server of two models answers', () => {
  it('for the other while one opens', async () => {
    const { say, draw, url, drawing } = await startBoth({ image: false });
    drawing.progress({ type: 'load', bytes: 1, totalBytes: 4 });
    expect((await say('default')).status).toBe(200);
    expect(await draw()).toMatchObject({
      status: 503,
      error: { code: 'starting', message: expect.stringContaining('25 %') },
    });
    const ready = await fetch(`${url}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ status: 'starting', models: ['org/chat'] });
  });

  it('for the other after one has ended', async () => {
    const { say, draw, served, drawing } = await startBoth();
    drawing.lost();
    expect((await say('default')).status).toBe(200);
    expect((await draw()).status).toBe(503);
    drawing.failed('no memory');
    expect(await draw()).toMatchObject({
      status: 503,
      error: { code: 'model_lost', message: expect.stringContaining('no memory') },
    });
    expect((await say('default')).status).toBe(200);
    served.lost();
    expect((await say('default')).status).toBe(503);
  });
});
