// An embedding model without a model: a text's vector is made of the codes of its first characters.
//   "refuse C"  fails with the EngineError code C

import { type EmbeddingModel, type EmbeddingRequest, EngineError, type ErrorCode } from '../../src/index.ts';
import { fakeAdapter } from './fake-model.ts';

export interface FakeEmbeddingModel extends EmbeddingModel {
  /** All requests that it received. */
  readonly requests: EmbeddingRequest[];
}

const DIMENSIONS = 8;

export function createFakeEmbeddingModel(name = 'fake-embedding'): FakeEmbeddingModel {
  const model: FakeEmbeddingModel = {
    info: {
      kind: 'embedding',
      path: `/models/${name}`,
      name,
      architecture: 'BertModel',
      parameters: 1000,
      weightFormats: ['f16'],
      quantization: 'none',
      vocabSize: 256,
      dimensions: DIMENSIONS,
      pooling: 'mean',
      normalized: true,
      contextLength: 512,
      maxQueuedRequests: 128,
      memory: { budget: 4096, weights: 1024, kv: 0, arena: 1024 },
      adapter: fakeAdapter,
    },
    ended: new Promise(() => {}),
    asleep: false,
    requests: [],
    async *generate(request) {
      await Promise.resolve();
      model.requests.push(request);
      const { inputs, dimensions = DIMENSIONS } = request;
      const texts = inputs.map((input) => {
        if (Array.isArray(input)) return input;
        return [...Buffer.from(typeof input === 'string' ? input : input.text + input.pair)];
      });
      for (const [at, input] of inputs.entries()) {
        const [command, argument] = (typeof input === 'string' ? input : '').split(' ');
        if (command !== 'refuse') continue;
        const param = `inputs.${at}`;
        throw new EngineError(argument as ErrorCode, `${param} refused with ${argument}`, { param });
      }
      yield { type: 'accepted', tokens: texts.map(({ length }) => length) };
      for (const [index, ids] of [...texts.entries()].toReversed()) {
        const values = Float32Array.from({ length: dimensions }, (_, i) => (ids[i] ?? 0) / 256);
        yield { type: 'embedding', index, values };
      }
    },
    tokenize: (text) => Promise.resolve([1, ...Buffer.from(text), 2]),
    detokenize: (ids) => Promise.resolve(Buffer.from(ids).toString()),
    metrics: () => Promise.resolve({ waiting: 0, texts: 3, promptTokens: 12, steps: 2, deviceRestarts: 0 }),
    close: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => model.close(),
  };
  return model;
}
