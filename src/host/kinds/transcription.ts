// Transcription models: sounds in, segments of text out.

import { BoundedWaitQueue } from '../../engine/async/wait-queue.ts';
import type {
  TranscriptionModel,
  TranscriptionModelOptions,
  TranscriptionRequest,
} from '../../engine/transcription/transcription-model.ts';
import { checkTranscriptionModelOptions } from '../../engine/transcription/transcription-rules.ts';
import { TRANSCRIBER_NAMES } from '../../engine/opening/transcriber-names.ts';
import { bytesText } from '../../files/bytes-text.ts';
import { countText } from '../../files/count-text.ts';
import type { ModelKind } from './model-kind.ts';
import { PlainRepeat } from './repeat.ts';
import { formatsText, parametersText } from './summary-words.ts';

export const TRANSCRIPTION: ModelKind<TranscriptionModelOptions, TranscriptionModel> = {
  name: 'transcription',
  article: 'a',
  noun: 'transcription model',
  endpoint: 'POST /v1/audio/transcriptions',
  opener: 'openTranscriptionModel',
  classes: TRANSCRIBER_NAMES,
  module: import.meta.url,
  calls: { metrics: { passive: true } },
  check: checkTranscriptionModelOptions,
  sleep: ({ info }) => ({
    waitQueue: new BoundedWaitQueue(info.maxQueuedRequests + info.maxRunningRequests),
    async rest(model) {
      const metrics = await model.metrics();
      return { answers: { metrics: async () => metrics }, restore: async () => {} };
    },
  }),
  // A request that has to run again draws the same tokens.
  repeat: (request: TranscriptionRequest) =>
    new PlainRepeat({ seed: Math.floor(Math.random() * 2 ** 32), ...request }),
  engine: async () => (await import('../../engine/transcription/open.ts')).openTranscription,
  paper: async () =>
    (await import('../../engine/transcription/plan-transcription.ts')).openTranscriptionOnPaper,
  summary(info) {
    const { architecture, languages, windowSeconds, memory, adapter } = info;
    return [
      `Model: ${architecture}, ${parametersText(info)}, weights ${formatsText(info)}, ${countText(languages.length, 'language')}, windows of ${countText(windowSeconds, 'second')}`,
      `Memory: ${bytesText(memory.weights + memory.kv)} of ${bytesText(memory.budget)}; on ${adapter.description || adapter.device}`,
    ];
  },
};
