// Older repositories ship vocab.json and merges.txt instead of tokenizer.json. The pair says nothing about how text
// is cut before merging: that is knowledge of the tokenizer's class, written down here for the classes in use.

import { EngineError } from '../error.ts';

interface TextRules {
  normalizer: unknown;
  pre_tokenizer: unknown;
  post_processor: unknown;
  model?: Record<string, unknown>;
}

const byteLevel = (useRegex: boolean, addPrefixSpace: boolean) => ({
  type: 'ByteLevel',
  add_prefix_space: addPrefixSpace,
  trim_offsets: false,
  use_regex: useRegex,
});

const split = (regex: string, behavior: 'Isolated' | 'Removed', invert: boolean) => ({
  type: 'Split',
  pattern: { Regex: regex },
  behavior,
  invert,
});

const sequence = (member: string, ...parts: unknown[]) => ({ type: 'Sequence', [member]: parts });

const QWEN_WORDS =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const CLIP_WORDS = "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+";

function qwen(): TextRules {
  return {
    normalizer: { type: 'NFC' },
    pre_tokenizer: sequence('pretokenizers', split(QWEN_WORDS, 'Isolated', false), byteLevel(false, false)),
    post_processor: byteLevel(false, false),
  };
}

function gpt2(config: Record<string, unknown>): TextRules {
  return {
    normalizer: null,
    pre_tokenizer: byteLevel(true, config['add_prefix_space'] === true),
    post_processor: byteLevel(true, false),
  };
}

function clip(_: Record<string, unknown>, vocab: Record<string, number>): TextRules {
  const [bos, eos] = ['<|startoftext|>', '<|endoftext|>'];
  return {
    normalizer: sequence(
      'normalizers',
      { type: 'NFC' },
      { type: 'Replace', pattern: { Regex: '\\s+' }, content: ' ' },
      { type: 'Lowercase' },
    ),
    pre_tokenizer: sequence('pretokenizers', split(CLIP_WORDS, 'Removed', true), byteLevel(true, false)),
    post_processor: {
      type: 'RobertaProcessing',
      sep: [eos, vocab[eos] ?? 0],
      cls: [bos, vocab[bos] ?? 0],
      trim_offsets: false,
      add_prefix_space: false,
    },
    model: { end_of_word_suffix: '</w>', unk_token: eos },
  };
}

const RULES: Record<string, (config: Record<string, unknown>, vocab: Record<string, number>) => TextRules> = {
  Qwen2Tokenizer: qwen,
  GPT2Tokenizer: gpt2,
  CLIPTokenizer: clip,
};

/** A tokenizer.json for the pair, as the reference converter would write it (added tokens left to the config). */
export function assembleTokenizer(
  vocab: Record<string, unknown>,
  merges: string,
  config: Record<string, unknown>,
): Record<string, unknown> {
  const { tokenizer_class: className } = config;
  const name = typeof className === 'string' ? className.replace(/Fast$/, '') : 'no class';
  const rules = Object.hasOwn(RULES, name) ? RULES[name] : undefined;
  if (rules === undefined) {
    throw new EngineError(
      'unsupported',
      `a vocab.json with merges.txt can be read for ${Object.keys(RULES).join(', ')} and this one is for ${name}: fetch or make a tokenizer.json for it`,
      { param: 'tokenizer_config.json' },
    );
  }
  if (!isVocab(vocab)) {
    throw new EngineError('bad_checkpoint', 'vocab.json must map tokens to ids: fetch the file again', {
      param: 'vocab.json',
    });
  }
  const { model, ...text } = rules(config, vocab);
  return {
    version: '1.0',
    added_tokens: [],
    ...text,
    decoder: byteLevel(true, false),
    model: { type: 'BPE', byte_fallback: false, ...model, vocab, merges: mergeLines(merges) },
  };
}

function mergeLines(merges: string): [string, string][] {
  const lines = merges
    .split('\n')
    .filter((line) => line !== '' && line !== '\r' && !line.startsWith('#version'));
  return lines.map((line, at) => {
    const [left, right, rest] = line.replace(/\r$/, '').split(' ');
    if (!left || !right || rest !== undefined) {
      throw new EngineError(
        'bad_checkpoint',
        `merges.txt: merge ${at + 1} is ${JSON.stringify(line)} instead of two tokens with a space between: fetch the file again`,
        { param: 'merges.txt' },
      );
    }
    return [left, right];
  });
}

function isVocab(vocab: Record<string, unknown>): vocab is Record<string, number> {
  return Object.values(vocab).every((id) => Number.isSafeInteger(id));
}
