// Plans the memory of a model from its configuration and the headers of its weights: no weights are read and no GPU is opened.

import { architectureOf } from '../files/checkpoint/architecture.ts';
import { MODULES } from '../files/checkpoint/embedding-folder.ts';
import { readCheckpointConfig } from '../files/checkpoint/checkpoint.ts';
import { badRequest, EngineError } from '../files/error.ts';
import { option, say, subject } from '../files/message.ts';
import { isGgufName } from '../files/gguf/file-names.ts';
import { openGgufFiles } from '../files/gguf/open-files.ts';
import { weightsFileOf } from '../files/checkpoint/weights-file.ts';
import { readJson, type Folder } from '../files/source.ts';
import { DRAWN } from '../options/jobs.ts';
import { TEXT_CLASSES, TRANSCRIPTION_CLASSES } from '../engine/opening/architectures.ts';
import type { ModelPlan, PlanOptions } from '../engine/plan/model-plan.ts';
import type { BudgetedOptions, PlanPlace } from '../engine/plan/paper-model.ts';
import { planOnPaper } from '../engine/plan/plan-on-paper.ts';
import { EMBEDDING } from './kinds/embedding.ts';
import { IMAGE } from './kinds/image.ts';
import type { AnyKind } from './kinds/model-kind.ts';
import { TEXT } from './kinds/text.ts';
import { TRANSCRIPTION } from './kinds/transcription.ts';

/** Plans the model in a folder; the path is the folder's own, as `openFolder` takes it. */
export async function planFolder(
  path: string,
  options: BudgetedOptions,
  place: PlanPlace,
): Promise<ModelPlan> {
  const found = await kindOf(await place.openFolder(path));
  // Models that say what they make are opened as without the option.
  const judge = options.judge === true && found.name === TEXT.name;
  const kind = judge ? EMBEDDING : found;
  if (kind.name !== TEXT.name) refuseForText(options);
  if (kind.name !== IMAGE.name) refuseForImages(options);
  return planOnPaper(await kind.paper(), path, { ...options, judge }, place);
}

/** The kind of model in a folder, by its files and their headers. */
export async function kindOf(folder: Folder): Promise<AnyKind> {
  const names = await folder.names();
  if (names.includes(IMAGE.file!) || (await isImageFile(folder, names))) return IMAGE;
  if (await transcribes(folder, names)) return TRANSCRIPTION;
  return (await makesEmbeddings(folder, names)) ? EMBEDDING : TEXT;
}

/** A folder with one file is an image model's, unless the file is GGUF of a language model. */
async function isImageFile(folder: Folder, names: readonly string[]): Promise<boolean> {
  const file = weightsFileOf(names);
  if (file === null || !isGgufName(file)) return file !== null;
  const { keys, sources } = await openGgufFiles(folder, file);
  await Promise.all(sources.map((source) => source.close()));
  const architecture = keys.get('general.architecture');
  const kind = keys.get('general.type') ?? 'model';
  return kind === 'model' && IMAGE_ARCHITECTURES.has(architecture);
}

/** Architectures of ComfyUI-GGUF's image models; stable-diffusion.cpp states none. */
const IMAGE_ARCHITECTURES: ReadonlySet<unknown> = new Set([
  ...[
    'sd1',
    'sdxl',
    'sd3',
    'flux',
    'aura',
    'hidream',
    'cosmos',
    'ltxv',
    'hyvid',
    'wan',
    'lumina2',
    'qwen_image',
  ],
  undefined,
]);

/** Refuses what only language models have. */
function refuseForText(options: PlanOptions): void {
  const isGiven = {
    layerwiseOffload: options.layerwiseOffload === true,
    cpuMoe: options.cpuMoe === true,
    cpuMoeLayers: (options.cpuMoeLayers ?? 0) > 0,
    cpuMoeSlots: options.cpuMoeSlots !== undefined,
    deterministic: options.deterministic === true,
    activationDtype: options.activationDtype === 'int8',
    kvCacheDtype: (options.kvCacheDtype ?? 'auto') !== 'auto',
  };
  const given = Object.entries(isGiven).find(([, is]) => is)?.[0];
  if (given === undefined) return;
  throw badRequest(
    say`${option(given)} is for language models, which ${options.model} is not: leave it out`,
    given,
  );
}

/** Refuses what only models of images and clips have. */
function refuseForImages(options: PlanOptions): void {
  for (const name of Object.keys(DRAWN) as (keyof typeof DRAWN)[]) {
    if (options[name] === undefined) continue;
    const message = say`${subject(name)} is for models of images, which ${options.model} is not: leave it out`;
    throw badRequest(message, name);
  }
}

/** By a class that nothing else is opened with. */
async function transcribes(folder: Folder, names: readonly string[]): Promise<boolean> {
  if (!names.includes('config.json')) return false;
  const architecture = architectureOf(await readJson(folder, 'config.json'), names, TRANSCRIPTION_CLASSES);
  return TRANSCRIPTION_CLASSES.names.includes(architecture ?? '');
}

/** By the files of sentence-transformers, by a class that nothing else is opened with, or by the metadata of a GGUF file. */
async function makesEmbeddings(folder: Folder, names: readonly string[]): Promise<boolean> {
  if (names.length > 0 && names.every(isGgufName)) return isEmbeddingGguf(folder);
  if (!names.includes('config.json')) return false;
  if (names.includes(MODULES)) return true;
  const config = await readJson(folder, 'config.json');
  const architecture = architectureOf(config, names, TEXT_CLASSES);
  return TEXT_CLASSES.embeddings!.includes(architecture ?? '');
}

/** By the error with which a language model is refused that makes embeddings. */
async function isEmbeddingGguf(folder: Folder): Promise<boolean> {
  try {
    await readCheckpointConfig(folder, TEXT_CLASSES);
    return false;
  } catch (error) {
    if (error instanceof EngineError && error.param === MODULES) return true;
    throw error;
  }
}
