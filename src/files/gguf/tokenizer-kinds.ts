// The kinds of tokenizers that GGUF files have, as parts of a tokenizer.json: SentencePiece's merges by score, byte-level BPE, WordPiece,
// and Unigram.

import { badCheckpoint } from '../error.ts';
import { base64, byteLevel, isolated, metaspace, sequence } from '../tokenizer-parts.ts';
import { scoredMerges } from '../scored-merges.ts';
import type { GgufKeys } from './keys.ts';
import { preTokenizer, preTokenizerNames, type NamedPreTokenizer } from './pre-tokenizers.ts';
import { KIND, tokenizerKey as own, type GgufToken } from './vocabulary.ts';

export interface TokenizerParts {
  model: Record<string, unknown>;
  normalizer: unknown;
  pre_tokenizer: unknown;
  decoder: unknown;
  /** Tokens around a text where the file does not say; CLS and SEP stand there whatever it says. */
  adds: { bos: boolean; eos: boolean } | 'cls-sep';
}

/** Roles of tokens → ids. */
export type Roles = Readonly<Record<string, number>>;

const SPACE = '▁';
export const plainText = ({ text }: GgufToken): string => text;

export interface Kind {
  /** Throws unsupported for rules that are not known; left out: the kind has one set of rules. */
  check?(keys: GgufKeys): void;
  parts(keys: GgufKeys, tokens: readonly GgufToken[], roles: Roles): TokenizerParts;
  /** Ids of the roles that a file leaves out. */
  roles: Roles;
  /** The text of a token that is cut out of a text as it is; left out: the token's own. */
  textOf?(token: GgufToken): string;
}

/** Kinds of tokenizers by their names. */
export const MODELS: Readonly<Record<string, Kind>> = {
  llama: { textOf: withSpaces, parts: sentencePiece, roles: { bos_token: 1, eos_token: 2, unk_token: 0 } },
  gpt2: { check: preTokenizerOf, parts: byteLevelBpe, roles: {} },
  bert: {
    textOf: withoutMarks,
    parts: wordPiece,
    roles: { bos_token: 101, unk_token: 100, sep_token: 102, pad_token: 0, mask_token: 103 },
  },
  t5: { parts: unigram, roles: { eos_token: 1, unk_token: 2, pad_token: 0 } },
};

/** Texts of the tokens that text is made of → ids. */
function vocabularyOf(
  tokens: readonly GgufToken[],
  textOf: (token: GgufToken) => string = plainText,
): Record<string, number> {
  return Object.fromEntries(
    tokens.filter(({ kind }) => kind !== KIND.unused).map((token) => [textOf(token), token.id]),
  );
}

/** Tokens of a user's own, as Gemma's runs of spaces, stand for text before spaces are marked. */
function withSpaces({ text, kind }: GgufToken): string {
  return kind === KIND.userDefined ? text.replaceAll(SPACE, ' ') : text;
}

/** SentencePiece's BPE: the pair whose token has the highest score is merged first, and what has no token is bytes. */
function sentencePiece(keys: GgufKeys, tokens: readonly GgufToken[], roles: Roles): TokenizerParts {
  const prefix = keys.flag(own('add_space_prefix'), true);
  const spaces = { type: 'Replace', pattern: { String: ' ' }, content: SPACE };
  const unknown = roles['unk_token'];
  return {
    model: {
      type: 'BPE',
      byte_fallback: true,
      fuse_unk: true,
      unk_token: unknown === undefined ? null : tokens[unknown]!.text,
      // A user's own tokens are cut out of a text before and take no part in merges.
      vocab: vocabularyOf(tokens.filter(({ kind }) => kind !== KIND.userDefined)),
      merges: scoredMerges(tokens.filter(({ kind }) => kind === KIND.normal)),
    },
    normalizer: sequence('normalizers', [...(prefix ? [{ type: 'Prepend', prepend: SPACE }] : []), spaces]),
    pre_tokenizer: null,
    decoder: sequence('decoders', [
      { type: 'Replace', pattern: { String: SPACE }, content: ' ' },
      { type: 'ByteFallback' },
      { type: 'Fuse' },
      ...(prefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
    ]),
    adds: { bos: true, eos: false },
  };
}

function preTokenizerOf(keys: GgufKeys): NamedPreTokenizer {
  const rules = preTokenizer(keys.text(own('pre'), 'default'));
  if (rules !== null) return rules;
  throw keys.unsupported(own('pre'), `choose a model that has one of ${preTokenizerNames().join(', ')}`);
}

function byteLevelBpe(keys: GgufKeys, tokens: readonly GgufToken[]): TokenizerParts {
  const rules = preTokenizerOf(keys);
  const merges = keys.texts(own('merges'));
  if (merges === null) throw keys.wrong(own('merges'), 'a list of merges');
  return {
    model: {
      type: 'BPE',
      ignore_merges: rules.ignoresMerges,
      vocab: vocabularyOf(tokens),
      merges: merges.map((merge, nth) => mergeOf(keys, merge, nth)),
    },
    normalizer: rules.normalizer === null ? null : { type: rules.normalizer },
    pre_tokenizer: sequence('pretokenizers', [...rules.splits.map(isolated), byteLevel(false)]),
    decoder: byteLevel(true),
    adds: { bos: rules.addsBos, eos: false },
  };
}

/** Two tokens with a space between. */
function mergeOf(keys: GgufKeys, merge: string, nth: number): [string, string] {
  const at = merge.indexOf(' ', 1);
  if (at > 0) return [merge.slice(0, at), merge.slice(at + 1)];
  throw badCheckpoint(
    `${keys.file}: merge ${nth} of ${own('merges')} is ${JSON.stringify(merge.slice(0, 100))}, two tokens with a space between are needed: fetch the file again`,
    own('merges'),
  );
}

/** llama.cpp marks the tokens that begin a word, where WordPiece marks those that continue one. */
function withoutMarks({ text, kind }: GgufToken): string {
  if (kind === KIND.control || kind === KIND.unknown) return text;
  return text.startsWith(SPACE) ? text.slice(SPACE.length) : `##${text}`;
}

function wordPiece(keys: GgufKeys, tokens: readonly GgufToken[], roles: Roles): TokenizerParts {
  const lowers = keys.flag(own('normalizer.lowercase'), true);
  const unknown = roles['unk_token'];
  return {
    model: {
      type: 'WordPiece',
      unk_token: unknown === undefined ? '[UNK]' : withoutMarks(tokens[unknown]!),
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: vocabularyOf(tokens, withoutMarks),
    },
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      lowercase: lowers,
      strip_accents: keys.flag(own('normalizer.strip_accents'), lowers),
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: false },
    adds: 'cls-sep',
  };
}

function unigram(keys: GgufKeys, tokens: readonly GgufToken[], roles: Roles): TokenizerParts {
  const map = keys.get(own('precompiled_charsmap'));
  const mends = keys.flag(own('remove_extra_whitespaces'), false);
  const bytes = ArrayBuffer.isView(map) ? new Uint8Array(map.buffer, map.byteOffset, map.byteLength) : null;
  const space = metaspace(keys.flag(own('add_space_prefix'), true) ? 'always' : 'never');
  return {
    model: {
      type: 'Unigram',
      unk_id: roles['unk_token'] ?? null,
      vocab: tokens.map(({ text, score }) => [text, score]),
    },
    normalizer: sequence('normalizers', [
      ...(bytes === null ? [] : [{ type: 'Precompiled', precompiled_charsmap: base64(bytes) }]),
      ...(mends ? [{ type: 'Replace', pattern: { Regex: ' {2,}' }, content: ' ' }] : []),
    ]),
    pre_tokenizer: mends ? sequence('pretokenizers', [{ type: 'WhitespaceSplit' }, space]) : space,
    decoder: space,
    adds: { bos: false, eos: true },
  };
}
