// Streams of /v1/responses, stored responses, and the openai client.

import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { eventually } from '../harness.ts';
import { EVERYTHING, startResponding } from './response-harness.ts';
import { script } from '../scripted.ts';

describe('a response stream', () => {
  it('says each thing at its place', async () => {
    const { stream } = await startResponding(EVERYTHING);
    const events = await stream({ input: 'Hi' });
    const names = events.map(({ type }) => type.replace('response.', ''));
    const message = (deltas: string) => [
      'output_item.added',
      'content_part.added',
      `${deltas}.delta`,
      `${deltas}.delta`,
      `${deltas}.done`,
      'content_part.done',
      'output_item.done',
    ];
    const call = (deltas: number) => [
      'output_item.added',
      ...Array<string>(deltas).fill('function_call_arguments.delta'),
      'function_call_arguments.done',
      'output_item.done',
    ];
    const once = (list: string[]) => list.filter((name, at) => name !== list[at - 1]);
    // Deltas may be merged if the reader is slow.
    expect(once(names)).toEqual(
      once([
        'created',
        'in_progress',
        ...message('reasoning_text'),
        ...message('output_text'),
        ...call(2),
        ...call(1),
        'completed',
      ]),
    );
    const said = (type: string, at: number) =>
      events
        .filter((event) => event.type === type && event['output_index'] === at)
        .map((event) => event['delta'])
        .join('');
    expect(said('response.reasoning_text.delta', 0)).toBe('Let me see');
    expect(said('response.output_text.delta', 1)).toBe('Well, then');
    expect(said('response.function_call_arguments.delta', 2)).toBe('{"at":"sky"}');
    const { output } = events.at(-1)!.response!;
    const items = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
    expect(output).toEqual(items);
    expect(events[0]!.response).toMatchObject({ status: 'in_progress', output: [], usage: null });
    expect(events.at(-1)!.response!.id).toBe(events[0]!.response!.id);
  });

  it.each([
    ['length', 'incomplete'],
    ['stop', 'completed'],
  ] as const)('that ends by %s is %s', async (end, status) => {
    const { stream } = await startResponding(() => [{ say: 'a' }, { end }]);
    const last = (await stream({ input: 'Hi' })).at(-1)!;
    expect([last.type, last.response!.status]).toEqual([`response.${status}`, status]);
  });

  it('that fails says so', async () => {
    const error = { code: 'device_lost' as const, message: 'gone' };
    const { stream } = await startResponding(() => [{ say: 'a' }, { end: 'abort', error }]);
    const last = (await stream({ input: 'Hi' })).at(-1)!;
    expect(last.type).toBe('response.failed');
    expect(last.response).toMatchObject({
      status: 'failed',
      error: { code: 'device_lost', message: 'gone' },
    });
  });

  it('is refused with a status where it cannot begin', async () => {
    const { post, model } = await startResponding();
    script(model, () => {
      throw new RangeError('secret');
    });
    expect((await post({ input: 'Hi', stream: true })).status).toBe(500);
  });
});

describe('a stored response', () => {
  it('can be read, continued, and deleted', async () => {
    const { post, ask, model } = await startResponding(EVERYTHING);
    const { body: first } = await post({ input: 'One', instructions: 'Only now.' });
    expect((await ask(first.id)).body).toEqual(first);
    const { body: second } = await post({
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: 'call_0', output: 'blue' }],
    });
    expect(second['previous_response_id']).toBe(first.id);
    const { prompt } = model.requests[1]!;
    expect('messages' in prompt && prompt.messages).toEqual([
      { role: 'user', content: 'One' },
      {
        role: 'assistant',
        content: 'Well, then',
        reasoning_content: 'Let me see',
        tool_calls: [
          { id: 'call_0', type: 'function', function: { name: 'look', arguments: '{"at":"sky"}' } },
          { id: 'call_1', type: 'function', function: { name: 'go', arguments: '{}' } },
        ],
      },
      { role: 'tool', content: 'blue', tool_call_id: 'call_0' },
    ]);
    expect((await ask(`${second.id}/input_items`)).body.data).toMatchObject([
      { type: 'function_call_output', output: 'blue' },
    ]);
    await post({
      input: [
        { type: 'item_reference', id: first.output[1]!.id },
        { role: 'user', content: 'x' },
      ],
    });
    expect(model.requests[2]!.prompt).toMatchObject({
      messages: [{ role: 'assistant', content: 'Well, then' }, {}],
    });
    expect((await ask(first.id, 'DELETE')).body).toEqual({ id: first.id, object: 'response', deleted: true });
    expect((await ask(first.id)).status).toBe(404);
    expect((await ask(`${second.id}/cancel`, 'POST')).body.error).toMatchObject({ code: 'invalid_value' });
  });

  it('is missing if store is false', async () => {
    const { post, ask } = await startResponding();
    const { body } = await post({ input: 'One', store: false });
    expect((await ask(body.id)).status).toBe(404);
  });

  describe('while it is made', () => {
    async function begin() {
      const { url, ask, model } = await startResponding();
      const state = { ended: false };
      model.generate = async function* (_, options) {
        yield { type: 'accepted', promptTokens: 1, maxTokens: 9 };
        yield { type: 'delta', choice: 0, text: 'a', ids: [1] };
        await new Promise((resolve) => options!.signal!.addEventListener('abort', resolve));
        state.ended = true;
        yield { type: 'done', choice: 0, finishReason: 'abort', matchedStop: null, completionTokens: 1 };
      };
      const response = await fetch(`${url}/v1/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'default', input: 'a', stream: true }),
      });
      const reader = response.body!.getReader();
      const { value } = await reader.read();
      const id = /"id":"(resp_\w+)"/.exec(new TextDecoder().decode(value))![1]!;
      return { ask, id, reader, state };
    }

    it('can be read and ended', async () => {
      const { ask, id, reader, state } = await begin();
      expect((await ask(id)).body.status).toBe('in_progress');
      expect((await ask(`${id}/cancel`, 'POST')).body.status).toBe('cancelled');
      await eventually(() => state.ended, 'the request ends');
      await expect.poll(async () => (await ask(id)).body.output).toHaveLength(1);
      expect((await ask(id)).body.status).toBe('cancelled');
      await reader.cancel();
    });

    it('is ended by deleting it, and is not there again', async () => {
      const { ask, id, reader, state } = await begin();
      expect((await ask(id, 'DELETE')).body.deleted).toBe(true);
      await eventually(() => state.ended, 'the request ends');
      while (!(await reader.read()).done);
      expect((await ask(id)).status).toBe(404);
    });
  });
});

describe('the openai client', () => {
  const clientOf = (url: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });

  it('reads a response and its text', async () => {
    const { url } = await startResponding();
    const client = clientOf(url);
    const response = await client.responses.create({ model: 'default', input: 'Hi' });
    expect(response.output_text).toBe('Hello there');
    expect((await client.responses.retrieve(response.id)).output_text).toBe('Hello there');
    await client.responses.delete(response.id);
    await expect(client.responses.retrieve(response.id)).rejects.toMatchObject({ status: 404 });
  });

  it('follows a stream to the same response', async () => {
    const { url } = await startResponding(EVERYTHING);
    const stream = clientOf(url).responses.stream({
      model: 'default',
      input: 'Hi',
      tools: [{ type: 'function', name: 'look', parameters: { type: 'object' }, strict: false }],
    });
    let text = '';
    stream.on('response.output_text.delta', ({ delta }) => (text += delta));
    const response = await stream.finalResponse();
    expect(text).toBe('Well, then');
    expect(response.output.map(({ type }) => type)).toEqual([
      'reasoning',
      'message',
      'function_call',
      'function_call',
    ]);
  });

  it('is told what is wrong', async () => {
    const { url } = await startResponding();
    await expect(clientOf(url).responses.create({ model: 'none', input: 'Hi' })).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
    });
  });
});
