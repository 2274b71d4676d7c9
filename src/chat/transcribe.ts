// The text of a sound as one result.

import type { TextModel } from '../engine/text/calls/text-model.ts';
import type { Sound } from '../files/media/decoded.ts';
import type {
  TranscriptionEvent,
  TranscriptionModel,
  TranscriptionRequest,
  TranscriptionSegment,
} from '../engine/transcription/transcription-model.ts';
import { transcribeReply } from './transcribe-reply.ts';

export interface TranscribeOptions extends Omit<TranscriptionRequest, 'audio'> {
  /** Called with each segment as soon as it is written. */
  onSegment?: (segment: TranscriptionSegment) => void;
  signal?: AbortSignal;
}

export interface Transcription {
  text: string;
  /** Code of the language that is spoken. */
  language: string;
  /** Length of the sound, in seconds. */
  duration: number;
  /** Empty where a language model that hears wrote the text. */
  segments: TranscriptionSegment[];
}

/** A model that transcribes sounds, or a language model that hears. */
export type Transcribes =
  | (Pick<TranscriptionModel, 'generate'> & { info: { kind: 'transcription' } })
  | Pick<TextModel, 'info' | 'generate'>;

/** The events of a transcription, as the model writes it. Errors: those of generate(); unsupported for a language model that hears nothing. */
export const transcriptionEvents = (
  model: Transcribes,
  request: TranscriptionRequest,
  options: { signal?: AbortSignal } = {},
): AsyncGenerator<TranscriptionEvent, void, void> =>
  isText(model) ? transcribeReply(model, request, options) : model.generate(request, options);

const isText = (model: Transcribes): model is Pick<TextModel, 'info' | 'generate'> =>
  model.info.kind === 'text';

/** The text of a sound as one result, from the events of its transcription. Throws what they throw. */
export async function wholeTranscription(
  events: AsyncIterable<TranscriptionEvent>,
  onSegment?: (segment: TranscriptionSegment) => void,
): Promise<Transcription> {
  const segments: TranscriptionSegment[] = [];
  let [language, duration, written] = ['', 0, ''];
  for await (const event of events) {
    if (event.type === 'accepted') duration = event.seconds;
    if (event.type === 'language') ({ language } = event);
    if (event.type === 'delta') written += event.text;
    if (event.type !== 'segment') continue;
    segments.push(event.segment);
    onSegment?.(event.segment);
  }
  const text = `${segments.map((segment) => segment.text).join('')}${written}`.trim();
  return { text, language, duration, segments };
}

/** Errors: those of generate(). */
export async function transcribeSound(
  model: Transcribes,
  audio: Uint8Array | Sound,
  { onSegment, signal, ...options }: TranscribeOptions = {},
): Promise<Transcription> {
  const events = transcriptionEvents(model, { ...options, audio }, signal ? { signal } : {});
  return wholeTranscription(events, onSegment);
}
