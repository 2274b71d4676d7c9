// Requests converted to sequences: clamped values, refusals with the field's name, seeds and biases.

import { beforeAll, describe, expect, it } from 'vitest';
import { GrammarCache } from '../../../../src/engine/text/threads/grammar-cache.ts';
import { createVocabulary } from '../../../../src/grammar/masks/vocabulary.ts';
import { LONG_TEXT } from '../../../../src/engine/text/threads/text-threads.ts';
import { planReply } from '../../../../src/engine/text/output/reply-plan.ts';
import { renderPrompt } from '../../../../src/engine/text/request/prompt.ts';
import type { RequestContext } from '../../../../src/engine/text/request/request-context.ts';
import { createSequences } from '../../../../src/engine/text/request/sequences.ts';
import type { Sequence } from '../../../../src/engine/text/run/sequence.ts';
import type { TextRequest } from '../../../../src/engine/text/calls/text-model.ts';
import { LIMITS } from '../../../../src/options/limits.ts';
import { checkTextRequest } from '../../../../src/engine/text/request/text-rules.ts';
import { EngineError } from '../../../../src/files/error.ts';
import { openChatTemplate, type ChatRendering } from '../../../../src/files/template/template.ts';
import { openTokenizer } from '../../../../src/files/tokenizer/tokenizer.ts';
import { byteFallback } from '../../../files/tokenizer/small-tokenizers.ts';
import { preparedOf, smallContext } from './small-context.ts';

let context: RequestContext;
beforeAll(() => void (context = smallContext()));

function create(request: Partial<TextRequest>, promptTokens = 4): Sequence[] {
  const ids = Array.from({ length: promptTokens }, (_, i) => 97 + i);
  const asked: TextRequest = { prompt: { ids }, ...request };
  checkTextRequest(asked, context.vocabulary);
  const plan = planReply(asked, context);
  return createSequences(asked, preparedOf(plan, ids), context, () => {});
}

function one(request: Partial<TextRequest>, promptTokens?: number): Sequence {
  return create(request, promptTokens)[0]!;
}

function refusal(action: () => unknown): { code: string; param: string | null; message: string } {
  try {
    action();
  } catch (error) {
    if (error instanceof EngineError) return { code: error.code, param: error.param, message: error.message };
    throw error;
  }
  throw new Error('it was accepted');
}

describe('the length of a request', () => {
  it.each([
    [undefined, 4, 28],
    [5, 4, 5],
    [28, 4, 28],
    [1000, 4, 28],
    [Infinity, 4, 28],
    [1000, 31, 1],
  ])('max tokens %s after %d of prompt are %d', (maxTokens, promptTokens, expected) => {
    const request = maxTokens === undefined ? {} : { maxTokens };
    expect(one(request, promptTokens).request.maxTokens).toBe(expected);
  });

  it.each([32, 33, 500])('a prompt of %d tokens leaves no room for a reply in 32', (promptTokens) => {
    const { code, message } = refusal(() => create({}, promptTokens));
    expect(code).toBe('context_length_exceeded');
    // Claude Code parses the message in this way and then shortens the conversation itself.
    const numbers = /prompt is too long[^0-9]*(\d+)\s*tokens?\s*>\s*(\d+)/i.exec(message);
    expect(numbers?.slice(1)).toEqual([String(promptTokens), '31']);
  });

  it('an empty prompt is refused', () => {
    expect(refusal(() => create({}, 0)).code).toBe('bad_request');
  });
});

describe('sampling of a request', () => {
  it("takes the model's values where the request names none", () => {
    expect(one({}).request.sampling).toMatchObject({ temperature: 0.4, topP: 0.9, topK: 20, minP: 0.05 });
    expect(one({ temperature: 0, topP: 1, topK: -1, minP: 0 }).request.sampling).toMatchObject({
      temperature: 0,
      topP: 1,
      topK: -1,
      minP: 0,
    });
  });

  it.each<[Partial<TextRequest>, string]>([
    [{ temperature: -0.1 }, 'temperature'],
    [{ temperature: 2.1 }, 'temperature'],
    [{ temperature: NaN }, 'temperature'],
    [{ topP: 0 }, 'topP'],
    [{ topP: 1.01 }, 'topP'],
    [{ topK: -2 }, 'topK'],
    [{ topK: 1.5 }, 'topK'],
    [{ minP: -0.1 }, 'minP'],
    [{ maxTokens: -1 }, 'maxTokens'],
    [{ maxTokens: 1.5 }, 'maxTokens'],
    [{ n: 0 }, 'n'],
    [{ n: 129 }, 'n'],
    [{ seed: 0.5 }, 'seed'],
  ])('%j is refused by name', (request, param) => {
    expect(refusal(() => create(request))).toMatchObject({ code: 'bad_request', param });
  });
});

describe('seeds of a request', () => {
  const seedOf = ({ request: { sampling } }: Sequence): string => `${sampling.seedHigh}:${sampling.seedLow}`;

  it('are 64 bits, negative ones included', () => {
    expect(seedOf(one({ seed: 0 }))).toBe('0:0');
    expect(seedOf(one({ seed: 2 ** 32 + 7 }))).toBe('1:7');
    expect(seedOf(one({ seed: -1 }))).toBe('4294967295:4294967295');
  });

  it('differ for each choice, and are the same again', () => {
    const seeds = create({ seed: 5, n: 128 }).map(seedOf);
    expect(new Set(seeds).size).toBe(128);
    expect(create({ seed: 5, n: 128 }).map(seedOf)).toEqual(seeds);
    expect(create({ n: 1, seed: 5 }).map(seedOf)).toEqual(seeds.slice(0, 1));
  });

  it('are drawn at random where none is given', () => {
    expect(new Set(Array.from({ length: 20 }, () => seedOf(one({})))).size).toBeGreaterThan(18);
  });
});

describe('logit_bias', () => {
  it('is taken as pairs', () => {
    expect(one({ logitBias: { 0: -100, 299: 100, 7: 0.5 } }).request.sampling.bias).toEqual([
      [0, -100],
      [7, 0.5],
      [299, 100],
    ]);
  });

  it('has a limit that is exact', () => {
    context = { ...context, vocabulary: 5000 };
    const entries = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, id) => [id, 1]));
    expect(one({ logitBias: entries(LIMITS.biases) }).request.sampling.bias).toHaveLength(LIMITS.biases);
    expect(refusal(() => create({ logitBias: entries(LIMITS.biases + 1) })).message).toContain(
      `${LIMITS.biases + 1}`,
    );
    context = { ...context, vocabulary: 300 };
  });

  it.each([[{ 300: 1 }], [{ '-1': 1 }], [{ 1.5: 1 }], [{ x: 1 }], [{ '': 1 }], [{ 5: 101 }], [{ 5: NaN }]])(
    '%j is refused',
    (logitBias) => {
      const { code, param } = refusal(() => create({ logitBias }));
      expect({ code, param }).toEqual({
        code: 'bad_request',
        param: `logitBias.${Object.keys(logitBias)[0]}`,
      });
    },
  );
});

describe('end tokens of a sequence', () => {
  it('are those of the model and of the request', () => {
    expect([...one({ stopTokenIds: [7, 8] }).request.stopIds].toSorted((a, b) => a - b)).toEqual([7, 8, 261]);
    expect([...one({ stopTokenIds: [7], ignoreEos: true }).request.stopIds]).toEqual([7]);
  });

  it('outside the vocabulary are refused', () => {
    expect(refusal(() => create({ stopTokenIds: [7, 300] })).param).toBe('stopTokenIds.1');
  });
});

describe('prompts of a request', () => {
  it.each([[-1], [300], [1.5], [NaN]])('the token id %d is refused', async (id) => {
    const rendered = renderPrompt({ ids: [1, id] }, context);
    await expect(rendered).rejects.toMatchObject({ code: 'bad_request', param: 'prompt' });
  });

  it('text gets the special tokens of the tokenizer, a conversation those of its template', async () => {
    expect((await renderPrompt({ text: 'ab' }, context)).ids).toEqual([262, 97, 98]);
    const conversation = await renderPrompt({ messages: [{ role: 'user', content: 'ab' }] }, context);
    expect(conversation).toMatchObject({ text: 'ab', ids: [97, 98] });
  });

  it('a text beyond what is tokenized exceeds every context, and is named as it came', async () => {
    const text = 'a '.repeat(1_000_001);
    const plain = renderPrompt({ text }, context);
    await expect(plain).rejects.toMatchObject({ code: 'context_length_exceeded', param: 'prompt' });
    const conversation = renderPrompt({ messages: [{ role: 'user', content: text }] }, context);
    await expect(conversation).rejects.toMatchObject({ code: 'context_length_exceeded', param: 'messages' });
    const run = renderPrompt({ messages: [{ role: 'user', content: 'a'.repeat(200_001) }] }, context);
    await expect(run).rejects.toMatchObject({ code: 'bad_request', param: 'messages' });
  });

  it('a conversation that is too long is rendered without its oldest turns, where that is asked for', async () => {
    const messages = ['a', 'b', 'c'].map((letter) => ({
      role: 'user' as const,
      content: letter.repeat(15),
    }));
    const { prompt } = planReply({ prompt: { messages, dropOldest: true } }, context);
    const { text } = await renderPrompt(prompt, context);
    expect(text).toBe('b'.repeat(15) + 'c'.repeat(15));
    expect((await renderPrompt({ messages }, context)).ids).toHaveLength(45);
  });

  it('a long text goes to where it holds nobody up', async () => {
    const asked: [number, boolean][] = [];
    const longText: RequestContext['longText'] = {
      render: () => Promise.resolve(''),
      stops: () => Promise.resolve([]),
      encode(text, addSpecialTokens) {
        asked.push([text.length, addSpecialTokens]);
        return Promise.resolve([1]);
      },
    };
    for (const length of [LONG_TEXT, LONG_TEXT + 1]) {
      const prompt = { messages: [{ role: 'user' as const, content: 'a'.repeat(length) }] };
      const { ids } = await renderPrompt(prompt, { ...context, longText });
      expect(ids).toHaveLength(length === LONG_TEXT ? LONG_TEXT : 1);
    }
    expect(asked).toEqual([[LONG_TEXT + 1, false]]);
  });

  it('a conversation that the template takes long for goes there as plain data', async () => {
    const asked: ChatRendering[] = [];
    const longText: RequestContext['longText'] = {
      stops: () => Promise.resolve([]),
      encode: () => Promise.resolve([]),
      render(rendering) {
        asked.push(structuredClone(rendering));
        return Promise.resolve('ab');
      },
    };
    const slow =
      '{% for m in messages %}{% if m.content == "slow" %}{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}{% endif %}{{ m.content }}{% endfor %}';
    const template = openChatTemplate({ default: slow }, {});
    const prompt = { messages: [{ role: 'user' as const, content: 'slow' }] };
    const { text, ids } = await renderPrompt(prompt, { ...context, template, longText });
    expect([text, ids]).toEqual(['ab', [97, 98]]);
    expect(asked).toEqual([{ messages: prompt.messages }]);
    await renderPrompt(
      { messages: [{ role: 'user', content: 'quick' }] },
      { ...context, template, longText },
    );
    expect(asked).toHaveLength(1);
  });
});

it('the leading space of the first token is cut where it opens a text, and kept where it continues one', () => {
  const tokenizer = openTokenizer(byteFallback());
  const vocabulary = createVocabulary(tokenizer, 300, [2]);
  const spaced = { ...context, tokenizer, grammars: new GrammarCache(vocabulary, null) };
  const [id] = tokenizer.encode('hi', { addSpecialTokens: false });
  const first = (prompt: TextRequest['prompt'], begins: 'undecided' | 'answer'): [string, boolean] => {
    const asked: TextRequest = { prompt, processors: [{ name: 'bad_words', words: [' hi'] }] };
    const prepared = preparedOf(planReply(asked, spaced), 'ids' in prompt ? prompt.ids : [5], begins);
    const [{ output, constraint }] = createSequences(asked, prepared, spaced, () => {}) as [Sequence];
    return [output.pieces.of(id!).text, constraint!.bars!(id!)];
  };
  const messages = [{ role: 'user' as const, content: 'a' }];
  expect(first({ messages }, 'undecided')).toEqual(['hi', false]);
  expect(first({ messages }, 'answer')).toEqual([' hi', true]);
  expect(first({ text: 'a' }, 'undecided')).toEqual([' hi', true]);
  expect(first({ ids: [5] }, 'undecided')).toEqual([' hi', true]);
  expect(first({ ids: [1] }, 'undecided')).toEqual(['hi', false]);
});
