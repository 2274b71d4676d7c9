// A pipeline in one file: the family is the one whose denoiser the names and shapes of its tensors show. Components that the file leaves
// out are built in, are given by the user, or are named in the error.

import { option, say } from '../message.ts';
import { badCheckpoint, badRequest, type EngineError } from '../error.ts';
import { closeAll, type Folder } from '../source.ts';
import type { FileLayouts, FilePipeline, OpenedFile, PartConfig } from './file-layout.ts';
import {
  filePath,
  findPart,
  openFile,
  openPart,
  smallValues,
  underPath,
  type FoundPart,
  type OpenFile,
} from './file-parts.ts';
import { namesOf, type KnownPipelines, type PipelineClass } from './pipeline-classes.ts';
import { classWith, unknownComponent, withNumbered } from './given-components.ts';
import { openElsewhere } from './pipeline-components.ts';
import type { Pipeline, PipelineComponent, PipelineOptions } from './pipeline.ts';
import { refuseFile } from './file-refusal.ts';
import type { OpenFolder } from './pipeline-weights.ts';

/** A model file with the family that its names show. */
interface Recognised {
  layouts: FileLayouts;
  parts: Readonly<Record<string, FoundPart>>;
  pipeline: FilePipeline;
}

/** Opens the pipeline in the file `name` of a folder; reads no weights. Errors: those of openPipeline. */
export async function openSingleFile(
  folder: Folder,
  name: string,
  openFolder: OpenFolder,
  known: KnownPipelines,
  options: PipelineOptions,
): Promise<Pipeline> {
  const file = await openFile(folder, name);
  let recognised: Recognised;
  try {
    recognised = await recognise(file, name, known, options);
  } finally {
    await closeAll(file.sources);
  }
  const { layouts, pipeline } = recognised;
  const names = Object.keys(options.componentPaths ?? {});
  const className = classWith(chosenClass(file.path, pipeline.className, known, options), names, known);
  const own = known.classes.get(className)!;
  const declared = { ...own, components: withNumbered(own.components, names) };
  const isOwn = ([component]: [string, FoundPart]): boolean => Object.hasOwn(declared.components, component);
  const parts = Object.fromEntries(Object.entries(recognised.parts).filter(isOwn));
  const components: Record<string, PipelineComponent> = {};
  const missing: string[] = [];
  for (const component of Object.keys(declared.components)) {
    if (pipeline.absent?.includes(component) && !given(options, component)) continue;
    const opened =
      (await openGiven(component, declared, openFolder, options, known)) ??
      partComponent(component, { folder, name, parts, pipeline, layouts }) ??
      (await builtIn(component, folder, { pipeline, layouts }, openFolder, options)) ??
      ownTokenizer(component, declared, components);
    if (opened !== null) components[component] = opened;
    else if (!declared.components[component]!.optional) missing.push(component);
  }
  refuseUnknownComponents(declared, options);
  if (missing.length > 0) throw incomplete(file.path, missing, layouts);
  return {
    path: folder.path,
    className,
    components,
    unused: {},
    settings: pipeline.settings,
    notes: leftoverNotes(file, parts, known),
  };
}

async function recognise(
  file: OpenFile,
  fileName: string,
  known: KnownPipelines,
  { modelId, pipelineClassName }: PipelineOptions,
): Promise<Recognised> {
  const opened: OpenedFile = {
    name: modelId ?? fileName.replace(/\.\w+$/, ''),
    metadata: file.metadata,
    headers: file.tensors,
    values: (name) => smallValues(file, name),
  };
  const wanted = known.classes.get(pipelineClassName ?? '')?.layouts;
  const found = known.layouts.flatMap((layouts) => {
    const denoiser = underPath(file.path, () => findPart(file.tensors, layouts.parts[layouts.denoiser]!));
    return denoiser !== null && layouts.accepts(denoiser) ? [{ layouts, denoiser }] : [];
  });
  const chosen =
    found.find(({ layouts }) => layouts === wanted) ??
    found.find(({ layouts }) => layouts.prefers?.(opened)) ??
    found.find(({ layouts }) => !layouts.prefers);
  if (chosen === undefined) return refuseFile(file.path, file.tensors, known);
  const { layouts, denoiser } = chosen;
  const parts: Record<string, FoundPart> = { [layouts.denoiser]: denoiser };
  for (const [component, candidates] of Object.entries(layouts.parts)) {
    if (component === layouts.denoiser) continue;
    // A prefix of the denoiser's is no other component's, whatever its names look like.
    const others = candidates.map((layout) => otherPrefixes(layout, denoiser.prefix));
    const part = underPath(file.path, () => findPart(file.tensors, others));
    if (part !== null) parts[component] = part;
  }
  return { layouts, parts, pipeline: await layouts.describe(parts, opened) };
}

function otherPrefixes<L extends { prefixes: readonly string[] }>(layout: L, taken: string): L {
  return { ...layout, prefixes: layout.prefixes.filter((prefix) => prefix !== taken) };
}

function chosenClass(
  path: string,
  own: string,
  known: KnownPipelines,
  { pipelineClassName }: PipelineOptions,
): string {
  if (pipelineClassName === undefined || pipelineClassName === own) return own;
  const { family } = known.classes.get(own)!;
  const chosen = known.classes.get(pipelineClassName);
  if (chosen?.family === family) return pipelineClassName;
  const problem =
    chosen === undefined
      ? `there is no pipeline class ${pipelineClassName}: the classes are ${namesOf(known)}`
      : `${path} holds a model of the family ${family}, and ${pipelineClassName} is a class of ${chosen.family}: leave it out`;
  throw badRequest(problem, 'pipelineClassName');
}

const given = ({ componentPaths = {} }: PipelineOptions, component: string): boolean =>
  Object.hasOwn(componentPaths, component);

/** A component that the user gives; null: none is given. */
async function openGiven(
  component: string,
  { components, layouts }: PipelineClass,
  openFolder: OpenFolder,
  options: PipelineOptions,
  { text, towers }: KnownPipelines,
): Promise<PipelineComponent | null> {
  if (!given(options, component)) return null;
  const { componentPaths = {}, find = (path) => Promise.resolve(path) } = options;
  const path = await find(componentPaths[component]!, components[component]!.base ?? component);
  return openElsewhere(openFolder, path, component, components[component]!, { layouts, text, towers });
}

interface Source extends Recognised {
  folder: Folder;
  name: string;
}

/** A component in the file; null: the file has none. */
function partComponent(
  component: string,
  { folder, name, parts, pipeline, layouts }: Source,
): PipelineComponent | null {
  const part = parts[component];
  if (part === undefined) return null;
  const config = { ...part.config, ...layouts.configs[component], ...pipeline.configs?.[component] };
  return {
    name: component,
    className: part.className,
    kind: 'model',
    folder,
    config,
    impliedBy: filePath(folder, name),
    weights: () => openPart(folder, name, part),
  };
}

/** The scheduler, or a tokenizer that ships; null: neither. */
async function builtIn(
  component: string,
  folder: Folder,
  { pipeline, layouts }: Pick<Recognised, 'pipeline' | 'layouts'>,
  openFolder: OpenFolder,
  { find }: PipelineOptions,
): Promise<PipelineComponent | null> {
  if (component === 'scheduler') return asComponent(component, 'scheduler', folder, pipeline.scheduler);
  const stated = layouts.builtIn?.[component];
  if (stated !== undefined) return asComponent(component, 'processor', folder, stated);
  const tokenizer = layouts.tokenizers[component];
  if (tokenizer === undefined) return null;
  const own = find === undefined ? folder : await openFolder(await find(tokenizer.shipped, component));
  const config = { ...tokenizer.config, ...pipeline.configs?.[component] };
  return asComponent(component, 'tokenizer', own, { ...tokenizer, config });
}

/** The tokenizer in the file of a text encoder; null: there is none. */
function ownTokenizer(
  name: string,
  { components: declared }: PipelineClass,
  opened: Readonly<Record<string, PipelineComponent>>,
): PipelineComponent | null {
  const { kind, classes } = declared[name]!;
  const encoder = opened[name.replace('tokenizer', 'text_encoder')];
  if (kind !== 'tokenizer' || !encoder?.hasTokenizer) return null;
  return asComponent(name, kind, encoder.folder, { className: classes?.[0] ?? '', config: {} });
}

function asComponent(
  name: string,
  kind: PipelineComponent['kind'],
  folder: Folder,
  { className, config }: PartConfig,
): PipelineComponent {
  return { name, kind, folder, className, config: { ...config } };
}

function refuseUnknownComponents(
  { components }: PipelineClass,
  { componentPaths = {} }: PipelineOptions,
): void {
  const unknown = Object.keys(componentPaths).find((name) => !Object.hasOwn(components, name));
  if (unknown === undefined) return;
  throw unknownComponent(unknown, Object.keys(components));
}

function incomplete(
  path: string,
  missing: readonly string[],
  { repository, denoiser }: FileLayouts,
): EngineError {
  const names = missing.join(', ');
  return badCheckpoint(
    say`${path} holds the ${denoiser} and no ${names}: give ${missing.length === 1 ? 'it' : 'each'} with ${option('componentPaths')}, from a file of its own or from a pipeline such as ${repository}`,
    'componentPaths',
  );
}

/** Most groups of unread tensors that a note names. */
const NAMED = 6;

/** Notes about tensors of the file that belong to no component. */
function leftoverNotes(
  { tensors, path }: OpenFile,
  parts: Readonly<Record<string, FoundPart>>,
  { unreadTensors }: KnownPipelines,
): string[] {
  const read = new Set(Object.values(parts).flatMap(({ names }) => names));
  const left = [...tensors.keys()].filter((name) => !read.has(name) && !unreadTensors.test(name));
  if (left.length === 0) return [];
  const groups = [...new Set(left.map((name) => name.split('.').slice(0, 2).join('.')))];
  const more = groups.length > NAMED ? ` and ${groups.length - NAMED} more` : '';
  return [
    `${left.length} tensors of ${path} belong to no component that is read: ${groups.slice(0, NAMED).join(', ')}${more}`,
  ];
}
