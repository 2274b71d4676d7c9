// Tokenizers of a pipeline's components.

import { readFolderTokenizer } from '../../files/checkpoint/checkpoint.ts';
import { EngineError } from '../../files/error.ts';
import type { PipelineComponent } from '../../files/pipeline/pipeline-index.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';

/** Throws bad_checkpoint where the files of a tokenizer are missing or damaged. */
export async function openTokenizer({ folder, config, className }: PipelineComponent): Promise<Tokenizer> {
  // A processor's tokenizer has a class of its own, which its configuration names.
  const own = className.endsWith('Processor') ? config : { ...config, tokenizer_class: className };
  const tokenizer = await readFolderTokenizer(folder, own);
  if (tokenizer.vocabSize > 0) return tokenizer;
  throw new EngineError('bad_checkpoint', `the tokenizer in ${folder.path} has no tokens: fetch it again`);
}
