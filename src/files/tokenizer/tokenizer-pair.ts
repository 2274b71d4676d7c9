// Older repositories contain vocab.json and merges.txt instead of tokenizer.json. These do not define how text is split before
// merging; that depends on the tokenizer's class, and is defined here for the classes in use.

import { badCheckpoint, unsupported } from '../error.ts';
import { STAND_INS } from './encode/stand-ins.ts';
import { specialTokens } from './encode/special-tokens.ts';
import { aroundText, byteLevel, isolated, sequence } from '../tokenizer-parts.ts';

/** Two tokens that are made one. */
type Merge = readonly [left: string, right: string];
/** Ids by the texts of tokens. */
export type Vocabulary = ReadonlyMap<string, number>;

interface TextRules {
  normalizer: unknown;
  pre_tokenizer: unknown;
  post_processor: unknown;
  model?: Record<string, unknown>;
}

const QWEN_WORDS =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const CLIP_WORDS =
  "<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+";

/** BOS and EOS where the config asks for them and names them: neither of these classes has them by itself. */
function bosAndEos(config: Record<string, unknown>): unknown {
  const { bos_token: bos, eos_token: eos } = specialTokens(config);
  const part = (content: unknown, asked: unknown) =>
    asked === true && typeof content === 'string' ? { content } : null;
  return aroundText(part(bos, config['add_bos_token']), part(eos, config['add_eos_token']));
}

function qwen(config: Record<string, unknown>): TextRules {
  return {
    normalizer: { type: 'NFC' },
    pre_tokenizer: sequence('pretokenizers', [
      isolated(QWEN_WORDS),
      byteLevel(false, config['add_prefix_space'] === true),
    ]),
    post_processor: bosAndEos(config),
  };
}

function gpt2(config: Record<string, unknown>): TextRules {
  return {
    normalizer: null,
    pre_tokenizer: byteLevel(true, config['add_prefix_space'] === true),
    post_processor: bosAndEos(config),
  };
}

/** The class always adds both, whatever the config says. */
function clip(config: Record<string, unknown>, ids: Vocabulary): TextRules {
  const { bos_token: bos, eos_token: eos, unk_token: unknown } = specialTokens(config);
  const pair = (token: unknown): [string, number] => {
    const id = typeof token === 'string' ? ids.get(token) : undefined;
    if (id !== undefined) return [String(token), id];
    throw badCheckpoint(
      `CLIP's tokenizer puts bos_token and eos_token around each text, and ${JSON.stringify(token ?? null)} is not a token of vocab.json: name both in tokenizer_config.json`,
      'tokenizer_config.json',
    );
  };
  return {
    normalizer: sequence('normalizers', [
      { type: 'NFC' },
      { type: 'Replace', pattern: { Regex: '\\s+' }, content: ' ' },
      { type: 'Lowercase' },
    ]),
    pre_tokenizer: sequence('pretokenizers', [
      { ...isolated(CLIP_WORDS), behavior: 'Removed', invert: true },
      byteLevel(true),
    ]),
    post_processor: {
      type: 'RobertaProcessing',
      sep: pair(eos),
      cls: pair(bos),
      trim_offsets: false,
      add_prefix_space: false,
    },
    model: { end_of_word_suffix: '</w>', unk_token: unknown },
  };
}

interface TokenizerClass {
  rules(config: Record<string, unknown>, ids: Vocabulary): TextRules;
  /** Tokens that the class names where the config does not. */
  specials: Record<string, string>;
}

const [START, END] = ['<|startoftext|>', '<|endoftext|>'];
const CLASSES: Record<string, TokenizerClass> = {
  Qwen2Tokenizer: { rules: qwen, specials: { unk_token: END, eos_token: END, pad_token: END } },
  GPT2Tokenizer: { rules: gpt2, specials: { unk_token: END, bos_token: END, eos_token: END } },
  CLIPTokenizer: {
    rules: clip,
    specials: { unk_token: END, bos_token: START, eos_token: END, pad_token: END },
  },
};

function classOf(config: Record<string, unknown>): TokenizerClass {
  const { tokenizer_class: className } = config;
  const name = typeof className === 'string' ? className.replace(/Fast$/, '') : 'no class';
  const known = Object.hasOwn(CLASSES, name) ? CLASSES[name] : undefined;
  if (known !== undefined) return known;
  throw unsupported(
    `a vocab.json with merges.txt can be read for ${Object.keys(CLASSES).join(', ')} and this one is for ${name}: fetch or make a tokenizer.json for it`,
    'tokenizer_config.json',
  );
}

/** tokenizer_config.json with the special tokens that its class has where it names none. */
export function withClassTokens(config: Record<string, unknown>): Record<string, unknown> {
  return { ...classOf(config).specials, ...config };
}

/** The vocabulary of OpenAI's CLIP follows from its merges: the stand-ins of bytes, the same at ends of words, what merges give, two marks. */
export function clipVocabulary(merges: readonly Merge[]): Vocabulary {
  const characters = Array.from(STAND_INS, (byte, code) =>
    byte < 0 ? [] : [String.fromCharCode(code)],
  ).flat();
  const ends = characters.map((character) => `${character}</w>`);
  const ids = new Map<string, number>();
  let id = 0;
  for (const token of [...characters, ...ends]) ids.set(token, id++);
  for (const [left, right] of merges) ids.set(left + right, id++);
  for (const token of [START, END]) ids.set(token, id++);
  return ids;
}

/** A tokenizer.json for the pair, or for CLIP's merges alone, as the reference converter would write it (added tokens left to the config: see withClassTokens). */
export function assembleTokenizer(
  vocab: Record<string, unknown> | undefined,
  merges: string,
  config: Record<string, unknown>,
): Record<string, unknown> {
  const { rules } = classOf(config);
  const pairs = mergeLines(merges);
  const ids = vocab === undefined ? clipVocabulary(pairs) : idsOf(vocab);
  const { model, ...text } = rules(config, ids);
  return {
    version: '1.0',
    added_tokens: [],
    ...text,
    decoder: byteLevel(true),
    model: { type: 'BPE', byte_fallback: false, ...model, vocab: ids, merges: pairs },
  };
}

export function mergeLines(merges: string): Merge[] {
  const lines = merges.split(/\r?\n|\r/).filter((line) => line !== '' && !line.startsWith('#version'));
  return lines.map((line, at) => {
    const space = line.indexOf(' ');
    if (space > 0 && space < line.length - 1 && !line.includes(' ', space + 1))
      return [line.slice(0, space), line.slice(space + 1)];
    throw badCheckpoint(
      `merges.txt: merge ${at + 1} is ${JSON.stringify(line)} instead of two tokens with a space between: fetch the file again, or correct it`,
      'merges.txt',
    );
  });
}

function idsOf(vocab: Record<string, unknown>): Vocabulary {
  const ids = new Map<string, number>();
  for (const token of Object.keys(vocab)) {
    const id = vocab[token];
    if (!Number.isSafeInteger(id) || Number(id) < 0)
      throw badCheckpoint(
        'vocab.json must map tokens to ids: put the published file in its place',
        'vocab.json',
      );
    ids.set(token, Number(id));
  }
  if (ids.size === 0) throw badCheckpoint('vocab.json has no tokens: fetch the file again', 'vocab.json');
  return ids;
}
