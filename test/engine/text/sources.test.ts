// Encoder-decoder models against transformers: tokens and log probabilities, alone and together; and what belongs to sources: the prefix cache, retraction,
// a lost device, and requests that are refused.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Platform } from '../../../src/engine/platform/platform.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { openInline } from '../../../src/host/open.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import type {
  TextEvent,
  TextModel,
  TextModelOptions,
  TextRequest,
} from '../../../src/engine/text/calls/text-model.ts';
import { byteLevel } from '../../files/tokenizer/small-tokenizers.ts';
import { collect, greedy } from '../fixture.ts';

interface Case {
  source: number[];
  tokens: number[];
  /** Ids of the best tokens at each step, and their log probabilities. */
  best: number[][];
  logprobs: number[][];
  /** The largest magnitude of a logit at each step. */
  largest: number[];
}

const folderOf = (name: string): string =>
  fileURLToPath(new URL(`../../golden/seq2seq/${name}`, import.meta.url));

const casesOf = (name: string): Case[] =>
  (JSON.parse(readFileSync(join(folderOf(name), 'values.json'), 'utf8')) as { cases: Case[] }).cases;

async function open(
  name: string,
  options: Partial<TextModelOptions> = {},
  platform: Platform = nodePlatform,
): Promise<TextModel> {
  const path = mkdtempSync(join(tmpdir(), 'svc-sources-'));
  cpSync(folderOf(name), path, { recursive: true });
  const { tokenizerJson, tokenizerConfig } = byteLevel();
  writeFileSync(join(path, 'tokenizer.json'), JSON.stringify(tokenizerJson));
  writeFileSync(join(path, 'tokenizer_config.json'), JSON.stringify(tokenizerConfig));
  try {
    return await openInline(TEXT, platform, {
      model: path,
      safe: true,
      memoryBudget: 2 ** 28,
      ...options,
    });
  } finally {
    rmSync(path, { recursive: true });
  }
}

interface Reply {
  ids: number[];
  /** Log probabilities of `best`. */
  logprobs: number[][];
  accepted: Extract<TextEvent, { type: 'accepted' }>;
}

async function reply(
  model: TextModel,
  { source, best, tokens }: Case,
  most = tokens.length,
  onTokens = () => {},
): Promise<Reply> {
  const found: Partial<Reply> & Pick<Reply, 'ids' | 'logprobs'> = { ids: [], logprobs: [] };
  const request = { ...greedy(source, most), logprobs: 5 };
  for await (const event of model.generate(request)) {
    if (event.type === 'accepted') found.accepted = event;
    if (event.type !== 'delta') continue;
    found.ids.push(...event.ids);
    onTokens();
    for (const { top } of event.logprobs ?? []) {
      const wanted = best[found.logprobs.length] ?? [];
      found.logprobs.push(wanted.map((id) => top.find((one) => one.id === id)?.logprob ?? NaN));
    }
  }
  return found as Reply;
}

/** The largest difference, relative to the step's largest logit. */
function worstError({ logprobs }: Reply, { logprobs: wanted, largest }: Case): number {
  const errors = wanted.map((row, step) => {
    const differences = row.map((value, i) => Math.abs(logprobs[step]![i]! - value));
    return Math.max(...differences) / largest[step]!;
  });
  return errors.reduce((most, error) => Math.max(most, error), 0);
}

const GREEDY = { temperature: 0, maxTokens: 8, ignoreEos: true };

describe('classes that differ in data', () => {
  /** One device for all, whose kernels are compiled once. */
  let device: Device;
  const platform: Platform = { ...nodePlatform, openDevice: async () => device };
  beforeAll(async () => {
    device = await nodePlatform.openDevice({ safe: true, memoryBudget: 2 ** 29 });
    vi.spyOn(device, 'destroy').mockImplementation(() => {});
  });
  afterAll(() => {
    vi.restoreAllMocks();
    device.destroy();
  });

  it.each(['flan-t5', 'mt5', 'umt5', 'bart', 'plbart', 'mbart', 'm2m100', 'marian', 'pegasus', 'blenderbot'])(
    '%s: 32 greedy tokens of transformers',
    { timeout: 120_000 },
    async (name) => {
      await using model = await open(name, {}, platform);
      const cases = casesOf(name);
      const found = await Promise.all(cases.map((one) => reply(model, one)));
      expect(found.map(({ ids }) => ids)).toEqual(cases.map(({ tokens }) => tokens));
      for (const [i, one] of cases.entries()) expect(worstError(found[i]!, one)).toBeLessThan(1e-4);
    },
  );
});

describe('T5', () => {
  const devices: Device[] = [];
  const platform: Platform = {
    ...nodePlatform,
    openDevice: async (options) => {
      const device = await nodePlatform.openDevice(options);
      devices.push(device);
      return device;
    },
  };
  const cases = casesOf('t5');
  let model: TextModel;
  // Pages for two replies, not for four.
  beforeAll(
    async () => void (model = await open('t5', { maxTotalTokens: 256, prefillChunk: 16 }, platform)),
    120_000,
  );
  afterAll(() => model.close());

  it('has 32 greedy tokens of transformers, alone, together, retracted, and on another device', async () => {
    const wanted: number[][] = [];
    let read = 0;
    for (const one of cases) {
      const found = await reply(model, one, 40);
      expect(found.ids.slice(0, 32)).toEqual(one.tokens);
      expect(worstError(found, one)).toBeLessThan(1e-4);
      expect(found.accepted.promptTokens).toBe(one.source.length);
      read += one.source.length;
      expect(await model.metrics()).toMatchObject({ promptTokens: read, cache: { lookedUp: read } });
      wanted.push(found.ids);
    }
    /** `loss`: number of events with tokens, of all replies, after which the device is lost. */
    const together = async (loss = Infinity) => {
      let events = 0;
      const onTokens = (): void => void (++events === loss && devices.at(-1)!.destroy());
      return (await Promise.all(cases.map((one) => reply(model, one, 40, onTokens)))).map(({ ids }) => ids);
    };
    expect(await together()).toEqual(wanted);
    expect((await model.metrics()).retractions).toBeGreaterThan(0);
    expect(await together(10)).toEqual(wanted);
    expect(await model.metrics()).toMatchObject({ deviceRestarts: 1, cache: { device: 0 } });
  });

  it('gives choices of a request the tokens of its source, and shares no pages among sources', async () => {
    const [, one] = cases;
    const { ids } = await collect(model.generate({ ...greedy(one!.source, 8), n: 2 }));
    expect(ids).toEqual([one!.tokens.slice(0, 8), one!.tokens.slice(0, 8)]);
    // Another source that begins alike has other tokens: those of a fresh model.
    const longer = [...one!.source, 40, 41, 42];
    const alike = (await collect(model.generate(greedy(longer, 8)))).ids[0];
    expect(alike).not.toEqual(one!.tokens.slice(0, 8));
    expect((await collect(model.generate(greedy(one!.source, 8)))).ids[0]).toEqual(one!.tokens.slice(0, 8));
  });

  it('ends a reply that is cancelled, and frees its pages', async () => {
    const abort = new AbortController();
    const events: TextEvent[] = [];
    for await (const event of model.generate(greedy(cases[0]!.source, 40), { signal: abort.signal })) {
      events.push(event);
      if (event.type === 'delta') abort.abort();
    }
    expect(events.at(-1)).toMatchObject({ type: 'done', finishReason: 'abort' });
    const { running, waiting, pages } = await model.metrics();
    expect({ running, waiting, used: pages.used }).toEqual({ running: 0, waiting: 0, used: 0 });
  });

  it('takes a message as the text that it is', async () => {
    const text = 'translate this';
    const plain = (await collect(model.generate({ ...GREEDY, prompt: { text } }))).ids;
    const said = { messages: [{ role: 'user' as const, content: text }] };
    expect((await collect(model.generate({ ...GREEDY, prompt: said }))).ids).toEqual(plain);
    expect(model.info.hasChatTemplate).toBe(true);
  });

  it('goes on with what the request begins the reply with', async () => {
    const constraint = { type: 'regex' as const, pattern: 'ab[a-z]{30}' };
    const user = { role: 'user' as const, content: 'translate this' };
    const begun = [user, { role: 'assistant' as const, content: 'ab' }];
    const whole = { ...GREEDY, constraint, prompt: { messages: [user] } };
    const rest = { ...GREEDY, constraint, prompt: { messages: begun, continueFinal: true }, maxTokens: 6 };
    const { ids, text } = await collect(model.generate(whole));
    const found = await collect(model.generate(rest));
    expect(text[0]).toMatch(/^ab/);
    expect(found).toMatchObject({ ids: [ids[0]!.slice(2)], text: [text[0]!.slice(2)] });
  });

  const user = { role: 'user' as const, content: 'hello' };
  const tool = { type: 'function' as const, function: { name: 'f', parameters: {} } };
  it.each([
    [
      { prompt: { messages: [user, { role: 'assistant', content: 'a' }, user] } },
      'send one message of the user, not user, assistant, user',
    ],
    [{ prompt: { messages: [user], tools: [tool] } }, 'knows no tools: leave them out'],
    [{ prompt: { messages: [user], continueFinal: true } }, "it must be the assistant's"],
    [{ prompt: { ids: [] } }, 'the prompt holds no tokens'],
    [
      { prompt: { ids: [5, 6] }, promptLogprobs: 1 },
      'promptLogprobs is not built for encoder-decoder models',
    ],
    [{ prompt: { ids: Array<number>(2049).fill(5) } }, 'the prompt is too long: 2049 tokens > 2048'],
  ] as [TextRequest, string][])('refuses a request (%#)', async (request, message) => {
    await expect(collect(model.generate(request))).rejects.toThrow(message);
  });

  it('takes tokens of a source as drafts', async () => {
    await using own = await open(
      't5',
      { speculativeAlgorithm: 'ngram', speculativeAdaptive: false },
      platform,
    );
    for (const one of cases) expect((await reply(own, one)).ids).toEqual(one.tokens);
    expect((await own.metrics()).speculation!.accepted).toBeGreaterThan(0);
  });

  it('refuses LoRAs', async () => {
    await expect(model.loadLora('a', '/nowhere')).rejects.toThrow(
      'LoRAs of encoder-decoder models are not built',
    );
  });
});
