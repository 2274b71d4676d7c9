// The ImageModel face: requests are drawn one after the other, in the order they came.

import { EngineError } from '../../files/error.ts';
import { createEventQueue } from '../session/event-queue.ts';
import { closedError } from '../session/session.ts';
import type { ImageEvent, ImageModel, ImageModelInfo, ImageRequest } from './image-model.ts';
import type { Resolved } from './resolve.ts';

export interface ImageModelParts {
  info: ImageModelInfo;
  resolve(request: ImageRequest): Resolved;
  /** Draws a resolved request. */
  draw(resolved: Resolved, emit: (event: ImageEvent) => void, options: DrawOptions): Promise<void>;
  /** Gives back the device and the files. */
  release(): Promise<void>;
}

export interface DrawOptions {
  signal?: AbortSignal | undefined;
  profile?: boolean | undefined;
  /** Kernels are compiled, and nothing is drawn. */
  compileOnly?: boolean;
  /** The fastest variants of the denoiser's kernels are found first. */
  tune?: boolean;
  /** Steps that are taken at most. */
  mostSteps?: number;
}

export function createImageModel({ info, resolve, draw, release }: ImageModelParts): ImageModel {
  const leaving = new AbortController();
  let end!: (reason: Error) => void;
  const ended = new Promise<Error>((resolveEnded) => (end = resolveEnded));
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(run: () => Promise<T>): Promise<T> => {
    const turn = last.then(run, run);
    last = turn.catch(() => {});
    return turn;
  };
  const assertOpen = (): void => {
    if (leaving.signal.aborted) throw closedError();
  };

  async function* generate(
    request: ImageRequest,
    { signal, profile }: { signal?: AbortSignal; profile?: boolean } = {},
  ): AsyncGenerator<ImageEvent, void, void> {
    assertOpen();
    const resolved = resolve(request);
    const gone = new AbortController();
    const stops = AbortSignal.any([leaving.signal, gone.signal, ...(signal ? [signal] : [])]);
    const queue = createEventQueue<ImageEvent>();
    let begun = false;
    // A request that waits behind others leaves at once.
    const leave = (): void => {
      if (!begun) queue.fail(new EngineError('cancelled', 'the request was cancelled before it began'));
    };
    if (stops.aborted) leave();
    stops.addEventListener('abort', leave, { once: true });
    const drawing = inTurn(async () => {
      if (stops.aborted) return;
      begun = true;
      const startedAt = performance.now();
      queue.push(resolved.event);
      await draw(resolved, queue.push, { signal: stops, profile });
      queue.push({ type: 'done', milliseconds: performance.now() - startedAt });
    });
    drawing.then(queue.close, queue.fail);
    try {
      yield* queue.read();
    } finally {
      gone.abort();
      if (begun) await drawing.catch(() => {});
    }
  }

  const close = async (): Promise<void> => {
    leaving.abort();
    await last;
    await release().finally(() => end(closedError()));
  };
  let closing: Promise<void> | null = null;
  const closeOnce = (): Promise<void> => (closing ??= close());

  return {
    info,
    ended,
    asleep: false,
    generate,
    async resolve(request) {
      return resolve(request).event;
    },
    warmUp: (request, steps, { tune = false } = {}) =>
      inTurn(async () => {
        assertOpen();
        const resolved = resolve({ ...request, samples: 1, previews: 0 });
        const { signal } = leaving;
        const extent = steps === 0 ? { compileOnly: true } : { mostSteps: steps };
        await draw(resolved, () => {}, { signal, tune, ...extent });
      }),
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}
