// Replies of /api/chat and /api/generate on a fake model: whole, and as lines.

import { describe, expect, it } from 'vitest';
import { EVERYTHING, HELLO, joined, type Line, startOllama } from './ollama-harness.ts';
import type { Script } from '../scripted.ts';

const time = expect.any(Number) as number;
const DURATIONS = {
  total_duration: time,
  load_duration: time,
  prompt_eval_duration: time,
  eval_duration: time,
};

function expectTimes(end: Line): void {
  const {
    total_duration: total,
    load_duration,
    prompt_eval_duration,
    eval_duration,
  } = end as Record<keyof typeof DURATIONS, number>;
  const parts = [load_duration, prompt_eval_duration, eval_duration];
  for (const part of [total, ...parts]) {
    expect(Number.isInteger(part)).toBe(true);
    expect(part).toBeGreaterThanOrEqual(0);
  }
  expect(total).toBeGreaterThan(1000);
  expect(Math.abs(total - parts.reduce((sum, part) => sum + part, 0))).toBeLessThan(10);
}

describe('a whole Ollama reply', () => {
  it('of a conversation', async () => {
    const { chat } = await startOllama(HELLO);
    const { status, body } = await chat();
    expect(status).toBe(200);
    expect(body).toEqual({
      model: 'chat',
      created_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      message: { role: 'assistant', content: 'Hello there' },
      done: true,
      done_reason: 'stop',
      prompt_eval_count: 7,
      eval_count: 2,
      ...DURATIONS,
    });
    expectTimes(body);
  });

  it('of a prompt', async () => {
    const { generate } = await startOllama(HELLO);
    const { body } = await generate();
    expect(body).toMatchObject({ response: 'Hello there', done: true, done_reason: 'stop', eval_count: 2 });
    expect(body).not.toHaveProperty('message');
  });

  it('with thoughts and calls', async () => {
    const { chat } = await startOllama(EVERYTHING);
    const { body } = await chat();
    expect(body).toMatchObject({ done_reason: 'stop' });
    expect(body.message).toEqual({
      role: 'assistant',
      content: 'Well, then',
      thinking: 'Let me see',
      tool_calls: [
        { id: 'call_0', function: { index: 0, name: 'look', arguments: { at: 'sky' } } },
        { id: 'call_1', function: { index: 1, name: 'go', arguments: {} } },
      ],
    });
  });
});

describe('lines of an Ollama stream', () => {
  it('say each part, and then the end', async () => {
    const { stream } = await startOllama(HELLO);
    const lines = await stream('chat');
    expect(lines.map(({ message, done }) => [message, done])).toEqual([
      [{ role: 'assistant', content: 'Hello' }, false],
      [{ role: 'assistant', content: ' there' }, false],
      [{ role: 'assistant', content: '' }, true],
    ]);
    const end = lines.at(-1)!;
    expect(end).toMatchObject({ done_reason: 'stop', prompt_eval_count: 7, eval_count: 2, ...DURATIONS });
    expectTimes(end);
  });

  it('of a prompt', async () => {
    const { stream } = await startOllama(HELLO);
    const lines = await stream('generate');
    expect(lines.map(({ response, done }) => [response, done])).toEqual([
      ['Hello', false],
      [' there', false],
      ['', true],
    ]);
  });

  const cut: Script = () => [{ say: 'So' }, { call: 'look', arguments: ['{"at":', '"s'] }, { end: 'length' }];
  it.each([
    ['a text', HELLO, 'stop'],
    ['everything', EVERYTHING, 'stop'],
    ['one that runs out', () => [{ say: 'Hel' }, { say: 'l' }, { end: 'length' as const }], 'length'],
    ['a call cut short', cut, 'length'],
    ['nothing', () => [{ end: 'stop' as const }], 'stop'],
  ] as [string, Script, string][])('say together what the whole reply says: %s', async (_, of, reason) => {
    const { stream, chat, generate } = await startOllama(of);
    const asked = { logprobs: true, top_logprobs: 1 };
    const whole = joined([(await chat(asked)).body]);
    expect(whole.reason).toBe(reason);
    expect(joined(await stream('chat', asked))).toEqual(whole);
    expect(joined(await stream('generate', asked))).toEqual(joined([(await generate(asked)).body]));
  });

  it('a call cut short is no call, and its text is not lost', async () => {
    const { chat, stream } = await startOllama(cut);
    const content = 'So{"name": "look", "arguments": {"at":"s';
    expect((await chat()).body.message).toEqual({ role: 'assistant', content });
    expect(joined(await stream('chat')).text).toBe(content);
  });

  it('a reader that was away misses nothing', async () => {
    const words = Array.from({ length: 300 }, (_, i) => `${i} ${'x'.repeat(1000)} `);
    const { send } = await startOllama(() => [...words.map((say) => ({ say })), { end: 'stop' }]);
    const response = await send('generate', { model: 'chat', prompt: 'Hi' });
    await new Promise((resolve) => setTimeout(resolve, 100));
    const lines = (await response.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
    expect(joined(lines).text).toBe(words.join(''));
  });

  it('no silence is filled', async () => {
    const { model, send } = await startOllama(HELLO, { keepAlive: 10 });
    const { generate } = model;
    model.generate = async function* (request, options) {
      for await (const event of generate(request, options)) {
        if (event.type === 'done') await new Promise((resolve) => setTimeout(resolve, 80));
        yield event;
      }
    };
    const text = await (await send('generate', { model: 'chat', prompt: 'Hi' })).text();
    expect(text.trim().split('\n')).toHaveLength(3);
  });
});

describe('log probabilities of an Ollama reply', () => {
  it('stand beside their text', async () => {
    const { stream, chat } = await startOllama(HELLO);
    const asked = { logprobs: true, top_logprobs: 1 };
    const [first] = await stream('chat', asked);
    expect(first!['logprobs']).toEqual([
      expect.objectContaining({ token: 'Hello', logprob: -0.25, top_logprobs: [expect.anything()] }),
    ]);
    expect((await chat(asked)).body['logprobs']).toHaveLength(2);
    expect((await chat()).body).not.toHaveProperty('logprobs');
  });
});

describe('an Ollama reply that fails', () => {
  const lost: Script = () => [
    { say: 'a' },
    { end: 'abort', error: { code: 'device_lost', message: 'gone' } },
  ];

  it('after it began ends with a line that says so', async () => {
    const { stream } = await startOllama(lost);
    const lines = await stream('chat');
    expect(lines.map(({ message, error }) => message?.content ?? error)).toEqual(['a', 'gone']);
    expect(Object.keys(lines.at(-1)!)).toEqual(['error']);
  });

  it('has its status where nothing was sent yet', async () => {
    const { chat } = await startOllama(lost);
    expect(await chat()).toMatchObject({ status: 503, body: { error: 'gone' } });
  });
});
