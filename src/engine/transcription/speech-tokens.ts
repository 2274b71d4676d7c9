// The tokens by which a transcriber is told what to do, and by which it writes times, as its tokenizer and its generation_config.json name them.

import { badCheckpoint } from '../../files/error.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';

export interface SpeechTokens {
  /** Ends a window's text. */
  end: number;
  /** Begins the tokens of a window. */
  start: number;
  /** Begins those of the texts before it; null: the model takes none. */
  previous: number | null;
  /** null: the model does not tell silence. */
  noSpeech: number | null;
  /** null: the model writes no times. */
  times: TimeTokens | null;
  /** Tokens of languages by their codes; empty: the model knows one only. */
  languages: ReadonlyMap<string, number>;
  /** null: the model transcribes only, and is not told to. */
  tasks: Readonly<Record<'transcribe' | 'translate', number>> | null;
  /** Tokens that are never written, and those that no window begins with. */
  suppressed: readonly number[];
  suppressedAtFirst: readonly number[];
}

export interface TimeTokens {
  /** Stands before texts without times. */
  none: number;
  /** Token of second 0; those of later times follow. */
  first: number;
  /** The last of the times, counted from 0, that a window may begin with. */
  lastInitial: number;
}

type Json = Readonly<Record<string, unknown>>;

/** Steps of time within the first second, where generation_config.json does not say. */
const LAST_INITIAL_TIME = 50;
/** Tokens of the vocabulary of models for English only. */
const ENGLISH_ONLY = 51864;
/** A token of a language: two or three letters. */
const LANGUAGE = /^<\|([a-z]{2,3})\|>$/;

/** Throws bad_checkpoint for a tokenizer that lacks one of them. */
export function readSpeechTokens(
  { tokenToId, tokenText }: Pick<Tokenizer, 'tokenToId' | 'tokenText'>,
  generation: Json,
  config: Json,
): SpeechTokens {
  const idOf = (text: string): number => {
    const id = tokenToId(text);
    if (id !== null) return id;
    throw badCheckpoint(
      `tokenizer.json has no token ${text}, which transcribers need: take the tokenizer from where the model was published`,
      'tokenizer.json',
    );
  };
  const start = idOf('<|startoftranscript|>');
  const tasks = { translate: idOf('<|translate|>'), transcribe: idOf('<|transcribe|>') };
  const noTimes = idOf('<|notimestamps|>');
  const stated = generation['is_multilingual'];
  const isMultilingual = typeof stated === 'boolean' ? stated : config['vocab_size'] !== ENGLISH_ONLY;
  const languages = new Map<string, number>();
  const last = isMultilingual ? Math.min(...Object.values(tasks)) : start;
  for (let id = start + 1; id < last; id++) {
    const [, code] = LANGUAGE.exec(tokenText(id)) ?? [];
    if (code !== undefined) languages.set(code, id);
  }
  const lastInitial = generation['max_initial_timestamp_index'];
  return {
    end: idOf('<|endoftext|>'),
    start,
    previous: idOf('<|startofprev|>'),
    // It has had several names, and one place.
    noSpeech: noTimes - 1,
    times: {
      ...{ none: noTimes, first: noTimes + 1 },
      lastInitial: Number.isSafeInteger(lastInitial) ? (lastInitial as number) : LAST_INITIAL_TIME,
    },
    languages,
    tasks,
    ...suppressedTokens(generation, config),
  };
}

/** Of a model that is told nothing, and writes text alone. */
export const textTokens = (
  { start, end }: { start: number; end: number },
  generation: Json,
  config: Json,
): SpeechTokens => ({
  ...{ start, end, previous: null, noSpeech: null, times: null, languages: new Map(), tasks: null },
  ...suppressedTokens(generation, config),
});

const suppressedTokens = (
  generation: Json,
  config: Json,
): Pick<SpeechTokens, 'suppressed' | 'suppressedAtFirst'> => ({
  suppressed: idsOf(generation['suppress_tokens'] ?? config['suppress_tokens']),
  suppressedAtFirst: idsOf(generation['begin_suppress_tokens'] ?? config['begin_suppress_tokens']),
});

function idsOf(value: unknown): number[] {
  return Array.isArray(value) ? value.filter((id): id is number => Number.isSafeInteger(id) && id >= 0) : [];
}
