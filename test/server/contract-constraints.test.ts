// What the text has to match, on the model that ships: plain and streamed, with thinking and with tools.

import { zodResponseFormat } from 'openai/helpers/zod';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { body, both, client, plain, serveShipped, streamed } from './shipped.ts';

serveShipped();

const City = z.object({ name: z.string().max(12), people: z.int().min(0).max(9), large: z.boolean() });
const ASK = 'Tell me about Paris as JSON.';
describe('response_format', () => {
  it('is a schema that the text matches, however hot it is sampled', async () => {
    for (const seed of [1, 2, 3]) {
      const { choices } = await client.chat.completions.parse({
        ...body(ASK, { temperature: 1.5, seed, max_completion_tokens: 400 }),
        response_format: zodResponseFormat(City, 'city'),
      });
      expect(City.safeParse(choices[0]?.message.parsed).success).toBe(true);
    }
  });

  it('is any JSON object', async () => {
    const { text } = await both(ASK, {
      response_format: { type: 'json_object' },
      max_completion_tokens: 400,
    });
    expect(JSON.parse(text)).toBeTypeOf('object');
  });

  it('is free text with tagged regions', async () => {
    const structures = [{ begin: '<n>', schema: { type: 'integer' }, end: '</n>' }];
    const { text } = await both(ASK, {
      response_format: { type: 'structural_tag', structures, triggers: ['<n>'] },
    });
    for (const region of text.matchAll(/<n>(.*?)(<\/n>|$)/gs)) expect(region[1]).toMatch(/^-?\d*$/);
  });
});

describe('regex and ebnf', () => {
  it.each([
    [{ regex: '(yes|no), [0-9]{3}' }],
    [{ ebnf: 'root ::= answer ", " [0-9]{3}\nanswer ::= "yes" | "no"' }],
  ])('%j', async (more) => {
    const { text, finish } = await both('Is Paris large?', { ...more, temperature: 1, seed: 3 });
    expect(text).toMatch(/^(yes|no), \d{3}$/);
    expect(finish).toBe('stop');
  });
});

describe('what does not compile', () => {
  it.each([
    [{ regex: '(' }, 'regex'],
    [{ ebnf: 'root ::= (' }, 'ebnf'],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'colour' } } } },
      'response_format.json_schema.schema',
    ],
    [
      { response_format: { type: 'json_schema', schema: { $ref: '#/$defs/gone' } } },
      'response_format.schema',
    ],
    [{ stop_regex: '(' }, 'stop_regex'],
  ])('%j is a 400 before any status line', async (more, field) => {
    const refusal = { status: 400, param: expect.stringMatching(new RegExp(`^${field}`)) };
    await expect(plain('hi', more)).rejects.toMatchObject(refusal);
    await expect(streamed('hi', more)).rejects.toMatchObject(refusal);
  });
});
