// Adds members to opened models: conversations and completions to text models, vectors, ranks and labels to embedding models, whole texts to transcription
// models. Every opener adds them, whichever thread or process the model is in.

import type { EmbeddingModel } from '../engine/embedding/embedding-model.ts';
import type { TextModel } from '../engine/text/calls/text-model.ts';
import type { TranscriptionModel } from '../engine/transcription/transcription-model.ts';
import type { Sound } from '../files/media/decoded.ts';
import { ChatSession } from './chat-session.ts';
import type { ChatOptions } from './chat-types.ts';
import {
  complete,
  type CompletionOptions,
  type CompletionPrompt,
  type CompletionStream,
} from './complete.ts';
import { embedTexts, type EmbedOptions } from './embed.ts';
import type { Schema } from './schema.ts';
import {
  classifyTexts,
  rankTexts,
  scoreTexts,
  type Classified,
  type Ranked,
  type RankOptions,
  type ScoreOptions,
} from './score.ts';
import { transcribeSound, type TranscribeOptions, type Transcription } from './transcribe.ts';

export interface Transcribing {
  /**
   * The text of a sound: a file's bytes, or samples. A language model that hears gives no times. Errors: those of generate(); unsupported for a language
   * model that hears nothing.
   */
  transcribe(audio: Uint8Array | Sound, options?: TranscribeOptions): Promise<Transcription>;
}

export interface Conversing extends Transcribing {
  /** Begins a conversation. Throws bad_request, also for a model without a chat template. */
  // oxlint-disable-next-line typescript/no-empty-object-type -- no tools
  chat<const Schemas extends Record<string, Schema> = {}>(options?: ChatOptions<Schemas>): ChatSession;
  /**
   * Continues a text, or writes what stands between a prefix and a suffix. The result is read as events or awaited. Errors: those of generate(); unsupported
   * for a suffix if the model has no tokens for it; cancelled where `signal` aborts.
   */
  complete(prompt: CompletionPrompt, options?: CompletionOptions): CompletionStream;
}

export interface Ranking {
  /** The vector of a text, or the vectors of several in their order. Errors: those of generate(). */
  embed(text: string, options?: EmbedOptions): Promise<Float32Array>;
  embed(texts: readonly string[], options?: EmbedOptions): Promise<Float32Array[]>;
  /** Texts by their scores for a query, best first: those of a cross-encoder, or the cosine of a text's vector with that of the query. */
  rank(query: string, texts: readonly string[], options?: RankOptions): Promise<Ranked[]>;
  /** The scores by which rank() orders texts, in the order of the texts; for one query, or for one of each text. */
  score(
    query: string | readonly string[],
    texts: readonly string[],
    options?: ScoreOptions,
  ): Promise<number[]>;
  /** The label of a text, or the labels of several in their order. Errors: those of generate(); unsupported for a model without labels of texts. */
  classify(text: string, options?: Omit<ScoreOptions, 'instruction'>): Promise<Classified>;
  classify(texts: readonly string[], options?: Omit<ScoreOptions, 'instruction'>): Promise<Classified[]>;
}

/** A text model as an opener returns it. */
export type OpenedTextModel = TextModel & Conversing;
/** An embedding model as an opener returns it. */
export type OpenedEmbeddingModel = EmbeddingModel & Ranking;
/** A transcription model as an opener returns it. */
export type OpenedTranscriptionModel = TranscriptionModel & Transcribing;

/** Adds chat(), complete() and transcribe() to a text model that came by another way than an opener: `window.svcEngine` in a window of Electron. */
export function extendTextModel<M extends Omit<TextModel, 'asleep'>>(model: M): M & Conversing {
  const more: Conversing = {
    chat: (options) => new ChatSession(model, options),
    complete: (prompt, options) => complete(model, prompt, options),
    transcribe: (audio, options) => transcribeSound(model, audio, options),
  };
  return Object.assign(model, more);
}

/** Adds embed(), rank(), score() and classify() to an embedding model. */
export function extendEmbeddingModel<M extends Pick<EmbeddingModel, 'info' | 'generate'>>(
  model: M,
): M & Ranking {
  const embed = async (texts: string | readonly string[], options?: EmbedOptions): Promise<unknown> => {
    const vectors = await embedTexts(model, typeof texts === 'string' ? [texts] : texts, options);
    return typeof texts === 'string' ? vectors[0] : vectors;
  };
  const classify = async (
    texts: string | readonly string[],
    options?: Omit<ScoreOptions, 'instruction'>,
  ): Promise<unknown> => {
    const labels = await classifyTexts(model, typeof texts === 'string' ? [texts] : texts, options);
    return typeof texts === 'string' ? labels[0] : labels;
  };
  const more: Ranking = {
    embed: embed as Ranking['embed'],
    rank: (query, texts, options) => rankTexts(model, query, texts, options),
    score: (query, texts, options) => scoreTexts(model, query, texts, options),
    classify: classify as Ranking['classify'],
  };
  return Object.assign(model, more);
}

/** Adds transcribe() to a transcription model. */
export function extendTranscriptionModel<M extends Omit<TranscriptionModel, 'asleep'>>(
  model: M,
): M & Transcribing {
  const more: Transcribing = { transcribe: (audio, options) => transcribeSound(model, audio, options) };
  return Object.assign(model, more);
}
