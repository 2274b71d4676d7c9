// Constraints on the text, with the shipped model: plain and streamed, with reasoning and with tools. Noise shows that a constraint holds
// whatever the model would say.

import { zodResponseFormat } from 'openai/helpers/zod';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { body, both, client, plain, serveShipped, streamed } from './shipped.ts';

serveShipped({}, { noise: true });

const City = z.object({ name: z.string().max(12), people: z.int().min(0).max(9), large: z.boolean() });
const ASK = 'Tell me about Paris as JSON.';
const cities = { city: { enum: ['Rome', 'Oslo'] } };
const ofCity = { type: 'object', properties: cities, required: ['city'], additionalProperties: false };
const weather = { type: 'function' as const, function: { name: 'get_weather', parameters: ofCity } };
const clock = { type: 'function' as const, function: { name: 'clock', parameters: { type: 'object' } } };

describe('response_format', () => {
  it('is a schema that the text matches, however hot it is sampled', async () => {
    for (const seed of [1, 2, 3]) {
      const { choices } = await client.chat.completions.parse({
        ...body(ASK, { model: 'noise', temperature: 1.5, seed, max_completion_tokens: 400 }),
        response_format: zodResponseFormat(City, 'city'),
      });
      expect(City.safeParse(choices[0]?.message.parsed).success).toBe(true);
    }
  });

  it('has the properties that the schema declares, and others where it is not strict', async () => {
    const schema = { type: 'object', properties: { zebra: { type: 'integer', maximum: 9 } } };
    const keysOf = async (strict?: boolean): Promise<string[]> => {
      const { text } = await both(ASK, {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'a', schema, ...(strict !== undefined && { strict }) },
        },
        max_completion_tokens: 400,
      });
      return Object.keys(JSON.parse(text) as object);
    };
    const declared = await keysOf();
    expect(declared.filter((key) => key !== 'zebra')).toEqual([]);
    expect(await keysOf(true)).toEqual(declared);
    expect((await keysOf(false)).filter((key) => key !== 'zebra')).not.toEqual([]);
  });

  it('has other properties in a response, too, where its format is not strict', async () => {
    const schema = { type: 'object', properties: { zebra: { type: 'integer', maximum: 9 } } };
    const keysOf = async (strict: boolean): Promise<string[]> => {
      const { output_text: text } = await client.responses.create({
        model: 'svc-chat-mini',
        input: ASK,
        text: { format: { type: 'json_schema', name: 'a', schema, strict } },
        max_output_tokens: 400,
        temperature: 0,
      });
      return Object.keys(JSON.parse(text) as object);
    };
    expect((await keysOf(true)).filter((key) => key !== 'zebra')).toEqual([]);
    expect((await keysOf(false)).filter((key) => key !== 'zebra')).not.toEqual([]);
  });

  it('is any JSON object', async () => {
    const { text } = await both(ASK, {
      response_format: { type: 'json_object' },
      max_completion_tokens: 400,
    });
    expect(JSON.parse(text)).toBeTypeOf('object');
  });

  it('is free text with tagged regions', async () => {
    // The trigger is the word that the answer without a constraint begins with.
    const [trigger] = /^\w+/.exec((await both('What is the capital of France?', {})).text)!;
    const structures = [{ begin: `${trigger}~`, schema: { type: 'integer' }, end: '.' }];
    const { text } = await both('What is the capital of France?', {
      response_format: { type: 'structural_tag', structures, triggers: [trigger] },
    });
    expect(text).toMatch(new RegExp(`^${trigger}~-?\\d+\\.`));
    const format = {
      type: 'triggered_tags',
      triggers: ['The'],
      tags: [
        { type: 'tag', begin: 'The ', content: { type: 'regex', pattern: '[a-z]{3}' }, end: ['!', '?'] },
      ],
      at_least_one: true,
      stop_after_first: true,
    };
    const tree = await both('What is the capital of France?', {
      response_format: { type: 'structural_tag', format },
    });
    expect(tree.text).toMatch(/^The [a-z]{3}[!?]$/);
  });

  it('begins after the thinking', async () => {
    const more = {
      chat_template_kwargs: { enable_thinking: true },
      response_format: zodResponseFormat(City, 'city'),
      max_completion_tokens: 600,
    };
    const { text, reasoning } = await both('What is 25 plus 48?', more);
    expect(reasoning).not.toBe('');
    expect(City.safeParse(JSON.parse(text)).success).toBe(true);
  });
});

describe('regex and ebnf fields', () => {
  it.each([
    [{ regex: '(yes|no), [0-9]{3}' }],
    [{ ebnf: 'root ::= answer ", " [0-9]{3}\nanswer ::= "yes" | "no"' }],
  ])('%j', async (more) => {
    const { text, finish } = await both('Is Paris large?', { ...more, temperature: 1, seed: 3 });
    expect(text).toMatch(/^(yes|no), \d{3}$/);
    expect(finish).toBe('stop');
  });
});

const animal = {
  name: 'lookup_animal',
  description: 'What an animal eats and where it lives',
  parameters: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};

describe('tools in a chat request', () => {
  it('take the parameters that they declare, and any where they are not strict', async () => {
    const parameters = { type: 'object', properties: { zebra: { type: 'integer', maximum: 9 } } };
    const namesOf = async (strict?: boolean): Promise<string[]> => {
      const described = { name: 'count', parameters, ...(strict !== undefined && { strict }) };
      const more = {
        tools: [{ type: 'function', function: described }],
        tool_choice: { type: 'function', function: { name: 'count' } },
        ...{ temperature: 2, max_completion_tokens: 400 },
      };
      const replies = await Promise.all([1, 2, 3].map((seed) => plain(ASK, { ...more, seed })));
      const called = replies.filter(({ finish }) => finish === 'tool_calls').flatMap(({ calls }) => calls);
      return (called as { function: { arguments: string } }[]).flatMap((call) =>
        Object.keys(JSON.parse(call.function.arguments) as object),
      );
    };
    for (const strict of [undefined, true])
      expect(new Set(await namesOf(strict))).toEqual(new Set(['zebra']));
    expect((await namesOf(false)).filter((name) => name !== 'zebra')).not.toEqual([]);
  });

  it('lose a keyword that cannot be enforced, and nothing else', async () => {
    const ids = { type: 'array', items: { type: 'integer' }, uniqueItems: true };
    const properties = { city: { type: 'integer' }, code: { type: 'string', pattern: '(a)\\1' }, ids };
    const parameters = { type: 'object', properties, required: ['city', 'code', 'ids'] };
    const described = { name: 'get_weather', parameters };
    const left = async (tool_choice: string) => {
      const asked = body(ASK, { tools: [{ type: 'function', function: described }], tool_choice });
      const more = { model: 'noise', temperature: 2, seed: 2, max_completion_tokens: 100 };
      const { data, response } = await client.chat.completions.create({ ...asked, ...more }).withResponse();
      return { header: response.headers.get('x-svc-unenforced'), message: data.choices[0]!.message };
    };
    const [auto, required] = await Promise.all([left('auto'), left('required')]);
    expect(auto.header).toBe(required.header);
    expect(auto.header).toContain('get_weather#/properties/code/pattern');
    expect(auto.header).not.toMatch(/city|properties\/code,|properties\/code$/);
    for (const call of required.message.tool_calls ?? []) {
      const { arguments: text } = (call as { function: { arguments: string } }).function;
      expect(text).toMatch(/^\{"city": ?-?\d+/);
    }
  });

  it('are called by their names alone, plain and streamed', async () => {
    const tools = [{ type: 'function', function: animal }];
    const ask = 'What is the weather in Paris?';
    const asked = [{ temperature: 0 }, ...[1, 2, 3].map((seed) => ({ temperature: 1, seed }))];
    const named = await Promise.all(
      asked.map(async (sampled) => {
        const more = { tools, ...sampled, max_completion_tokens: 120 };
        const { calls } = await plain(ask, more);
        const chunks = await client.chat.completions.create({ ...body(ask, more), stream: true });
        const names: string[] = [];
        for await (const { choices } of chunks)
          for (const call of choices[0]?.delta.tool_calls ?? []) names.push(call.function?.name ?? '');
        return [...(calls as { function: { name: string } }[]).map((call) => call.function.name), ...names];
      }),
    );
    const all = named.flat().filter((name) => name !== '');
    expect(new Set(all)).toEqual(new Set(['lookup_animal']));
  });

  it('are called where they must be, with arguments of their schema', async () => {
    const more = { tools: [weather, clock], temperature: 1, seed: 5, max_completion_tokens: 200 };
    const required = await plain('Hello!', { ...more, tool_choice: 'required' });
    expect(required.finish).toBe('tool_calls');
    expect(required.calls.length).toBeGreaterThan(0);
    const tool_choice = { type: 'function', function: { name: 'get_weather' } };
    const named = await plain('Hello!', { ...more, tool_choice });
    const [call] = named.calls as { function: { name: string; arguments: string } }[];
    expect(call?.function.name).toBe('get_weather');
    expect(['Rome', 'Oslo']).toContain((JSON.parse(call!.function.arguments) as { city: string }).city);
  });

  it('or the answer has its format', async () => {
    const more = {
      tools: [clock],
      response_format: zodResponseFormat(City, 'city'),
      max_completion_tokens: 400,
    };
    const { text, calls } = await plain(ASK, more);
    if (calls.length === 0) expect(City.safeParse(JSON.parse(text)).success).toBe(true);
    else expect(calls[0]).toMatchObject({ function: { name: 'clock' } });
  });
});

describe('processors of a chat request', () => {
  const CAPITAL = 'What is the capital of France?';

  it('keep words out of the text', async () => {
    expect((await both(CAPITAL, { bad_words: ['Paris'] })).text).not.toContain('Paris');
    const { text } = await both('Tell me a story.', { bad_words: ['the', 'er'] });
    expect(text.length).toBeGreaterThan(20);
    expect(text).not.toMatch(/the|er/);
  });

  it('leave only some tokens', async () => {
    const { choice } = await plain('yes or no?', { return_token_ids: true, max_completion_tokens: 4 });
    const allowed_token_ids = choice.token_ids!.slice(0, 2);
    const some = await plain(CAPITAL, {
      allowed_token_ids,
      return_token_ids: true,
      max_completion_tokens: 8,
    });
    expect(some.choice.token_ids).toHaveLength(8);
    expect(some.choice.token_ids!.every((id) => allowed_token_ids.includes(id))).toBe(true);
    const custom_logit_processor = JSON.stringify({ name: 'disallowed_tokens', tokens: allowed_token_ids });
    const others = await plain(CAPITAL, { custom_logit_processor, return_token_ids: true });
    expect(others.choice.token_ids!.some((id) => allowed_token_ids.includes(id))).toBe(false);
  });

  it('let no pair of tokens come twice', async () => {
    const custom_logit_processor = '{"name":"no_repeat_ngram","size":2}';
    const more = { custom_logit_processor, return_token_ids: true, ignore_eos: true };
    const { token_ids: ids = [] } = (await plain('Tell me a story.', more)).choice;
    const pairs = ids.slice(1).map((id, at) => `${ids[at]} ${id}`);
    expect(new Set(pairs).size).toBe(pairs.length);
  });

  it.each([
    [
      { custom_logit_processor: '{"name":"disallowed_tokens","tokens":[99999]}' },
      'custom_logit_processor.0.tokens.0',
    ],
    [
      { bad_words: Array.from({ length: 1001 }, () => 'a'), custom_params: { thinking_budget: 5 } },
      'bad_words',
    ],
  ])('%# are refused by their place in the body', async (more, param) => {
    await expect(plain('hi', more)).rejects.toMatchObject({ status: 400, param });
    await expect(streamed('hi', more)).rejects.toMatchObject({ status: 400, param });
  });
});

const broken = { name: 'f', strict: true, parameters: { $ref: '#/$defs/gone' } };

it('a grammar that takes long to compile delays no other request', async () => {
  const ended: string[] = [];
  const regex = '(?:a|b)*a(?:a|b){12}';
  const slow = plain('hi', { regex }).then(() => ended.push('slow'));
  const quick = plain('hi', { max_completion_tokens: 2 }).then(() => ended.push('quick'));
  await Promise.all([slow, quick]);
  expect(ended).toEqual(['quick', 'slow']);
});

describe('a constraint that does not compile', () => {
  it('is named as the request names it, where the whole schema is at fault, too', async () => {
    const format = { type: 'json_schema', json_schema: { name: 'a', schema: false } };
    await expect(plain('hi', { response_format: format })).rejects.toMatchObject({
      status: 400,
      param: 'response_format.json_schema.schema',
      message: expect.stringContaining('response_format.json_schema.schema: no value fulfils it'),
    });
  });

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
    [{ tools: [{ type: 'function', function: broken }] }, 'tools.0.function.parameters'],
    [{ functions: [broken] }, 'functions.0.parameters'],
  ])('%j is a 400 before any status line', async (more, field) => {
    const refusal = { status: 400, param: expect.stringMatching(new RegExp(`^${field}`)) };
    await expect(plain('hi', more)).rejects.toMatchObject(refusal);
    await expect(streamed('hi', more)).rejects.toMatchObject(refusal);
  });
});
