// Transcribes a sound window by window: each begins where the model has written the times of a pause, so that no word is cut. source:
// openai-whisper's sequential algorithm

import type { Transcriber } from '../../models/audio/transcriber.ts';
import { logprobOf, mostLikely } from './logit-rules.ts';
import { divideTokens, type TimedTokens } from './segments.ts';
import { endsOf, looksOf, wordsOf, type WordRules } from './segment-words.ts';
import type { TranscriptionEvent, TranscriptionSegment } from './transcription-model.ts';
import {
  writeWindow,
  type WindowRules,
  type WindowTokens,
  type WriteTokens,
  type WrittenWindow,
} from './window.ts';

export interface Spoken {
  /** [frames, columns] of the whole sound, and the frames that have sound. */
  features: Float32Array;
  frames: number;
}

export interface TranscribeRules extends WindowRules {
  /** null: the model finds out. */
  language: string | null;
  task: 'transcribe' | 'translate';
  /** Tokens of a text that could stand before. */
  prompt: readonly number[];
  conditionOnPreviousText: boolean;
  /** How words get times; null: they get none. */
  words: WordRules | null;
}

/** Computes a window: calls `use` while a slot has its keys and values, again if the device was lost meanwhile. */
export type WithWindow = <T>(
  features: Float32Array<ArrayBuffer>,
  use: (window: WindowTokens) => Promise<T>,
) => Promise<T>;

/** Temperature above which the next window does not follow from what was written. */
const MOST_CONDITIONING = 0.5;

export async function* transcribe(
  { features, frames }: Spoken,
  sound: Transcriber['sound'],
  rules: TranscribeRules,
  withWindow: WithWindow,
): AsyncGenerator<TranscriptionEvent, void, void> {
  const { tokens } = rules;
  const { rate, hop, columns } = sound;
  const framesOfStep = sound.frames / sound.rowsOf(sound.frames);
  const secondsOf = (frame: number): number => (frame * hop) / rate;
  let before = [...rules.prompt];
  let language = rules.language;
  let [count, generated] = [0, 0];
  if (language !== null || tokens.languages.size === 0)
    yield { type: 'language', language: language ?? 'en', probability: null };
  for (let seek = 0; seek < frames;) {
    const heard = Math.min(sound.frames, frames - seek);
    const window = new Float32Array(Math.max(sound.least, heard) * columns);
    window.set(features.subarray(seek * columns, (seek + heard) * columns));
    const known = language;
    const steps = Math.floor(heard / framesOfStep);
    const { found, written, looks } = await withWindow(window, async (slot) => {
      const found = known === null && tokens.languages.size > 0 ? await detect(slot.write, rules) : null;
      const { ids, start } = promptOf(before, found?.language ?? known, rules);
      const written = await writeWindow(slot.write, ids, start, rules);
      const isAligned = rules.words !== null && !written.isSilent;
      return { found, written, looks: isAligned ? await looksOf(slot, ids, written, steps) : [] };
    });
    if (found) yield { type: 'language', ...found };
    if (found) ({ language } = found);
    generated += written.tokens.length;
    if (tokens.times === null && !written.isSilent && written.text.trim() !== '')
      yield { type: 'delta', text: `${count++ === 0 ? '' : ' '}${written.text.trim()}` };
    if (tokens.times === null || written.isSilent) {
      seek += heard;
      continue;
    }
    const { segments, next } = divided(written, steps, rules);
    const secondsOfStep = (step: number): number => secondsOf(seek + step * framesOfStep);
    const timed = await withWords(segments, { written, looks, language }, rules, secondsOfStep);
    for (const { tokens: own, start, end, words } of timed) {
      const text = rules.textOf(own);
      // A segment without a length or without words is none.
      if (start === end || text.trim() === '') continue;
      const times = { start: secondsOfStep(start), end: secondsOfStep(end) };
      const segment = { id: count++, ...times, text, tokens: own, ...figures(written, secondsOf(seek)) };
      yield { type: 'segment', segment: { ...segment, ...(words && { words }) } };
    }
    before.push(...segments.flatMap(({ tokens: own }) => own));
    if (!rules.conditionOnPreviousText || written.temperature > MOST_CONDITIONING) before = [];
    seek += next === null ? heard : next * framesOfStep;
  }
  yield { type: 'done', tokens: generated };
}

interface Heard {
  written: WrittenWindow;
  looks: readonly Float32Array[];
  language: string | null;
}

async function withWords(
  segments: readonly TimedTokens[],
  { written, looks, language }: Heard,
  { words: rules, task, tokens }: TranscribeRules,
  secondsOf: (step: number) => number,
): Promise<(TimedTokens & Pick<TranscriptionSegment, 'words'>)[]> {
  if (rules === null) return [...segments];
  const ends = await endsOf(rules, looks, written);
  // A translation is English.
  const own = { ...rules, language: task === 'translate' ? 'en' : (language ?? 'en'), text: tokens.end };
  let first = 0;
  return segments.map((segment) => {
    const words = wordsOf({ ...segment, first }, ends, { ...own, secondsOf });
    first += segment.tokens.length;
    return { ...segment, words };
  });
}

function divided({ tokens: written }: WrittenWindow, steps: number, { tokens, hasTimes }: TranscribeRules) {
  if (hasTimes && tokens.times) return divideTokens(written, tokens.times.first, steps);
  return { segments: [{ tokens: written, start: 0, end: steps }], next: null };
}

type Figures = Omit<TranscriptionSegment, 'id' | 'start' | 'end' | 'text' | 'tokens'>;

const figures = (
  { temperature, averageLogprob, compressionRatio, noSpeechProbability }: WrittenWindow,
  seek: number,
): Figures => ({ seek, temperature, averageLogprob, compressionRatio, noSpeechProbability });

/** The language whose token is the most likely behind the one that begins. */
async function detect(
  write: WriteTokens,
  { tokens: { start, languages } }: TranscribeRules,
): Promise<{ language: string; probability: number }> {
  const [logits] = await write([start], { first: 0, prompt: 1, wanted: [0] });
  const codes = [...languages.keys()];
  const ofLanguages = Float32Array.from(languages.values(), (id) => logits![id]!);
  const best = mostLikely(ofLanguages);
  return { language: codes[best]!, probability: Math.exp(logprobOf(ofLanguages, best)) };
}

/** What stands before a window's text, and the position of the token that begins it. */
function promptOf(
  before: readonly number[],
  language: string | null,
  { tokens, task, hasTimes, context }: TranscribeRules,
): { ids: number[]; start: number } {
  const { previous, tasks, times } = tokens;
  const kept = previous === null ? [] : before.slice(-(Math.floor(context / 2) - 1));
  const ids = previous === null || kept.length === 0 ? [] : [previous, ...kept];
  const start = ids.length;
  ids.push(tokens.start);
  if (tokens.languages.size > 0 && language !== null && tasks !== null)
    ids.push(tokens.languages.get(language)!, tasks[task]);
  if (!hasTimes && times !== null) ids.push(times.none);
  return { ids, start };
}
