// Folders that are opened by a GGUF file.

import { EngineError } from '../error.ts';
import { openGgufCheckpoint } from '../gguf/checkpoint.ts';
import { ggufSets, setsText } from '../gguf/file-names.ts';
import type { Folder } from '../source.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { refuseUnknownClass, type KnownClasses } from './architecture.ts';
import { refuseEmbeddingFolder } from './checkpoint-refusal.ts';
import { MODULES, type EmbeddingLayout } from './embedding-folder.ts';
import type { Checkpoint } from './opened-checkpoint.ts';

/** The GGUF file that a folder is opened by; null: none. Throws where there are several models. */
export function ggufOf(path: string, names: readonly string[]): string | null {
  if (names.some((name) => name.endsWith('.safetensors') || name === 'model_index.json')) return null;
  const sets = ggufSets(names);
  if (sets.length > 1) {
    const tag = sets.find(({ tag: one }) => one !== null)?.tag ?? null;
    const byTag = tag === null ? '' : `, or by its quantization as ${path}:${tag}`;
    throw new EngineError(
      'model_not_found',
      `${path} holds ${sets.length} models as GGUF files, ${setsText(sets)}: name one by its file${byTag}`,
      { param: 'model' },
    );
  }
  return sets[0]?.names[0] ?? null;
}

/** Opens the file `name`. On an error nothing stays open. */
export async function openGguf(folder: Folder, name: string, known: KnownClasses): Promise<Checkpoint> {
  const {
    sources,
    tokenizer: readOwn,
    layout,
    metadata,
    ...opened
  } = await openGgufCheckpoint(folder, name, known);
  const close = async (): Promise<void> => void (await Promise.all(sources.map((source) => source.close())));
  try {
    checkGgufClass(folder.path, opened.architecture, layout, known);
  } catch (error) {
    await close();
    throw error;
  }
  let tokenizer: Tokenizer | undefined;
  return {
    ...opened,
    path: folder.path,
    wrapper: null,
    beside: null,
    configSource: { name, metadata },
    generationConfigProblem: null,
    shards: sources.map((source) => source.name),
    tokenizer: async () => (tokenizer ??= readOwn()),
    layout: async (otherwise) => layout ?? { pooling: otherwise, normalize: true, mostTokens: null },
    close,
  };
}

/** Throws where a GGUF file is of another kind of model than the one that is opened. */
function checkGgufClass(
  path: string,
  architecture: string,
  layout: EmbeddingLayout | null,
  known: KnownClasses,
): void {
  const isEmbedding = layout !== null || known.embeddings?.includes(architecture);
  if (known.embeddings && isEmbedding) refuseEmbeddingFolder(path, [MODULES], architecture, known.embeddings);
  refuseUnknownClass(path, {}, architecture, known);
}
