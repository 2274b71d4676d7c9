// Images in requests to an engine in a thread of its own: files and pixels are posted, and stay what they were for the caller.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { readImage } from '../../../../src/files/media/read-image.ts';
import { EngineError, openTextModel, type TextModel } from '../../../../src/index.ts';
import { requestOf, run, type Conversation } from './conversations.ts';

vi.setConfig({ testTimeout: 120_000 });

const FOLDER = fileURLToPath(new URL('../../../golden/pixtral', import.meta.url));
const { conversations } = JSON.parse(readFileSync(`${FOLDER}/mistral3.json`, 'utf8')) as {
  conversations: Record<string, Conversation>;
};
const one = conversations['one']!;
const IMAGE = 260;

let model: TextModel;
beforeAll(async () => {
  model = await openTextModel({
    model: `${FOLDER}/mistral3`,
    safe: true,
    memoryBudget: 2 ** 29,
    prefillChunk: 16,
  });
});
afterAll(() => model.close());

/** The conversation with one image, with something else in the image's place. */
function withImage(image: object) {
  const request = requestOf(one);
  const { messages } = request.prompt as { messages: { role: 'user'; content: object[] }[] };
  const [{ role, content }] = messages as [(typeof messages)[0]];
  return {
    ...request,
    prompt: { messages: [{ role, content: [{ type: 'image', image }, ...content.slice(1)] }] },
  } as typeof request;
}

function fileOf(): Uint8Array {
  const { messages } = requestOf(one).prompt as { messages: { content: { image: Uint8Array }[] }[] };
  return messages[0]!.content[0]!.image;
}

it('files of media give the tokens of transformers in a worker, and info and prompts cross the thread', async () => {
  expect(model.info.media).toEqual(['image']);
  const all = Object.values(conversations);
  const found = await Promise.all(all.map((each) => run(model, requestOf(each))));
  expect(found).toEqual(all.map(({ ids, greedy }) => ({ prompt: ids, ids: greedy })));
  const { mediaTokens } = await model.renderPrompt(requestOf(one).prompt);
  expect(mediaTokens).toEqual({ image: one.ids.filter((id) => id === IMAGE).length });
});

it('pixels, and a file within a larger buffer, give the same tokens and are the caller’s afterwards', async () => {
  const file = fileOf();
  const pixels = await readImage(file, 'image', { bounds: { maxImagePixels: 1e6 } });
  const larger = new Uint8Array(file.length + 99);
  larger.set(file, 50);
  const within = larger.subarray(50, 50 + file.length);
  for (const image of [pixels, within]) expect((await run(model, withImage(image))).ids).toEqual(one.greedy);
  expect(pixels.data).toHaveLength(3 * pixels.width * pixels.height);
  expect(within).toEqual(new Uint8Array(file));
});

it('an error of an image names its place in the request', async () => {
  const error = await run(model, withImage(new Uint8Array(40))).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(EngineError);
  expect(error).toMatchObject({ code: 'bad_request', param: 'messages.0.content.0.image' });
  expect((await run(model, requestOf(one))).ids).toEqual(one.greedy);
});

it('a request that is cancelled while its image is computed ends, and the next one does not', async () => {
  await model.flushCache();
  const controller = new AbortController();
  const events = model.generate(requestOf(one), { signal: controller.signal });
  expect((await events.next()).value).toMatchObject({ type: 'accepted' });
  controller.abort();
  const ends = [];
  for await (const event of events) if (event.type === 'done') ends.push(event.finishReason);
  expect(ends).toEqual(['abort']);
  expect((await run(model, requestOf(one))).ids).toEqual(one.greedy);
});
