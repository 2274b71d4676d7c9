// A diffusion pipeline in the diffusers layout: model_index.json names the class of the pipeline and, for each component, the
// library and class; every component is a folder beside it, or somewhere else where the user says so.

import { EngineError } from '../error.ts';
import {
  classOfComponents,
  classOfModelId,
  COMPONENT_CLASSES,
  PIPELINE_CLASSES,
  PIPELINES,
  type PipelineFamily,
} from './pipeline-classes.ts';
import {
  customModule,
  readPair,
  refuseClass,
  refuseCode,
  refuseFolder,
  refuseSingleFile,
} from './pipeline-refusal.ts';
import type { OpenFolder } from './pipeline-weights.ts';
import { readJson, type Folder } from '../source.ts';

export interface PipelineComponent {
  name: string;
  className: string;
  folder: Folder;
  /** config.json; scheduler_config.json of a scheduler, tokenizer_config.json of a tokenizer, which may have none: {}. */
  config: Record<string, unknown>;
}

export interface Pipeline {
  path: string;
  className: string;
  family: PipelineFamily;
  /** The class that model_index.json names, where none of that name is built in but all its components are; else null. */
  composedFrom: string | null;
  /** Those whose folders are there; the ones that the family needs always are. */
  components: Readonly<Record<string, PipelineComponent>>;
  /** The other entries of model_index.json, as `force_zeros_for_empty_prompt`. */
  settings: Readonly<Record<string, unknown>>;
}

export interface PipelineOptions {
  /** Component → what stands for it: its folder, or that of a pipeline that has it, or anything that `find` makes one of. */
  componentPaths?: Readonly<Record<string, string>>;
  /** Asked only for components that the pipeline has. */
  find?: (model: string, component: string) => Promise<string>;
  pipelineClassName?: string;
  /** A class that is not built in is composed of components that are. */
  compose?: boolean;
  modelId?: string;
}

const INDEX = 'model_index.json';
/** Libraries whose classes are ordinary; `stable_diffusion` is what old files call the safety checker's. */
const LIBRARIES = ['diffusers', 'transformers', 'stable_diffusion'];

/**
 * Reads what a pipeline consists of; weights are not touched. Errors: model_not_found, bad_checkpoint, unsupported (something
 * else, with what to use instead), bad_request (an option that the pipeline does not have).
 */
export async function openPipeline(
  path: string,
  openFolder: OpenFolder,
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
  const named = chooseClass(folder.path, index, options);
  const pairs = Object.entries(index).flatMap(([name, value]) => {
    const pair = name.startsWith('_') ? null : readPair(value);
    return pair === null ? [] : [{ name, ...pair }];
  });
  const composed = !PIPELINES[named] && options.compose ? classOfComponents(pairs) : null;
  const className = composed ?? named;
  const { family, components: needed } = PIPELINES[className] ?? refuseClass(folder.path, className);
  checkComponentPaths(options.componentPaths ?? {}, pairs);
  const components = await openComponents(folder, openFolder, { pairs, needed, ...options });
  const settings = Object.entries(index).filter(
    ([name, value]) => !name.startsWith('_') && !Array.isArray(value),
  );
  return {
    path: folder.path,
    className,
    family,
    composedFrom: composed === null ? null : named,
    components,
    settings: Object.fromEntries(settings),
  };
}

function chooseClass(path: string, index: Record<string, unknown>, options: PipelineOptions): string {
  const { pipelineClassName, modelId } = options;
  if (pipelineClassName !== undefined) {
    if (PIPELINE_CLASSES.includes(pipelineClassName)) return pipelineClassName;
    throw new EngineError(
      'bad_request',
      `there is no pipeline class ${pipelineClassName}: the classes are ${PIPELINE_CLASSES.join(', ')}`,
      { param: 'pipelineClassName' },
    );
  }
  const custom = customModule(index);
  if (custom !== null) refuseCode(path, custom.module, custom.className);
  const { _class_name: own } = index;
  if (typeof own === 'string' && own !== 'DiffusionPipeline') return own;
  const fromId = classOfModelId(modelId ?? path.slice(path.lastIndexOf('/') + 1));
  if (fromId !== null) return fromId;
  throw new EngineError(
    'bad_checkpoint',
    `${INDEX} in ${path} names no pipeline class: say which with \`pipelineClassName\`, one of ${PIPELINE_CLASSES.join(', ')}`,
    { param: INDEX },
  );
}

interface Pair {
  name: string;
  library: string;
  className: string;
}

function checkComponentPaths(given: Readonly<Record<string, string>>, pairs: Pair[]): void {
  const known = pairs.map(({ name }) => name);
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new EngineError(
    'bad_request',
    `componentPaths names ${unknown}, which is no component of this pipeline: it has ${known.join(', ')}`,
    { param: 'componentPaths' },
  );
}

async function openComponents(
  root: Folder,
  openFolder: OpenFolder,
  {
    pairs,
    needed,
    componentPaths = {},
    find = (path) => Promise.resolve(path),
    pipelineClassName,
  }: { pairs: Pair[]; needed: readonly string[] } & PipelineOptions,
): Promise<Record<string, PipelineComponent>> {
  const missing = needed.find((name) => !pairs.some((pair) => pair.name === name));
  if (missing !== undefined && pipelineClassName !== undefined) {
    throw new EngineError(
      'bad_request',
      `pipelineClassName ${pipelineClassName} needs a ${missing}, and ${INDEX} in ${root.path} names none: leave it out, or give a model of that class`,
      { param: 'pipelineClassName' },
    );
  }
  if (missing !== undefined) {
    throw new EngineError(
      'bad_checkpoint',
      `${INDEX} in ${root.path} names no ${missing}, which its pipeline class needs: fetch the whole pipeline`,
      { param: INDEX },
    );
  }
  const opened = pairs.map(async (pair) => {
    const given = componentPaths[pair.name];
    const elsewhere = given === undefined ? undefined : await find(given, pair.name);
    const opening =
      elsewhere === undefined
        ? openFolder(`${root.path}/${pair.name}`)
        : openElsewhere(openFolder, elsewhere, pair.name);
    const folder = await opening.catch((error: unknown) => {
      // Nobody needs the safety checker of a pipeline.
      if (elsewhere === undefined && !needed.includes(pair.name)) return null;
      throw elsewhere === undefined ? withoutFolder(root.path, pair, error) : error;
    });
    return folder === null ? [] : [[pair.name, await openComponent(root.path, pair, folder)] as const];
  });
  return Object.fromEntries((await Promise.all(opened)).flat());
}

/** What takes a component's place: its own folder, or that of a pipeline, of which it is a part. */
async function openElsewhere(openFolder: OpenFolder, path: string, name: string): Promise<Folder> {
  const folder = await openFolder(path);
  if (!(await folder.names()).includes(INDEX)) return folder;
  return openFolder(`${folder.path}/${name}`).catch((error: unknown) => {
    throw new EngineError(
      'model_not_found',
      `${path} is a pipeline that has no ${name}: give one that has it, or the folder of the component`,
      { param: 'componentPaths', cause: error },
    );
  });
}

async function openComponent(path: string, pair: Pair, folder: Folder): Promise<PipelineComponent> {
  const { name, library } = pair;
  const names = await folder.names();
  const file = ['config.json', 'scheduler_config.json', 'tokenizer_config.json'].find((known) =>
    names.includes(known),
  );
  if (file === undefined && isConfigured(name)) throw withoutConfig(folder.path, name);
  const config = file === undefined ? {} : await readJson(folder, file);
  const className = ownClass(config) ?? pair.className;
  const known = COMPONENT_CLASSES[name];
  if (!LIBRARIES.includes(library)) refuseCode(path, `${name}/${library}`, pair.className);
  // A class that is built in needs no code, whatever auto_map says.
  const custom = known?.includes(className) ? null : customModule(config);
  if (custom !== null) refuseCode(path, `${name}/${custom.module}`, custom.className);
  if (known !== undefined && !known.includes(className)) {
    throw new EngineError(
      'unsupported',
      `${folder.path} is of class ${className}, which is not built in as ${name}: it may be ${known.join(', ')}, and \`componentPaths\` puts another in its place`,
      { param: `${name}/${file ?? INDEX}` },
    );
  }
  return { name, className, folder, config };
}

/** What the component's own file says, which holds where another folder takes its place. */
function ownClass(config: Record<string, unknown>): string | null {
  const { _class_name: diffusers, architectures, tokenizer_class: tokenizer } = config;
  const name: unknown = diffusers ?? (Array.isArray(architectures) ? architectures[0] : tokenizer);
  return typeof name === 'string' ? name : null;
}

/** Whether a component says nothing without its configuration; an unfinished download leaves such folders. */
function isConfigured(name: string): boolean {
  return name === 'scheduler' || (name in COMPONENT_CLASSES && !name.startsWith('tokenizer'));
}

function withoutConfig(path: string, name: string): EngineError {
  const file = name === 'scheduler' ? 'scheduler_config.json' : 'config.json';
  return new EngineError('bad_checkpoint', `${path} has no ${file}: fetch the pipeline again`, {
    param: `${name}/${file}`,
  });
}

function withoutFolder(path: string, { name, className }: Pair, cause: unknown): EngineError {
  return new EngineError(
    'bad_checkpoint',
    `${path} has no folder ${name}, which ${INDEX} names (${className}): fetch the pipeline again`,
    { param: INDEX, cause },
  );
}
