// The command's fake image model as one that is served: it counts what runs, and ends where a test says so.

import type { ImageModel, ImageRequest } from '../../src/index.ts';
import { createFakeImageModel } from '../cli/fake-image-model.ts';

export interface FakeServedImageModel extends ImageModel {
  /** Every request it was given to draw. */
  readonly requests: ImageRequest[];
  running: number;
  /** Ends as a thread does that fails. */
  die(reason: Error): void;
}

export async function openFakeImageModel(): Promise<FakeServedImageModel> {
  const { open, requests } = createFakeImageModel();
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
