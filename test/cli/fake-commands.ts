// The commands of svc with the fake model in place of the engine.
//   SVC_FAKE_OPEN   "slow": opening takes until the process is stopped; "mortal": the first model dies soon after; an error
//                   code: opening fails with it
//   SVC_FAKE_MEDIA  kinds of media that the model takes, with commas; left out: none

import { createChat } from '../../src/cli/chat/chat.ts';
import { createGenerate } from '../../src/cli/generate/generate.ts';
import type { Commands } from '../../src/cli/run.ts';
import { createServe, type OpenTextModel } from '../../src/cli/serve/serve.ts';
import { createTranscribe } from '../../src/cli/transcribe.ts';
import {
  EngineError,
  type ErrorCode,
  extendTranscriptionModel,
  type TextModelInfo,
} from '../../src/index.ts';
import { createFakeEmbeddingModel } from '../server/fake-embedding-model.ts';
import { createFakeModel } from '../server/fake-model.ts';
import { createFakeTranscriptionModel } from '../server/fake-transcription-model.ts';
import { createFakeImageModel } from './fake-image-model.ts';

let opened = 0;

const open: OpenTextModel = async (options, onEvent = () => {}) => {
  const mode = process.env['SVC_FAKE_OPEN'];
  onEvent({
    type: 'download',
    file: 'model.safetensors',
    bytes: 0,
    totalBytes: 2_000_000,
    resumedPercent: 40,
  });
  for (let done = 0; done <= 20; done += 1) onEvent({ type: 'warmup', done, total: 20 });
  onEvent({ type: 'note', message: `options ${JSON.stringify(options)}` });
  if (mode === 'slow') await new Promise((resolve) => setTimeout(resolve, 60_000));
  else if (mode && mode !== 'mortal')
    throw new EngineError(mode as ErrorCode, `opening failed with ${mode}.`);
  const model = createFakeModel();
  const media = (process.env['SVC_FAKE_MEDIA']?.split(',') ?? []) as TextModelInfo['media'];
  Object.assign(model, { info: { ...model.info, media } });
  if (mode === 'mortal' && opened++ === 0) setTimeout(() => model.die(new Error('the thread ended')), 100);
  return model;
};

export const FAKE_COMMANDS: Commands = {
  serve: {
    summary: 'Serve.',
    load: () =>
      Promise.resolve(
        createServe({
          text: open,
          image: createFakeImageModel().open,
          embedding: async () => createFakeEmbeddingModel(),
          transcription: async () => createFakeTranscriptionModel(),
        }),
      ),
  },
  chat: { summary: 'Talk.', load: () => Promise.resolve(createChat(open)) },
  transcribe: {
    summary: 'Write.',
    load: () =>
      Promise.resolve(
        createTranscribe(async () => ({
          kind: 'transcription' as const,
          model: extendTranscriptionModel(createFakeTranscriptionModel()),
        })),
      ),
  },
  generate: { summary: 'Draw.', load: () => Promise.resolve(createGenerate(createFakeImageModel().open)) },
};
