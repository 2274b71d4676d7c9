// Moonshine against transformers: logits of forced tokens, and texts of sounds of several lengths, alone and together.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  TranscriptionEvent,
  TranscriptionModel,
  TranscriptionRequest,
} from '../../../src/engine/transcription/transcription-model.ts';
import { openTranscriptionModel } from '../../../src/host/node/open.ts';
import { planModel } from '../../../src/host/node/plan.ts';
import { finished } from '../../../src/models/preparation.ts';
import { openGoldenRunner } from './golden-runner.ts';
import { goldenSound } from './sounds.ts';

const FOLDER = fileURLToPath(new URL('../../golden/moonshine/', import.meta.url));

interface Case {
  seconds: number;
  seed: number;
  windows: number[][];
  text: string;
}

interface Transcripts {
  forced: { seed: number; ids: number[]; rows: number[]; logits: number[][] };
  /** Most tokens of a window. */
  tokens: number;
  cases: Case[];
}

const { forced, tokens, cases } = JSON.parse(
  readFileSync(join(FOLDER, 'transcripts.json'), 'utf8'),
) as Transcripts;

it('logits are those of transformers, after windows of other lengths', { timeout: 120_000 }, async () => {
  const { runner, sound } = await openGoldenRunner(FOLDER);
  const featuresOf = (seconds: number, seed: number) => {
    const { samples } = goldenSound(seconds, seed);
    return finished(sound.features(samples, sound.framesOf(samples.length)));
  };
  const { ids, rows, logits } = forced;
  for (const [slot, seconds] of [2, 0.5, 2].entries()) runner.hear(slot, featuresOf(seconds, 9));
  for (const slot of [0, 1]) runner.hear(slot, featuresOf(1, forced.seed));

  const near = (found: Float32Array | undefined, row: number): void => {
    const wanted = logits[rows.indexOf(row)]!;
    const most = found!.reduce((worst, value, i) => Math.max(worst, Math.abs(value - wanted[i]!)), 0);
    expect(most).toBeLessThan(1e-4);
  };
  const at = { prompt: ids.length, ids };
  const [first, last] = await runner.step([{ slot: 0, first: 0, wanted: [rows[0]!, rows[3]!], ...at }]);
  near(first, rows[0]!);
  near(last, rows[3]!);
  for (let token = 0; token < ids.length; token++) {
    const own = { slot: 1, ids: ids.slice(0, token + 1), first: token, prompt: 0, wanted: [token] };
    const others = { slot: 0, ids: ids.slice(0, 30), first: 29, prompt: 0, wanted: [29] };
    const found = await runner.step(token % 2 === 0 ? [own, others] : [own]);
    if (rows.includes(token)) near(found[0], token);
  }
});

describe('Moonshine', () => {
  let model: TranscriptionModel;
  beforeAll(async () => {
    model = await openTranscriptionModel({ model: FOLDER, inline: true, safe: true, memoryBudget: 2 ** 30 });
  });
  afterAll(() => model.close());

  const eventsOf = async (request: TranscriptionRequest): Promise<TranscriptionEvent[]> => {
    const events: TranscriptionEvent[] = [];
    for await (const event of model.generate(request)) events.push(event);
    return events;
  };
  const requestOf = ({ seconds, seed }: Pick<Case, 'seconds' | 'seed'>): TranscriptionRequest => ({
    ...{ audio: goldenSound(seconds, seed), temperature: 0, maxTokens: tokens },
  });
  const textOf = (events: TranscriptionEvent[]): string =>
    events.map((event) => (event.type === 'delta' ? event.text : '')).join('');

  it('writes what transformers writes, of a window, of several and of several sounds together', async () => {
    const all = await Promise.all(cases.map((one) => eventsOf(requestOf(one))));
    expect(all.map(textOf)).toEqual(cases.map(({ text }) => text));
    for (const [i, events] of all.entries()) {
      const { windows, seconds } = cases[i]!;
      expect(events[0]).toEqual({ type: 'accepted', seconds });
      expect(events[1]).toEqual({ type: 'language', language: 'en', probability: null });
      expect(events.filter(({ type }) => type === 'delta')).toHaveLength(windows.length);
      expect(events.at(-1)).toEqual({ type: 'done', tokens: windows.flat().length });
    }
    expect(textOf(await eventsOf(requestOf(cases[0]!)))).toBe(cases[0]!.text);
  });

  it('takes the shortest sounds', async () => {
    const events = await Promise.all(
      [0.007, 0.01].map((seconds) => eventsOf(requestOf({ seconds, seed: 1 }))),
    );
    expect(events.map((of) => of.at(-1))).toEqual([
      { type: 'done', tokens: 0 },
      { type: 'done', tokens: expect.any(Number) },
    ]);
  });

  it.each([
    [{ words: true }, 'words'],
    [{ timestamps: true }, 'timestamps'],
    [{ prompt: 'Names' }, 'prompt'],
    [{ task: 'translate' as const }, 'task'],
    [{ language: 'de' }, 'language'],
  ])('refuses %j', async (wanted, param) => {
    await expect(eventsOf({ ...requestOf(cases[0]!), ...wanted })).rejects.toMatchObject({
      ...{ code: 'bad_request', param },
    });
  });

  it('tells what it is, and is planned', async () => {
    expect(model.info).toMatchObject({
      ...{ architecture: 'MoonshineForConditionalGeneration', modelType: 'moonshine', languages: ['en'] },
      ...{ writesTimes: false, timesWords: false, translates: false, maxRunningRequests: 4 },
    });
    expect(model.info.windowSeconds).toBeCloseTo(30, 1);
    const plan = await planModel({ model: FOLDER, memoryBudget: 1e9 });
    expect(plan.choices.every(({ opens }) => opens)).toBe(true);
  });
});
