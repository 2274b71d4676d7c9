// Transcription against transformers' generate: logits, languages, segments of one window and of several.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Platform } from '../../../src/engine/platform/platform.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { TRANSCRIPTION } from '../../../src/host/kinds/transcription.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { openInline } from '../../../src/host/open.ts';
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
    return_token_timestamps?: boolean;
  };
  language: number;
  segments: { start: number; end: number; tokens: number[]; words?: [string, number, number][] }[];
}

const { cases } = JSON.parse(readFileSync(join(FOLDER, 'transcripts.json'), 'utf8')) as { cases: Case[] };
/** Code of the language of a token. */
const LANGUAGES = ['en', 'de', 'zh', 'es'];
const FIRST_LANGUAGE = 258;

const OPTIONS = { model: FOLDER, inline: true, safe: true, memoryBudget: 2 ** 30 };

let model: TranscriptionModel;
beforeAll(async () => {
  model = await openTranscriptionModel(OPTIONS);
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
  words: options.return_token_timestamps ?? false,
});

const rounded = (seconds: number): number => Math.round(seconds * 100) / 100;

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
    for (const [i, { start, end, words }] of expected.entries()) {
      expect(segments[i]!.start).toBeCloseTo(start, 3);
      expect(segments[i]!.end).toBeCloseTo(end, 3);
      const timed = segments[i]!.words?.map((word) => [word.text, rounded(word.start), rounded(word.end)]);
      expect(timed).toEqual(words);
    }
    const found = events.find((event) => event.type === 'language')!;
    if (one.options.language === undefined)
      expect(found.language).toBe(LANGUAGES[one.language - FIRST_LANGUAGE]);
    else expect(found).toEqual({ type: 'language', language: one.options.language, probability: null });
  });

  it('writes beside other requests what it writes alone', async () => {
    const chosen = cases.filter(({ name }) => ['times', 'long', 'plain', 'detected'].includes(name));
    const alone: TranscriptionSegment[][] = [];
    for (const one of chosen) alone.push(segmentsOf(await eventsOf(requestOf(one))));
    const together = await Promise.all(chosen.map((one) => eventsOf(requestOf(one))));
    expect(together.map(segmentsOf)).toEqual(alone);
  });

  it('needs no heads of its decoder unless words are to have times', async () => {
    const path = mkdtempSync(join(tmpdir(), 'svc-heads-'));
    onTestFinished(() => rmSync(path, { recursive: true }));
    cpSync(FOLDER, path, { recursive: true });
    const name = join(path, 'generation_config.json');
    const generation = JSON.parse(readFileSync(name, 'utf8')) as object;
    // Heads of a model with more layers.
    writeFileSync(name, JSON.stringify({ ...generation, alignment_heads: [[7, 0]] }));
    const notes: string[] = [];
    const opened = await openInline(TRANSCRIPTION, nodePlatform, { ...OPTIONS, model: path }, (event) => {
      if (event.type === 'note') notes.push(event.message);
    });
    onTestFinished(() => opened.close());
    expect(notes).toContainEqual(expect.stringContaining('alignment_heads is not a list of pairs'));
    expect(opened.info.timesWords).toBe(false);
    const request = { audio: goldenSound(1, 1), words: true };
    await expect(opened.generate(request).next()).rejects.toMatchObject({ param: 'words' });
  });

  it('goes on after the loss of the device', async () => {
    const devices: Device[] = [];
    const platform: Platform = {
      ...nodePlatform,
      async openDevice(options) {
        const device = await nodePlatform.openDevice(options);
        devices.push(device);
        return device;
      },
    };
    const lost = await openInline(TRANSCRIPTION, platform, OPTIONS);
    onTestFinished(() => lost.close());
    const one = cases.find(({ name }) => name === 'conditioned')!;
    const segments: TranscriptionSegment[] = [];
    for await (const event of lost.generate(requestOf(one))) {
      if (event.type !== 'segment') continue;
      segments.push(event.segment);
      if (segments.length === 1) devices.at(-1)!.destroy();
    }
    expect(segments.map(({ tokens }) => tokens)).toEqual(one.segments.map(({ tokens }) => tokens));
    expect((await lost.metrics()).deviceRestarts).toBe(1);
  });

  it('ends where its signal aborts, and where the request is wrong', async () => {
    const abort = new AbortController();
    const events = model.generate(requestOf(cases.find(({ name }) => name === 'long')!), {
      signal: abort.signal,
    });
    await events.next();
    abort.abort();
    await expect(events.next()).rejects.toMatchObject({ code: 'cancelled' });
    const audio = goldenSound(1, 1);
    const refused: [object, string][] = [
      [{ audio: {} }, 'audio'],
      [{ audio: new Uint8Array(9) }, 'audio'],
      [{ audio, language: 'xx' }, 'language'],
      [{ audio, temperature: [] }, 'temperature'],
      [{ audio, other: 1 }, 'other'],
    ];
    for (const [request, param] of refused)
      await expect(model.generate(request as TranscriptionRequest).next()).rejects.toMatchObject({
        ...{ code: 'bad_request', param },
      });
  });

  it('is of one result with transcribe(), in a thread of its own', async () => {
    await using threaded = await openTranscriptionModel({ ...OPTIONS, inline: false });
    const one = cases.find(({ name }) => name === 'times')!;
    const { audio, ...options } = requestOf(one);
    const made = await threaded.transcribe(audio, options);
    expect(made.language).toBe('de');
    expect(made.duration).toBe(1);
    expect(made.segments.map(({ tokens }) => tokens)).toEqual(one.segments.map(({ tokens }) => tokens));
    expect(made.text).toBe(
      made.segments
        .map(({ text }) => text)
        .join('')
        .trim(),
    );
  });
});
