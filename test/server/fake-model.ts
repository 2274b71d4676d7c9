// A text model without a model: it answers with the last message's words, and some words make it misbehave.
//   "hang"     after the first word it says nothing until it is aborted
//   "wait N"   N milliseconds pass before the first word, as in a long prefill
//   "fail C"   after the first word it fails with the EngineError code C
//   "refuse C" it fails with C before it accepts the request
//   "crash"    after the first word it throws something nobody foresaw
//   "flood N"  answers with N words of 1,000 characters

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import {
  type AdapterSummary,
  type ChatMessage,
  EngineError,
  type ErrorCode,
  type TextEvent,
  type TextModel,
  type TextModelInfo,
  type TextRequest,
} from '../../src/index.ts';

export const fakeAdapter: AdapterSummary = {
  index: 0,
  vendor: 'fake',
  architecture: '',
  device: 'fake device',
  description: 'fake adapter',
  software: true,
  features: [],
  limits: {},
  subgroupMinSize: 4,
  subgroupMaxSize: 4,
};

export const fakeInfo: TextModelInfo = {
  path: '/models/fake-chat',
  name: 'fake-chat',
  architecture: 'Qwen3ForCausalLM',
  parameters: 1000,
  quantization: 'none',
  vocabSize: 256,
  contextLength: 4096,
  modelContextLength: 8192,
  maxRunningRequests: 16,
  maxQueuedRequests: 128,
  memory: { budget: 4096, weights: 1024, kv: 2048, arena: 1024 },
  sampling: { temperature: 0.4, topP: 1, topK: 0, minP: 0 },
  samplingSource: {
    temperature: 'generation_config.json',
    topP: 'contract',
    topK: 'contract',
    minP: 'contract',
  },
  hasChatTemplate: true,
  outputFormat: { tools: 'hermes', reasoning: 'think' },
  adapter: fakeAdapter,
};

export interface FakeModel extends TextModel {
  /** Every request it was given. */
  readonly requests: TextRequest[];
  running: number;
  closed: boolean;
  /** Ends as a thread does that fails. */
  die(reason: Error): void;
}

function lastText(request: TextRequest): string {
  if (!('messages' in request.prompt)) return '';
  const message: ChatMessage | undefined = request.prompt.messages.at(-1);
  const content = message?.content ?? '';
  return typeof content === 'string' ? content : content.map(({ text }) => text ?? '').join('');
}

function untilAborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function* answer(
  request: TextRequest,
  signal: AbortSignal | undefined,
): AsyncGenerator<TextEvent, void, void> {
  const text = lastText(request);
  const [command, argument = ''] = text.split(' ');
  if (command === 'refuse') throw new EngineError(argument as ErrorCode, `refused with ${argument}`);
  const promptTokens = text.split(' ').length;
  const maxTokens = request.maxTokens ?? 100;
  yield { type: 'accepted', promptTokens, maxTokens };
  if (command === 'wait') await Promise.race([sleep(Number(argument)), untilAborted(signal)]);
  yield { type: 'prefill', processed: promptTokens, promptTokens, cachedTokens: 1 };

  const words =
    command === 'flood' ? Array<string>(Number(argument)).fill('x'.repeat(1000)) : text.split(/(?= )/);
  const wanted = words.slice(0, maxTokens);
  const choices = Array.from({ length: request.n ?? 1 }, (_, choice) => choice);
  for (const [at, word] of wanted.entries()) {
    if (at > 0 && command === 'hang') await untilAborted(signal);
    if (at > 0 && command === 'fail') throw new EngineError(argument as ErrorCode, `failed with ${argument}`);
    if (at > 0 && command === 'crash') throw new TypeError('secret detail');
    if (signal?.aborted) {
      for (const choice of choices) yield done(choice, 'abort', null, at);
      return;
    }
    for (const choice of choices) yield { type: 'delta', choice, text: word, ids: [at % 256] };
    await nextTurn();
  }
  const cut = wanted.length < words.length;
  for (const choice of choices) yield done(choice, cut ? 'length' : 'stop', cut ? null : 2, wanted.length);
}

function done(
  choice: number,
  finishReason: 'stop' | 'length' | 'abort',
  matchedStop: number | null,
  tokens: number,
): TextEvent {
  return { type: 'done', choice, finishReason, matchedStop, completionTokens: tokens };
}

export function createFakeModel(): FakeModel {
  let end!: (reason: Error) => void;
  const model: FakeModel = {
    info: fakeInfo,
    ended: new Promise((resolve) => (end = resolve)),
    die: (reason) => end(reason),
    requests: [],
    running: 0,
    closed: false,
    async *generate(request, options) {
      model.requests.push(request);
      model.running += 1;
      try {
        yield* answer(request, options?.signal);
      } finally {
        model.running -= 1;
      }
    },
    renderPrompt(prompt) {
      const text = 'messages' in prompt ? JSON.stringify(prompt) : '';
      return Promise.resolve({ text, ids: [...Buffer.from(text)] });
    },
    tokenize: (text, { addSpecialTokens = true } = {}) =>
      Promise.resolve([...(addSpecialTokens ? [1] : []), ...Buffer.from(text)]),
    detokenize: (ids, { skipSpecialTokens = false } = {}) =>
      Promise.resolve(Buffer.from(skipSpecialTokens ? ids.filter((id) => id > 2) : ids).toString()),
    metrics: () =>
      Promise.resolve({
        running: model.running,
        waiting: 0,
        pages: { used: 0, cached: 0, total: 0, tokensPerPage: 16 },
        cache: { lookedUp: 0, hitRate: 0, device: 0, host: 0, storage: 0, evicted: 0 },
        steps: 0,
        sharedSteps: 0,
        promptTokens: 0,
        generatedTokens: 0,
        retractions: 0,
        deviceRestarts: 0,
      }),
    abort: () => Promise.resolve(0),
    flushCache: () => Promise.resolve(true),
    close() {
      model.closed = true;
      return Promise.resolve();
    },
    [Symbol.asyncDispose]: () => model.close(),
  };
  return model;
}
