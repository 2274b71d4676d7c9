// Reasoning, tool calls and log probabilities. Each in the plain reply and in the stream, whose merged chunks are equal.

import { describe, expect, it } from 'vitest';
import { deltas, parts, plain, start, streamed } from '../harness.ts';

const tool = { type: 'function', function: { name: 'weather' } };

describe('reasoning in a chat completion', () => {
  it('stands beside the content, and is counted in both places', async () => {
    const harness = await start();
    const { choices, usage } = await plain(harness, 'think let us see');
    expect(choices[0]?.message).toEqual({
      role: 'assistant',
      content: 'so',
      reasoning_content: 'let us see',
      reasoning: 'let us see',
      tool_calls: null,
    });
    expect(usage).toMatchObject({
      completion_tokens: 4,
      reasoning_tokens: 3,
      completion_tokens_details: { reasoning_tokens: 3 },
    });
  });

  it('is streamed before the content', async () => {
    const harness = await start();
    const chunks = await streamed(harness, 'think let us see', { stream_options: { include_usage: true } });
    expect(deltas(chunks)).toEqual([
      { role: 'assistant', content: '' },
      { reasoning_content: 'let', reasoning: 'let' },
      { reasoning_content: ' us', reasoning: ' us' },
      { reasoning_content: ' see', reasoning: ' see' },
      { content: 'so' },
      {},
    ]);
    expect(chunks.at(-1)?.usage).toMatchObject({ reasoning_tokens: 3, completion_tokens: 4 });
  });

  it('is counted while it is streamed', async () => {
    const harness = await start();
    const chunks = await streamed(harness, 'think let us see', {
      stream_options: { continuous_usage_stats: true },
    });
    const counts = chunks.map(({ usage }) => (usage as { reasoning_tokens?: number }).reasoning_tokens);
    expect(counts).toEqual([0, 1, 2, 3, 3, 3]);
  });
});

describe('a tool call in a chat completion', () => {
  const content = 'call weather {"city":"Rome"}';

  it('is whole in a plain reply', async () => {
    const { choices } = await plain(await start(), content, { tools: [tool] });
    expect(choices[0]).toMatchObject({
      message: {
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
        ],
      },
      finish_reason: 'tool_calls',
      matched_stop: null,
    });
  });

  it('is streamed with its name first, then its arguments in pieces', async () => {
    const chunks = await streamed(await start(), content, { tools: [tool] });
    const calls = deltas(chunks).flatMap(({ tool_calls }) => tool_calls ?? []);
    expect(calls[0]).toEqual({
      index: 0,
      id: 'call_1',
      type: 'function',
      function: { name: 'weather', arguments: '' },
    });
    expect(calls.slice(1)).toEqual(
      ['{"ci', 'ty":', '"Rom', 'e"}'].map((text) => ({ index: 0, function: { arguments: text } })),
    );
    expect(parts(chunks).at(-1)).toMatchObject({
      delta: {},
      finish_reason: 'tool_calls',
      matched_stop: null,
    });
  });

  it('that is cut where the tokens end is text, and in a stream what there is of it', async () => {
    const harness = await start();
    const asked = { tools: [tool], max_tokens: 2 };
    const { choices } = await plain(harness, content, asked);
    expect(choices[0]).toMatchObject({
      message: { content: '{"name": "weather", "arguments": {"ci', tool_calls: null },
      finish_reason: 'length',
    });
    const chunks = await streamed(harness, content, asked);
    expect(deltas(chunks).at(-2)).toMatchObject({ tool_calls: [{ function: { arguments: '{"ci' } }] });
    expect(parts(chunks).at(-1)).toMatchObject({ finish_reason: 'length' });
  });

  it('has the older form where functions were given', async () => {
    const harness = await start();
    const more = { functions: [tool.function] };
    const { choices } = await plain(harness, content, more);
    expect(choices[0]).toMatchObject({
      message: { tool_calls: null, function_call: { name: 'weather', arguments: '{"city":"Rome"}' } },
      finish_reason: 'function_call',
    });
    const chunks = await streamed(harness, content, more);
    const calls = deltas(chunks).flatMap(({ function_call }) => (function_call ? [function_call] : []));
    expect(calls[0]).toEqual({ name: 'weather', arguments: '' });
    expect(calls.map((call) => call.arguments).join('')).toBe('{"city":"Rome"}');
    expect(parts(chunks).at(-1)?.finish_reason).toBe('function_call');
  });

  it('keeps apart from the next one, from text and from the other choices', async () => {
    const harness = await start();
    const common = { logprobs: [], ids: [1] };
    harness.model.events = [
      { type: 'delta', choice: 0, text: 'So', ...common },
      { type: 'toolCall', choice: 0, call: 0, id: 'a', name: 'f', arguments: '{', ...common },
      { type: 'delta', choice: 1, text: 'No', ...common },
      { type: 'toolCall', choice: 0, call: 0, arguments: '}', ...common },
      { type: 'toolCall', choice: 0, call: 1, id: 'b', name: 'g', arguments: '{}', ...common },
      ...[0, 1].map((choice) => ({
        type: 'done' as const,
        choice,
        finishReason: choice === 0 ? ('tool_calls' as const) : ('stop' as const),
        matchedStop: 7,
        completionTokens: 3,
      })),
    ];
    const { choices } = await plain(harness, 'x', { n: 2, tools: [tool] });
    expect(choices.map(({ message }) => [message['content'], message['tool_calls']])).toEqual([
      [
        'So',
        [
          { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } },
          { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
        ],
      ],
      ['No', null],
    ]);
    const chunks = await streamed(harness, 'x', { n: 2, tools: [tool] });
    const first = parts(chunks).filter(({ index }) => index === 0);
    expect(first.map(({ delta }) => delta.content ?? delta.tool_calls?.[0]?.function ?? null)).toEqual([
      '',
      'So',
      { name: 'f', arguments: '' },
      { arguments: '{' },
      { arguments: '}' },
      { name: 'g', arguments: '' },
      { arguments: '{}' },
      null,
    ]);
    expect(
      parts(chunks)
        .filter(({ finish_reason }) => finish_reason)
        .map(({ index }) => index),
    ).toEqual([0, 1]);
  });
});

describe('log probabilities in a chat completion', () => {
  const wish = { logprobs: true, top_logprobs: 2 };

  it('stand for every token, those of reasoning and of calls too', async () => {
    const harness = await start();
    const thought = await plain(harness, 'think é b', wish);
    const entries = thought.choices[0]?.logprobs?.content;
    expect(entries?.map(({ token, logprob }) => [token, logprob])).toEqual([
      ['é', -0.25],
      [' b', -0.25],
      ['so', -0.25],
    ]);
    expect(entries?.[0]).toEqual({
      token: 'é',
      bytes: [0xc3, 0xa9],
      logprob: -0.25,
      top_logprobs: [
        { token: 'é', bytes: [0xc3, 0xa9], logprob: -0.25 },
        { token: 'é', bytes: [0xc3, 0xa9], logprob: -0.5 },
      ],
    });
    const call = await plain(harness, 'call weather {}', { ...wish, tools: [tool] });
    expect(call.choices[0]?.logprobs?.content).toHaveLength(2);
  });

  it('ride on the chunk of their tokens', async () => {
    const harness = await start();
    for (const content of ['think a b', 'call weather {"a":1}', 'one two']) {
      const whole = await plain(harness, content, { ...wish, tools: [tool] });
      const chunks = await streamed(harness, content, { ...wish, tools: [tool] });
      const riding = parts(chunks).map(({ logprobs }) => logprobs?.content.length ?? 0);
      expect(riding).toEqual([0, ...riding.slice(1, -1).map(() => 1), 0]);
      expect(parts(chunks).flatMap(({ logprobs }) => logprobs?.content ?? [])).toEqual(
        whole.choices[0]?.logprobs?.content,
      );
    }
  });

  it('are not lost where a token has no text, and know no infinity', async () => {
    const harness = await start();
    const logprobs = [{ id: 3, bytes: [0xf0, 0x9f], logprob: -Infinity, top: [] }];
    harness.model.events = [
      { type: 'delta', choice: 0, text: '', ids: [3], logprobs },
      { type: 'done', choice: 0, finishReason: 'length', matchedStop: null, completionTokens: 1 },
    ];
    const expected = [{ token: '\ufffd', bytes: [0xf0, 0x9f], logprob: -9999, top_logprobs: [] }];
    const { choices } = await plain(harness, 'x', wish);
    expect(choices[0]?.logprobs?.content).toEqual(expected);
    const chunks = await streamed(harness, 'x', wish);
    expect(parts(chunks)[1]).toMatchObject({ delta: { content: '' }, logprobs: { content: expected } });
    expect(await streamed(harness, 'x')).toHaveLength(2);
  });
});
