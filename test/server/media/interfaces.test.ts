// Media in the interfaces that are converted to chat completions: what reaches the engine, and errors under the client's own names of fields.

import { describe, expect, it } from 'vitest';
import {
  bytes,
  contentOf,
  data,
  IMAGE,
  open,
  type Refused,
  serveFiles,
  SOUND,
  user,
  VIDEO,
} from './media-harness.ts';

const files = serveFiles();

describe('media of responses', () => {
  const input = (content: unknown) => ({ model: 'default', input: [{ role: 'user', content }] });

  it('take images, files and sounds, also in the outputs of calls', async () => {
    const { send, model } = await open();
    const { status, body } = await send('/v1/responses', {
      model: 'default',
      instructions: 'Be kind.',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'look' },
            { type: 'input_image', image_url: `${files.origin}/image`, detail: 'auto' },
            { type: 'input_file', file_data: data(SOUND), filename: 'a.wav' },
            { type: 'input_file', file_url: data(VIDEO) },
            { type: 'input_audio', input_audio: { data: SOUND.toString('base64'), format: 'wav' } },
          ],
        },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        {
          type: 'function_call_output',
          call_id: 'c',
          output: [
            { type: 'input_text', text: 'here' },
            { type: 'input_image', image_url: data(IMAGE) },
          ],
        },
      ],
    });
    expect(status).toBe(200);
    expect(contentOf(model.requests[0]!, 1)).toEqual([
      { type: 'text', text: 'look' },
      { type: 'image', image: bytes(IMAGE) },
      { type: 'audio', audio: bytes(SOUND) },
      { type: 'video', video: bytes(VIDEO) },
      { type: 'audio', audio: bytes(SOUND) },
    ]);
    expect(contentOf(model.requests[0]!)).toEqual([
      { type: 'text', text: 'here' },
      { type: 'image', image: bytes(IMAGE) },
    ]);
    expect(body['usage']).toMatchObject({ input_tokens_details: { image_tokens: 20, audio_tokens: 20 } });
  });

  it('go on from a stored response with its images', async () => {
    const { send, model } = await open();
    const { body } = await send('/v1/responses', input([{ type: 'input_image', image_url: data(IMAGE) }]));
    await send('/v1/responses', { model: 'default', input: 'And?', previous_response_id: body['id'] });
    expect(contentOf(model.requests[1]!, 0)).toEqual([{ type: 'image', image: bytes(IMAGE) }]);
  });

  it.each([
    [[{ type: 'input_image', image_url: 'nowhere' }], 'input.0.content.0.image_url', 'is not a URL'],
    [[{ type: 'input_image', file_id: 'f' }], 'input.0.content.0.image_url', 'is required'],
    [[{ type: 'input_file', file_id: 'f' }], 'input.0.content.0.file_data', 'is required'],
    [[{ type: 'input_file', file_url: 'ftp://a' }], 'input.0.content.0.file_url', 'begins with ftp:'],
    [
      [
        { type: 'input_text', text: 'media bad_request' },
        { type: 'input_image', image_url: data(IMAGE) },
      ],
      'input.0.content.1.image_url',
      'is no picture',
    ],
  ])('%j is refused at %s', async (content, param, message) => {
    const { send } = await open();
    const { status, body } = await send('/v1/responses', input(content));
    expect(status).toBe(400);
    expect((body as unknown as Refused).error).toMatchObject({
      param,
      message: expect.stringContaining(`${param} ${message}`) as string,
    });
  });

  it('refuse a sound of another format than the declared one', async () => {
    const { send } = await open();
    const part = { type: 'input_audio', input_audio: { data: SOUND.toString('base64'), format: 'flac' } };
    const { status, body } = await send('/v1/responses', input([part]));
    expect([status, (body as unknown as Refused).error.param]).toEqual([
      400,
      'input.0.content.0.input_audio.data',
    ]);
  });
});

describe("media of Anthropic's messages", () => {
  const image = (source: object) => ({ type: 'image', source });
  const base64 = { type: 'base64', media_type: 'image/png', data: IMAGE.toString('base64') };
  const messages = (content: unknown) => ({ ...user(content), max_tokens: 9 });

  it('take images, also in the results of tools', async () => {
    const { send, model } = await open();
    const { status } = await send('/v1/messages', {
      model: 'default',
      max_tokens: 9,
      system: 'Be kind.',
      messages: [
        {
          role: 'user',
          content: [image({ type: 'url', url: `${files.origin}/image` }), { type: 'text', text: 'look' }],
        },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 't',
              is_error: true,
              content: [{ type: 'text', text: 'here' }, image(base64)],
            },
          ],
        },
      ],
    });
    expect(status).toBe(200);
    expect(contentOf(model.requests[0]!, 1)).toEqual([
      { type: 'image', image: bytes(IMAGE) },
      { type: 'text', text: 'look' },
    ]);
    expect(contentOf(model.requests[0]!)).toEqual([
      { type: 'text', text: 'Error:' },
      { type: 'text', text: 'here' },
      { type: 'image', image: bytes(IMAGE) },
    ]);
  });

  it.each([
    [image({ ...base64, data: 'a*' }), '', 'messages.0.content.1.image.source.data is not base64'],
    [image({ type: 'url', url: 'x' }), '', 'messages.0.content.1.image.source.url is not a URL'],
    [image(base64), 'media bad_request', 'messages.0.content.1.image.source.data is no picture'],
    [image({ type: 'file', file_id: 'f' }), '', 'messages.0.content.1.source.type must'],
    [
      { type: 'tool_result', tool_use_id: 't', content: [image({ ...base64, data: '?' })] },
      '',
      'messages.0.content.1.tool_result.content.0.image.source.data is not base64',
    ],
  ])('%j is refused', async (block, text, message) => {
    const { send } = await open();
    const { status, body } = await send(
      '/v1/messages',
      messages([{ type: 'text', text: text || 'hi' }, block]),
    );
    expect(status).toBe(400);
    expect((body as unknown as Refused).error.message).toContain(message);
  });

  it("take images in the assistant's messages", async () => {
    const { send, model } = await open();
    const said = [{ type: 'text', text: 'drawn' }, image(base64)];
    const turns = [
      { role: 'assistant', content: said },
      { role: 'user', content: 'Thanks' },
    ];
    const { status } = await send('/v1/messages', { model: 'default', max_tokens: 9, messages: turns });
    expect(status).toBe(200);
    expect(contentOf(model.requests[0]!, 0)).toEqual([
      { type: 'text', text: 'drawn' },
      { type: 'image', image: bytes(IMAGE) },
    ]);
  });

  it('count the tokens of images', async () => {
    const { send, model } = await open();
    const { status, body } = await send('/v1/messages/count_tokens', user([image(base64)]));
    expect(status).toBe(200);
    expect(contentOf(model.rendered[0]!)).toEqual([{ type: 'image', image: bytes(IMAGE) }]);
    expect(body['input_tokens']).toBeGreaterThan(0);
  });
});

describe("media of Ollama's routes", () => {
  const encoded = IMAGE.toString('base64');

  it('take images in messages and beside a prompt', async () => {
    const { send, model } = await open();
    const messages = [{ role: 'user', content: 'look', images: [encoded, encoded] }];
    await send('/api/chat', { model: 'default', stream: false, messages });
    const prompt = { model: 'default', stream: false, prompt: 'look', system: 'Be kind.', images: [encoded] };
    await send('/api/generate', prompt);
    const part = { type: 'image', image: bytes(IMAGE) };
    expect(contentOf(model.requests[0]!)).toEqual([part, part, { type: 'text', text: 'look' }]);
    expect(contentOf(model.requests[1]!)).toEqual([part, { type: 'text', text: 'look' }]);
  });

  it('take images without a text', async () => {
    const { send, model } = await open();
    await send('/api/generate', { model: 'default', stream: false, images: [encoded] });
    expect(contentOf(model.requests[0]!)).toEqual([{ type: 'image', image: bytes(IMAGE) }]);
  });

  it('name the image that is refused', async () => {
    const { send } = await open();
    const messages = [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'look', images: [encoded, 'http://a/'] },
    ];
    const chat = await send('/api/chat', { model: 'default', stream: false, messages });
    expect(chat).toMatchObject({
      status: 400,
      body: { error: 'messages.1.images.1 is not base64; send the bytes of the file in base64' },
    });
    const generate = await send('/api/generate', {
      model: 'default',
      prompt: 'media bad_request',
      images: [encoded],
    });
    expect(generate).toMatchObject({ status: 400, body: { error: 'images.0 is no picture' } });
  });

  it('say that a model sees', async () => {
    const { send } = await open();
    const { body } = await send('/api/show', { model: 'fake-chat' });
    expect(body['capabilities']).toEqual(['completion', 'vision', 'tools', 'thinking']);
  });
});
