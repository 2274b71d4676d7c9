// The openai package against the fake model: tools, structured outputs and streams as its users write them.

import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { start } from '../harness.ts';

async function connect() {
  const harness = await start();
  const client = new OpenAI({ baseURL: `${harness.url}/v1`, apiKey: 'unused', maxRetries: 0 });
  return { ...harness, client };
}

const say = (content: string) => ({ model: 'default', messages: [{ role: 'user' as const, content }] });
const weather = {
  type: 'function' as const,
  function: {
    name: 'weather',
    strict: true,
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
};

it('the openai client calls a tool, and reads its result', async () => {
  const { client, model } = await connect();
  const request = { ...say('call weather {"city":"Rome"}'), tools: [weather] };
  const { choices } = await client.chat.completions.create(request);
  const message = choices[0]!.message;
  expect(message.tool_calls?.[0]).toMatchObject({
    function: { name: 'weather', arguments: '{"city":"Rome"}' },
  });
  const result = { role: 'tool' as const, tool_call_id: message.tool_calls![0]!.id, content: 'sunny' };
  await client.chat.completions.create({ ...request, messages: [...request.messages, message, result] });
  expect(model.requests[1]?.prompt).toMatchObject({
    messages: [{ role: 'user' }, { role: 'assistant', tool_calls: [{ id: 'call_1' }] }, result],
    tools: [weather],
  });
});

it('the openai client joins a streamed tool call', async () => {
  const { client } = await connect();
  const stream = client.chat.completions.stream({
    ...say('call weather {"city":"Rome"}'),
    tools: [weather],
    stream_options: { include_usage: true },
  });
  const pieces: string[] = [];
  stream.on('tool_calls.function.arguments.delta', ({ arguments_delta }) => pieces.push(arguments_delta));
  const { choices, usage } = await stream.finalChatCompletion();
  expect(pieces.join('')).toBe('{"city":"Rome"}');
  expect(choices[0]).toMatchObject({
    finish_reason: 'tool_calls',
    message: { tool_calls: [{ function: { name: 'weather', parsed_arguments: { city: 'Rome' } } }] },
  });
  expect(usage?.completion_tokens).toBe(5);
});

it('the openai client runs tools until the model has no more calls', async () => {
  const { client, model } = await connect();
  const asked: unknown[] = [];
  const runner = client.chat.completions.runTools({
    ...say('call weather {"city":"Rome"}'),
    tools: [
      {
        type: 'function',
        function: {
          name: 'weather',
          description: 'The weather of a city',
          parse: (text: string): unknown => JSON.parse(text),
          parameters: weather.function.parameters,
          function: (args: unknown) => {
            asked.push(args);
            return 'sunny';
          },
        },
      },
    ],
  });
  expect(await runner.finalContent()).toBe('sunny');
  expect(asked).toEqual([{ city: 'Rome' }]);
  expect(model.requests).toHaveLength(2);
});

it('the openai client parses a structured output', async () => {
  const { client, model } = await connect();
  const City = z.object({ name: z.string(), people: z.int() });
  const { choices } = await client.chat.completions.parse({
    ...say('{"name":"Rome","people":2800000}'),
    response_format: zodResponseFormat(City, 'city'),
  });
  expect(choices[0]?.message.parsed).toEqual({ name: 'Rome', people: 2800000 });
  expect(model.requests[0]?.constraint).toMatchObject({
    type: 'json_schema',
    schema: { type: 'object', required: ['name', 'people'], additionalProperties: false },
  });
});

it('the openai client reports a reply that was too short to parse', async () => {
  const { client } = await connect();
  const cut = client.chat.completions.parse({
    ...say('one two three'),
    max_completion_tokens: 1,
    response_format: zodResponseFormat(z.object({}), 'nothing'),
  });
  await expect(cut).rejects.toThrow('length limit');
});

it('the openai client reads log probabilities', async () => {
  const { client } = await connect();
  const { choices } = await client.chat.completions.create({ ...say('hé'), logprobs: true, top_logprobs: 1 });
  expect(choices[0]?.logprobs?.content?.[0]).toMatchObject({ token: 'hé', bytes: [104, 195, 169] });
  expect(choices[0]?.logprobs?.content?.[0]?.top_logprobs).toHaveLength(1);
});

it.each([
  [{ top_logprobs: 3 }, 'top_logprobs', 400, 'invalid_value'],
  [{ model: 'default:nobody' }, 'model', 404, 'model_not_found'],
  [
    { response_format: { type: 'json_schema' } },
    'response_format.json_schema.schema',
    400,
    'missing_required_parameter',
  ],
] as const)('the openai client reads the refusal of %j', async (more, param, status, code) => {
  const { client } = await connect();
  const body = { ...say('hi'), ...more } as OpenAI.ChatCompletionCreateParamsNonStreaming;
  await expect(client.chat.completions.create(body)).rejects.toMatchObject({ status, param, code });
  const stream = client.chat.completions.create({ ...body, stream: true });
  await expect(stream).rejects.toMatchObject({ status, param, code });
});

it('the openai client throws in the middle of a stream the error of the server', async () => {
  const { client } = await connect();
  const stream = client.chat.completions.stream(say('cut device_lost'));
  await expect(stream.finalChatCompletion()).rejects.toThrow('cut with device_lost');
});
