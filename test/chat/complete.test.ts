// Completions, prompts that are filled in, and texts ranked by their vectors, on fake models.

import { expect, it } from 'vitest';
import { extendEmbeddingModel } from '../../src/index.ts';
import { checkValue } from '../../src/chat/check-value.ts';
import { createFakeEmbeddingModel } from '../server/fake-embedding-model.ts';
import { scriptedModel } from './scripted-model.ts';

it('complete() continues a text or token ids', async () => {
  const model = scriptedModel([{ text: ' upon a' }, { text: 'x', finishReason: 'length' }]);
  const stream = model.complete('Once', { maxTokens: 5 });
  const events = [];
  for await (const event of stream) events.push(event.type);
  expect(events).toEqual(['delta', 'delta', 'done']);
  expect(await stream).toMatchObject({ text: ' upon a', finishReason: 'stop' });
  expect(await model.complete([1, 2])).toMatchObject({ finishReason: 'length' });
  expect(model.requests).toMatchObject([
    { prompt: { text: 'Once' }, maxTokens: 5 },
    { prompt: { ids: [1, 2] } },
  ]);
  expect(() => model.complete({} as never)).toThrow(expect.objectContaining({ param: 'prompt' }));
});

it.each([
  ['Qwen', ['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>'], ['<|endoftext|>', '<|file_sep|>']],
  ['StarCoder', ['<fim_prefix>', '<fim_suffix>', '<fim_middle>'], ['<|endoftext|>', '<file_sep>']],
  ['CodeLlama', ['▁<PRE>', '▁<SUF>', '▁<MID>'], ['▁<EOT>']],
  ['DeepSeek', ['<｜fim▁begin｜>', '<｜fim▁hole｜>', '<｜fim▁end｜>'], ['<｜end▁of▁sentence｜>']],
])('complete() fills in with the tokens of %s', async (_, marks, ends) => {
  const tokens = [...marks, ...ends];
  const model = scriptedModel([{ text: 'b' }]);
  model.tokenize = async (text) => (tokens.includes(text) ? [tokens.indexOf(text)] : [90, 91]);
  await model.complete({ prefix: 'a', suffix: 'c' }, { stopTokenIds: [7] });
  const [begin, middle, end] = marks;
  expect(model.requests[0]).toMatchObject({
    prompt: { text: `${begin}a${middle}c${end}` },
    stopTokenIds: [7, ...ends.map((one) => tokens.indexOf(one))],
  });
});

it('complete() refuses a suffix where the model has no tokens for it', async () => {
  const model = scriptedModel([]);
  await expect(model.complete({ prefix: 'a', suffix: 'c' })).rejects.toMatchObject({
    code: 'unsupported',
    param: 'suffix',
  });
});

it('embed() and rank() order vectors as their texts are, and by cosine', async () => {
  const model = extendEmbeddingModel(createFakeEmbeddingModel());
  const vectors: Record<string, number[]> = { q: [2, 0], far: [-1, 0], near: [5, 0.1], side: [0, 3] };
  model.generate = async function* ({ inputs }) {
    yield { type: 'accepted', tokens: inputs.map(() => 1) };
    for (const [index, text] of [...inputs.entries()].toReversed())
      yield { type: 'embedding', index, values: Float32Array.from(vectors[text as string]!) };
  };
  expect(await model.embed('side')).toEqual(Float32Array.of(0, 3));
  expect(await model.embed(['far', 'side'])).toEqual([Float32Array.of(-1, 0), Float32Array.of(0, 3)]);
  const ranked = await model.rank('q', ['far', 'near', 'side'], { top: 2 });
  expect(ranked.map(({ index, text }) => [index, text])).toEqual([
    [1, 'near'],
    [2, 'side'],
  ]);
  expect(ranked[0]!.score).toBeCloseTo(1, 3);
  await expect(model.rank('q', ['far'], { top: -1 })).rejects.toMatchObject({ param: 'top' });
});

it.each<[unknown, unknown, unknown]>([
  [{ type: ['string', 'null'] }, null, null],
  [{ type: 'integer' }, 1.5, 'the value must be integer, and is number'],
  [{ enum: [{ a: 1, b: 2 }] }, { b: 2, a: 1 }, null],
  [{ const: 1 }, 2, 'the value must be 1'],
  [{ items: { maximum: 3 }, maxItems: 2 }, [1, 4], '[1] must be at most 3'],
  [{ prefixItems: [{ type: 'string' }], items: false }, ['a', 1], '[1] is not allowed'],
  [{ uniqueItems: true }, [{ a: 1 }, { a: 1 }], 'the value must not repeat items'],
  [
    { contains: { const: 1 }, maxContains: 1 },
    [1, 1],
    'the value has 2 items of the form that it must contain',
  ],
  [{ minLength: 2 }, '𝄞', 'the value must have at least 2 characters, and has 1'],
  [{ pattern: '^a+$' }, 'ab', 'the value must match ^a+$'],
  [{ pattern: '^a\\-b$' }, 'a-b', null],
  [{ pattern: '(' }, 'a', null],
  [{ pattern: '^[a-z]+(-[a-z]+)*$' }, 'a-b-', 'the value must match ^[a-z]+(-[a-z]+)*$'],
  [
    { pattern: '^[^@]{1,64}@(?:a|b)\\.\\w{2}$' },
    `${'x'.repeat(70)}@a.de`,
    'the value must match ^[^@]{1,64}@(?:a|b)\\.\\w{2}$',
  ],
  // Such patterns would take longer than the age of the universe, and are not looked at.
  ...['^(a+)+$', '^(a|a)*$', '^(?:(?:a?){40}){40}$', 'a*'.repeat(40) + 'b'].map(
    (pattern): [object, string, null] => [{ pattern }, 'a'.repeat(80) + '!', null],
  ),
  [
    { anyOf: [{ $ref: '#' }, { $ref: '#' }] },
    1,
    expect.stringContaining('is nested too deeply to be checked'),
  ],
  [{ multipleOf: 0.1 }, 0.3, null],
  [{ required: ['a'] }, {}, 'a is required'],
  [
    { properties: { a: { properties: { b: { type: 'null' } } } } },
    { a: { b: 1 } },
    'a.b must be null, and is number',
  ],
  [{ properties: { a: {} }, additionalProperties: false }, { c: 1 }, 'c is unknown; known are a'],
  [{ patternProperties: { '^x': { type: 'number' } } }, { x1: 'a' }, 'x1 must be number, and is string'],
  [{ additionalProperties: { type: 'number' } }, { a: 'b' }, 'a must be number, and is string'],
  [{ propertyNames: { maxLength: 1 } }, { ab: 1 }, 'ab has a name that is not allowed'],
  [{ dependentRequired: { a: ['b'] } }, { a: 1 }, 'b is required beside a'],
  [
    { anyOf: [{ type: 'string' }, { type: 'null' }] },
    1,
    'the value fits none of 2 forms: the value must be string, and is number',
  ],
  [{ oneOf: [{ minimum: 1 }, { minimum: 2 }] }, 3, 'the value fits 2 of 2 forms, and must fit one'],
  [{ not: { type: 'string' } }, 'a', 'the value has a form that is excluded'],
  [
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    { if: { type: 'string' }, then: { minLength: 2 }, else: { type: 'number' } },
    null,
    'the value must be number, and is null',
  ],
  [
    { $ref: '#/$defs/list', $defs: { list: { items: { $ref: '#/$defs/list' }, type: 'array' } } },
    [[], [1]],
    '[1][0] must be array, and is number',
  ],
  [{ exclusiveMinimum: 0, format: 'anything' }, 0, 'the value must be above 0'],
])('the check of a value by %j, of %j', (schema, value, problem) => {
  expect(checkValue(schema, value)).toEqual(problem);
});
