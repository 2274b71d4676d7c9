// Tools and typed replies of conversations, on a scripted model; the types that are inferred from schemas.

import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { type ChatEvent, type JsonValueOf, tool, type ToolOutcome, type ValueOf } from '../../src/index.ts';
import { scriptedModel, type ScriptedModel } from './scripted-model.ts';

const WEATHER = z.object({ city: z.string().min(2), days: z.number().int().default(1) });

const call = (name: string, args: unknown) => ({
  name,
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
});

/** Sends a message and returns what the tools answered. */
async function outcomes(model: ScriptedModel, options: Parameters<ScriptedModel['chat']>[0]) {
  const { toolCalls } = await model.chat(options).send('Go');
  return toolCalls.map(({ result, isError }: ToolOutcome) => [isError, result]);
}

describe('tools', () => {
  it('run with checked arguments, and the model goes on with what they return', async () => {
    const model = scriptedModel([
      { text: 'Wait', calls: [call('weather', { city: 'Paris' }), call('clock', {})] },
      { text: 'Rain' },
    ]);
    const chat = model.chat({
      tools: {
        weather: {
          description: 'The weather',
          schema: WEATHER,
          run: ({ city, days }, { id }) => {
            expectTypeOf(city).toEqualTypeOf<string>();
            expectTypeOf(days).toEqualTypeOf<number>();
            return { city, days, id };
          },
        },
        clock: { schema: { type: 'object', properties: {} }, run: async () => '12:00' },
      },
    });
    const events: ChatEvent[] = [];
    for await (const event of chat.send('Weather?')) events.push(event);
    const result = { city: 'Paris', days: 1, id: 'call_0' };
    expect(events.map(({ type }) => type)).toEqual([
      'delta',
      'toolCall',
      'toolCall',
      'toolResult',
      'toolResult',
      'delta',
      'done',
    ]);
    expect(events[3]).toEqual({
      type: 'toolResult',
      id: 'call_0',
      name: 'weather',
      arguments: { city: 'Paris' },
      result,
      isError: false,
    });
    expect(chat.messages.slice(1, 4)).toEqual([
      {
        role: 'assistant',
        content: 'Wait',
        tool_calls: [
          { id: 'call_0', type: 'function', function: { name: 'weather', arguments: '{"city":"Paris"}' } },
          { id: 'call_1', type: 'function', function: { name: 'clock', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_0', name: 'weather', content: JSON.stringify(result) },
      { role: 'tool', tool_call_id: 'call_1', name: 'clock', content: '12:00' },
    ]);
    expect(model.requests[0]!.prompt).toMatchObject({
      tools: [
        {
          type: 'function',
          function: { name: 'weather', description: 'The weather', parameters: { required: ['city'] } },
        },
        { type: 'function', function: { name: 'clock', parameters: { type: 'object', properties: {} } } },
      ],
    });
  });

  it('tell the model what went wrong with a call', async () => {
    const model = scriptedModel([
      {
        calls: [
          call('nothing', {}),
          call('weather', { city: 'P' }),
          call('weather', '{"city":'),
          call('strict', { a: 'x', b: 1 }),
          call('throws', {}),
          call('sleeps', {}),
        ],
      },
      { text: 'Sorry' },
    ]);
    const schema = { type: 'object', properties: {} } as const;
    const tools = {
      weather: tool({ schema: WEATHER, run: () => 'no' }),
      strict: tool({
        schema: { type: 'object', properties: { a: { type: 'number' } }, additionalProperties: false },
        run: () => 'no',
      }),
      throws: tool({
        schema,
        run: () => {
          throw new TypeError('no network');
        },
      }),
      sleeps: tool({ schema, timeout: 1, run: () => new Promise(() => {}) }),
    };
    expect(await outcomes(model, { tools })).toEqual([
      [true, 'there is no tool "nothing"; the tools are weather, strict, throws, sleeps'],
      [true, expect.stringContaining('the arguments do not fit: city: ')],
      [true, 'the arguments do not fit: the arguments must be a JSON object'],
      [true, 'the arguments do not fit: a must be number, and is string'],
      [true, 'no network'],
      [true, 'the tool did not answer within 1 ms'],
    ]);
  });

  it('run only where confirm allows it', async () => {
    const calls = ['yes', 'no', 'never'].map((word) => call('say', { word }));
    const model = scriptedModel([{ calls }, { text: 'Done' }]);
    const said: string[] = [];
    const say = tool({
      schema: z.object({ word: z.string() }),
      run: ({ word }) => void said.push(word),
    });
    const confirm = ({ arguments: args }: { arguments: unknown }) => {
      const { word } = args as { word: string };
      return word === 'yes' || (word === 'never' ? 'The user hates that word.' : false);
    };
    expect(await outcomes(model, { tools: { say }, confirm })).toEqual([
      [false, undefined],
      [true, 'the user does not allow this call'],
      [true, 'The user hates that word.'],
    ]);
    expect(said).toEqual(['yes']);
  });

  it('stop after maxRounds replies: the next one has no tools to call', async () => {
    const round = { calls: [call('ping', {})] };
    const model = scriptedModel([round, round, { text: 'Enough' }]);
    const ping = tool({ schema: { type: 'object' }, run: () => 'pong' });
    const reply = await model.chat({ tools: { ping }, maxRounds: 2 }).send('Go', { toolChoice: 'required' });
    expect(reply.text).toBe('Enough');
    expect(reply.usage.completionTokens).toBe(15);
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(['required', undefined, 'none']);
  });

  it('are told when the reply is aborted', async () => {
    const model = scriptedModel([{ calls: [call('hang', {})] }]);
    const chat = model.chat({
      tools: {
        hang: {
          schema: { type: 'object' },
          run: (_, { signal }) =>
            new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('told')))),
        },
      },
    });
    const stream = chat.send('Go');
    for await (const event of stream) if (event.type === 'toolCall') break;
    await expect(stream).rejects.toMatchObject({ code: 'cancelled' });
    expect(chat.messages).toEqual([]);
  });
});

describe('a reply with a schema', () => {
  const json = '{"name":"Ada","age":36}';

  it('has a value of its type, transformed as the schema says', async () => {
    const model = scriptedModel([{ text: json }, { text: json }]);
    const schema = z.object({ name: z.string().transform((name) => name.length), age: z.number() });
    const { value } = await model.chat().send('Who?', { schema });
    expectTypeOf(value).toEqualTypeOf<{ name: number; age: number }>();
    expect(value).toEqual({ name: 3, age: 36 });
    const other = await model.chat().send('Who?', {
      schema: {
        type: 'object',
        properties: { name: { type: 'string' }, age: { type: ['integer', 'null'] } },
        required: ['name'],
      },
    });
    expectTypeOf(other.value).toEqualTypeOf<{ name: string; age?: number | null }>();
    expect(other.value).toEqual({ name: 'Ada', age: 36 });
    expect(model.requests.map(({ constraint }) => constraint)).toMatchObject([
      { type: 'json_schema', schema: { required: ['name', 'age'] } },
      { type: 'json_schema', schema: { required: ['name'] } },
    ]);
    expectTypeOf(
      (
        await scriptedModel([{ text: '' }])
          .chat()
          .send('x')
      ).value,
    ).toEqualTypeOf<undefined>();
  });

  it('fails where it breaks a rule that no grammar has, or was cut', async () => {
    const model = scriptedModel([{ text: json }, { text: '{"na', finishReason: 'length' }]);
    const chat = model.chat();
    const schema = z.object({ name: z.string(), age: z.number() }).refine(({ age }) => age > 40, 'too young');
    await expect(chat.send('Who?', { schema })).rejects.toMatchObject({
      code: 'unsupported',
      param: 'schema',
      message: expect.stringContaining('too young'),
    });
    await expect(chat.send('Who?', { schema, maxTokens: 5 })).rejects.toMatchObject({ code: 'bad_request' });
    expect(chat.messages).toEqual([]);
    expect(() => chat.send('x', { schema, constraint: { type: 'regex', pattern: 'a' } })).toThrow('beside');
    expect(() => chat.send('x', { schema: z.date() })).toThrow(
      expect.objectContaining({ code: 'bad_request', param: 'schema' }),
    );
    expect(chat.isAnswering).toBe(false);
  });
});

it('types follow from schemas', () => {
  expectTypeOf<ValueOf<typeof WEATHER>>().toEqualTypeOf<{ city: string; days: number }>();
  expectTypeOf<
    JsonValueOf<{
      readonly type: 'object';
      readonly properties: {
        readonly kind: { readonly enum: readonly ['a', 'b'] };
        readonly list: { readonly type: 'array'; readonly items: { readonly const: 3 } };
        readonly any: { readonly anyOf: readonly [{ readonly type: 'null' }, { readonly type: 'boolean' }] };
      };
      readonly required: readonly ['kind', 'list'];
    }>
  >().toEqualTypeOf<{ kind: 'a' | 'b'; list: 3[]; any?: boolean | null }>();
  expectTypeOf<JsonValueOf<Record<string, unknown>>>().toEqualTypeOf<unknown>();
  tool({
    schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    run: (args) => expectTypeOf(args).toEqualTypeOf<{ n: number }>(),
  });
});
