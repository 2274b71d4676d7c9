// Tokenizers of a pipeline's components.

import { readFolderTokenizer } from '../../../files/checkpoint/checkpoint.ts';
import { EngineError } from '../../../files/error.ts';
import type { PipelineComponent } from '../../../files/pipeline/pipeline-index.ts';
import type { Tokenizer } from '../../../files/tokenizer/tokenizer.ts';

/**
 * Classes of transformers that compute what the files of any tokenizer say. transformers 5 names them where a class of its own is not
 * known, and transformers 4 the second.
 */
export const TOKENIZER_BACKENDS: readonly string[] = [
  'TokenizersBackend',
  'PreTrainedTokenizerFast',
  'SentencePieceBackend',
  'PythonBackend',
];

/** Throws bad_checkpoint where the files of a tokenizer are missing or damaged. */
export async function openTokenizer({ folder, config, className }: PipelineComponent): Promise<Tokenizer> {
  // A processor's tokenizer has a class of its own, which its configuration names, as it may where a backend reads it.
  const saysNothing = className.endsWith('Processor') || TOKENIZER_BACKENDS.includes(className);
  const own = saysNothing ? config : { ...config, tokenizer_class: className };
  const tokenizer = await readFolderTokenizer(folder, own);
  if (tokenizer.vocabSize > 0) return tokenizer;
  throw new EngineError('bad_checkpoint', `the tokenizer in ${folder.path} has no tokens: fetch it again`);
}
