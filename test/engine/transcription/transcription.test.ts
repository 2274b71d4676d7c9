// Transcription against transformers' generate: logits, languages, segments of one window and of several.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTranscriptionModel } from '../../../src/host/node/open.ts';
import type {
  TranscriptionEvent,
  TranscriptionModel,
  TranscriptionRequest,
  TranscriptionSegment,
} from '../../../src/engine/transcription/transcription-model.ts';
import { goldenSound } from './sounds.ts';

const FOLDER = fileURLToPath(new URL('../../golden/whisper/', import.meta.url));

interface Case {
  name: string;
  seconds: number;
  seed: number;
  options: {
    language?: string;
    task: 'transcribe' | 'translate';
    return_timestamps: boolean;
    condition_on_prev_tokens?: boolean;
    prompt?: string;
    logprob_threshold?: number;
    no_speech_threshold?: number;
  };
  language: number;
  segments: { start: number; end: number; tokens: number[] }[];
}

const { cases } = JSON.parse(readFileSync(join(FOLDER, 'transcripts.json'), 'utf8')) as { cases: Case[] };
/** Code of the language of a token. */
const LANGUAGES = ['en', 'de', 'fr', 'es'];
const FIRST_LANGUAGE = 258;

let model: TranscriptionModel;
beforeAll(async () => {
  model = await openTranscriptionModel({ model: FOLDER, inline: true, memoryBudget: 1e9 });
});
afterAll(() => model.close());

const requestOf = ({ seconds, seed, options }: Case): TranscriptionRequest => ({
  audio: goldenSound(seconds, seed),
  task: options.task,
  timestamps: options.return_timestamps,
  ...(options.language && { language: options.language }),
  ...(options.prompt && { prompt: options.prompt }),
  conditionOnPreviousText: options.condition_on_prev_tokens ?? false,
  compressionRatioThreshold: null,
  logprobThreshold: options.logprob_threshold ?? null,
  noSpeechThreshold: options.no_speech_threshold ?? null,
  temperature: 0,
  maxTokens: 448,
});

async function eventsOf(request: TranscriptionRequest): Promise<TranscriptionEvent[]> {
  const events: TranscriptionEvent[] = [];
  for await (const event of model.generate(request)) events.push(event);
  return events;
}

const segmentsOf = (events: TranscriptionEvent[]): TranscriptionSegment[] =>
  events.flatMap((event) => (event.type === 'segment' ? [event.segment] : []));

describe('transcription', () => {
  it.each(cases)('writes the segments of transformers: $name', async (one) => {
    const events = await eventsOf(requestOf(one));
    const segments = segmentsOf(events);
    // Segments without a length are left out.
    const expected = one.segments.filter(({ start, end }) => start !== end);
    expect(segments.map(({ tokens }) => tokens)).toEqual(expected.map(({ tokens }) => tokens));
    for (const [i, { start, end }] of expected.entries()) {
      expect(segments[i]!.start).toBeCloseTo(start, 3);
      expect(segments[i]!.end).toBeCloseTo(end, 3);
    }
    const found = events.find((event) => event.type === 'language')!;
    if (one.options.language === undefined)
      expect(found.language).toBe(LANGUAGES[one.language - FIRST_LANGUAGE]);
    else expect(found).toEqual({ type: 'language', language: one.options.language, probability: null });
  });

  it('writes beside other requests what it writes alone', async () => {
    const chosen = cases.filter(({ name }) =>
      ['times', 'long', 'prompted', 'plain', 'detected'].includes(name),
    );
    const alone: TranscriptionSegment[][] = [];
    for (const one of chosen) alone.push(segmentsOf(await eventsOf(requestOf(one))));
    const together = await Promise.all(chosen.map((one) => eventsOf(requestOf(one))));
    expect(together.map(segmentsOf)).toEqual(alone);
  });
});
