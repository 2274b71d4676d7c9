// The life of images in the engine: cached prefixes and rows, retraction, choices, adapters of the prompt, what is refused.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { TextEvent, TextModel, TextRequest } from '../../../../src/engine/text/calls/text-model.ts';
import type { Platform } from '../../../../src/engine/platform/platform.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { messagesOf, openMediaGolden, openMediaModel, requestOf, type MediaGolden } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

let golden: MediaGolden;
let model: TextModel;
beforeAll(async () => {
  golden = await openMediaGolden('qwen2-5-vl');
  model = await openMediaModel(golden, { prefillChunk: 16, maxRunningRequests: 4, contextLength: 256 });
});
afterAll(() => model.close());

async function eventsOf(request: TextRequest, on: TextModel = model): Promise<TextEvent[]> {
  const events: TextEvent[] = [];
  for await (const event of on.generate(request)) events.push(event);
  return events;
}

const idsOf = (events: TextEvent[], choice = 0): number[] =>
  events.flatMap((event) => (event.type === 'delta' && event.choice === choice ? event.ids : []));

const cachedOf = (events: TextEvent[]): number =>
  events.findLast((event) => event.type === 'prefill')!.cachedTokens;

const caseOf = (name: string) => golden.cases.find((one) => one.name === name)!;

describe('the prefix cache with images', () => {
  it('finds the tokens of an image that was shown before, and of no other image', async () => {
    await model.flushCache();
    const [one, other] = [caseOf('one'), caseOf('other')];
    expect(cachedOf(await eventsOf(requestOf(golden, one)))).toBe(0);
    const again = await eventsOf(requestOf(golden, one));
    // The first page ends inside or behind the image's tokens; the second has text alone, and is found but for its last token.
    expect(cachedOf(again)).toBe(one.ids.length - 1);
    expect(idsOf(again)).toEqual(one.greedy);
    const third = await eventsOf(requestOf(golden, other));
    expect(cachedOf(third)).toBe(0);
    expect(idsOf(third)).toEqual(other.greedy);
  });

  it('continues inside an image from a prefix that ends there', async () => {
    await model.flushCache();
    const turns = caseOf('turns');
    await eventsOf(requestOf(golden, caseOf('one')));
    const events = await eventsOf(requestOf(golden, turns));
    expect(cachedOf(events)).toBeGreaterThan(0);
    expect(idsOf(events)).toEqual(turns.greedy);
  });
});

it('choices of a request share its images', async () => {
  await model.flushCache();
  const one = caseOf('several');
  const events = await eventsOf({ ...requestOf(golden, one), n: 3 });
  for (const choice of [0, 1, 2]) expect(idsOf(events, choice)).toEqual(one.greedy);
});

it('a constraint and log probabilities work with images', async () => {
  const events = await eventsOf({
    ...requestOf(golden, caseOf('one')),
    constraint: { type: 'regex', pattern: '[a-c]{3}' },
    ignoreEos: false,
    promptLogprobs: 0,
  });
  expect(events.map((event) => (event.type === 'delta' ? event.text : '')).join('')).toMatch(/^[a-c]{3}/);
  const prompt = events.find((event) => event.type === 'prompt')!;
  expect(prompt.tokens.map(({ id }) => id)).toEqual(caseOf('one').ids);
});

it('requests that are retracted inside their images continue with the same tokens', async () => {
  const small = await openMediaModel(golden, {
    prefillChunk: 16,
    maxRunningRequests: 4,
    contextLength: 160,
    maxTotalTokens: 192,
  });
  try {
    const all = await Promise.all(golden.cases.map((one) => eventsOf(requestOf(golden, one), small)));
    expect(all.map((events) => idsOf(events))).toEqual(golden.cases.map((one) => one.greedy));
    expect((await small.metrics()).retractions).toBeGreaterThan(0);
  } finally {
    await small.close();
  }
});

it('renderPrompt() returns the tokens of a prompt with images before anything is computed', async () => {
  const one = caseOf('turns');
  const before = await model.metrics();
  const { ids, mediaTokens, text } = await model.renderPrompt({ messages: messagesOf(golden, one) });
  expect(ids).toEqual(one.ids);
  expect(mediaTokens).toEqual({ image: ids.filter((id) => id === 261).length });
  expect(text.split('<|image_pad|>')).toHaveLength(3);
  expect((await model.metrics()).steps).toBe(before.steps);
});

it('the weights of the tower are in host memory if the budget is tight', async () => {
  const notes: string[] = [];
  const tight = await openMediaModel(
    golden,
    { contextLength: 256, maxRunningRequests: 2, prefillChunk: 16, memoryBudget: 1180 * 1024 },
    { onEvent: (event) => event.type === 'note' && notes.push(event.message) },
  );
  try {
    expect(notes.join()).toContain('weights that read images and videos are in host memory');
    for (const one of golden.cases.slice(0, 2))
      expect(idsOf(await eventsOf(requestOf(golden, one), tight))).toEqual(one.greedy);
    expect(tight.info.memory.budget).toBe(1180 * 1024);
  } finally {
    await tight.close();
  }
});

describe('an image model refuses', () => {
  const image = () => golden.images[0]!;
  const ask = (content: object[], more: Partial<TextRequest> = {}) =>
    eventsOf({
      prompt: { messages: [{ role: 'user', content: content as never }] },
      maxTokens: 2,
      ...more,
    });

  it.each([
    [
      'the text of an image token beside an image',
      [{ type: 'text', text: 'a <|image_pad|>' }],
      'bad_request',
    ],
    ['a sound', [{ type: 'audio', audio: new Uint8Array(4) }], 'unsupported'],
    ['bytes that are no image', [{ type: 'image', image: new Uint8Array(40) }], 'bad_request'],
    ['an image without bytes', [{ type: 'image' }], 'bad_request'],
    ['an image of 1 × 300', [{ type: 'image', image: narrow(300) }], 'bad_request'],
    ['limits on tiles of a part', [{ type: 'image', image: narrow(1), maxTiles: 2 }], 'bad_request'],
  ])('%s', async (_, content, code) => {
    await expect(ask([{ type: 'image', image: image() }, ...content])).rejects.toMatchObject({ code });
  });

  it('limits on tiles, and images beyond the context', async () => {
    await expect(ask([{ type: 'text', text: 'a' }], { minTiles: 2 })).rejects.toMatchObject({
      param: 'minTiles',
    });
    const many = Array.from({ length: 20 }, () => ({ type: 'image', image: image() }));
    await expect(ask(many)).rejects.toMatchObject({ code: 'context_length_exceeded' });
    expect(idsOf(await eventsOf(requestOf(golden, caseOf('one'))))).toEqual(caseOf('one').greedy);
  });
});

it('a request with images continues after the loss of the device, and its rows are computed again', async () => {
  const devices: Device[] = [];
  const platform: Platform = {
    ...nodePlatform,
    async openDevice(options) {
      const device = await nodePlatform.openDevice(options);
      devices.push(device);
      return device;
    },
  };
  const lost = await openMediaModel(golden, { prefillChunk: 16, maxRunningRequests: 4 }, { platform });
  try {
    const askAll = () => golden.cases.map((one) => eventsOf(requestOf(golden, one), lost));
    // So that the tower is idle at the loss, and the rows that it made are lost.
    await Promise.all(askAll());
    const before = (await lost.metrics()).generatedTokens;
    const all = askAll();
    while ((await lost.metrics()).generatedTokens < before + 20)
      await new Promise((resolve) => setTimeout(resolve, 2));
    devices.at(-1)!.destroy();
    expect((await Promise.all(all)).map((events) => idsOf(events))).toEqual(
      golden.cases.map((one) => one.greedy),
    );
    expect((await lost.metrics()).deviceRestarts).toBe(1);
  } finally {
    await lost.close();
  }
});

function narrow(width: number) {
  return { width, height: 1, data: new Uint8Array(3 * width).fill(9) };
}
