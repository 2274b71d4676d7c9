// The components of a pipeline: which model_index.json names, checked against what the pipeline's class computes with, and each
// one's folder and configuration.

import { option, say } from '../message.ts';
import { badCheckpoint, badRequest, type EngineError, modelNotFound, unsupported } from '../error.ts';
import { readJson, type Folder } from '../source.ts';
import { openComponentFile, type KnownFiles } from './component-file.ts';
import { weightsFileOf } from '../checkpoint/weights-file.ts';
import { unknownComponent } from './given-components.ts';
import type { ComponentClasses, KnownPipelines, PipelineComponents } from './pipeline-classes.ts';
import { declaredQuantization } from './pipeline-quantized.ts';
import { customModule, refuseCode } from './pipeline-refusal.ts';
import type { PipelineComponent } from './pipeline.ts';
import { openComponentWeights, type OpenFolder } from './pipeline-weights.ts';

/** A component's entry in model_index.json. */
export interface Pair {
  name: string;
  library: string;
  className: string;
}

const INDEX = 'model_index.json';
const CONFIGS = ['config.json', 'scheduler_config.json', 'guider_config.json', 'tokenizer_config.json'];
/** A processor's folder also holds a tokenizer. */
const PROCESSOR_CONFIGS = ['preprocessor_config.json', 'processor_config.json'];
/** Suffix of class names, for components that may have any class of their kind. */
const ENDINGS = {
  model: 'Model',
  tokenizer: 'Tokenizer',
  scheduler: 'Scheduler',
  guider: 'Guidance',
  processor: 'Processor',
};
/** Libraries whose classes need no code of the repository; old files use `stable_diffusion` for the safety checker. */
const LIBRARIES = ['diffusers', 'transformers', 'stable_diffusion'];

/**
 * The components that model_index.json names: those that the pipeline class computes with, and those that it does not use. A component
 * that is left out is [null, null]. Errors: bad_checkpoint, unsupported.
 */
export function readPairs(
  path: string,
  index: Readonly<Record<string, unknown>>,
  wantedComponents: PipelineComponents,
  unread: KnownPipelines['unread'],
  componentPaths: Readonly<Record<string, string>> = {},
): { pairs: Pair[]; unused: Record<string, string> } {
  const pairs: Pair[] = [];
  const unused: [string, string][] = [];
  for (const [name, value] of Object.entries(index)) {
    // A component that the user gives replaces this one.
    if (name.startsWith('_') || value === null || Object.hasOwn(componentPaths, name)) continue;
    const [library, className, ...rest]: unknown[] = Array.isArray(value) ? value : [];
    if (library === null && className === null && rest.length === 0) continue;
    const isPair = typeof library === 'string' && typeof className === 'string' && rest.length === 0;
    const wanted = own(wantedComponents, name);
    if (!isPair && (wanted || unread.has(name))) throw noPair(path, name, value);
    if (!isPair) continue;
    const pair = { name, library, className };
    if (wanted) pairs.push(pair);
    else if (!unread.has(name)) unused.push([name, className]);
    else if (!unread.get(name)!.test(className)) throw unknownClass(path, pair);
  }
  return { pairs, unused: Object.fromEntries(unused) };
}

const own = (components: PipelineComponents, name: string): ComponentClasses | undefined =>
  Object.hasOwn(components, name) ? components[name] : undefined;

function checkPair(path: string, pair: Pair, known: ComponentClasses): void {
  const { name, className } = pair;
  const { library, classes } = known;
  if (!LIBRARIES.includes(pair.library)) refuseCode(path, `${name}/${pair.library}`, className);
  refuseComponent(path, name, className, known);
  const isBuiltIn = classes?.includes(className) ?? className.endsWith(ENDINGS[known.kind]);
  if (!isBuiltIn) throw unknownClass(path, pair, classes ?? undefined);
  if (pair.library === library) return;
  throw badCheckpoint(
    `${INDEX} in ${path} says that ${name} is ${className} of the library ${pair.library}, which has no such class: ${className} is a class of ${library}`,
    INDEX,
  );
}

/** Throws for a class that the declaration refuses with a reason of its own. */
function refuseComponent(
  path: string,
  name: string,
  className: string,
  { refused = {} }: ComponentClasses,
): void {
  if (!Object.hasOwn(refused, className)) return;
  const message = `${path} has a ${className} as ${name}, which ${refused[className]}`;
  throw unsupported(message, 'model');
}

function noPair(path: string, name: string, value: unknown): EngineError {
  return badCheckpoint(
    `${INDEX} in ${path} has "${name}": ${JSON.stringify(value)}; a component is ["library", "class"], or [null, null] where the pipeline has none`,
    INDEX,
  );
}

function unknownClass(path: string, { name, className }: Pair, classes?: readonly string[]): EngineError {
  const may = classes ? `it may be ${classes.join(', ')}, and ` : '';
  return unsupported(
    say`${INDEX} in ${path} names the class ${className}, which is not built in as ${name}: ${may}${option('componentPaths')} puts another in its place`,
    INDEX,
  );
}

interface Opening {
  /** Components of the pipeline class. */
  known: PipelineComponents;
  unread: KnownPipelines['unread'];
  pairs: readonly Pair[];
  unused: Readonly<Record<string, string>>;
  componentPaths?: Readonly<Record<string, string>>;
  find?: (model: string, component: string) => Promise<string>;
  pipelineClassName?: string;
  files: KnownFiles;
}

export async function openComponents(
  root: Folder,
  openFolder: OpenFolder,
  opening: Opening,
): Promise<Record<string, PipelineComponent>> {
  const { known, pairs, componentPaths = {}, find = (path) => Promise.resolve(path) } = opening;
  checkComponentPaths(opening);
  const given = (name: string): boolean => Object.hasOwn(componentPaths, name);
  const isThere = (name: string): boolean => given(name) || pairs.some((pair) => pair.name === name);
  for (const [name, { optional }] of Object.entries(known))
    if (!optional && !isThere(name)) throw missing(root.path, name, opening.pipelineClassName);
  for (const pair of pairs) checkPair(root.path, pair, known[pair.name]!);
  const opened = Object.entries(known)
    .filter(([name]) => isThere(name))
    .map(async ([name, classes]) => {
      const pair = pairs.find((one) => one.name === name);
      if (!given(name)) {
        const folder = await openFolder(`${root.path}/${name}`).catch((error: unknown) => {
          throw withoutFolder(root.path, name, pair!.className, error);
        });
        return [name, await openComponent(root.path, name, folder, classes, pair!.className)] as const;
      }
      const path = await find(componentPaths[name]!, classes.base ?? name);
      return [name, await openElsewhere(openFolder, path, name, classes, opening.files)] as const;
    });
  return Object.fromEntries(await Promise.all(opened));
}

function checkComponentPaths({ known, unread, pairs, unused, componentPaths = {} }: Opening): void {
  const names = Object.keys(known).filter(
    (name) => !known[name]!.optional || pairs.some((pair) => pair.name === name),
  );
  const isKnown = (name: string): boolean =>
    Object.hasOwn(known, name) || unread.has(name) || Object.hasOwn(unused, name);
  const unknown = Object.keys(componentPaths).find((name) => !isKnown(name));
  if (unknown === undefined) return;
  throw unknownComponent(unknown, names);
}

/** Opens a component that the user gives: a file, its folder, or its folder in another pipeline. */
export async function openElsewhere(
  openFolder: OpenFolder,
  path: string,
  name: string,
  declared: ComponentClasses,
  files: KnownFiles,
): Promise<PipelineComponent> {
  const folder = await openFolder(path);
  const names = await folder.names();
  const file = names.includes(INDEX) ? null : weightsFileOf(names);
  if (declared.kind === 'model' && file !== null)
    return openComponentFile(folder, file, name, declared, files);
  if (!names.includes(INDEX)) return openComponent(folder.path, name, folder, declared, null);
  const own = await openFolder(`${folder.path}/${declared.base ?? name}`).catch((error: unknown) => {
    throw modelNotFound(
      `${path} is a pipeline that has no ${name}: give one that has it, or the folder of the component`,
      'componentPaths',
      error,
    );
  });
  return openComponent(own.path, name, own, declared, null);
}

/** `named`: the class in model_index.json; null: the folder stands elsewhere, and its own file names the class. */
async function openComponent(
  path: string,
  name: string,
  folder: Folder,
  declared: ComponentClasses,
  named: string | null,
): Promise<PipelineComponent> {
  const { kind, classes } = declared;
  const names = await folder.names();
  const file = (kind === 'processor' ? PROCESSOR_CONFIGS : CONFIGS).find((one) => names.includes(one));
  if (file === undefined && kind !== 'tokenizer') throw withoutConfig(folder.path, name, kind);
  const config = file === undefined ? {} : await readJson(folder, file);
  const className = classOf(declared, config, named);
  const isBuiltIn = classes === null || classes.includes(className);
  // A built-in class needs no Python code, whatever auto_map says.
  const custom = isBuiltIn ? null : customModule(config);
  if (custom !== null) refuseCode(path, `${name}/${custom.module}`, custom.className);
  refuseComponent(folder.path, name, className, declared);
  if (!isBuiltIn) {
    throw unsupported(
      say`${folder.path} is of class ${className}, which is not built in as ${name}: it may be ${classes.join(', ')}, and ${option('componentPaths')} puts another in its place`,
      `${name}/${file ?? INDEX}`,
    );
  }
  const quantized = declaredQuantization(folder.path, name, { config, file: file ?? INDEX, names });
  const weights = quantized && { weights: () => openComponentWeights(folder, quantized) };
  return { name, className, kind, folder, config, ...weights };
}

/**
 * The class of a component. As in diffusers, model_index.json decides for schedulers and tokenizers, of which a file serves
 * several classes; the file of a model says which model its weights are.
 */
function classOf(
  { kind, classes }: ComponentClasses,
  config: Record<string, unknown>,
  named: string | null,
): string {
  const { _class_name: diffusers, architectures, tokenizer_class: tokenizer } = config;
  const value: unknown = diffusers ?? (Array.isArray(architectures) ? architectures[0] : tokenizer);
  const stated = typeof value === 'string' ? value : null;
  if (named === null) return stated ?? classes?.[0] ?? '';
  return kind === 'model' ? (stated ?? named) : named;
}

function missing(path: string, name: string, pipelineClassName: string | undefined): EngineError {
  if (pipelineClassName !== undefined) {
    return badRequest(
      `pipelineClassName ${pipelineClassName} needs a ${name}, and ${INDEX} in ${path} names none: leave it out, or give a model of that class`,
      'pipelineClassName',
    );
  }
  return badCheckpoint(
    say`${INDEX} in ${path} names no ${name}, which its pipeline class needs: give one with ${option('componentPaths')}, or take a whole pipeline`,
    INDEX,
  );
}

function withoutConfig(path: string, name: string, kind: ComponentClasses['kind']): EngineError {
  const files: Partial<Record<typeof kind, string>> = {
    scheduler: 'scheduler_config.json',
    guider: 'guider_config.json',
    processor: PROCESSOR_CONFIGS[0]!,
  };
  const file = files[kind] ?? 'config.json';
  return badCheckpoint(`${path} has no ${file}: fetch the pipeline again`, `${name}/${file}`);
}

function withoutFolder(path: string, name: string, className: string, cause: unknown): EngineError {
  return badCheckpoint(
    `${path} has no folder ${name}, which ${INDEX} names (${className}): fetch the pipeline again`,
    INDEX,
    cause,
  );
}
