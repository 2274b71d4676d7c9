// Windows whose text repeats itself, is unlikely or is silence, written by a model of scripted logits.

import { describe, expect, it } from 'vitest';
import { transcribe, type TranscribeRules } from '../../../src/engine/transcription/transcribe.ts';
import type { SpeechTokens } from '../../../src/engine/transcription/speech-tokens.ts';
import type { Transcriber } from '../../../src/models/audio/transcriber.ts';
import type { TranscriptionEvent } from '../../../src/engine/transcription/transcription-model.ts';

const SIZE = 32;
const tokens: SpeechTokens = {
  ...{ end: 10, start: 11, previous: 14, noSpeech: 15, times: { none: 16, first: 17, lastInitial: 5 } },
  languages: new Map([
    ['en', 12],
    ['de', 13],
  ]),
  tasks: { transcribe: 18, translate: 19 },
  ...{ suppressed: [], suppressedAtFirst: [] },
};
const sound: Transcriber['sound'] = {
  ...{ rate: 100, hop: 1, columns: 1, frames: 10, least: 10 },
  framesOf: (samples) => samples,
  rowsOf: () => 5,
  features: () => {
    throw new Error('the features are given');
  },
};
const rules: TranscribeRules = {
  ...{ tokens, hasTimes: false, temperatures: [0, 0.5], seed: 1, maxTokens: 100, context: 40 },
  ...{ compressionRatioThreshold: 2.4, logprobThreshold: -1, noSpeechThreshold: 0.6 },
  ...{ language: 'en', task: 'transcribe', prompt: [], conditionOnPreviousText: true, words: null },
  textOf: (ids) => ids.map((id) => String.fromCodePoint(97 + id)).join(''),
};

/** `says(prompt, written)`: the token that is by far the most likely next, and the logit of silence. */
async function run(
  more: Partial<TranscribeRules>,
  says: (prompt: readonly number[], written: number) => { token: number; silence?: number; sure?: number },
  frames = 20,
) {
  const prompts: number[][] = [];
  const events: TranscriptionEvent[] = [];
  const made = transcribe(
    { features: new Float32Array(frames), frames },
    sound,
    { ...rules, ...more },
    (_, use) =>
      use({
        align: () => Promise.reject(new Error('no words are asked for')),
        async write(ids, { first, prompt, wanted }) {
          if (first === 0) prompts.push([...ids]);
          return wanted.map(() => {
            const { token, silence = 0, sure = 20 } = says(ids.slice(0, prompt), ids.length - prompt);
            const logits = new Float32Array(SIZE);
            logits[token] = sure;
            logits[tokens.noSpeech!] = silence;
            return logits;
          });
        },
      }),
  );
  for await (const event of made) events.push(event);
  const segments = events.flatMap((event) => (event.type === 'segment' ? [event.segment] : []));
  return { prompts, events, segments };
}

const saying = (text: string) => (_: unknown, written: number) => ({
  token: written < text.length ? text.codePointAt(written)! - 97 : tokens.end,
});

describe('windows', () => {
  it('follow each other, each behind the text of those before', async () => {
    const { prompts, segments } = await run({ prompt: [1, 2] }, saying('abc'), 25);
    const own = [tokens.start, 12, 18, tokens.times!.none];
    expect(prompts).toEqual([
      [tokens.previous!, 1, 2, ...own],
      [tokens.previous!, 1, 2, 0, 1, 2, ...own],
      [tokens.previous!, 1, 2, 0, 1, 2, 0, 1, 2, ...own],
    ]);
    expect(segments.map(({ start, end }) => [start, end])).toEqual([
      [0, 0.1],
      [0.1, 0.2],
      [0.2, 0.24],
    ]);
  });

  it('are without what was written before where that is not wanted', async () => {
    const { prompts } = await run({ conditionOnPreviousText: false }, saying('abc'));
    expect(prompts.map(({ length }) => length)).toEqual([4, 4]);
  });

  it('are written anew at the next temperature where the text repeats itself', async () => {
    const { segments, events } = await run({ compressionRatioThreshold: 1.2 }, saying('a'.repeat(30)), 10);
    expect(segments[0]).toMatchObject({ temperature: 0.5, text: 'a'.repeat(30) });
    expect(events.at(-1)).toEqual({ type: 'done', tokens: 30 });
  });

  it('are written anew where the text is unlikely, and the last try stays', async () => {
    const { segments } = await run({}, (_, written) => ({ ...saying('ab')(_, written), sure: 1 }), 10);
    expect(segments[0]?.temperature).toBe(0.5);
    const { segments: once } = await run(
      { logprobThreshold: null },
      (_, written) => ({ ...saying('ab')(_, written), sure: 1 }),
      10,
    );
    expect(once[0]?.temperature).toBe(0);
  });

  it('are left out where they are silent and their text is unlikely', async () => {
    const silent = (_: unknown, written: number) => ({ ...saying('ab')(_, written), sure: 1, silence: 9 });
    const masked = { ...tokens, suppressed: [tokens.noSpeech!] };
    const { segments } = await run({ tokens: masked }, silent);
    expect(segments).toEqual([]);
    const { segments: all } = await run({ tokens: masked, noSpeechThreshold: null }, silent);
    expect(all.length).toBeGreaterThan(0);
  });

  it('find the language that is spoken in the first', async () => {
    const { events, prompts } = await run({ language: null }, (prompt, written) =>
      prompt.length === 1 ? { token: 13 } : saying('ab')(prompt, written),
    );
    expect(events[0]).toMatchObject({ type: 'language', language: 'de' });
    expect(prompts[0]).toEqual([tokens.start]);
    expect(prompts.slice(1).map((ids) => ids.includes(13))).toEqual([true, true]);
  });
});
