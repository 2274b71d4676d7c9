// Folders that hold one file with all weights, in place of the files of a model or a component.

import { ggufSets } from '../gguf/file-names.ts';
import { tensorFiles } from '../tensors/tensor-file.ts';

const FILES_OF_FOLDERS =
  /^(config|model_index|adapter_config|tokenizer_config|scheduler_config)\.json$|^pytorch_lora_weights\.|\.(safetensors|bin)\.index\.json$/;

/** The file that a folder holds in place of the files of a model or a component; null: it has those files, or several. */
export function weightsFileOf(names: readonly string[]): string | null {
  if (names.some((name) => FILES_OF_FOLDERS.test(name))) return null;
  const files = tensorFiles(names);
  const sets = ggufSets(names);
  if (files.length + sets.length !== 1) return null;
  return files[0] ?? sets[0]!.names[0]!;
}
