// An embedding model without a model: a text's vector is made of the codes of its first characters. One with a head gives values that
// depend on the length of a text, or of a pair's second text.
//   "refuse C"  fails with the EngineError code C

import {
  type EmbeddingModel,
  type EmbeddingModelInfo,
  type EmbeddingRequest,
  EngineError,
  type ErrorCode,
} from '../../src/index.ts';
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
      const texts = inputs.map(idsOf);
      refuseSome(inputs);
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

type Input = EmbeddingRequest['inputs'][number];

function idsOf(input: Input): number[] {
  if (Array.isArray(input)) return input;
  return [...Buffer.from(typeof input === 'string' ? input : input.text + input.pair)];
}

function refuseSome(inputs: readonly Input[]): void {
  for (const [at, input] of inputs.entries()) {
    const text = typeof input === 'object' && 'pair' in input ? input.pair : input;
    const [command, argument] = typeof text === 'string' ? text.split(' ') : [];
    if (command !== 'refuse') continue;
    const param = `inputs.${at}`;
    throw new EngineError(argument as ErrorCode, `${param} refused with ${argument}`, { param });
  }
}

/** A model with a head: one label has a quarter of a text's length as its score; of several labels, that of the length has the half. */
export function createFakeClassifier(
  classifier: NonNullable<EmbeddingModelInfo['classifier']>,
): FakeEmbeddingModel {
  const model = createFakeEmbeddingModel();
  const count = classifier.labels.length;
  const info = { ...model.info, dimensions: count, normalized: false, classifier };
  return {
    ...model,
    info,
    async *generate(request) {
      await Promise.resolve();
      model.requests.push(request);
      refuseSome(request.inputs);
      yield { type: 'accepted', tokens: request.inputs.map((input) => idsOf(input).length) };
      for (const [index, input] of request.inputs.entries()) {
        const { length } = idsOf(typeof input === 'object' && 'pair' in input ? input.pair : input);
        const scores = Array.from({ length: count }, (_, at) => (at === length % count ? 0.5 : 0.25));
        const one = [request.activation === false ? length : length / 4];
        const perToken = Array.from({ length }, () => [0.5, 0.25]).flat();
        const values = classifier.per === 'token' ? perToken : count === 1 ? one : scores;
        yield { type: 'embedding', index, values: Float32Array.from(values) };
      }
    },
  };
}
