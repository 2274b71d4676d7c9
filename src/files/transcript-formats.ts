// A transcription as a file: plain text, subtitles, or the JSON of OpenAI's interface.

import { languageName } from './language-names.ts';

/** What is written about a sound. */
export interface Transcript {
  text: string;
  /** Code of the language that is spoken. */
  language: string;
  /** Length of the sound, in seconds. */
  duration: number;
  segments: readonly TranscriptSegment[];
}

export interface TranscriptSegment {
  id: number;
  /** Seconds. */
  start: number;
  end: number;
  text: string;
  tokens: readonly number[];
  /** Second at which its window begins. */
  seek: number;
  temperature: number;
  averageLogprob: number;
  compressionRatio: number;
  noSpeechProbability: number;
  /** Left out: they have no times. */
  words?: readonly TranscriptWord[];
}

export interface TranscriptWord {
  text: string;
  /** Seconds. */
  start: number;
  end: number;
}

export const TRANSCRIPTION_FORMATS = ['txt', 'json', 'srt', 'vtt'] as const;

export type TranscriptionFormat = (typeof TRANSCRIPTION_FORMATS)[number];

/** The text of a file with the transcription, with an end of line. Subtitles show words one by one where they have times. */
export function formatTranscription(transcription: Transcript, format: TranscriptionFormat): string {
  const { text, segments } = transcription;
  if (format === 'json') return `${JSON.stringify(verboseTranscription(transcription), null, 2)}\n`;
  if (format === 'txt') return `${text}\n`;
  const shown = segments.flatMap((segment): readonly TranscriptWord[] => segment.words ?? [segment]);
  const cues = shown.map((one, i) => cueOf(one, format === 'srt' ? `${i + 1}\n` : '', format));
  return `${format === 'vtt' ? 'WEBVTT\n\n' : ''}${cues.join('\n')}`;
}

/** A blank line ends a cue, and an arrow would be read as its times. */
function cueOf({ start, end, text }: TranscriptWord, head: string, format: 'srt' | 'vtt'): string {
  const mark = format === 'srt' ? ',' : '.';
  const words = text
    .trim()
    .replaceAll(/\s*\n\s*/g, '\n')
    .replaceAll('-->', '->');
  return `${head}${clockText(start, mark)} --> ${clockText(end, mark)}\n${words}\n`;
}

/** Hours, minutes, seconds and milliseconds. */
function clockText(seconds: number, mark: string): string {
  const all = Math.round(seconds * 1000);
  const two = (value: number): string => String(value).padStart(2, '0');
  const [hours, minutes, rest] = [Math.floor(all / 3_600_000), Math.floor(all / 60_000) % 60, all % 60_000];
  return `${two(hours)}:${two(minutes)}:${two(Math.floor(rest / 1000))}${mark}${String(rest % 1000).padStart(3, '0')}`;
}

/** As OpenAI's interface has it with `verbose_json`. */
export function verboseTranscription(
  { text, language, duration, segments }: Transcript,
  task: 'transcribe' | 'translate' = 'transcribe',
) {
  const words = segments.flatMap((segment) => segment.words ?? []).map(verboseWord);
  return {
    ...{ task, language: languageName(language), duration, text },
    ...(segments.some((segment) => segment.words) && { words }),
    segments: segments.map(verboseSegment),
  };
}

const verboseWord = ({ text, start, end }: TranscriptWord) => ({
  ...{ word: text.trim(), start: rounded(start), end: rounded(end) },
});

function verboseSegment(segment: TranscriptSegment) {
  const { id, seek, start, end, text, tokens, temperature } = segment;
  return {
    ...{
      id,
      seek: Math.round(seek * FRAMES),
      start: rounded(start),
      end: rounded(end),
      text,
      tokens,
      temperature,
    },
    avg_logprob: segment.averageLogprob,
    compression_ratio: segment.compressionRatio,
    no_speech_prob: segment.noSpeechProbability,
  };
}

/** Frames of a second, in which Whisper counts where a window begins. */
const FRAMES = 100;

const rounded = (seconds: number): number => Math.round(seconds * 1000) / 1000;
