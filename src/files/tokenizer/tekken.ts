// Mistral's tokenizer in tekken.json as a tokenizer.json: special tokens come first, then the byte sequences of a vocabulary in the order of
// their ranks, which is the order of the merges as well. Source: Tekkenizer of mistral-common.

import { badCheckpoint, type EngineError } from '../error.ts';
import { isRecord } from '../source.ts';
import { BY_ID } from './encode/merges.ts';
import { addedToken, aroundText, byteLevel, isolated, sequence } from '../tokenizer-parts.ts';
import { standInBinary } from './encode/stand-ins.ts';

export const TEKKEN = 'tekken.json';

/** What the file says about conversations, which it has no template for. */
export interface TekkenChat {
  /** Of the format of conversations: v3, v7, v11 … */
  version: string;
  /** Texts of the special tokens. */
  specials: readonly string[];
  /** Reasoning efforts that the model takes as a setting; null: none. */
  efforts: { values: readonly string[]; usual: string | null } | null;
  /** Whether the model writes the text of one sound while it hears it, and knows no conversations. */
  isStream: boolean;
}

export interface TekkenFiles {
  tokenizerJson: Record<string, unknown>;
  /** bos_token, eos_token and their kin, as tokenizer_config.json has them. */
  roles: Record<string, string>;
  chat: TekkenChat;
}

/** Files before version 11 may leave their special tokens out: these, in the order of their ids. */
const USUAL_SPECIALS =
  '<unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CALLS] [IMG] <pad> [IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] [SUFFIX] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [TOOL_CONTENT]'.split(
    ' ',
  );
const OLDER_VERSIONS: readonly unknown[] = ['v3', 'v7'];
const ROLES = { bos_token: '<s>', eos_token: '</s>', unk_token: '<unk>', pad_token: '<pad>' };
/** Single bytes, with which each vocabulary begins. */
const BYTES = 256;

/** Throws bad_checkpoint for a damaged file. */
export function tekkenFiles(json: Record<string, unknown>): TekkenFiles {
  const config = isRecord(json['config']) ? json['config'] : {};
  const { pattern } = config;
  if (typeof pattern !== 'string')
    throw wrong(`config.pattern is ${shown(pattern)}, an expression is needed`);
  const count = size(config, 'default_num_special_tokens');
  const specials = specialsOf(json, config, count);
  const vocab = vocabularyOf(json, size(config, 'default_vocab_size') - count, count);
  const has = new Map(specials.map((content, id) => [content, id]));
  const roles = Object.fromEntries(Object.entries(ROLES).filter(([, content]) => has.has(content)));
  const stage = byteLevel(false);
  const start = has.get(ROLES.bos_token);
  return {
    tokenizerJson: {
      version: '1.0',
      added_tokens: specials.map((content, id) => addedToken(id, content, true)),
      normalizer: null,
      pre_tokenizer: sequence('pretokenizers', [isolated(pattern), stage]),
      post_processor: start === undefined ? null : aroundText({ content: ROLES.bos_token, id: start }, null),
      decoder: stage,
      model: { type: 'BPE', ignore_merges: true, vocab, merges: BY_ID },
    },
    roles,
    chat: {
      version: String(config['version']),
      specials,
      efforts: effortsOf(json),
      isStream: isStream(json),
    },
  };
}

/** The file's own, and names for those up to the number that it states. */
function specialsOf(
  json: Record<string, unknown>,
  config: Record<string, unknown>,
  count: number,
): readonly string[] {
  const stated = json['special_tokens'] ?? null;
  if (stated === null && !OLDER_VERSIONS.includes(config['version']))
    throw wrong(`special_tokens is left out, which files of version ${shown(config['version'])} need`);
  const own = stated === null ? USUAL_SPECIALS : Array.isArray(stated) ? inOrder(stated) : null;
  if (own === null) throw wrong(`special_tokens is ${shown(stated)}, a list of tokens is needed`);
  if (own.length > count)
    throw wrong(`special_tokens are ${own.length}, and config.default_num_special_tokens is ${count}`);
  const fillers = Array.from({ length: count - own.length }, (_, i) => `<SPECIAL_${own.length + i}>`);
  const specials = [...own, ...fillers];
  const repeated = specials.find((text, at) => specials.indexOf(text) !== at);
  if (repeated !== undefined) throw wrong(`special_tokens has ${shown(repeated)} twice`);
  return specials;
}

/** Texts of tokens whose ranks are 0, 1, 2 … in some order. */
function inOrder(stated: readonly unknown[]): string[] {
  const texts: string[] = [];
  for (const token of stated) {
    const { rank, token_str: text } = isRecord(token) ? token : {};
    const isFree = Number.isInteger(rank) && Number(rank) >= 0 && Number(rank) < stated.length;
    if (typeof text !== 'string' || text === '' || !isFree || texts[Number(rank)] !== undefined)
      throw wrong(
        `the special token ${shown(token)} has no text, or no rank of its own below ${stated.length}`,
      );
    texts[Number(rank)] = text;
  }
  return texts;
}

/** The first `count` byte sequences, each spelled in stand-ins → ids, which begin at `first`. */
function vocabularyOf(json: Record<string, unknown>, count: number, first: number): Map<string, number> {
  const stated = json['vocab'];
  if (!Array.isArray(stated) || count < BYTES || stated.length < count)
    throw wrong(
      `vocab is ${Array.isArray(stated) ? `${stated.length} tokens` : shown(stated)}, a list of at least ${Math.max(count, BYTES)} is needed`,
    );
  const ids = new Map<string, number>();
  for (let rank = 0; rank < count; rank++) {
    const entry: unknown = stated[rank];
    const bytes = isRecord(entry) && entry['rank'] === rank ? binaryOf(entry['token_bytes']) : null;
    const isByte = rank >= BYTES || bytes === String.fromCharCode(rank);
    if (!bytes || !isByte) throw wrong(`vocab has ${shown(entry)} where the token of rank ${rank} is needed`);
    ids.set(standInBinary(bytes), first + rank);
  }
  if (ids.size !== count) throw wrong(`${count - ids.size} tokens of vocab repeat the bytes of others`);
  return ids;
}

/** Bytes as the characters U+0000 to U+00FF; null where the value is not base64. */
function binaryOf(base64: unknown): string | null {
  try {
    return typeof base64 === 'string' ? atob(base64) : null;
  } catch {
    return null;
  }
}

const isStream = ({ audio }: Record<string, unknown>): boolean =>
  isRecord(audio) && audio['transcription_format'] === 'streaming';

function effortsOf({ model_settings_builder: settings }: Record<string, unknown>): TekkenChat['efforts'] {
  const stated = isRecord(settings) ? settings['reasoning_effort'] : null;
  if (!isRecord(stated)) return null;
  const { values, default: usual = null } = stated;
  const isList = Array.isArray(values) && values.every((value) => typeof value === 'string');
  if (isList && (usual === null || values.includes(usual as string)))
    return { values, usual: usual as string | null };
  throw wrong(
    `model_settings_builder.reasoning_effort is ${shown(stated)}, values and a default of them are needed`,
  );
}

function size(config: Record<string, unknown>, key: string): number {
  const value = config[key];
  if (Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 22) return Number(value);
  throw wrong(`config.${key} is ${shown(value)}, a number of tokens is needed`);
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'left out').slice(0, 200);

function wrong(problem: string): EngineError {
  return badCheckpoint(`${TEKKEN}: ${problem}: put the published file in its place`, TEKKEN);
}
