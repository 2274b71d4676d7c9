// The transcription model of one thread: it checks requests, decodes their sounds, and transcribes them window by window.

import { DEFAULTS } from '../../options/limits.ts';
import { EngineError } from '../../files/error.ts';
import type { Sound } from '../../files/media/decoded.ts';
import type { MediaDecoders } from '../../files/media/decoders.ts';
import type { MediaBounds } from '../../files/media/media.ts';
import { resampleSound } from '../../files/media/sound-reader.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';
import type { Transcriber } from '../../models/audio/transcriber.ts';
import { cancelled, onAbort } from '../async/abort-listeners.ts';
import { closedError } from '../async/cancelled.ts';
import { overloaded } from '../async/wait-queue.ts';
import type { ServedDevice, Service } from '../opening/served.ts';
import { decodeWithin, workInTurns } from '../text/media/decode-turns.ts';
import { languageCode } from './languages.ts';
import { tokenTimes } from './token-times.ts';
import type { SpeechTokens } from './speech-tokens.ts';
import type { LoadedTranscriber } from './step-queue.ts';
import type { WordRules } from './segment-words.ts';
import { transcribe, type Spoken, type TranscribeRules, type WithWindow } from './transcribe.ts';
import type {
  TranscriptionEvent,
  TranscriptionMetrics,
  TranscriptionModel,
  TranscriptionModelInfo,
  TranscriptionRequest,
} from './transcription-model.ts';
import { checkTranscriptionRequest } from './transcription-rules.ts';
import { divideWords } from './words.ts';

/** The parts of a model that outlive its device. */
export interface TranscriberParts {
  transcriber: Transcriber;
  tokens: SpeechTokens;
  tokenizer: Tokenizer;
  decoders: MediaDecoders;
  bounds: MediaBounds;
}

/** Temperatures that are tried in turn, and thresholds. source: openai-whisper's defaults */
const TEMPERATURES = [0, 0.2, 0.4, 0.6, 0.8, 1];
const [COMPRESSION, LOGPROB, NO_SPEECH] = [2.4, -1, 0.6];
/** Number of device losses during one window after which its request fails. */
const MOST_LOSSES = 3;

export class LocalTranscriptionModel implements Service<TranscriptionModel> {
  readonly info: TranscriptionModelInfo;
  readonly #parts: TranscriberParts;
  readonly #session: ServedDevice<LoadedTranscriber>;
  /** Aborts when the model is closed. */
  readonly #closing = new AbortController();
  #requests = 0;
  readonly #counters = { windows: 0, generatedTokens: 0 };

  constructor(
    info: TranscriptionModelInfo,
    parts: TranscriberParts,
    session: ServedDevice<LoadedTranscriber>,
  ) {
    this.info = info;
    this.#parts = parts;
    this.#session = session;
    session.defer(() => this.#closing.abort());
  }

  async *generate(
    request: TranscriptionRequest,
    { signal }: { signal?: AbortSignal } = {},
  ): AsyncGenerator<TranscriptionEvent, void, void> {
    const { info } = this;
    this.#session.assertOpen();
    checkTranscriptionRequest(request, info, this.#parts.bounds);
    if (signal?.aborted) throw cancelled();
    if (this.#requests >= info.maxQueuedRequests + info.maxRunningRequests)
      throw overloaded(this.#requests - info.maxRunningRequests);
    const leaving = new AbortController();
    // Also checks the language, which a stream must refuse before it begins.
    const rules = this.#rulesOf(request, leaving.signal);
    const stops = [signal, this.#closing.signal].map((one) => onAbort(one, () => leaving.abort()));
    this.#requests += 1;
    try {
      const sound = await this.#decode(request.audio, leaving.signal);
      yield { type: 'accepted', seconds: sound.samples.length / sound.rate };
      const spoken = await this.#listen(sound, leaving.signal);
      const events = transcribe(spoken, this.#parts.transcriber.sound, rules, this.#windows(leaving.signal));
      for await (const event of events) {
        if (event.type === 'done') this.#counters.generatedTokens += event.tokens;
        yield event;
      }
    } catch (error) {
      if (this.#closing.signal.aborted) throw closedError();
      throw leaving.signal.aborted ? new EngineError('cancelled', 'the request was cancelled') : error;
    } finally {
      this.#requests -= 1;
      stops.forEach((stop) => stop());
      leaving.abort();
    }
  }

  #rulesOf(request: TranscriptionRequest, signal: AbortSignal): TranscribeRules {
    const { tokens, transcriber, tokenizer } = this.#parts;
    const { temperature = TEMPERATURES, language, prompt = '' } = request;
    const { context } = transcriber;
    return {
      tokens,
      context,
      hasTimes: request.timestamps ?? tokens.times !== null,
      temperatures: typeof temperature === 'number' ? [temperature] : temperature,
      compressionRatioThreshold: given(request.compressionRatioThreshold, COMPRESSION),
      logprobThreshold: given(request.logprobThreshold, LOGPROB),
      noSpeechThreshold: given(request.noSpeechThreshold, NO_SPEECH),
      maxTokens: request.maxTokens ?? (tokens.previous === null ? context : Math.floor(context / 2)),
      seed: request.seed ?? Math.floor(Math.random() * 2 ** 32),
      // The tokens of times, which are not special, follow the one that ends a text.
      textOf: (ids) => tokenizer.decode(tokens.times ? ids.filter((id) => id < tokens.end) : [...ids]),
      language: language === undefined ? null : languageCode(language, this.info.languages),
      task: request.task ?? 'transcribe',
      prompt: prompt.trim() === '' ? [] : tokenizer.encode(` ${prompt.trim()}`, { addSpecialTokens: false }),
      conditionOnPreviousText: request.conditionOnPreviousText ?? true,
      words: request.words ? this.#wordRules(signal) : null,
    };
  }

  #wordRules(signal: AbortSignal): WordRules {
    const { tokenizer } = this.#parts;
    const textOf = (ids: number[]): string => tokenizer.decode(ids, { skipSpecialTokens: false });
    return {
      divide: (ids, language) => divideWords(ids, language, textOf),
      timesOf: (looks) => workInTurns(tokenTimes(looks), signal),
    };
  }

  #decode(audio: Uint8Array | Sound, signal: AbortSignal): Promise<Sound> {
    const { decoders, bounds, transcriber } = this.#parts;
    const { rate } = transcriber.sound;
    return decodeWithin('audio', bounds, signal, (late) =>
      audio instanceof Uint8Array
        ? decoders.audio(audio, 'audio', { bounds, rate, signal: late })
        : resampleSound(audio, { rate, signal: late }),
    );
  }

  /** Features of the whole sound, filled with silence up to the shortest window: what is loudest in all of it may bound what is quiet. */
  async #listen({ samples }: Sound, signal: AbortSignal): Promise<Spoken> {
    const { sound } = this.#parts.transcriber;
    const frames = sound.framesOf(samples.length);
    const all = sound.features(samples, Math.max(frames, sound.least));
    return { features: await workInTurns(all, signal), frames };
  }

  /** Computes windows on the device that is there, again on a new one if it is lost. */
  #windows(signal: AbortSignal): WithWindow {
    return async (features, use) => {
      const session = this.#session;
      for (let losses = 1; ; losses++) {
        const { steps } = await session.ready();
        try {
          const result = await steps.withWindow(features, use, signal);
          this.#counters.windows += 1;
          return result;
        } catch (cause) {
          if (signal.aborted || (await session.loss()) === null || session.isClosed || losses === MOST_LOSSES)
            throw cause;
        }
      }
    };
  }

  async metrics(): Promise<TranscriptionMetrics> {
    return { waiting: this.#requests, ...this.#counters, deviceRestarts: this.#session.restarts };
  }
}

const given = (threshold: number | null | undefined, otherwise: number): number | null =>
  threshold === undefined ? otherwise : threshold;

/** Limits on sounds; other media are not read. */
export const soundBounds = (
  stated: Pick<MediaBounds, 'mediaDecodeTimeout'> & { maxMediaSeconds?: number },
): MediaBounds => ({
  maxImagePixels: DEFAULTS.imagePixels,
  maxVideoPixels: DEFAULTS.videoPixels,
  maxVideoFrames: DEFAULTS.videoFrames,
  maxMediaSeconds: stated.maxMediaSeconds ?? DEFAULTS.mediaSeconds,
  mediaDecodeTimeout: stated.mediaDecodeTimeout ?? DEFAULTS.mediaDecodeTimeout,
});
