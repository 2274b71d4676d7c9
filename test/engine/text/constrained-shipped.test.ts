// The shipped model under grammars at a high temperature: every text is valid and ends by itself.

import { Ajv2020 } from 'ajv/dist/2020.js';
import { isIPv4 } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import { openInline } from '../../../src/host/open.ts';
import type { TextConstraint, TextModel } from '../../../src/engine/text/calls/text-model.ts';
import { boundedObject } from './bounded-schema.ts';
import { random } from '../../grammar/small-vocabulary.ts';

let model: TextModel;
beforeAll(async () => {
  const path = fileURLToPath(new URL('../../../models/svc-chat-mini', import.meta.url));
  model = await openInline(TEXT, nodePlatform, { model: path, memoryBudget: 2 ** 29 });
}, 120_000);
afterAll(() => model?.close());

/** Texts at temperature 1.5, each with its finish reason. */
async function texts(
  constraint: TextConstraint,
  { seed = 1, n = 8, maxTokens = 300 } = {},
): Promise<{ text: string; ended: string }[]> {
  const choices = Array.from({ length: n }, () => ({ text: '', ended: '' }));
  const request = {
    prompt: { text: 'Describe a city, as data:' },
    temperature: 1.5,
    maxTokens,
    n: choices.length,
    seed,
    constraint,
  };
  for await (const event of model.generate(request)) {
    if (event.type === 'delta') choices[event.choice]!.text += event.text;
    if (event.type === 'reasoning') throw new Error('reasoning inside a grammar');
    if (event.type === 'done') choices[event.choice]!.ended = event.finishReason;
  }
  return choices;
}

const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 2, maxLength: 12 },
    founded: { type: 'integer', minimum: -800, maximum: 2024 },
    tags: { type: 'array', items: { enum: ['old', 'new', 'big'] }, maxItems: 3 },
    code: { type: 'string', pattern: '^[A-Z]{3}-\\d{2}$' },
    sister: { $ref: '#' },
  },
  required: ['name', 'code'],
  additionalProperties: false,
  maxProperties: 3,
};

describe('svc-chat-mini under a constraint, at temperature 1.5', () => {
  it('matches a regular expression', async () => {
    const pattern = '(?:[A-Z][a-z]{2,8} ){1,3}was founded in (?:1[0-9]{3}|20[01]\\d)\\.';
    for (const { text, ended } of await texts({ type: 'regex', pattern })) {
      expect(text).toMatch(new RegExp(`^${pattern}$`));
      expect(ended).toBe('stop');
    }
  });

  it('matches a grammar', async () => {
    const grammar =
      'root ::= sum\nsum ::= sum "+" number | number\nnumber ::= [1-9] [0-9]{0,3} | "(" sum ")"';
    const whole = (await texts({ type: 'ebnf', grammar })).filter(({ ended }) => ended === 'stop');
    expect(whole.length).toBeGreaterThanOrEqual(4); // others: brackets in brackets
    for (const { text } of whole) {
      expect(text).toMatch(/^[\d+()]+$/);
      expect(text).not.toMatch(/\+\+|\(\)|\(\+|\+\)|^\+|\+$|\)\(/);
      expect(text.split('(').length).toBe(text.split(')').length);
    }
  });

  it('matches a schema that refers to itself', async () => {
    const validate = new Ajv2020({ strict: false }).compile(SCHEMA);
    const all = await texts({ type: 'json_schema', schema: SCHEMA });
    const whole = all.filter(({ ended }) => ended === 'stop');
    expect(whole.length).toBeGreaterThanOrEqual(4); // others: a sister of a sister of a sister
    for (const { text } of whole) expect([text, validate(JSON.parse(text))]).toEqual([text, true]);
  });

  it('matches each of sixteen schemas, and comes to an end', async () => {
    const date = (text: string) => new Date(text).toISOString().startsWith(text);
    const ajv = new Ajv2020({ formats: { date, ipv4: isIPv4 } });
    const next = random(100);
    const schemas = Array.from({ length: 16 }, () => boundedObject(next, 2));
    const valid = await Promise.all(
      schemas.map(async (schema, seed) => {
        const [{ text, ended } = { text: '', ended: '' }] = await texts(
          { type: 'json_schema', schema },
          { seed, n: 1, maxTokens: 900 },
        );
        return ended === 'stop' && ajv.validate(schema, JSON.parse(text)) ? 'valid' : { schema, text, ended };
      }),
    );
    expect(valid).toEqual(schemas.map(() => 'valid'));
  }, 240_000);

  it('writes JSON objects', async () => {
    const all = await texts({ type: 'json_object' });
    for (const { text, ended } of all) {
      expect(text.startsWith('{')).toBe(true);
      if (ended === 'stop') expect(JSON.parse(text)).toBeInstanceOf(Object);
    }
    expect(all.some(({ ended }) => ended === 'stop')).toBe(true);
  });

  it('has the same text with log probabilities and without', async () => {
    const idsOf = async (asked: { logprobs?: number }): Promise<number[]> => {
      const ids: number[] = [];
      const request = {
        prompt: { text: 'Say it:' },
        temperature: 1,
        seed: 5,
        constraint: { type: 'regex', pattern: 'hello world [a-z]{20}' } as const,
      };
      for await (const event of model.generate({ ...request, ...asked }))
        if (event.type === 'delta') ids.push(...event.ids);
      return ids;
    };
    expect(await idsOf({ logprobs: 2 })).toEqual(await idsOf({}));
  });

  it('refuses a bad grammar before it generates', async () => {
    const events = model.generate({
      prompt: { text: 'a' },
      constraint: { type: 'regex', pattern: '(a' },
    });
    await expect(events.next()).rejects.toMatchObject({ code: 'bad_request', param: 'constraint.pattern' });
    const wrong = { type: 'regex' } as unknown as TextConstraint;
    await expect(model.generate({ prompt: { text: 'a' }, constraint: wrong }).next()).rejects.toMatchObject({
      code: 'bad_request',
    });
  });
});
