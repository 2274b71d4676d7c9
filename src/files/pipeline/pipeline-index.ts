// A diffusion pipeline in the diffusers layout: model_index.json names the class of the pipeline and, for each component, the
// library and class; every component is a folder beside it, or somewhere else where the user says so.

import { option, say } from '../message.ts';
import { badCheckpoint, badRequest } from '../error.ts';
import { mainNamesOf, namesOf, type KnownPipelines } from './pipeline-classes.ts';
import { classWith, numberedName, withNumbered } from './given-components.ts';
import { openComponents, readPairs } from './pipeline-components.ts';
import type { Pipeline, PipelineComponent, PipelineOptions } from './pipeline.ts';
import { customModule, refuseCode, refuseFolder, refuseSingleFile } from './pipeline-refusal.ts';
import { weightsFileOf } from '../checkpoint/weights-file.ts';
import { openSingleFile } from './single-file.ts';
import { refuseClass } from './pipeline-unbuilt.ts';
import type { OpenFolder } from './pipeline-weights.ts';
import { readJson } from '../source.ts';

export type { Pipeline, PipelineComponent, PipelineOptions };

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
    const file = config === null ? weightsFileOf(names) : null;
    if (file !== null) return openSingleFile(folder, file, openFolder, known, options);
    refuseFolder(folder.path, names, config);
  }
  const index = await readJson(folder, INDEX);
  const componentPaths = {
    ...(await severalPaths(folder.path, index, openFolder)),
    ...options.componentPaths,
  };
  const given = Object.keys(componentPaths);
  const className = classWith(chooseClass(folder.path, index, known, options), given, known);
  const { components, layouts } =
    known.classes.get(className) ?? refuseClass(folder.path, className, index, known);
  const wanted = withNumbered(components, given);
  const { unread } = known;
  const { pairs, unused } = readPairs(folder.path, index, wanted, unread, componentPaths);
  const opening = {
    known: wanted,
    unread,
    pairs,
    unused,
    files: { layouts, text: known.text, towers: known.towers },
    ...options,
    componentPaths,
  };
  const opened = await openComponents(folder, openFolder, opening);
  const settings = Object.entries(index).filter(
    ([name, value]) => !name.startsWith('_') && !Array.isArray(value),
  );
  return {
    path: folder.path,
    className,
    components: opened,
    unused,
    settings: Object.fromEntries(settings),
    notes: [],
  };
}

/** Folders of a component that is several of its kind, as MultiControlNetModel is: diffusers saves them under numbered names. */
async function severalPaths(
  path: string,
  index: Record<string, unknown>,
  openFolder: OpenFolder,
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(index)) {
    const className: unknown = Array.isArray(value) ? value[1] : null;
    if (className !== 'MultiControlNetModel') continue;
    for (let i = 0; ; i++) {
      const own = numberedName(name, i);
      if (
        await openFolder(`${path}/${own}`).then(
          () => false,
          () => true,
        )
      )
        break;
      found[own] = `${path}/${own}`;
    }
  }
  return found;
}

function chooseClass(
  path: string,
  index: Record<string, unknown>,
  known: KnownPipelines,
  { pipelineClassName, modelId }: PipelineOptions,
): string {
  if (pipelineClassName !== undefined) {
    if (known.classes.has(pipelineClassName)) return pipelineClassName;
    throw badRequest(
      `there is no pipeline class ${pipelineClassName}: the classes are ${namesOf(known)}`,
      'pipelineClassName',
    );
  }
  const custom = customModule(index);
  if (custom !== null) refuseCode(path, custom.module, custom.className);
  const { _class_name: own } = index;
  if (typeof own === 'string' && own !== 'DiffusionPipeline') return own;
  if (own !== undefined && own !== null && typeof own !== 'string') {
    throw badCheckpoint(
      say`${INDEX} in ${path} has "_class_name": ${JSON.stringify(own)}; it is the name of a pipeline class: say which with ${option('pipelineClassName')}`,
      INDEX,
    );
  }
  const fromId = known.classOfModelId(modelId ?? path.slice(path.lastIndexOf('/') + 1));
  if (fromId !== null) return fromId;
  throw badCheckpoint(
    say`${INDEX} in ${path} names no pipeline class: say which with ${option('pipelineClassName')}, one of ${mainNamesOf(known)}`,
    INDEX,
  );
}
