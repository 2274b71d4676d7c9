// A diffusion pipeline in the diffusers layout: model_index.json names the class of the pipeline and, for each component, the
// library and class; every component is a folder beside it, or somewhere else where the user says so.

import { option, say } from '../message.ts';
import { EngineError } from '../error.ts';
import { namesOf, type KnownPipelines } from './pipeline-classes.ts';
import { openComponents, readPairs, type PipelineComponent } from './pipeline-components.ts';
import { customModule, refuseCode, refuseFolder, refuseSingleFile } from './pipeline-refusal.ts';
import { refuseClass } from './pipeline-unbuilt.ts';
import type { OpenFolder } from './pipeline-weights.ts';
import { readJson } from '../source.ts';

export type { PipelineComponent } from './pipeline-components.ts';

export interface Pipeline {
  path: string;
  className: string;
  /** Components that the pipeline class computes with; the ones that it needs are always there. */
  components: Readonly<Record<string, PipelineComponent>>;
  /** Components of model_index.json that this pipeline class does not use, with their classes. */
  unused: Readonly<Record<string, string>>;
  /** The other entries of model_index.json, as `force_zeros_for_empty_prompt`. */
  settings: Readonly<Record<string, unknown>>;
}

export interface PipelineOptions {
  /** Component → what stands for it: its folder, or that of a pipeline that has it, or anything that `find` makes one of. */
  componentPaths?: Readonly<Record<string, string>>;
  /** Asked only for components that the pipeline has. */
  find?: (model: string, component: string) => Promise<string>;
  pipelineClassName?: string;
  modelId?: string;
}

export const INDEX = 'model_index.json';

/**
 * Reads the parts of a pipeline, no weights. `known`: the pipeline classes that are built in. Errors: model_not_found, bad_checkpoint,
 * unsupported (with what to use instead), bad_request (an option that the pipeline does not have).
 */
export async function openPipeline(
  path: string,
  openFolder: OpenFolder,
  known: KnownPipelines,
  options: PipelineOptions = {},
): Promise<Pipeline> {
  refuseSingleFile(path);
  const folder = await openFolder(path);
  const names = await folder.names();
  if (!names.includes(INDEX)) {
    const config = names.includes('config.json') ? await readJson(folder, 'config.json') : null;
    refuseFolder(folder.path, names, config);
  }
  const index = await readJson(folder, INDEX);
  const className = chooseClass(folder.path, index, known, options);
  const { components: wanted } =
    known.classes.get(className) ?? refuseClass(folder.path, className, index, known);
  const { unread } = known;
  const { pairs, unused } = readPairs(folder.path, index, wanted, unread, options.componentPaths);
  const opening = { known: wanted, unread, pairs, unused, ...options };
  const components = await openComponents(folder, openFolder, opening);
  const settings = Object.entries(index).filter(
    ([name, value]) => !name.startsWith('_') && !Array.isArray(value),
  );
  return {
    path: folder.path,
    className,
    components,
    unused,
    settings: Object.fromEntries(settings),
  };
}

function chooseClass(
  path: string,
  index: Record<string, unknown>,
  known: KnownPipelines,
  { pipelineClassName, modelId }: PipelineOptions,
): string {
  if (pipelineClassName !== undefined) {
    if (known.classes.has(pipelineClassName)) return pipelineClassName;
    throw new EngineError(
      'bad_request',
      `there is no pipeline class ${pipelineClassName}: the classes are ${namesOf(known)}`,
      { param: 'pipelineClassName' },
    );
  }
  const custom = customModule(index);
  if (custom !== null) refuseCode(path, custom.module, custom.className);
  const { _class_name: own } = index;
  if (typeof own === 'string' && own !== 'DiffusionPipeline') return own;
  if (own !== undefined && own !== null && typeof own !== 'string') {
    throw new EngineError(
      'bad_checkpoint',
      say`${INDEX} in ${path} has "_class_name": ${JSON.stringify(own)}; it is the name of a pipeline class: say which with ${option('pipelineClassName')}`,
      { param: INDEX },
    );
  }
  const fromId = known.classOfModelId(modelId ?? path.slice(path.lastIndexOf('/') + 1));
  if (fromId !== null) return fromId;
  throw new EngineError(
    'bad_checkpoint',
    say`${INDEX} in ${path} names no pipeline class: say which with ${option('pipelineClassName')}, one of ${namesOf(known)}`,
    { param: INDEX },
  );
}
