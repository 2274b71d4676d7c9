// What generation_config.json, or an older config.json, says about the replies of models that read sources.

import type { Checkpoint } from '../../../files/checkpoint/checkpoint.ts';
import { badCheckpoint } from '../../../files/error.ts';
import { shown } from '../../../models/config-values.ts';
import type { TextDeclaration } from '../../../models/text/blocks/architecture.ts';
import type { TextRequest } from '../calls/text-model.ts';

export interface SourceSettings {
  /** Most tokens of a source. */
  tokens: number;
  /** Most tokens that the model writes, `begin` among them. */
  written: number;
  /** Tokens that begin what the model writes: where decoders start, and the token that is forced behind it, such as a language. */
  begin: readonly number[];
  /** Requests have these where they say nothing else. */
  defaults: Pick<TextRequest, 'minTokens' | 'processors'>;
  /** Settings that are not built, with their values. */
  left: readonly string[];
}

type Settings = Readonly<Record<string, unknown>>;

/** Values of both files; `own`: those of generation_config.json, which win. */
interface Stated {
  values: Settings;
  own: Settings;
}

/** Values with which a setting changes nothing. */
const NEUTRAL: Readonly<Record<string, readonly unknown[]>> = {
  num_beams: [1],
  num_beam_groups: [1],
  penalty_alpha: [0],
  encoder_no_repeat_ngram_size: [0],
  encoder_repetition_penalty: [1],
  begin_suppress_tokens: [],
  sequence_bias: [],
};

/** `from`: whose settings requests have by default. Throws bad_checkpoint. */
export function readSourceSettings(
  { generationConfig, config }: Pick<Checkpoint, 'generationConfig' | 'config'>,
  { source, vocabulary }: Pick<TextDeclaration, 'source' | 'vocabulary'>,
  from: 'model' | 'contract',
): SourceSettings | null {
  if (!source) return null;
  const own = withoutNull(generationConfig);
  const settings: Stated = { values: { ...config, ...own }, own };
  const { tokens, written } = source;
  const start = ['decoder_start_token_id', 'bos_token_id', 'pad_token_id'].find(
    (key) => settings.values[key] != null,
  );
  const keys = [
    start ?? 'decoder_start_token_id',
    ...(settings.values['forced_bos_token_id'] == null ? [] : ['forced_bos_token_id']),
  ];
  const begin = keys.map((key) => tokenOf(settings, key, vocabulary));
  const { defaults, left } = from === 'model' ? defaultsOf(settings, begin.length, vocabulary) : NO_DEFAULTS;
  return { tokens, written, begin, defaults, left };
}

const NO_DEFAULTS = { defaults: {}, left: [] };

const withoutNull = (values: Settings): Settings =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));

function tokenOf(settings: Stated, key: string, vocabulary: number): number {
  const given: unknown[] = [settings.values[key]].flat();
  const id = given[0];
  if (typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < vocabulary) return id;
  throw refused(settings, key, 'the id of a token');
}

/** Names the file that has the value; a missing one belongs to generation_config.json. */
function refused({ values, own }: Stated, key: string, needed: string): Error {
  const file = key in own || values[key] == null ? 'generation_config.json' : 'config.json';
  return badCheckpoint(`${key} is ${shown(values[key])}, ${needed} is needed: correct ${file}`, key);
}

function defaultsOf(
  stated: Stated,
  begun: number,
  vocabulary: number,
): Pick<SourceSettings, 'defaults' | 'left'> {
  const settings = stated.values;
  const count = (key: string): number => {
    const value = settings[key] ?? 0;
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
    throw refused(stated, key, 'a number of tokens');
  };
  const minTokens = Math.max(count('min_length') - begun, count('min_new_tokens'), 0);
  const run = count('no_repeat_ngram_size');
  const words = listsOf(settings['bad_words_ids']);
  const single = words.flatMap((ids) => (ids.length === 1 ? ids : []));
  const tokens = single.filter((id) => id >= 0 && id < vocabulary);
  const processors: TextRequest['processors'] = [
    ...(tokens.length > 0 ? [{ name: 'disallowed_tokens' as const, tokens }] : []),
    ...(run > 0 ? [{ name: 'no_repeat_ngram' as const, size: run }] : []),
  ];
  const left = Object.entries(NEUTRAL).flatMap(([key, values]) => {
    const value = settings[key];
    const isNeutral = value == null || values.includes(value) || (Array.isArray(value) && value.length === 0);
    return isNeutral ? [] : [`${key} ${shown(value)}`];
  });
  return {
    defaults: { ...(minTokens > 0 && { minTokens }), ...(processors.length > 0 && { processors }) },
    left: [...left, ...(single.length < words.length ? ['bad_words_ids of several tokens'] : [])],
  };
}

/** Lists of token ids. */
function listsOf(value: unknown): number[][] {
  const lists: unknown[] = Array.isArray(value) ? value : [];
  return lists.flatMap((list) =>
    Array.isArray(list) && list.every((id): id is number => Number.isInteger(id)) ? [list] : [],
  );
}

/** A note about what the model's replies were made with and this engine does not do; null: there is nothing of the kind. */
export function leftNote({ left }: Pick<SourceSettings, 'left'>): string | null {
  if (left.length === 0) return null;
  return `generation_config.json asks for ${left.join(', ')}, which are not built: replies are chosen token by token`;
}
