// A server on the shipped model, queried by the openai package, plain and streamed. The model runs in the test's own thread on a kept device, so
// that files share its kernels; test/live and test/server/engine.test.ts serve it from a worker.

import OpenAI from 'openai';
import { afterAll, beforeAll, expect } from 'vitest';
import { openTextModel, shippedModelPath, type TextModel, type TextModelOptions } from '../../src/index.ts';
import { type RunningServer, startServer } from '../../src/server/lifecycle.ts';
import { checkReplies } from './docs/checked-replies.ts';
import { noiseModel } from './noise-model.ts';

let server: RunningServer;
let endChecks = (): void => {};
const models: TextModel[] = [];
export let client: OpenAI;
export let url: string;

/** Starts the server for all tests of a file or a group. `noise`: it also serves noise-model.ts, under the name 'noise'. */
export function serveShipped(options: Partial<TextModelOptions> = {}, { noise = false } = {}): void {
  beforeAll(async () => {
    const log = { error: console.error, warn() {}, info() {}, debug() {} };
    server = await startServer({ host: '127.0.0.1', port: 0 }, log);
    endChecks = checkReplies(server.url);
    url = server.url;
    client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'unused', maxRetries: 0, timeout: 50_000 });
    await add({ model: shippedModelPath(), ...options });
    if (!noise) return;
    const folder = noiseModel();
    await add({ model: folder.path }, ['noise']);
    folder.remove();
  }, 120_000);

  afterAll(async () => {
    await server?.close();
    endChecks();
    await Promise.all(models.splice(0).map((model) => model.close()));
  });
}

async function add(options: TextModelOptions, names: string[] = []): Promise<void> {
  const served = server.addModel({ names });
  const model = await openTextModel({ memoryBudget: 2 ** 27, inline: true, ...options });
  models.push(model);
  served.ready(model);
}

type Reply = Awaited<ReturnType<typeof plain>>;

interface Extra {
  matched_stop: string | number | null;
  token_ids?: number[];
  prompt_token_ids?: number[];
}

/** Fields for which the openai package has no types are passed on unchanged. */
export const body = (content: string, more: object) =>
  ({
    model: 'default',
    messages: [{ role: 'user', content }],
    temperature: 0,
    max_completion_tokens: 40,
    ...more,
  }) as OpenAI.ChatCompletionCreateParamsNonStreaming;

export async function plain(content: string, more: object = {}) {
  const reply = await client.chat.completions.create(body(content, more));
  const choice = reply.choices[0]! as (typeof reply.choices)[0] & Extra;
  const { content: text, ...message } = choice.message as typeof choice.message & {
    reasoning_content?: string;
  };
  return {
    text: text ?? '',
    reasoning: message.reasoning_content ?? '',
    calls: message.tool_calls ?? [],
    logprobs: choice.logprobs?.content ?? [],
    finish: choice.finish_reason as string,
    matched: choice.matched_stop,
    choice,
    reply,
  };
}

export async function streamed(content: string, more: object = {}) {
  const stream = await client.chat.completions.create({ ...body(content, more), stream: true });
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const choices = chunks.flatMap((chunk) => chunk.choices) as (OpenAI.ChatCompletionChunk.Choice & Extra)[];
  const deltas = choices.map(({ delta }) => delta as typeof delta & { reasoning_content?: string });
  return {
    text: deltas.map((delta) => delta.content ?? '').join(''),
    reasoning: deltas.map((delta) => delta.reasoning_content ?? '').join(''),
    thoughts: deltas.filter((delta) => delta.reasoning_content).length,
    logprobs: choices.flatMap(({ logprobs }) => logprobs?.content ?? []),
    finish: choices.at(-1)?.finish_reason as string,
    matched: choices.at(-1)?.matched_stop,
  };
}

/** Requests the reply plain and streamed, and asserts that both are equal. */
export async function both(content: string, more: object = {}): Promise<Reply> {
  const whole = await plain(content, more);
  const { thoughts: _, ...pieces } = await streamed(content, more);
  const { text, reasoning, logprobs, finish, matched } = whole;
  expect(pieces).toEqual({ text, reasoning, logprobs, finish, matched });
  return whole;
}
