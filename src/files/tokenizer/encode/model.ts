// The models of tokenizer.json: from a piece of text to token ids.

import { UnknownKind } from './unknown-kind.ts';
import { isRecord } from '../../source.ts';
import { createBpe } from './bpe.ts';
import { createUnigram } from './unigram.ts';
import type { TokenModel } from './vocabulary.ts';
import { createWordLevel, createWordPiece } from './word-models.ts';

/** Files of the first years leave the type out. Throws for a kind that nobody knows. */
export function createModel(config: unknown): TokenModel {
  if (!isRecord(config)) throw new Error('tokenizer.json has no model');
  const { type, vocab, merges } = config;
  const older = Array.isArray(vocab)
    ? 'Unigram'
    : merges !== undefined
      ? 'BPE'
      : 'continuing_subword_prefix' in config
        ? 'WordPiece'
        : 'WordLevel';
  switch (type ?? older) {
    case 'BPE':
      return createBpe(config);
    case 'Unigram':
      return createUnigram(config);
    case 'WordPiece':
      return createWordPiece(config);
    case 'WordLevel':
      return createWordLevel(config);
    default:
      throw new UnknownKind('TokenizerModel type', type);
  }
}
