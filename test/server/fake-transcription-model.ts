// A transcription model without a model: it says what its prompt says, a segment a word.
//   "refuse C"  fails with the EngineError code C
//   "silence"   no segment

import {
  EngineError,
  type ErrorCode,
  type TranscriptionModel,
  type TranscriptionRequest,
} from '../../src/index.ts';
import { fakeAdapter } from './fake-model.ts';

export interface FakeTranscriptionModel extends TranscriptionModel {
  /** All requests that it received. */
  readonly requests: TranscriptionRequest[];
}

export function createFakeTranscriptionModel(name = 'fake-transcription'): FakeTranscriptionModel {
  const model: FakeTranscriptionModel = {
    info: {
      kind: 'transcription',
      path: `/models/${name}`,
      name,
      architecture: 'WhisperForConditionalGeneration',
      parameters: 1000,
      weightFormats: ['f16'],
      quantization: 'none',
      languages: ['en', 'de'],
      translates: true,
      writesTimes: true,
      timesWords: true,
      windowSeconds: 30,
      maxRunningRequests: 4,
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
      const { prompt = 'one two', language = 'de' } = request;
      const [command, argument] = prompt.split(' ');
      if (command === 'refuse')
        throw new EngineError(argument as ErrorCode, `audio refused with ${argument}`, { param: 'audio' });
      yield { type: 'accepted', seconds: 61.5 };
      yield { type: 'language', language, probability: null };
      const spoken = command === 'silence' ? [] : prompt.split(' ');
      for (const [id, word] of spoken.entries()) {
        const segment = {
          ...{ id, start: 60 * id, end: 60 * id + 1.5, text: ` ${word}`, tokens: [id], seek: 30 * id },
          ...{ temperature: 0, averageLogprob: -0.5, compressionRatio: 1.5, noSpeechProbability: 0.25 },
        };
        const words = [{ text: ` ${word}`, start: 60 * id + 0.1, end: 60 * id + 0.5 }];
        yield { type: 'segment', segment: { ...segment, ...(request.words && { words }) } };
      }
      yield { type: 'done', tokens: 2 };
    },
    metrics: () => Promise.resolve({ waiting: 0, windows: 2, generatedTokens: 4, deviceRestarts: 0 }),
    close: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => model.close(),
  };
  return model;
}
