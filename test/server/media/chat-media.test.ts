// Media in chat completions, on a fake model that takes them: what reaches the engine, how they are counted, and what is refused.

import { describe, expect, it } from 'vitest';
import type { MediaKind, TextModelInfo } from '../../../src/index.ts';
import { createFakeModel, fakeInfo } from '../fake-model.ts';
import { field } from '../field-test.ts';
import { ask, eventually } from '../harness.ts';
import {
  bytes,
  contentOf,
  data,
  IMAGE,
  OGG,
  open,
  type Refused,
  serveFiles,
  SOUND,
  user,
  VIDEO,
} from './media-harness.ts';

const files = serveFiles();

describe('media of chat completions', () => {
  it('take images, videos and sounds by URL, and sounds and files as base64', async () => {
    const { send, model } = await open();
    const { status, body } = await send('/v1/chat/completions', {
      ...user([
        { type: 'text', text: 'look' },
        {
          type: 'image_url',
          image_url: { url: `${files.origin}/image`, detail: 'low', max_dynamic_patch: 3 },
        },
        { type: 'image_url', image_url: data(IMAGE) },
        { type: 'video_url', video_url: { url: data(VIDEO), min_dynamic_patch: 2 } },
        { type: 'audio_url', audio_url: { url: data(SOUND) } },
        { type: 'input_audio', input_audio: { data: SOUND.toString('base64'), format: 'audio/wav' } },
        { type: 'file', file: { file_data: data(VIDEO), filename: 'x.png' } },
      ]),
      max_dynamic_patch: 12,
      min_dynamic_patch: 1,
    });
    expect(status).toBe(200);
    expect(contentOf(model.requests[0]!)).toEqual([
      { type: 'text', text: 'look' },
      { type: 'image', image: bytes(IMAGE), maxTiles: 3 },
      { type: 'image', image: bytes(IMAGE) },
      { type: 'video', video: bytes(VIDEO), minTiles: 2 },
      { type: 'audio', audio: bytes(SOUND) },
      { type: 'audio', audio: bytes(SOUND) },
      { type: 'video', video: bytes(VIDEO) },
    ]);
    expect(model.requests[0]).toMatchObject({ maxTiles: 12, minTiles: 1 });
    expect(body['usage']).toMatchObject({
      prompt_tokens_details: { image_tokens: 20, video_tokens: 20, audio_tokens: 20 },
    });
  });

  it('refuse a sound of another format than the declared one, and a format that nobody knows', async () => {
    const { send, model } = await open();
    const part = (format: unknown) => ({
      type: 'input_audio',
      input_audio: { data: SOUND.toString('base64'), format },
    });
    const param = 'messages.0.content.0.input_audio.data';
    for (const [format, message] of [
      ['mp3', 'is a WAV file, and its format is declared as "mp3"; send the format of the bytes, or none'],
      ['pcm16', 'is declared as "pcm16", which is not a format that is read; send wav, mp3,'],
      ['constructor', 'is declared as "constructor", which is not a format that is read'],
      ['__proto__', 'is declared as "__proto__", which is not a format that is read'],
    ] as const) {
      const { status, body } = await send('/v1/chat/completions', user([part(format)]));
      expect(status).toBe(400);
      expect(body).toMatchObject({ error: { param, message: expect.stringContaining(message) as string } });
    }
    expect((await send('/v1/chat/completions', user([part(null)]))).status).toBe(200);
    expect(model.requests).toHaveLength(1);
  });

  it.each([
    ['audio/mpeg', Buffer.from('ID3')],
    ['audio/x-wav', SOUND],
    ['audio/wave', SOUND],
    ['audio/vnd.wave', SOUND],
    ['audio/ogg; codecs=opus', OGG],
    ['Audio/WAV;rate=16000', SOUND],
  ])('take the MIME type %s as the format of a sound', async (format, file) => {
    const { send } = await open();
    const part = { type: 'input_audio', input_audio: { data: file.toString('base64'), format } };
    expect((await send('/v1/chat/completions', user([part]))).status).toBe(200);
  });

  it('count no media where there are none', async () => {
    const { send } = await open();
    const { body } = await send('/v1/chat/completions', user('hi'));
    expect(body['usage']).toMatchObject({ prompt_tokens_details: { cached_tokens: 1 } });
    expect(JSON.stringify(body)).not.toContain('image_tokens');
  });

  it.each([
    ['image_url', { url: data(IMAGE) }, 'image_url.url'],
    ['image_url', data(IMAGE), 'image_url'],
    ['input_audio', { data: SOUND.toString('base64') }, 'input_audio.data'],
    ['file', { file_data: data(IMAGE) }, 'file.file_data'],
  ])('name the field of a medium that the engine refuses: %s %j', async (type, value, member) => {
    const { send } = await open();
    const content = [
      { type, [type]: value },
      { type: 'text', text: 'media bad_request' },
    ];
    const { status, body } = await send('/v1/chat/completions', user(content));
    const param = `messages.0.content.0.${member}`;
    expect(status).toBe(400);
    expect((body as unknown as Refused).error).toMatchObject({
      param,
      code: 'invalid_value',
      message: `${param} is no picture`,
    });
  });

  it.each([false, true])(
    'refuse a medium that cannot be fetched before any status line (stream %s)',
    async (stream) => {
      const { send, model } = await open();
      const content = [{ type: 'image_url', image_url: { url: `${files.origin}/missing` } }];
      const { status, body } = await send('/v1/chat/completions', { ...user(content), stream });
      expect(status).toBe(400);
      expect((body as unknown as Refused).error).toMatchObject({
        param: 'messages.0.content.0.image_url.url',
        message: expect.stringContaining('answered 404') as string,
      });
      expect(model.requests).toEqual([]);
    },
  );

  it('fetch from no private address unless that is allowed', async () => {
    const { send, model } = await open(['image'], {});
    const content = [{ type: 'image_url', image_url: { url: `${files.origin}/image` } }];
    const { status, body } = await send('/v1/chat/completions', user(content));
    expect(status).toBe(400);
    expect((body as unknown as Refused).error.message).toContain('without --allow-private-media');
    expect([files.fetched, model.requests]).toEqual([[], []]);
  });

  it('honour the limits of the server', async () => {
    const { send } = await open(['image', 'audio'], {
      maxMediaBytes: 30,
      limitMmDataPerRequest: { audio: 1 },
    });
    const image = { type: 'image_url', image_url: data(IMAGE) };
    const large = await send(
      '/v1/chat/completions',
      user([image, image, { ...image, image_url: data(SOUND) }]),
    );
    expect(large).toMatchObject({
      status: 413,
      body: { error: { param: 'messages.0.content.2.image_url' } },
    });
    const sounds = [
      { type: 'audio_url', audio_url: data(SOUND) },
      { type: 'file', file: { file_data: data(SOUND) } },
    ];
    const many = await send('/v1/chat/completions', user(sounds));
    expect(many).toMatchObject({
      status: 400,
      body: {
        error: { message: expect.stringContaining('one of 2 sounds, above the limit of 1') as string },
      },
    });
  });

  it('give the bytes of their media back when they end', async () => {
    const { send } = await open(['image'], { maxMediaBytes: IMAGE.length });
    const content = [{ type: 'image_url', image_url: data(IMAGE) }];
    for (let i = 0; i < 6; i++)
      expect((await send('/v1/chat/completions', user(content))).status, `request ${i}`).toBe(200);
  });

  it('end the fetch when the client leaves', async () => {
    const { post, model, server } = await open();
    const leaving = new AbortController();
    const content = [{ type: 'image_url', image_url: { url: `${files.origin}/silent` } }];
    const asked = post(ask(content), { signal: leaving.signal });
    await eventually(() => files.fetched.includes('/silent'), 'the fetch');
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await eventually(() => files.left === 1, 'the end of the fetch');
    expect(model.requests).toEqual([]);
    expect(server.running()).toBe(0);
  });
});

describe('a model that does not take the kind of a medium', () => {
  const image = { type: 'image_url', image_url: { url: 'http://unknown.invalid/' } };

  it('refuses without fetching, and says so where no other takes it', async () => {
    const { send, model } = await open([]);
    const { status, body } = await send('/v1/chat/completions', user([image]));
    expect(status).toBe(400);
    expect((body as unknown as Refused).error).toMatchObject({
      code: 'unsupported',
      param: 'messages.0.content.0.image_url.url',
      message:
        'messages.0.content.0.image_url.url is an image, and fake-chat reads text only; no model that is served here takes it, so leave it out',
    });
    expect(model.requests).toEqual([]);
  });

  it('names the served models that take it', async () => {
    const { send, server, model } = await open(['audio']);
    for (const [name, media] of [
      ['org/sees', ['image']],
      ['reads', []],
      ['watches', ['image', 'video']],
    ] as const) {
      const other = createFakeModel();
      Object.assign(other, { info: { ...fakeInfo, name, media } });
      server.addModel({ names: [name] }).ready(other);
    }
    const { body } = await send('/v1/chat/completions', user([image]));
    expect((body as unknown as Refused).error.message).toBe(
      'messages.0.content.0.image_url.url is an image, and fake-chat reads text and sounds only; send it to org/sees or watches',
    );
    Object.assign(model, { info: { ...fakeInfo, media: ['image'] } });
    const file = { type: 'file', file: { file_data: data(VIDEO) } };
    const refused = await send('/v1/chat/completions', user([file]));
    expect((refused.body as unknown as Refused).error.message).toBe(
      'messages.0.content.0.file.file_data is a video, and fake-chat reads text and images only; send it to watches',
    );
  });

  it.each<[string, Buffer, TextModelInfo['media'], MediaKind]>([
    ['a voice message', OGG, ['audio'], 'audio'],
    ['a voice message', OGG, ['image', 'video', 'audio'], 'audio'],
    ['a container', VIDEO, ['audio'], 'audio'],
    ['a container', VIDEO, ['video', 'audio'], 'video'],
    ['an animation', Buffer.from('GIF89a'), ['video'], 'video'],
  ])('takes a file of several kinds as one that the model reads: %s', async (_, file, media, kind) => {
    const { send, model } = await open(media);
    const part = { type: 'file', file: { file_data: data(file) } };
    const { status } = await send('/v1/chat/completions', user([part]));
    expect(status).toBe(200);
    expect(contentOf(model.requests[0]!)).toEqual([{ type: kind, [kind]: bytes(file) }]);
  });

  it('refuses a file that is no medium', async () => {
    const { send } = await open();
    const file = { type: 'file', file: { file_data: data(Buffer.from('%PDF-1.7')) } };
    const { body } = await send('/v1/chat/completions', user([file]));
    expect((body as unknown as Refused).error).toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('is not an image, video or sound of a format that is read') as string,
    });
  });
});

it('/tokenize counts media, with the limits on their tiles', async () => {
  const { send, model } = await open();
  const { messages } = user([{ type: 'image_url', image_url: data(IMAGE) }]);
  const { status } = await send('/tokenize', { messages, max_dynamic_patch: 4 });
  expect(status).toBe(200);
  expect(contentOf(model.rendered[0]!)).toEqual([{ type: 'image', image: bytes(IMAGE) }]);
  expect(model.rendered[0]).toMatchObject({ maxTiles: 4 });
});

it('/v1/models says what messages may hold', async () => {
  const { url } = await open(['image']);
  const { data: models } = (await (await fetch(`${url}/v1/models`)).json()) as {
    data: { modalities: string[] }[];
  };
  expect(models[0]!.modalities).toEqual(['text', 'image']);
});

field('max_dynamic_patch', {
  asks: [[12, { maxTiles: 12 }]],
  refused: [
    [0, 'must be at least 1'],
    [129, 'must be at most 128'],
    [1.5, 'must be a whole number'],
  ],
});
field('min_dynamic_patch', {
  asks: [[1, { minTiles: 1 }]],
  refused: [[0, 'must be at least 1']],
});
