// svc-engine/prompt-api: `LanguageModel` of the browsers' Prompt API on a model of the engine, for pages and programs where the browser has none.

import { promptError, unsupportedHere } from './dom-errors.ts';
import { PromptSession, type PromptLimits } from './prompt-session.ts';
import { DownloadMonitor } from './monitor.ts';
import {
  type Availability,
  type CoreOptions,
  type CreateOptions,
  type LanguageModelParams,
  stateOf,
} from './prompt-input.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import type { TextModel } from '../../engine/text/calls/text-model.ts';

export type * from './prompt-input.ts';
export type { PromptSession } from './prompt-session.ts';

export interface PromptApiOptions {
  /** Opens the model, when the first session is created; a failed opening is tried again. */
  open(onEvent: (event: OpenEvent) => void): Promise<TextModel>;
  /** Answers availability() before the model is opened. Default: downloadable. */
  availability?(): Availability | Promise<Availability>;
}

/** What the global `LanguageModel` is. */
export interface LanguageModelStatic {
  create(options?: CreateOptions): Promise<PromptSession>;
  availability(options?: CoreOptions): Promise<Availability>;
  params(): Promise<LanguageModelParams | null>;
}

const LIMITS: PromptLimits = { maxTopK: 128, maxTemperature: 2 };

/**
 * Makes `LanguageModel`: globalThis.LanguageModel ??= createLanguageModel({ open }). All its sessions share the model, which stays open when they are
 * destroyed. Errors are DOMExceptions with the names of the specification: AbortError, InvalidStateError, NotSupportedError, QuotaExceededError,
 * SyntaxError, OperationError; their `cause` is the EngineError.
 */
export function createLanguageModel(options: PromptApiOptions): LanguageModelStatic {
  const backend = new Backend(options);
  return {
    create: (given) => backend.create(given ?? {}),
    availability: (given) => backend.availability(given ?? {}),
    params: async () => backend.params(),
  };
}

class Backend {
  readonly #options: PromptApiOptions;
  readonly #listeners = new Set<(event: OpenEvent) => void>();
  #opening: Promise<TextModel> | null = null;
  #model: TextModel | null = null;

  constructor(options: PromptApiOptions) {
    this.#options = options;
  }

  async create(options: CreateOptions): Promise<PromptSession> {
    const { signal, monitor } = options;
    signal?.throwIfAborted();
    const state = await stateOf(options.initialPrompts ?? []);
    const download = new DownloadMonitor();
    monitor?.(download);
    const listener = (event: OpenEvent): void => download.follow(event);
    this.#listeners.add(listener);
    try {
      const model = await this.#opened(signal);
      download.finish();
      if (!takes(model, options))
        throw unsupportedHere(`${model.info.name} does not take the expected inputs or outputs`);
      return await PromptSession.create(model, options, state, LIMITS);
    } catch (error) {
      throw promptError(error, signal);
    } finally {
      this.#listeners.delete(listener);
    }
  }

  async availability(options: CoreOptions): Promise<Availability> {
    if (this.#model !== null) return takes(this.#model, options) ? 'available' : 'unavailable';
    if (this.#opening !== null) return 'downloading';
    return (await this.#options.availability?.()) ?? 'downloadable';
  }

  params(): LanguageModelParams | null {
    if (this.#model === null) return null;
    const { temperature, topK } = this.#model.info.sampling;
    const { maxTopK, maxTemperature } = LIMITS;
    const defaultTopK = topK >= 1 ? Math.min(topK, maxTopK) : maxTopK;
    return { defaultTopK, maxTopK, defaultTemperature: temperature, maxTemperature };
  }

  /** Opens the model once for all; an abort of `signal` leaves the opening to the others. */
  #opened(signal: AbortSignal | undefined): Promise<TextModel> {
    this.#opening ??= this.#open();
    const opening = this.#opening;
    if (signal === undefined) return opening;
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      opening.then(resolve, reject);
    });
  }

  async #open(): Promise<TextModel> {
    try {
      const model = await this.#options.open((event) =>
        this.#listeners.forEach((listener) => listener(event)),
      );
      this.#model = model;
      void model.ended.then(() => this.#forget());
      return model;
    } catch (error) {
      this.#forget();
      throw error;
    }
  }

  #forget(): void {
    this.#opening = null;
    this.#model = null;
  }
}

function takes(
  { info: { media, hasChatTemplate } }: TextModel,
  { expectedInputs = [], expectedOutputs = [] }: CoreOptions,
): boolean {
  const kinds: readonly string[] = ['text', ...media];
  return (
    hasChatTemplate &&
    expectedInputs.every(({ type }) => kinds.includes(type)) &&
    expectedOutputs.every(({ type }) => type === 'text')
  );
}
