// Streams of /v1/messages, refusals of other interfaces' fields, and Anthropic's own client.

import Anthropic, { AuthenticationError, NotFoundError } from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import { EVERYTHING, HELLO, startMessages } from './anthropic-harness.ts';
import { readEvents, type Script } from '../scripted.ts';

type Event = { type: string; index?: number } & Record<string, unknown>;

async function stream(of: Script): Promise<Event[]> {
  const { send } = await startMessages(of);
  const response = await send('/v1/messages', {
    model: 'default',
    max_tokens: 50,
    stream: true,
    messages: [{ role: 'user', content: 'Hi' }],
  });
  return readEvents(await response.text()).map(({ name, data }) => {
    expect((data as Event).type).toBe(name);
    return data as Event;
  });
}

describe('a message stream', () => {
  it('says each block from its start to its stop', async () => {
    const events = await stream(EVERYTHING);
    const names = events.map(({ type, index }) =>
      index === undefined ? type : `${index} ${type.slice(14)}`,
    );
    expect(names.filter((name, at) => name !== names[at - 1])).toEqual([
      'message_start',
      'ping',
      ...[0, 1, 2, 3].flatMap((index) => [`${index} start`, `${index} delta`, `${index} stop`]),
      'message_delta',
      'message_stop',
    ]);
    expect(events[0]!['message']).toMatchObject({
      role: 'assistant',
      content: [],
      stop_reason: null,
      usage: { input_tokens: 5, cache_read_input_tokens: 2, output_tokens: 0 },
    });
    const deltas = (index: number) =>
      events
        .filter((event) => event.index === index && event.type === 'content_block_delta')
        .map(({ delta }) => delta);
    const joined = (index: number, member: string) =>
      deltas(index)
        .map((delta) => (delta as Record<string, string>)[member])
        .join('');
    expect(joined(0, 'thinking')).toBe('Let me see');
    expect(joined(1, 'text')).toBe('Well, then');
    expect(joined(2, 'partial_json')).toBe('{"at":"sky"}');
    expect(events.at(-2)).toMatchObject({
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: { input_tokens: 5, cache_read_input_tokens: 2, output_tokens: 6 },
    });
  });

  it('that fails ends with an error', async () => {
    const error = { code: 'device_lost' as const, message: 'gone' };
    const events = await stream(() => [{ say: 'a' }, { end: 'abort', error }]);
    expect(events.at(-1)).toEqual({ type: 'error', error: { type: 'overloaded_error', message: 'gone' } });
  });
});

it.each([
  ['stop', 'end_turn'],
  ['length', 'max_tokens'],
] as const)(
  'a call whose arguments are no object is text, and the reply ends with %s',
  async (end, reason) => {
    const said: Script = () => [
      { call: 'go', arguments: ['{}'] },
      { call: 'look', arguments: ['{"at":', '"s'] },
      { end },
    ];
    const { post } = await startMessages(said);
    const { body } = await post({ messages: [{ role: 'user', content: 'Hi' }] });
    expect(body).toMatchObject({
      content: [
        { type: 'tool_use', name: 'go', input: {} },
        { type: 'text', text: '{"name": "look", "arguments": {"at":"s' },
      ],
      stop_reason: reason,
    });
    // The stream sent the parts before the error was known.
    const events = await stream(said);
    expect(events.findLast(({ type }) => type === 'content_block_delta')).toMatchObject({
      delta: { type: 'input_json_delta', partial_json: '"s' },
    });
    expect(events.at(-2)).toMatchObject({ type: 'message_delta', delta: { stop_reason: reason } });
  },
);

it.each([
  ['response_format', { type: 'json_object' }],
  ['guided_json', {}],
  ['guided_choice', []],
  ['regex', 'a'],
])('the field %s is refused, as the text would not be held to it', async (name, value) => {
  const { post, model } = await startMessages(HELLO);
  const { status, body } = await post({
    messages: [{ role: 'user', content: 'Hi' }],
    [name]: value,
  });
  expect([status, body.error?.message]).toEqual([
    400,
    `${name} is another server's name for what output_config says here; send that`,
  ]);
  expect(model.requests).toEqual([]);
});

describe("Anthropic's client", () => {
  const ask = {
    model: 'default',
    max_tokens: 50,
    messages: [{ role: 'user' as const, content: 'Hi' }],
    tools: [{ name: 'look', input_schema: { type: 'object' as const } }],
  };
  const clientOf = async (of: Script, apiKey = 'k') => {
    const { url } = await startMessages(of, { apiKey: 'k' });
    return new Anthropic({ baseURL: url, apiKey, maxRetries: 0 });
  };

  it('reads a message', async () => {
    const { content, stop_reason: reason } = await (await clientOf(HELLO)).messages.create(ask);
    expect(content).toEqual([{ type: 'text', text: 'Hello there' }]);
    expect(reason).toBe('end_turn');
  });

  it('follows a stream to the same message, tools and thoughts with it', async () => {
    const following = (await clientOf(EVERYTHING)).messages.stream(ask);
    let text = '';
    following.on('text', (delta) => (text += delta));
    const message = await following.finalMessage();
    expect(text).toBe('Well, then');
    expect(message.content).toEqual([
      { type: 'thinking', thinking: 'Let me see', signature: '' },
      { type: 'text', text: 'Well, then' },
      { type: 'tool_use', id: 'call_0', name: 'look', input: { at: 'sky' } },
      { type: 'tool_use', id: 'call_1', name: 'go', input: {} },
    ]);
    expect(message.stop_reason).toBe('tool_use');
    expect(message.usage.output_tokens).toBe(6);
  });

  it('counts tokens, and is told what is wrong', async () => {
    const client = await clientOf(HELLO);
    const { input_tokens: tokens } = await client.messages.countTokens({
      model: 'default',
      messages: ask.messages,
    });
    expect(tokens).toBeGreaterThan(10);
    await expect(client.messages.create({ ...ask, model: 'none' })).rejects.toBeInstanceOf(NotFoundError);
    const stranger = await clientOf(HELLO, 'wrong');
    await expect(stranger.messages.create(ask)).rejects.toBeInstanceOf(AuthenticationError);
  });
});
