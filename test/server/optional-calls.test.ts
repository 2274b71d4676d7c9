// Optional calls in formats that do not write arguments as JSON, with a model of noise: a logit processor makes it begin a call, and the rest is
// noise that keeps to the declared parameters. Requests run at once, since a step of several takes little longer.

import { afterAll, describe, expect, it } from 'vitest';
import { noiseModel } from './noise-model.ts';
import { serveShipped, url } from './shipped.ts';

const noise = noiseModel();
afterAll(() => noise.remove());

const parameters = {
  type: 'object',
  properties: {
    city: { type: 'string', maxLength: 12 },
    unit: { enum: ['metric', 'old style'] },
    days: { type: 'integer', minimum: 1, maximum: 9 },
  },
  required: ['city', 'days'],
};
const weather = { name: 'weather', parameters };

interface Reply {
  text: string;
  calls: { name: string; arguments: string }[];
  finish: string;
  headers: Headers;
}

interface Asked {
  /** Text that the reply begins with; '': the model's own. */
  begin: string;
  described?: object;
  seed?: number;
  more?: object;
}

async function post(path: string, body: object): Promise<Response> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(await response.text());
  return response;
}

async function json<T>(path: string, body: object): Promise<T> {
  return (await (await post(path, body)).json()) as T;
}

/** A processor that writes the tokens from a position on. */
function written(tokens: readonly number[], from: number): string {
  const lines = tokens.map((id, i) => `if (position == ${from + i}u && token == ${id}u) { return 1000.0; }`);
  const source = `fn process(token: u32, logit: f32, position: u32, count: u32) -> f32 { ${lines.join(' ')} return logit; }`;
  return JSON.stringify({ name: 'wgsl', source });
}

/** Numbers of prompt tokens by tools. */
const promptTokens = new Map<string, Promise<number>>();

function promptTokensOf(body: { tools: unknown }): Promise<number> {
  const key = JSON.stringify(body.tools);
  const known = promptTokens.get(key);
  if (known !== undefined) return known;
  const short = { ...body, max_completion_tokens: 1, stop: undefined };
  const asked = json<{ usage: { prompt_tokens: number } }>('/v1/chat/completions', short);
  const count = asked.then(({ usage }) => usage.prompt_tokens);
  promptTokens.set(key, count);
  return count;
}

async function bodyOf({ begin, described = weather, seed = 1, more = {} }: Asked): Promise<object> {
  const body = {
    model: 'default',
    messages: [{ role: 'user', content: 'What is the weather?' }],
    tools: [{ type: 'function', function: described }],
    parallel_tool_calls: false,
    temperature: 2,
    max_completion_tokens: 250,
    seed,
    ...more,
  };
  if (begin === '') return body;
  const { tokens } = await json<{ tokens: number[] }>('/tokenize', {
    prompt: begin,
    add_special_tokens: false,
  });
  return { ...body, custom_logit_processor: written(tokens, await promptTokensOf(body)) };
}

interface Message {
  content?: string | null;
  tool_calls?: { index?: number; function: { name?: string; arguments?: string } }[];
}

async function ask(asked: Asked): Promise<Reply> {
  const response = await post('/v1/chat/completions', await bodyOf(asked));
  const { choices } = (await response.json()) as { choices: { message: Message; finish_reason: string }[] };
  const [{ message, finish_reason: finish }] = choices as [(typeof choices)[0]];
  const calls = (message.tool_calls ?? []).map((call) => call.function as Reply['calls'][0]);
  return { text: message.content ?? '', calls, finish, headers: response.headers };
}

async function stream(asked: Asked): Promise<Reply> {
  const response = await post('/v1/chat/completions', { ...(await bodyOf(asked)), stream: true });
  const reply: Reply = { text: '', calls: [], finish: '', headers: response.headers };
  for (const line of (await response.text()).split('\n')) {
    if (!line.startsWith('data: {')) continue;
    const { choices } = JSON.parse(line.slice(6)) as {
      choices: { delta: Message; finish_reason: string | null }[];
    };
    for (const { delta, finish_reason } of choices) {
      reply.finish = finish_reason ?? reply.finish;
      reply.text += delta.content ?? '';
      for (const { index = 0, function: part } of delta.tool_calls ?? []) {
        const call = (reply.calls[index] ??= { name: '', arguments: '' });
        call.name += part.name ?? '';
        call.arguments += part.arguments ?? '';
      }
    }
  }
  return reply;
}

/** Whether the arguments are those that the tool declares. */
function fits(text: string): boolean {
  let values: Record<string, unknown>;
  try {
    values = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return false;
  }
  const { city, unit = 'metric', days, ...others } = values;
  return (
    Object.keys(others).length === 0 &&
    typeof city === 'string' &&
    Array.from(city).length <= 12 &&
    ['metric', 'old style'].includes(unit as string) &&
    Number.isInteger(days) &&
    Number(days) >= 1 &&
    Number(days) <= 9
  );
}

describe.each([
  {
    format: 'qwen3_coder',
    begin: '<tool_call>\n<function=weather>',
    first:
      '\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>\n',
    city: '\n<parameter=city>\nOs',
  },
  {
    format: 'glm45',
    begin: '<tool_call>weather\n',
    first:
      '<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>\n',
    city: '<arg_key>city</arg_key>\n<arg_value>Os',
  },
  { format: 'pythonic', begin: '[weather(', first: 'city="Oslo", days=3), ', city: 'city="Os' },
  {
    format: 'gemma4',
    begin: '<|tool_call>call:weather{',
    first: 'city:<|"|>Oslo<|"|>,days:3}<tool_call|>',
    city: 'city:<|"|>Os',
  },
])('optional calls in $format', ({ format, begin, first, city }) => {
  serveShipped({ model: noise.path, toolCallParser: format, customLogitProcessors: true });

  it.concurrent('keep to the declared parameters, and do not if strict is false', async () => {
    const short = { described: { ...weather, strict: false }, more: { max_completion_tokens: 60 } };
    const [{ calls, finish }, free] = await Promise.all([ask({ begin }), ask({ begin, ...short })]);
    expect(finish).toBe('tool_calls');
    expect(calls).toMatchObject([{ name: 'weather' }]);
    expect(fits(calls[0]!.arguments), calls[0]!.arguments).toBe(true);
    expect(free.calls.filter((call) => fits(call.arguments))).toEqual([]);
  });

  it.concurrent('include the second of two calls', async () => {
    const next = format === 'pythonic' ? 'weather(' : begin;
    const { calls } = await ask({ begin: begin + first + next, more: { parallel_tool_calls: true } });
    expect(calls.length).toBeGreaterThan(1);
    expect(JSON.parse(calls[0]!.arguments)).toEqual({ city: 'Oslo', days: 3 });
    expect(fits(calls[1]!.arguments), calls[1]!.arguments).toBe(true);
  });

  // Reading a reply piece by piece is tested for each format without a model (engine/text/output): here one of XML and one of Python's.
  if (!['qwen3_coder', 'pythonic'].includes(format)) return;
  it.concurrent('are streamed the same', async () => {
    const asked = { begin, seed: 4 };
    const [{ headers: _, ...whole }, { headers: __, ...streamed }] = await Promise.all([
      ask(asked),
      stream(asked),
    ]);
    expect(streamed).toEqual(whole);
    expect(whole.calls).toHaveLength(1);
  });

  it.concurrent('end at a stop string inside of an argument, and stay whole if one is withheld', async () => {
    const [stopped, { calls, finish }] = await Promise.all([
      ask({ begin: begin + city, more: { stop: ['Os'] } }),
      ask({ begin: begin + city, more: { stop: ['Os#!', `${city}#!`] } }),
    ]);
    expect(stopped).toMatchObject({ finish: 'stop', calls: [] });
    expect(finish).toBe('tool_calls');
    expect(fits(calls[0]!.arguments), calls[0]!.arguments).toBe(true);
    expect(calls[0]!.arguments).toContain('"Os');
  });

  // The keyword is found in the tool's schema, whatever the format is.
  if (format !== 'qwen3_coder') return;
  it.concurrent('have a header that names the keyword which is not enforced', async () => {
    const properties = { ...parameters.properties, unit: { type: 'string', pattern: '(a)\\1' } };
    const described = { ...weather, parameters: { ...parameters, properties } };
    const short = { begin: '', described, more: { max_completion_tokens: 1 } };
    const name = 'weather#/properties/unit/pattern';
    expect((await ask(short)).headers.get('x-svc-unenforced')).toBe(name);
    expect((await stream(short)).headers.get('x-svc-unenforced')).toBe(name);
    const required = { ...short.more, tool_choice: 'required' };
    expect((await ask({ ...short, more: required })).headers.get('x-svc-unenforced')).toBe(name);
    expect((await ask({ begin: '', more: short.more })).headers.get('x-svc-unenforced')).toBeNull();
    const free = { ...described, strict: false };
    expect((await ask({ ...short, described: free })).headers.get('x-svc-unenforced')).toBeNull();
  });
});
