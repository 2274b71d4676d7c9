import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { eventually } from '../harness.ts';
import { formOf, look, pngFile, readEvents, startImages } from './image-harness.ts';

const completed = {
  b64_json: expect.any(String),
  created_at: expect.any(Number),
  size: '32x24',
  quality: 'auto',
  background: 'opaque',
  output_format: 'png',
  revised_prompt: 'a house',
  usage: expect.objectContaining({ input_tokens: 2, output_tokens: 12 }),
};

describe('an image stream', () => {
  it('sends previews, then the image, and tells each step in a comment', async () => {
    const { generate } = await startImages();
    const response = await generate({ stream: true, partial_images: 2, num_inference_steps: 6, seed: 8 });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const text = await response.text();
    expect(text).not.toContain('[DONE]');
    const { comments, events } = readEvents(text);
    expect(comments).toEqual([
      ': drawing',
      ...[1, 2, 3, 4, 5, 6].map((step) => `: image 1, step ${step} of 6`),
    ]);
    expect(events.map(({ name }) => name)).toEqual([
      'image_generation.partial_image',
      'image_generation.partial_image',
      'image_generation.completed',
    ]);
    expect(events.map(({ data }) => data['type'])).toEqual(events.map(({ name }) => name));
    expect(events.slice(0, 2).map(({ data }) => data['partial_image_index'])).toEqual([0, 1]);
    expect(events[2]?.data).toMatchObject({ ...completed, seed: 8, image_index: 0 });
    expect(await look(String(events[2]?.data['b64_json']))).toMatchObject({ red: 8 });
  });

  it('of several images counts them through', async () => {
    const { generate } = await startImages();
    const { events } = readEvents(
      await (await generate({ stream: true, partial_images: 1, seed: [3, 9] })).text(),
    );
    expect(
      events.map(({ data }) => [data['image_index'], data['partial_image_index'], data['seed']]),
    ).toEqual([
      [0, 0, undefined],
      [0, undefined, 3],
      [1, 0, undefined],
      [1, undefined, 9],
    ]);
  });

  it('of an edit names its events so', async () => {
    const { edit } = await startImages();
    const image = await pngFile(16, 16, '#ff0000');
    const response = await edit(formOf({ prompt: 'x', image, stream: 'true', partial_images: '3' }));
    const { events } = readEvents(await response.text());
    expect([...new Set(events.map(({ name }) => name))]).toEqual([
      'image_edit.partial_image',
      'image_edit.completed',
    ]);
    expect(events).toHaveLength(4);
  });

  it('is read by OpenAI’s client', async () => {
    const { url } = await startImages();
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'unused', maxRetries: 0 });
    const stream = await client.images.generate({ prompt: 'x', stream: true, partial_images: 3 });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types).toEqual([
      ...Array<string>(3).fill('image_generation.partial_image'),
      'image_generation.completed',
    ]);
    const failing = await client.images.generate({ prompt: 'fail out_of_memory', stream: true });
    const read = async () => {
      for await (const event of failing) expect.fail(event.type);
    };
    await expect(read()).rejects.toMatchObject({ code: 'out_of_memory' });
  });

  it('has a status where the request is refused, and an error event where drawing fails', async () => {
    const { generate, lines } = await startImages();
    expect((await generate({ prompt: 'refuse unsupported', stream: true })).status).toBe(400);
    const { events } = readEvents(await (await generate({ prompt: 'crash', stream: true })).text());
    expect(events).toEqual([
      {
        name: 'error',
        data: { type: 'error', error: expect.objectContaining({ code: 'internal', type: 'server_error' }) },
      },
    ]);
    expect(JSON.stringify(events)).not.toContain('nobody foresaw');
    expect(lines.some((line) => line.includes('nobody foresaw this'))).toBe(true);
  });

  it('tells how many are before it, and comments while nothing else is sent', async () => {
    const { generate, model } = await startImages({ keepAlive: 20 });
    const leave = new AbortController();
    generate({ prompt: 'hang' }, { signal: leave.signal }).catch(() => {});
    await eventually(() => model.running === 1, 'the first is drawn');
    const response = await generate({ stream: true });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let seen = '';
    while (!seen.includes(': ping')) seen += (await reader.read()).value ?? '';
    expect(seen).toContain(': waiting for 1 before');
    leave.abort();
    while (!seen.includes(': drawing')) seen += (await reader.read()).value ?? '';
    while (!seen.includes('image_generation.completed')) seen += (await reader.read()).value ?? '';
  });
});

it.each([true, false])('a client that leaves ends the drawing (stream: %s)', async (stream) => {
  const { generate, model, server, lines } = await startImages();
  const leave = new AbortController();
  const response = generate({ prompt: 'hang', stream }, { signal: leave.signal });
  if (stream) await response;
  else response.catch(() => {});
  await eventually(() => model.running === 1, 'it is drawn');
  leave.abort();
  await eventually(() => model.running === 0 && server.running() === 0, 'nothing is drawn any more');
  await eventually(() => lines.some((line) => line.includes('client left')), 'the log says so');
});
