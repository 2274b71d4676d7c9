// Parts of a reply that a request must ask for: ids, states, experts, cache counts, and the reason of a shortened reply. Each in
// the plain reply and in the stream.

import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../src/index.ts';
import { ask, parts, plain, start, streamed } from '../harness.ts';

describe('extra outputs of a chat completion', () => {
  it('are token ids of prompt and answer', async () => {
    const harness = await start();
    const wish = { return_token_ids: true, return_prompt_token_ids: true };
    const { choices } = await plain(harness, 'one two', wish);
    expect(choices[0]).toMatchObject({ token_ids: [0, 1], prompt_token_ids: [0, 1] });
    const chunks = parts(await streamed(harness, 'one two', wish));
    expect(chunks.map(({ token_ids }) => token_ids)).toEqual([undefined, [0], [1], undefined]);
    expect(chunks.map(({ prompt_token_ids }) => prompt_token_ids)).toEqual([
      [0, 1],
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('are hidden states, in a chunk of their own after the end', async () => {
    const harness = await start();
    const states = async (wish: unknown) => {
      const { choices } = await plain(harness, 'one two', { return_hidden_states: wish, n: 2 });
      const chunks = parts(await streamed(harness, 'one two', { return_hidden_states: wish, n: 2 }));
      const after = chunks
        .slice(-4)
        .map(({ index, delta, finish_reason }) => [index, finish_reason ?? delta]);
      return [choices.map((choice) => choice.hidden_states), after];
    };
    const last = [1, -1];
    const all = [
      [0, -0],
      [1, -1],
    ];
    for (const [wish, expected] of [
      [true, last],
      ['last', last],
      ['all', JSON.parse(JSON.stringify(all))],
    ] as const) {
      const chunk = { hidden_states: expected };
      expect(await states(wish)).toEqual([
        [expected, expected],
        [
          [0, 'stop'],
          [0, chunk],
          [1, 'stop'],
          [1, chunk],
        ],
      ]);
    }
  });

  it('are routed experts and cached tokens, in svcext', async () => {
    const harness = await start();
    const wish = { return_routed_experts: true, return_cached_tokens_details: true };
    const { svcext } = await plain(harness, 'one two', wish);
    expect(svcext).toEqual({
      routed_experts: expect.any(String),
      routed_experts_shape: [2, 1, 2],
      cached_tokens_details: { device: 1, host: 0, storage: 0, storage_backend: 'file' },
    });
    const bytes = Buffer.from(String(svcext?.['routed_experts']), 'base64');
    expect([0, 4, 8, 12].map((at) => bytes.readInt32LE(at))).toEqual([0, 1, 2, 3]);
    const chunks = await streamed(harness, 'one two', { ...wish, stream_options: { include_usage: true } });
    expect(chunks.slice(-2).map((chunk) => [chunk.choices, chunk.svcext, chunk.usage !== undefined])).toEqual(
      [
        [[], svcext, false],
        [[], undefined, true],
      ],
    );
  });

  it('are chunks before the text with the progress of the prompt', async () => {
    const harness = await start();
    harness.model.events = [
      { type: 'prefill', processed: 2, promptTokens: 3, cachedTokens: 1 },
      { type: 'prefill', processed: 3, promptTokens: 3, cachedTokens: 1 },
      { type: 'delta', choice: 0, text: 'so', ids: [1] },
      { type: 'done', choice: 0, finishReason: 'stop', matchedStop: 2, completionTokens: 1 },
    ];
    const told = (chunks: object[]) =>
      chunks.map((chunk) => ('prompt_progress' in chunk ? chunk.prompt_progress : null));
    const chunks = await streamed(harness, 'a b c', { return_progress: true });
    expect(told(chunks)).toEqual([
      null,
      { total: 3, cache: 1, processed: 2 },
      { total: 3, cache: 1, processed: 3 },
      null,
      null,
    ]);
    expect(told(await streamed(harness, 'a b c'))).toEqual([null, null, null]);
  });

  it('are left out of a request that does not ask for them', async () => {
    const harness = await start();
    const reply = await plain(harness, 'one');
    expect(Object.keys(reply)).not.toContain('svcext');
    expect(Object.keys(reply.choices[0] ?? {})).toEqual([
      'index',
      'message',
      'logprobs',
      'finish_reason',
      'matched_stop',
    ]);
    const chunks = await streamed(harness, 'one');
    expect(chunks.filter((chunk) => 'svcext' in chunk || chunk.choices.length === 0)).toEqual([]);
  });

  it('count cached tokens on the device if the engine does not say where', async () => {
    const harness = await start();
    harness.model.events = [
      { type: 'prefill', processed: 3, promptTokens: 3, cachedTokens: 2 },
      { type: 'done', choice: 0, finishReason: 'stop', matchedStop: 1, completionTokens: 0 },
    ];
    const { svcext, usage } = await plain(harness, 'a b c', { return_cached_tokens_details: true });
    expect(usage['prompt_tokens_details']).toEqual({ cached_tokens: 2 });
    expect(svcext).toMatchObject({ cached_tokens_details: { device: 2, host: 0, storage: 0 } });
  });

  it('have the id that the client gave', async () => {
    const harness = await start();
    expect(await plain(harness, 'one', { rid: 'mine' })).toMatchObject({ id: 'mine' });
    expect((await streamed(harness, 'one', { rid: 'mine' })).every(({ id }) => id === 'mine')).toBe(true);
  });
});

describe('a choice cut short', () => {
  it.each([
    ['out_of_memory', 503],
    ['device_lost', 503],
    ['preempted', 503],
    ['timed_out', 503],
    ['internal', 500],
  ])('by %s is a plain error, or an abort and an error event', async (code, status) => {
    const harness = await start();
    const response = await harness.post(ask(`cut ${code}`, { n: 2 }));
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code } });

    const chunks = await streamed(harness, `cut ${code}`, { n: 2, stream_options: { include_usage: true } });
    const [first, second, usage, error] = chunks.slice(-4);
    expect([first, second].map((chunk) => chunk?.choices[0])).toMatchObject([
      { index: 0, delta: {}, finish_reason: 'abort', matched_stop: null },
      { index: 1, delta: {}, finish_reason: 'abort', matched_stop: null },
    ]);
    expect(usage?.usage).toMatchObject({ completion_tokens: 2 });
    expect(error?.error).toMatchObject({ code });
  });

  it('by nobody of ours keeps its text and its status', async () => {
    const harness = await start();
    harness.model.events = [
      { type: 'delta', choice: 0, text: 'half', ids: [1] },
      { type: 'done', choice: 0, finishReason: 'abort', matchedStop: null, completionTokens: 1 },
    ];
    const { choices } = await plain(harness, 'x');
    expect(choices[0]).toMatchObject({ message: { content: 'half' }, finish_reason: 'abort' });
    const chunks = await streamed(harness, 'x');
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('abort');
  });

  it.each([false, true])('names the field of the body, not of the engine (stream: %s)', async (stream) => {
    const { post } = await start();
    const response = await post(ask('hi', { lora_path: 'painter', stream }));
    expect(await response.json()).toMatchObject({
      error: { param: 'lora_path', message: 'lora_path painter is not loaded: this model has poet' },
    });
  });

  it.each([
    [{ regex: 'a' }, 'regex'],
    [{ response_format: { type: 'json_object' } }, 'response_format'],
    [{ tools: [{ type: 'function', function: { name: 'f', strict: true } }] }, 'tools'],
    [{ functions: [{ name: 'f', strict: true }] }, 'functions'],
  ])('of a grammar that is wrong as a whole, in %j', async (more, param) => {
    const { post, model } = await start();
    model.generate = async function* () {
      yield Promise.reject(new EngineError('bad_request', 'it takes more time', { param: 'constraint' }));
    };
    for (const stream of [false, true]) {
      const response = await post(ask('hi', { ...more, stream }));
      expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
    }
  });
});
