// What the configuration of a model tells: its kind, its class, its context.

import { knownPipelines, usualFrames } from '../engine/image/families/registry.ts';
import { ownFrames } from '../engine/image/request/own-settings.ts';
import { isGgufName } from '../files/gguf/file-names.ts';
import { openGgufFiles } from '../files/gguf/open-files.ts';
import { isRecord, readJson, type Folder } from '../files/source.ts';
import type { ModelKind } from '../options/setting.ts';
import { kindOf } from './plan.ts';

export interface ModelFacts {
  kind: ModelKind;
  /** The class that the configuration names; of a GGUF file, its architecture; null: none. */
  architecture: string | null;
  /** Tokens that the model was made for; null: unknown, or it reads none. */
  contextLength: number | null;
  /** Whether an image model draws clips unless a request says otherwise, as far as its files or its name tell. */
  drawsClips: boolean;
}

/** Reads what a folder's configuration tells. Errors: bad_checkpoint, unsupported. */
export async function readFacts(folder: Folder): Promise<ModelFacts> {
  const names = await folder.names();
  const kind = (await kindOf(folder)).name as ModelKind;
  if (names.includes('model_index.json')) return { kind, ...(await pipelineFacts(folder)) };
  const drawsClips = kind === 'image' && usualFrames(classByName(folder.path)) > 1;
  if (names.includes('config.json')) {
    const config = await readJson(folder, 'config.json');
    const { architectures } = config;
    return {
      kind,
      architecture: Array.isArray(architectures) ? textOf(architectures[0]) : null,
      contextLength: contextOf(config) ?? contextOf(config['text_config']),
      drawsClips,
    };
  }
  const file = names.find(isGgufName);
  if (file === undefined) return { kind, architecture: null, contextLength: null, drawsClips };
  const { keys, sources } = await openGgufFiles(folder, file);
  await Promise.all(sources.map((source) => source.close()));
  const architecture = textOf(keys.get('general.architecture'));
  const contextLength = countOf(keys.get(`${architecture}.context_length`));
  return { kind, architecture, contextLength, drawsClips };
}

async function pipelineFacts(folder: Folder): Promise<Omit<ModelFacts, 'kind'>> {
  const { _class_name: pipeline } = await readJson(folder, 'model_index.json');
  const architecture = textOf(pipeline);
  const frames = countOf(await ownFrames(folder)) ?? usualFrames(architecture ?? '');
  return { architecture, contextLength: null, drawsClips: frames > 1 };
}

/** The pipeline class that the name of a file implies; '': none. */
const classByName = (path: string): string =>
  knownPipelines().classOfModelId(path.split(/[/\\]/).at(-1)!) ?? '';

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const countOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null;

const contextOf = (config: unknown): number | null =>
  isRecord(config) ? countOf(config['max_position_embeddings']) : null;
