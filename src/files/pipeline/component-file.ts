// One component of a pipeline in a file of its own, or in a file with others, whose layout its names show.

import { type EngineError, unsupported } from '../error.ts';
import type { KnownClasses } from '../checkpoint/architecture.ts';
import { ggufCheckpoint, type GgufCheckpoint } from '../checkpoint/gguf-checkpoint.ts';
import type { Weights } from '../checkpoint/shards.ts';
import { isGgufName, towerBeside } from '../gguf/file-names.ts';
import { openGgufFiles } from '../gguf/open-files.ts';
import { openGgufTower, type GgufTower } from '../gguf/tower.ts';
import { ReopenedFolder } from '../reopened-source.ts';
import { closeAll, type Folder } from '../source.ts';
import type { FileLayouts } from './file-layout.ts';
import { filePath, findPart, openFile, openPart, underPath } from './file-parts.ts';
import type { ComponentClasses } from './pipeline-classes.ts';
import type { PipelineComponent } from './pipeline.ts';

/** What is known about files of components. */
export interface KnownFiles {
  layouts: FileLayouts | undefined;
  /** Classes of language models, whose GGUF files state their configuration. */
  text: KnownClasses;
  /** Vision towers that lie in GGUF files beside them. */
  towers: readonly GgufTower[];
}

/** Throws unsupported for a file in which the component is not found. */
export async function openComponentFile(
  folder: Folder,
  name: string,
  component: string,
  declared: ComponentClasses,
  known: KnownFiles,
): Promise<PipelineComponent> {
  const { classes } = declared;
  if (isGgufName(name) && declared.library === 'transformers') {
    const language = await languageModel(folder, name, component, declared, known);
    if (language !== null) return language;
  }
  const file = await openFile(folder, name);
  try {
    const { layouts } = known;
    const candidates = declared.layouts ?? layouts?.parts[declared.base ?? component] ?? [];
    const part = underPath(file.path, () => findPart(file.tensors, candidates));
    if (part === null || !(classes ?? [part.className]).includes(part.className)) {
      throw unsupported(
        `${file.path} holds no ${component} of this pipeline: its tensors have names such as ${[...file.tensors.keys()][0] ?? 'none'}; give the file or the folder of one`,
        'componentPaths',
      );
    }
    const config = { ...part.config, ...layouts?.configs[component] };
    const weights = () => openPart(folder, name, part);
    const { className } = part;
    const own = file.hasTokenizer === true && { hasTokenizer: true as const };
    return {
      name: component,
      className,
      kind: 'model',
      folder,
      config,
      impliedBy: file.path,
      weights,
      ...own,
    };
  } finally {
    await closeAll(file.sources);
  }
}

/**
 * A language model in a GGUF file of llama.cpp; null: the file holds another architecture. Its header is read once: the files are opened
 * again for the weights.
 */
async function languageModel(
  given: Folder,
  name: string,
  component: string,
  { classes }: ComponentClasses,
  { text, towers }: KnownFiles,
): Promise<PipelineComponent | null> {
  const folder = new ReopenedFolder(given);
  try {
    const files = await openGgufFiles(folder, name);
    const stated = files.keys.get('general.architecture');
    if (typeof stated !== 'string' || text.gguf?.().has(stated) !== true) return null;
    const language = await ggufCheckpoint(files, text);
    const fitting = towers.filter(({ texts, classNames }) => {
      return texts?.includes(stated) === true && classNames.some((one) => classes?.includes(one) === true);
    });
    const whole =
      fitting.length > 0
        ? await withTower(folder, name, language, { towers: fitting, modelTypes: text.modelTypes })
        : null;
    const found = whole ?? {
      className: language.architecture,
      config: language.config,
      tensors: language.tensors,
    };
    if (classes !== null && !classes.includes(found.className))
      throw fitting.length > 0
        ? noTower(folder, name, component)
        : otherClass(folder, name, component, { ...found, classes });
    const { sources } = folder;
    const weights = (): Promise<Weights> => {
      for (const source of sources) source.stayOpen();
      return Promise.resolve({ tensors: found.tensors, sources, path: folder.path });
    };
    return {
      name: component,
      className: found.className,
      kind: 'model',
      folder: given,
      config: found.config,
      impliedBy: filePath(folder, name),
      weights,
      hasTokenizer: true,
    };
  } finally {
    await closeAll(folder.sources);
  }
}

type FoundModel = Pick<PipelineComponent, 'className' | 'config'> & Pick<Weights, 'tensors'>;

/** A language model with the vision tower beside it; null: there is none. */
async function withTower(
  folder: Folder,
  name: string,
  { metadata, config, keys, tensors, architecture }: GgufCheckpoint,
  known: Parameters<typeof openGgufTower>[3],
): Promise<FoundModel | null> {
  const file = towerBeside(name, await folder.names());
  if (file === null) return null;
  const tower = await openGgufTower(folder, file, { metadata, config, keys, architecture }, known);
  const { className, config: both } = tower;
  return { className, config: both, tensors: new Map([...tensors, ...tower.tensors]) };
}

function noTower({ path }: Folder, name: string, component: string): EngineError {
  return unsupported(
    `${name} in ${path} holds a language model, and the ${component} of this pipeline sees images too: put its vision tower (mmproj-….gguf) into one folder with it, and give the folder`,
    'componentPaths',
  );
}

function otherClass(
  { path }: Folder,
  name: string,
  component: string,
  { className, classes }: { className: string; classes: readonly string[] },
): EngineError {
  return unsupported(
    `${name} in ${path} holds a ${className}, and the ${component} of this pipeline is ${classes.join(' or ')}: give the file of one`,
    'componentPaths',
  );
}
