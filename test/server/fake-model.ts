// A text model without a model: it answers with the last message's words, and some words make it misbehave.
//   "hang"     after the first word it says nothing until it is aborted
//   "wait N"   N milliseconds pass before the first word, as in a long prefill
//   "hold"     nothing comes before the first word until release() is called
//   "fail C"   after the first word it fails with the EngineError code C
//   "refuse C" it fails with C before it accepts the request
//   "crash"    after the first word it throws something nobody foresaw
//   "flood N"  answers with N words of 1,000 characters
//   "think W"  it thinks those words, then says "so"
//   "call F J" it calls the tool F with the arguments J, given in pieces
//   "media C"  it refuses the first medium of the last message with the EngineError code C
//   "cut C"    after the first word each choice ends with an abort of error code C

import {
  type AdapterSummary,
  EngineError,
  type LoraInfo,
  type TextEvent,
  type TextModel,
  type TextModelInfo,
  type TextRequest,
} from '../../src/index.ts';
import { answer } from './fake-answer.ts';

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
  matrixUnit: 'software adapters have none',
};

export const fakeInfo: TextModelInfo = {
  kind: 'text',
  path: '/models/fake-chat',
  name: 'fake-chat',
  architecture: 'Qwen3ForCausalLM',
  parameters: 1000,
  weightFormats: ['q4_k', 'q6_k'],
  kvCacheDtype: 'f16',
  quantization: 'none',
  vocabSize: 256,
  contextLength: 4096,
  modelContextLength: 8192,
  maxRunningRequests: 16,
  maxQueuedRequests: 128,
  memory: { budget: 4096, weights: 1024, kv: 2048, arena: 1024 },
  storageBackend: null,
  sampling: { temperature: 0.4, topP: 1, topK: 0, minP: 0, repetitionPenalty: 1 },
  samplingSource: {
    temperature: 'generation_config.json',
    topP: 'contract',
    topK: 'contract',
    minP: 'contract',
    repetitionPenalty: 'contract',
  },
  media: [],
  hasChatTemplate: true,
  outputFormat: { tools: 'hermes', reasoning: 'think' },
  adapter: fakeAdapter,
};

export interface FakeModel extends TextModel {
  /** All requests that it received. */
  readonly requests: TextRequest[];
  /** All prompts that it rendered, with their limits. */
  readonly rendered: TextRequest[];
  /** LoRA adapters that are loaded. */
  adapters: LoraInfo[];
  /** Events that replace the answer after the acceptance. */
  events: TextEvent[] | null;
  running: number;
  closed: boolean;
  /** Lets all "hold" requests go on, also later ones. */
  release(): void;
  /** Ends like a thread that fails. */
  die(reason: Error): void;
}

export function createFakeModel(): FakeModel {
  let end!: (reason: Error) => void;
  let release!: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  const model: FakeModel = {
    info: fakeInfo,
    ended: new Promise((resolve) => (end = resolve)),
    asleep: false,
    die: (reason) => end(reason),
    release: () => release(),
    requests: [],
    rendered: [],
    adapters: [],
    events: null,
    running: 0,
    closed: false,
    async *generate(request, options) {
      model.requests.push(request);
      model.running += 1;
      try {
        yield* answer(request, model.events, released, options?.signal);
      } finally {
        model.running -= 1;
      }
    },
    async renderPrompt(prompt, limits, { signal } = {}) {
      const text = 'messages' in prompt ? JSON.stringify(prompt) : '';
      model.rendered.push({ prompt, ...limits });
      if (text.includes('hang here')) await untilAborted(signal!);
      return { text, ids: [...Buffer.from(text)] };
    },
    tokenize: (text, { addSpecialTokens = true } = {}) =>
      Promise.resolve([...(addSpecialTokens ? [1] : []), ...Buffer.from(text)]),
    detokenize: (ids, { skipSpecialTokens = false } = {}) =>
      Promise.resolve(Buffer.from(skipSpecialTokens ? ids.filter((id) => id > 2) : ids).toString()),
    metrics: () =>
      Promise.resolve({
        running: model.running,
        waiting: 0,
        pages: { used: 0, cached: 0, total: 0, tokensPerPage: 16, bytesPerPage: 1024 },
        cache: {
          lookedUp: 0,
          hitRate: 0,
          device: 0,
          host: 0,
          storage: 0,
          evicted: 0,
          backedUp: 0,
          loadedBack: 0,
          fetched: 0,
          hostBytes: { used: 3 * 1024, total: 8 * 1024 + 1 },
          storageBytes: null,
        },
        grammars: { asked: 5, known: 3, refused: 1, timedOut: 4, compiling: 2 },
        adapters: { loaded: model.adapters.length, most: 8 },
        steps: 0,
        sharedSteps: 0,
        promptTokens: 0,
        generatedTokens: 0,
        retractions: 0,
        deviceRestarts: 0,
        experts: { layers: 2, slots: 3, experts: 8, hits: 5, misses: 4, bytes: 700 },
      }),
    abort: () => Promise.resolve(0),
    flushCache: () => Promise.resolve(true),
    loadedLoras: () => Promise.resolve([...model.adapters]),
    async loadLora(name, path) {
      if (path.includes('missing')) throw new EngineError('model_not_found', `there is no folder ${path}`);
      model.adapters.push({ name, path, rank: 8, requests: 0 });
      return [...model.adapters];
    },
    async unloadLora(name) {
      if (!model.adapters.some((adapter) => adapter.name === name))
        throw new EngineError('model_not_found', `there is no adapter ${name} to unload`);
      model.adapters = model.adapters.filter((adapter) => adapter.name !== name);
      return [...model.adapters];
    },
    close() {
      model.closed = true;
      return Promise.resolve();
    },
    [Symbol.asyncDispose]: () => model.close(),
  };
  return model;
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(new EngineError('cancelled', 'the prompt is not needed'))),
  );
}
