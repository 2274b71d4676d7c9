// The command's fake image model as a served model: it counts running requests and ends when a test says so.

import type { CompleteImageRequest } from '../../src/engine/image/calls/image-model.ts';
import type { ImageModel } from '../../src/index.ts';
import { type ClipDefaults, createFakeImageModel } from '../cli/fake-image-model.ts';

export interface FakeServedImageModel extends ImageModel {
  /** All requests that it received. */
  readonly requests: CompleteImageRequest[];
  running: number;
  /** Ends like a thread that fails. */
  die(reason: Error): void;
}

export async function openFakeImageModel(clips?: ClipDefaults): Promise<FakeServedImageModel> {
  const { open, requests } = createFakeImageModel(clips);
  const opened = await open({ model: 'fake-scenes' });
  let end!: (reason: Error) => void;
  const model: FakeServedImageModel = {
    ...opened,
    ended: new Promise((resolve) => (end = resolve)),
    asleep: false,
    die: (reason) => end(reason),
    requests,
    running: 0,
    async *generate(request, options) {
      model.running += 1;
      try {
        yield* opened.generate(request, options);
      } finally {
        model.running -= 1;
      }
    },
  };
  return model;
}
