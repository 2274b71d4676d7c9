// Folders that are opened by a GGUF file.

import { EngineError, modelNotFound } from '../error.ts';
import { openGgufCheckpoint, type GgufCheckpoint } from './gguf-checkpoint.ts';
import { ggufSets, setsText, towerBeside } from '../gguf/file-names.ts';
import { openGgufTower, PROJECTOR, type GgufTower, type GivenTower } from '../gguf/tower.ts';
import { closeAll, keepingOpen, type ByteSource, type Folder } from '../source.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { refuseUnknownClass, type KnownClasses } from './architecture.ts';
import { refuseEmbeddingFolder } from './checkpoint-refusal.ts';
import { MODULES, plainLayout, type EmbeddingLayout } from './embedding-folder.ts';
import type { Checkpoint } from './opened-checkpoint.ts';

/** The GGUF file that a folder is opened by; null: none. Throws where there are several models. */
export function ggufOf(path: string, names: readonly string[]): string | null {
  if (names.some((name) => name.endsWith('.safetensors') || name === 'model_index.json')) return null;
  const sets = ggufSets(names);
  if (sets.length > 1) {
    const tag = sets.find(({ tag: one }) => one !== null)?.tag ?? null;
    const byTag = tag === null ? '' : `, or by its quantization as ${path}:${tag}`;
    throw modelNotFound(
      `${path} holds ${sets.length} models as GGUF files, ${setsText(sets)}: name one by its file${byTag}`,
      'model',
    );
  }
  return sets[0]?.names[0] ?? null;
}

/** Opens the file `name`; `given`: its tower, left out: one that lies beside it. On an error nothing stays open. */
export async function openGguf(
  folder: Folder,
  name: string,
  known: KnownClasses,
  given?: GivenTower,
): Promise<Checkpoint> {
  const opened = await openGgufCheckpoint(folder, name, known);
  const { sources: own, tokenizer: readOwn, layout, metadata, keys: _keys, ...language } = opened;
  const sources = [...own];
  return keepingOpen(sources, async () => {
    checkGgufClass(folder.path, language.architecture, layout, known);
    const { sources: towerSources, ...tower } = await openTower(folder, name, opened, known, given);
    sources.push(...towerSources);
    let tokenizer: Tokenizer | undefined;
    return {
      ...language,
      ...tower,
      path: folder.path,
      configSource: { name, metadata },
      shards: own.map((source) => source.name),
      tokenizer: async () => (tokenizer ??= readOwn()),
      layout: async (otherwise) => layout ?? plainLayout(otherwise),
      close: () => closeAll(sources),
    };
  });
}

type WithTower = Pick<Checkpoint, 'wrapper' | 'beside' | 'towerNote'> &
  Partial<Pick<Checkpoint, 'config' | 'architecture'>> & { sources: readonly ByteSource[] };

/**
 * Opens the tower of a language model. One beside it of a kind that is not built leaves the model with text only; one that was given is
 * refused.
 */
async function openTower(
  folder: Folder,
  name: string,
  { config, architecture, metadata, keys }: GgufCheckpoint,
  { towers = () => [], modelTypes, textHalf }: KnownClasses,
  given?: GivenTower,
): Promise<WithTower> {
  const all = towers();
  const none = (towerNote: string | null): WithTower => ({
    wrapper: null,
    beside: null,
    towerNote,
    sources: [],
  });
  const beside = all.length === 0 || given ? null : towerBeside(name, await folder.names());
  const file = given ?? (beside === null ? null : { folder, name: beside });
  if (file === null) return none(all.length === 0 ? null : missingTower(name, { metadata, keys }, all));
  const language = { metadata, keys, config, architecture };
  try {
    const { className, tensors, sources, ...rest } = await openGgufTower(file.folder, file.name, language, {
      towers: all,
      modelTypes,
    });
    const half = textHalf?.(rest.config, className) ?? null;
    return {
      wrapper: { architecture: className, left: [], leftTensors: 0 },
      beside: { ...rest, tensors, file: { path: file.folder.path, name: file.name } },
      towerNote: null,
      ...half,
      sources,
    };
  } catch (error) {
    if (given || !(error instanceof EngineError && error.param === PROJECTOR)) throw error;
    return none(`${error.message}: ${name} is opened for text only`);
  }
}

/** A note for a language model that is published with a tower; null: it may stand alone. */
function missingTower(
  name: string,
  language: Pick<GgufCheckpoint, 'metadata' | 'keys'>,
  towers: readonly GgufTower[],
): string | null {
  if (!towers.some((tower) => tower.isExpected?.(language) === true)) return null;
  return `${name} is the language model of one that reads images, and takes text only: put the file of its tower, mmproj-….gguf, into the same folder`;
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
