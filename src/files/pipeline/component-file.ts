// One component of a pipeline in a file of its own, or in a file with others, whose layout its names show.

import { EngineError } from '../error.ts';
import type { Folder } from '../source.ts';
import type { FileLayouts } from './file-layout.ts';
import { findPart, openFile, openPart } from './file-parts.ts';
import type { ComponentClasses } from './pipeline-classes.ts';
import type { PipelineComponent } from './pipeline.ts';

const FILES_OF_FOLDERS =
  /^(config|model_index|adapter_config|tokenizer_config|scheduler_config)\.json$|^pytorch_lora_weights\.|\.safetensors\.index\.json$/;

/** The file that a folder holds in place of the files of a model or a component; null: it has those files, or several. */
export function weightsFileOf(names: readonly string[]): string | null {
  if (names.some((name) => FILES_OF_FOLDERS.test(name))) return null;
  const files = names.filter((name) => /\.safetensors$/i.test(name));
  return files.length === 1 ? files[0]! : null;
}

/** Throws unsupported for a file in which the component is not found. */
export async function openComponentFile(
  folder: Folder,
  name: string,
  component: string,
  { classes }: ComponentClasses,
  layouts: FileLayouts | undefined,
): Promise<PipelineComponent> {
  const file = await openFile(folder, name);
  try {
    const part = findPart(file.tensors, layouts?.parts[component] ?? []);
    if (part === null || !(classes ?? [part.className]).includes(part.className)) {
      throw new EngineError(
        'unsupported',
        `${file.path} holds no ${component} of this pipeline: its tensors have names such as ${[...file.tensors.keys()][0] ?? 'none'}; give the file or the folder of one`,
        { param: 'componentPaths' },
      );
    }
    const config = { ...part.config, ...layouts?.configs[component] };
    const weights = () => openPart(folder, name, part);
    return { name: component, className: part.className, kind: 'model', folder, config, weights };
  } finally {
    await file.source.close();
  }
}
