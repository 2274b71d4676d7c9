// Transcriptions, and the events of their stream.

import { z } from 'zod';
import { NamedErrorEvent } from '../http/error-reply-schema.ts';
import { count, typed } from '../http/reply-members.ts';

export const TranscriptionUsage = typed('duration', { seconds: count.describe('Of sound.') });

const segment = z.strictObject({
  id: count,
  seek: count.describe('Where its window begins, in hundredths of a second.'),
  start: z.number().describe('Seconds.'),
  end: z.number(),
  text: z.string(),
  tokens: z.array(count),
  temperature: z.number(),
  avg_logprob: z.number(),
  compression_ratio: z.number(),
  no_speech_prob: z.number(),
});

const word = z.strictObject({ word: z.string(), start: z.number(), end: z.number() });

export const TranscriptionReply = z
  .union([
    z.strictObject({ text: z.string(), usage: TranscriptionUsage }),
    z.strictObject({
      task: z.enum(['transcribe', 'translate']),
      language: z.string().describe('In English, as german.'),
      duration: z.number().describe('Seconds.'),
      text: z.string(),
      words: z.array(word).optional(),
      segments: z.array(segment).optional(),
      usage: TranscriptionUsage,
    }),
  ])
  .describe('json and verbose_json; text, srt and vtt are no JSON.');

export const TranscriptionStreamEvent = z.union([
  typed('transcript.text.delta', { delta: z.string() }),
  typed('transcript.text.done', { text: z.string(), usage: TranscriptionUsage }),
  NamedErrorEvent,
]);
