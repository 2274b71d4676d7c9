// Tokenizers of tiny pipelines: CLIP's, or the beginning of it.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clipVocabulary, mergeLines } from '../../../src/files/tokenizer/tokenizer-pair.ts';

const TOKENIZER = fileURLToPath(new URL('../../../models/clip-tokenizer', import.meta.url));
const MERGES = readFileSync(join(TOKENIZER, 'merges.txt'), 'utf8');
/** Tokenizers of few words have so many of CLIP's merges. */
const FEW_MERGES = 512;

/**
 * Words of a pipeline: all of CLIP's, for files that are read with the tokenizer that is built in; or few, which are opened and loaded in a fraction
 * of the time.
 */
export type Words = 'few' | 'published';

interface TokenizerFiles {
  merges: string;
  vocabulary: ReturnType<typeof clipVocabulary>;
}

const tokenizers = new Map<Words, TokenizerFiles>();

function tokenizerFiles(words: Words): TokenizerFiles {
  const known = tokenizers.get(words);
  if (known) return known;
  const merges = words === 'few' ? MERGES.split('\n', FEW_MERGES + 1).join('\n') : MERGES;
  const made = { merges, vocabulary: clipVocabulary(mergeLines(merges)) };
  tokenizers.set(words, made);
  return made;
}

/** Tokens of a text encoder for these words; the last one ends texts. */
export const wordCount = (words: Words): number => tokenizerFiles(words).vocabulary.size;

/** Writes the tokenizer of a pipeline into a new folder. */
export function writeTokenizer(folder: string, words: Words, config: Record<string, unknown>): void {
  const { merges, vocabulary } = tokenizerFiles(words);
  const specials = { bos_token: '<|startoftext|>', eos_token: '<|endoftext|>', pad_token: '<|endoftext|>' };
  const contents = {
    'merges.txt': merges,
    'vocab.json': JSON.stringify(Object.fromEntries(vocabulary)),
    'tokenizer_config.json': JSON.stringify({ tokenizer_class: 'CLIPTokenizer', ...specials, ...config }),
  };
  mkdirSync(folder);
  for (const [name, content] of Object.entries(contents)) writeFileSync(join(folder, name), content);
}
