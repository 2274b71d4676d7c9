// The text of a sound as one result.

import type { Sound } from '../files/media/decoded.ts';
import type {
  TranscriptionModel,
  TranscriptionRequest,
  TranscriptionSegment,
} from '../engine/transcription/transcription-model.ts';

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
  segments: TranscriptionSegment[];
}

/** Errors: those of generate(). */
export async function transcribeSound(
  model: Pick<TranscriptionModel, 'generate'>,
  audio: Uint8Array | Sound,
  { onSegment, signal, ...options }: TranscribeOptions = {},
): Promise<Transcription> {
  const segments: TranscriptionSegment[] = [];
  let [language, duration] = ['', 0];
  for await (const event of model.generate({ ...options, audio }, signal ? { signal } : {})) {
    if (event.type === 'accepted') duration = event.seconds;
    if (event.type === 'language') ({ language } = event);
    if (event.type !== 'segment') continue;
    segments.push(event.segment);
    onSegment?.(event.segment);
  }
  const text = segments
    .map((segment) => segment.text)
    .join('')
    .trim();
  return { text, language, duration, segments };
}
