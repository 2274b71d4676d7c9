// The towers of a model that reads images or sounds, which llama.cpp keeps in a file of their own (mmproj) beside that of the language model.

import type { TensorEntry } from '../tensors/safetensors.ts';
import { badCheckpoint, type EngineError, unsupported } from '../error.ts';
import { keepingOpen, type ByteSource, type Folder } from '../source.ts';
import type { GgufTensor } from './gguf.ts';
import { malformed } from './header-cursor.ts';
import type { GgufKeys } from './keys.ts';
import type { GgufPart } from './model.ts';
import { openGgufFiles } from './open-files.ts';
import { entryOf } from './tensors.ts';
import { joinFrames, PATCHES, SECOND_FRAME } from './tower-frames.ts';

type Json = Record<string, unknown>;

/** The language model that a tower stands before. */
export interface TowerLanguage {
  /** general.architecture */
  metadata: string;
  /** The content of a config.json, with model_type. */
  config: Readonly<Json>;
  keys: GgufKeys;
}

/** The file of a tower, as declarations read it. */
export interface TowerFile {
  keys: GgufKeys;
  tensors: ReadonlyMap<string, GgufTensor>;
  language: TowerLanguage;
}

/** Both models together, as a folder with config.json would have them. */
export interface TowerReading {
  className: string;
  config: Json;
  /** Configurations of processors, by file name. */
  processors: Record<string, Json>;
}

/** Declaration of the files of a kind of tower. */
export interface GgufTower {
  /** clip.projector_type */
  projector: string;
  /** clip.audio.projector_type of the encoder of sounds that files may hold beside the one of images; left out: files hold one tower. */
  sounds?: string;
  /** general.architecture of the language models that it was trained with; null: of any. */
  texts: readonly string[] | null;
  /** A token of media without which files of those language models, of older converters, are for text only; left out: all have theirs. */
  token?: string;
  /** Whether a language model stands behind such a tower in every published model; left out: none does. */
  isExpected?(language: Pick<TowerLanguage, 'metadata' | 'keys'>): boolean;
  /** The classes of both together. */
  classNames: readonly string[];
  /** The matrix that makes rows for the language model, and the dimension in which their columns are counted. */
  output: { tensor: string; dimension: 0 | 1 };
  /** Throws unsupported and bad_checkpoint. */
  read(file: TowerFile): TowerReading;
  /** Parts of a tensor; none for one that is not read; null: the page has none such. */
  parts(tensor: Pick<GgufTensor, 'name' | 'shape'>, file: TowerFile): readonly GgufPart[] | null;
}

export interface OpenedTower extends TowerReading {
  tensors: Map<string, TensorEntry>;
  sources: ByteSource[];
}

/** A language model as it is opened alone: of the class `architecture`. */
export interface OpenedLanguage extends TowerLanguage {
  architecture: string;
}

/** The file of a tower that is named apart from the model. */
export interface GivenTower {
  folder: Folder;
  name: string;
}

/** Metadata key of the kind of a projector, for errors. */
export const PROJECTOR = 'clip.projector_type';

/**
 * Opens the file `name` of a folder. `modelTypes`: model_type → class. Throws unsupported for a kind that is not built, by `PROJECTOR`, and bad_checkpoint for the tower of another
 * model. On an error nothing stays open.
 */
export async function openGgufTower(
  folder: Folder,
  name: string,
  { architecture, ...opened }: OpenedLanguage,
  { towers, modelTypes }: { towers: readonly GgufTower[]; modelTypes: ReadonlyMap<string, string> },
): Promise<OpenedTower> {
  const [type] = [...modelTypes].find(([, className]) => className === architecture) ?? [];
  const language = { ...opened, config: { ...opened.config, model_type: type } };
  const { keys, tensors, sources } = await openGgufFiles(folder, name);
  return keepingOpen(sources, () => {
    const tower = towerOf(keys, towers);
    const file = { keys, tensors, language };
    checkPair(tower, file);
    checkVocabulary(tower, file);
    return { ...tower.read(file), tensors: entries(tower, file), sources };
  });
}

/** Keys of files of one kind, and of files that hold a tower for images, one for sounds, or both. */
const PROJECTORS = [PROJECTOR, 'clip.vision.projector_type', 'clip.audio.projector_type'];

function towerOf(keys: GgufKeys, towers: readonly GgufTower[]): GgufTower {
  const key = PROJECTORS.find((one) => keys.get(one) !== undefined);
  if (key === undefined)
    throw unsupported(
      `${keys.file} holds no tower (${PROJECTOR} is missing): give an mmproj file`,
      PROJECTOR,
    );
  const projector = keys.text(key);
  const tower = towers.find((one) => one.projector === projector);
  const known = towers.map((one) => one.projector);
  if (tower === undefined || !isAlone(keys, tower))
    throw unsupported(
      `${keys.file}: ${tower ? 'a tower for images beside one for sounds' : `${key} ${projector}`} is not built; towers of ${known.join(', ')} are`,
      PROJECTOR,
    );
  return tower;
}

/** Whether the tower reads everything that its file holds. */
function isAlone(keys: GgufKeys, { sounds }: GgufTower): boolean {
  const [vision, audio] = PROJECTORS.slice(1).map((one) => keys.get(one));
  return vision === undefined || audio === undefined || audio === sounds;
}

/** Throws where the tower was trained with another language model. */
function checkPair(tower: GgufTower, { keys, tensors, language }: TowerFile): void {
  const other = (problem: string): EngineError =>
    badCheckpoint(
      `${keys.file} is the tower of another model than ${language.keys.file}: ${problem}; put the mmproj file of this model in its place`,
      keys.file,
    );
  if (tower.texts !== null && !tower.texts.includes(language.metadata))
    throw other(
      `towers of ${tower.projector} stand before ${tower.texts.join(' and ')}, and general.architecture is ${language.metadata}`,
    );
  const { tensor, dimension } = tower.output;
  const columns = tensors.get(tensor)?.shape[dimension];
  if (columns === undefined) throw malformed(keys.file, `it has no tensor ${tensor} with rows and columns`);
  const { hidden_size: hidden } = language.config;
  if (columns !== hidden)
    throw other(`its rows have ${columns} columns, and those of the model ${String(hidden)}`);
}

/** Throws unsupported, by `PROJECTOR`, where the vocabulary of the language model has no tokens of media. */
function checkVocabulary({ token }: GgufTower, { keys, language }: TowerFile): void {
  const tokens = language.keys.texts('tokenizer.ggml.tokens');
  if (token === undefined || tokens === null || tokens.includes(token)) return;
  throw unsupported(
    `${keys.file} needs tokens of media, and the vocabulary of ${language.keys.file} has no ${token}: take a GGUF file of the language model that was converted together with its tower`,
    PROJECTOR,
  );
}

/** Tensors under the page's names. One that the tower does not know keeps its own, and is refused as one that nothing reads. */
function entries(tower: GgufTower, file: TowerFile): Map<string, TensorEntry> {
  const found = new Map<string, TensorEntry>();
  const second = file.tensors.get(SECOND_FRAME);
  for (const tensor of file.tensors.values()) {
    if (tensor === second) continue;
    const parts = tower.parts(tensor, file) ?? [{ name: tensor.name, shape: tensor.shape }];
    for (const part of parts) {
      const { file: name } = file.keys;
      if (found.has(part.name)) throw malformed(name, `two of its tensors are ${part.name}`);
      const entry = entryOf(tensor, part);
      const isSplit = tensor.name === PATCHES && second !== undefined;
      found.set(part.name, isSplit ? joinFrames(name, entry, second) : entry);
    }
  }
  return found;
}
