// The engine's face in a window of the app. Electron runs installFace() in the page from its source text, so that it may use nothing but its
// argument and its own functions.

import type { EmbeddingModel, EmbeddingModelOptions } from '../../engine/embedding/embedding-model.ts';
import type { ImageModel, ImageModelOptions } from '../../engine/image/calls/image-model.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import type { TextModel, TextModelOptions } from '../../engine/text/calls/text-model.ts';
import type {
  TranscriptionModel,
  TranscriptionModelOptions,
} from '../../engine/transcription/transcription-model.ts';
import type { AdapterSummary } from '../../gpu/adapter.ts';
import type { WireError } from '../../engine/platform/wire-error.ts';
import type { Outcome, WindowCalls, WindowEvents, WindowModel } from './window-calls.ts';

/** A model as windows see it; whether it sleeps is known to the main process. */
export type InWindow<M> = Omit<M, 'asleep'>;

type Open<Options, M> = (
  options: Omit<Options, 'inline'>,
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
) => Promise<InWindow<M>>;

/** `window.svcEngine`. Models that windows open with equal options are one model. Errors have the `code` and `param` of EngineError. */
export interface WindowEngine {
  readonly openTextModel: Open<TextModelOptions, TextModel>;
  readonly openImageModel: Open<ImageModelOptions, ImageModel>;
  readonly openEmbeddingModel: Open<EmbeddingModelOptions, EmbeddingModel>;
  readonly openTranscriptionModel: Open<TranscriptionModelOptions, TranscriptionModel>;
  adapters(): Promise<AdapterSummary[]>;
}

/** Sets `window.svcEngine`. */
export function installFace(engine: WindowCalls): void {
  const errorOf = ({ code, message, param }: WireError): Error =>
    Object.assign(new Error(message), code !== null && { name: 'EngineError', code, param });
  const valueOf = <T>(outcome: Outcome<T>): T => {
    if ('error' in outcome) throw errorOf(outcome.error);
    return outcome.value;
  };

  async function* read(
    events: WindowEvents,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<unknown, void, void> {
    const abort = (): void => events.abort(); // not with the event, which cannot be copied
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
    try {
      for (let event = valueOf(await events.next()); event !== null; event = valueOf(await events.next()))
        yield event;
    } finally {
      signal?.removeEventListener('abort', abort);
      await events.leave();
    }
  }

  const modelOf = ({ info, calls, ended, generate, close }: WindowModel): object => {
    const methods = Object.entries(calls).map(([name, call]) => [
      name,
      async (...given: unknown[]) => valueOf(await call(...given)),
    ]);
    const closed = async (): Promise<void> => valueOf(await close());
    return {
      ...Object.fromEntries(methods),
      info,
      ended: ended.then(errorOf),
      generate: (request: unknown, { signal, ...more }: { signal?: AbortSignal } = {}) =>
        read(generate(request, more), signal),
      close: closed,
      ...(Symbol.asyncDispose && { [Symbol.asyncDispose]: closed }),
    };
  };

  const opener =
    (kind: string) =>
    async (
      options: object,
      onEvent: (event: OpenEvent) => void = () => {},
      signal?: AbortSignal,
    ): Promise<object> => {
      const opening = engine.open(kind, options, onEvent);
      const cancel = (): void => opening.cancel();
      signal?.addEventListener('abort', cancel, { once: true });
      if (signal?.aborted) cancel();
      return modelOf(
        valueOf(await opening.opened.finally(() => signal?.removeEventListener('abort', cancel))),
      );
    };

  const face = {
    ...Object.fromEntries(engine.openers.map((one) => [one.opener, opener(one.kind)])),
    adapters: async () => valueOf(await engine.adapters()),
  };
  Object.defineProperty(globalThis, 'svcEngine', { value: Object.freeze(face), enumerable: true });
}
